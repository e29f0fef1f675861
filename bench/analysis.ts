// The analysis of a net with 100,000 reachable markings: five branches side by side, of nine steps each. The target is
// less than two seconds.

import { analyse } from '../src/core/workflows/analysis/index.ts'
import { parallel } from '../src/core/workflows/analysis/nets.fixture.ts'

export const ANALYSIS = 'analysis'
const ASKED_MS = 2_000

export interface AnalysisMeasurement {
  readonly markings: number
  /** The median. */
  readonly durationMs: number
  readonly cpuMs: number
  readonly askedMs: number
}

export function measureAnalysis(rounds: number): AnalysisMeasurement {
  const document = parallel(5, 9)
  const measured = Array.from({ length: Math.max(3, rounds) }, () => {
    const [from, before] = [performance.now(), process.cpuUsage()]
    const { markings, verdict } = analyse(document)
    if (verdict !== 'proved') throw new Error(`the net of the benchmark is ${verdict}`)
    const { user, system } = process.cpuUsage(before)
    const durationMs = Math.round(performance.now() - from)
    return { markings, durationMs, cpuMs: Math.round((user + system) / 1_000), askedMs: ASKED_MS }
  }).sort((a, b) => a.durationMs - b.durationMs)
  return measured[Math.floor(measured.length / 2)] as AnalysisMeasurement
}

export function renderAnalysis({ markings, durationMs, cpuMs, askedMs }: AnalysisMeasurement): string {
  const asked = durationMs < askedMs ? 'as asked' : 'MISSED'
  return `analysis: ${markings} markings in ${durationMs} ms (CPU ${cpuMs} ms; asked: under ${askedMs} ms, ${asked})\n`
}
