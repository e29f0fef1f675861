// npm run bench -- --gate: CPU and bytes per event of the hot paths beside the committed figures; more than a tenth
// above fails. `--gate --record` rewrites the figures.
//
// Processors differ, and the same one is slower under load: CPU time is compared as a multiple of what bare Fastify
// takes per request, measured right before. Bytes need no such correction.

import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { BARE, GATED, type Plan } from './plans.ts'
import { median, type Runner, spread } from './run-plan.ts'

const FILE = new URL('figures.json', import.meta.url)
const ALLOWED = 1.1

const Figures = z.record(
  z.string(),
  z.strictObject({
    /** CPU time of an event over that of a request to bare Fastify. */
    cpuOverBare: z.number(),
    bytesPerEvent: z.number(),
    /** For readers: what the recording machine took. */
    cpuUsPerEvent: z.number(),
  }),
)
type Figures = z.infer<typeof Figures>

export interface Gated {
  readonly isPassed: boolean
  readonly lines: readonly string[]
}

export async function runGate(
  runner: Runner,
  rounds: number,
  isRecorded: boolean,
  say: (text: string) => void,
): Promise<Gated> {
  const measured: Figures = {}
  const spreads = new Map<string, readonly [number, number]>()
  const rows = new Map<Plan, { overBare: number; cpu: number; bytes: number }[]>(
    GATED.map((plan) => [plan, []]),
  )
  for (let round = 0; round < rounds; round += 1) {
    for (const [plan, seen] of rows) {
      say(`${plan.name} (${round + 1} of ${rounds}) …`)
      const bare = await runner.run(BARE, round)
      const one = await runner.run(plan, round)
      if (one.bytesPerEvent === null) throw new Error('the gate needs the counters of Linux')
      seen.push({
        overBare: one.cpuUsPerEvent / bare.cpuUsPerEvent,
        cpu: one.cpuUsPerEvent,
        bytes: one.bytesPerEvent,
      })
    }
  }
  for (const [{ name }, seen] of rows) {
    spreads.set(
      name,
      spread(seen, ({ overBare }) => overBare),
    )
    measured[name] = {
      cpuOverBare: Number(median(seen, ({ overBare }) => overBare).overBare.toFixed(2)),
      bytesPerEvent: Math.round(median(seen, ({ bytes }) => bytes).bytes),
      cpuUsPerEvent: Math.round(median(seen, ({ cpu }) => cpu).cpu),
    }
  }
  if (isRecorded) {
    await writeFile(FILE, `${JSON.stringify(measured, null, 2)}\n`)
    return { isPassed: true, lines: ['recorded in bench/figures.json'] }
  }
  const committed = Figures.parse(JSON.parse(await readFile(FILE, 'utf8')))
  return judge(measured, committed, spreads)
}

/** Passes if no figure is more than a tenth above the committed one. */
export function judge(
  measured: Figures,
  committed: Figures,
  spreads: ReadonlyMap<string, readonly [number, number]> = new Map(),
): Gated {
  let isPassed = true
  const lines: string[] = []
  const check = (text: string, now: number, then: number, beside = '') => {
    const isOver = now > then * ALLOWED
    if (isOver) isPassed = false
    lines.push(
      `${text}: ${now} (committed ${then}, ${percent(now / then)}${beside})${isOver ? ' TOO MUCH' : ''}`,
    )
  }
  for (const [name, now] of Object.entries(measured)) {
    const then = committed[name]
    if (then === undefined) {
      isPassed = false
      lines.push(`${name}: no committed figure; run with --gate --record`)
      continue
    }
    const [smallest, largest] = spreads.get(name) ?? [now.cpuOverBare, now.cpuOverBare]
    const beside = `; rounds ${smallest.toFixed(2)} to ${largest.toFixed(2)}; ${now.cpuUsPerEvent} µs here`
    check(`${name} CPU over bare Fastify`, now.cpuOverBare, then.cpuOverBare, beside)
    check(`${name} bytes per event`, now.bytesPerEvent, then.bytesPerEvent)
  }
  return { isPassed, lines }
}

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`
}
