// What a recovery would do: how many deliveries it would replay, add, or leave as they are. Calls nobody and writes nothing.

import type { DeadLetterId, EventId, TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Subscription } from '../../../core/webhooks/subscription/index.ts'
import type { PreviewDeps } from './judge-replay.ts'
import { RECOVERY_VERDICTS, type RecoveryVerdict } from './recovery-verdict.ts'
import { isRecovered, oldestEventAt, walkEvents } from './recovery-walk.ts'
import type { DeliveriesFilter } from './replay-record.ts'

export interface PreviewedDelivery {
  readonly eventId: EventId
  readonly subject: string
  readonly receivedAt: Instant
  readonly verdict: RecoveryVerdict
  readonly deadLetterId: DeadLetterId | null
}

export interface DeliveriesPreview {
  /** Of the events looked at that the subscription wants. */
  readonly totals: Readonly<Record<RecoveryVerdict, number>>
  /** How many of them would go out, by what was asked for. */
  readonly recovered: number
  /** The first of those that would go out. */
  readonly items: readonly PreviewedDelivery[]
  /** How many events were looked at, and up to when. */
  readonly walked: number
  readonly walkedTo: Instant | null
  /** Whether all were; a preview looks at a bounded number, a recovery at all. */
  readonly isComplete: boolean
  /** When the oldest event that is still kept was received: what is older is gone. null: there is none. */
  readonly oldestEventAt: Instant | null
}

/** A preview answers within a second or so. */
const BOUNDS = { found: 2_000, walked: 50_000, payloads: 2_000 }
const ITEMS_MAX = 50

export async function previewDeliveries(
  deps: PreviewDeps,
  tenant: TenantId,
  subscription: Subscription,
  filter: Required<DeliveriesFilter>,
): Promise<DeliveriesPreview> {
  const reads = deps.store.forTenant(tenant)
  // Looked at as if all were asked for: the totals tell both.
  const all = { ...filter, what: 'all' } as const
  const [step, oldest] = await Promise.all([
    walkEvents({ ...deps, reads, subscription, filter: all }, null, BOUNDS),
    oldestEventAt(reads),
  ])
  const totals = Object.fromEntries(RECOVERY_VERDICTS.map((verdict) => [verdict, 0]))
  for (const { verdict } of step.found) totals[verdict] = (totals[verdict] ?? 0) + 1
  const recovered = step.found.filter((found) => isRecovered(found, filter))
  return {
    totals: totals as Record<RecoveryVerdict, number>,
    recovered: recovered.length,
    items: recovered.slice(0, ITEMS_MAX).map(({ summary, verdict, letter }) => ({
      eventId: summary.id,
      subject: summary.subject,
      receivedAt: summary.receivedAt,
      verdict,
      deadLetterId: letter?.id ?? null,
    })),
    walked: step.walked,
    walkedTo: step.last?.receivedAt ?? null,
    isComplete: step.isLast,
    oldestEventAt: oldest,
  }
}
