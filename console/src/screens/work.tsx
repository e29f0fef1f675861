// Jobs by state: what is due, what runs, and the results of the rest.

import { Layers } from 'lucide-react'
import { Link, useLocation, useSearch } from 'wouter'
import { api } from '../api.ts'
import { useMore } from '../lib/use-more.ts'
import { useOverview, useWorkList } from '../queries.ts'
import type { Work } from '../types.ts'
import { LinkButton, StateChip, Tabs, Time } from '../ui/controls.tsx'
import { RouteFilter } from '../ui/filters.tsx'
import { Empty, ErrorState, LoadMore, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

type WorkState = Work['state']

const STATES: readonly (readonly [WorkState, string])[] = [
  ['ready', 'Ready'],
  ['waiting', 'Waiting'],
  ['leased', 'Running'],
  ['parked', 'Parked'],
  ['dead', 'Dead'],
  ['done', 'Done'],
  ['skipped', 'Skipped'],
  ['merged', 'Merged'],
  ['cancelled', 'Cancelled'],
]

const EMPTY: Readonly<Record<string, string>> = {
  ready: 'Nothing waits. New events are worked on as they come.',
  waiting: 'Nothing waits for its turn in a lane.',
  leased: 'Nothing runs at this moment.',
  parked: 'No call has an unknown outcome.',
  dead: 'No job failed for good.',
  done: 'Nothing was done yet. Send an event that a route wants.',
  skipped: 'Nothing was skipped.',
  merged: 'No item is part of a batch at this moment.',
  cancelled: 'Nothing was cancelled.',
}

export default function WorkScreen() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const state = search.get('state') ?? 'ready'
  const consumer = search.get('consumer') ?? ''
  const overview = useOverview()
  const change = (part: { readonly state?: string; readonly consumer?: string }) => {
    const next = new URLSearchParams({ state, consumer, ...part })
    if (next.get('consumer') === '') next.delete('consumer')
    go(`/work?${next}`, { replace: true })
  }
  const counts = overview.data?.counts
  const countOf = (name: WorkState) => {
    if (counts === undefined) return undefined
    if (name === 'ready' || name === 'leased' || name === 'parked') {
      return overview.data?.isCapped[name] === true ? `${counts[name]}+` : counts[name]
    }
    return undefined
  }
  return (
    <PageFrame
      title="Work"
      lead="One item for each event and each route that wanted it. It is retried by itself until it is done, given up or parked for a person."
    >
      <Tabs
        label="State"
        tabs={STATES.map(([id, label]) => ({ id, label, count: countOf(id) }))}
        selected={state}
        onSelect={(next) => change({ state: next })}
      />
      <div className="toolbar">
        <RouteFilter value={consumer} onChange={(next) => change({ consumer: next })} />
      </div>
      <WorkList key={`${state} ${consumer}`} state={state} consumer={consumer} />
    </PageFrame>
  )
}

function WorkList({ state, consumer }: { readonly state: string; readonly consumer: string }) {
  const filter = { state: state as WorkState, consumer: consumer || undefined, limit: 50 }
  const first = useWorkList(filter)
  const { items, hasMore, isBusy, loadMore } = useMore(
    first.data,
    ({ id }) => id,
    (cursor) => api.listWork({ ...filter, cursor }),
  )
  if (first.data === undefined) {
    return first.error === null ? (
      <SkeletonRows />
    ) : (
      <ErrorState error={first.error} onRetry={() => void first.refetch()} />
    )
  }
  if (items.length === 0) {
    return (
      <div className="list">
        <Empty
          icon={<Layers size={20} />}
          title={EMPTY[state] ?? 'Nothing here'}
          action={<LinkButton to="/events">See the events</LinkButton>}
        />
      </div>
    )
  }
  return (
    <div className="list">
      <div className="list__head work__grid" aria-hidden>
        <span>Route</span>
        <span>Key</span>
        <span>State</span>
        <span>Last answer</span>
        <span className="events__when">{state === 'ready' ? 'Due' : 'Since'}</span>
      </div>
      <ul aria-label="Work items">
        {items.map((work) => (
          <li key={work.id}>
            <Link href={`/work/${work.id}`} className="row work__grid" data-row>
              <span className="row__title truncate">{work.consumer}</span>
              <span className="truncate mono muted work__key" title={work.key}>
                {work.key ?? <span className="faint">no key yet</span>}
              </span>
              <span className="chips">
                <StateChip state={work.state} attempts={work.attempts} />
              </span>
              <span className="truncate muted work__error" title={work.lastError}>
                {work.lastError ?? (work.httpStatus === undefined ? '' : `HTTP ${work.httpStatus}`)}
              </span>
              <span className="events__when faint">
                <Time at={state === 'ready' ? work.dueAt : (work.processedAt ?? work.createdAt)} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <LoadMore hasMore={hasMore} isBusy={isBusy} onClick={loadMore} />
    </div>
  )
}
