// The health of subscriptions, by their deliveries in the store: a few index reads each, whatever their history.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import { SUBSCRIPTION_PREFIX } from '../../../core/webhooks/subscription/index.ts'
import type { OpenCount, Store, TenantReads } from '../../../ports/store.ts'
import type { SubscriptionHealth } from './subscription-types.ts'

/** How many of the newest are read. */
const HEALTH_DELIVERIES = 50
/** Waiting ones are counted up to this number, by state. */
const WAITING_MAX = 10_000

/** In the order of the names. */
export async function readHealth(
  store: Store,
  tenant: TenantId,
  names: readonly string[],
): Promise<readonly SubscriptionHealth[]> {
  const reads = store.forTenant(tenant)
  const consumers = names.map((name) => `${SUBSCRIPTION_PREFIX}${name}`)
  const counts = await reads.openCounts(consumers, WAITING_MAX)
  return Promise.all(
    consumers.map((consumer, index) => healthOf(reads, consumer, counts[index] as OpenCount)),
  )
}

async function healthOf(
  reads: TenantReads,
  consumer: string,
  { ready, waiting, leased }: OpenCount,
): Promise<SubscriptionHealth> {
  const { items } = await reads.workList({ consumer, cursor: null, limit: HEALTH_DELIVERIES })
  const dead = items.find(({ state }) => state === 'dead')
  const retried = items.find((row) => row.state !== 'dead' && hasFailed(row))
  return {
    lastDeliveredAt: latest(items.filter(({ state }) => state === 'done')),
    lastFailedAt: later(
      dead?.processedAt ?? null,
      retried === undefined ? null : await lastFailure(reads, retried),
    ),
    recent: {
      delivered: items.filter(({ state }) => state === 'done').length,
      failed: items.filter(hasFailed).length,
    },
    waiting: Math.min(ready + waiting + leased, WAITING_MAX),
    isCapped: ready + waiting + leased >= WAITING_MAX,
  }
}

/** It failed at least once, whatever its final state. */
function hasFailed({ state, attempts }: WorkRow): boolean {
  return state === 'dead' || attempts > (state === 'done' ? 1 : 0)
}

async function lastFailure(reads: Pick<TenantReads, 'attempts'>, { id }: WorkRow): Promise<Instant | null> {
  const failed = (await reads.attempts(id)).filter(({ outcome }) => outcome !== 'done')
  return failed.at(-1)?.startedAt ?? null
}

function latest(rows: readonly WorkRow[]): Instant | null {
  return rows.reduce<Instant | null>((last, { processedAt }) => later(last, processedAt), null)
}

function later(a: Instant | null, b: Instant | null): Instant | null {
  return a === null ? b : b === null ? a : Math.max(a, b)
}
