// The item that goes on where one of a workflow died: about the very firing, timer or admission, on the version that the instance is
// on by now. What it goes on with must still be there.
//
// Invariant: FI4 a replayed step resumes exactly its firing, and nothing before it is done again.

import type { DeadLetter } from '../../core/dead-letter/index.ts'
import { AppError } from '../../core/errors/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import { ExpressionError } from '../../core/expression/index.ts'
import type { Ids, TenantId } from '../../core/ids/index.ts'
import type { Firing } from '../../core/instance/index.ts'
import { JsonError } from '../../core/json/index.ts'
import type { Route, Vars } from '../../core/route/index.ts'
import type { NewWork, WorkRow } from '../../core/work/index.ts'
import { partName, stepName, stepScope } from '../../core/workflow/index.ts'
import type { Store } from '../../ports/store.ts'
import type { Registry } from '../registry.ts'
import { replayedWork } from '../replay-work.ts'
import { firingOf } from './firings.ts'
import type { Instances } from './instances.ts'
import { FOREVER_MS } from './plan-effects.ts'
import type { Loaded } from './types.ts'

interface Deps {
  readonly store: Store
  readonly registry: Registry
  readonly ids: Ids
  readonly vars: Vars
  instances(): Instances
}

const WENT_ON = 'its instance went on without it, or has ended; discard the letter'

/** Throws AppError where there is nothing to go on with. */
export async function replayedItem(
  deps: Deps,
  letter: DeadLetter,
  event: StoredEvent,
  died: WorkRow | null,
): Promise<NewWork> {
  if (died === null) throw new AppError('not_found', `work item ${letter.workId} is gone`)
  if (died.kind === 'trigger') return replayedTrigger(deps, letter, event, died)
  const loaded = died.instance === null ? null : await deps.instances().load(letter.tenant, died.instance)
  if (loaded === null || loaded.instance.state !== 'active') throw new AppError('conflict', WENT_ON)
  const { instance, workflow } = loaded
  const base = {
    id: deps.ids.work(),
    kind: died.kind,
    consumer: letter.consumer,
    definition: workflow.hash,
    codeHash: null,
    eventId: instance.eventId,
    expiresInMs: FOREVER_MS,
    replayOf: letter.id,
    instance: instance.id,
    step: died.step ?? '',
  }
  if (died.kind === 'step' || died.kind === 'signal') {
    const firing = firingOf(instance, died.step)
    if (firing?.state !== 'failed') throw new AppError('conflict', WENT_ON)
    const part = workflow.parts.get(partName(firing.type, firing.name))
    if (part === undefined) throw new AppError('definition_missing', `${firing.name} is not defined any more`)
    const step = { ...base, ...stepOf(part, firing) }
    return died.kind === 'step'
      ? step
      : { ...step, ...(await generationOf(deps, letter.tenant, loaded, firing, part)) }
  }
  if (died.lane === null) return base
  const width = died.step === 'slot' ? (workflow.document.maxConcurrent ?? 1) : 1
  return { ...base, lane: { key: died.lane, width } }
}

function stepOf(
  part: Route,
  { type, number, name }: Firing,
): Pick<NewWork, 'kind' | 'step' | 'codeHash' | 'expiresInMs'> {
  const { action, expiresInMs } = part
  const codeHash = action.type === 'function' ? action.codeHash : null
  return { kind: 'step', step: stepName(type, number, name), codeHash, expiresInMs }
}

/** The child of a step that waited for it failed: going on means another child, although the key has one. */
async function generationOf(
  { store, instances }: Deps,
  tenant: TenantId,
  { workflow, instance }: Loaded,
  firing: Firing,
  part: Route,
): Promise<Pick<NewWork, 'generation'>> {
  const origin = await instances().originOf(tenant, instance)
  try {
    const key = part.keyOf(stepScope(workflow, instance, firing, instances().envOf(origin).scope))
    const entry = await store.forTenant(tenant).ledger(key)
    return entry === null ? {} : { generation: entry.generation + 1 }
  } catch (error) {
    // It fails of that when it runs, and is seen.
    if (error instanceof ExpressionError || error instanceof JsonError) return {}
    throw error
  }
}

function replayedTrigger(deps: Deps, letter: DeadLetter, event: StoredEvent, died: WorkRow): NewWork {
  const name = letter.consumer.slice(letter.consumer.indexOf(':') + 1)
  const workflow = deps.registry.workflow(letter.tenant, name)
  if (workflow === null)
    throw new AppError('definition_missing', `${letter.consumer} is not defined any more`)
  const trigger = workflow.triggers.find(({ document }) => document.id === died.step)
  if (trigger === undefined)
    throw new AppError('definition_missing', `${letter.consumer} has no trigger ${died.step} any more`)
  const { route } = trigger
  const work: NewWork =
    route === null
      ? {
          id: deps.ids.work(),
          kind: 'trigger',
          consumer: letter.consumer,
          definition: workflow.hash,
          codeHash: null,
          eventId: event.id,
          expiresInMs: FOREVER_MS,
          replayOf: letter.id,
          step: trigger.document.id,
        }
      : replayedWork(deps, route, letter, event, died)
  return died.instance === null ? work : { ...work, instance: died.instance }
}
