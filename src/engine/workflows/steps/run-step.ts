// Runs the job of a firing: its scope, its key, and its action through the same path as that of a route. The commit
// that ends the job adds what that means for the instance (step-ends.ts).
//
// Invariants: FI3 a job whose firing is gone changes nothing and calls nothing. FI4 a replay continues the very firing,
// under the key of its effect.

import { keyOfGeneration } from '../../../core/effects/ledger/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { describeError as describe, ExpressionError, type Scope } from '../../../core/expression/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import { EMPTY_NOTE, type WorkRow } from '../../../core/queue/work/index.ts'
import { type Route, routeScope } from '../../../core/routing/index.ts'
import type { Firing } from '../../../core/workflows/instance/index.ts'
import { stepScope } from '../../../core/workflows/machine/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { countersOf, type DeadLetterRouteJob, type InternalCall, isFirstRun } from '../../effects/index.ts'
import type { FlowControl } from '../../flow-control/index.ts'
import type { BeginJob, Item } from '../../leases/index.ts'
import { again, cancelled, type Settler, skipped } from '../../settlement/index.ts'
import { type Instances, type Loaded, originOfEvent } from '../instances/index.ts'
import { canBeUndone, firingOf } from './firing-of-job.ts'

export interface Steps {
  run(item: Item): Promise<void>
  /** The scope of a firing's action; null: its firing is gone. Throws ExpressionError and JsonError. */
  scopeOf(work: WorkRow, event: StoredEvent): Promise<Scope | null>
}

/** No firing waits for its end any more. */
export const STALE = 'STALE: the instance went on without it'

const UNDO_WAIT_MS = 1_000
const UNDO_WAIT = 'what another instance did under its key is being undone'

/** What steps do; runs any action. */
export interface StepActions {
  perform(call: InternalCall): Promise<void>
}

export function makeSteps(
  deps: Pick<EngineBase, 'store' | 'commits' | 'vars' | 'time'> & {
    readonly instances: Instances
    readonly registry: Registry
    readonly settler: Settler
    readonly begin: BeginJob
    readonly actions: StepActions
    readonly deadLetterJob: DeadLetterRouteJob
    readonly flowControl: Pick<FlowControl, 'enterCircuit'>
  },
): Steps {
  const { instances, registry, settler } = deps

  const settle = async (item: Item, route: Route | null, to: 'skipped' | 'cancelled', why: string) => {
    const note = { ...EMPTY_NOTE, key: item.work.key, class: item.work.class, lastError: why }
    const counters = countersOf(item)
    const saying = { counters, note }
    await settler.settle(item, route, to === 'skipped' ? skipped(saying) : cancelled(saying))
  }

  const findFiring = async ({
    work,
    route,
  }: Item): Promise<{ readonly loaded: Loaded; readonly firing: Firing } | null> => {
    if (work.instance === null) return null
    // Leased on insert a moment ago: this node's cache is current. Only the store can say that a firing is gone.
    const isLeasedOnInsert = route !== null && work.epoch === 1
    for (const find of isLeasedOnInsert ? [instances.recall, instances.load] : [instances.load]) {
      const loaded = await find(work.tenant, work.instance)
      const firing = loaded === null ? null : firingOf(loaded.instance, work.step)
      if (loaded !== null && firing !== null) return { loaded, firing }
    }
    return null
  }

  const run: Steps['run'] = async (claimed) => {
    const { work } = claimed
    const route = claimed.route ?? (await registry.routeOf(work))
    if (route === null) {
      const error = 'the definition that it began with is not in the store'
      return deps.deadLetterJob(claimed, null, null, 'config', 'definition_missing', error)
    }
    const found = await findFiring(claimed)
    if (found === null) return settle(claimed, route, 'skipped', STALE)
    const { loaded, firing } = found
    if (firing.state === 'interrupted' && !(await isOpen(claimed)))
      return settle(claimed, route, 'cancelled', 'another transition took its token')
    if (!(await isUnderWay(claimed, firing))) return settle(claimed, route, 'skipped', STALE)
    const item = await deps.begin(claimed, route)
    // Beyond its time it ends, whatever its circuit says.
    const isHeld = firing.state !== 'interrupted' && deps.time.now() < item.work.expiresAt
    const closed = isHeld ? deps.flowControl.enterCircuit(item, route) : null
    if (closed !== null) return wait(item, route, item.work.key, closed.delayMs, closed.why)
    await perform(item, route, loaded, firing)
  }

  /** Its earlier effect is checked; it makes no further call. */
  const giveUp = (item: Item, route: Route) => async (): Promise<'finished'> => {
    await settle(item, route, 'cancelled', 'another transition took its token')
    return 'finished'
  }

  const isOpen = async (item: Item): Promise<boolean> => {
    if (isFirstRun(item)) return false
    const open = await deps.store.forTenant(item.work.tenant).ledgerOfWork(item.work.id)
    return open.length > 0
  }

  /** A firing that failed or was parked runs again by the job that continues it. */
  const isUnderWay = async ({ work }: Item, { number, state }: Firing): Promise<boolean> => {
    if (work.instance === null || (state !== 'failed' && state !== 'parked')) return true
    const stepped = await instances.apply(work.tenant, work.instance, { type: 'resumed', firing: number })
    return stepped.ok
  }

  /**
   * The generation of the effect under its key. An undone effect no longer exists: under a key that several
   * instances share, the next one makes it again, as the next generation. null: it is being undone right now.
   */
  const generationOf = async (
    { work }: Item,
    route: Route,
    workflow: Loaded['workflow'],
    firing: Firing,
    key: string,
  ): Promise<number | null> => {
    // A derived key belongs to one firing, whose effect is made and undone once.
    if (route.document.key === null || !canBeUndone(workflow, firing)) return work.generation
    const reads = deps.store.forTenant(work.tenant)
    const entry = await reads.ledger(key)
    if (entry === null) return work.generation
    const known = Math.max(work.generation, entry.generation)
    if (entry.state !== 'done' || entry.work === work.id) return known
    const undo = await reads.ledger(`undo:${keyOfGeneration(key, entry.generation)}`)
    if (undo === null || undo.state === 'released') return known
    return undo.state === 'done' ? entry.generation + 1 : null
  }

  /** Without using an attempt. */
  const wait = async (item: Item, route: Route, key: string | null, delayMs: number, lastError: string) => {
    await settler.settle(
      item,
      route,
      again(delayMs, {
        counters: { ...countersOf(item), waits: item.work.waits + 1 },
        note: { ...EMPTY_NOTE, key, class: item.work.class, lastError },
      }),
    )
  }

  const perform = async (item: Item, route: Route, { workflow, instance }: Loaded, firing: Firing) => {
    let key: string | null = null
    try {
      const base = routeScope(item.event, item.payload(), item.header(), deps.vars)
      const scope = stepScope(workflow, instance, firing, base)
      key = item.deadLetter?.key ?? firing.key ?? route.keyOf(scope)
      const generation = await generationOf(item, route, workflow, firing, key)
      if (generation === null) return await wait(item, route, key, UNDO_WAIT_MS, UNDO_WAIT)
      const again = { ...item, work: { ...item.work, generation } }
      const inner = { ...scope, key: keyOfGeneration(key, generation) }
      const call = { item: again, route, key, scope: inner }
      await deps.actions.perform(
        firing.state === 'interrupted' ? { ...call, instead: giveUp(item, route) } : call,
      )
    } catch (error) {
      if (error instanceof ExpressionError)
        return deps.deadLetterJob(item, route, key, 'validation', 'rejected', describe(error))
      if (error instanceof JsonError)
        return deps.deadLetterJob(item, route, key, 'poison', 'unparseable', error.message)
      throw error
    }
  }

  return {
    run,
    async scopeOf(work, event) {
      if (work.instance === null) return null
      const loaded = await instances.load(work.tenant, work.instance)
      const firing = loaded === null ? null : firingOf(loaded.instance, work.step)
      if (loaded === null || firing === null) return null
      const { payload, header } = originOfEvent(event)
      const base = routeScope(event, payload(), header(), deps.vars)
      return stepScope(loaded.workflow, loaded.instance, firing, base)
    },
  }
}
