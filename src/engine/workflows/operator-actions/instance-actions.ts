// Operator actions on an instance: fire a transition, move tokens, edit data, retry a failed step, cancel it.
// Permissions are checked here; the pure machine decides what follows, as for every other change of an instance.
//
// Invariants: HD3 permission and input are checked before the machine runs. HD4 each action is one commit with a
// history row that names who did it and why, and one log line. HD5 a refused action changes nothing. HD6 cancelling
// never abandons an unknown outcome.

import { hasPermission } from '../../../core/access/callers/index.ts'
import { hiddenFrom, redact, redactHeader } from '../../../core/events/sensitive/index.ts'
import type { Scope } from '../../../core/expression/index.ts'
import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { Ids, InstanceId, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type {
  DataChange,
  Firing,
  HistoryEntry,
  Instance,
  Marking,
} from '../../../core/workflows/instance/index.ts'
import {
  type Explained,
  explainTransitions,
  type InstanceInput,
  type StepEnv,
  stepInstance,
  type Transition,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import type { Log } from '../../../ports/log.ts'
import type { Guard, Store, TenantReads, Write } from '../../../ports/store.ts'
import type { Caller, Decided } from '../../access/index.ts'
import { orConflict, RACES_MAX, retrying, type UnitOfWork } from '../../commit/index.ts'
import {
  deadLetterOfItems,
  failedFiring,
  type Instances,
  itemsOfFiring,
  type Loaded,
  type Origin,
  refusalError,
  resumeFiring,
  unknownName,
  withItem,
} from '../instances/index.ts'
import { firingItem } from '../steps/index.ts'
import { assertPermitted, assertSees, seesClear } from './workflow-permissions.ts'

/** The acting user. */
export type Operator = Pick<Caller, 'tenant' | 'actor' | 'role' | 'permissions'>

interface Why {
  readonly reason: string | null
}

export interface FireRequest {
  readonly transition: string
  readonly input: JsonValue
  readonly comment: string | null
}

export interface MoveRequest extends Why {
  readonly from: Marking
  readonly to: Marking
}

export interface EditRequest extends Why {
  /** Without a value: the field is removed. */
  readonly changes: readonly { readonly path: string; readonly value?: JsonValue }[]
}

/** What an action would do; nothing was done. */
export interface Preview {
  readonly changes: readonly DataChange[]
  /** Transitions that would start or fire because of it. */
  readonly fires: readonly string[]
  readonly marking: Marking
}

export interface InstanceActions {
  fire(operator: Operator, id: InstanceId, request: FireRequest): Promise<Instance>
  move(operator: Operator, id: InstanceId, request: MoveRequest): Promise<Instance>
  edit(operator: Operator, id: InstanceId, request: EditRequest): Promise<Instance>
  previewEdit(operator: Operator, id: InstanceId, request: EditRequest): Promise<Preview>
  /** `firing` null: the one that failed. Returns the job by which it continues. */
  retry(
    operator: Operator,
    id: InstanceId,
    request: Why & { readonly firing: number | null },
  ): Promise<{ readonly workId: WorkId; readonly firing: number }>
  cancel(operator: Operator, id: InstanceId, request: Why): Promise<Instance>
  /** Why transitions can or cannot fire, for this caller; `transition` null: all of them. */
  why(operator: Operator, id: InstanceId, transition: string | null): Promise<readonly Explained[]>
  /** Throws AppError: there is none, or the caller may not see it. */
  find(operator: Operator, id: InstanceId): Promise<Loaded>
}

export interface InstanceActionDeps {
  readonly store: Store
  readonly unitOfWork: Pick<UnitOfWork, 'once'>
  readonly instances: Instances
  readonly ids: Pick<Ids, 'work'>
  /** Replays dead letters: what belongs to the commit of one. */
  readonly deadLetters: {
    prepare(
      tenant: TenantId,
      deadLetter: DeadLetter,
      options: { readonly force: boolean },
    ): Promise<{
      readonly guards: readonly Guard[]
      readonly writes: readonly Write[]
      readonly work: { readonly id: WorkId }
      logDecision(decided: Decided): void
    }>
  }
  readonly log: Log
  /** The instance as viewers may see it. */
  hide(tenant: TenantId, workflow: Workflow, instance: Instance): Instance
  wake(): void
}

interface Resumed {
  readonly workId: WorkId
  readonly firing: Firing
  readonly instance: Instance
}

export const NO_REASON = 'no reason given'

export function makeInstanceActions(deps: InstanceActionDeps): InstanceActions {
  const { store, instances, log } = deps

  const find: InstanceActions['find'] = async (operator, id) => {
    const loaded = await instances.load(operator.tenant, id)
    if (loaded === null) throw new AppError('not_found', `there is no instance ${id.slice(0, 100)}`)
    assertSees(operator, loaded.workflow.document)
    return loaded
  }

  const logAction = (
    name: string,
    operator: Operator,
    instance: Instance,
    why: string | null,
    facts: object = {},
  ) => {
    const { id, workflow, version, correlationId } = instance
    const about = { tenant: operator.tenant, instance: id, workflow, version, correlationId }
    log.info(name, { ...about, ...facts, actor: operator.actor, reason: why })
  }

  /** The instance as the operator may see it. */
  const shownTo = (operator: Operator, workflow: Workflow, instance: Instance): Instance =>
    seesClear(operator, workflow.document) ? instance : deps.hide(operator.tenant, workflow, instance)

  const apply = async (
    operator: Operator,
    workflow: Workflow,
    id: InstanceId,
    input: InstanceInput,
  ): Promise<Instance> => {
    const stepped = await instances.apply(operator.tenant, id, input)
    if (!stepped.ok) throw refusalError(stepped.refused)
    deps.wake()
    return shownTo(operator, workflow, stepped.instance)
  }

  const scopeOf = async (operator: Operator, { instance }: Loaded): Promise<StepEnv> =>
    instances.envOf(await instances.originOf(operator.tenant, instance))

  const editOf = (operator: Operator, { changes, reason }: EditRequest): InstanceInput => ({
    type: 'edit',
    changes,
    actor: operator.actor,
    reason: reason ?? NO_REASON,
  })

  /**
   * A failed firing continues: by its dead letter, or by a new job if that is gone; in the commit that
   * records who requested it.
   */
  const resume = (
    operator: Operator,
    id: InstanceId,
    asked: number | null,
    reason: string | null,
  ): Promise<Resumed> => {
    const { tenant } = operator
    const reads = store.forTenant(tenant)
    const resumeOnce = async (retry: () => Promise<Resumed>): Promise<Resumed> => {
      const loaded = await find(operator, id)
      const { workflow, instance } = loaded
      if (instance.state !== 'active')
        throw new AppError('instance_ended', `the instance is ${instance.state}`)
      const firing = failedFiring(instance, asked)
      const origin = await instances.originOf(tenant, instance)
      const by = { actor: operator.actor, reason: reason ?? NO_REASON }
      const stepped = resumeFiring(loaded, firing, instances.envOf(origin), by)
      if (!stepped.ok) throw refusalError(stepped.refused)
      const items = await itemsOfFiring(reads, instance, firing)
      const deadLetter = await deadLetterOfItems(reads, workflow.consumer, instance, items)
      // The operator requests this very step: earlier failures are known.
      const replayed =
        deadLetter === null ? null : await deps.deadLetters.prepare(tenant, deadLetter, { force: true })
      const firingDeps = { store, ids: deps.ids, instances }
      // Its dead letter is gone, and the ledger knows its key: another child needs a job that says so.
      const item =
        replayed === null && firing.child !== undefined
          ? await firingItem(firingDeps, tenant, loaded, firing)
          : null
      const workId = replayed?.work.id ?? item?.id ?? deps.ids.work()
      const next = replayed === null && item === null ? withItem(stepped, firing, workId) : stepped
      const added: readonly Write[] =
        item === null ? [] : [{ w: 'work.add', work: item, lease: null, delayMs: 0 }]
      const planned = await instances.plan(tenant, origin, workflow, instance, next)
      const result = await deps.unitOfWork.once(tenant, {
        guards: [...planned.guards, ...(replayed?.guards ?? [])],
        writes: [...planned.writes, ...added, ...(replayed?.writes ?? [])],
        plans: [planned],
      })
      if (!result.ok) return retry()
      replayed?.logDecision({ actor: operator.actor, reason })
      return { workId, firing, instance: shownTo(operator, workflow, planned.instance) }
    }
    return retrying(RACES_MAX, resumeOnce, orConflict('the instance changes without end; try again'))
  }

  return {
    find,

    async fire(operator, id, { transition: name, input, comment }) {
      const { workflow } = await find(operator, id)
      const transition = transitionOf(workflow, name)
      assertPermitted(operator, transition.document.permission, `firing ${name}`)
      const fired = await apply(operator, workflow, id, {
        type: 'fire',
        transition: name,
        actor: operator.actor,
        input,
        comment,
      })
      logAction('instance.fired', operator, fired, comment, { transition: name })
      return fired
    },

    async move(operator, id, { from, to, reason }) {
      const { workflow } = await find(operator, id)
      for (const place of [...Object.keys(from), ...Object.keys(to)]) {
        if (!workflow.places.has(place))
          throw unknownName('unknown_place', workflow.document.name, place, workflow.places.keys())
      }
      const why = reason ?? NO_REASON
      const moved = await apply(operator, workflow, id, {
        type: 'move',
        from,
        to,
        actor: operator.actor,
        reason: why,
      })
      logAction('instance.moved', operator, moved, reason, { from, to })
      return moved
    },

    async edit(operator, id, request) {
      const { workflow } = await find(operator, id)
      const edited = await apply(operator, workflow, id, editOf(operator, request))
      // Only paths: the values may be confidential.
      logAction('instance.edited', operator, edited, request.reason, {
        paths: request.changes.map(({ path }) => path),
      })
      return edited
    },

    async previewEdit(operator, id, request) {
      const loaded = await find(operator, id)
      const env = await scopeOf(operator, loaded)
      const stepped = stepInstance(loaded.workflow, loaded.instance, editOf(operator, request), env)
      if (!stepped.ok) throw refusalError(stepped.refused)
      const preview = previewOf(stepped.history, stepped.instance)
      return seesClear(operator, loaded.workflow.document) ? preview : withoutValues(preview)
    },

    async retry(operator, id, { firing: asked, reason }) {
      const { workId, firing, instance } = await resume(operator, id, asked, reason)
      logAction('instance.retried', operator, instance, reason, {
        firing: firing.number,
        step: firing.name,
        work: workId,
      })
      deps.wake()
      return { workId, firing: firing.number }
    },

    async cancel(operator, id, { reason }) {
      const { workflow, instance } = await find(operator, id)
      await refuseDoubt(store.forTenant(operator.tenant), instance)
      const cancelled = await apply(operator, workflow, id, {
        type: 'cancel',
        actor: operator.actor,
        reason: reason ?? NO_REASON,
      })
      logAction('instance.cancelled', operator, cancelled, reason)
      return cancelled
    },

    async why(operator, id, transition) {
      const { workflow, instance } = await find(operator, id)
      if (transition !== null) transitionOf(workflow, transition)
      const origin = await instances.originOf(operator.tenant, instance)
      const env = { scope: shownScope(operator, origin, instances.envOf(origin).scope) }
      const shown = shownTo(operator, workflow, instance)
      return explainTransitions(workflow, instance, env, operator.actor, shown)
        .filter(({ name }) => transition === null || name === transition)
        .map((one) => withPermission(operator, transitionOf(workflow, one.name), one))
    },
  }
}

function transitionOf({ document, transitions }: Workflow, name: string): Transition {
  const transition = transitions.get(name)
  if (transition === undefined)
    throw unknownName('unknown_transition', document.name, name, transitions.keys())
  return transition
}

function withoutValues(preview: Preview): Preview {
  return { ...preview, changes: preview.changes.map(({ path }) => ({ path, hidden: true })) }
}

function previewOf(history: readonly HistoryEntry[], { marking }: Instance): Preview {
  return {
    changes: history.flatMap(({ changes }) => changes ?? []),
    fires: history.flatMap(({ type, name }) =>
      (type === 'began' || type === 'fired') && name !== undefined ? [name] : [],
    ),
    marking,
  }
}

/** Viewers see conditions without the sensitive parts of the event, operators without the restricted ones. */
function shownScope({ role }: Operator, { event }: Origin, scope: Scope): Scope {
  const reader = { seesSensitive: role !== 'viewer', seesRestricted: role === 'admin' }
  const hidden = hiddenFrom(event.sensitive, reader)
  if (hidden.length === 0) return scope
  const payload = redact((scope.payload ?? null) as JsonValue, hidden)
  return { ...scope, payload, header: redactHeader((scope.header ?? null) as JsonValue, hidden) }
}

function withPermission(operator: Operator, { document }: Transition, explained: Explained): Explained {
  const { permission } = document
  if (permission === undefined) return explained
  const holds = hasPermission(operator, permission)
  const message = holds
    ? `the caller has the permission ${permission}`
    : `the caller lacks the permission ${permission}`
  const others = explained.rules.filter(({ rule }) => rule !== 'permission')
  return {
    ...explained,
    canFire: explained.canFire && holds,
    rules: [...others, { rule: 'permission', holds, message }],
  }
}

/**
 * An effect that is reserved or unknown in the ledger may exist: after a cancellation it could no longer be
 * undone or repeated.
 */
async function refuseDoubt(reads: TenantReads, { id }: Instance): Promise<void> {
  const items = await reads.workOfInstance(id, { all: true })
  for (const item of items) {
    if (item.state === 'done' || item.state === 'skipped') continue
    const [entry] = await reads.ledgerOfWork(item.id)
    if (entry === undefined) continue
    const step = item.step ?? item.kind
    throw new AppError('in_doubt', `the effect of ${step} (work item ${item.id}) is ${entry.state}`, {
      details: { workId: item.id, state: entry.state, step },
    })
  }
}
