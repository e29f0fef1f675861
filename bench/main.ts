// npm run bench [-- --quick] [-- --json] [-- --only name,name] [-- --rounds n]: measures, in one run on one machine, what a
// node does per second beside what bare Fastify does with the same request, and what one thing costs beside another.
// Quick: one round on empty stores.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ANALYSIS, measureAnalysis, renderAnalysis } from './analysis.ts'
import { DOOR, measureDoor, renderDoor } from './connection-call.ts'
import { AT_ONCE, type Endpoints, measureDraining, subscriptionFlows } from './deliveries.ts'
import { BARE, LONG_PLANS, PLANS, type Plan } from './plans.ts'
import { measurePostgres, POSTGRES, renderPostgres } from './postgres.ts'
import { copyPast, dataFile, PAST } from './preload.ts'
import { measureReplay } from './replay.ts'
import { makeReport, renderReport } from './report.ts'
import { ADMIN_KEY, realSample, SECRET, SMALL, wrkScript } from './sample.ts'
import { type Measurement, measure, startServer } from './scenario.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
  },
})
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
const seconds = values.quick ? 6 : 10
const warmUpSeconds = values.quick ? 3 : 4
const BARE_SECONDS = 4

const all = [...PLANS, ...LONG_PLANS]
const only = values.only?.split(',')
const names = [...all.map(({ name }) => name), ANALYSIS, DOOR, POSTGRES]
const unknown = only?.filter((name) => !names.includes(name)) ?? []
if (unknown.length > 0) {
  process.stderr.write(`No scenario ${unknown.join(', ')}. There are: ${names.join(', ')}.\n`)
  process.exit(2)
}
const analysis = only === undefined || only.includes(ANALYSIS) ? measureAnalysis(rounds) : null
const door = only === undefined || only.includes(DOOR) ? await measureDoor(rounds, values.quick) : null
const postgres =
  only === undefined || only.includes(POSTGRES) ? await measurePostgres(rounds, values.quick) : null
const plans = only ? all.filter(({ name }) => only.includes(name)) : values.quick ? PLANS : all

const root = fileURLToPath(new URL('../.cache/bench', import.meta.url))
await mkdir(root, { recursive: true })
// Under the project: /tmp may be a memory disk, where an fsync costs nothing.
const scratch = await mkdtemp(join(root, 'run-'))
const samples = { small: SMALL, real: realSample() }
const scriptOf = async ({ body, cases = 0 }: Plan): Promise<string> => {
  const file = join(scratch, `${body}-${cases}.lua`)
  await writeFile(file, wrkScript(samples[body], cases))
  return file
}

const say = (text: string) => {
  if (!values.json) process.stderr.write(`${text}\n`)
}

interface Paired {
  readonly measurement: Measurement
  /** Of the yardstick measured right before it. */
  readonly ratio: number
}

/** It is what others are measured by. */
const YARDSTICK = { ratio: 1, of: null, asked: null, isCost: false }

try {
  const yardsticks = new Map<Plan, Measurement[]>()
  const results = new Map<string, Paired[]>()
  for (let round = 0; round < rounds; round += 1) {
    for (const plan of plans) {
      say(`${plan.name}${rounds > 1 ? ` (${round + 1} of ${rounds})` : ''} …`)
      // The yardstick right before each: on a shared machine the same code runs at half its speed a minute later.
      const { yardstick = BARE } = plan
      const base = plan.costBeyond === undefined ? null : await run(plan.costBeyond, round)
      const beside = await run(yardstick, round)
      const measurement = await run(plan, round)
      yardsticks.set(yardstick, [...(yardsticks.get(yardstick) ?? []), beside])
      const ratio =
        base === null
          ? measurement.perSecond / beside.perSecond
          : (measurement.cpuUsPerEvent - base.cpuUsPerEvent) / (beside.cpuUsPerEvent - base.cpuUsPerEvent)
      results.set(plan.name, [...(results.get(plan.name) ?? []), { measurement, ratio }])
    }
  }
  const report = makeReport(
    [
      ...[...yardsticks]
        .filter(([{ name }]) => !results.has(name))
        .map(([{ name, past }, measured]) => ({
          name,
          past,
          runs: measured.length,
          ...YARDSTICK,
          ...median(measured, (one) => one.perSecond),
        })),
      ...plans.map(({ name, past, asked, costBeyond, yardstick = BARE }) => {
        const { measurement, ratio } = median(results.get(name) ?? [], (one) => one.ratio)
        const isCost = costBeyond !== undefined
        return { name, past, runs: rounds, ratio, of: yardstick.name, asked, isCost, ...measurement }
      }),
    ],
    seconds,
  )
  const output = {
    ...report,
    ...(analysis === null ? {} : { analysis }),
    ...(door === null ? {} : { door }),
    ...(postgres === null ? {} : { postgres }),
  }
  process.stdout.write(values.json ? `${JSON.stringify(output, null, 2)}\n` : `\n${renderReport(report)}`)
  if (analysis !== null && !values.json) process.stdout.write(`\n${renderAnalysis(analysis)}`)
  if (door !== null && !values.json) process.stdout.write(`\n${renderDoor(door)}`)
  if (postgres !== null && !values.json) process.stdout.write(`\n${renderPostgres(postgres)}`)
} finally {
  await rm(scratch, { recursive: true, force: true })
}

async function run(plan: Plan, round: number): Promise<Measurement> {
  const folder = join(scratch, `${plan.name}-${round}`)
  await mkdir(folder, { recursive: true })
  if (plan.past !== null) await copyPast(plan.past, dataFile(folder), say)
  if (plan.endpoints !== undefined) return await runDeliveries(plan, plan.endpoints, folder)
  const vendor = plan.flows?.calls === true ? await startServer('serve-vendor.mjs', []) : null
  try {
    const flows = plan.flows === null ? null : await plan.flows.make(folder, vendor?.url ?? '')
    const server = {
      entry: flows === null ? ('serve-bare.mjs' as const) : ('serve-node.mjs' as const),
      args: flows === null ? [] : [folder, flows, SECRET, ADMIN_KEY],
    }
    if (plan.count === 'replayed') return await measureReplay(server, PAST.dead)
    return await measure({
      ...server,
      script: await scriptOf(plan),
      warmUpSeconds: plan === BARE ? 2 : warmUpSeconds,
      seconds: plan === BARE ? BARE_SECONDS : seconds,
      seed: 1_000 + round * 10,
      itemsPerEvent: plan.count === 'completions' ? (plan.itemsPerEvent ?? 1) : null,
    })
  } finally {
    await vendor?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function runDeliveries(plan: Plan, endpoints: Endpoints, folder: string): Promise<Measurement> {
  const { healthy, hanging, isShared } = endpoints
  const sink = await startServer('serve-sink.mjs', [
    String(healthy),
    String(hanging),
    isShared === true ? 'shared' : 'apart',
  ])
  const urls = sink.url.split(' ')
  try {
    const server =
      plan.flows === null
        ? { entry: 'serve-bare-deliveries.mjs' as const, args: [urls[0] ?? '', SMALL.body, String(AT_ONCE)] }
        : {
            entry: 'serve-node.mjs' as const,
            args: [folder, await subscriptionFlows(join(folder, 'flows'), urls), SECRET, ADMIN_KEY],
          }
    return await measureDraining({ ...server, warmUpSeconds, seconds })
  } finally {
    await sink.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The run in the middle, whole: its latencies belong to it. */
function median<One>(all: readonly One[], by: (one: One) => number): One {
  const sorted = [...all].sort((a, b) => by(a) - by(b))
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
