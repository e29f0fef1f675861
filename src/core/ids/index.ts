// Branded ids. An id is a prefix and a UUIDv7, so that rows made together lie together in an index.
// Time and chance are arguments: the same inputs give the same id.

import type { Instant } from '../time/index.ts'

type Brand<Name extends string> = string & { readonly __brand: Name }

export type TenantId = Brand<'TenantId'>
export type EventId = Brand<'EventId'>
export type WorkId = Brand<'WorkId'>
export type CommitId = Brand<'CommitId'>
export type DeadLetterId = Brand<'DeadLetterId'>
/** A node's name; it stays over restarts. */
export type NodeId = Brand<'NodeId'>
/** One life of a node: given by the store, only grows. */
export type Incarnation = number & { readonly __brand: 'Incarnation' }

export const DEFAULT_TENANT = 'default' as TenantId

export interface Ids {
  event(): EventId
  work(): WorkId
  commit(): CommitId
  deadLetter(): DeadLetterId
  /** A bare UUIDv7 for correlation and trace ids. */
  uuid(): string
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** UUIDv7 (RFC 9562): 48 bits of milliseconds, a 12-bit counter that keeps ids of one millisecond in order, 62 random bits. */
function formatUuid(at: Instant, counter: number, random: Uint8Array, offset: number): string {
  const high = Math.floor(at / 0x1_0000_0000)
  const low = at >>> 0
  const hex = (index: number) => HEX[random[offset + index] as number] as string
  return (
    (HEX[(high >>> 8) & 0xff] as string) +
    HEX[high & 0xff] +
    HEX[low >>> 24] +
    HEX[(low >>> 16) & 0xff] +
    '-' +
    HEX[(low >>> 8) & 0xff] +
    HEX[low & 0xff] +
    '-' +
    HEX[0x70 | (counter >>> 8)] +
    HEX[counter & 0xff] +
    '-' +
    HEX[0x80 | ((random[offset] as number) & 0x3f)] +
    hex(1) +
    '-' +
    hex(2) +
    hex(3) +
    hex(4) +
    hex(5) +
    hex(6) +
    hex(7)
  )
}

const BYTES_PER_ID = 8
const POOL_IDS = 256

export function makeIds(deps: { now(): Instant; bytes(length: number): Uint8Array }): Ids {
  let last = 0
  let counter = 0
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  const uuid = (): string => {
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
    const text = formatUuid(last, counter, pool, used)
    used += BYTES_PER_ID
    return text
  }
  return {
    event: () => `evt_${uuid()}` as EventId,
    work: () => `wrk_${uuid()}` as WorkId,
    commit: () => `cmt_${uuid()}` as CommitId,
    deadLetter: () => `dlq_${uuid()}` as DeadLetterId,
    uuid,
  }
}
