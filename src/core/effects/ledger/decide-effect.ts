// Decides what to do about an effect whose key is already in the ledger.
//
// Invariants: L1 a call is made only over an open reserve of one's own. L2 an unknown outcome is probed if the operation can
// be, repeated if that is harmless or the vendor still remembers the key, and otherwise waits for an operator. L3 a key that
// another live job holds is waited for. L4 evidence of success settles an unknown outcome.

import type { WorkId } from '../../foundation/ids/index.ts'
import { parseJson, stringifyJson } from '../../foundation/json/index.ts'
import { type Instant, SECOND } from '../../foundation/time/index.ts'
import type { LedgerEntry, LedgerState } from './ledger.ts'

/** What the operation can do about an unknown outcome. */
export interface EffectAbilities {
  readonly idempotent: boolean
  /** null: the vendor does not remember keys. */
  readonly keyTtlMs: number | null
  /** null: it cannot be probed. */
  readonly probeAfterMs: number | null
  /** The longest a call may take. */
  readonly timeoutMs: number
}

export type EffectStep =
  /** Reserve the entry again, guarded by the state that was read. */
  | { readonly step: 'reserve' }
  /** The effect exists. `own`: this very job made it. */
  | { readonly step: 'hit'; readonly own: boolean }
  /** A stale owner of this job saw the acknowledgement. */
  | { readonly step: 'believe' }
  /** A crash left this job's reserve behind: the call may have been sent. */
  | { readonly step: 'doubt' }
  | { readonly step: 'probe' }
  | { readonly step: 'wait'; readonly delayMs: number; readonly for: 'other' | 'probe' }
  | { readonly step: 'park' }

/** The first wait for another job's key; it doubles up to the last. */
const WAIT_FIRST_MS = 1 * SECOND
const WAIT_LAST_MS = 300 * SECOND

export const EVIDENCE_ACKNOWLEDGED = 'acknowledged'

export interface EffectQuestion {
  readonly entry: LedgerEntry
  readonly work: WorkId
  readonly epoch: number
  readonly consumer: string
  /** How often this job already waited. */
  readonly waits: number
  /** The generation of the job; left out: the first. */
  readonly generation?: number
  readonly abilities: EffectAbilities
  readonly now: Instant
}

export function decideEffect(question: EffectQuestion): EffectStep {
  const { entry, work } = question
  const own = entry.work === work
  if (entry.generation < (question.generation ?? 1)) return decideRepetition(question)
  switch (entry.state) {
    case 'done':
      return { step: 'hit', own }
    case 'released':
      return { step: 'reserve' }
    case 'reserved':
      if (!own) return waitForOther(question.waits)
      if (hasAcknowledgement(entry)) return { step: 'believe' }
      return { step: 'doubt' }
    case 'unknown':
      if (hasAcknowledgement(entry)) return { step: 'believe' }
      return resolveUnknown(question, own)
  }
}

/**
 * An operator wants the effect once more: only over a settled one, so that two calls with unknown outcomes never share one key.
 */
function decideRepetition({ entry, waits }: EffectQuestion): EffectStep {
  const isSettled = entry.state === 'done' || entry.state === 'released'
  return isSettled ? { step: 'reserve' } : waitForOther(waits)
}

function resolveUnknown(question: EffectQuestion, own: boolean): EffectStep {
  const { entry, abilities, now } = question
  // A different operation made this call: our probe asks about ours, and ours may be repeatable where theirs is not.
  if (entry.consumer !== question.consumer) return waitForOther(question.waits)
  if (abilities.probeAfterMs !== null) {
    const calmAt = lastPossibleSend(entry) + abilities.timeoutMs + abilities.probeAfterMs
    return now >= calmAt ? { step: 'probe' } : { step: 'wait', delayMs: calmAt - now, for: 'probe' }
  }
  if (abilities.idempotent || vendorRemembers(question)) return { step: 'reserve' }
  return own ? { step: 'park' } : waitForOther(question.waits)
}

function lastPossibleSend(entry: LedgerEntry): Instant {
  return entry.sendBy ?? entry.settledAt ?? entry.createdAt
}

/** The key must outlive the whole of another call, or the vendor might forget it midway. */
function vendorRemembers({ entry, abilities, now }: EffectQuestion): boolean {
  return abilities.keyTtlMs !== null && now + abilities.timeoutMs < entry.createdAt + abilities.keyTtlMs
}

function waitForOther(waits: number): EffectStep {
  return {
    step: 'wait',
    delayMs: Math.min(WAIT_LAST_MS, WAIT_FIRST_MS * 2 ** Math.min(waits, 20)),
    for: 'other',
  }
}

/** The key as the vendor and expressions see it: to them each deliberate repetition is an effect of its own. */
export function keyOfGeneration(key: string, generation: number): string {
  return generation > 1 ? `${key}#${generation}` : key
}

/**
 * The evidence that a stale owner leaves in the ledger: the call was acknowledged, the effect's reference, and its result where
 * results are stored.
 */
export function acknowledgement(
  epoch: number,
  effectRef: string | null,
  result: string | null = null,
): string {
  const seen = result === null ? { epoch, effectRef } : { epoch, effectRef, result }
  return `${EVIDENCE_ACKNOWLEDGED} ${stringifyJson(seen)}`
}

/** The acknowledged effect's reference, by the evidence; null when unknown. */
export function acknowledgedRef(entry: LedgerEntry): string | null {
  return acknowledgedField(entry, 'effectRef')
}

/** The acknowledged effect's result, as JSON text; null when it was not stored. */
export function acknowledgedResult(entry: LedgerEntry): string | null {
  return acknowledgedField(entry, 'result')
}

function acknowledgedField(entry: LedgerEntry, field: 'effectRef' | 'result'): string | null {
  for (const text of entry.evidence) {
    if (!text.startsWith(EVIDENCE_ACKNOWLEDGED)) continue
    const seen = parseJson(text.slice(EVIDENCE_ACKNOWLEDGED.length)) as Record<string, string | null>
    const value = seen[field] ?? null
    if (value !== null) return value
  }
  return null
}

/** The effect exists, by the ledger or by evidence in it. */
export function isProved(entry: LedgerEntry | null, generation = 1): boolean {
  if (entry === null || entry.generation < generation) return false
  return entry.state === 'done' || (entry.state !== 'released' && hasAcknowledgement(entry))
}

function hasAcknowledgement(entry: LedgerEntry): boolean {
  return entry.evidence.some((text) => text.startsWith(EVIDENCE_ACKNOWLEDGED))
}

/** Which states may follow which. `reserved` after `unknown` is a repeat that is harmless or that the vendor dedups. */
export const LEDGER_STEPS: Readonly<Record<LedgerState | 'absent', readonly LedgerState[]>> = {
  absent: ['reserved', 'done'],
  reserved: ['done', 'released', 'unknown'],
  unknown: ['done', 'released', 'reserved'],
  released: ['reserved', 'done'],
  done: [],
}
