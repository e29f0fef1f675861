// bench/results.json: what was measured last, from which README.md, bench/RESULTS.md and docs/performance.md get their tables and pictures.
// Each part has its own date and commit, because each is measured by its own command.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import type { Growth } from './growth.ts'
import type { PeersMeasurement } from './peers.ts'
import type { Calls } from './scenario.ts'
import type { StartMeasurement } from './start.ts'
import type { Spread } from './statistics.ts'
import type { SteadyMeasurement } from './steady.ts'

/** One scenario of the table. Figures without a unit in their name are per event. */
export interface Measured {
  readonly name: string
  /** What its share is of; null: it is a yardstick. */
  readonly of: string | null
  /** The least share that is asked for. */
  readonly asked: number | null
  readonly share: Spread | null
  readonly perSecond: Spread
  readonly cpuUs: Spread
  readonly mainCpuUs: Spread | null
  readonly bytes: Spread | null
  readonly flushes: Spread | null
  readonly rssMb: Spread
  readonly calls: Calls | null
  readonly errors: number
}

export interface Origin {
  /** Of the measurement, in UTC. */
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly cores: number
  readonly rounds: number
  readonly secondsPerRun: number
  /** Processes that wanted to run when it began, on average over a minute: much more than 0 says that others disturbed it. */
  readonly loadBefore: number
}

export interface Table extends Origin {
  readonly rows: readonly Measured[]
  readonly steady: SteadyMeasurement
  readonly start: StartMeasurement
}

/** A part that was not measured yet is null. */
export interface Results {
  readonly table: Table | null
  readonly peers: (Origin & PeersMeasurement) | null
  readonly growth: (Origin & Growth) | null
}

const FILE = new URL('results.json', import.meta.url)

export function readResults(): Results {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Results
}

export function writeResults(results: Results): void {
  writeFileSync(FILE, `${JSON.stringify(results, null, 2)}\n`)
}

export function originNow(rounds: number, secondsPerRun: number): Origin {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: git('rev-parse', '--short=10', 'HEAD'),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
    cores: cpus().length,
    rounds,
    secondsPerRun,
    loadBefore: Number(loadavg()[0]?.toFixed(1)),
  }
}
