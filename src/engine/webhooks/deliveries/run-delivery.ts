// Runs a delivery: renders it by the deployed subscription, signs it, makes the call, and settles the result in one commit with
// the attempt. Nothing is reserved before: a repetition is harmless, because the receiver recognizes it by its id
// (docs/adr/0042-no-ledger-for-deliveries.md).
//
// Invariants: DY3 job, event and subscription are of one tenant before anything is read or sent. DY13 only the owner of the job
// sends, and its lease outlasts the call. DY5 a delivered event is not sent again by itself.

import { describeError as describe, ExpressionError } from '../../../core/expression/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import { assert, messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { isIsolated, LOSSES_MAX } from '../../../core/queue/work/index.ts'
import { routeScope } from '../../../core/routing/index.ts'
import {
  classifyDelivery,
  isTestEvent,
  type Subscription,
} from '../../../core/webhooks/subscription/index.ts'
import type { HttpOutcome } from '../../../ports/http-client.ts'
import type { RunningConfig } from '../../config.ts'
import { subscriptionOf } from '../../definitions/index.ts'
import { factsOf, hostOf } from '../../effects/index.ts'
import { limitsSaid } from '../../flow-control/index.ts'
import type { Item } from '../../leases/index.ts'
import { SETTLE_MARGIN_MS, SHORT_WAIT_MS } from '../../settlement/index.ts'
import type { DeliveryDeps } from './delivery-deps.ts'
import { type Attempted, makeDeliveryEnds } from './delivery-ends.ts'
import { renderDelivery, signRequest } from './delivery-request.ts'
import { isDelivered } from './redelivery.ts'

export interface DeliveryRunner {
  /** Throws StoreError; the caller puts the job back. */
  run(item: Item): Promise<void>
}

/** Only the head of a response is used. */
const ANSWER_BYTES_MAX = 16_384
/** Each crash counts twice: the lost claim, and the one that put the job back. */
const UNEXPLAINED_MAX = 6
/** A job that starts this soon after its insert did not wait. */
const AT_ONCE_MS = 1_000
const DELIVERED_BEFORE = 'its endpoint took it before'

export function makeDeliveryRunner(
  deps: DeliveryDeps,
  config: Pick<RunningConfig, 'vars' | 'version'>,
): DeliveryRunner {
  const { store, clock, http, vault, time, registry, lease, flowControl, slotLending } = deps
  const ends = makeDeliveryEnds(deps)

  const run = async (item: Item): Promise<void> => {
    const { work, event } = item
    const name = subscriptionOf(work.consumer)
    assert(name !== null, 'a delivery is of a subscription')
    assert(work.tenant === event.tenant, 'a delivery and its event are of one tenant')
    const entering = flowControl.endpointConcurrency.enter(work.tenant, work.consumer, item.slot)
    const mayCall = typeof entering === 'boolean' ? entering : await waitInLine(work.tenant, entering)
    const subscription = registry.subscription(work.tenant, name) ?? (await lookAgain(work.tenant, name))
    if (subscription === null) {
      // Stored in a form that this version cannot read: another node may. The job goes back, and is not lost.
      if (deps.isStored(work.tenant, name)) throw new Error(`this node cannot use the subscription ${name}`)
      return ends.gone(item, name)
    }
    const { route } = subscription
    // Claimed before this node learned that the subscription was paused: it waits like the others.
    if (route.status !== 'active') return ends.putBack(item, route)
    const pausedUntil = flowControl.endpointConcurrency.pausedUntil(work.tenant, work.consumer)
    if (!mayCall || pausedUntil !== null) return ends.putBack(item, route)
    return runFor(needsBegin(item, time.now()) ? await deps.begin(item, route) : item, subscription)
  }

  /** Claimed ahead of the limit of its endpoint: until a call ends, its slot is free for others. */
  const waitInLine = async (tenant: TenantId, entering: Promise<boolean>): Promise<boolean> => {
    const takeBack = deps.lendSlot(tenant)
    try {
      return await entering
    } finally {
      takeBack()
    }
  }

  /** Another node may have changed it: a removed subscription is not retried. */
  const lookAgain = async (tenant: TenantId, name: string): Promise<Subscription | null> => {
    await deps.refresh(tenant)
    return registry.subscription(tenant, name)
  }

  const runFor = async (item: Item, subscription: Subscription): Promise<void> => {
    const { work } = item
    const { route, document } = subscription
    const end = endOf(item, document.retry.attempts)
    if (end !== null) return ends.deadLetterJob(item, subscription, end)
    if (work.replayOf !== null && work.generation === 1) {
      const taken = await findTaken(item)
      if (taken !== null) return ends.skip(item, subscription, taken, DELIVERED_BEFORE)
    }
    const rendered = render(item, subscription)
    if ('error' in rendered) return ends.deadLetterJob(item, subscription, rendered)
    const startedAt = time.now()
    const signed = await signRequest(vault, work.tenant, subscription, rendered, {
      id: item.event.id,
      at: startedAt,
      render: (open) => renderDelivery(subscription, item, config, open),
    })
    const target = hostOf(rendered.url)
    if (!signed.ok) {
      const failed = { class: signed.class ?? 'transient', error: signed.error, retryAfterMs: null }
      return ends.failed(item, subscription, {
        ...failed,
        startedAt,
        outcome: null,
        target,
        sent: null,
        isGone: false,
        isTold: false,
      })
    }
    if (mayGoOnWithOthers(item)) return ends.putBack(item, route)
    const preparing = flowControl.prepare(item, route)
    if (preparing !== null) await preparing
    // The last thing that is awaited: the vault and the rate permits took their time, and the lease may have expired meanwhile.
    const covered = lease.covers(item.owner, document.timeoutMs + SETTLE_MARGIN_MS)
    if (!(covered === true || (await covered)) || !lease.holds(item.owner))
      return ends.wait(item, route, SHORT_WAIT_MS, 'the lease could not be made long enough for the call')
    const closed = flowControl.mayCall(item, route, null)
    if (closed !== null) return ends.wait(item, route, closed.delayMs, closed.why)
    const request = signed
    const ended = slotLending.begin(work.tenant, request.body.length)
    let outcome: HttpOutcome
    try {
      outcome = await http.send({
        tenant: work.tenant,
        method: 'POST',
        url: request.url,
        headers: request.headers,
        body: request.body,
        timeoutMs: document.timeoutMs,
        maxResponseBytes: ANSWER_BYTES_MAX,
        cut: true,
      })
    } finally {
      ended()
    }
    return settle(item, subscription, outcome, { startedAt, target, sent: request })
  }

  /** Why a job ends before its attempt; null: it does not. Its expiry alone does not end it: no node could run it (DY29). */
  const endOf = ({ work }: Item, attemptsMax: number) => {
    if (work.losses >= LOSSES_MAX) {
      const error = 'the node stopped each time while this item ran alone'
      return { class: 'poison', reason: 'crash_loop', error, step: 'wait' } as const
    }
    const failureClass: FailureClass = work.class ?? 'transient'
    if (work.attempts < attemptsMax) return null
    const error = work.lastError ?? 'all attempts of the retry profile are used up'
    return { class: failureClass, reason: 'cap_reached', error, step: 'call' } as const
  }

  const findTaken = async ({ work }: Item): Promise<string | null> => {
    const items = await store.forTenant(work.tenant).workOfEvent(work.eventId)
    return items.find((one) => one.consumer === work.consumer && isDelivered(one))?.id ?? null
  }

  const render = (item: Item, subscription: Subscription) => {
    try {
      const { route } = subscription
      // It was created without a lane: either its key cannot be computed, which this reports as a failure, or the subscription
      // had no order then. Our own test event is in no lane.
      if (route.lane !== null && item.work.lane === null && !isTestEvent(item.event))
        route.lane.of(routeScope(item.event, item.payload(), item.header(), config.vars))
      return renderDelivery(subscription, item, config)
    } catch (error) {
      if (error instanceof ExpressionError) {
        const isAddress = error.path === 'url'
        const failureClass: FailureClass = isAddress ? 'config' : 'validation'
        return { class: failureClass, reason: 'rejected', error: describe(error), step: 'transform' } as const
      }
      if (error instanceof JsonError)
        return { class: 'poison', reason: 'unparseable', error: messageOf(error), step: 'read' } as const
      throw error
    }
  }

  const settle = (
    item: Item,
    subscription: Subscription,
    outcome: HttpOutcome,
    { startedAt, target, sent }: Omit<Attempted, 'outcome'>,
  ): Promise<void> => {
    const { tenant, consumer } = item.work
    const verdict = classifyDelivery(factsOf(outcome, clock.now()))
    const isDone = verdict.as === 'delivered'
    const retryAfterMs = isDone ? null : verdict.retryAfterMs
    // A response of a former address says nothing about the deployed one.
    const isDeployed = registry.subscription(tenant, subscription.document.name)?.hash === subscription.hash
    if (verdict.sign !== null && isDeployed)
      flowControl.endpointConcurrency.reportResult(tenant, consumer, {
        startedAt,
        sign: verdict.sign,
        retryAfterMs,
      })
    if (subscription.document.connection !== undefined)
      flowControl.answered(item, limitsSaid(outcome, clock.now()))
    flowControl.called(item)
    const callClass = isDone ? 'done' : verdict.class
    flowControl.reportResult({ item, route: subscription.route, host: null, class: callClass, retryAfterMs })
    const attempted: Attempted = { startedAt, outcome, target, sent }
    if (isDone) return ends.delivered(item, subscription, attempted)
    return ends.failed(item, subscription, {
      ...attempted,
      class: verdict.class,
      error: null,
      hint: verdict.hint,
      retryAfterMs,
      isGone: verdict.isGone,
      // A rate limit shows that the endpoint is alive; without a call, nothing is known about it.
      isTold: verdict.class !== 'rate_limited' && verdict.sign !== null,
    })
  }

  return { run }
}

/**
 * Two crashes left it behind, so it runs isolated; once it is rendered and signed without harm, it is sent beside others. Sent
 * in isolation, deliveries to endpoints that hang would hold up all the others. Further crashes show as changes of owner that
 * no attempt and no wait explains: then it is sent in isolation too, so that a delivery that crashes its node is found.
 */
function mayGoOnWithOthers({ work }: Item): boolean {
  return isIsolated(work) && work.losses === 1 && work.epoch - work.attempts - work.waits <= UNEXPLAINED_MAX
}

/**
 * A job that is leased on insert, by the node that has its route at hand, has all of its time, and replays nothing; unless it
 * waited here for a slot.
 */
function needsBegin({ work, route }: Item, now: Instant): boolean {
  return work.replayOf !== null || route === null || now - work.createdAt >= AT_ONCE_MS
}
