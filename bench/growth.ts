// npm run bench -- --growth: what an event costs, end to end, as one thing grows: stored events, connections, routes, tenants.

import { join } from 'node:path'
import { crowdedFlows, tenantFlows } from './flows.ts'
import { END_TO_END, type Plan } from './plans.ts'
import { PAST } from './preload.ts'
import type { Runner } from './run-plan.ts'
import { type Spread, spreadOf } from './statistics.ts'

export interface Growth {
  readonly series: readonly {
    readonly name: string
    readonly points: readonly { readonly at: number; readonly cpuUs: Spread; readonly perSecond: Spread }[]
  }[]
}

const CONNECTIONS = [1, 16, 64, 256, 1_024]
const ROUTES = [1, 10, 100, 1_000]
const TENANTS = [1, 10, 100, 300]

/** Up to where a quick run goes: filling a store and making tenants takes minutes. */
const QUICK_MAX: Readonly<Record<string, number>> = { rows: 0, tenants: 100 }

const SERIES: readonly { readonly name: string; readonly plans: readonly [number, Plan][] }[] = [
  {
    name: 'rows',
    plans: [
      [0, END_TO_END],
      [PAST.settled100k, { ...END_TO_END, name: 'rows100k', past: 'settled100k' }],
      [PAST.settled, { ...END_TO_END, name: 'rows300k', past: 'settled' }],
      [PAST.settledMillion, { ...END_TO_END, name: 'rows1m', past: 'settledMillion' }],
    ],
  },
  {
    name: 'connections',
    plans: CONNECTIONS.map((connections) => [
      connections,
      { ...END_TO_END, name: `connections${connections}`, connections },
    ]),
  },
  {
    name: 'routes',
    plans: ROUTES.map((routes) => [
      routes,
      {
        ...END_TO_END,
        name: `routes${routes}`,
        flows: { make: (folder) => crowdedFlows(join(folder, 'flows'), routes - 1), calls: false },
      },
    ]),
  },
  {
    name: 'tenants',
    plans: TENANTS.map((tenants) => [
      tenants,
      {
        ...END_TO_END,
        name: `tenants${tenants}`,
        flows: { make: (folder) => tenantFlows(join(folder, 'flows')), calls: false },
        tenants,
      },
    ]),
  },
]

export async function measureGrowth(
  runner: Runner,
  rounds: number,
  isQuick: boolean,
  say: (text: string) => void,
): Promise<Growth> {
  const asked = SERIES.map(({ name, plans }) => ({
    name,
    plans: plans.filter(([at]) => !isQuick || at <= (QUICK_MAX[name] ?? Number.POSITIVE_INFINITY)),
  }))
  const seen = new Map<Plan, { cpuUs: number; perSecond: number }[]>()
  for (let round = 0; round < rounds; round += 1) {
    for (const { plans } of asked) {
      for (const [, plan] of plans) {
        say(`${plan.name} (${round + 1} of ${rounds}) …`)
        const { cpuUsPerEvent, perSecond } = await runner.run(plan, round)
        seen.set(plan, [...(seen.get(plan) ?? []), { cpuUs: cpuUsPerEvent, perSecond }])
      }
    }
  }
  return {
    series: asked.map(({ name, plans }) => ({
      name,
      points: plans.map(([at, plan]) => {
        const all = seen.get(plan) ?? []
        return {
          at,
          cpuUs: spreadOf(
            all.map(({ cpuUs }) => cpuUs),
            0,
          ),
          perSecond: spreadOf(
            all.map(({ perSecond }) => perSecond),
            0,
          ),
        }
      }),
    })),
  }
}
