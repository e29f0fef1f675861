// What a run prints: a table with ratios for readers, one JSON value for machines.

import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { AT_ONCE } from './deliveries.ts'
import type { Past } from './preload.ts'
import type { Calls, Measurement } from './scenario.ts'
import { CONNECTIONS } from './wrk.ts'

export interface Scenario extends Measurement {
  readonly name: string
  /** The data of the store before the run; null: none, or no store. */
  readonly past: Past | null
  readonly runs: number
  /** Smallest and largest of the runs. */
  readonly spread: {
    readonly perSecond: readonly [number, number]
    readonly cpuUsPerEvent: readonly [number, number]
  }
  /** null: not counted. */
  readonly calls: Calls | null
  /** Relative to the yardstick measured right before it: the median over the runs. */
  readonly ratio: number
  /** The yardstick's name; null: it is one. */
  readonly of: string | null
  /** The target of the ratio: at least this, or at most this for a cost. */
  readonly asked: number | null
  /** The ratio is of an event's CPU cost beyond its accept. */
  readonly isCost: boolean
}

export interface Report {
  readonly scenarios: readonly Scenario[]
  /** perSecond relative to the yardstick, each pair measured one right after the other. */
  readonly ratios: Readonly<Record<string, number>>
  readonly settings: Readonly<Record<string, string>>
  readonly machine: Readonly<Record<string, string>>
}

export function makeReport(scenarios: readonly Scenario[], secondsPerRun: number): Report {
  const ratios = Object.fromEntries(
    scenarios.filter(({ of }) => of !== null).map(({ name, ratio }) => [name, round(ratio, 3)]),
  )
  return {
    scenarios,
    ratios,
    settings: {
      perEvent:
        'CPU of all threads by schedstat; bytes handed to the disk; flushes of the store; promises of the main thread and statements of all threads from a run of their own',
      driver: `wrk, ${CONNECTIONS} connections unless the name says otherwise, 1 thread, own process, ${secondsPerRun} s per run after a warm-up; the yardstick right before each`,
      request:
        'POST 1 KiB JSON (…20k: a real GitHub payload of 20 KiB), random delivery id and ledger key; only …Signed verify GitHub’s signature',
      deliveries: `no driver: the store holds what is due; ${AT_ONCE} at once to one endpoint, bodies of 1 KiB signed by HMAC, endpoints in a process of their own`,
      durability: 'SQLite, WAL, synchronous=FULL: fsync before every answer; ledger and log lines on',
    },
    machine: {
      cpu: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
      memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
      node: process.version,
      kernel: readText('/proc/sys/kernel/osrelease'),
    },
  }
}

export function renderReport(report: Report): string {
  const header = [
    'scenario',
    'events/s',
    'spread',
    'share',
    'of',
    'asked',
    'p50 ms',
    'p99 ms',
    'completed p50/p99',
    'CPU µs/event',
    'spread',
    'main µs',
    'bytes',
    'flushes',
    'promises',
    'statements',
    'RSS MB',
    'errors',
  ]
  const rows = report.scenarios.map((scenario) => [
    scenario.name,
    Math.round(scenario.perSecond).toLocaleString('en-US'),
    range(scenario.spread.perSecond),
    `${Math.round(scenario.ratio * 100)} %`,
    scenario.of === null ? '' : `${scenario.isCost ? 'cost of ' : ''}${scenario.of}`,
    scenario.asked === null ? '' : `${scenario.isCost ? '≤' : '≥'} ${Math.round(scenario.asked * 100)} %`,
    scenario.p50Ms?.toFixed(1) ?? '',
    scenario.p99Ms?.toFixed(1) ?? '',
    scenario.completionP50Ms === null ? '' : `${scenario.completionP50Ms} / ${scenario.completionP99Ms}`,
    scenario.cpuUsPerEvent.toFixed(0),
    range(scenario.spread.cpuUsPerEvent),
    scenario.mainCpuUsPerEvent?.toFixed(0) ?? '',
    scenario.bytesPerEvent?.toFixed(0) ?? '',
    scenario.flushesPerEvent?.toFixed(3) ?? '',
    scenario.calls?.promises.toFixed(1) ?? '',
    scenario.calls?.statements.toFixed(1) ?? '',
    scenario.rssMb.toFixed(0),
    String(scenario.errors),
  ])
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] as string).length)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number),
      )
      .join('  ')
  const notes = [...Object.entries(report.settings), ...Object.entries(report.machine)]
  return [line(header), ...rows.map(line), '', ...notes.map(([name, text]) => `${name}: ${text}`), ''].join(
    '\n',
  )
}

function range([smallest, largest]: readonly [number, number]): string {
  return smallest === largest ? '' : `${Math.round(smallest)}–${Math.round(largest)}`
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return process.platform
  }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
