// Jobs by state: what is due, what runs, and the results of the rest.

import { Layers } from 'lucide-react'
import { LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { filtersOf, overviewCounts, useRouteNames } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

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

const { tabs, name } = filtersOf('listWork')
const FILTERS = [
  tabs(
    'state',
    'State',
    [
      ['ready', 'Ready'],
      ['waiting', 'Waiting'],
      ['leased', 'Running'],
      ['parked', 'Parked'],
      ['dead', 'Dead'],
      ['done', 'Done'],
      ['skipped', 'Skipped'],
      ['merged', 'Merged'],
      ['cancelled', 'Cancelled'],
    ],
    { useCounts: overviewCounts({ ready: 'ready', leased: 'leased', parked: 'parked' }) },
  ),
  name('consumer', 'Route', 'All routes', useRouteNames),
]

const WORK: ListDeclaration<'listWork'> = {
  list: 'listWork',
  queryKey: 'work-list',
  label: 'Work items',
  grid: 'work__grid',
  idOf: ({ id }) => id,
  hrefOf: ({ id }) => `/work/${id}`,
  columns: [
    { head: 'Route', className: 'row__title truncate', cell: ({ consumer }) => consumer },
    {
      head: 'Key',
      className: 'truncate mono muted work__key',
      title: ({ key }) => key,
      cell: ({ key }) => key ?? <span className="faint">no key yet</span>,
    },
    {
      head: 'State',
      className: 'chips',
      cell: ({ state, attempts }) => <StateChip state={state} attempts={attempts} />,
    },
    {
      head: 'Last answer',
      className: 'truncate muted work__error',
      title: ({ lastError }) => lastError,
      cell: ({ lastError, httpStatus }) =>
        lastError ?? (httpStatus === undefined ? '' : `HTTP ${httpStatus}`),
    },
    {
      head: 'Since',
      headOf: ({ state }) => (state === 'ready' ? 'Due' : 'Since'),
      className: 'events__when faint',
      cell: ({ dueAt, processedAt, createdAt }, { state }) => (
        <Time at={state === 'ready' ? dueAt : (processedAt ?? createdAt)} />
      ),
    },
  ],
}

export default function WorkScreen() {
  return (
    <PageFrame
      title="Work"
      lead="One item for each event and each route that wanted it. It is retried by itself until it is done, given up or parked for a person."
    >
      <ListView
        href="/work"
        declaration={WORK}
        filters={FILTERS}
        empty={({ state = '' }) => (
          <Empty
            icon={<Layers size={20} />}
            title={EMPTY[state] ?? 'Nothing here'}
            action={<LinkButton to="/events">See the events</LinkButton>}
          />
        )}
      />
    </PageFrame>
  )
}
