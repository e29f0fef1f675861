// A new instance as part of a commit: who holds its keys already, what its trigger maps, and its first step, whatever
// starts it (an event, the clock, a user, another instance).
//
// Invariants: TG1 of two that would start the same instance one does: the rows of the keys are guarded. TG2 the id
// derives from the job that creates it, so that a repeated run creates no second one. TG3 a mapping that fails leaves
// nothing behind.

import type { Scope } from '../../../core/expression/index.ts'
import type { InstanceId, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { decideTrigger } from '../../../core/workflows/correlation/index.ts'
import type { Data, Instance } from '../../../core/workflows/instance/index.ts'
import {
  type InstanceEffect,
  lockConsumer,
  stepInstance,
  type Trigger,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import type { Store } from '../../../ports/store.ts'
import { findHopsFault } from '../../events/index.ts'
import { freeRows, type KnownRow, loadRows } from './correlation-rows.ts'
import type { InstancePlan, Origin, SteppedOk } from './instance-types.ts'
import type { Instances } from './instances.ts'
import { KeyRefused } from './plan-instance-change.ts'

export interface CreateRequest {
  readonly tenant: TenantId
  readonly workflow: Workflow
  readonly trigger: Trigger
  readonly origin: Origin
  /** Of the event. */
  readonly scope: Scope
  /** The job that creates it. */
  readonly work: WorkId
  readonly metadata?: Data
  readonly parent?: Instance['parent']
  readonly actor?: string
  /** Rows of its keys that were already read. `free`: they were not read, and the guards require that there are none. */
  readonly rows?: readonly KnownRow[] | 'free'
}

export type Creation =
  | { readonly is: 'planned'; readonly id: InstanceId; readonly plan: InstancePlan }
  /** Another instance has its key, or had it. */
  | { readonly is: 'exists'; readonly instance: InstanceId }
  /** Its lock is held, and it does not wait for it. */
  | { readonly is: 'held' }
  /** The caller's error: nothing was created. */
  | { readonly is: 'refused'; readonly class: 'validation' | 'config'; readonly error: string }

export interface CreateDeps {
  readonly store: Pick<Store, 'forTenant'>
  readonly instances: Instances
}

export function instanceIdOf(work: WorkId): InstanceId {
  return `ins_${work.slice(work.indexOf('_') + 1)}` as InstanceId
}

/** Throws ExpressionError if a key or a mapping fails. */
export async function planCreate(deps: CreateDeps, request: CreateRequest): Promise<Creation> {
  const { tenant, workflow, trigger, origin, scope, work } = request
  const { name } = workflow.document
  const circle = findHopsFault(origin.header())
  if (circle !== null) return { is: 'refused', class: 'config', error: circle }
  const reads = deps.store.forTenant(tenant)
  const keys = trigger.keysOf(scope)
  const rows =
    request.rows === 'free' ? freeRows(name, keys) : (request.rows ?? (await loadRows(reads, name, keys)))
  const step = decideTrigger({
    action: 'create',
    unique: trigger.document.unique ?? null,
    rows: rows.map(({ row }) => row),
    isBehind: false,
  })
  if (step.do === 'exists') return { is: 'exists', instance: step.instance }
  const id = instanceIdOf(work)
  const stepped = stepInstance(
    workflow,
    null,
    {
      type: 'create',
      id,
      assignments: trigger.map(scope),
      metadata: request.metadata ?? {},
      keys,
      parent: request.parent ?? null,
      correlationId: origin.event.correlationId,
      ...(request.actor === undefined ? {} : { actor: request.actor }),
    },
    deps.instances.envOf(origin),
  )
  if (!stepped.ok) return { is: 'refused', class: 'validation', error: stepped.refused.message }
  if (await isHeld(deps, request, stepped)) return { is: 'held' }
  // The keys it starts with are learned too: the same rows, the same way.
  const learned = keys.map((key): InstanceEffect => ({ type: 'correlate', ...key }))
  const complete = { ...stepped, effects: [...learned, ...stepped.effects] }
  try {
    const beside = { own: work, rows }
    return {
      is: 'planned',
      id,
      plan: await deps.instances.plan(tenant, origin, workflow, null, complete, beside),
    }
  } catch (error) {
    if (error instanceof KeyRefused) return { is: 'refused', class: 'validation', error: error.message }
    throw error
  }
}

async function isHeld(
  deps: CreateDeps,
  { tenant, workflow }: CreateRequest,
  { effects }: SteppedOk,
): Promise<boolean> {
  const { document } = workflow
  if (document.lock?.whenHeld !== 'skip') return false
  for (const effect of effects) {
    if (effect.type !== 'work' || effect.step !== 'lock' || effect.lane === null) continue
    const lane = await deps.store.forTenant(tenant).lane(lockConsumer(document), effect.lane.key)
    if (lane !== null && lane.places > 0) return true
  }
  return false
}
