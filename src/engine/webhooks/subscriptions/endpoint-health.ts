// Listens to what deliveries report about their endpoints: counts failures in a row in memory, and writes when something
// changes.
//
// Invariants: SU12 a delivery to a healthy endpoint costs look-ups in maps, and so does a failed one that changes nothing. SU13
// a change is one commit with its event. A change that cannot be written now is decided again by the next report. SU22
// successes on another node, or before a restart of this one, are looked up in the store before a subscription becomes failing.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { type Instant, MINUTE } from '../../../core/foundation/time/index.ts'
import {
  FRESH_SUBSCRIPTION,
  SUBSCRIPTION_PREFIX,
  type SubscriptionInput,
  type SubscriptionState,
  type SubscriptionStep,
  stepSubscription,
} from '../../../core/webhooks/subscription/index.ts'
import type { Log } from '../../../ports/log.ts'
import type { Store } from '../../../ports/store.ts'
import type { Registry } from '../../definitions/index.ts'
import type { DeliveryWatch, ToldCall } from '../deliveries/index.ts'
import { type NoticeDeps, subscriptionEvents } from './subscription-events.ts'
import { freshRecord } from './subscription-records.ts'
import type { SubscriptionStateCache } from './subscription-state-cache.ts'

type News = SubscriptionInput & ToldCall

interface Streak {
  failures: number
  readonly since: Instant
  /** Its address, and since when its subscription has its status: if either changes, counting starts again. */
  readonly of: string
}

/** How many failing endpoints are remembered; beyond it the oldest start again. */
const STREAKS_MAX = 20_000
const ITSELF = 'itself'
/** The newest by creation: an older one may have been delivered later. */
const ARRIVALS_LOOKED_AT = 100
/** How often a flapping endpoint is reported: each change is a commit, an event, and a read by every other node. */
const RESTLESS_MS = 1 * MINUTE

export function makeEndpointHealth(
  deps: NoticeDeps & {
    readonly store: Store
    readonly log: Log
    readonly stateCache: SubscriptionStateCache
    readonly registry: Registry
  },
): DeliveryWatch & {
  /** Resolves when nothing is being written. */
  idle(): Promise<void>
} {
  const { store, log, stateCache, registry } = deps
  const streaks = new Map<string, Streak>()
  const writing = new Map<string, Promise<void>>()
  /** Subscriptions for which a success waits for a write in progress. */
  const arrived = new Set<string>()

  /** The time of a success after the first of these failures; null: there was none. */
  const findArrival = async (
    tenant: TenantId,
    name: string,
    state: SubscriptionState,
    since: Instant,
  ): Promise<Instant | null> => {
    const query = {
      consumer: `${SUBSCRIPTION_PREFIX}${name}`,
      state: 'done',
      cursor: null,
      limit: ARRIVALS_LOOKED_AT,
    } as const
    const { items } = await store.forTenant(tenant).workList(query)
    const at = Math.max(0, ...items.map(({ processedAt }) => processedAt ?? 0))
    return at > (state.failingSince ?? since) ? at : null
  }

  /** The resulting step, by what all nodes know. */
  const decided = async (
    tenant: TenantId,
    name: string,
    state: SubscriptionState,
    input: SubscriptionInput,
    document: SubscriptionDocument,
  ): Promise<SubscriptionStep> => {
    const step = stepSubscription(state, input, document)
    if (input.type !== 'failed' || step.state === state) return step
    const at = await findArrival(tenant, name, state, input.since)
    if (at === null) return step
    streaks.delete(`${tenant}/${name}`)
    if (state.failingSince !== null) return stepSubscription(state, { type: 'delivered', at }, document)
    return input.isExhausted
      ? stepSubscription(state, { ...input, since: input.at }, document)
      : { state, notices: [] }
  }

  const write = async (tenant: TenantId, name: string, input: News): Promise<void> => {
    try {
      const changed = await stateCache.change(tenant, name, async (stored) => {
        const document = documentFor(tenant, name, input, stored?.record.state)
        if (document === null) return null
        const record = stored?.record ?? freshRecord(input.at, ITSELF)
        const { state, notices } = await decided(tenant, name, record.state, input, document)
        if (state === record.state) return null
        const about = { tenant, document, change: `${name}:${(stored?.version ?? 0) + 1}` }
        return {
          record: { ...record, state, updatedAt: input.at, updatedBy: ITSELF },
          plans: notices.map((told) => subscriptionEvents(deps, about, told)),
        }
      })
      const state = changed?.after?.record.state
      if (state === undefined) return
      const { because, warnings } = state
      const status = registry.subscription(tenant, name)?.status
      log.info('subscription.changed', { tenant, subscription: name, status, because, warnings })
    } catch (error) {
      log.warn('subscription.not-changed', { tenant, subscription: name, error: messageOf(error) })
    }
  }

  /**
   * The deployed document, if the report is about it; null: it is about a former address, or a call from before an operator
   * resumed it.
   */
  const documentFor = (
    tenant: TenantId,
    name: string,
    { at, hash }: ToldCall,
    state: SubscriptionState | undefined,
  ): SubscriptionDocument | null => {
    const deployed = registry.subscription(tenant, name)
    if (deployed === null || deployed.hash !== hash) return null
    return state !== undefined && isBefore(at, state) ? null : deployed.document
  }

  /** Whether there is anything to write, by what this node knows. */
  const isChange = (tenant: TenantId, name: string, input: News): boolean => {
    const document = documentFor(tenant, name, input, stateCache.find(tenant, name)?.record.state)
    if (document === null) return false
    const state = stateCache.find(tenant, name)?.record.state ?? FRESH_SUBSCRIPTION
    if (input.type === 'failed' && isRestless(state, input.at)) return false
    return stepSubscription(state, input, document).state !== state
  }

  const note = (tenant: TenantId, name: string, input: News) => {
    const place = `${tenant}/${name}`
    const before = writing.get(place)
    const isArrival = input.type === 'delivered'
    if (before === undefined) {
      if (!isChange(tenant, name, input)) return
    }
    // Concurrent failures report the same. A 410 is reported once, and a success may revert what is being written.
    else if (input.type === 'failed' || (isArrival && arrived.has(place))) return
    if (isArrival) arrived.add(place)
    const mine = (before ?? Promise.resolve()).then(() => {
      if (isArrival) arrived.delete(place)
      return isChange(tenant, name, input) ? write(tenant, name, input) : undefined
    })
    const done = mine.finally(() => {
      if (writing.get(place) === done) writing.delete(place)
    })
    writing.set(place, done)
  }

  return {
    delivered(tenant, name, { at, hash }) {
      if (streaks.size === 0 && registry.statusOf(tenant, name) !== 'failing') return
      if (documentFor(tenant, name, { at, hash }, stateCache.find(tenant, name)?.record.state) === null)
        return
      const isTroubled = streaks.delete(`${tenant}/${name}`)
      if (!isTroubled && registry.statusOf(tenant, name) !== 'failing') return
      note(tenant, name, { type: 'delivered', at, hash })
    },
    failed(tenant, name, { at, hash, error, isExhausted, isGone }) {
      const place = `${tenant}/${name}`
      const state = stateCache.find(tenant, name)?.record.state
      const document = documentFor(tenant, name, { at, hash }, state)
      if (document === null) return
      const of = `${state?.since ?? ''} ${document.url}`
      const known = streaks.get(place)
      const streak = known?.of === of ? known : { failures: 0, since: at, of }
      streak.failures += 1
      if (streaks.size >= STREAKS_MAX && !streaks.has(place))
        streaks.delete(streaks.keys().next().value as string)
      streaks.set(place, streak)
      note(
        tenant,
        name,
        isGone
          ? { type: 'gone', at, hash, error }
          : { type: 'failed', at, hash, error, failures: streak.failures, since: streak.since, isExhausted },
      )
    },
    async idle() {
      while (writing.size > 0) await Promise.all(writing.values())
    },
  }
}

/** Whether the call began before an operator resumed the subscription. Changes by the subscription itself do not count. */
function isBefore(at: Instant, { status, by, since }: SubscriptionState): boolean {
  return by !== null && since !== null && at < since && status !== 'paused' && status !== 'disabled'
}

/** It recovered by itself a moment ago. */
function isRestless({ failingSince, by, since }: SubscriptionState, at: Instant): boolean {
  return failingSince === null && by === null && since !== null && at - since < RESTLESS_MS
}
