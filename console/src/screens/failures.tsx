// Failures: what is retried automatically, what was resolved, and what was escalated.

import { CircleX } from 'lucide-react'
import { Chip, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { CLASS_CHOICES, classInWords, filtersOf, overviewCounts, useRouteNames } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const EMPTY: Readonly<Record<string, string>> = {
  open: 'Nothing fails. What fails and is tried again shows up here.',
  escalated: 'Nobody was called for anything.',
  resolved: 'Nothing was resolved yet.',
}

const { tabs, name, choice, condition } = filtersOf('listFailures')
const FILTERS = [
  tabs(
    'state',
    'State',
    [
      ['open', 'Open'],
      ['escalated', 'Escalated'],
      ['resolved', 'Resolved'],
    ],
    { useCounts: overviewCounts({ open: 'openFailures' }) },
  ),
  name('consumer', 'Route', 'All routes', useRouteNames),
  choice('class', 'Class', 'All classes', CLASS_CHOICES),
  condition('cause', () => 'Of one escalation'),
]

const FAILURES: ListDeclaration<'listFailures'> = {
  list: 'listFailures',
  queryKey: 'failures',
  label: 'Failures',
  grid: 'failures__grid',
  idOf: ({ id }) => id,
  hrefOf: ({ workId, consumer }) =>
    workId === null ? `/connections/${encodeURIComponent(consumer.name)}` : `/work/${workId}`,
  columns: [
    { head: 'Route', className: 'row__title truncate', cell: ({ consumer }) => consumer.name },
    {
      head: 'Class',
      className: 'chips',
      cell: ({ state, class: name }) => (
        <Chip tone={state === 'resolved' ? 'grey' : name === 'validation' ? 'violet' : 'red'}>
          {classInWords(name)}
        </Chip>
      ),
    },
    {
      head: 'What went wrong',
      className: 'failures__error',
      cell: ({ lastError, key }) => (
        <>
          <span className="truncate" title={lastError}>
            {lastError}
          </span>
          {key !== undefined && <span className="row__sub mono truncate">{key}</span>}
        </>
      ),
    },
    {
      head: 'Attempts',
      headOf: ({ state }) => (state === 'open' ? 'Tries again' : 'Attempts'),
      className: 'failures__next muted',
      cell({ state, attempts, willRetryAt }) {
        if (state !== 'open')
          return (
            <>
              <span className="num">{attempts}</span> <StateChip state={state} />
            </>
          )
        if (willRetryAt === null) return 'not by itself'
        return (
          <>
            tries again <Time at={willRetryAt} />
          </>
        )
      },
    },
    { head: 'Since', className: 'events__when faint', cell: ({ createdAt }) => <Time at={createdAt} /> },
  ],
}

export default function Failures() {
  return (
    <PageFrame
      title="Failures"
      lead="Every failure ends: resolved when a later try succeeds, or escalated when nobody tries any more. Open ones are tried again by themselves."
    >
      <ListView
        href="/failures"
        declaration={FAILURES}
        filters={FILTERS}
        empty={({ state = '' }) => (
          <Empty
            icon={<CircleX size={20} />}
            title={EMPTY[state] ?? 'Nothing here'}
            action={<LinkButton to="/work">See the work</LinkButton>}
          />
        )}
      />
    </PageFrame>
  )
}
