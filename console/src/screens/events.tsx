// The live list of events, with search and filters that are part of the address.

import { ArrowUp, Inbox, RotateCcw, Search } from 'lucide-react'
import { memo, useEffect, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { type EventFilter, useLiveEvents } from '../lib/use-live-events.ts'
import { useDefinitions, useDemo, useMe } from '../queries.ts'
import type { EventRow } from '../types.ts'
import { ConsumerChips } from '../ui/consumer-chips.tsx'
import { Button, Command, Time } from '../ui/controls.tsx'
import { DemoButton } from '../ui/demo.tsx'
import { ReplayManyDialog } from '../ui/replay-many.tsx'
import { SearchInput, useDelayed } from '../ui/search.tsx'
import { Empty, ErrorState, LoadMore, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const TOP_PX = 60

function useFilter(): readonly [EventFilter, (change: Partial<EventFilter>) => void] {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const filter = {
    q: search.get('q') ?? '',
    source: search.get('source') ?? '',
    subject: search.get('subject') ?? '',
    unmatched: search.get('unmatched') === 'true',
    system: search.get('system') === 'true',
  }
  const change = (part: Partial<EventFilter>) => {
    const next = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...filter, ...part })) {
      if (value !== '' && value !== false) next.set(name, String(value))
    }
    const text = next.toString()
    go(text === '' ? '/events' : `/events?${text}`, { replace: true })
  }
  return [filter, change]
}

export function EventsScreen() {
  const [filter, change] = useFilter()
  const events = useLiveEvents(filter)
  const { data: sources } = useDefinitions('Source')
  const { data: me } = useMe()
  const [isReplaying, setIsReplaying] = useState(false)
  const isFiltered = filter.q !== '' || filter.source !== '' || filter.subject !== '' || filter.unmatched
  useEffect(() => {
    const onScroll = () => events.hold(window.scrollY > TOP_PX)
    window.addEventListener('scroll', onScroll, { passive: true })
    return () => window.removeEventListener('scroll', onScroll)
  }, [events.hold])

  return (
    <PageFrame
      title="Events"
      lead="Everything that was accepted, newest first. Each event shows what became of it for every route that wanted it."
      actions={
        <>
          {me !== undefined && me.role !== 'viewer' && (
            <Button icon={<RotateCcw size={14} aria-hidden />} onClick={() => setIsReplaying(true)}>
              Replay …
            </Button>
          )}
          <DemoButton />
        </>
      }
    >
      <div className="toolbar" role="search">
        <SearchInput
          value={filter.q}
          onChange={(q) => change({ q })}
          label="Search events"
          placeholder="Id, object, key or text in the payload"
        />
        <select
          className="input input--small"
          aria-label="Source"
          value={filter.source}
          onChange={(event) => change({ source: event.target.value })}
        >
          <option value="">All sources</option>
          {sources?.items.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <SubjectInput value={filter.subject} onChange={(subject) => change({ subject })} />
        <label className="check">
          <input
            type="checkbox"
            checked={filter.unmatched}
            onChange={(event) => change({ unmatched: event.target.checked })}
          />
          Unmatched only
        </label>
        <label className="check">
          <input
            type="checkbox"
            checked={filter.system}
            onChange={(event) => change({ system: event.target.checked })}
          />
          System events
        </label>
      </div>
      {events.held > 0 && (
        <div className="pill">
          <button type="button" onClick={() => window.scrollTo({ top: 0, behavior: 'smooth' })}>
            <ArrowUp size={14} aria-hidden />
            Paused while you scroll: {events.held.toLocaleString('en')} new
          </button>
        </div>
      )}
      <div className="list events">
        <div className="list__head events__grid" aria-hidden>
          <span>Subject</span>
          <span>Object</span>
          <span>Source</span>
          <span>What became of it</span>
          <span className="events__when">Received</span>
        </div>
        {events.status === 'loading' && <SkeletonRows count={10} />}
        {events.status === 'failed' && <ErrorState error={events.error} onRetry={events.reload} />}
        {events.status === 'ready' && events.rows.length === 0 && (
          <NoEvents
            isFiltered={isFiltered}
            onClear={() => change({ q: '', source: '', subject: '', unmatched: false })}
          />
        )}
        <ul aria-label="Events">
          {events.rows.map((row) => (
            <EventLine key={row.id} row={row} isNew={events.fresh.has(row.id)} />
          ))}
        </ul>
        <LoadMore
          hasMore={events.nextCursor !== null && events.status === 'ready'}
          isBusy={events.isLoadingMore}
          onClick={events.loadMore}
        />
      </div>
      {isReplaying && (
        <ReplayManyDialog
          initial={filter}
          sources={sources?.items.map(({ name }) => name) ?? []}
          onClose={() => setIsReplaying(false)}
        />
      )}
    </PageFrame>
  )
}

const EventLine = memo(function EventLine({
  row,
  isNew,
}: {
  readonly row: EventRow
  readonly isNew?: boolean
}) {
  return (
    <li>
      <Link
        href={`/events/${row.id}`}
        className={isNew === true ? 'row events__grid row--new' : 'row events__grid'}
        data-row
      >
        <span className="row__title truncate mono events__subject" title={row.subject}>
          {row.subject}
        </span>
        <span className="truncate muted events__object" title={row.objectId ?? undefined}>
          {row.objectId === null ? <span className="faint">–</span> : row.objectId}
        </span>
        <span className="truncate muted events__source">
          {row.editedFrom === undefined ? row.source : `${row.source}, edited`}
        </span>
        <ConsumerChips event={row} />
        <span className="events__when faint">
          <Time at={row.receivedAt} />
        </span>
      </Link>
    </li>
  )
})

function NoEvents({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  const { data: demo } = useDemo()
  if (isFiltered) {
    return (
      <Empty
        icon={<Search size={20} />}
        title="Nothing fits"
        action={<Button onClick={onClear}>Clear the filters</Button>}
      >
        No accepted event has this. The search looks at ids, subjects, objects, dedup keys, payloads and whole
        effect keys.
      </Empty>
    )
  }
  return (
    <Empty
      icon={<Inbox size={20} />}
      title="No events yet"
      action={demo?.available === true ? <DemoButton /> : <Command text="npx millrace send github" />}
    >
      Events show up here the moment they are accepted. Send a signed sample to see one arrive, run, and be
      accounted for.
    </Empty>
  )
}

function SubjectInput({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const [text, setText] = useDelayed(value, onChange)
  return (
    <input
      className="input input--small mono events__subject-filter"
      aria-label="Subject"
      placeholder="Subject"
      value={text}
      spellCheck={false}
      onChange={(event) => setText(event.target.value)}
    />
  )
}
