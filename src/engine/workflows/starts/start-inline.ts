// Starts instances in the commit that stores their event. What a creating trigger would do a moment later in its own
// job is planned at once, as if its keys were free; the guards of the commit verify that. If they are not, or anything
// else prevents it, nothing was written, and the trigger's job is added and runs as usual.
//
// Invariants: TG28 an instance that starts inline is complete in the commit that stores its event. TG29 whatever cannot
// start inline is left to the job, which decides by the rows, and whose failure is visible as usual.

import { ExpressionError } from '../../../core/expression/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import { EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import { type Route, routeScope } from '../../../core/routing/index.ts'
import type { Trigger, Workflow } from '../../../core/workflows/machine/index.ts'
import { type Store, StoreError, type Write } from '../../../ports/store.ts'
import type { Beginning, EventPlan, Planned, UnitOfWork } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import { lineOf } from '../../observe/index.ts'
import { type InlineStart, type MayBegin, type PlanDeps, planItems } from '../../planning/index.ts'
import { type InstancePlan, type Instances, planCreate } from '../instances/index.ts'

const COUNTERS = { attempts: 1, waits: 0, losses: 0 }

export function makeInlineStart(
  deps: Pick<EngineDeps, 'log'> & {
    readonly store: Pick<Store, 'forTenant'>
    readonly planning: PlanDeps
    readonly instances: Instances
    readonly unitOfWork: Pick<UnitOfWork, 'release'>
  },
): InlineStart {
  const { store, planning, instances, log } = deps

  const find = (tenant: TenantId, { of }: Route): { workflow: Workflow; trigger: Trigger } | null => {
    if (of?.kind !== 'trigger') return null
    const workflow = planning.registry.workflow(tenant, of.workflow)
    const trigger = workflow?.triggers.find(({ document }) => document.id === of.part)
    return workflow === null || trigger === undefined ? null : { workflow, trigger }
  }

  const mayBegin: MayBegin = (tenant, route) => {
    if (route.status !== 'active') return false
    const found = find(tenant, route)
    if (found === null || found.workflow.hash !== route.hash) return false
    const { workflow, trigger } = found
    const { action, rateLimit, circuit } = trigger.document
    // Only its job waits for a permit, and is counted by a circuit.
    if (action !== 'create' || rateLimit !== undefined || circuit !== undefined) return false
    if (workflow.document.lock !== undefined || workflow.document.maxConcurrent !== undefined) return false
    // A node without a lease, or an open circuit, leaves it to the claims.
    return planning.owner() !== null && planning.mayLeaseOnInsert(tenant, route)
  }

  /** null: not inline; its job finds the reason again. */
  const beginOne = async (plan: EventPlan, { work, route }: Beginning): Promise<InstancePlan | null> => {
    const { event, payload, header } = plan
    const found = find(event.tenant, route)
    if (found === null) return null
    const { workflow, trigger } = found
    const scope = routeScope(event, payload, header, planning.vars)
    const origin = { event, stored: null, payload: () => payload, header: () => header }
    try {
      if (!route.wants(scope)) return null
      const { tenant } = event
      const request = { tenant, workflow, trigger, origin, scope, work: work.id, rows: 'free' } as const
      const creation = await planCreate({ store, instances }, request)
      return creation.is === 'planned' ? creation.plan : null
    } catch (error) {
      const isTold =
        error instanceof ExpressionError || error instanceof JsonError || error instanceof StoreError
      if (isTold) return null
      throw error
    }
  }

  /** Its log line, once its first jobs have started. */
  const created = (
    { event }: EventPlan,
    { work, route }: Beginning,
    { instance }: InstancePlan,
  ): Planned => ({
    plans: [],
    ended(isStored) {
      if (!isStored) return
      const { consumer, definition, id } = work
      log.control(
        lineOf('effect', 'CREATED', event, {
          route: route.of?.kind === 'trigger' ? route.of.workflow : consumer,
          work: id,
          definition,
          message: instance.id,
        }),
      )
    },
  })

  return {
    mayBegin,
    async begin(plan) {
      const cases: { beginning: Beginning; instance: InstancePlan }[] = []
      const items: Beginning[] = []
      try {
        for (const beginning of plan.begins ?? []) {
          const instance = await beginOne(plan, beginning)
          if (instance === null) items.push(beginning)
          else cases.push({ beginning, instance })
        }
      } catch (error) {
        deps.unitOfWork.release(cases.map(({ instance }) => instance))
        throw error
      }
      const left = items.length === 0 ? plan : planItems(planning, plan, items)
      const writes = [...left.writes]
      for (const { beginning, instance } of cases)
        writes.push(...doneItem(beginning, instance), ...instance.writes)
      return {
        guards: cases.flatMap(({ instance }) => instance.guards),
        plan: { ...left, writes },
        left,
        begins: cases.map(({ beginning }) => beginning),
        cases: cases.flatMap(({ beginning, instance }) => [instance, created(left, beginning, instance)]),
      }
    },
    asItems: ({ left, begins }) => planItems(planning, left, begins),
  }
}

/** Its job is done with it: the one that would have started the instance, from whose id the instance's derives. */
function doneItem({ work }: Beginning, { instance }: InstancePlan): readonly Write[] {
  return [
    { w: 'work.add', work, lease: null, delayMs: 0 },
    {
      w: 'work.settle',
      work: work.id,
      to: 'done',
      counters: COUNTERS,
      note: { ...EMPTY_NOTE, effectRef: instance.id },
    },
  ]
}
