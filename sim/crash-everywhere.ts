// A small scenario in which the node dies at every single point where it could: before and after each write that the
// store applies, before each call leaves, and after each call took effect.

import type { Violation } from './book.ts'
import type { StoreKind } from './data.ts'
import { CALM, makeScript, type VendorFate } from './faults.ts'
import type { Message } from './people.ts'
import { type RunReport, simulate } from './world.ts'

const order = { source: 'shop', order: 'o1', vat: 'vat-1', isForged: false } as const

const MESSAGES: readonly Message[] = [
  { ...order, id: 'm1', kind: 'created', amount: 80 },
  { ...order, id: 'm2', kind: 'paid', amount: 80 },
  { ...order, id: 'm3', kind: 'refunded', amount: 10 },
  { ...order, id: 'm4', kind: 'paid', amount: 20, vat: null },
]

/** What becomes of the first calls: some end in doubt, so that a crash meets every state of the ledger. */
const FATES: readonly VendorFate[] = [
  'reset-after',
  'lie',
  'timeout-after',
  'busy',
  'reset-before',
  'rejected',
  'late',
]

export interface CrashReport {
  /** Where the node could have died in the undisturbed run. */
  readonly points: number
  readonly runs: number
  readonly crashes: number
  readonly failures: readonly { readonly at: readonly number[]; readonly violations: readonly Violation[] }[]
}

export async function crashAt(
  store: StoreKind,
  points: readonly number[],
  onLine?: (line: string) => void,
): Promise<{ readonly report: RunReport; readonly points: number }> {
  const script = makeScript(points, FATES)
  const report = await simulate({
    seed: 'crash-everywhere',
    store,
    profile: CALM,
    faults: script,
    messages: MESSAGES,
    ...(onLine === undefined ? {} : { onLine }),
  })
  return { report, points: script.points() }
}

/** `twice`: the node dies a second time soon after the first, in the middle of its recovery. */
export async function crashEverywhere(store: StoreKind, twice: boolean): Promise<CrashReport> {
  const calm = await crashAt(store, [])
  const failures: { at: readonly number[]; violations: readonly Violation[] }[] = []
  let runs = 0
  let crashes = 0
  for (let point = -1; point < calm.points; point += 1) {
    const at = point < 0 ? [] : twice ? [point, point + 1 + (point % 13)] : [point]
    const { report } = await crashAt(store, at)
    runs += 1
    crashes += report.counts.crashes
    if (report.violations.length > 0) failures.push({ at, violations: report.violations })
  }
  return { points: calm.points, runs, crashes, failures }
}
