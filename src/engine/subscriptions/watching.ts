// Listens to what deliveries tell of their endpoints: counts failures in a row in memory, and writes when something changes.
//
// Invariants: SU12 a delivery to a healthy endpoint costs look-ups in maps, and a failed one that changes nothing no more. SU13 what
// changes is one commit with the event that tells it. What cannot be written now is decided anew by the next news.

import { messageOf } from '../../core/errors/index.ts'
import type { TenantId } from '../../core/ids/index.ts'
import {
  FRESH_SUBSCRIPTION,
  type SubscriptionInput,
  stepSubscription,
} from '../../core/subscription/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Log } from '../../ports/log.ts'
import type { DeliveryWatch } from '../deliveries/index.ts'
import type { Registry } from '../registry.ts'
import type { Book } from './book.ts'
import { freshRecord } from './records.ts'
import { type TellDeps, tellSubscription } from './tell.ts'

interface Streak {
  failures: number
  readonly since: Instant
  /** Since when its subscription had the status that it had then: with another one, counting begins anew. */
  readonly of: Instant | null
}

/** What is remembered of endpoints that fail; beyond it the oldest begin anew. */
const STREAKS_MAX = 20_000
const ITSELF = 'itself'

export function makeWatching(
  deps: TellDeps & {
    readonly log: Log
    readonly book: Book
    readonly registry: Registry
  },
): DeliveryWatch & {
  /** Settles when nothing is being written. */
  idle(): Promise<void>
} {
  const { log, book, registry } = deps
  const streaks = new Map<string, Streak>()
  const writing = new Map<string, Promise<void>>()

  const write = async (tenant: TenantId, name: string, input: SubscriptionInput): Promise<void> => {
    try {
      const changed = await book.change(tenant, name, (kept) => {
        const document = registry.subscription(tenant, name)?.document
        if (document === undefined) return null
        const record = kept?.record ?? freshRecord(input.at, ITSELF)
        const { state, tells } = stepSubscription(record.state, input, document)
        if (state === record.state) return null
        const about = { tenant, document, change: `${name}:${(kept?.version ?? 0) + 1}` }
        return {
          record: { ...record, state, updatedAt: input.at, updatedBy: ITSELF },
          plans: tells.map((told) => tellSubscription(deps, about, told)),
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

  /** By what this node knows: whether there is anything to write. */
  const isChange = (tenant: TenantId, name: string, input: SubscriptionInput): boolean => {
    const document = registry.subscription(tenant, name)?.document
    if (document === undefined) return false
    const state = book.find(tenant, name)?.record.state ?? FRESH_SUBSCRIPTION
    return stepSubscription(state, input, document).state !== state
  }

  const note = (tenant: TenantId, name: string, input: SubscriptionInput) => {
    const place = `${tenant}/${name}`
    const before = writing.get(place)
    // Others of a crowd say the same; a 410 is said once.
    if (before !== undefined && input.type !== 'gone') return
    if (!isChange(tenant, name, input)) return
    const mine = (before ?? Promise.resolve()).then(() => write(tenant, name, input))
    const done = mine.finally(() => {
      if (writing.get(place) === done) writing.delete(place)
    })
    writing.set(place, done)
  }

  return {
    delivered(tenant, name, at) {
      const isTroubled = streaks.size > 0 && streaks.delete(`${tenant}/${name}`)
      if (!isTroubled && registry.statusOf(tenant, name) !== 'failing') return
      note(tenant, name, { type: 'delivered', at })
    },
    failed(tenant, name, { at, error, isExhausted, isGone }) {
      const place = `${tenant}/${name}`
      const of = book.find(tenant, name)?.record.state.since ?? null
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
          ? { type: 'gone', at, error }
          : { type: 'failed', at, error, failures: streak.failures, since: streak.since, isExhausted },
      )
    },
    async idle() {
      while (writing.size > 0) await Promise.all(writing.values())
    },
  }
}
