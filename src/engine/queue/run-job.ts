// Runs one job: finds its definition, computes its key, performs its action, and settles every kind of failure.

import { keyOfGeneration } from '../../core/effects/ledger/index.ts'
import { describeError as describe, ExpressionError, type Scope } from '../../core/expression/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import { JsonError } from '../../core/foundation/json/index.ts'
import { deadLetterOf, EMPTY_NOTE, isWorkKind, type WorkRow } from '../../core/queue/work/index.ts'
import { itemScope, keyedScope, type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import { CodeRefusedError } from '../../ports/code.ts'
import { StoreError } from '../../ports/store.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Rotations } from '../connections/index.ts'
import { byAge, findEarlierKey } from '../dead-letters/index.ts'
import type { Registry } from '../definitions/index.ts'
import { countersOf, type DeadLetterRouteJob } from '../effects/index.ts'
import type { IntakeItems } from '../ingest/index.ts'
import { type BeginJob, type Item, startTimeLimit } from '../leases/index.ts'
import type { PollRunner } from '../pollers/index.ts'
import { isVaultTrouble, scrubOf } from '../secrets/index.ts'
import { again, type Settler } from '../settlement/index.ts'
import type { DeliveryRunner } from '../webhooks/index.ts'
import type { WorkflowItems } from '../workflows/index.ts'
import type { ExpandEach } from './expand-each.ts'
import type { Debouncer } from './lane-debounce.ts'
import type { Actions } from './run-action.ts'

export interface Runner {
  /**
   * Calls `over` once the job is settled, or is left to another node. Never throws. `hasWaited`: the job waited on this node
   * for a slot, and is run unless it may not run any more.
   */
  run(item: Item, hasWaited: boolean, over: () => void): void
}

const INTERRUPTED_FIRST_MS = 1_000
const INTERRUPTED_LAST_MS = 60_000

export function makeRunner(
  deps: Pick<EngineDeps, 'store' | 'log'> & {
    readonly registry: Registry
    readonly settler: Settler
    readonly vars: Vars
    /** Whether the lease is still this node's. */
    holds(owner: Incarnation): boolean
    /** A job may be leased to this node that the node does not run. */
    suspect(): void
    readonly time: StoreTime
    readonly begin: BeginJob
    readonly deadLetterJob: DeadLetterRouteJob
    readonly actions: Actions
    readonly intakeItems: IntakeItems
    readonly workflowItems: WorkflowItems
    readonly deliveries: DeliveryRunner
    readonly rotations: Rotations
    readonly polls: PollRunner
    readonly debouncer: Debouncer
    readonly expandEach: ExpandEach
  },
): Runner {
  const { log, registry, settler, time, begin, deadLetterJob } = deps

  const run: Runner['run'] = (item, hasWaited, over) => {
    if (hasWaited && isTooLate(item, over)) return
    const { route, work } = item
    if (route === null || work.kind !== 'route' || !isPlain(item, route)) {
      void runOther(item).then(over, over)
      return
    }
    const failed = (begun: Item, key: string | null, error: unknown) =>
      void settleError(item, begun, route, key, error).then(over, over)
    let begun = item
    let key: string | null = null
    let performed: Promise<void>
    try {
      begun = startTimeLimit(item, route, time.now())
      const scope = routeScope(begun.event, begun.payload(), begun.header(), deps.vars)
      if (!route.wants(scope)) throw unwanted()
      key = route.keyOf(scope, null)
      const inner = keyedScope(scope, keyOfGeneration(key, work.generation))
      performed = deps.actions.perform({ item: begun, route, key, scope: inner })
    } catch (error) {
      failed(begun, key, error)
      return
    }
    performed.then(over, (error) => failed(begun, key, error))
  }

  /** Replays nothing, stands for no list, and is in no lane: nothing has to be read before its action. */
  const isPlain = ({ work }: Item, { each, lane }: Route): boolean =>
    work.replayOf === null && each === null && lane === null

  const perform = (item: Item, route: Route, key: string, scope: Scope): Promise<void> => {
    const inner = { ...scope, key: keyOfGeneration(key, item.work.generation) }
    return deps.actions.perform({ item, route, key, scope: inner })
  }

  /** A job whose event lacks what its definition needs is dead; any other error puts it back. */
  const settleError = async (
    item: Item,
    begun: Item,
    route: Route,
    key: string | null,
    error: unknown,
  ): Promise<void> => {
    try {
      if (error instanceof ExpressionError)
        return await deadLetterJob(begun, route, key, 'validation', 'rejected', describe(error))
      if (error instanceof JsonError)
        return await deadLetterJob(begun, route, key, 'poison', 'unparseable', error.message)
    } catch (again) {
      return putBack(item, again)
    }
    return putBack(item, error)
  }

  const runOther = async (item: Item): Promise<void> => {
    try {
      const { kind } = item.work
      if (!isWorkKind(kind))
        return await putBack(item, new Error(`this version knows no work of the kind ${kind}`))
      if (kind === 'delivery') return await deps.deliveries.run(item)
      if (kind === 'intake') return await deps.intakeItems.run(item)
      if (kind === 'rotation') return await deps.rotations.run(item)
      if (kind === 'poll') return await deps.polls.run(item)
      if (kind !== 'route' && kind !== 'batch') return await deps.workflowItems.run(item)
      const route = item.route ?? (await registry.pinned(item.work.tenant, item.work.definition))
      if (route === null) {
        const error = 'the definition that it began with is not in the store'
        return await deadLetterJob(item, null, null, 'config', 'definition_missing', error)
      }
      await runRoute(item, route)
    } catch (error) {
      await putBack(item, error)
    }
  }

  const unwanted = () => new ExpressionError('type', 'the condition no longer holds', 'where')

  /** Whether a job may not run any more after it waited here: then it is left or given back. */
  const isTooLate = (item: Item, over: () => void): boolean => {
    const { tenant, consumer } = item.work
    // Its lease ended by this node's clock while it waited. Another node may have it by now, or a renewal that is still
    // under way has extended the lease: then the job is found as a lost claim.
    if (!deps.holds(item.owner)) {
      deps.suspect()
      over()
      return true
    }
    if (!registry.isHeld(tenant, consumer)) return false
    void giveBack(item).then(over, over)
    return true
  }

  /** Its consumer was paused while it waited. It has not begun, so it goes back unchanged and waits like the others. */
  const giveBack = async (item: Item): Promise<void> => {
    try {
      await settler.settle(item, null, again(0, { counters: countersOf(item), note: EMPTY_NOTE }))
    } catch (error) {
      log.warn('work.kept', { work: item.work.id, error: messageOf(error) })
    }
  }

  const loggedCode = new Set<string>()

  /** All its jobs wait for the same reason, so one log line is enough. */
  const logRefused = (
    { tenant, consumer }: Pick<WorkRow, 'tenant' | 'consumer'>,
    error: CodeRefusedError,
  ) => {
    const { codeHash, message } = error
    if (loggedCode.has(codeHash)) return
    loggedCode.add(codeHash)
    log.error('code.refused', { tenant, consumer, codeHash, error: message })
  }

  const loggedKinds = new Set<string>()

  /** Another version created the job, and runs it. One log line is enough. */
  const logUnknown = ({
    kind,
    tenant,
    consumer,
  }: Pick<WorkRow, 'tenant' | 'consumer'> & { readonly kind: string }) => {
    if (loggedKinds.has(kind)) return
    loggedKinds.add(kind)
    log.warn('work.not-understood', { tenant, consumer, kind })
  }

  /**
   * A read from the store or the vault failed, or the engine has a bug: the job goes back with a growing
   * delay. Otherwise it would stay leased to a node that does nothing about it for as long as that node
   * lives. The ledger knows what it may have sent.
   */
  const putBack = async (item: Item, error: unknown): Promise<void> => {
    const fields = { work: item.work.id, error: scrubOf(item.event)(messageOf(error)) }
    if (!isWorkKind(item.work.kind)) logUnknown(item.work)
    else if (error instanceof CodeRefusedError) logRefused(item.work, error)
    else if (error instanceof StoreError || isVaultTrouble(error)) log.warn('work.interrupted', fields)
    else log.error('work.broken', fields)
    const { work } = item
    try {
      await settler.settle(
        item,
        null,
        again(Math.min(INTERRUPTED_LAST_MS, INTERRUPTED_FIRST_MS * 2 ** Math.min(work.waits, 20)), {
          counters: { ...countersOf(item), waits: work.waits + 1 },
          note: { ...EMPTY_NOTE, key: work.key, class: work.class, lastError: messageOf(error) },
        }),
      )
    } catch (again) {
      // The store is closed: the job comes back when this incarnation ends.
      log.warn('work.kept', { work: work.id, error: messageOf(again) })
    }
  }

  /** A replay uses the key of its dead letter or its event, whatever the deployed formula says: it is the same effect. */
  const keyOfReplayed = async ({ work, deadLetter }: Item, scope: Scope): Promise<string | null> => {
    if (work.replayOf === null) return null
    if (deadLetterOf(work) !== null) return deadLetter?.key ?? null
    const items = await deps.store.forTenant(work.tenant).workOfEvent(work.eventId)
    const isEarlier = (one: WorkRow) =>
      one.consumer === work.consumer && one.element === work.element && byAge(one, work) < 0
    const before = items.filter(isEarlier)
    return findEarlierKey(registry, scope, before)
  }

  const runRoute = async (claimed: Item, route: Route): Promise<void> => {
    const item =
      claimed.work.replayOf === null
        ? startTimeLimit(claimed, route, time.now())
        : await begin(claimed, route)
    let key: string | null = null
    try {
      if (item.work.kind === 'batch') {
        const call = await deps.actions.callOfBatch(item, route)
        key = call?.key ?? null
        return call === null ? undefined : await deps.actions.perform(call)
      }
      const whole = routeScope(item.event, item.payload(), item.header(), deps.vars)
      if (!route.wants(whole)) throw unwanted()
      const { element } = item.work
      if (route.each !== null && element === null) return await deps.expandEach.run(item, route, whole)
      const scope = itemScope(route, whole, element)
      if (route.lane !== null && !(await deps.debouncer.take(item, route, scope))) return
      key = (await keyOfReplayed(item, scope)) ?? route.keyOf(scope, element)
      await perform(item, route, key, scope)
    } catch (error) {
      await settleError(claimed, item, route, key, error)
    }
  }

  return { run }
}
