// Starts instances on request: of a user, a program, or an action of a route or a step. The request is an event like
// any other, `workflow.<name>.requested` with the input as its payload, so that a trigger maps it and steps see it as
// usual. It is stored with the instance and the trigger's job, which is done, in one commit.
//
// Invariants: TG7 a request starts exactly one instance or none, and says why. TG8 input that violates the trigger's
// schema changes nothing.

import type { NewEvent } from '../../../core/events/event/index.ts'
import { describeError as describe, ExpressionError } from '../../../core/expression/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import { hashText } from '../../../core/foundation/hash/index.ts'
import type { EventId, Ids, InstanceId, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { isNumeral, type JsonValue, stringifyJson } from '../../../core/foundation/json/index.ts'
import { closest } from '../../../core/foundation/text/index.ts'
import { DAY } from '../../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type NewWork } from '../../../core/queue/work/index.ts'
import { routeScope } from '../../../core/routing/index.ts'
import type { Data, Instance } from '../../../core/workflows/instance/index.ts'
import type { Trigger, Workflow } from '../../../core/workflows/machine/index.ts'
import { type CommitResult, StoreError, type Write } from '../../../ports/store.ts'
import {
  type Commits,
  type EngineBase,
  orConflict,
  RACES_MAX,
  receivedEvent,
  retrying,
  type Unit,
  type UnitOfWork,
} from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { nextHeader } from '../../events/index.ts'
import { lineOf } from '../../observe/index.ts'
import { sensitiveOfCaused } from '../../secrets/index.ts'
import { type Creation, encryptedPaths, type Instances, planCreate } from '../instances/index.ts'

export interface StartRequest {
  readonly input: JsonValue
  readonly actor: string
  readonly metadata?: Data
  /** The id of one of its manual triggers; omitted: the first. */
  readonly trigger?: string
}

export interface Started {
  readonly instanceId: InstanceId
  readonly eventId: EventId
}

export interface Starter {
  /** Throws AppError: nothing was started then. The caller checks permissions, by `triggerOf`. */
  start(tenant: TenantId, workflow: string, request: StartRequest): Promise<Started>
  /** The deployed workflow and the trigger that would start it. Throws AppError if there is none. */
  triggerOf(tenant: TenantId, workflow: string, trigger?: string): { workflow: Workflow; trigger: Trigger }
  /** As part of a unit of work, which ends its plans. */
  plan(request: PlanStartRequest): Promise<PlannedStart>
}

export interface PlanStartRequest {
  readonly tenant: TenantId
  readonly workflow: Workflow
  readonly trigger: Trigger
  readonly input: JsonValue
  readonly metadata?: Data
  readonly actor?: string
  readonly parent?: Instance['parent']
  /** The instance's id derives from it. */
  readonly work: WorkId
  /** What caused it; null: only the request. */
  readonly cause: { readonly event: NewEvent; readonly header: JsonValue } | null
}

export type PlannedStart =
  | (Unit & { readonly is: 'planned'; readonly id: InstanceId; readonly event: NewEvent })
  | Exclude<Creation, { readonly is: 'planned' }>

/** Its job is done on insert. */
const ITEM_MS = 1 * DAY

export function makeStarter(
  deps: Pick<EngineBase, 'store' | 'log' | 'ids' | 'vars' | 'plan'> & {
    readonly registry: Registry
    readonly commits: Pick<Commits, 'retryUntilAvailable'>
    readonly unitOfWork: Pick<UnitOfWork, 'once' | 'release'>
    readonly instances: Instances
    /** Loads definitions that another node changed. */
    refresh(tenant: TenantId): Promise<void>
  },
): Starter {
  const { store, log, ids, registry, commits, unitOfWork, instances } = deps

  const triggerOf: Starter['triggerOf'] = (tenant, name, asked) => {
    const workflow = registry.workflow(tenant, name)
    if (workflow === null) {
      const known = registry.workflows(tenant).map(({ document }) => document.name)
      const near = closest(name, known)
      const hint = near === undefined ? '' : `; did you mean ${near}?`
      throw new AppError('not_found', `there is no workflow ${name.slice(0, 100)} in force${hint}`)
    }
    const manual = workflow.triggers.filter(({ document }) => document.manual !== undefined)
    const trigger = asked === undefined ? manual[0] : manual.find(({ document }) => document.id === asked)
    if (trigger !== undefined) return { workflow, trigger }
    const known = manual.map(({ document }) => document.id).join(', ')
    throw new AppError(
      'invalid_request',
      manual.length === 0
        ? `the workflow ${name} has no manual trigger`
        : `the workflow ${name} has no manual trigger ${asked}; it has ${known}`,
      manual.length === 0 ? { next: 'Give it one: `triggers: [{ manual: {} }]`, and apply it.' } : {},
    )
  }

  const plan: Starter['plan'] = async (request) => {
    const { tenant, workflow, trigger, input, work, cause } = request
    const item = newItem(ids.work(), workflow, trigger, ids.event())
    const header = cause === null ? {} : nextHeader(cause.header)
    const draft = draftOf(ids, request, item.eventId, header)
    const planned = deps.plan(draft, input, header, 0)
    const asked = { ...planned, event: { ...planned.event, matched: planned.event.matched + 1 } }
    const { event } = asked
    try {
      const origin = { event, stored: null, payload: () => input, header: () => header }
      const { metadata, parent, actor } = request
      const asker = actor === undefined ? {} : { actor }
      const scope = { ...routeScope(event, input, header, deps.vars), input, ...asker }
      const creation = await planCreate(
        { store, instances },
        {
          tenant,
          workflow,
          trigger,
          origin,
          scope,
          work,
          ...(metadata === undefined ? {} : { metadata }),
          ...(parent === undefined ? {} : { parent }),
          ...(actor === undefined ? {} : { actor }),
        },
      )
      if (creation.is !== 'planned') {
        unitOfWork.release([asked])
        return creation
      }
      const writes = [
        ...planned.writes.map((write) => (write.w === 'event.append' ? { ...write, event } : write)),
        ...doneItem(item, creation.id),
        ...creation.plan.writes,
      ]
      const { id, plan: instance } = creation
      return { is: 'planned', id, event, guards: instance.guards, writes, plans: [asked, instance] }
    } catch (error) {
      unitOfWork.release([asked])
      throw error
    }
  }

  /** True: it is stored, also if the store's response was lost. */
  const commit = async (
    tenant: TenantId,
    planned: Extract<PlannedStart, { is: 'planned' }>,
  ): Promise<boolean> => {
    let result: CommitResult
    try {
      result = await unitOfWork.once(tenant, planned)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      const isThere =
        error.applied === 'indeterminate' &&
        (await commits.retryUntilAvailable(() => store.forTenant(tenant).instance(planned.id))) !== null
      if (isThere) return true
      throw new AppError('store_unavailable', undefined, { cause: error })
    }
    return result.ok
  }

  const start: Starter['start'] = async (tenant, name, { input, actor, metadata, trigger: asked }) => {
    await deps.refresh(tenant)
    const { workflow, trigger } = triggerOf(tenant, name, asked)
    if (workflow.status !== 'active')
      throw new AppError('conflict', `the workflow ${name} is ${workflow.status}; resume it first`)
    const fault = trigger.inputFault(input)
    if (fault !== null) throw new AppError('invalid_input', fault)
    const work = ids.work()
    const startOnce = async (retry: () => Promise<Started>): Promise<Started> => {
      const planned = await planAsked({
        tenant,
        workflow,
        trigger,
        input,
        actor,
        work,
        cause: null,
        ...(metadata === undefined ? {} : { metadata }),
      })
      if (!(await commit(tenant, planned))) return retry()
      const { event, id } = planned
      const facts = { route: name, definition: workflow.hash, message: `${id}, asked for by ${actor}` }
      log.control(lineOf('ingest', 'STARTED', receivedEvent(event, 0), facts))
      return { instanceId: id, eventId: event.id }
    }
    const unending = orConflict('others begin instances with the same key all the time; try again')
    return await retrying(RACES_MAX, startOnce, unending)
  }

  const planAsked = async (request: PlanStartRequest) => {
    try {
      const planned = await plan(request)
      switch (planned.is) {
        case 'planned':
          return planned
        case 'exists': {
          const details = { instance: planned.instance }
          throw new AppError('conflict', `the instance ${planned.instance} has its key`, { details })
        }
        case 'held':
          throw new AppError('conflict', 'another instance holds its lock')
        case 'refused':
          throw new AppError('mapping_failed', planned.error)
      }
    } catch (error) {
      if (error instanceof ExpressionError) throw new AppError('mapping_failed', describe(error))
      throw error
    }
  }

  return { start, triggerOf, plan }
}

function newItem(id: WorkId, workflow: Workflow, trigger: Trigger, eventId: EventId): NewWork {
  return {
    id,
    kind: 'trigger',
    consumer: workflow.consumer,
    definition: workflow.hash,
    codeHash: null,
    eventId,
    expiresInMs: ITEM_MS,
    replayOf: null,
    step: trigger.document.id,
  }
}

function doneItem(work: NewWork, instance: InstanceId): readonly Write[] {
  return [
    { w: 'work.add', work, lease: null, delayMs: 0 },
    {
      w: 'work.settle',
      work: work.id,
      to: 'done',
      counters: { attempts: 1, waits: 0, losses: 0 },
      note: { ...EMPTY_NOTE, effectRef: instance },
    },
  ]
}

/** Its source is the workflow itself, as for everything that a consumer causes: its failures are reported like any other. */
function draftOf(
  ids: Ids,
  { tenant, workflow, input, cause, work }: PlanStartRequest,
  id: EventId,
  header: Readonly<Record<string, string>>,
): Omit<NewEvent, 'matched'> {
  const text = stringifyJson(input)
  const correlationId = cause?.event.correlationId ?? ids.uuid()
  const inherited = cause === null ? [] : sensitiveOfCaused(cause.event, text)
  return {
    id,
    tenant,
    source: workflow.consumer,
    subject: `workflow.${workflow.document.name}.requested`,
    objectType: cause?.event.objectType ?? null,
    objectId: cause?.event.objectId ?? null,
    occurredAt: null,
    correlationId,
    causationId: cause?.event.id ?? null,
    traceId: cause?.event.traceId ?? correlationId.replaceAll('-', ''),
    dedupKey: work,
    payloadHash: hashText(text),
    headers: stringifyJson(header),
    data: text,
    raw: null,
    sensitive: inherited.length > 0 ? inherited : encryptedInput(workflow, input),
  }
}

/** What a workflow encrypts in its instances must not be in clear text in the event that started them. */
function encryptedInput({ document }: Workflow, input: JsonValue): readonly string[] {
  if (encryptedPaths(document).length === 0) return []
  if (typeof input !== 'object' || input === null || Array.isArray(input) || isNumeral(input)) return []
  return Object.keys(input)
    .filter((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    .map((name) => `payload.${name}`)
}
