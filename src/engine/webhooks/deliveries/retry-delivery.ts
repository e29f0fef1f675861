// Sends a delivery once more for an operator: one that is due later becomes due now, a dead one is replayed by its dead letter,
// and one that ended otherwise is sent again, under the same id.
//
// Invariants: RV10 of two concurrent requests for the same delivery, one succeeds and the other gets a conflict. RV11 a request
// succeeds only if something is sent.

import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { deadLetterOf, type WorkRow } from '../../../core/queue/work/index.ts'
import type { Subscription } from '../../../core/webhooks/subscription/index.ts'
import type { TenantReads } from '../../../ports/store.ts'
import type { Decided } from '../../access/index.ts'
import { type EngineBase, orConflict, retrying } from '../../commit/index.ts'
import { type Registry, subscriptionOf } from '../../definitions/index.ts'
import type { WorkActions } from '../../settlement/index.ts'
import { addDelivery } from './add-delivery.ts'
import { readDeliveryVersion } from './delivery-version-guard.ts'
import { isDelivered, isUnderWay, newDelivery } from './redelivery.ts'

/** `hurried`: it is due now. `replayed`: its dead letter. `resent`: a new delivery of the same event. */
export interface Retried {
  readonly how: 'hurried' | 'replayed' | 'resent'
  /** The delivery that is sent now: itself, or the new one. */
  readonly workId: WorkId
}

export interface RetryDeps extends Pick<EngineBase, 'store' | 'commits' | 'ids' | 'vars' | 'log' | 'wake'> {
  readonly registry: Registry
  readonly actions: Pick<WorkActions, 'retry'>
  /** Replays a dead letter. */
  replay(
    tenant: TenantId,
    id: DeadLetter['id'],
    options: Decided & { readonly force: boolean; readonly again: boolean },
  ): Promise<{ readonly workId: WorkId }>
  /** Checks whether another node changed its subscription: it may have been enabled a moment ago. */
  refresh(tenant: TenantId): Promise<void>
  /** The known failures of the endpoint delay nothing any more. */
  forgetBackoff(tenant: TenantId, consumer: string): void
}

/** Other requests add deliveries to the same subscription at the same time; all of them guard the same version. */
const RACES_MAX = 50

export function makeRetry(
  deps: RetryDeps,
): (tenant: TenantId, id: WorkId, decided: Decided) => Promise<Retried> {
  const { store, registry, commits } = deps

  const retryNow = async (
    work: WorkRow,
    { status, document }: Subscription,
    decided: Decided,
  ): Promise<Retried> => {
    const { tenant, id, consumer } = work
    if (status === 'paused')
      throw new AppError('conflict', `${document.name} is paused: resume it, and what waits goes out`)
    if (work.state === 'waiting')
      throw new AppError('conflict', 'it waits for its turn behind others of its key; retry the one in front')
    await deps.actions.retry(tenant, id, decided)
    deps.forgetBackoff(tenant, consumer)
    deps.wake()
    return { how: 'hurried', workId: id }
  }

  const replay = async (deadLetter: DeadLetter, again: boolean, decided: Decided): Promise<Retried> => {
    const options = { ...decided, force: true, again }
    const { workId } = await deps.replay(deadLetter.tenant, deadLetter.id, options)
    deps.forgetBackoff(deadLetter.tenant, deadLetter.consumer)
    return { how: 'replayed', workId }
  }

  /** A delivered one is sent again only with a reason. */
  const resend = (work: WorkRow, subscription: Subscription, decided: Decided): Promise<Retried> => {
    const { tenant, eventId, consumer } = work
    const reads = store.forTenant(tenant)
    const resendOnce = async (retry: () => Promise<Retried>): Promise<Retried> => {
      const deliveryVersion = await readDeliveryVersion(store, tenant, consumer)
      const own = (await reads.workOfEvent(eventId)).filter((one) => one.consumer === consumer)
      const open = own.find(isUnderWay)
      if (open !== undefined)
        throw new AppError('conflict', `${open.id} of the same event is under way already`)
      const dead = own.findLast(({ state }) => state === 'dead')
      const deadLetter = dead === undefined ? null : await deadLetterOfDead(reads, dead)
      const isTaken = own.some(isDelivered)
      if (deadLetter !== null && isOpen(deadLetter)) {
        if (isTaken) mustSayWhy(decided)
        return replay(deadLetter, isTaken, decided)
      }
      mustSayWhy(decided)
      const event = await reads.event(eventId)
      if (event === null) throw new AppError('not_found', `its event ${eventId} is gone`)
      const next = newDelivery(deps, subscription.route, event, { replayOf: eventId, isAgain: true })
      const added = addDelivery(deps.log, event, next, 'RESENT')
      const result = await commits.once(
        tenant,
        [deliveryVersion.guard],
        [deliveryVersion.write, ...added.writes],
      )
      if (!result.ok) return retry()
      added.logDecision(decided)
      deps.forgetBackoff(tenant, consumer)
      deps.wake()
      return { how: 'resent', workId: next.id }
    }
    const unending = orConflict('too many others add deliveries to it at this moment; try again')
    return retrying(RACES_MAX, resendOnce, unending)
  }

  return async (tenant, id, decided) => {
    const work = await mustFind(store.forTenant(tenant), id)
    await deps.refresh(tenant)
    const subscription = mustTake(registry, work)
    switch (work.state) {
      case 'leased':
        throw new AppError('conflict', 'it is being delivered at this moment')
      case 'ready':
      case 'waiting':
      case 'parked':
        return retryNow(work, subscription, decided)
      default:
        return resend(work, subscription, decided)
    }
  }
}

export async function mustFind(reads: TenantReads, id: WorkId): Promise<WorkRow> {
  const work = await reads.work(id)
  if (work?.kind !== 'delivery') throw new AppError('not_found', `no delivery ${id}`)
  return work
}

/** The subscription it would go to. */
function mustTake(registry: Registry, { tenant, consumer }: WorkRow): Subscription {
  const name = subscriptionOf(consumer) ?? consumer
  const subscription = registry.subscription(tenant, name)
  if (subscription === null) {
    const next = 'Create a subscription of this name again, and recover what it has missed.'
    throw new AppError('unknown_subscription', `its subscription ${name} is gone`, { next })
  }
  if (subscription.status === 'disabled')
    throw new AppError('subscription_disabled', `its subscription ${name} is disabled`)
  return subscription
}

function mustSayWhy({ reason }: Decided): void {
  if (reason == null)
    throw new AppError('reason_required', 'it has ended: to send it once more needs a reason')
}

const LETTERS_MAX = 50

/** The dead letter that records its end; a later one of the same event if a replay of it failed. */
export async function deadLetterOfDead(reads: TenantReads, work: WorkRow): Promise<DeadLetter | null> {
  const replayed = deadLetterOf(work)
  if (replayed !== null) return reads.deadLetter(replayed)
  const { items } = await reads.deadLetters({ eventId: work.eventId, cursor: null, limit: LETTERS_MAX })
  const own = items.filter(({ consumer }) => consumer === work.consumer)
  return own.find(({ workId }) => workId === work.id) ?? own[0] ?? null
}

function isOpen({ state }: DeadLetter): boolean {
  return state === 'open' || state === 'ready_to_replay'
}
