// Deliveries for operators: which there are, the result of each, and the possible actions.
//
// A delivery is a job of kind `delivery`; its public state derives from the job's.

import type { DeadLetterId, EventId, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { deadLetterOf, type WorkRow } from '../../../core/queue/work/index.ts'
import {
  type DeliveryState,
  deliveryState,
  SUBSCRIPTION_PREFIX,
  WORK_STATES_OF,
} from '../../../core/webhooks/subscription/index.ts'
import { type Page, type PageRequest, StoreError, type TenantReads } from '../../../ports/store.ts'
import type { Decided } from '../../access/index.ts'
import type { WorkActions } from '../../settlement/index.ts'
import { deadLetterOfDead, makeRetry, mustFind, type Retried, type RetryDeps } from './retry-delivery.ts'

export interface Delivery {
  readonly work: WorkRow
  /** The name of its subscription, which may have been removed. */
  readonly subscription: string
  readonly state: DeliveryState
  /** Of its event; null: the event was deleted. */
  readonly subject: string | null
  /** The dead letter that records its end, or that it replays. */
  readonly deadLetterId: DeadLetterId | null
}

export interface DeliveryFilter {
  readonly subscription?: string
  readonly state?: DeliveryState
  readonly eventId?: EventId
  /** Creation time: from this instant on, and before that one. */
  readonly from?: Instant
  readonly to?: Instant
}

export interface DeliveryActions {
  find(tenant: TenantId, id: WorkId): Promise<Delivery | null>
  /**
   * Newest first; of `pending` and `retrying` first those that are next in their lane, and then those that wait in it. A page
   * may contain fewer than requested while there are more.
   */
  list(tenant: TenantId, filter: DeliveryFilter, page: PageRequest): Promise<Page<Delivery>>
  /** Sends it once more, whatever its state; a delivered, skipped or cancelled one needs a reason. */
  retry(tenant: TenantId, id: WorkId, decided: Decided): Promise<Retried>
  cancel(tenant: TenantId, id: WorkId, decided: Decided & { readonly reason: string }): Promise<void>
}

export interface DeliveryOperatorDeps extends RetryDeps {
  readonly actions: Pick<WorkActions, 'retry' | 'cancel'>
}

export function makeDeliveryActions(deps: DeliveryOperatorDeps): DeliveryActions {
  const { store } = deps
  return {
    async find(tenant, id) {
      const reads = store.forTenant(tenant)
      const work = await reads.work(id)
      return work?.kind === 'delivery' ? showDelivery(reads, work) : null
    },

    async list(tenant, filter, request) {
      const reads = store.forTenant(tenant)
      const { items, nextCursor } = await findWork(reads, filter, request)
      return { items: await Promise.all(items.map((work) => showDelivery(reads, work))), nextCursor }
    },

    retry: makeRetry(deps),

    async cancel(tenant, id, decided) {
      await mustFind(store.forTenant(tenant), id)
      return deps.actions.cancel(tenant, id, decided)
    },
  }
}

async function showDelivery(reads: TenantReads, work: WorkRow): Promise<Delivery> {
  const [{ items }, deadLetter] = await Promise.all([
    // By its full id: its summary, without the payload.
    reads.events({ q: work.eventId, cursor: null, limit: 1 }),
    work.state === 'dead' ? deadLetterOfDead(reads, work) : null,
  ])
  return {
    work,
    subscription: work.consumer.slice(SUBSCRIPTION_PREFIX.length),
    state: deliveryState(work),
    subject: items[0]?.subject ?? null,
    deadLetterId: deadLetter?.id ?? deadLetterOf(work),
  }
}

/** Pages without a match are skipped, up to this many. */
const PAGES_MAX = 5

async function findWork(
  reads: TenantReads,
  { subscription, state, eventId, from, to }: DeliveryFilter,
  { cursor, limit }: PageRequest,
): Promise<Page<WorkRow>> {
  const consumer = subscription === undefined ? undefined : `${SUBSCRIPTION_PREFIX}${subscription}`
  const fits = (work: WorkRow) => state === undefined || deliveryState(work) === state
  if (eventId !== undefined) {
    const all = (await reads.workOfEvent(eventId)).filter(
      (work) =>
        work.kind === 'delivery' &&
        fits(work) &&
        (consumer === undefined || work.consumer === consumer) &&
        (from === undefined || work.createdAt >= from) &&
        (to === undefined || work.createdAt < to),
    )
    return { items: all.toReversed(), nextCursor: null }
  }
  const states = state === undefined ? [undefined] : WORK_STATES_OF[state]
  // A consumer of deliveries has no other jobs, and its own index.
  const asked = { ...(consumer === undefined ? { kind: 'delivery' as const } : { consumer }) }
  const span = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  let place: { readonly part: number; readonly cursor: string | null } = readPlace(cursor, states.length)
  const items: WorkRow[] = []
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const of = states[place.part]
    const inState = of === undefined ? {} : { state: of }
    const room = limit - items.length
    const page = await reads.workList({ ...asked, ...span, ...inState, cursor: place.cursor, limit: room })
    items.push(...page.items.filter(fits))
    if (page.nextCursor !== null) place = { part: place.part, cursor: page.nextCursor }
    else if (place.part + 1 < states.length) place = { part: place.part + 1, cursor: null }
    else return { items, nextCursor: null }
    if (items.length >= limit) break
  }
  return { items, nextCursor: `${place.part}.${place.cursor ?? ''}` }
}

function readPlace(cursor: string | null, parts: number) {
  if (cursor === null) return { part: 0, cursor: null }
  const [, part = '', rest = ''] = /^([01])\.(.*)$/.exec(cursor) ?? []
  if (part === '' || Number(part) >= parts)
    throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
  return { part: Number(part), cursor: rest === '' ? null : rest }
}
