// One dead letter: what went wrong, its event, and what can be done about it.

import { Check, FilePen, Play, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { formatJson, type JsonNode } from '../lib/json-text.ts'
import { consumerHref, ledgerHref } from '../lib/links.ts'
import { pageLink } from '../lib/page-link.ts'
import { useDeadLetter, useMe, useWork } from '../queries.ts'
import type { DeadLetterDetail } from '../types.ts'
import { ReasonDialog, useAction } from '../ui/actions.tsx'
import { Button, Chip, Copy, CopyButton, StateChip, Time } from '../ui/controls.tsx'
import { EditDialog } from '../ui/edit-dialog.tsx'
import { JsonTree } from '../ui/json-tree.tsx'
import { ReplayDialog } from '../ui/replay-dialog.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { AttemptSteps } from '../ui/timeline.tsx'

const REPLAYS_MAX = 3

export default function DeadLetterScreen({ id }: { readonly id: string }) {
  const { data, error, refetch } = useDeadLetter(id)
  const { data: me } = useMe()
  const crumbs = [['Dead letters', '/dead-letters']] as const
  if (data === undefined) {
    return (
      <PageFrame title="Dead letter" crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const letter = data.answer
  return (
    <PageFrame
      title={`Dead letter of ${letter.consumer.name}`}
      heading={
        <span className="title-line">
          {letter.consumer.name} <StateChip state={letter.state} />{' '}
          <Chip tone={letter.state === 'resolved' ? 'grey' : 'red'}>{letter.class}</Chip>
        </span>
      }
      crumbs={crumbs}
      lead={<Copy text={letter.id} />}
      actions={me?.role === 'viewer' ? null : <Actions letter={letter} payload={data.exact} />}
    >
      <div className="spaced">
        <Note tone={letter.state === 'resolved' ? 'accent' : letter.state === 'discarded' ? 'grey' : 'red'}>
          {letter.state === 'resolved' && <strong>Resolved by a replay. It had failed with </strong>}
          {letter.state === 'discarded' && <strong>Discarded. It had failed with </strong>}
          <strong className="letter__reason">{letter.reason.replaceAll('_', ' ')}:</strong> {letter.lastError}
          {letter.runbook !== undefined && (
            <>
              {' '}
              {pageLink(letter.runbook) === null ? (
                <span className="mono">{letter.runbook}</span>
              ) : (
                <a href={pageLink(letter.runbook) ?? undefined} rel="noreferrer" target="_blank">
                  Runbook
                </a>
              )}
            </>
          )}
        </Note>
      </div>
      {letter.replays >= REPLAYS_MAX && letter.state === 'open' && (
        <div className="spaced">
          <Note tone="amber">
            <strong>{letter.replays} replays of it failed.</strong> Another replay needs force: change
            something first.
          </Note>
        </div>
      )}
      <div className="event">
        <section aria-labelledby="history">
          <h2 id="history" className="spaced">
            History
          </h2>
          <ol className="timeline">
            <AttemptSteps attempts={letter.history} />
          </ol>
          <h2 className="spaced">Facts</h2>
          <Facts letter={letter} />
        </section>
        <section aria-labelledby="payload">
          <h2 id="payload" className="spaced">
            Payload
          </h2>
          {data.exact === undefined || data.exact.type === 'word' ? (
            <Note>The event is no longer stored.</Note>
          ) : (
            <div className="card">
              <div className="card__bar">
                <span className="mono truncate">{letter.event?.subject}</span>
                <CopyButton text={formatJson(data.exact)} label="Copy" />
              </div>
              <JsonTree node={data.exact} />
            </div>
          )}
        </section>
      </div>
    </PageFrame>
  )
}

function Facts({ letter }: { readonly letter: DeadLetterDetail }) {
  return (
    <dl className="facts card card--pad">
      <dt>Event</dt>
      <dd>
        <Link href={`/events/${letter.eventId}`} className="mono">
          {letter.eventId}
        </Link>
        {letter.event?.editedFrom !== undefined && <span className="faint"> edited copy</span>}
      </dd>
      <dt>{letter.consumer.kind === 'workflow' ? 'Workflow' : 'Route'}</dt>
      <dd>
        <Link href={consumerHref(letter.consumer)}>{letter.consumer.name}</Link>
      </dd>
      {letter.consumer.kind === 'workflow' && <InstanceFact workId={letter.workId} />}
      <dt>Key</dt>
      <dd>
        {letter.key === undefined ? (
          <span className="faint">none</span>
        ) : (
          <>
            <Copy text={letter.key} /> <Link href={ledgerHref(letter.key)}>in the ledger</Link>
          </>
        )}
      </dd>
      {letter.step !== undefined && (
        <>
          <dt>Step</dt>
          <dd>
            <span className="tag">{letter.step}</span> <span className="faint">is how far it came</span>
          </dd>
        </>
      )}
      <dt>Job</dt>
      <dd>
        <Link href={`/work/${letter.workId}`} className="mono">
          {letter.workId}
        </Link>
      </dd>
      <dt>Reported as</dt>
      <dd>
        {letter.reportedAs} <span className="faint">{letter.severity}</span>
      </dd>
      <dt>Dead-lettered</dt>
      <dd>
        <Time at={letter.createdAt} /> after{' '}
        {letter.attempts === 1 ? 'one attempt' : `${letter.attempts} attempts`}
      </dd>
      <dt>Replays</dt>
      <dd className="num">{letter.replays}</dd>
    </dl>
  )
}

/** Where the replay continues. */
function InstanceFact({ workId }: { readonly workId: string }) {
  const { data: work } = useWork(workId)
  if (work?.instance === undefined) return null
  return (
    <>
      <dt>Instance</dt>
      <dd>
        <Link href={`/instances/${work.instance}`} className="mono">
          {work.instance}
        </Link>
      </dd>
    </>
  )
}

type Asking = 'replay' | 'force' | 'edit' | 'discard' | null

function Actions({
  letter,
  payload,
}: {
  readonly letter: DeadLetterDetail
  readonly payload: JsonNode | undefined
}) {
  const [asking, setAsking] = useState<Asking>(null)
  const close = () => setAsking(null)
  const ready = useAction({
    run: () => api.readyDeadLetter({ id: letter.id }),
    done: 'Marked as ready to replay',
    failed: 'It could not be marked',
  })
  const isOpen = letter.state === 'open' || letter.state === 'ready_to_replay'
  // A dialog stays open when another user acts meanwhile: the response says so.
  if (!isOpen && asking === null) return null
  const needsForce = letter.replays >= REPLAYS_MAX
  return (
    <>
      <Button variant="ghost" icon={<Trash2 size={14} aria-hidden />} onClick={() => setAsking('discard')}>
        Discard
      </Button>
      {payload !== undefined && (
        <Button icon={<FilePen size={14} aria-hidden />} onClick={() => setAsking('edit')}>
          Edit payload
        </Button>
      )}
      {letter.state === 'open' && (
        <Button
          icon={<Check size={14} aria-hidden />}
          isBusy={ready.isPending}
          onClick={() => ready.mutate(undefined)}
        >
          Mark ready
        </Button>
      )}
      <Button
        variant="primary"
        icon={<Play size={14} aria-hidden />}
        onClick={() => setAsking(needsForce ? 'force' : 'replay')}
      >
        {needsForce ? 'Replay with force' : 'Replay'}
      </Button>
      {asking === 'replay' && (
        <ReplayDialog filter={{ ids: [letter.id] }} what="one dead letter" onClose={close} />
      )}
      {asking === 'force' && (
        <ReasonDialog
          title="Replay with force"
          text="Every replay so far has failed. Force allows another one."
          action="Replay with force"
          run={(reason) => api.replayDeadLetter({ id: letter.id, force: true, reason })}
          done="The replay has started"
          isReasonNeeded
          onClose={close}
        />
      )}
      {asking === 'edit' && payload !== undefined && (
        <EditDialog letterId={letter.id} payload={payload} onClose={close} />
      )}
      {asking === 'discard' && (
        <ReasonDialog
          title="Discard this dead letter"
          text="The job will not be replayed. The event and this dead letter stay stored, with your reason."
          action="Discard"
          run={(reason) => api.discardDeadLetter({ id: letter.id, reason })}
          done="The dead letter is discarded"
          isReasonNeeded
          isDangerous
          onClose={close}
        />
      )}
    </>
  )
}
