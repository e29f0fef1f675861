// npm run bench [-- --quick] [-- --json] [-- --only name,name] [-- --rounds n]: measures, in one run on one machine,
// what a node does per second beside what bare Fastify does with the same request, and what one thing costs beside
// another. Quick: one round on empty stores.
//
// --gate: fails if an event costs a tenth more than bench/figures.json says; with --record these are written.
// --against <folder>: this checkout beside another one, in pairs. --peers: beside other queues.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compare, prepareOther, renderComparison } from './against.ts'
import { ANALYSIS, measureAnalysis, renderAnalysis } from './analysis.ts'
import { DOOR, measureDoor, renderDoor } from './connection-call.ts'
import { runGate } from './gate.ts'
import { measurePeers, renderPeers } from './peers.ts'
import { BARE, GATED, LONG_PLANS, PLANS, type Plan } from './plans.ts'
import { measurePostgres, POSTGRES, renderPostgres } from './postgres.ts'
import { makeReport, renderReport } from './report.ts'
import { makeRunner, median, type Runner, spread } from './run-plan.ts'
import type { Calls, Measurement } from './scenario.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    gate: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    against: { type: 'string' },
    peers: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
const seconds = values.quick ? 6 : 10
const warmUpSeconds = values.quick ? 3 : 4

const all = [...PLANS, ...LONG_PLANS]
const only = values.only?.split(',')
const names = [...all.map(({ name }) => name), ANALYSIS, DOOR, POSTGRES]
const unknown = only?.filter((name) => !names.includes(name)) ?? []
if (unknown.length > 0) {
  process.stderr.write(`No scenario ${unknown.join(', ')}. There are: ${names.join(', ')}.\n`)
  process.exit(2)
}
const isAsked = (name: string) => only?.includes(name) ?? true
const root = fileURLToPath(new URL('../.cache/bench', import.meta.url))
await mkdir(root, { recursive: true })
// Under the project: /tmp may be a memory disk, where an fsync costs nothing.
const scratch = await mkdtemp(join(root, 'run-'))

const say = (text: string) => {
  if (!values.json) process.stderr.write(`${text}\n`)
}
const print = (value: object, text: string) =>
  process.stdout.write(values.json ? `${JSON.stringify(value, null, 2)}\n` : `\n${text}`)

interface Paired {
  readonly measurement: Measurement
  /** Relative to the yardstick measured right before it. */
  readonly ratio: number
}

/** Others are measured by it. */
const YARDSTICK = { ratio: 1, of: null, asked: null, isCost: false }

try {
  const runner = makeRunner({ scratch, warmUpSeconds, seconds, say })
  if (values.gate) {
    const { isPassed, lines } = await runGate(runner, rounds, values.record, say)
    process.stdout.write(`${lines.join('\n')}\n`)
    process.exitCode = isPassed ? 0 : 1
  } else if (values.against !== undefined) {
    const other = await prepareOther(values.against, say)
    const plans = only === undefined ? GATED : all.filter(({ name }) => only.includes(name))
    const compared = await compare(runner, plans, other, rounds, say)
    print({ compared }, renderComparison(compared))
  } else if (values.peers) {
    const peers = await measurePeers({ runner, scratch, rounds, seconds, warmUpSeconds, say })
    print({ peers }, renderPeers(peers))
  } else {
    await measureAll(runner)
  }
} finally {
  await rm(scratch, { recursive: true, force: true })
}

async function measureAll(runner: Runner): Promise<void> {
  const analysis = isAsked(ANALYSIS) ? measureAnalysis(rounds) : null
  const door = isAsked(DOOR) ? await measureDoor(rounds, values.quick) : null
  const postgres = isAsked(POSTGRES) ? await measurePostgres(rounds, values.quick) : null
  const plans = only ? all.filter(({ name }) => only.includes(name)) : values.quick ? PLANS : all
  const yardsticks = new Map<Plan, Measurement[]>()
  const results = new Map<string, Paired[]>()
  for (let round = 0; round < rounds; round += 1) {
    for (const plan of plans) {
      say(`${plan.name}${rounds > 1 ? ` (${round + 1} of ${rounds})` : ''} …`)
      // The yardstick right before each: on a shared machine the same code runs at half its speed a minute later.
      const { yardstick = BARE } = plan
      const base = plan.costBeyond === undefined ? null : await runner.run(plan.costBeyond, round)
      const beside = await runner.run(yardstick, round)
      const measurement = await runner.run(plan, round)
      yardsticks.set(yardstick, [...(yardsticks.get(yardstick) ?? []), beside])
      const ratio =
        base === null
          ? measurement.perSecond / beside.perSecond
          : (measurement.cpuUsPerEvent - base.cpuUsPerEvent) / (beside.cpuUsPerEvent - base.cpuUsPerEvent)
      results.set(plan.name, [...(results.get(plan.name) ?? []), { measurement, ratio }])
    }
  }
  const calls = new Map<string, Calls | null>()
  for (const plan of plans) calls.set(plan.name, await runner.count(plan))
  const spreads = (all: readonly Measurement[]) => ({
    perSecond: spread(all, (one) => one.perSecond),
    cpuUsPerEvent: spread(all, (one) => one.cpuUsPerEvent),
  })
  const report = makeReport(
    [
      ...[...yardsticks]
        .filter(([{ name }]) => !results.has(name))
        .map(([{ name, past }, measured]) => ({
          name,
          past,
          runs: measured.length,
          spread: spreads(measured),
          calls: null,
          ...YARDSTICK,
          ...median(measured, (one) => one.perSecond),
        })),
      ...plans.map(({ name, past, asked, costBeyond, yardstick = BARE }) => {
        const measured = results.get(name) ?? []
        const { measurement, ratio } = median(measured, (one) => one.ratio)
        return {
          name,
          past,
          runs: rounds,
          spread: spreads(measured.map((one) => one.measurement)),
          calls: calls.get(name) ?? null,
          ratio,
          of: yardstick.name,
          asked,
          isCost: costBeyond !== undefined,
          ...measurement,
        }
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
  const texts = [
    renderReport(report),
    ...(analysis === null ? [] : [renderAnalysis(analysis)]),
    ...(door === null ? [] : [renderDoor(door)]),
    ...(postgres === null ? [] : [renderPostgres(postgres)]),
  ]
  print(output, texts.join('\n'))
}
