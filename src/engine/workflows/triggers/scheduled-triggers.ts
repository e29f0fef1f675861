// Scheduled triggers: each slot becomes an event `workflow.<name>.scheduled` with a job of its trigger, in one commit
// with the record that the slot has fired. The limit of instances is checked when the job runs; such jobs run one after
// another.
//
// Invariant: TG9 a slot of a trigger starts at most one instance, over all nodes and crashes.

import { hashText } from '../../../core/foundation/hash/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../../core/foundation/json/index.ts'
import { DAY, type Instant } from '../../../core/foundation/time/index.ts'
import type { NewWork } from '../../../core/queue/work/index.ts'
import type { Trigger, Workflow } from '../../../core/workflows/machine/index.ts'
import type { Write } from '../../../ports/store.ts'
import type { EngineBase, UnitOfWork } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { type BesideEvent, besideSchedule, iso, readSchedule, type Timed } from '../../ingest/index.ts'

export interface ScheduledTriggers {
  list(tenant: TenantId): Promise<readonly Timed[]>
  isGone(tenant: TenantId, name: string): boolean | null
}

/** Long enough to wait for its workflow to be resumed, if that is paused meanwhile. */
const ITEM_MS = 30 * DAY
const DEDUP_MS = 7 * DAY
const NAME = /^workflow:([^/]+)\/(.+)$/

export function makeScheduledTriggers(
  deps: Pick<EngineBase, 'store' | 'ids' | 'plan' | 'wake'> & {
    readonly registry: Registry
    readonly unitOfWork: Pick<UnitOfWork, 'once'>
  },
): ScheduledTriggers {
  const { store, ids, registry, unitOfWork } = deps

  const fire = async (
    tenant: TenantId,
    workflow: Workflow,
    trigger: Trigger,
    slot: Instant,
    missed: number,
    beside: BesideEvent,
  ): ReturnType<Timed['fire']> => {
    const { name } = workflow.document
    const { id, schedule } = trigger.document
    const payload = {
      workflow: name,
      trigger: id,
      slot: iso(slot),
      zone: schedule?.zone ?? 'UTC',
      ...(missed > 0 && { missed }),
    }
    const data = stringifyJson(payload)
    const correlationId = ids.uuid()
    const draft = {
      id: ids.event(),
      tenant,
      source: workflow.consumer,
      subject: `workflow.${name}.scheduled`,
      objectType: null,
      objectId: null,
      occurredAt: slot,
      correlationId,
      causationId: null,
      traceId: correlationId.replaceAll('-', ''),
      dedupKey: `${id}:${iso(slot)}`,
      payloadHash: hashText(data),
      headers: '{}',
      data,
      raw: null,
      sensitive: [],
    }
    const plan = deps.plan(draft, payload, {}, DEDUP_MS)
    const event = { ...plan.event, matched: plan.event.matched + 1 }
    const work: NewWork = {
      id: ids.work(),
      kind: 'trigger',
      consumer: workflow.consumer,
      definition: workflow.hash,
      codeHash: null,
      eventId: event.id,
      expiresInMs: ITEM_MS,
      replayOf: null,
      step: id,
      lane: { key: `schedule/${id}`, width: 1 },
    }
    const add: Write = { w: 'work.add', work, lease: null, delayMs: 0 }
    const appended = plan.writes.map((write) => (write.w === 'event.append' ? { ...write, event } : write))
    const result = await unitOfWork.once(tenant, {
      guards: [...beside.guards, { g: 'dedup', source: draft.source, key: draft.dedupKey }],
      writes: [...appended, add, ...beside.writes],
      plans: [{ ...plan, event }],
    })
    if (result.ok) deps.wake()
    return result.ok ? 'fired' : result.guard < beside.guards.length ? 'refused' : 'nothing'
  }

  const timed = (tenant: TenantId, workflow: Workflow, trigger: Trigger): readonly Timed[] => {
    const { schedule, id } = trigger.document
    if (schedule === undefined) return []
    const name = `${workflow.consumer}/${id}`
    const identity = `${workflow.hash}/${workflow.status}`
    return [
      {
        name,
        schedule,
        status: workflow.status,
        identity,
        isCurrent() {
          const now = registry.workflow(tenant, workflow.document.name)
          return now !== null && `${now.hash}/${now.status}` === identity
        },
        read: () => readSchedule(store, tenant, name),
        beside: (version, record) => besideSchedule(name, version, record),
        fire: (slot, missed, beside) => fire(tenant, workflow, trigger, slot, missed, beside),
      },
    ]
  }

  return {
    list: async (tenant) =>
      registry
        .workflows(tenant)
        .flatMap((workflow) => workflow.triggers.flatMap((trigger) => timed(tenant, workflow, trigger))),
    isGone(tenant, name) {
      const match = NAME.exec(name)
      if (match === null) return null
      const workflow = registry.workflow(tenant, match[1] as string)
      const trigger = workflow?.triggers.find(({ document }) => document.id === match[2])
      return trigger?.document.schedule === undefined
    },
  }
}
