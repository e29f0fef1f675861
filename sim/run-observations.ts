// What the checks remember of a run: rows as they were last seen, sends, releases, acknowledgements, and what was counted
// to show that the run was not an empty one.

import type { LedgerEntry, LedgerProof } from '../src/core/effects/ledger/index.ts'
import type { StoredEvent } from '../src/core/events/event/index.ts'
import type { DeadLetter } from '../src/core/failures/dead-letter/index.ts'
import type { DeadLetterId, EventId, TenantId, WorkId } from '../src/core/foundation/ids/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Life } from './node.ts'
import type { ScenarioRoute } from './scenario.ts'
import type { Send } from './vendor.ts'
import type { Cases } from './workflows.ts'

export type Rule =
  | 'N1'
  | 'N2'
  | 'N3'
  | 'N4'
  | 'N5'
  | 'N6'
  | 'N7'
  | 'N8'
  | 'N10'
  | 'N11'
  | 'N12'
  | 'N13'
  | 'DV9'
  | 'DV13'
  | 'DL5'
  | 'RP4'
  | 'RP7'
  | 'DB1'
  | 'FO11'
  | 'DB2'
  | 'HK1'
  | 'IN20'
  | 'IN21'
  | 'SC7'
  | 'SC10'
  | 'PA7'
  | 'PA8'
  | 'PA12'
  | 'PA14'
  | 'PA19'
  | 'PA25'
  | 'FL3'
  | 'FL9'
  | 'FL12'
  | 'ES2'
  | 'ES4'
  | 'DY6'
  | 'FA1'
  | 'DY14'
  | 'DY20'
  | 'SB16'
  | 'SU7'
  | 'SU15'
  | 'RV1'
  | 'RV2'
  | 'CX1'
  | 'CX2'
  | 'CX4'
  | 'CX6'
  | 'CX31'
  | 'CD1'
  | 'CD2'
  | 'CD3'
  | 'CD4'
  | 'CD17'
  | 'DR6'
  | 'DR11'
  | 'RN1'
  | 'RN2'
  | 'ND6'
  | 'ND7'
  | 'BROKEN'

export interface Violation {
  readonly rule: Rule
  readonly message: string
}

export const COUNTED = [
  'events',
  'duplicates',
  'refusals',
  'effects',
  'probes',
  'secondSends',
  'crashes',
  'pauses',
  'jumps',
  'reclaimed',
  'poisoned',
  'staleCommits',
  'staleSends',
  'refusedCommits',
  'storeFailures',
  'parked',
  'deadLetters',
  'resolved',
  'replays',
  'skipped',
  'evidence',
  'held',
  'controls',
  'rollbacks',
  'functionEffects',
  'functionStops',
  'functionEvents',
  'edits',
  'bulkReplays',
  'cancelled',
  'slots',
  'kept',
  'matchedLater',
  'quarantined',
  'dispatched',
  'eventReplays',
  'pruned',
  'promoted',
  'superseded',
  'stale',
  'laned',
  'elements',
  'batches',
  'batched',
  'batchSplits',
  'batchParked',
  'memberRefused',
  'created',
  'updated',
  'locked',
  'generations',
  'limited',
  'ahead',
  'circuitsOpened',
  'heldByCircuit',
  'bucketsClosed',
  'drains',
  'failures',
  'escalations',
  'canonical',
  'heard',
  'instances',
  'firings',
  'interrupts',
  'lateSteps',
  'undone',
  'rolledBack',
  'migrated',
  'replaced',
  'timedOut',
  'updates',
  'buffered',
  'orphans',
  'admitted',
  'children',
  'handMade',
  'resumed',
  'hooks',
  'deliveries',
  'delivered',
  'secondHooks',
  'recovered',
  'failing',
  'recoveredHooks',
  'disabledHooks',
  'hooksGone',
  'hooksAhead',
  'connectionCalls',
  'refusedCalls',
  'runs',
  'verifications',
  'rotations',
  'rotated',
  'rotationsFailed',
  'refreshes',
  'outages',
  'outagesOver',
  'retired',
  'guests',
  'cuts',
  'failOvers',
  'published',
  'taken',
  'relayed',
  'busOutages',
  'busLosses',
  'twins',
  'twinEffects',
] as const
export type Counted = (typeof COUNTED)[number]
export type Counts = Record<Counted, number>

export function makeCounts(): Counts {
  return Object.fromEntries(COUNTED.map((name) => [name, 0])) as Counts
}

export interface Acknowledgement {
  readonly tenant: TenantId
  readonly source: string
  readonly dedupKey: string
  readonly eventId: EventId
}

export interface Release {
  readonly at: number
  readonly proof: LedgerProof
}

/** Leave to send, as the store gave it. */
export interface Reserve {
  readonly life: Life
  readonly work: WorkId
  readonly epoch: number
  readonly eventId: EventId
  readonly consumer: string
  readonly at: number
  readonly sendBy: number
}

export interface Gone {
  readonly events: Map<EventId, StoredEvent>
  readonly work: Map<WorkId, WorkRow>
  readonly deadLetters: Map<DeadLetterId, DeadLetter>
}

export interface Observations {
  /** null: no workflow is defined in this run. */
  readonly cases: Cases | null
  readonly works: Map<WorkId, WorkRow>
  readonly entries: Map<string, LedgerEntry>
  /** By key as it was sent; without probes. */
  readonly sends: Map<string, Send[]>
  /** Keys of the calls that a member shared with others, by its own as it was sent. */
  readonly shared: Map<string, Set<string>>
  readonly releases: Map<string, Release[]>
  readonly reserves: Map<string, Reserve[]>
  /** Calls of a job since an operator reset its attempts. */
  readonly calls: Map<WorkId, Send[]>
  /** The operator's decision about a key, before it reached the engine. */
  readonly words: Map<string, ('done' | 'released')[]>
  /** Times that an item was taken from the dead. */
  readonly lost: Map<WorkId, number>
  /** Which lock the item of an upsert needs. */
  readonly locks: Map<WorkId, string>
  readonly acknowledgements: Acknowledgement[]
  /** Sources that were paused at some time. */
  readonly everPaused: Set<string>
  /** Subjects that were dispatched of an event. */
  readonly dispatched: Map<EventId, string[]>
  /** The key under which a route works on an event, by both. */
  readonly keys: Map<string, string>
  /** Markers of replays that are not over. */
  readonly replaying: Set<string>
  /** The bundles that were deployed, or about to be. */
  readonly bundles: (readonly ScenarioRoute[])[]
  /** What retention took, as it was last. */
  readonly gone: Gone
  readonly counts: Counts
  readonly violations: Violation[]
  violate(rule: Rule, message: string): void
}

export function makeObservations(
  trace: (who: string, what: () => string) => void,
  cases: Cases | null,
): Observations {
  const violations: Violation[] = []
  return {
    cases,
    works: new Map(),
    entries: new Map(),
    sends: new Map(),
    shared: new Map(),
    releases: new Map(),
    reserves: new Map(),
    calls: new Map(),
    words: new Map(),
    lost: new Map(),
    locks: new Map(),
    acknowledgements: [],
    everPaused: new Set(),
    dispatched: new Map(),
    keys: new Map(),
    replaying: new Set(),
    bundles: [],
    gone: { events: new Map(), work: new Map(), deadLetters: new Map() },
    counts: makeCounts(),
    violations,
    violate(rule, message) {
      violations.push({ rule, message })
      trace('check', () => `${rule} ${message}`)
    },
  }
}

export function addTo<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
