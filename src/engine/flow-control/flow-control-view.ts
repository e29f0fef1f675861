// Shows operators the flow control of routes, and closes a circuit on request.

import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
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

export interface FlowControlActions {
  /** As this node knows it, by name. */
  list(tenant: TenantId): readonly FlowControlView[]
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

export function makeFlowControlActions(deps: {
  readonly store: Store
  readonly log: Log
  readonly registry: Registry
  readonly flowControl: FlowControl
}): FlowControlActions {
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

  return {
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
