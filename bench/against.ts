// npm run bench -- --against <folder>: this checkout beside another one, in pairs A B, B A, A B …, so that both run
// under the same conditions. CPU time per event is what a loaded machine changes least; the ratio of each pair is taken
// before the median.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Plan } from './plans.ts'
import { median, type Runner, spread } from './run-plan.ts'
import type { Calls, Measurement } from './scenario.ts'

const run = promisify(execFile)

interface Side {
  readonly cpuUsPerEvent: number
  readonly mainCpuUsPerEvent: number | null
  readonly bytesPerEvent: number | null
  readonly flushesPerEvent: number | null
  readonly perSecond: number
  readonly rssMb: number
  readonly calls: Calls | null
}

interface Ratio {
  readonly median: number
  readonly smallest: number
  readonly largest: number
}

export interface Comparison {
  readonly name: string
  readonly pairs: number
  /** This checkout over the other one. */
  readonly ratios: { readonly cpu: Ratio; readonly bytes: Ratio; readonly perSecond: Ratio }
  readonly here: Side
  readonly there: Side
}

/** The other checkout, built. */
export async function prepareOther(folder: string, say: (text: string) => void): Promise<string> {
  const other = resolve(folder)
  const bootstrap = join(other, 'scripts', 'bootstrap.mjs')
  if (!existsSync(bootstrap)) throw new Error(`${other} is no checkout: it has no scripts/bootstrap.mjs`)
  say(`building ${other} if it needs it …`)
  await run(process.execPath, [bootstrap, 'build'], { cwd: other })
  return other
}

export async function compare(
  runner: Runner,
  plans: readonly Plan[],
  other: string,
  rounds: number,
  say: (text: string) => void,
): Promise<readonly Comparison[]> {
  const pairs = new Map<Plan, { here: Measurement; there: Measurement }[]>(plans.map((plan) => [plan, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const [plan, measured] of pairs) {
      const isHereFirst = round % 2 === 0
      const first = await runner.run(plan, round, isHereFirst ? undefined : other)
      const second = await runner.run(plan, round, isHereFirst ? other : undefined)
      const pair = isHereFirst ? { here: first, there: second } : { here: second, there: first }
      measured.push(pair)
      say(
        `${plan.name} ${round + 1} of ${rounds}: ${pair.here.cpuUsPerEvent.toFixed(0)} µs here, ${pair.there.cpuUsPerEvent.toFixed(0)} µs there`,
      )
    }
  }
  const compared: Comparison[] = []
  for (const [plan, measured] of pairs) {
    const ratio = (of: (one: Measurement) => number): Ratio => {
      const all = measured.map(({ here, there }) => of(here) / of(there))
      const [smallest, largest] = spread(all, (one) => one)
      return { median: median(all, (one) => one), smallest, largest }
    }
    compared.push({
      name: plan.name,
      pairs: measured.length,
      ratios: {
        cpu: ratio((one) => one.cpuUsPerEvent),
        bytes: ratio((one) => one.bytesPerEvent ?? Number.NaN),
        perSecond: ratio((one) => one.perSecond),
      },
      here: sideOf(
        measured.map(({ here }) => here),
        await runner.count(plan),
      ),
      there: sideOf(
        measured.map(({ there }) => there),
        await runner.count(plan, other),
      ),
    })
  }
  return compared
}

function sideOf(all: readonly Measurement[], calls: Calls | null): Side {
  const middle = <Key extends keyof Measurement>(key: Key) => median(all, (one) => Number(one[key]))[key]
  return {
    cpuUsPerEvent: middle('cpuUsPerEvent'),
    mainCpuUsPerEvent: middle('mainCpuUsPerEvent'),
    bytesPerEvent: middle('bytesPerEvent'),
    flushesPerEvent: middle('flushesPerEvent'),
    perSecond: middle('perSecond'),
    rssMb: middle('rssMb'),
    calls,
  }
}

export function renderComparison(compared: readonly Comparison[]): string {
  const lines: string[] = []
  for (const { name, pairs, ratios, here, there } of compared) {
    const ratio = ({ median, smallest, largest }: Ratio) =>
      `${median.toFixed(3)} (${smallest.toFixed(3)} to ${largest.toFixed(3)})`
    const row = (title: string, of: (side: Side) => number | null, digits = 0) =>
      `  ${title.padEnd(20)} ${format(of(here), digits).padStart(10)} ${format(of(there), digits).padStart(10)}`
    lines.push(
      `${name}: ${pairs} pairs, here over there: CPU ${ratio(ratios.cpu)}, bytes ${ratio(ratios.bytes)}, events/s ${ratio(ratios.perSecond)}`,
      `  ${'per event, medians'.padEnd(20)} ${'here'.padStart(10)} ${'there'.padStart(10)}`,
      row('CPU µs', (side) => side.cpuUsPerEvent, 1),
      row('of it main thread', (side) => side.mainCpuUsPerEvent, 1),
      row('bytes written', (side) => side.bytesPerEvent),
      row('flushes', (side) => side.flushesPerEvent, 3),
      row('promises', (side) => side.calls?.promises ?? null, 1),
      row('statements', (side) => side.calls?.statements ?? null, 1),
      row('events/s', (side) => side.perSecond),
      row('RSS MB', (side) => side.rssMb),
      '',
    )
  }
  return lines.join('\n')
}

function format(value: number | null, digits: number): string {
  return value === null || Number.isNaN(value) ? '–' : value.toFixed(digits)
}
