// Prepares one piece of a recovery: some deliveries that a subscription has missed and the recovery's progress, for one commit.
//
// Invariants: RV2 nothing is added for an event that was delivered or is under way. RV4 the commit is guarded by the
// record's version, by the subscription's version guard and by the version of each dead letter: a crash, a second node,
// a second recovery or an operator who retries meanwhile duplicates nothing and loses nothing.

import { isCanonicalSource } from '../../../core/events/canonical/index.ts'
import type { EventSummary } from '../../../core/events/event/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { putBackCounters, type WorkRow } from '../../../core/queue/work/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { Subscription } from '../../../core/webhooks/subscription/index.ts'
import type { TenantReads } from '../../../ports/store.ts'
import { decidedText } from '../../access/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { findOrPromote, withFactsOf } from '../../events/index.ts'
import { lineOf } from '../../observe/index.ts'
import { newWork } from '../../planning/index.ts'
import { addDelivery, newDelivery, readDeliveryVersion } from '../../webhooks/index.ts'
import type { InternalDeadLetterActions } from '../dead-letter-actions.ts'
import { type Found, isRecovered, walkEvents } from './recovery-walk.ts'
import type { PieceDraft, PieceReplay, Prepared } from './replay-piece.ts'
import type { BulkReplay, DeliveriesFilter, StoredReplay } from './replay-record.ts'

export type Recovery = Extract<BulkReplay, { of: 'deliveries' }>

/** How many events a piece reads, and of how many the payload: some hundredths of a second. */
const WALKED_MAX = 5_000
const PAYLOADS_MAX = 500

export interface RecoverDeps extends Pick<EngineBase, 'store' | 'ids' | 'vars' | 'log'> {
  readonly registry: Registry
  readonly deadLetterActions: Pick<InternalDeadLetterActions, 'prepare'>
  /** Clears the known failures of the endpoint, so that they delay nothing. */
  forgetBackoff(tenant: TenantId, consumer: string): void
}

/** The request with both ends set: events received from now on are matched on arrival. */
export function recoverySpan(asked: DeliveriesFilter, now: Instant): Required<DeliveriesFilter> {
  const until = Math.min(asked.until ?? now + 1, now + 1)
  if (asked.since < until) return { ...asked, until }
  const why = asked.since > now ? '`since` is in the future' : '`since` is not before `until`'
  throw new AppError('invalid_request', why)
}

export function subscriptionFor(
  registry: Registry,
  tenant: TenantId,
  { subscription: name }: DeliveriesFilter,
): Subscription {
  const subscription = registry.subscription(tenant, name)
  if (subscription === null) throw new AppError('unknown_subscription', `there is no subscription ${name}`)
  return subscription
}

/** Throws if there is no event to read. */
export async function beginWalk(
  reads: TenantReads,
  { since, until }: Required<DeliveriesFilter>,
): Promise<Recovery['walk']> {
  const page = await reads.events({ from: since, to: until, cursor: null, limit: 1 })
  if (page.items.length > 0 || page.nextCursor !== null) return { after: null, at: null, walked: 0, left: 0 }
  throw new AppError('nothing_to_recover', 'no event that is still kept was received in that time')
}

/** `beside`: every change that adds deliveries to the subscription advances this version. */
export async function prepareRecovery(
  deps: RecoverDeps,
  tenant: TenantId,
  { replay, version }: StoredReplay & { readonly replay: Recovery },
  subscription: Subscription,
  most: number,
  then: { nextAt(count: number): number; readonly finishedAt: number },
): Promise<PieceDraft> {
  const { store } = deps
  const { filter, walk } = replay
  const deliveryVersion = await readDeliveryVersion(store, tenant, subscription.consumer)
  const reads = withFactsOf(store.forTenant(tenant), subscription.document.on)
  const bounds = { found: most, walked: WALKED_MAX, payloads: PAYLOADS_MAX }
  const step = await walkEvents({ ...deps, reads, subscription, filter }, walk.after, bounds)
  const prepared: Prepared[] = []
  // Sequentially: the ids of the jobs must follow the order of the events, for ordered deliveries.
  for (const found of step.found) {
    if (!isRecovered(found, filter)) continue
    // Jobs are added for events alone.
    if (isCanonicalSource(found.summary.source)) await findOrPromote(store, tenant, found.summary.id)
    prepared.push(await prepareFound(deps, replay, subscription.route, found))
  }
  const base: Recovery = {
    ...replay,
    nextAt: then.nextAt(prepared.length),
    total: replay.total + prepared.length,
    walk: {
      after: step.last?.id ?? walk.after,
      at: step.last?.receivedAt ?? walk.at,
      walked: walk.walked + step.walked,
      left: walk.left + step.found.filter((found) => isLeft(found, filter)).length,
    },
    ...(step.isLast && { state: 'done', finishedAt: then.finishedAt }),
  }
  return {
    base,
    version,
    prepared,
    beside: deliveryVersion,
    prepareAgain: (id) => Promise.resolve({ id, code: 'conflict' }),
  }
}

/** Requested deliveries are replayed or refused; for the rest, those that need nothing are counted. */
function isLeft(found: Found, filter: DeliveriesFilter): boolean {
  const { verdict } = found
  if (filter.what === 'retrying') return !isRecovered(found, filter)
  return verdict !== 'failed' && verdict !== 'missing'
}

async function prepareFound(
  deps: RecoverDeps,
  { force }: Recovery,
  route: Route,
  { summary, deadLetter, event, waiting }: Found,
): Promise<Prepared> {
  if (waiting !== null) return { id: summary.id, replay: hurryUp(deps, summary, waiting) }
  if (deadLetter === null) {
    const work =
      event === null
        ? newWork(deps.ids, route, summary, summary.id)
        : newDelivery(deps, route, event, { replayOf: summary.id, isAgain: false })
    return { id: summary.id, replay: addDelivery(deps.log, summary, work, 'RECOVERED') }
  }
  try {
    return {
      id: deadLetter.id,
      replay: await deps.deadLetterActions.prepare(deadLetter.tenant, deadLetter, { force }),
    }
  } catch (error) {
    if (error instanceof AppError) return { id: deadLetter.id, code: error.code }
    throw error
  }
}

/** It is due now, as if an operator had retried it alone. */
function hurryUp(
  { log, forgetBackoff }: Pick<RecoverDeps, 'log' | 'forgetBackoff'>,
  event: EventSummary,
  work: WorkRow,
): PieceReplay {
  const { id, tenant, state, epoch, consumer, definition } = work
  const { key, class: failureClass, lastError, effectRef, httpStatus, durationMs } = work
  const about = { ...event, sensitive: [], data: '', headers: '' }
  const line = lineOf('replay', 'RETRIED', about, {
    route: consumer.slice(consumer.indexOf(':') + 1),
    work: id,
    definition,
  })
  return {
    guards: [{ g: 'work', work: id, state, epoch }],
    writes: [
      {
        w: 'work.again',
        work: id,
        delayMs: 0,
        counters: putBackCounters(work),
        note: { key, class: failureClass, lastError, effectRef, httpStatus, durationMs },
      },
    ],
    work,
    logDecision(decided) {
      forgetBackoff(tenant, consumer)
      log.control({ ...line, message: decidedText(decided) })
    },
  }
}
