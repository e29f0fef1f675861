// The live list of events, with search and filters that are part of the address.

import { ArrowUp, Inbox, RotateCcw, Search } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLiveEvents } from '../lib/use-live-events.ts'
import { useDemo, useMe } from '../queries.ts'
import type { EventRow } from '../types.ts'
import { ConsumerChips } from '../ui/consumer-chips.tsx'
import { Button, Command, Time } from '../ui/controls.tsx'
import { DemoButton } from '../ui/demo.tsx'
import { FilterBar, filtersOf, useFilters, useSourceNames } from '../ui/filters.tsx'
import { Table, type TableDeclaration } from '../ui/list-view.tsx'
import { ReplayManyDialog } from '../ui/replay-many.tsx'
import { useDelayed } from '../ui/search.tsx'
import { Empty, ErrorState, LoadMore, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const TOP_PX = 60

const { search, name, own, flag } = filtersOf('listEvents')
const FILTERS = [
  search('q', 'Search events', 'Id, object, key or text in the payload'),
  name('source', 'Source', 'All sources', useSourceNames),
  own('subject', SubjectInput),
  flag('unmatched', 'Unmatched only'),
  flag('system', 'System events'),
]

const EVENTS: TableDeclaration<EventRow> = {
  label: 'Events',
  grid: 'events__grid',
  idOf: ({ id }) => id,
  hrefOf: ({ id }) => `/events/${id}`,
  columns: [
    {
      head: 'Subject',
      className: 'row__title truncate mono events__subject',
      title: ({ subject }) => subject,
      cell: ({ subject }) => subject,
    },
    {
      head: 'Object',
      className: 'truncate muted events__object',
      title: ({ objectId }) => objectId ?? undefined,
      cell: ({ objectId }) => objectId ?? <span className="faint">–</span>,
    },
    {
      head: 'Source',
      className: 'truncate muted events__source',
      cell: ({ source, editedFrom }) => (editedFrom === undefined ? source : `${source}, edited`),
    },
    { head: 'What became of it', isElement: true, cell: (event) => <ConsumerChips event={event} /> },
    {
      head: 'Received',
      className: 'events__when faint',
      cell: ({ receivedAt }) => <Time at={receivedAt} />,
    },
  ],
}

export function EventsScreen() {
  const { values, change, clear, isNarrowed } = useFilters('/events', FILTERS)
  const events = useLiveEvents(values)
  const sources = useSourceNames()
  const { data: me } = useMe()
  const [isReplaying, setIsReplaying] = useState(false)
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
      <FilterBar filters={FILTERS} values={values} onChange={change} />
      {events.held > 0 && (
        <div className="pill">
          <button type="button" onClick={() => window.scrollTo({ top: 0, behavior: 'smooth' })}>
            <ArrowUp size={14} aria-hidden />
            Paused while you scroll: {events.held.toLocaleString('en')} new
          </button>
        </div>
      )}
      <div className="list events">
        {events.status === 'loading' && <SkeletonRows count={10} />}
        {events.status === 'failed' && <ErrorState error={events.error} onRetry={events.reload} />}
        {events.status === 'ready' && events.rows.length === 0 && (
          <NoEvents isFiltered={isNarrowed} onClear={clear} />
        )}
        {events.rows.length > 0 && (
          <Table declaration={EVENTS} rows={events.rows} filter={values} fresh={events.fresh} />
        )}
        <LoadMore
          hasMore={events.nextCursor !== null && events.status === 'ready'}
          isBusy={events.isLoadingMore}
          onClick={events.loadMore}
        />
      </div>
      {isReplaying && (
        <ReplayManyDialog
          initial={{
            source: values.source ?? '',
            subject: values.subject ?? '',
            unmatched: values.unmatched === 'true',
            system: values.system === 'true',
          }}
          sources={sources}
          onClose={() => setIsReplaying(false)}
        />
      )}
    </PageFrame>
  )
}

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
