// What to do about an effect when the ledger already knows its key.
//
// Invariants: L1 a call is made only over an open reserve of one's own. L2 an unknown outcome is probed if the
// operation can, repeated if that is harmless or the vendor still remembers the key, and otherwise waits for a
// person. L3 what another live item holds is waited for. L4 evidence of success settles an unknown.

import type { WorkId } from '../../foundation/ids/index.ts'
import { parseJson, stringifyJson } from '../../foundation/json/index.ts'
import { type Instant, SECOND } from '../../foundation/time/index.ts'
import type { LedgerEntry, LedgerState } from './ledger.ts'

/** What the operation is able to do about doubt. */
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
  /** Take the entry up again, guarded by what was found. */
  | { readonly step: 'reserve' }
  /** The effect is there. `own`: this very item made it. */
  | { readonly step: 'hit'; readonly own: boolean }
  /** A stale owner of this item saw the acknowledgement. */
  | { readonly step: 'believe' }
  /** A crash left this item's reserve behind: it may have been sent. */
  | { readonly step: 'doubt' }
  | { readonly step: 'probe' }
  | { readonly step: 'wait'; readonly delayMs: number; readonly for: 'other' | 'probe' }
  | { readonly step: 'park' }

/** The first wait for somebody else's key; it doubles up to the last. */
const WAIT_FIRST_MS = 1 * SECOND
const WAIT_LAST_MS = 300 * SECOND

export const EVIDENCE_ACKNOWLEDGED = 'acknowledged'

export interface EffectQuestion {
  readonly entry: LedgerEntry
  readonly work: WorkId
  readonly epoch: number
  readonly consumer: string
  /** Times that this item waited already. */
  readonly waits: number
  /** Which repetition the item is; left out: the first. */
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

/** A person wants the effect once more: only over one that is settled, so that two calls are never in doubt under one key. */
function decideRepetition({ entry, waits }: EffectQuestion): EffectStep {
  const isSettled = entry.state === 'done' || entry.state === 'released'
  return isSettled ? { step: 'reserve' } : waitForOther(waits)
}

function resolveUnknown(question: EffectQuestion, own: boolean): EffectStep {
  const { entry, abilities, now } = question
  // Another operation made this call: our probe asks about ours, and ours may be repeated where theirs may not.
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

/** The key must outlive the whole of another call, or the vendor might forget it under our hands. */
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

/** The key as the vendor and expressions see it: each repetition on purpose is an effect of its own to them. */
export function keyOfGeneration(key: string, generation: number): string {
  return generation > 1 ? `${key}#${generation}` : key
}

/** What a stale owner leaves in the ledger: the answer came, where the effect is, and what it gave where that is kept. */
export function acknowledgement(
  epoch: number,
  effectRef: string | null,
  result: string | null = null,
): string {
  const seen = result === null ? { epoch, effectRef } : { epoch, effectRef, result }
  return `${EVIDENCE_ACKNOWLEDGED} ${stringifyJson(seen)}`
}

/** Where the acknowledged effect is, by the evidence; null when nobody knows. */
export function acknowledgedRef(entry: LedgerEntry): string | null {
  return acknowledgedField(entry, 'effectRef')
}

/** What the acknowledged effect gave, as JSON text; null when it was not kept. */
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

/** The effect is there, by the ledger or by evidence in it. */
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
