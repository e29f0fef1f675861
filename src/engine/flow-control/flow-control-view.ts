// Shows operators the flow control of routes, and closes a circuit on request.

import type { Circuit } from '../../core/flow-control/circuit/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Workflow } from '../../core/workflows/machine/index.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import type { FlowControl, RouteFlowControl } from './flow-control.ts'

export interface FlowControlView extends RouteFlowControl {
  readonly route: string
  readonly status: Route['status']
  readonly priority: 'high' | 'normal' | 'low'
  readonly drainProfile: string | null
}

/** Each count stops at `cappedAt`. */
export interface FlowControlCounts {
  readonly ready: number
  readonly waiting: number
  readonly leased: number
  readonly cappedAt: number
}

/** The circuit of a step (`fire/charge`, `undo/charge`, `enter/review`) or of a trigger (`trigger/0`). */
export interface WorkflowCircuit {
  readonly workflow: string
  readonly part: string
  readonly circuit: Circuit
}

export interface FlowControlActions {
  /** As this node knows it, by name. */
  list(tenant: TenantId): readonly FlowControlView[]
  /** Those of the deployed workflows, in the order written; parts whose circuit is off are left out. */
  workflows(tenant: TenantId): readonly WorkflowCircuit[]
  /** Throws AppError `not_found`, or `conflict` when it is closed. */
  closeWorkflowCircuit(
    tenant: TenantId,
    workflow: string,
    word: { readonly part: string; readonly by: string; readonly reason: string },
  ): Promise<WorkflowCircuit>
  /** Throws AppError `not_found`. */
  one(tenant: TenantId, name: string): Promise<FlowControlView & { readonly work: FlowControlCounts }>
  /** Throws AppError `not_found`, or `conflict` when it is closed. */
  closeCircuit(
    tenant: TenantId,
    name: string,
    word: { readonly by: string; readonly reason: string },
  ): Promise<FlowControlView>
}

const COUNTED_MAX = 200

export function makeFlowControlActions(
  deps: Pick<EngineBase, 'store' | 'log'> & {
    readonly registry: Registry
    readonly flowControl: FlowControl
  },
): FlowControlActions {
  const { store, log, registry, flowControl } = deps

  const find = (tenant: TenantId, name: string): Route => {
    const route = registry.route(tenant, `route:${name}`)
    if (route === null) throw new AppError('not_found', `there is no route \`${name}\` in force`)
    return route
  }

  const view = (tenant: TenantId, route: Route): FlowControlView => ({
    route: route.document.name,
    status: route.status,
    priority: route.document.priority ?? 'normal',
    drainProfile: route.document.drain?.profile ?? null,
    ...flowControl.view(tenant, route),
  })

  const partsOf = ({ document, parts, triggers }: Workflow): ReadonlyMap<string, Route> => {
    const routes = [...parts.values(), ...triggers.flatMap(({ route }) => route ?? [])]
    const named = routes.map((route) => [route.document.name.slice(document.name.length + 1), route] as const)
    return new Map(named.filter(([, route]) => route.document.circuit !== 'off'))
  }

  return {
    workflows: (tenant) =>
      registry.workflows(tenant).flatMap((workflow) =>
        [...partsOf(workflow)].map(([part, route]) => ({
          workflow: workflow.document.name,
          part,
          circuit: flowControl.circuitOf(tenant, route),
        })),
      ),
    async closeWorkflowCircuit(tenant, name, { part, by, reason }) {
      const workflow = registry.workflow(tenant, name)
      if (workflow === null) throw new AppError('not_found', `no workflow \`${name}\` is deployed`)
      const parts = partsOf(workflow)
      const route = parts.get(part)
      if (route === undefined) {
        const known = [...parts.keys()].join(', ')
        const others = known === '' ? 'it has none' : `it has those of ${known}`
        throw new AppError('not_found', `the workflow \`${name}\` has no circuit \`${part}\`; ${others}`)
      }
      if (!(await flowControl.closeCircuit(tenant, route)))
        throw new AppError('conflict', `the circuit \`${part}\` of \`${name}\` is closed`)
      log.info('circuit.closed', { tenant, route: route.document.name, by, reason })
      return { workflow: name, part, circuit: flowControl.circuitOf(tenant, route) }
    },
    list: (tenant) =>
      registry
        .routes(tenant)
        .map((route) => view(tenant, route))
        .sort((a, b) => (a.route < b.route ? -1 : 1)),
    async one(tenant, name) {
      const route = find(tenant, name)
      const [open] = await store.forTenant(tenant).openCounts([route.consumer], COUNTED_MAX)
      const { ready = 0, waiting = 0, leased = 0 } = open ?? {}
      return { ...view(tenant, route), work: { ready, waiting, leased, cappedAt: COUNTED_MAX } }
    },
    async closeCircuit(tenant, name, { by, reason }) {
      const route = find(tenant, name)
      if (!(await flowControl.closeCircuit(tenant, route))) {
        throw new AppError('conflict', `the circuit of \`${name}\` is closed`)
      }
      log.info('circuit.closed', { tenant, route: name, by, reason })
      return view(tenant, route)
    },
  }
}
