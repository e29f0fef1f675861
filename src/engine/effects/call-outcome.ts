// Pure helpers of a call: what the ledger, the note and the attempt record.

import type { ParsedResponse, RenderedRequest } from '../../core/effects/action/index.ts'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import { type CallFacts, parseRetryAfter, refusalWords } from '../../core/failures/failure/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import {
  type Attempt,
  type Counters,
  EMPTY_NOTE,
  type FailureStep,
  type Note,
} from '../../core/queue/work/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import type { Guard, Write } from '../../ports/store.ts'
import type { Item } from '../leases/index.ts'
import type { Call } from './call.ts'

export function leaseGuard({ owner, work }: Item): Guard {
  return { g: 'lease', work: work.id, owner, epoch: work.epoch }
}

/** The reserve of `key` that this very claim of the job made. */
export function reserveGuard({ work }: Item, key: string): Guard {
  return { g: 'ledger', key, state: 'reserved', work: work.id, epoch: work.epoch }
}

/** Neither an earlier claim of the job nor a job that it replays can have acted: the ledger need not be read first. */
export function isFresh(item: Item): boolean {
  return item.work.replayOf === null && isFirstRun(item)
}

/**
 * The first claim of this very job: nothing can be reserved in its name. Counters do not show this: a node that
 * stops gives its running jobs back without recording what they did.
 */
export function isFirstRun({ work }: Item): boolean {
  return work.epoch === 1
}

export function unreservedGuard(key: string): Guard {
  return { g: 'unreserved', key }
}

export function ledgerGuard(entry: LedgerEntry): Guard {
  return { g: 'ledger', key: entry.key, state: entry.state, work: entry.work, epoch: entry.epoch }
}

export function settleLedger(
  key: string,
  to: 'done' | 'released' | 'unknown',
  proof: Extract<Write, { w: 'ledger.settle' }>['proof'],
  effectRef: string | null,
  result: string | null,
): Write {
  return { w: 'ledger.settle', key, to, proof, effectRef, result }
}

export function newEntry(item: Item, key: string): Extract<Write, { w: 'ledger.reserve' }>['entry'] {
  const { work, event } = item
  return {
    key,
    work: work.id,
    epoch: work.epoch,
    consumer: work.consumer,
    eventId: event.id,
    objectId: event.objectId,
    payloadHash: event.payloadHash,
    correlationId: event.correlationId,
    ...(work.generation > 1 ? { generation: work.generation } : {}),
  }
}

export function countersOf({ work }: Item): Counters {
  return { attempts: work.attempts, waits: work.waits, losses: work.losses }
}

export function noteOf({ key }: Call, known: Partial<Note>): Note {
  return { ...EMPTY_NOTE, key, ...known }
}

export function measured(outcome: HttpOutcome): Pick<Note, 'httpStatus' | 'durationMs'> {
  return {
    httpStatus: outcome.kind === 'response' ? outcome.status : null,
    durationMs: Math.round(outcome.durationMs),
  }
}

export function factsOf(outcome: HttpOutcome, now: Instant): CallFacts {
  if (outcome.kind === 'failed') return { kind: 'failed', sent: outcome.sent, code: outcome.code }
  const retryAfterMs = parseRetryAfter(outcome.headers['retry-after'], now)
  return { kind: 'response', status: outcome.status, retryAfterMs }
}

export function neverSent(outcome: HttpOutcome): boolean {
  return outcome.kind === 'failed' && outcome.sent === 'no'
}

export function errorText(outcome: HttpOutcome): string {
  return outcome.kind === 'response' ? `answered ${outcome.status}` : `${outcome.code}: ${outcome.message}`
}

/** Includes the vendor's error text, for the operators who fix it. It may quote the payload: never log it. */
export function errorTextInFull(outcome: HttpOutcome): string {
  const words = outcome.kind === 'response' ? refusalWords(outcome.body) : null
  return words === null ? errorText(outcome) : `${errorText(outcome)}${SAYING}${words}`
}

export const SAYING = ', saying: '

/** The part of such a text that may be logged. */
export function withoutWords(error: string): string {
  const at = error.indexOf(SAYING)
  return at === -1 ? error : error.slice(0, at)
}

export function outcomeWord(step: FailureStep): Attempt['outcome'] {
  return step.step === 'again' ? 'again' : step.step === 'park' ? 'parked' : 'dead'
}

export function attemptOf(
  number: number,
  startedAt: Instant,
  outcome: HttpOutcome,
  word: Attempt['outcome'],
  failureClass: Attempt['class'],
  error: string | null,
): Attempt {
  const { httpStatus, durationMs } = measured(outcome)
  return {
    number,
    startedAt,
    durationMs: durationMs ?? 0,
    outcome: word,
    class: failureClass,
    httpStatus,
    error,
  }
}

export function resultText(response: ParsedResponse, bytesMax: number): string | null {
  const text = stringifyJson({ status: response.status, body: response.body } as JsonValue)
  return text.length > bytesMax ? null : text
}

/** For an action whose result is its own value. */
export function valueText(value: JsonValue, bytesMax: number): string | null {
  const text = stringifyJson(value)
  return text.length > bytesMax ? null : text
}

export function hostOf(url: string): string | null {
  const match = /^https?:\/\/([^/?#]+)/i.exec(url)
  return match?.[1] ?? null
}

/** W3C trace context: the event's trace continues at the vendor, with the job as its parent span. */
export function traceparentOf({ work, event }: Pick<Item, 'work' | 'event'>): string {
  const span = work.id.replaceAll('-', '').slice(-16)
  return `00-${event.traceId}-${span}-01`
}

export function traced({ item, request }: Pick<Call, 'item' | 'request'>): RenderedRequest {
  return { ...request, headers: { traceparent: traceparentOf(item), ...request.headers } }
}
