// How a delivery ends or is put back: each is a decision for the settler, with the attempt, the event about it, and a log line.
//
// Invariants: DY12 the end of a delivery, its attempt and the event about it are one commit. DY13 the result of a stale owner
// is neither written nor published.

import { type Scrub, scrubNothing } from '../../../core/events/sensitive/index.ts'
import type { DeadLetterReason } from '../../../core/failures/dead-letter/index.ts'
import { type FailureClass, isTimeout } from '../../../core/failures/failure/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { stretch } from '../../../core/queue/retry/index.ts'
import { type Attempt, type Counters, EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import { filterHashOf, type Route } from '../../../core/routing/index.ts'
import { makeRedact } from '../../../core/secrets/index.ts'
import { responseHead, type Subscription } from '../../../core/webhooks/subscription/index.ts'
import type { HttpOutcome } from '../../../ports/http-client.ts'
import type { EventPlan } from '../../commit/index.ts'
import { countersOf, errorText, errorTextInFull, measured, withoutWords } from '../../effects/index.ts'
import type { Item } from '../../leases/index.ts'
import { lineOf } from '../../observe/index.ts'
import { scrubOf } from '../../secrets/index.ts'
import {
  again,
  cancelled,
  type Decision,
  dead,
  decideNext,
  done,
  type Settlement,
  skipped,
  storableError,
} from '../../settlement/index.ts'
import type { DeliveryDeps } from './delivery-deps.ts'
import { type DeliveryEnd, deliveryEvent } from './delivery-events.ts'
import { makeScrubOfEchoes, type Sent } from './echoed-secrets.ts'

/** What a line is about: a subscription, or the name of one that is gone. */
type Consumer = Pick<Route['document'], 'name' | 'on' | 'where'> | Pick<Route['document'], 'name'>

export interface Attempted {
  readonly startedAt: Instant
  /** null: no call was made. */
  readonly outcome: HttpOutcome | null
  /** The host. */
  readonly target: string | null
  /** null: nothing was sent. */
  readonly sent: Sent | null
}

export interface FailedAttempt extends Attempted {
  readonly class: FailureClass
  /** null: derived from the outcome. */
  readonly error: string | null
  /** An explanation beyond the status. */
  readonly hint?: string | null
  readonly retryAfterMs: number | null
  readonly isGone: boolean
  /** Whether it counts for the health of the endpoint. */
  readonly isTold: boolean
}

interface Untried {
  readonly class: FailureClass
  readonly reason: DeadLetterReason
  readonly error: string
  readonly step: string
}

export interface DeliveryEnds {
  delivered(item: Item, subscription: Subscription, attempted: Attempted): Promise<void>
  /** Retried or dead-lettered, by the retry policy. */
  failed(item: Item, subscription: Subscription, failed: FailedAttempt): Promise<void>
  /** Dead-lettered without a further call. */
  deadLetterJob(item: Item, subscription: Subscription, end: Untried): Promise<void>
  /** `by`: the job that was delivered before. */
  skip(item: Item, subscription: Subscription, by: string, why: string): Promise<void>
  /** Its subscription was removed. */
  gone(item: Item, name: string): Promise<void>
  /** Unchanged: it waits where nothing has to be written. */
  putBack(item: Item, route: Route): Promise<void>
  wait(item: Item, route: Route, delayMs: number, why: string): Promise<void>
}

export const SUBSCRIPTION_GONE = 'SUBSCRIPTION_GONE'

export function makeDeliveryEnds(deps: DeliveryDeps): DeliveryEnds {
  const { log, time, settler, watch } = deps

  /** Settles with the event about it, if a subscription wants that event. */
  const settleTelling = (
    item: Item,
    { route, document }: Subscription,
    decision: Decision,
    end: DeliveryEnd,
    how: Parameters<typeof deliveryEvent>[4],
  ): Promise<Settlement> => {
    const noted = deliveryEvent(deps, item, document.name, end, how)
    const writes = noted.writes.length === 0 ? decision.writes : [...decision.writes, ...noted.writes]
    if (noted.plans.length === 0) return settler.settle(item, route, { ...decision, writes })
    return settleWith(noted.plans, item, route, { ...decision, writes })
  }

  const settleWith = async (
    plans: readonly EventPlan[],
    item: Item,
    route: Route,
    decision: Decision,
  ): Promise<Settlement> => await settler.settle(item, route, { ...decision, plans })

  const logLine = (
    item: Item,
    consumer: Consumer,
    action: string,
    { counters, note }: Pick<Decision, 'counters' | 'note'>,
    target: string | null,
    errorCode: string | null = null,
  ) => {
    const point = action === 'DEAD_LETTERED' ? 'dead-letter' : action === 'DEDUPE_HIT' ? 'dedupe' : 'effect'
    log.control(
      lineOf(point, action, item.event, {
        route: consumer.name,
        subscription: consumer.name,
        filter: 'on' in consumer ? filterHashOf(consumer) : null,
        work: item.work.id,
        definition: item.work.definition,
        target,
        attempt: counters.attempts,
        class: note.class,
        durationMs: note.durationMs,
        httpStatus: note.httpStatus,
        errorCode,
        message: withoutWords(note.lastError ?? ''),
      }),
    )
  }

  const settleDead = (
    item: Item,
    subscription: Subscription,
    decision: Extract<Decision, { to: 'dead' }>,
  ) => {
    const { class: failureClass, reason, counters, note } = decision
    const how = {
      attempts: counters.attempts,
      httpStatus: note.httpStatus,
      class: failureClass,
      reason,
    }
    return settleTelling(item, subscription, decision, 'webhook.dead', how)
  }

  return {
    async delivered(item, subscription, attempted) {
      const counters = countedUp(item)
      const { startedAt, outcome, target } = attempted
      const { httpStatus, durationMs } = measuredOf(outcome)
      const decision = done({
        counters,
        note: { ...EMPTY_NOTE, httpStatus, durationMs },
        attempt: attemptOf(
          item,
          counters.attempts,
          attempted,
          'done',
          null,
          null,
          echoesOf(subscription, attempted),
        ),
      })
      const how = { attempts: counters.attempts, httpStatus, durationMs }
      const settlement = await settleTelling(item, subscription, decision, 'webhook.delivered', how)
      const { name } = subscription.document
      logLine(item, subscription.document, settlement.ok ? 'DELIVERED' : 'STALE', decision, target)
      if (settlement.ok) watch.delivered(item.work.tenant, name, { at: startedAt, hash: subscription.hash })
    },

    async failed(item, subscription, failed) {
      const { route, document } = subscription
      const { outcome, target, hint = null } = failed
      const echoes = echoesOf(subscription, failed)
      const error = failed.error ?? echoes(errorOf(outcome, hint))
      const counters = countedUp(item)
      const now = time.now()
      const askedMs = failed.retryAfterMs === null ? null : Math.min(failed.retryAfterMs, document.maxWaitMs)
      const expiresAt = expiryOf(item, route, failed, askedMs ?? 0)
      const step = decideNext(deps, item, document.retry, {
        class: failed.class,
        isTimeout: outcome !== null && isTimeout(outcome),
        retryAfterMs: askedMs,
        expiresAt,
      })
      const isWait = step.step === 'again' && step.counters.attempts < counters.attempts
      const word = step.step === 'again' ? (isWait ? 'waited' : 'again') : 'dead'
      const base = {
        counters,
        note: { ...EMPTY_NOTE, class: failed.class, lastError: error, ...measuredOf(outcome) },
        attempt: attemptOf(item, counters.attempts, failed, word, failed.class, error, echoes),
      }
      const isOver = step.step !== 'again'
      // A repeated delivery is harmless: nothing is ever parked.
      const reason = step.step === 'dead' ? step.reason : 'cap_reached'
      const decision = isOver
        ? dead({ class: failed.class, reason, error, step: 'call' }, base)
        : again(step.delayMs, {
            ...base,
            counters: step.counters,
            ...(expiresAt > item.work.expiresAt && { expiresInMs: expiresAt - now }),
          })
      const settlement =
        decision.to === 'dead'
          ? await settleDead(item, subscription, decision)
          : await settler.settle(item, route, decision)
      const action = isOver ? 'DEAD_LETTERED' : isWait ? 'WAIT' : 'RETRY'
      logLine(item, document, settlement.ok ? action : 'STALE', decision, target)
      if (!settlement.ok || !failed.isTold) return
      watch.failed(item.work.tenant, document.name, {
        at: failed.startedAt,
        hash: subscription.hash,
        error: storableError(item.event, error),
        isExhausted: isOver,
        isGone: failed.isGone,
      })
    },

    async deadLetterJob(item, subscription, { class: failureClass, reason, error, step }) {
      const note = { ...EMPTY_NOTE, class: failureClass, lastError: error }
      const why = { class: failureClass, reason, error, step }
      const decision = dead(why, { counters: countersOf(item), note })
      const settlement = await settleDead(item, subscription, decision)
      if (settlement.ok) logLine(item, subscription.document, 'DEAD_LETTERED', decision, null, reason)
    },

    async skip(item, { route, document }, by, why) {
      const note = { ...EMPTY_NOTE, effectRef: by, lastError: why }
      const decision = skipped({ counters: countersOf(item), note })
      const settlement = await settler.settle(item, route, decision)
      if (settlement.ok) logLine(item, document, 'DEDUPE_HIT', decision, null)
    },

    async gone(item, name) {
      const note = { ...EMPTY_NOTE, lastError: SUBSCRIPTION_GONE }
      const decision = cancelled({ counters: countersOf(item), note })
      const settlement = await settler.settle(item, null, decision)
      if (settlement.ok) logLine(item, { name }, 'CANCELLED', decision, null)
    },

    async putBack(item, route) {
      const { class: failureClass, lastError, httpStatus, durationMs } = item.work
      const note = { ...EMPTY_NOTE, class: failureClass, lastError, httpStatus, durationMs }
      await settler.settle(item, route, again(0, { counters: countersOf(item), note }))
    },

    async wait(item, route, delayMs, why) {
      const counters: Counters = { ...countersOf(item), waits: item.work.waits + 1 }
      const note = { ...EMPTY_NOTE, class: item.work.class, lastError: why }
      const decision = again(delayMs, { counters, note })
      const settlement = await settler.settle(item, route, decision)
      if (settlement.ok) logLine(item, route.document, 'WAIT', decision, null)
    },
  }
}

function countedUp({ work }: Item): Counters {
  return { attempts: work.attempts + 1, waits: work.waits, losses: work.losses }
}

/**
 * Until when it is retried. A delivery that expired before its attempt had waited where no node could run it: after a failure
 * its full time starts again, as often as it has attempts. A wait that its endpoint asks for does not count against its time
 * either. A 429 uses no attempt: if it extended the time, there would be no end.
 */
function expiryOf(
  { work }: Item,
  route: Route,
  { class: failureClass, startedAt }: FailedAttempt,
  askedMs: number,
): Instant {
  if (failureClass === 'rate_limited') return work.expiresAt
  const isLate = startedAt >= work.expiresAt
  // Jitter adds up to a tenth to the requested wait.
  return (isLate ? startedAt + route.expiresInMs : work.expiresAt) + Math.ceil(stretch(askedMs, 1))
}

function measuredOf(outcome: HttpOutcome | null): ReturnType<typeof measured> {
  return outcome === null ? { httpStatus: null, durationMs: null } : measured(outcome)
}

function errorOf(outcome: HttpOutcome | null, hint: string | null): string {
  if (outcome === null) return hint ?? 'no call was made'
  return hint === null ? errorTextInFull(outcome) : `${errorText(outcome)}: ${hint}`
}

function attemptOf(
  { event }: Item,
  number: number,
  { startedAt, outcome }: Attempted,
  word: Attempt['outcome'],
  failureClass: FailureClass | null,
  error: string | null,
  echoes: Scrub,
): Attempt {
  const { httpStatus, durationMs } = measuredOf(outcome)
  const attempt: Attempt = {
    number,
    startedAt,
    durationMs: durationMs ?? 0,
    outcome: word,
    class: failureClass,
    httpStatus,
    error,
  }
  const head = outcome === null ? null : responseHead(outcome)
  return head === null ? attempt : { ...attempt, response: echoes(scrubOf(event)(head)) }
}

/** Only a response echoes anything: other failures have messages of our own, and none may contain a secret. */
function echoesOf({ document }: Subscription, { outcome, sent }: Attempted): Scrub {
  if (sent === null) return scrubNothing
  const { hidden = [] } = sent
  if (outcome?.kind !== 'response') return hidden.length === 0 ? scrubNothing : makeRedact(hidden)
  return makeScrubOfEchoes(document, sent)
}
