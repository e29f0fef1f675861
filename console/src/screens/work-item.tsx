// One job: its details, its history, and its actions.

import { Ban, RotateCcw } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { ledgerHref, workConsumerHref, workConsumerKind } from '../lib/links.ts'
import { formatNumber } from '../lib/time.ts'
import { useMe, useWork } from '../queries.ts'
import type { WorkStory } from '../types.ts'
import { ReasonDialog, useAction } from '../ui/actions.tsx'
import { Button, Copy, StateChip, Time } from '../ui/controls.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { AttemptSteps, attemptsOf, NextStep } from '../ui/timeline.tsx'

export default function WorkItem({ id }: { readonly id: string }) {
  const { data: work, error, refetch } = useWork(id)
  const { data: me } = useMe()
  const crumbs = [['Work', '/work']] as const
  if (work === undefined) {
    return (
      <PageFrame title="Work item" crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const attempts = attemptsOf(work)
  return (
    <PageFrame
      title={`Work of ${work.consumer}`}
      heading={
        <span className="title-line">
          {work.consumer} <StateChip state={work.state} attempts={work.attempts} />
        </span>
      }
      crumbs={crumbs}
      lead={<Copy text={work.id} />}
      actions={me?.role === 'viewer' ? null : <Actions work={work} />}
    >
      {work.state === 'parked' && (
        <div className="spaced">
          <Note tone="amber">
            <strong>Nobody knows whether the call had its effect.</strong>{' '}
            <Link href="/unknown">Record the outcome</Link> among the unknown outcomes.
          </Note>
        </div>
      )}
      {work.holdsLane === true && (
        <div className="spaced">
          <Note tone="amber">
            <strong>It holds its lane up.</strong> Those behind it wait until it is settled.{' '}
            <Link href={workConsumerHref(work)}>Its {workConsumerKind(work)}</Link> lists who holds whom up
            and lets the lane go on.
          </Note>
        </div>
      )}
      <div className="event">
        <section aria-labelledby="history">
          <h2 id="history" className="spaced">
            History
          </h2>
          <ol className="timeline">
            <AttemptSteps attempts={attempts} />
            <NextStep work={work} />
          </ol>
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts" className="spaced">
            Facts
          </h2>
          <Facts work={work} />
        </section>
      </div>
    </PageFrame>
  )
}

function Facts({ work }: { readonly work: WorkStory }) {
  return (
    <dl className="facts card card--pad">
      <dt>Event</dt>
      <dd>
        <Link href={`/events/${work.eventId}`} className="mono">
          {work.eventId}
        </Link>
      </dd>
      <dt>{consumerWord(work)}</dt>
      <dd>
        <Link href={workConsumerHref(work)}>{work.consumer}</Link>
      </dd>
      {work.kind === 'delivery' && (
        <>
          <dt>Delivery</dt>
          <dd>
            <Link href={`/deliveries/${work.id}`}>Answers, request and resending</Link>
          </dd>
        </>
      )}
      <dt>Runs</dt>
      <dd>
        <Link href={`/runs?workId=${encodeURIComponent(work.id)}`}>Its calls to other systems</Link>
      </dd>
      {work.instance !== undefined && (
        <>
          <dt>Instance</dt>
          <dd>
            <Link href={`/instances/${work.instance}`} className="mono">
              {work.instance}
            </Link>
          </dd>
        </>
      )}
      {work.step !== undefined && (
        <>
          <dt>Step</dt>
          <dd>
            <span className="tag">{work.step}</span>
          </dd>
        </>
      )}
      <dt>Key</dt>
      <dd>{work.key === undefined ? <span className="faint">none</span> : <Copy text={work.key} />}</dd>
      {work.generation !== undefined && (
        <>
          <dt>Generation</dt>
          <dd className="num">{work.generation}: the effect is made once more, on purpose</dd>
        </>
      )}
      {work.ledger !== null && (
        <>
          <dt>Ledger</dt>
          <dd>
            <Link href={ledgerHref(work.ledger.key)}>
              <StateChip state={work.ledger.state} />
            </Link>
          </dd>
        </>
      )}
      <Place work={work} />
      {work.deadLetter !== null && (
        <>
          <dt>Dead letter</dt>
          <dd>
            <Link href={`/dead-letters/${work.deadLetter.id}`}>
              {work.deadLetter.reason.replaceAll('_', ' ')}
            </Link>{' '}
            <StateChip state={work.deadLetter.state} />
          </dd>
        </>
      )}
      <dt>Attempts</dt>
      <dd className="num">
        {work.attempts}
        {work.waits > 0 && <span className="faint"> and {work.waits} waits</span>}
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={work.createdAt} />
      </dd>
      {work.processedAt === undefined ? (
        <>
          {work.state !== 'waiting' && (
            <>
              <dt>Due</dt>
              <dd>
                <Time at={work.dueAt} />
              </dd>
            </>
          )}
          {/* Its time starts with its first attempt. */}
          {work.attempts + work.waits + work.losses > 0 && (
            <>
              <dt>Dead-lettered</dt>
              <dd>
                <Time at={work.expiresAt} /> at the latest
              </dd>
            </>
          )}
        </>
      ) : (
        <>
          <dt>Settled</dt>
          <dd>
            <Time at={work.processedAt} />
          </dd>
        </>
      )}
      <dt>Definition</dt>
      <dd>
        <Copy text={work.definition} shown={`${work.definition.slice(0, 19)}…`} />
      </dd>
    </dl>
  )
}

function consumerWord(work: WorkStory): string {
  const kind = workConsumerKind(work)
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`
}

/** Its relation to others: its lane, its batch, the list that it is an element of. */
function Place({ work }: { readonly work: WorkStory }) {
  const { lane, turn, into, members, element } = work
  return (
    <>
      {lane !== undefined && (
        <>
          <dt>Lane</dt>
          <dd>
            <span className="mono">{lane}</span>
            {turn !== undefined && (
              <div className="muted">
                {turn.ahead === 0 ? 'It is next' : `${formatNumber(turn.ahead)} before it`}
                {turn.behind !== null && (
                  <>
                    , behind <WorkLink id={turn.behind} />
                  </>
                )}
                {turn.heldBy !== null && (
                  <>
                    ; the lane is held up by <WorkLink id={turn.heldBy} />
                  </>
                )}
              </div>
            )}
          </dd>
        </>
      )}
      {into !== undefined && (
        <>
          <dt>Batch</dt>
          <dd>
            <WorkLink id={into} />
          </dd>
        </>
      )}
      {members !== undefined && (
        <>
          <dt>Batch of</dt>
          <dd>
            {members.length === 0 ? (
              <span className="faint">it is over; each item has its own outcome</span>
            ) : (
              <ul className="members">
                {members.map(({ id, state, key }) => (
                  <li key={id}>
                    <Link href={`/work/${id}`} className="mono truncate">
                      {key ?? id}
                    </Link>{' '}
                    <StateChip state={state} />
                  </li>
                ))}
              </ul>
            )}
          </dd>
        </>
      )}
      {element !== undefined && (
        <>
          <dt>Element</dt>
          <dd>
            number {element + 1} of its list <span className="faint">(index {element})</span>
          </dd>
        </>
      )}
    </>
  )
}

function WorkLink({ id }: { readonly id: string }) {
  return (
    <Link href={`/work/${id}`} className="mono">
      {id}
    </Link>
  )
}

function Actions({ work }: { readonly work: WorkStory }) {
  const [isCancelling, setIsCancelling] = useState(false)
  const retry = useAction({
    run: () => api.retryWork({ id: work.id }),
    done: 'It is due now',
    failed: 'It could not be retried',
  })
  const isOpen = work.state === 'ready'
  // A dialog stays open when another user acts meanwhile: the response says so.
  const canCancel = isOpen || work.state === 'waiting' || work.state === 'parked'
  if (!canCancel && !isCancelling) return null
  return (
    <>
      {isOpen && (
        <Button
          icon={<RotateCcw size={14} aria-hidden />}
          isBusy={retry.isPending}
          onClick={() => retry.mutate(undefined)}
        >
          Retry now
        </Button>
      )}
      <Button variant="danger" icon={<Ban size={14} aria-hidden />} onClick={() => setIsCancelling(true)}>
        Cancel
      </Button>
      {isCancelling && (
        <ReasonDialog
          title="Cancel this work item"
          text="It will not be tried again. The event stays, and the item keeps its history."
          action="Cancel it"
          run={(reason) => api.cancelWork({ id: work.id, reason })}
          done="The item is cancelled"
          isReasonNeeded
          isDangerous
          onClose={() => setIsCancelling(false)}
        />
      )}
    </>
  )
}
