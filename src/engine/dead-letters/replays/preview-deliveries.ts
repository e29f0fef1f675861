// Previews a recovery: how many deliveries it would replay, add, or leave unchanged. It calls nothing and writes
// nothing.

import type { DeadLetterId, EventId, TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Subscription } from '../../../core/webhooks/subscription/index.ts'
import { type SeesWorkflow, seesEvent, withFactsOf } from '../../events/index.ts'
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
  /** Of the events read that the subscription selects. */
  readonly totals: Readonly<Record<RecoveryVerdict, number>>
  /** How many of them would be sent, by the request. */
  readonly recovered: number
  /** The first of those that would be sent, without events that the caller may not see. */
  readonly items: readonly PreviewedDelivery[]
  /** How many events were read, and up to when. */
  readonly walked: number
  readonly walkedTo: Instant | null
  /** Whether all were read; a preview reads a bounded number, a recovery all. */
  readonly isComplete: boolean
  /** When the oldest stored event was received: older ones are deleted. null: there is none. */
  readonly oldestEventAt: Instant | null
}

/** Keeps a preview to about a second. */
const BOUNDS = { found: 2_000, walked: 50_000, payloads: 2_000 }
const ITEMS_MAX = 50

export async function previewDeliveries(
  deps: PreviewDeps,
  tenant: TenantId,
  subscription: Subscription,
  filter: Required<DeliveriesFilter>,
  maySee: SeesWorkflow,
): Promise<DeliveriesPreview> {
  const reads = withFactsOf(deps.store.forTenant(tenant), subscription.document.on)
  // Computed as if all were requested: the totals cover both.
  const all = { ...filter, what: 'all' } as const
  const [step, oldest] = await Promise.all([
    walkEvents({ ...deps, reads, subscription, filter: all }, null, BOUNDS),
    oldestEventAt(reads),
  ])
  const totals = Object.fromEntries(RECOVERY_VERDICTS.map((verdict) => [verdict, 0]))
  for (const { verdict } of step.found) totals[verdict] = (totals[verdict] ?? 0) + 1
  const recovered = step.found.filter((found) => isRecovered(found, filter))
  // The recovery sends the others too; their ids and subjects are not shown.
  const shown = recovered.filter(({ summary }) => seesEvent(summary, maySee))
  return {
    totals: totals as Record<RecoveryVerdict, number>,
    recovered: recovered.length,
    items: shown.slice(0, ITEMS_MAX).map(({ summary, verdict, deadLetter }) => ({
      eventId: summary.id,
      subject: summary.subject,
      receivedAt: summary.receivedAt,
      verdict,
      deadLetterId: deadLetter?.id ?? null,
    })),
    walked: step.walked,
    walkedTo: step.last?.receivedAt ?? null,
    isComplete: step.isLast,
    oldestEventAt: oldest,
  }
}
