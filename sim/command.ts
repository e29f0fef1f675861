// The simulator's command line. It runs from the one file that sim/main.ts makes of it, and so do the processes that it starts.
//
//   npm run sim -- --seeds 1000 [--from 1] [--store memory|sqlite|both] [--bug name] [--jobs 2] [--json]
//   npm run sim -- --seed 42 --store memory --trace
//   npm run sim -- --nodes 3 --bus
//   npm run sim -- --crash-everywhere

import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { BUGS, findBug } from './bugs.ts'
import type { StoreKind } from './data.ts'
import { DRAWS, type Draw } from './draw.ts'
import { tryEverywhere } from './fault-at-every-point.ts'
import { MISHAPS } from './faults.ts'
import { NODES_MAX } from './fleet.ts'
import { COUNTED, makeCounts } from './run-observations.ts'
import { type RunOptions, type RunReport, simulate } from './world.ts'

interface Job {
  readonly from: number
  readonly to: number
  readonly step: number
  readonly stores: readonly StoreKind[]
  readonly given: Given
}

/** What is asked for besides seeds and stores. */
interface Given {
  readonly bug: string | null
  /** null: as the seed says. */
  readonly nodes: number | null
  readonly hasBus: boolean
  readonly draw: Draw
}

const STORES: Readonly<Record<string, readonly StoreKind[]>> = {
  memory: ['memory'],
  sqlite: ['sqlite'],
  both: ['memory', 'sqlite'],
}
const FAILURES_MAX = 3
/** Names the seeds for a process that another one started. */
const JOB = 'MILLRACE_SIM_JOB'
const TRACE_LINES = 60

const HELP = `Usage: npm run sim -- [options]
  --seeds <n>          how many seeds to run (100)
  --from <n>           the first of them (1)
  --store <name>       memory, sqlite or both (both)
  --seed <n>           one seed alone
  --trace              with --seed: print what happens, line by line
  --bug <name>         plant a bug: ${BUGS.map(({ name }) => name).join(', ')}
  --nodes <n>          so many nodes, 1 to ${NODES_MAX}, that come back; with others that come and go, and a store that fails over
  --bus                with a bus: messages from it, and what happens told to it
  --draw <name>        what a seed draws: keen, or first or sharp, which pinned seeds were found with (keen)
  --crash-everywhere   let the node die, and the store fail, at every point of a small scenario
  --jobs <n>           processes (${availableParallelism()})
  --json               print one JSON document at the end and nothing else`

function optionsOf({ bug, nodes, hasBus, draw }: Given): Omit<RunOptions, 'seed' | 'store'> {
  return {
    draw,
    ...(bug === null ? {} : { bug: findBug(bug) }),
    ...(nodes === null ? {} : { nodes, hasFleet: true }),
    ...(hasBus ? { hasBus } : {}),
  }
}

async function runJob(job: Job, onReport: (report: RunReport) => void): Promise<void> {
  for (let seed = job.from; seed < job.to; seed += job.step) {
    for (const store of job.stores) {
      onReport(await simulate({ seed, store, ...optionsOf(job.given) }))
    }
  }
}

/**
 * Runs make much garbage that dies young: with room for it, a tenth of the time is saved. Most functions are called from so many places
 * that the compiler optimizes them again and again: waiting longer before it does, and inlining less, saved 5 % of CPU each.
 */
const WORKER_FLAGS = [
  '--max-semi-space-size=32',
  '--interrupt-budget=800000',
  '--max-inlined-bytecode-size-cumulative=230',
  '--enable-source-maps',
]

function startWorker(job: Job, onReport: (report: RunReport) => void): { done: Promise<void>; stop(): void } {
  const child = fork(fileURLToPath(import.meta.url), [], {
    env: { ...process.env, [JOB]: JSON.stringify(job) },
    execArgv: WORKER_FLAGS,
  })
  let isStopped = false
  const done = new Promise<void>((resolve, reject) => {
    child.on('message', (report) => onReport(report as RunReport))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0 || isStopped) resolve()
      else reject(new Error(`a process of the simulator ended with ${code}`))
    })
  })
  return {
    done,
    stop() {
      isStopped = true
      child.kill()
    },
  }
}

function rerun(
  { seed, store }: Pick<RunReport, 'seed' | 'store'>,
  { bug, nodes, hasBus, draw }: Given,
): string {
  const planted = bug === null ? '' : ` --bug ${bug}`
  const about = `${draw === 'keen' ? '' : ` --draw ${draw}`}${nodes === null ? '' : ` --nodes ${nodes}`}${hasBus ? ' --bus' : ''}`
  return `npm run sim -- --seed ${seed} --store ${store}${about}${planted} --trace`
}

async function printFailure(report: RunReport, given: Given): Promise<void> {
  const lines: string[] = []
  const { seed, store } = report
  await simulate({ seed, store, ...optionsOf(given), onLine: (line) => lines.push(line) })
  const [violation] = report.violations
  console.log(`\nseed ${report.seed} on ${report.store}: ${violation?.rule} ${violation?.message}`)
  console.log(lines.slice(-TRACE_LINES).join('\n'))
  console.log(`again: ${rerun(report, given)}`)
}

async function runSeeds(
  options: Omit<Job, 'step'> & { readonly jobs: number; readonly json: boolean },
): Promise<boolean> {
  const total = makeCounts()
  const failures: RunReport[] = []
  const startedAt = performance.now()
  let runs = 0
  let stop = () => {}
  const seconds = () => (performance.now() - startedAt) / 1_000
  const say = () => {
    const counted = COUNTED.map((name) => `${name} ${total[name]}`).join(', ')
    console.log(`${runs} runs, ${(runs / seconds()).toFixed(1)}/s: ${counted}`)
  }
  const onReport = (report: RunReport) => {
    runs += 1
    for (const name of COUNTED) total[name] += report.counts[name]
    if (report.violations.length > 0) {
      failures.push(report)
      if (failures.length >= FAILURES_MAX) stop()
    }
    if (!options.json && runs % 100 === 0) say()
  }
  const { jobs, json: _json, ...job } = options
  const workers = Array.from({ length: jobs }, (_, index) =>
    startWorker({ ...job, from: job.from + index, step: jobs }, onReport),
  )
  stop = () => {
    for (const worker of workers) worker.stop()
  }
  await Promise.all(workers.map(({ done }) => done))
  if (options.json) {
    const shown = failures.map((report) => ({ ...report, again: rerun(report, options.given) }))
    console.log(JSON.stringify({ runs, seconds: seconds(), counts: total, failures: shown }))
  } else {
    say()
    for (const report of failures) await printFailure(report, options.given)
    console.log(failures.length === 0 ? 'all invariants held' : `${failures.length} seeds failed`)
  }
  return failures.length === 0
}

async function runOne(
  seed: number,
  stores: readonly StoreKind[],
  given: Given,
  isTraced: boolean,
): Promise<boolean> {
  let isFine = true
  for (const store of stores) {
    const report = await simulate({
      seed,
      store,
      ...optionsOf(given),
      ...(isTraced ? { onLine: (line: string) => console.log(line) } : {}),
    })
    const [violation] = report.violations
    if (violation !== undefined) isFine = false
    console.log(
      violation === undefined ? `seed ${seed} on ${store} holds` : `${violation.rule} ${violation.message}`,
    )
  }
  return isFine
}

async function runEverywhere(stores: readonly StoreKind[]): Promise<boolean> {
  let isFine = true
  for (const store of stores) {
    const all = MISHAPS.flatMap((mishap) => [false, true].map((twice) => ({ mishap, twice })))
    for (const about of ['routes', 'cases', 'connections'] as const) {
      for (const { mishap, twice } of all) {
        const { runs, failures } = await tryEverywhere(store, mishap, twice, { every: 1, from: 0 }, about)
        const name = `${store}, ${about}: ${mishap}${twice ? ' twice' : ''}`
        console.log(`${name} at ${runs} points: ${failures.length} failures`)
        for (const { at, violations } of failures.slice(0, FAILURES_MAX)) {
          isFine = false
          console.log(`  at ${at.join(' and ')}: ${violations[0]?.rule} ${violations[0]?.message}`)
        }
      }
    }
  }
  return isFine
}

function readDraw(text: string): Draw {
  const draw = DRAWS.find((one) => one === text)
  if (draw === undefined) throw new Error(`--draw is one of ${DRAWS.join(', ')}, not ${text}`)
  return draw
}

function readNodes(text: string): number {
  const nodes = Number(text)
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > NODES_MAX)
    throw new Error(`--nodes is a number from 1 to ${NODES_MAX}, not ${text}`)
  return nodes
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '100' },
      from: { type: 'string', default: '1' },
      store: { type: 'string', default: 'both' },
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
      bug: { type: 'string' },
      nodes: { type: 'string' },
      bus: { type: 'boolean', default: false },
      draw: { type: 'string', default: 'keen' },
      'crash-everywhere': { type: 'boolean', default: false },
      jobs: { type: 'string', default: String(availableParallelism()) },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const stores = STORES[values.store]
  if (values.help || stores === undefined) {
    console.log(HELP)
    return values.help
  }
  const given: Given = {
    bug: values.bug === undefined ? null : findBug(values.bug).name,
    nodes: values.nodes === undefined ? null : readNodes(values.nodes),
    hasBus: values.bus,
    draw: readDraw(values.draw),
  }
  if (values['crash-everywhere']) return runEverywhere(stores)
  if (values.seed !== undefined) return runOne(Number(values.seed), stores, given, values.trace)
  const from = Number(values.from)
  return runSeeds({
    from,
    to: from + Number(values.seeds),
    stores,
    given,
    jobs: Number(values.jobs),
    json: values.json,
  })
}

const given = process.env[JOB]
if (given === undefined) {
  try {
    process.exitCode = (await main()) ? 0 : 1
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 2
  }
} else {
  await runJob(JSON.parse(given) as Job, (report) => process.send?.(report))
  process.disconnect()
}
