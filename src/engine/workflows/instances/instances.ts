// Loads instances, steps them with the pure machine (core/workflows/machine), and turns the result into the guards and
// writes of one commit. The caller adds what else belongs to the commit, and on a refused guard loads and decides
// again.
//
// Invariants: FI1 an instance changes only in a commit that is guarded by its revision. FI2 everything a change causes
// (jobs, timers, keys, escalations, events) is in the same commit.

import { publishesData, type WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { InstanceId, TenantId } from '../../../core/foundation/ids/index.ts'
import { JsonError, type JsonValue, stringifyJson } from '../../../core/foundation/json/index.ts'
import { routeScope } from '../../../core/routing/index.ts'
import { type PublishedData, tokenMessages } from '../../../core/store/outbox/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import {
  decodeInstance,
  encodeInstance,
  type InstanceInput,
  type Refused,
  type StepEnv,
  type Stepped,
  stepInstance,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import type { Write } from '../../../ports/store.ts'
import { orConflict, RACES_MAX, retrying } from '../../commit/index.ts'
import { encryptHistory, encryptInstance, openInstance } from './encrypt-instance.ts'
import type { Beside, InstanceDeps, InstancePlan, Loaded, Origin, SteppedOk } from './instance-types.ts'
import { KeyRefused, OutcomeUnknown, planEffects } from './plan-instance-change.ts'

export interface Instances {
  /** null: there is none. Throws AppError if its definition is gone. */
  load(tenant: TenantId, id: InstanceId): Promise<Loaded | null>
  /** As this node last wrote it, if it is likely still current: a guard verifies that. Otherwise like `load`. */
  recall(tenant: TenantId, id: InstanceId): Promise<Loaded | null>
  /** The cached instance is outdated. False: none was cached. */
  forget(tenant: TenantId, id: InstanceId): boolean
  originOf(tenant: TenantId, instance: Instance): Promise<Origin>
  /** On behalf of that event. */
  envOf(origin: Origin): StepEnv
  /** `before`: null for a new one. Throws KeyRefused. */
  plan(
    tenant: TenantId,
    origin: Origin,
    workflow: Workflow,
    before: Instance | null,
    stepped: SteppedOk,
    beside?: Beside,
  ): Promise<InstancePlan>
  /** Load, step, commit; again if another change was first. Throws AppError if there is no such instance. */
  apply(tenant: TenantId, id: InstanceId, input: InstanceInput): Promise<Stepped>
}

const REMEMBERED_MAX = 2_000

export function makeInstances(deps: InstanceDeps): Instances {
  const { store, encryption, time, planning, unitOfWork } = deps
  const remembered = new Map<string, Loaded>()

  const load: Instances['load'] = async (tenant, id) => {
    const row = await store.forTenant(tenant).instance(id)
    if (row === null) return null
    const workflow = await planning.registry.pinnedWorkflow(tenant, row.definition)
    if (workflow === null)
      throw new AppError('definition_missing', `the definition of instance ${id} is not in the store`)
    return { workflow, instance: openInstance(encryption, tenant, workflow.document, decodeInstance(row)) }
  }

  const envOf: Instances['envOf'] = (origin) => ({
    now: time.now(),
    newWork: () => planning.ids.work(),
    scope: routeScope(origin.event, orNull(origin.payload), orNull(origin.header), planning.vars),
    eventId: origin.event.id,
  })

  const originOf: Instances['originOf'] = async (tenant, { eventId }) => {
    const event = await store.forTenant(tenant).event(eventId)
    if (event === null) throw new AppError('not_found', `event ${eventId} is gone`)
    return originOfEvent(event)
  }

  const rowsOf = (
    tenant: TenantId,
    workflow: Workflow,
    origin: Origin,
    before: Instance | null,
    { instance, history }: SteppedOk,
  ): readonly Write[] => {
    const { document } = workflow
    const row = encodeInstance(encryptInstance(encryption, tenant, document, instance))
    const first = instance.next.history - history.length
    const rows = history.map((entry, index) => ({
      instance: instance.id,
      sequence: first + index,
      type: entry.type,
      body: stringifyJson(
        encryptHistory(encryption, tenant, document, instance.id, entry) as unknown as JsonValue,
      ),
    }))
    const put: Write = { w: 'instance.put', row }
    const messages = deps.hasOutbox
      ? tokenMessages(tenant, before, instance, publishedData(origin, document, before, instance))
      : []
    return [
      put,
      ...(rows.length === 0 ? [] : [{ w: 'history.append', rows } as const]),
      ...(messages.length === 0 ? [] : [{ w: 'outbox.add', rows: messages } as const]),
    ]
  }

  const plan: Instances['plan'] = async (tenant, origin, given, before, stepped, beside = {}) => {
    const { definition } = stepped.instance
    const workflow =
      definition === given.hash ? given : await planning.registry.pinnedWorkflow(tenant, definition)
    if (workflow === null) throw new AppError('definition_missing', 'its definition is not in the store')
    const env = envOf(origin)
    const effects = await planEffects(
      deps,
      { tenant, origin, workflow, env, before, own: beside.own ?? null, rows: beside.rows ?? [] },
      stepped,
    )
    const { plans } = effects
    const { instance } = effects.stepped
    return {
      guards: [
        {
          g: 'version',
          of: 'instance',
          key: instance.id,
          version: before?.revision ?? 0,
        },
        ...effects.guards,
      ],
      writes: [...rowsOf(tenant, workflow, origin, before, effects.stepped), ...effects.writes],
      plans,
      instance,
      ended(isStored) {
        const name = `${tenant}/${instance.id}`
        remembered.delete(name)
        // Cached only if this node works on it again at once: that saves a read.
        const isLeasedOnInsert = plans.some(({ leasedOnInsert }) =>
          leasedOnInsert.some(({ work }) => work.instance === instance.id),
        )
        if (isStored && isLeasedOnInsert && instance.state === 'active') remember(name, tenant, instance)
      },
    }
  }

  const remember = (name: string, tenant: TenantId, instance: Instance) => {
    const workflow = planning.registry.knownWorkflow(tenant, instance.definition)
    if (workflow === null) return
    if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value as string)
    remembered.set(name, { workflow, instance })
  }

  const applyOnce = async (
    tenant: TenantId,
    id: InstanceId,
    input: InstanceInput,
    retry: () => Promise<Stepped>,
  ): Promise<Stepped> => {
    const loaded = await load(tenant, id)
    if (loaded === null) throw new AppError('not_found', `no instance ${id}`)
    const { workflow, instance } = loaded
    const origin = await originOf(tenant, instance)
    const stepped = stepInstance(workflow, instance, input, envOf(origin))
    if (!stepped.ok) return stepped
    const planned = await orRefused(() => plan(tenant, origin, workflow, instance, stepped))
    if ('refused' in planned) return { ok: false, refused: planned.refused }
    const { guards, writes } = planned
    const { ok } = await unitOfWork.once(tenant, { guards, writes, plans: [planned] })
    return ok ? { ...stepped, instance: planned.instance } : retry()
  }

  return {
    load,
    recall: async (tenant, id) => remembered.get(`${tenant}/${id}`) ?? (await load(tenant, id)),
    forget: (tenant, id) => remembered.delete(`${tenant}/${id}`),
    originOf,
    envOf,
    plan,
    apply: (tenant, id, input) =>
      retrying(
        RACES_MAX,
        (retry) => applyOnce(tenant, id, input, retry),
        orConflict('the instance changes without end; try again'),
      ),
  }
}

/** null: the bus does not get its data. */
function publishedData(
  { event }: Origin,
  document: WorkflowDocument,
  before: Instance | null,
  { data }: Instance,
): PublishedData | null {
  if (!publishesData(document) || event.sensitive.length > 0) return null
  return { data, isChanged: before !== null && before.data !== data }
}

export function originOfEvent(event: StoredEvent): Origin {
  return {
    event,
    stored: event,
    payload: () => parsePayload(event.data),
    header: () => parsePayload(event.headers),
  }
}

/** A key that it cannot have is a failed mapping; an instance with a call in progress cannot be cancelled. */
export async function orRefused<Value>(
  plan: () => Promise<Value>,
): Promise<Value | { readonly refused: Refused }> {
  try {
    return await plan()
  } catch (error) {
    if (error instanceof KeyRefused) return { refused: { code: 'mapping', message: error.message } }
    if (error instanceof OutcomeUnknown) return { refused: { code: 'in_doubt', message: error.message } }
    throw error
  }
}

/** An unreadable event must not keep its instance from moving on. */
function orNull(read: () => JsonValue): JsonValue {
  try {
    return read()
  } catch (error) {
    if (error instanceof JsonError) return null
    throw error
  }
}
