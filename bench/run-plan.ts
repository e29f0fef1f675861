// Runs one plan once: its definitions, its existing data, its servers, and the measurement.

import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AT_ONCE, type Endpoints, measureDraining, subscriptionFlows } from './deliveries.ts'
import { BARE, END_TO_END, type Plan } from './plans.ts'
import { copyPast, dataFile, PAST } from './preload.ts'
import { measureReplay } from './replay.ts'
import { ADMIN_KEY, realSample, SECRET, SMALL, wrkScript } from './sample.ts'
import {
  type Calls,
  countCalls,
  type Measurement,
  measure,
  type ScenarioOptions,
  startServer,
} from './scenario.ts'
import { measureSteady, type SteadyMeasurement } from './steady.ts'
import { makeTenants } from './tenants.ts'

export interface RunnerOptions {
  /** A folder on a real disk, for stores and scripts. */
  readonly scratch: string
  readonly warmUpSeconds: number
  readonly seconds: number
  say(text: string): void
}

/** All connections of the driver have one address: beyond the default limit they would be refused and made again all the time. */
const SETTINGS = JSON.stringify({ MILLRACE_CONNECTIONS_PER_ADDRESS: '65536' })

const BARE_SECONDS = { warmUpSeconds: 2, seconds: 4 }

export interface Runner {
  /** With `checkout` another checkout's build runs. */
  run(plan: Plan, round: number, checkout?: string): Promise<Measurement>
  /** At a steady rate, far below what the node can do. */
  steady(): Promise<SteadyMeasurement>
  /** The counts for plans that are driven by requests; null for the others. */
  count(plan: Plan, checkout?: string): Promise<Calls | null>
}

export function makeRunner({ scratch, warmUpSeconds, seconds, say }: RunnerOptions): Runner {
  let started = 0
  const samples = { small: SMALL, real: realSample() }

  const scriptOf = async ({ body, cases = 0, tenants = 1 }: Plan): Promise<string> => {
    const file = join(scratch, `${body}-${cases}-${tenants}.lua`)
    await writeFile(file, wrkScript(samples[body], cases, tenants))
    return file
  }

  /** A folder and the options of a run in it; everything is removed after it. */
  const within = async <Result>(
    plan: Plan,
    round: number,
    checkout: string | undefined,
    use: (options: ScenarioOptions) => Promise<Result>,
  ): Promise<Result> => {
    started += 1
    const folder = join(scratch, `${plan.name}-${started}`)
    await mkdir(folder, { recursive: true })
    if (plan.past !== null) await copyPast(plan.past, dataFile(folder), say)
    const vendor = plan.flows?.calls === true ? await startServer('serve-vendor.mjs', []) : null
    try {
      const flows = plan.flows === null ? null : await plan.flows.make(folder, vendor?.url ?? '')
      return await use({
        entry: flows === null ? 'serve-bare.mjs' : 'serve-node.mjs',
        args:
          flows === null
            ? []
            : [folder, flows, SECRET, ADMIN_KEY, SETTINGS, ...(checkout === undefined ? [] : [checkout])],
        ...(checkout !== undefined && { checkout }),
        ...(flows !== null && { dataFile: dataFile(folder) }),
        script: await scriptOf(plan),
        ...(plan.tenants !== undefined && { prepare: (url) => makeTenants(url, plan.tenants ?? 1) }),
        ...(plan === BARE ? BARE_SECONDS : { warmUpSeconds, seconds }),
        ...(plan.connections !== undefined && { connections: plan.connections }),
        seed: 1_000 + round * 10,
        itemsPerEvent: plan.count === 'completions' ? (plan.itemsPerEvent ?? 1) : null,
      })
    } finally {
      await vendor?.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }

  const runDeliveries = async (plan: Plan, endpoints: Endpoints, checkout?: string): Promise<Measurement> => {
    const { healthy, hanging, isShared } = endpoints
    const ways = isShared === true ? 'shared' : 'apart'
    const sink = await startServer('serve-sink.mjs', [String(healthy), String(hanging), ways])
    const urls = sink.url.split(' ')
    started += 1
    const folder = join(scratch, `${plan.name}-${started}`)
    await mkdir(folder, { recursive: true })
    if (plan.past !== null) await copyPast(plan.past, dataFile(folder), say)
    try {
      const server =
        plan.flows === null
          ? {
              entry: 'serve-bare-deliveries.mjs' as const,
              args: [urls[0] ?? '', SMALL.body, String(AT_ONCE)],
            }
          : {
              entry: 'serve-node.mjs' as const,
              args: [
                folder,
                await subscriptionFlows(join(folder, 'flows'), urls),
                SECRET,
                ADMIN_KEY,
                '{}',
                ...(checkout === undefined ? [] : [checkout]),
              ],
            }
      return await measureDraining({ ...server, warmUpSeconds, seconds })
    } finally {
      await sink.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }

  const isDriven = (plan: Plan) => plan.count !== 'replayed' && plan.endpoints === undefined

  return {
    async run(plan, round, checkout) {
      if (plan.endpoints !== undefined) return await runDeliveries(plan, plan.endpoints, checkout)
      return await within(plan, round, checkout, (options) =>
        plan.count === 'replayed' ? measureReplay(options, PAST.dead) : measure(options),
      )
    },
    steady: () =>
      within(END_TO_END, 0, undefined, async ({ entry, args }) => {
        const server = await startServer(entry, args)
        try {
          return await measureSteady(server, { warmUpSeconds, seconds })
        } finally {
          await server.stop()
        }
      }),
    count: async (plan, checkout) =>
      isDriven(plan) && plan.flows !== null
        ? await within(plan, 0, checkout, (options) =>
            countCalls({ ...options, warmUpSeconds: 2, seconds: 3 }),
          )
        : null,
  }
}

/** The run in the middle, whole: its latencies belong to it. */
export function median<One>(all: readonly One[], by: (one: One) => number): One {
  const sorted = [...all].sort((a, b) => by(a) - by(b))
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}

/** The smallest and the largest. */
export function spread<One>(all: readonly One[], by: (one: One) => number): readonly [number, number] {
  const values = all.map(by)
  return [Math.min(...values), Math.max(...values)]
}
