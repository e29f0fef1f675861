// Failures: what is retried automatically, what was resolved, and what was escalated.

import { CircleX } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { withSearch } from '../lib/links.ts'
import { useFailures, useOverview } from '../queries.ts'
import type { Failure } from '../types.ts'
import { Chip, LinkButton, StateChip, Tabs, Time } from '../ui/controls.tsx'
import { ClassFilter, Condition, classInWords, classOf, MoreRows, RouteFilter } from '../ui/filters.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

type StateTab = readonly [state: Failure['state'], label: string, empty: string]

const OPEN: StateTab = ['open', 'Open', 'Nothing fails. What fails and is tried again shows up here.']
const STATES: readonly StateTab[] = [
  OPEN,
  ['escalated', 'Escalated', 'Nobody was called for anything.'],
  ['resolved', 'Resolved', 'Nothing was resolved yet.'],
]

export default function Failures() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const [state, , empty] = STATES.find(([id]) => id === search.get('state')) ?? OPEN
  const consumer = search.get('consumer') ?? ''
  const className = classOf(search.get('class'))
  const cause = search.get('cause') ?? undefined
  const [limit, setLimit] = useState(50)
  const { data: overview } = useOverview()
  const { data, error, refetch } = useFailures({
    state,
    consumer: consumer || undefined,
    class: className,
    cause,
    limit,
  })
  const change = (part: Readonly<Record<string, string | undefined>>) =>
    go(withSearch('/failures', { state, consumer, class: className, cause, ...part }), { replace: true })
  const open = overview?.counts.openFailures
  return (
    <PageFrame
      title="Failures"
      lead="Every failure ends: resolved when a later try succeeds, or escalated when nobody tries any more. Open ones are tried again by themselves."
    >
      <Tabs
        label="State"
        tabs={STATES.map(([id, label]) => ({
          id,
          label,
          ...(id === 'open' && {
            count: overview?.isCapped.openFailures === true ? `${open}+` : open,
          }),
        }))}
        selected={state}
        onSelect={(next) => change({ state: next })}
      />
      <div className="toolbar">
        <RouteFilter value={consumer} onChange={(next) => change({ consumer: next })} />
        <ClassFilter value={className ?? ''} onChange={(next) => change({ class: next })} />
        {cause !== undefined && (
          <Condition text="Of one escalation" onRemove={() => change({ cause: undefined })} />
        )}
      </div>
      <div className="list">
        <div className="list__head failures__grid" aria-hidden>
          <span>Route</span>
          <span>Class</span>
          <span>What went wrong</span>
          <span>{state === 'open' ? 'Tries again' : 'Attempts'}</span>
          <span className="events__when">Since</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
          <Empty
            icon={<CircleX size={20} />}
            title={empty}
            action={<LinkButton to="/work">See the work</LinkButton>}
          />
        )}
        <ul aria-label="Failures">
          {data?.items.map((failure) => (
            <Line key={failure.id} failure={failure} />
          ))}
        </ul>
        {data !== undefined && (
          <MoreRows hasMore={data.nextCursor !== null} limit={limit} onMore={setLimit} />
        )}
      </div>
    </PageFrame>
  )
}

function Line({ failure }: { readonly failure: Failure }) {
  const { state, class: name, willRetryAt, attempts } = failure
  return (
    <li>
      <Link href={`/work/${failure.workId}`} className="row failures__grid" data-row>
        <span className="row__title truncate">{failure.consumer.name}</span>
        <span className="chips">
          <Chip tone={state === 'resolved' ? 'grey' : name === 'validation' ? 'violet' : 'red'}>
            {classInWords(name)}
          </Chip>
        </span>
        <span className="failures__error">
          <span className="truncate" title={failure.lastError}>
            {failure.lastError}
          </span>
          {failure.key !== undefined && <span className="row__sub mono truncate">{failure.key}</span>}
        </span>
        <span className="failures__next muted">
          {state !== 'open' ? (
            <>
              <span className="num">{attempts}</span> <StateChip state={state} />
            </>
          ) : willRetryAt === null ? (
            'not by itself'
          ) : (
            <>
              tries again <Time at={willRetryAt} />
            </>
          )}
        </span>
        <span className="events__when faint">
          <Time at={failure.createdAt} />
        </span>
      </Link>
    </li>
  )
}
