// What is measured, and the yardstick of each.

import { join } from 'node:path'
import type { Endpoints } from './deliveries.ts'
import { crowdedFlows, effectFlows, keptFlows } from './flows.ts'
import { PAST, type Past } from './preload.ts'
import { ENDPOINTS } from './preload-rows.ts'

export interface Flows {
  /** Creates them in the folder if they are not stored; `vendor` is where calls may go. */
  make(folder: string, vendor: string): Promise<string>
  readonly calls: boolean
}

export interface Plan {
  readonly name: string
  readonly past: Past | null
  /** null: no node, bare Fastify; or a bare loop of undici, if deliveries are counted. */
  readonly flows: Flows | null
  readonly body: 'small' | 'real'
  /**
   * What is counted: responses, durable completions, dead letters replayed until they are done, or deliveries that were
   * due at the start.
   */
  readonly count: 'answers' | 'completions' | 'replayed' | 'delivered'
  /** Where deliveries go: flows are generated for them. */
  readonly endpoints?: Endpoints
  /** Jobs completed per event; default 1. */
  readonly itemsPerEvent?: number
  /** Of the driver; default 64. */
  readonly connections?: number
  /** Each event goes to one of this many tenants; the first is `default`. */
  readonly tenants?: number
  /** Each event names one of this many instances. */
  readonly cases?: number
  /** Its yardstick; default bare Fastify. */
  readonly yardstick?: Plan
  /** Compared by what an event costs beyond its accept, which that plan measures, and not by events per second. */
  readonly costBeyond?: Plan
  /** The target of the ratio: at least, or at most for a cost. */
  readonly asked: number | null
}

const kept = (name: Parameters<typeof keptFlows>[0]): Flows => ({
  make: async () => keptFlows(name),
  calls: false,
})

export const BARE: Plan = {
  name: 'bareFastify',
  past: null,
  flows: null,
  body: 'small',
  count: 'answers',
  asked: null,
}
const INGEST: Plan = { ...BARE, name: 'ingest', flows: kept('ingest'), asked: 0.75 }
export const END_TO_END: Plan = {
  ...BARE,
  name: 'endToEnd',
  flows: kept('end-to-end'),
  count: 'completions',
  asked: 0.6,
}
const REAL: Plan = { ...INGEST, name: 'ingest20k', body: 'real', asked: null }
/** With one call to a vendor: reserved in the ledger, sent, and settled with its response. */
export const EFFECT: Plan = {
  ...END_TO_END,
  name: 'effect',
  yardstick: END_TO_END,
  flows: { make: (folder, vendor) => effectFlows(join(folder, 'flows'), vendor), calls: true },
  asked: null,
}

const CORRELATION: Plan = { ...END_TO_END, flows: kept('correlation'), asked: null }

/** The bare loop and the node send to the same endpoint, each with the same number of concurrent calls. */
const BARE_DELIVERIES: Plan = {
  ...BARE,
  name: 'bareDeliveries',
  count: 'delivered',
  endpoints: { healthy: 1, hanging: 0 },
}
const DELIVERIES: Plan = {
  ...BARE_DELIVERIES,
  name: 'deliveries',
  flows: kept('ingest'),
  past: 'deliveries',
  yardstick: BARE_DELIVERIES,
  asked: 0.5,
}
const HEALTHY_ENDPOINTS: Plan = {
  ...DELIVERIES,
  name: 'healthyEndpoints',
  past: 'healthyEndpoints',
  endpoints: { ...ENDPOINTS, hanging: 0 },
  asked: null,
}

const SIGNED: Plan = { ...INGEST, name: 'ingestSigned', flows: kept('signed'), asked: 0.65 }
/** More connections than slots: nothing may fall off the fast path. */
const MANY: Plan = { ...END_TO_END, name: 'endToEnd256', connections: 256, yardstick: END_TO_END, asked: 1 }
const VERY_MANY: Plan = { ...MANY, name: 'endToEnd1024', connections: 1_024 }

/** What `--record` measures: the table of the documents. Each is run once per round, after its yardstick. */
export const RECORDED: readonly Plan[] = [
  BARE,
  INGEST,
  SIGNED,
  END_TO_END,
  EFFECT,
  MANY,
  VERY_MANY,
  BARE_DELIVERIES,
  DELIVERIES,
]

/** What `--gate` and `--against` measure: the two paths that every event takes. */
export const GATED: readonly Plan[] = [END_TO_END, INGEST]

/** In the order in which they are run. */
export const PLANS: readonly Plan[] = [
  INGEST,
  END_TO_END,
  SIGNED,
  // The cost of verification, for a payload as GitHub sends them: the same without verification is its yardstick.
  { ...REAL, name: 'ingest20kSigned', flows: kept('signed'), yardstick: REAL, asked: 0.8 },
  {
    ...END_TO_END,
    name: 'endToEnd1000Routes',
    flows: { make: (folder) => crowdedFlows(join(folder, 'flows')), calls: false },
    yardstick: END_TO_END,
    asked: 0.95,
  },
  // Instances of one step, started, run and completed: the trigger's job and the step's job.
  {
    ...END_TO_END,
    name: 'instances',
    flows: kept('instances'),
    itemsPerEvent: 2,
    yardstick: END_TO_END,
    asked: 0.4,
  },
  EFFECT,
  // All events have the same effect: the first is called, the others find it in the ledger.
  {
    ...EFFECT,
    name: 'dedupeHit',
    flows: {
      make: (folder, vendor) => effectFlows(join(folder, 'flows'), vendor, "'BOOK:' + payload.issue.number"),
      calls: true,
    },
    yardstick: EFFECT,
    costBeyond: INGEST,
    asked: 0.333,
  },
]

/** On stores with existing data: only in a full run. */
export const LONG_PLANS: readonly Plan[] = [
  { ...INGEST, name: 'ingest300k', past: 'settled', asked: null },
  { ...END_TO_END, name: 'endToEnd300k', past: 'settled', asked: null },
  { ...END_TO_END, name: 'endToEnd1m', past: 'settledMillion', asked: null },
  { ...END_TO_END, name: 'endToEndMillionWaiting', past: 'waiting', yardstick: END_TO_END, asked: 0.85 },
  MANY,
  VERY_MANY,
  // Updates that find their instance among a million, beside those that find it among a thousand: at most 1.5 times as
  // expensive.
  {
    ...CORRELATION,
    name: 'correlation',
    past: 'cases',
    cases: PAST.cases,
    yardstick: { ...CORRELATION, name: 'correlation1000', past: 'fewCases', cases: PAST.fewCases },
    asked: 1 / 1.5,
  },
  DELIVERIES,
  // What responding endpoints get beside a hundred that never respond, as a share of what they get alone.
  {
    ...DELIVERIES,
    name: 'deadEndpoints',
    past: 'allEndpoints',
    endpoints: ENDPOINTS,
    yardstick: HEALTHY_ENDPOINTS,
    asked: 0.9,
  },
  // The same with all of them behind one host, as customers of one platform are.
  {
    ...DELIVERIES,
    name: 'deadEndpointsOneHost',
    past: 'allEndpoints',
    endpoints: { ...ENDPOINTS, isShared: true },
    yardstick: {
      ...HEALTHY_ENDPOINTS,
      name: 'healthyEndpointsOneHost',
      endpoints: { ...ENDPOINTS, hanging: 0, isShared: true },
    },
    asked: null,
  },
  {
    ...END_TO_END,
    name: 'replay100kDeadLetters',
    past: 'dead',
    count: 'replayed',
    yardstick: END_TO_END,
    asked: 0.5,
  },
]
