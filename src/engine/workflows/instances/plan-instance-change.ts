// Turns a change of an instance into guards and writes: jobs, timers, keys, escalations, events, a released lock.
//
// Invariants: FI17 a step that the change abandons is not replayed. FI2 all of it is in the commit of the change. FI5
// an interrupted firing is cancelled in that very commit, if its job has no unknown outcome and no call in progress;
// otherwise the job's own end reports it.

import type { FailureClass } from '../../../core/failures/failure/index.ts'
import { hashText } from '../../../core/foundation/hash/index.ts'
import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import { DAY } from '../../../core/foundation/time/index.ts'
import { EMPTY_NOTE, isUntried, type NewWork, type WorkRow } from '../../../core/queue/work/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import {
  type InstanceEffect,
  lockConsumer,
  parseStepName,
  type StepEnv,
  stepInstance,
  stepName,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import type { Guard, TenantReads, Write } from '../../../ports/store.ts'
import type { EventPlan, PlannedJob } from '../../commit/index.ts'
import { findHopsFault, type Noted, noteEvent } from '../../events/index.ts'
import { sizeOf } from '../../leases/index.ts'
import { cancelled } from '../../settlement/index.ts'
import { type KnownRow, planCorrelation } from './correlation-rows.ts'
import { guardDeadLetters } from './failed-firings.ts'
import type { InstanceDeps, InstancePlan, Origin, SteppedOk } from './instance-types.ts'

/** The instance cannot have a key: treated like a failed mapping. */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
}

/** A call of the instance may be in progress: it cannot be abandoned. */
export class OutcomeUnknown extends Error {
  override readonly name = 'InDoubt'
}

export interface Change {
  readonly tenant: TenantId
  readonly origin: Origin
  readonly workflow: Workflow
  readonly env: StepEnv
  /** As it was before; null: it is new. */
  readonly before: Instance | null
  /** The job that ends in the same commit. */
  readonly own: WorkId | null
  /** Rows of keys that it was decided by. */
  readonly rows: readonly KnownRow[]
}

/** Timers, admissions and signals end by events, not by their own time limit. */
export const FOREVER_MS = 3_650 * DAY

type Effect<Type extends InstanceEffect['type']> = Extract<InstanceEffect, { readonly type: Type }>

/** Throws KeyRefused and OutcomeUnknown. */
export async function planEffects(
  deps: InstanceDeps,
  change: Change,
  first: SteppedOk,
): Promise<Pick<InstancePlan, 'guards' | 'writes' | 'plans'> & { readonly stepped: SteppedOk }> {
  const { tenant, own } = change
  const off = await callOff(deps, change, first)
  const { stepped } = off
  const { instance } = stepped
  const guards: Guard[] = [...off.guards]
  const writes: Write[] = [...off.writes]
  const plans: EventPlan[] = [...off.plans]
  try {
    const isNew = (work: WorkId) => stepped.effects.some((one) => one.type === 'work' && one.id === work)
    const dropped = ofType(stepped.effects, 'drop').map(({ work }) => work)
    const adding = ofType(stepped.effects, 'work').filter(
      ({ id }) => !dropped.includes(id) && !off.neverAdded.has(id),
    )
    writes.push(
      ...(await dropTimers(
        deps,
        tenant,
        dropped.filter((id) => id !== own && !isNew(id)),
      )),
    )
    for (const { work } of ofType(stepped.effects, 'leave')) {
      // The job that ends now leaves its lane by that.
      if (work !== own) writes.push({ w: 'lane.leave', work })
    }
    const keys = await planKeys(deps, change, stepped)
    guards.push(...keys.guards)
    writes.push(...keys.writes)
    for (const effect of [...ofType(stepped.effects, 'escalate'), ...endedBadly(change, instance)])
      writes.push(raise(deps, change, instance, effect))
    for (const effect of ofType(stepped.effects, 'tellParent'))
      writes.push(...(await signalParent(deps, tenant, effect)))
    for (const [index, effect] of ofType(stepped.effects, 'announce').entries()) {
      const noted = announce(deps, change, instance, effect, index)
      plans.push(...noted.plans)
      writes.push(...noted.writes)
    }
    // Last: they take slots, which the unit of work releases or uses.
    const steps = addWork(deps, change, instance, adding)
    writes.push(...steps.writes)
    plans.push(steps)
  } catch (error) {
    deps.unitOfWork.release(plans)
    throw error
  }
  return { stepped, guards, writes, plans }
}

function ofType<Type extends InstanceEffect['type']>(
  effects: readonly InstanceEffect[],
  type: Type,
): readonly Effect<Type>[] {
  return effects.filter((effect): effect is Effect<Type> => effect.type === type)
}

interface CalledOff {
  readonly stepped: SteppedOk
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  readonly plans: readonly EventPlan[]
  /** Jobs that would have been added and cancelled at once. */
  readonly neverAdded: ReadonlySet<WorkId>
}

/** The jobs of interrupted firings; one that cannot be cancelled now reports by its own end. */
async function callOff(deps: InstanceDeps, change: Change, first: SteppedOk): Promise<CalledOff> {
  const guards: Guard[] = []
  const writes: Write[] = []
  const plans: EventPlan[] = []
  const neverAdded = new Set<WorkId>()
  const seen = new Set<number>()
  let stepped = first
  let items: readonly WorkRow[] | null = null
  for (;;) {
    const next = ofType(stepped.effects, 'callOff').find(({ firing }) => !seen.has(firing))
    if (next === undefined) return { stepped, guards, writes, plans, neverAdded }
    seen.add(next.firing)
    const reads = deps.store.forTenant(change.tenant)
    const { before } = change
    const firing = before?.firings.find(({ number }) => number === next.firing)
    const isFailed = firing?.state === 'failed'
    if (before !== null && isFailed) {
      const { consumer } = change.workflow
      guards.push(
        ...(await deps.commits.retryUntilAvailable(() => guardDeadLetters(reads, consumer, before, firing))),
      )
      // Replays from now on are refused: earlier ones are visible.
      items = null
    }
    items ??= await deps.commits.retryUntilAvailable(() =>
      reads.workOfInstance(stepped.instance.id, { all: false }),
    )
    const isOf = (step: string | null) => step !== null && parseStepName(step)?.number === next.firing
    const called: WorkId[] = []
    for (const { id } of ofType(stepped.effects, 'work').filter(
      (one) => one.kind === 'step' && isOf(one.step),
    )) {
      neverAdded.add(id)
      called.push(id)
    }
    for (const item of items.filter(
      (one) => one.kind === 'step' && isOf(one.step) && one.id !== change.own,
    )) {
      if (!(await isFree(deps, reads, item, isFailed))) {
        // Its lock would be passed on while it runs.
        if (stepped.instance.state !== 'cancelled') continue
        deps.unitOfWork.release(plans)
        throw new OutcomeUnknown(`${item.step ?? item.id} is under way, or its outcome is not known`)
      }
      const { id, state, epoch, attempts, waits, losses, key } = item
      guards.push({ g: 'work', work: id, state, epoch })
      // Its failure and the dead letter that it replays end with it.
      const event = change.origin.stored
      if (event === null) throw new Error('assertion failed: an instance that has items was kept before')
      const ending = await deps.planEnd(
        { work: item, event },
        partOf(change, item),
        cancelled({
          counters: { attempts, waits, losses },
          note: { ...EMPTY_NOTE, key, class: item.class, lastError: 'another transition took its token' },
        }),
        false,
      )
      guards.push(...ending.guards)
      writes.push(...ending.writes)
      plans.push(...ending.plans)
      called.push(id)
    }
    for (const work of called) {
      const input = { type: 'calledOff', firing: next.firing, work } as const
      const further = stepInstance(change.workflow, stepped.instance, input, change.env)
      if (further.ok) stepped = mergeStepped(stepped, further)
    }
  }
}

function partOf({ workflow }: Change, { step }: WorkRow): Route | null {
  const named = step === null ? null : parseStepName(step)
  return named === null ? null : (workflow.parts.get(`${named.type}/${named.name}`) ?? null)
}

/**
 * Not leased, and without a possible effect. `isFailed`: its firing has failed, and a node that leases the
 * job does nothing before the firing is resumed, which the revision of the instance guards.
 */
async function isFree(
  deps: InstanceDeps,
  reads: TenantReads,
  item: WorkRow,
  isFailed: boolean,
): Promise<boolean> {
  const isIdle = isFailed
    ? item.state === 'ready' || item.state === 'leased'
    : item.state === 'ready' && !item.alone
  if (!isIdle) return false
  if (isUntried(item) && item.key === null) return true
  const open = await deps.commits.retryUntilAvailable(() => reads.ledgerOfWork(item.id))
  return open.length === 0
}

async function dropTimers(
  deps: InstanceDeps,
  tenant: TenantId,
  timers: readonly WorkId[],
): Promise<readonly Write[]> {
  const reads = deps.store.forTenant(tenant)
  const writes: Write[] = []
  for (const id of timers) {
    const item = await deps.commits.retryUntilAvailable(() => reads.work(id))
    // A running job loses its claim, and with it its right to settle: only a change of the instance, whose revision is
    // guarded, ends it.
    if (item === null || !['ready', 'waiting', 'leased'].includes(item.state)) continue
    const { attempts, waits, losses } = item
    writes.push({
      w: 'work.settle',
      work: id,
      to: 'cancelled',
      counters: { attempts, waits, losses },
      note: { ...EMPTY_NOTE, lastError: 'not needed any more' },
    })
  }
  return writes
}

async function planKeys(
  deps: InstanceDeps,
  { tenant, workflow, rows }: Change,
  { instance, effects }: SteppedOk,
): Promise<Pick<InstancePlan, 'guards' | 'writes'>> {
  const learned = ofType(effects, 'correlate')
  const freed = ofType(effects, 'uncorrelate').flatMap(({ keys }) => keys)
  if (learned.length === 0 && freed.length === 0 && rows.length === 0) return { guards: [], writes: [] }
  const { store, planning, commits } = deps
  const change = { learned, freed }
  const reads = store.forTenant(tenant)
  // The effect of the step is known only here: a temporary store failure must not lose it.
  const retrying: Pick<TenantReads, 'correlation' | 'work'> = {
    correlation: (key) => commits.retryUntilAvailable(() => reads.correlation(key)),
    work: (id) => commits.retryUntilAvailable(() => reads.work(id)),
  }
  const planned = await planCorrelation(
    { store: { forTenant: () => retrying }, ids: planning.ids },
    tenant,
    workflow,
    instance.id,
    change,
    rows,
  )
  if (!planned.ok) throw new KeyRefused(planned.error)
  return planned
}

/** A failure that the workflow handles has no dead letter: if it leads to an end, that end is reported. */
function endedBadly(
  { before }: Change,
  { state, failure }: Instance,
): readonly Pick<Effect<'escalate'>, 'reason' | 'error'>[] {
  if (state !== 'failed' || before?.state === 'failed') return []
  const why = failure === null ? 'it came to a place of errors' : `${failure.name}: ${failure.error}`
  return [{ reason: 'instance_failed', error: why }]
}

function raise(
  deps: InstanceDeps,
  { workflow: { document, consumer }, origin, own }: Change,
  { id, failure }: Instance,
  { reason, error }: Pick<Effect<'escalate'>, 'reason' | 'error'>,
): Write {
  const { severity, runbook } = document.deadLetter
  // Error texts about a sensitive event may quote it.
  const shownError = origin.event.sensitive.length === 0 ? error : 'the text is with the instance'
  return {
    w: 'escalation.raise',
    row: {
      id: deps.planning.ids.escalation(),
      cause: hashText(JSON.stringify([consumer, reason])),
      consumer,
      class: (failure?.class as FailureClass | undefined) ?? 'validation',
      reason,
      severity,
      runbook,
      lastError: `${id}: ${shownError}`,
      workId: own,
    },
  }
}

/** An event if something selects it; otherwise a fact beside the history. */
function announce(
  deps: InstanceDeps,
  { tenant, origin }: Change,
  { id, revision }: Instance,
  { subject, data }: Effect<'announce'>,
  index: number,
): Noted {
  // Instances that start each other in a cycle are stopped as events are.
  const isWanted = deps.planning.registry.isWanted(tenant, subject) && findHopsFault(origin.header()) === null
  return noteEvent(
    { ids: deps.planning.ids, plan: deps.plan, systemEvents: deps.systemEvents, now: deps.now },
    {
      tenant,
      subject: subject as `workflow.${string}`,
      data: data as { readonly [name: string]: JsonValue },
      key: `${id}:${revision}:${index}`,
      parent: origin.event,
      object: { type: 'instance', id },
    },
    isWanted,
  )
}

/** Its parent may have ended, or may not wait any more: then the signal finds no firing, and ends. */
async function signalParent(
  deps: InstanceDeps,
  tenant: TenantId,
  { parent }: Effect<'tellParent'>,
): Promise<readonly Write[]> {
  const reads = deps.store.forTenant(tenant)
  const row = await deps.commits.retryUntilAvailable(() => reads.instance(parent.instance))
  if (row === null || row.state !== 'active') return []
  const work: NewWork = {
    id: deps.planning.ids.work(),
    kind: 'signal',
    consumer: `workflow:${row.workflow}`,
    definition: row.definition,
    codeHash: null,
    eventId: row.eventId,
    expiresInMs: FOREVER_MS,
    replayOf: null,
    instance: row.id,
    step: stepName('child', parent.firing, row.workflow),
  }
  return [{ w: 'work.add', work, lease: null, delayMs: 0 }]
}

/** Steps are leased on insert if they may run at once, like the jobs of routes. */
function addWork(
  deps: InstanceDeps,
  { tenant, origin, workflow }: Change,
  instance: Instance,
  effects: readonly Effect<'work'>[],
): EventPlan {
  const { planning } = deps
  const owner = effects.length === 0 ? null : planning.owner()
  const isHeld = effects.length > 0 && planning.registry.isHeld(tenant, workflow.consumer)
  const writes: Write[] = []
  const leasedOnInsert: PlannedJob[] = []
  let adds = 0
  for (const effect of effects) {
    const part = effect.part === null ? null : (workflow.parts.get(effect.part) ?? null)
    const work = newItem(workflow, instance, effect, part)
    const isHere = work.codeHash === null || planning.code.has(work.codeHash)
    const isOurs = isHere && planning.runs(work.consumer)
    const canRun = owner !== null && isOurs && !isHeld && effect.delayMs === 0
    const mayLease = part === null || (part.isImmediate && planning.mayLeaseOnInsert(tenant, part))
    const isLeased =
      canRun &&
      mayLease &&
      planning.jobSlots.take(work.id, tenant, sizeOf(origin.event), leasedOnInsert.length)
    writes.push({ w: 'work.add', work, lease: isLeased ? owner : null, delayMs: effect.delayMs })
    if (isLeased) leasedOnInsert.push({ work, route: part })
    if (effect.delayMs === 0) adds += 1
  }
  const isRun = leasedOnInsert.length > 0
  return {
    event: origin.event,
    stored: origin.stored,
    payload: isRun ? origin.payload() : null,
    header: isRun ? origin.header() : null,
    writes,
    adds,
    leasedOnInsert,
    owner,
    deadLetter: null,
    disabled: [],
  }
}

function newItem(
  workflow: Workflow,
  instance: Instance,
  effect: Effect<'work'>,
  part: Route | null,
): NewWork {
  return {
    id: effect.id,
    kind: effect.kind,
    consumer: effect.step === 'lock' ? lockConsumer(workflow.document) : workflow.consumer,
    definition: workflow.hash,
    codeHash: part?.action.type === 'function' ? part.action.codeHash : null,
    eventId: instance.eventId,
    expiresInMs: part === null ? effect.delayMs + FOREVER_MS : part.expiresInMs,
    replayOf: null,
    instance: instance.id,
    step: effect.step,
    ...(effect.lane === null ? {} : { lane: effect.lane }),
  }
}

/** The results of two inputs as one change. */
function mergeStepped(first: SteppedOk, second: SteppedOk): SteppedOk {
  return {
    ok: true,
    instance: second.instance,
    history: [...first.history, ...second.history],
    effects: [...first.effects, ...second.effects],
  }
}
