// Escalations: failures of one cause, shown until an operator acknowledges them.

import { BookOpen, CircleQuestionMark, CircleX, Hand, MailX, Siren, Waypoints } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { consumerFilter, consumerHref, withSearch } from '../lib/links.ts'
import { pageLink } from '../lib/page-link.ts'
import { formatNumber } from '../lib/time.ts'
import { useEscalations, useMe } from '../queries.ts'
import type { Escalation } from '../types.ts'
import { ReasonDialog } from '../ui/actions.tsx'
import { Button, Chip, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import {
  classInWords,
  FilterBar,
  filtersOf,
  MoreRows,
  overviewCounts,
  useFilters,
  useRouteNames,
} from '../ui/filters.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const { tabs, name } = filtersOf('listEscalations')
const FILTERS = [
  tabs(
    'state',
    'State',
    [
      ['raised', 'Raised'],
      ['acknowledged', 'Acknowledged'],
    ],
    { useCounts: overviewCounts({ raised: 'raisedEscalations' }) },
  ),
  name('consumer', 'Route', 'All routes', useRouteNames),
]

export default function Escalations() {
  const { values, change } = useFilters('/escalations', FILTERS)
  const { consumer } = values
  const state = values.state === 'acknowledged' ? 'acknowledged' : 'raised'
  const [limit, setLimit] = useState(50)
  const { data, error, refetch } = useEscalations({ state, consumer: consumer || undefined, limit })
  return (
    <PageFrame
      title="Escalations"
      lead="What failed for good, once per cause however often it happened. Acknowledge one to say that you are on it; whatever fails of its cause afterwards raises a new one."
    >
      <FilterBar filters={FILTERS} values={values} onChange={change} />
      {data === undefined &&
        (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data?.items.length === 0 && <NoEscalations state={state} />}
      <ul className="groups">
        {data?.items.map((escalation) => (
          <Item key={escalation.id} escalation={escalation} />
        ))}
      </ul>
      {data !== undefined && <MoreRows hasMore={data.nextCursor !== null} limit={limit} onMore={setLimit} />}
    </PageFrame>
  )
}

function NoEscalations({ state }: { readonly state: string }) {
  return (
    <div className="list">
      <Empty
        icon={<Siren size={20} />}
        title={state === 'raised' ? 'Nobody is called' : 'None was acknowledged yet'}
        action={<LinkButton to="/failures">See what is tried again by itself</LinkButton>}
      >
        {state === 'raised'
          ? 'When work is given up, parked or fails for too long, its cause shows up here.'
          : 'Those that somebody takes over are kept here, with the note.'}
      </Empty>
    </div>
  )
}

/** Links to its subject: the failures of its cause and where they ended, or the route itself if that is paused. */
function Ways({ escalation: { cause, consumer, class: name, reason } }: { readonly escalation: Escalation }) {
  if (reason === 'circuit_open' || reason === 'lane_blocked') {
    return (
      <LinkButton isSmall to={consumerHref(consumer)} icon={<Waypoints size={13} aria-hidden />}>
        {reason === 'circuit_open' ? 'Its pace' : 'Held lanes'}
      </LinkButton>
    )
  }
  return (
    <>
      <LinkButton
        isSmall
        to={withSearch('/failures', { state: 'escalated', cause })}
        icon={<CircleX size={13} aria-hidden />}
      >
        Its failures
      </LinkButton>
      {name === 'unknown' ? (
        <LinkButton isSmall to="/unknown" icon={<CircleQuestionMark size={13} aria-hidden />}>
          Unknown outcomes
        </LinkButton>
      ) : (
        <LinkButton
          isSmall
          to={withSearch('/dead-letters', { consumer: consumerFilter(consumer), class: name })}
          icon={<MailX size={13} aria-hidden />}
        >
          Dead letters
        </LinkButton>
      )}
    </>
  )
}

function Item({ escalation }: { readonly escalation: Escalation }) {
  const { data: me } = useMe()
  const [isAsking, setIsAsking] = useState(false)
  const { id, state, consumer, class: name, reason, severity, count, lastError, runbook } = escalation
  const isRaised = state === 'raised'
  return (
    <li className="card escalation" aria-label={`${consumer.name}: ${lastError}`}>
      <div className="escalation__head">
        <span className="group__text">
          <span className="group__cause">{lastError}</span>
          <span className="group__facts">
            <Link href={consumerHref(consumer)}>{consumer.name}</Link>
            <span>{reason.replaceAll('_', ' ')}</span>
            <span>
              raised <Time at={escalation.createdAt} />
            </span>
            {count > 1 && (
              <span>
                latest <Time at={escalation.updatedAt} />
              </span>
            )}
          </span>
        </span>
        <span className="chips">
          <span className="tag" title="Severity">
            {severity}
          </span>
          <Chip tone={name === 'validation' ? 'violet' : isRaised ? 'red' : 'grey'}>
            {classInWords(name)}
          </Chip>
          {!isRaised && <StateChip state={state} />}
        </span>
        <span className="attention__count num" title={count === 1 ? 'One failure' : `${count} failures`}>
          {formatNumber(count)}
        </span>
      </div>
      {escalation.acknowledgedBy !== null && (
        <p className="escalation__note muted">
          {escalation.acknowledgedBy} took it over <Time at={escalation.updatedAt} />
          {escalation.note === null ? '.' : `: ${escalation.note}`}
        </p>
      )}
      <div className="escalation__actions">
        {isRaised && me?.role !== 'viewer' && (
          <Button isSmall icon={<Hand size={13} aria-hidden />} onClick={() => setIsAsking(true)}>
            Acknowledge
          </Button>
        )}
        <Ways escalation={escalation} />
        {escalation.workId !== null && (
          <LinkButton isSmall variant="ghost" to={`/work/${escalation.workId}`}>
            Latest item
          </LinkButton>
        )}
        {runbook !== undefined &&
          (pageLink(runbook) === null ? (
            <span className="mono truncate" title="Runbook">
              {runbook}
            </span>
          ) : (
            <a
              className="button button--ghost button--small"
              href={pageLink(runbook) ?? undefined}
              rel="noreferrer"
              target="_blank"
            >
              <BookOpen size={13} aria-hidden />
              Runbook
            </a>
          ))}
      </div>
      {isAsking && (
        <ReasonDialog
          title="Acknowledge this escalation"
          text="You take it over. It stays in the list of what was acknowledged, with your name and note; what fails of its cause afterwards raises another one."
          action="Acknowledge"
          field="note"
          run={(note) => api.acknowledgeEscalation({ id, ...(note !== '' && { note }) })}
          done="It is yours"
          onClose={() => setIsAsking(false)}
        />
      )}
    </li>
  )
}
