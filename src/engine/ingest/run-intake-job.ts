// Runs an intake job: matches its event by the deployed definitions, and ends in one commit with the jobs and events
// that follow. Such a job holds an event while its source is paused, and replays one.
//
// Invariants: IN3 everything that follows is in the commit that ends the job, so that a crash duplicates nothing. IN8
// an event that was dispatched before is not dispatched again: its routes are matched again.

import type { StoredEvent } from '../../core/events/event/index.ts'
import { parsePayload } from '../../core/events/sensitive/index.ts'
import type { EventId, TenantId } from '../../core/foundation/ids/index.ts'
import { JsonError, type JsonValue } from '../../core/foundation/json/index.ts'
import { isUnread } from '../../core/ingest/bus-message/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import { EMPTY_NOTE, LOSSES_MAX, type WorkKind } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Guard, Store, Write } from '../../ports/store.ts'
import { type EventPlan, orFail, retrying, type UnitOfWork } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import { countersOf, type DeadLetterRouteJob } from '../effects/index.ts'
import { type DispatchedDraft, dispatchKey, draftDispatched } from '../events/index.ts'
import type { Item } from '../leases/index.ts'
import { lineOf } from '../observe/index.ts'
import {
  type DispatchedEvent,
  findRoutes,
  intakeConsumer,
  matchEvent,
  type PlanDeps,
  planEvent,
  planRefused,
  planWork,
  receiverOf,
} from '../planning/index.ts'
import { again, done, type Settler } from '../settlement/index.ts'
import { isDelivered, isUnderWay } from '../webhooks/index.ts'
import { makeReparse } from './reparse-event.ts'

export interface IntakeItems {
  /** Throws StoreError; the caller puts the job back. */
  run(item: Item): Promise<void>
}

export function makeIntakeItems(
  deps: Pick<EngineDeps, 'store' | 'log'> & {
    readonly planning: PlanDeps
    readonly settler: Settler
    readonly deadLetterJob: DeadLetterRouteJob
    /** Loads definitions that another node changed. */
    refresh(tenant: TenantId): Promise<void>
    readonly unitOfWork: Pick<UnitOfWork, 'release'>
  },
): IntakeItems {
  const { store, log, planning, settler, deadLetterJob } = deps
  const { registry, ids } = planning
  const reparse = makeReparse(deps)

  const run = async (item: Item): Promise<void> => {
    try {
      await match(item)
    } catch (error) {
      // Its own payload, or that of an event dispatched before.
      if (!(error instanceof JsonError)) throw error
      await deadLetterJob(item, null, null, 'poison', 'unparseable', error.message)
    }
  }

  const match = async (item: Item): Promise<void> => {
    const { work, event } = item
    if (work.losses >= LOSSES_MAX)
      return deadLetterJob(
        item,
        null,
        null,
        'poison',
        'crash_loop',
        'the node stopped each time while this item ran alone',
      )
    await deps.refresh(work.tenant)
    // Claimed before this node learned that the source was paused: the job waits like the others.
    if (registry.isHeld(work.tenant, work.consumer)) return putBack(item)
    // Or only a newer version knows the event's routes.
    if (registry.needsNewerVersion(work.tenant)) return putBack(item)
    const source = await sourceOf(item)
    if (source === 'gone')
      return deadLetterJob(
        item,
        null,
        null,
        'config',
        'definition_missing',
        'the source whose dispatch it waited for is not defined any more',
      )
    if (isUnread(item.header())) return reparse.run(item, source)
    const [payload, header] = [item.payload(), item.header()]
    const matching = matchEvent(planning, source, event, payload, header)
    if (!matching.ok) return deadLetterJob(item, null, null, matching.class, matching.reason, matching.error)
    const { dispatched } = matching
    const takers = (id: EventId) => takersOf(work.tenant, id)
    const isAgain = await wasMatched(item)
    const routes = isAgain ? withoutDelivered(matching.routes, await takers(event.id)) : matching.routes
    const taken = new Map<EventId, ReadonlySet<string>>()
    const known = isAgain ? await findDispatched(store, event, dispatched) : new Map<string, StoredEvent>()
    const matchOnce = async (retry: () => Promise<void>): Promise<void> => {
      for (const { id } of known.values()) if (!taken.has(id)) taken.set(id, await takers(id))
      const plans: EventPlan[] = []
      const guards: Guard[] = []
      const names: string[] = []
      try {
        const about = { event, stored: event, payload, header, dedupForMs: 0 }
        plans.push(planWork(planning, about, routes, isAgain ? event.id : null))
        for (const one of dispatched) {
          const child = known.get(one.name)
          if (child !== undefined) plans.push(planKnown(child, taken.get(child.id) ?? NO_CONSUMERS))
          else {
            const { draft, payload, header, dedupForMs } = draftOf(event, item.header(), one)
            plans.push(planEvent(planning, draft, payload, header, dedupForMs))
            guards.push({ g: 'dedup', source: draft.source, key: draft.dedupKey })
            names.push(one.name)
          }
        }
      } catch (error) {
        deps.unitOfWork.release(plans)
        throw error
      }
      const writes: readonly Write[] = [
        ...plans.flatMap((plan) => plan.writes),
        ...matches(event, routes.length + dispatched.length, isAgain),
      ]
      const settlement = await settler.settle(
        item,
        null,
        done({
          counters: { ...countersOf(item), attempts: work.attempts + 1 },
          note: EMPTY_NOTE,
          guards,
          writes,
          plans,
        }),
      )
      if (settlement.ok)
        log.control(lineOf('ingest', writes.length > 1 ? 'MATCHED' : 'UNMATCHED', event, { work: work.id }))
      if (settlement.ok || settlement.why === 'stale') return
      const name = names[settlement.index]
      const child =
        settlement.found?.f === 'event' ? await store.forTenant(work.tenant).event(settlement.found.id) : null
      if (name === undefined || child === null) return unending()
      known.set(name, child)
      return retry()
    }
    const unending = orFail('assertion failed: what an event dispatches changes without end')
    // Each refusal names one more event that exists already.
    await retrying(dispatched.length + 1, matchOnce, unending)
  }

  const putBack = async (item: Item): Promise<void> => {
    const { key, class: failure, lastError } = item.work
    const note = { ...EMPTY_NOTE, key, class: failure, lastError }
    await settler.settle(item, null, again(0, { counters: countersOf(item), note }))
  }

  /** `gone`: the source had dispatch rules, and they are unknown now. */
  const sourceOf = async ({ work, event }: Item): Promise<Source | null | 'gone'> => {
    const name = receiverOf(event)
    if (name === null) return null
    const source = registry.source(work.tenant, name)
    if (source !== null) return source
    const document = await registry.sourceDocument(work.tenant, work.definition)
    return document?.dispatch === undefined ? null : 'gone'
  }

  /** Whether its routes have had jobs for the event before: by its acceptance, or by another intake job. */
  const wasMatched = async ({ work, event }: Item): Promise<boolean> => {
    if (work.replayOf === null) return false
    if (work.replayOf === event.id) return true
    const before = await store.forTenant(work.tenant).workOfEvent(event.id)
    return before.some(({ kind, state }) => MATCHED_KINDS.includes(kind) || state === 'done')
  }

  const planKnown = (child: StoredEvent, taken: ReadonlySet<string>): EventPlan => {
    const payload = parsePayload(child.data)
    const header = parsePayload(child.headers)
    const found = findRoutes(planning, child, payload, header)
    const about = { stored: child, payload, header, dedupForMs: 0 }
    if (!found.ok) return planRefused(planning, { ...about, draft: child }, found)
    const routes = withoutDelivered(found.routes, taken)
    const plan = planWork(planning, { ...about, event: child }, routes, child.id)
    return { ...plan, writes: [...plan.writes, ...matches(child, found.routes.length, true)] }
  }

  /** The endpoints that have a delivery of the event, or are about to. */
  const takersOf = async (tenant: TenantId, id: EventId): Promise<ReadonlySet<string>> => {
    const before = await store.forTenant(tenant).workOfEvent(id)
    return new Set(before.flatMap((one) => (isDelivered(one) || isUnderWay(one) ? [one.consumer] : [])))
  }

  const draftOf = (event: StoredEvent, header: JsonValue, one: DispatchedEvent): DispatchedDraft =>
    draftDispatched(ids, event, header, intakeConsumer(event), one)

  return { run }
}

const NO_CONSUMERS: ReadonlySet<string> = new Set()
const MATCHED_KINDS: readonly WorkKind[] = ['route', 'trigger', 'delivery']

/** Endpoints have no ledger: an event that was delivered, or is about to be, is not sent again because it is matched again. */
function withoutDelivered(routes: readonly Route[], taken: ReadonlySet<string>): readonly Route[] {
  if (taken.size === 0) return routes
  return routes.filter(({ of, consumer }) => of?.kind !== 'delivery' || !taken.has(consumer))
}

/** A replay never lowers the match count of an event. */
function matches({ id, matched }: StoredEvent, count: number, isAgain: boolean): readonly Write[] {
  const now = isAgain ? Math.max(matched, count) : count
  return now === matched ? [] : [{ w: 'event.match', event: id, matched: now }]
}

/** Events may also be caused by the event in other ways; those came later. */
const CAUSED_BESIDE_MAX = 200

/** The events that its rules dispatched before, by name. */
export async function findDispatched(
  store: Pick<Store, 'forTenant'>,
  event: Pick<StoredEvent, 'id' | 'tenant' | 'source'>,
  dispatched: readonly { readonly name: string }[],
): Promise<Map<string, StoredEvent>> {
  const found = new Map<string, StoredEvent>()
  if (dispatched.length === 0) return found
  const reads = store.forTenant(event.tenant)
  const consumer = intakeConsumer(event)
  const names = new Map(dispatched.map(({ name }) => [dispatchKey(event, name), name]))
  for (const caused of await reads.causedBy(event.id, dispatched.length + CAUSED_BESIDE_MAX)) {
    const name = caused.source === consumer ? names.get(caused.dedupKey) : undefined
    const child = name === undefined ? null : await reads.event(caused.id as EventId)
    if (name !== undefined && child !== null && !found.has(name)) found.set(name, child)
  }
  return found
}
