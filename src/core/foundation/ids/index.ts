// Makes and parses branded ids. An id is a prefix and a UUIDv7, so that rows made together are adjacent in an index. Time and randomness are
// arguments: the same inputs give the same id.

import type { Instant } from '../time/index.ts'

export { isReplayId } from './replay-id.ts'

type Brand<Name extends string> = string & { readonly __brand: Name }

export type TenantId = Brand<'TenantId'>
export type EventId = Brand<'EventId'>
export type WorkId = Brand<'WorkId'>
export type DeadLetterId = Brand<'DeadLetterId'>
export type FailureId = Brand<'FailureId'>
export type RunId = Brand<'RunId'>
export type EscalationId = Brand<'EscalationId'>
export type InstanceId = Brand<'InstanceId'>
export type OrphanId = Brand<'OrphanId'>
/** A node's name; it survives restarts. */
export type NodeId = Brand<'NodeId'>
/** One life of a node: assigned by the store, only grows. */
export type Incarnation = number & { readonly __brand: 'Incarnation' }

export const DEFAULT_TENANT = 'default' as TenantId

export interface Ids {
  event(): EventId
  work(): WorkId
  deadLetter(): DeadLetterId
  escalation(): EscalationId
  instance(): InstanceId
  orphan(): OrphanId
  /** For an integration run without a job; the others derive their ids from their jobs (core/effects/integration-run). */
  run(): RunId
  /** A bare UUIDv7 for correlation and trace ids. */
  uuid(): string
}

const WHOLE_ID = /^(evt|wrk)_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What a text names if it is exactly one event or job id. */
export function readWholeId(text: string): { event: EventId } | { work: WorkId } | null {
  const prefix = WHOLE_ID.exec(text)?.[1]
  if (prefix === undefined) return null
  return prefix === 'evt' ? { event: text as EventId } : { work: text as WorkId }
}

/** The smallest event id of the millisecond: ids made before are smaller, ids made from then on are not. */
export function eventIdAt(at: Instant): EventId {
  return `evt_${uuidAt(at)}` as EventId
}

/** As `eventIdAt`. */
export function workIdAt(at: Instant): WorkId {
  return `wrk_${uuidAt(at)}` as WorkId
}

/** As `eventIdAt`. An instance has the time of the job that started it. */
export function instanceIdAt(at: Instant): InstanceId {
  return `ins_${uuidAt(at)}` as InstanceId
}

/** As `eventIdAt`. A run has the time of the job that it belongs to. */
export function runIdAt(at: Instant): RunId {
  return `run_${uuidAt(at)}` as RunId
}

function uuidAt(at: Instant): string {
  const hex = Math.min(Math.max(0, Math.floor(at)), 0xffff_ffff_ffff)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const HEX_CODES = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))
const DASH = '-'.charCodeAt(0)
const UUID_LENGTH = 36
const BYTES_PER_ID = 8
const POOL_IDS = 256

/**
 * UUIDv7 (RFC 9562): 48 bits of milliseconds, a 12-bit counter that orders ids of one millisecond, 62 random bits. Built as
 * character codes and converted once: concatenated from pieces, each id would retain a rope of strings until it is flattened.
 */
class UuidWriter {
  readonly #codes: number[]
  readonly #start: number
  #at = 0

  constructor(prefix: string) {
    this.#start = prefix.length
    this.#codes = Array.from(prefix.padEnd(prefix.length + UUID_LENGTH, '-'), (char) => char.charCodeAt(0))
  }

  write(at: Instant, counter: number, random: Uint8Array, offset: number): string {
    const high = Math.floor(at / 0x1_0000_0000)
    const low = at >>> 0
    this.#at = this.#start
    this.#byte(high >>> 8)
    this.#byte(high)
    this.#byte(low >>> 24)
    this.#byte(low >>> 16)
    this.#dash()
    this.#byte(low >>> 8)
    this.#byte(low)
    this.#dash()
    this.#byte(0x70 | (counter >>> 8))
    this.#byte(counter)
    this.#dash()
    this.#byte(0x80 | ((random[offset] as number) & 0x3f))
    this.#byte(random[offset + 1] as number)
    this.#dash()
    for (let index = 2; index < BYTES_PER_ID; index += 1) this.#byte(random[offset + index] as number)
    return String.fromCharCode.apply(null, this.#codes)
  }

  #byte(value: number): void {
    this.#codes[this.#at++] = HEX_CODES[(value >>> 4) & 0xf] as number
    this.#codes[this.#at++] = HEX_CODES[value & 0xf] as number
  }

  #dash(): void {
    this.#codes[this.#at++] = DASH
  }
}

export function makeIds(deps: { now(): Instant; bytes(length: number): Uint8Array }): Ids {
  let last = 0
  let counter = 0
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  const next = (writer: UuidWriter): string => {
    const now = deps.now()
    if (now > last) {
      last = now
      counter = 0
    } else if (++counter > 0xfff) {
      last += 1
      counter = 0
    }
    if (used + BYTES_PER_ID > pool.length) {
      pool = deps.bytes(BYTES_PER_ID * POOL_IDS)
      used = 0
    }
    const text = writer.write(last, counter, pool, used)
    used += BYTES_PER_ID
    return text
  }
  const [events, works] = [new UuidWriter('evt_'), new UuidWriter('wrk_')]
  const [deadLetters, escalations] = [new UuidWriter('dlq_'), new UuidWriter('esc_')]
  const [instances, orphans] = [new UuidWriter('ins_'), new UuidWriter('orp_')]
  const runs = new UuidWriter('run_')
  const bare = new UuidWriter('')
  return {
    event: () => next(events) as EventId,
    work: () => next(works) as WorkId,
    deadLetter: () => next(deadLetters) as DeadLetterId,
    escalation: () => next(escalations) as EscalationId,
    instance: () => next(instances) as InstanceId,
    orphan: () => next(orphans) as OrphanId,
    run: () => next(runs) as RunId,
    uuid: () => next(bare),
  }
}
