// The job that resumes a dead job of a workflow: for the same firing, timer or admission, on the current version of the
// instance. What it resumes must still exist.
//
// Invariants: FI4 a replayed step resumes exactly its firing, and nothing before it is repeated. FI17 it is added only
// to the instance revision by which that was decided.

import type { StoredEvent } from '../../../core/events/event/index.ts'
import { ExpressionError } from '../../../core/expression/index.ts'
import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { Ids, TenantId } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import type { NewWork, WorkRow } from '../../../core/queue/work/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { Firing } from '../../../core/workflows/instance/index.ts'
import { parseStepName, partName, stepName, stepScope } from '../../../core/workflows/machine/index.ts'
import type { Guard } from '../../../ports/store.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { replayedWork } from '../../planning/index.ts'
import { FOREVER_MS, type Instances, type Loaded } from '../instances/index.ts'
import { firingOf } from './firing-of-job.ts'

interface Deps extends Pick<EngineBase, 'store' | 'ids' | 'vars'> {
  readonly registry: Registry
  readonly instances: Instances
}

const WENT_ON = 'its instance went on without it, or has ended; discard the letter'

export interface ReplayedItem {
  readonly work: NewWork
  /** The instance that it was decided by; null: it starts one. */
  readonly guard: Guard | null
}

/** Throws AppError if there is nothing to resume. */
export async function replayedItem(
  deps: Deps,
  deadLetter: DeadLetter,
  event: StoredEvent,
  died: WorkRow | null,
): Promise<ReplayedItem> {
  if (died === null) throw new AppError('not_found', `work item ${deadLetter.workId} is gone`)
  if (died.kind === 'trigger') return { work: replayedTrigger(deps, deadLetter, event, died), guard: null }
  const loaded = died.instance === null ? null : await deps.instances.load(deadLetter.tenant, died.instance)
  if (loaded === null || loaded.instance.state !== 'active') throw new AppError('conflict', WENT_ON)
  const { id, revision } = loaded.instance
  const guard: Guard = { g: 'version', of: 'instance', key: id, version: revision }
  return { work: await itemOf(deps, deadLetter, loaded, died), guard }
}

async function itemOf(deps: Deps, deadLetter: DeadLetter, loaded: Loaded, died: WorkRow): Promise<NewWork> {
  const { instance, workflow } = loaded
  if (died.kind === 'step' || died.kind === 'signal') {
    const firing = firingOf(instance, died.step)
    if (firing === null || !(await isLeft(deps, deadLetter.tenant, loaded, firing, died)))
      throw new AppError('conflict', WENT_ON)
    return { ...(await firingItem(deps, deadLetter.tenant, loaded, firing)), replayOf: deadLetter.id }
  }
  const base = { ...baseOf(deps, loaded), replayOf: deadLetter.id, consumer: deadLetter.consumer }
  const same = { ...base, kind: died.kind, step: died.step ?? '' }
  if (died.lane === null) return same
  const width = died.step === 'slot' ? (workflow.document.maxConcurrent ?? 1) : 1
  return { ...same, lane: { key: died.lane, width } }
}

function baseOf(
  { ids }: { readonly ids: Pick<Ids, 'work'> },
  { workflow, instance }: Loaded,
): Omit<NewWork, 'kind' | 'step'> {
  return {
    id: ids.work(),
    consumer: workflow.consumer,
    definition: workflow.hash,
    codeHash: null,
    eventId: instance.eventId,
    expiresInMs: FOREVER_MS,
    replayOf: null,
    instance: instance.id,
  }
}

/** Whether the firing waits to be resumed: it failed, or its job died without its instance learning of it. */
async function isLeft(
  { store }: Deps,
  tenant: TenantId,
  { instance }: Loaded,
  { number, state }: Firing,
  died: WorkRow,
): Promise<boolean> {
  if (state === 'failed') return true
  if (state === 'waiting') return died.kind === 'signal'
  if (state === 'parked') return false
  const open = await store.forTenant(tenant).workOfInstance(instance.id, { all: false })
  return !open.some(
    ({ kind, step }) =>
      (kind === 'step' || kind === 'signal') && step !== null && parseStepName(step)?.number === number,
  )
}

/**
 * The job by which a firing continues. If its child succeeded and only its result could not be mapped, that
 * is reported again. Throws AppError.
 */
export async function firingItem(
  deps: Pick<Deps, 'store' | 'instances'> & { readonly ids: Pick<Ids, 'work'> },
  tenant: TenantId,
  loaded: Loaded,
  firing: Firing,
): Promise<NewWork> {
  const { workflow } = loaded
  const { type, number, name, child, state } = firing
  const base = baseOf(deps, loaded)
  const begun = child === undefined ? null : await deps.store.forTenant(tenant).instance(child)
  if (begun?.state === 'completed' || state === 'waiting')
    return { ...base, kind: 'signal', step: stepName('child', number, workflow.document.name) }
  const part = workflow.parts.get(partName(type, name))
  if (part === undefined) throw new AppError('definition_missing', `${name} is not defined any more`)
  const step = { ...base, ...stepOf(part, firing) }
  return child === undefined ? step : { ...step, ...(await generationOf(deps, tenant, loaded, firing, part)) }
}

function stepOf(
  part: Route,
  { type, number, name }: Firing,
): Pick<NewWork, 'kind' | 'step' | 'codeHash' | 'expiresInMs'> {
  const { action, expiresInMs } = part
  const codeHash = action.type === 'function' ? action.codeHash : null
  return { kind: 'step', step: stepName(type, number, name), codeHash, expiresInMs }
}

/** The awaited child failed: continuing means another child, although the key has one. */
async function generationOf(
  { store, instances }: Pick<Deps, 'store' | 'instances'>,
  tenant: TenantId,
  { workflow, instance }: Loaded,
  firing: Firing,
  part: Route,
): Promise<Pick<NewWork, 'generation'>> {
  const origin = await instances.originOf(tenant, instance)
  try {
    const { scope } = instances.envOf(origin)
    const key = firing.key ?? part.keyOf(stepScope(workflow, instance, firing, scope))
    const entry = await store.forTenant(tenant).ledger(key)
    return entry === null ? {} : { generation: entry.generation + 1 }
  } catch (error) {
    // It fails with that error when it runs, and the failure is visible.
    if (error instanceof ExpressionError || error instanceof JsonError) return {}
    throw error
  }
}

function replayedTrigger(deps: Deps, deadLetter: DeadLetter, event: StoredEvent, died: WorkRow): NewWork {
  const name = deadLetter.consumer.slice(deadLetter.consumer.indexOf(':') + 1)
  const workflow = deps.registry.workflow(deadLetter.tenant, name)
  if (workflow === null)
    throw new AppError('definition_missing', `${deadLetter.consumer} is not defined any more`)
  const trigger = workflow.triggers.find(({ document }) => document.id === died.step)
  if (trigger === undefined)
    throw new AppError('definition_missing', `${deadLetter.consumer} has no trigger ${died.step} any more`)
  const { route } = trigger
  const work: NewWork =
    route === null
      ? {
          id: deps.ids.work(),
          kind: 'trigger',
          consumer: deadLetter.consumer,
          definition: workflow.hash,
          codeHash: null,
          eventId: event.id,
          expiresInMs: FOREVER_MS,
          replayOf: deadLetter.id,
          step: trigger.document.id,
        }
      : replayedWork(deps, route, deadLetter, event, died)
  return died.instance === null ? work : { ...work, instance: died.instance }
}
