// Unknown outcomes: calls that were sent and never answered. The engine does not guess; a user decides. The list is the
// ledger's: calls of cancelled jobs are in it too. Jobs that are parked for another reason come after it.

import { Ban, CircleCheck, CircleQuestionMark, Radar, RotateCcw, Undo2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { ledgerHref } from '../lib/links.ts'
import { useLedger, useMe, useParked } from '../queries.ts'
import type { LedgerEntry, Work } from '../types.ts'
import { ReasonDialog, useAction } from '../ui/actions.tsx'
import { Button, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

type Act = NonNullable<LedgerEntry['actions']>[number]

/** One unknown outcome: an effect, or a job that is parked without one. */
interface Doubt {
  readonly id: string
  readonly workId: string
  readonly consumer: string
  readonly key: string | undefined
  readonly eventId: string
  readonly at: string
  readonly entry: LedgerEntry | null
  /** As it is parked; undefined: it is not. */
  readonly work: Work | undefined
  readonly actions: readonly Act[]
}

export default function Parked() {
  const ledger = useLedger({ state: 'unknown', limit: 200 })
  const parked = useParked()
  const error = ledger.error ?? parked.error
  const doubts =
    ledger.data === undefined || parked.data === undefined
      ? undefined
      : doubtsOf(ledger.data.items, parked.data.items)
  const settling = doubts?.filter(settlesItself) ?? []
  const open = doubts?.filter((doubt) => !settlesItself(doubt)) ?? []
  const retry = () => {
    void ledger.refetch()
    void parked.refetch()
  }
  return (
    <PageFrame
      title="Unknown outcomes"
      lead="These calls were sent, and no answer proves what became of them. Repeating could double the effect, giving up could lose it, so they wait here until you say which it was."
    >
      {doubts === undefined &&
        (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={retry} />)}
      {doubts !== undefined && open.length === 0 && (
        <div className="list">
          <Empty
            icon={<CircleQuestionMark size={20} />}
            title={settling.length === 0 ? 'Every outcome is known' : 'Nothing needs a decision'}
            action={<LinkButton to="/ledger?state=done">See what was done</LinkButton>}
          >
            When a call ends without an answer and the route has neither a probe nor a vendor key that makes
            repeating safe, it shows up here.
          </Empty>
        </div>
      )}
      <ul className="parked">
        {open.map((doubt) => (
          <Item key={doubt.id} doubt={doubt} />
        ))}
      </ul>
      {settling.length > 0 && (
        <section className="section" aria-labelledby="settling">
          <h2 id="settling" className="spaced">
            Settle by themselves
          </h2>
          <p className="muted spaced">
            Their jobs are still running: they ask the vendor, or call again where that is safe. Nothing has
            to be decided.
          </p>
          <ul className="parked">
            {settling.map((doubt) => (
              <Item key={doubt.id} doubt={doubt} />
            ))}
          </ul>
        </section>
      )}
    </PageFrame>
  )
}

/** Its job continues and settles the outcome of the call. */
function settlesItself({ entry, work }: Doubt): boolean {
  const state = entry?.work?.state
  return work === undefined && (state === 'ready' || state === 'leased' || state === 'waiting')
}

function doubtsOf(entries: readonly LedgerEntry[], parked: readonly Work[]): readonly Doubt[] {
  const inLedger = new Set(entries.map(({ workId }) => workId))
  return [
    ...entries.map((entry) => ({
      id: `${entry.key} ${entry.generation}`,
      workId: entry.workId,
      consumer: entry.consumer,
      key: entry.key,
      eventId: entry.eventId,
      at: entry.createdAt,
      entry,
      work: parked.find(({ id }) => id === entry.workId),
      actions: entry.actions ?? [],
    })),
    ...parked
      .filter(({ id }) => !inLedger.has(id))
      .map((work) => ({
        id: work.id,
        workId: work.id,
        consumer: work.consumer,
        key: work.key,
        eventId: work.eventId,
        at: work.processedAt ?? work.createdAt,
        entry: null,
        work,
        actions: (work.key === undefined ? [] : ['done', 'released']).concat('retry', 'cancel') as Act[],
      })),
  ]
}

function whatIsKnown({ entry, work }: Doubt): ReactNode {
  if (work === undefined) {
    const state = entry?.work?.state
    if (state === 'cancelled')
      return 'A call was sent and not answered. Its work item was cancelled; the doubt stayed.'
    if (state === 'dead')
      return 'A call was sent and not answered. Its work item was given up since, and has a dead letter.'
    return 'A call was sent, and its answer is not known yet.'
  }
  const sent = work.attempts === 1 ? 'One call was sent' : `${work.attempts} calls were sent`
  return work.httpStatus === undefined
    ? `${sent} and no answer came back.`
    : `${sent}, answered with ${work.httpStatus}, which does not say whether it was applied.`
}

function Item({ doubt }: { readonly doubt: Doubt }) {
  const { data: me } = useMe()
  const { workId, consumer, key, work, entry } = doubt
  return (
    <li className="card parked__item">
      <div className="parked__head">
        <Link href={`/work/${workId}`} className="row__title" data-row>
          {consumer}
        </Link>
        <StateChip state="unknown" />
        {key !== undefined && (
          <Link href={ledgerHref(key)} className="mono truncate parked__key">
            {key}
          </Link>
        )}
        {entry !== null && entry.generation > 1 && (
          <span className="tag num">generation {entry.generation}</span>
        )}
        <span className="parked__when faint">
          sent <Time at={doubt.at} />
        </span>
      </div>
      <dl className="facts">
        <dt>What is known</dt>
        <dd>{whatIsKnown(doubt)}</dd>
        {work?.lastError !== undefined && (
          <>
            <dt>Last error</dt>
            <dd className="mono parked__error">{work.lastError}</dd>
          </>
        )}
        {work?.holdsLane === true && (
          <>
            <dt>Lane</dt>
            <dd>
              It holds the lane <span className="mono">{work.lane}</span> up: others wait behind it.
            </dd>
          </>
        )}
        <dt>Event</dt>
        <dd>
          <Link href={`/events/${doubt.eventId}`} className="mono">
            {doubt.eventId}
          </Link>
        </dd>
      </dl>
      {me?.role !== 'viewer' && <Actions doubt={doubt} />}
    </li>
  )
}

type Asking = 'done' | 'released' | 'cancel' | null

function Actions({ doubt: { workId: id, key, actions, work } }: { readonly doubt: Doubt }) {
  const [asking, setAsking] = useState<Asking>(null)
  const probe = useAction({
    run: () => api.probeWork({ id }),
    done: 'The vendor is being asked',
    failed: 'It could not be probed',
  })
  const retry = useAction({
    run: () => api.retryWork({ id }),
    done: 'It looks again at what is known',
    failed: 'It could not be retried',
  })
  const close = () => setAsking(null)
  const can = (act: Act) => actions.includes(act)
  // The decision is about the effect shown here: if the job is about another one by then, it is refused.
  const about = key === undefined ? {} : { key }
  if (actions.length === 0 && asking === null) return null
  return (
    <div className="parked__actions">
      {can('done') && (
        <Button
          variant="primary"
          icon={<CircleCheck size={14} aria-hidden />}
          onClick={() => setAsking('done')}
        >
          It happened
        </Button>
      )}
      {can('released') && (
        <Button icon={<Undo2 size={14} aria-hidden />} onClick={() => setAsking('released')}>
          It did not happen
        </Button>
      )}
      {can('probe') && (
        <Button
          icon={<Radar size={14} aria-hidden />}
          isBusy={probe.isPending}
          onClick={() => probe.mutate(undefined)}
          title="Ask the vendor by the route's probe"
        >
          Probe
        </Button>
      )}
      {can('retry') && (
        <Button
          icon={<RotateCcw size={14} aria-hidden />}
          isBusy={retry.isPending}
          onClick={() => retry.mutate(undefined)}
          title="Let the item look again at what is known. Nothing is sent while the outcome is unknown."
        >
          Retry
        </Button>
      )}
      {can('cancel') && (
        <Button variant="ghost" icon={<Ban size={14} aria-hidden />} onClick={() => setAsking('cancel')}>
          Cancel
        </Button>
      )}
      {asking === 'done' && (
        <ReasonDialog
          title="Mark the effect as done"
          text={
            <>
              You looked, and the effect is there. The ledger will say <code>done</code>, and nothing is sent
              again for this key.
            </>
          }
          action="Mark done"
          run={(reason) => api.resolveWork({ id, as: 'done', reason, ...about })}
          done="The ledger says done"
          isReasonNeeded
          onClose={close}
        />
      )}
      {asking === 'released' && (
        <ReasonDialog
          title="Mark the effect as not made"
          text={
            <>
              You looked, and the effect is not there. The key is <code>released</code>
              {work === undefined ? '; the next one with it makes the call.' : ' and the call is made again.'}
            </>
          }
          action={work === undefined ? 'Release the key' : 'Release and call again'}
          run={(reason) => api.resolveWork({ id, as: 'released', reason, ...about })}
          done="The key is released"
          isReasonNeeded
          onClose={close}
        />
      )}
      {asking === 'cancel' && (
        <ReasonDialog
          title="Cancel this work item"
          text="It will not be tried again. The ledger keeps the doubt: its outcome stays unknown, and in this list, until somebody says what became of it."
          action="Cancel it"
          run={(reason) => api.cancelWork({ id, reason })}
          done="The item is cancelled"
          isReasonNeeded
          isDangerous
          onClose={close}
        />
      )}
    </div>
  )
}
