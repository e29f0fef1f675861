// npm run bench [-- --quick] [-- --json]: measures, in one run on one machine, what a node does per second beside what
// bare Fastify does with the same request. Quick: one round on an empty store, within a minute.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { dataFile, preloadedCopy } from './preload.ts'
import { makeReport, renderReport, type Scenario } from './report.ts'
import { realSample, SECRET, SMALL, wrkScript } from './sample.ts'
import { type Measurement, measure, type ScenarioOptions } from './scenario.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    rounds: { type: 'string' },
  },
})
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
const seconds = values.quick ? 6 : 10
const warmUpSeconds = values.quick ? 3 : 4
const BARE_SECONDS = 4

const root = fileURLToPath(new URL('../.cache/bench', import.meta.url))
await mkdir(root, { recursive: true })
// Under the project: /tmp may be a memory disk, where an fsync costs nothing.
const scratch = await mkdtemp(join(root, 'run-'))
const scripts = { small: join(scratch, 'small.lua'), real: join(scratch, 'real.lua') }
await writeFile(scripts.small, wrkScript(SMALL))
await writeFile(scripts.real, wrkScript(realSample()))

const say = (text: string) => {
  if (!values.json) process.stderr.write(`${text}\n`)
}

interface Paired {
  readonly measurement: Measurement
  /** Of the yardstick measured right before it. */
  readonly ratio: number
}

interface Plan {
  readonly name: string
  readonly store: Scenario['store']
  readonly flows: 'ingest' | 'end-to-end' | 'signed' | null
  readonly body: keyof typeof scripts
  /** What it is a share of; bare Fastify unless said. */
  readonly yardstick?: Plan
}

const BARE: Plan = { name: 'bareFastify', store: 'none', flows: null, body: 'small' }
const REAL: Plan = { name: 'ingest20k', store: 'empty', flows: 'ingest', body: 'real' }
/** It is what others are measured by. */
const YARDSTICK = { ratio: 1, of: null }
const plans: readonly Plan[] = [
  { name: 'ingest', store: 'empty', flows: 'ingest', body: 'small' },
  { name: 'endToEnd', store: 'empty', flows: 'end-to-end', body: 'small' },
  { name: 'ingestSigned', store: 'empty', flows: 'signed', body: 'small' },
  // What verifying costs, of a payload as GitHub sends them: the same without verification is its yardstick.
  { name: 'ingest20kSigned', store: 'empty', flows: 'signed', body: 'real', yardstick: REAL },
  ...(values.quick
    ? []
    : ([
        { name: 'ingest300k', store: 'preloaded', flows: 'ingest', body: 'small' },
        { name: 'endToEnd300k', store: 'preloaded', flows: 'end-to-end', body: 'small' },
      ] as const)),
]

try {
  const yardsticks = new Map<Plan, Measurement[]>()
  const results = new Map<string, Paired[]>()
  for (let round = 0; round < rounds; round += 1) {
    for (const plan of plans) {
      say(`${plan.name}${rounds > 1 ? ` (${round + 1} of ${rounds})` : ''} …`)
      // The yardstick right before each: on a shared machine the same code runs at half its speed a minute later.
      const { yardstick = BARE } = plan
      const beside = await run(yardstick, round)
      const measurement = await run(plan, round)
      yardsticks.set(yardstick, [...(yardsticks.get(yardstick) ?? []), beside])
      const paired = { measurement, ratio: measurement.perSecond / beside.perSecond }
      results.set(plan.name, [...(results.get(plan.name) ?? []), paired])
    }
  }
  const report = makeReport(
    [
      ...[...yardsticks].map(([{ name, store }, all]) => ({
        name,
        store,
        runs: all.length,
        ...YARDSTICK,
        ...median(all, (one) => one.perSecond),
      })),
      ...plans.map(({ name, store, yardstick = BARE }) => {
        const { measurement, ratio } = median(results.get(name) ?? [], (one) => one.ratio)
        return { name, store, runs: rounds, ratio, of: yardstick.name, ...measurement }
      }),
    ],
    seconds,
  )
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : `\n${renderReport(report)}`)
} finally {
  await rm(scratch, { recursive: true, force: true })
}

async function run(plan: Plan, round: number): Promise<Measurement> {
  const folder = join(scratch, `${plan.name}-${round}`)
  await mkdir(folder, { recursive: true })
  if (plan.store === 'preloaded') await preloadedCopy(dataFile(folder), say)
  const flows = plan.flows === null ? '' : fileURLToPath(new URL(`flows/${plan.flows}`, import.meta.url))
  const options: ScenarioOptions = {
    entry: plan.flows === null ? 'serve-bare.mjs' : 'serve-node.mjs',
    args: plan.flows === null ? [] : [folder, flows, SECRET],
    script: scripts[plan.body],
    warmUpSeconds: plan === BARE ? 2 : warmUpSeconds,
    seconds: plan === BARE ? BARE_SECONDS : seconds,
    seed: 1_000 + round * 10,
    countDone: plan.flows === 'end-to-end',
  }
  const measurement = await measure(options)
  await rm(folder, { recursive: true, force: true })
  return measurement
}

/** The run in the middle, whole: its latencies belong to it. */
function median<One>(all: readonly One[], by: (one: One) => number): One {
  const sorted = [...all].sort((a, b) => by(a) - by(b))
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
