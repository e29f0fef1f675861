// The drains of routes: which cycle of which slot this node has started, and how many jobs it may still take. A cycle
// starts with a record under a version guard, so that one of several nodes does it.

import {
  type DrainCycle,
  type DrainRecord,
  type DrainStep,
  slotOf,
} from '../../core/flow-control/drain/index.ts'
import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Decisions } from '../settlement/index.ts'
import { nameOf } from './consumer-keys.ts'

interface Known {
  cycle: DrainCycle | null
  /** The slot in which this node has nothing more to do: another node has it, nothing was due, or a claim got no response. */
  overAt: Instant | null
}

export interface Drains {
  step(tenant: TenantId, route: Route): DrainStep
  /** Writes the next cycle; false: another node was first. */
  begin(tenant: TenantId, route: Route, owner: Incarnation): Promise<boolean>
  /** Nothing was due, or it is unknown how much was taken: this slot is over. */
  skip(tenant: TenantId, route: Route): void
  /** `isDry`: fewer jobs were due than it might have taken. */
  claimed(tenant: TenantId, route: Route, count: number, isDry: boolean): void
  /** One of its jobs has ended. Returns whether its cycle is empty. */
  finished(tenant: TenantId, consumer: string): boolean
  view(tenant: TenantId, route: Route): { readonly nextAt: Instant; readonly left: number } | null
}

export function makeDrains(
  deps: Pick<EngineBase, 'store' | 'log' | 'time' | 'commits'> & {
    readonly decisions: Pick<Decisions, 'decideDrain'>
  },
): Drains {
  const { store, log, time, commits } = deps
  const { decideDrain } = deps.decisions
  const all = new Map<string, Known>()

  const find = (tenant: TenantId, consumer: string): Known => {
    const name = nameOf(tenant, consumer)
    const known = all.get(name) ?? { cycle: null, overAt: null }
    all.set(name, known)
    return known
  }

  const stepOf = (tenant: TenantId, route: Route): DrainStep => {
    const policy = route.document.drain
    if (policy === undefined) return { do: 'take', max: Number.POSITIVE_INFINITY }
    const known = find(tenant, route.consumer)
    const now = time.now()
    const slotAt = slotOf(policy.everyMs, now)
    if (known.overAt === slotAt) return { do: 'wait', untilAt: slotAt + policy.everyMs, forCycle: false }
    return decideDrain(policy, known.cycle?.record ?? null, known.cycle, known.cycle?.record.by ?? '', now)
  }

  return {
    step: stepOf,
    async begin(tenant, route, owner) {
      const policy = route.document.drain
      if (policy === undefined) return true
      const known = find(tenant, route.consumer)
      const by = String(owner)
      const found = await store.forTenant(tenant).record('drain', route.consumer)
      const record = found === null ? null : (JSON.parse(found.body) as DrainRecord)
      const now = time.now()
      const step = decideDrain(policy, record, known.cycle, by, now)
      const slotAt = slotOf(policy.everyMs, now)
      if (step.do !== 'begin') {
        if (step.do === 'wait' && !step.forCycle) known.overAt = slotAt
        return step.do === 'take'
      }
      const version = found?.version ?? 0
      const result = await commits.once(
        tenant,
        [{ g: 'version', of: 'drain', key: route.consumer, version }],
        [
          {
            w: 'record.put',
            kind: 'drain',
            key: route.consumer,
            version: version + 1,
            body: stringifyJson({ ...step.record }),
          },
        ],
      )
      if (!result.ok) {
        known.overAt = slotAt
        return false
      }
      known.cycle = { record: step.record, left: policy.events, running: 0, isDry: false }
      log.info('drain.began', {
        tenant,
        route: route.document.name,
        slot: new Date(step.record.slotAt).toISOString(),
        cycle: step.record.cycle,
      })
      return true
    },
    skip(tenant, route) {
      const policy = route.document.drain
      if (policy === undefined) return
      find(tenant, route.consumer).overAt = slotOf(policy.everyMs, time.now())
    },
    claimed(tenant, route, count, isDry) {
      const known = all.get(nameOf(tenant, route.consumer))
      if (known?.cycle == null) return
      const left = known.cycle.left - count
      const running = known.cycle.running + count
      // With lanes, each job may release another one, so there may be more to take as long as one runs.
      const mayGetMore = hasLanes(route) && running > 0
      known.cycle = { ...known.cycle, left, running, isDry: isDry && !mayGetMore }
    },
    finished(tenant, consumer) {
      const known = all.get(nameOf(tenant, consumer))
      if (known?.cycle == null) return false
      known.cycle = { ...known.cycle, running: Math.max(0, known.cycle.running - 1) }
      return known.cycle.running === 0
    },
    view(tenant, route) {
      const policy = route.document.drain
      if (policy === undefined) return null
      const step = stepOf(tenant, route)
      const slotAt = slotOf(policy.everyMs, time.now())
      const nextAt = step.do === 'wait' ? step.untilAt : slotAt
      return { nextAt, left: step.do === 'take' ? step.max : 0 }
    },
  }
}

function hasLanes({ document: { order, debounce, concurrency } }: Route): boolean {
  return order !== undefined || debounce !== undefined || concurrency?.by !== undefined
}
