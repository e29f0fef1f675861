// A small scenario in which one thing goes wrong at every single point where it could: the node dies before or after
// the store applies an operation, the store fails, an answer is lost; the node dies before a call leaves, or after it
// took effect.

import type { StoreKind } from './data.ts'
import { CALM, type ConnectionPlan, type Mishap, makeScript, type VendorFate } from './faults.ts'
import type { Violation } from './run-observations.ts'
import type { Message } from './senders-and-operator.ts'
import { type RunReport, simulate } from './world.ts'

const order = { source: 'shop', order: 'o1', vat: 'vat-1', isForged: false } as const

const MESSAGES: readonly Message[] = [
  { ...order, id: 'm1', kind: 'created', amount: 80 },
  { ...order, id: 'm2', kind: 'paid', amount: 80 },
  { ...order, id: 'm3', kind: 'refunded', amount: 10 },
  { ...order, id: 'm4', kind: 'paid', amount: 20, vat: null },
  { ...order, id: 'm5', kind: 'booked', amount: 20 },
]

/** One that is stopped before it begins, one that rolls back, a fork and a join, a child, and the net that this seed draws. */
const CASE_MESSAGES: readonly Message[] = [
  { ...order, id: 'm1', kind: 'stopped', amount: 5 },
  { ...order, id: 'm2', kind: 'ordered', amount: 5 },
  { ...order, id: 'm3', kind: 'ordered', order: 'o2', amount: 8 },
  { ...order, id: 'm4', kind: 'asked', amount: 30 },
  { ...order, id: 'm5', kind: 'combined', amount: 1 },
  { ...order, id: 'm6', kind: 'netted', order: 'o3', amount: 20 },
]

/** Calls on connections while secrets end: rotations are made by a vendor and by people, verified, promoted and ended. */
const CONNECTION_MESSAGES: readonly Message[] = [
  { ...order, id: 'm1', kind: 'linked', amount: 5 },
  { ...order, id: 'm2', kind: 'linked', order: 'o2', amount: 8 },
  { ...order, id: 'm3', kind: 'linked', order: 'o3', amount: 30 },
]
const CONNECTION_PLAN: ConnectionPlan = {
  outageEveryMs: 0,
  expireEveryMs: 3_000,
  operatorEveryMs: 1_500,
  canRetire: false,
}

/** What a small run is about. */
type About = 'routes' | 'cases' | 'connections'

/** What becomes of the first calls: some end in doubt, so that a mishap meets every state of the ledger. */
const FATES: readonly VendorFate[] = [
  'reset-after',
  'lie',
  'timeout-after',
  'busy',
  'reset-before',
  'rejected',
  'late',
]

/** The same for workflows: late, lost, and refused where something is done that can be undone. */
const CASE_FATES: readonly VendorFate[] = [
  'ok',
  'reset-after',
  'ok',
  'ok',
  'slow',
  'late',
  'ok',
  'rejected',
  'ok',
  'rejected',
  'rejected',
]

export interface EverywhereReport {
  /** Where something could have gone wrong in the undisturbed run. */
  readonly points: number
  readonly runs: number
  readonly crashes: number
  readonly failures: readonly {
    readonly at: readonly number[]
    readonly violations: readonly Violation[]
  }[]
}

export async function runScript(
  store: StoreKind,
  mishaps: ReadonlyMap<number, Mishap>,
  about: About = 'routes',
): Promise<{ readonly report: RunReport; readonly points: number }> {
  const hasCases = about === 'cases'
  const hasConnections = about === 'connections'
  const script = makeScript(mishaps, hasCases ? CASE_FATES : hasConnections ? [] : FATES)
  const profile = {
    ...CALM,
    operatorEveryMs: 4_000,
    ...(hasConnections && { connections: CONNECTION_PLAN }),
  }
  const messages = hasCases ? CASE_MESSAGES : hasConnections ? CONNECTION_MESSAGES : MESSAGES
  const report = await simulate({
    seed: 'everywhere',
    store,
    profile,
    faults: script,
    messages,
    hasCases,
    hasConnections,
  })
  return { report, points: script.points() }
}

/** `twice`: it happens a second time soon after, in the middle of the recovery. `every`: at each n-th point, from `from` on. */
export async function tryEverywhere(
  store: StoreKind,
  mishap: Mishap,
  twice: boolean,
  { every, from }: { readonly every: number; readonly from: number } = { every: 1, from: 0 },
  about: About = 'routes',
): Promise<EverywhereReport> {
  const { points } = await runScript(store, new Map(), about)
  const failures: { at: readonly number[]; violations: readonly Violation[] }[] = []
  let crashes = 0
  let runs = 0
  for (let point = from % every; point < points; point += every) {
    runs += 1
    const at = twice ? [point, point + 1 + (point % 13)] : [point]
    const { report } = await runScript(store, new Map(at.map((number) => [number, mishap])), about)
    crashes += report.counts.crashes
    if (report.violations.length > 0) failures.push({ at, violations: report.violations })
  }
  return { points, runs, crashes, failures }
}
