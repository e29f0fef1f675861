// Inflates compressed bodies: on the thread pool, a few at a time, and never beyond the limit.
// Verified and unverified senders have separate inflaters, so that a sender without a secret cannot
// delay the others.
//
// Invariants: GU17 nothing is inflated beyond the limit that the caller gives, nor beyond `RATIO_MAX` times what came, so that
// a bomb is refused after a few chunks. What is broken or cut off is refused whole.

import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { AppError } from '../core/foundation/errors/index.ts'
import type { Encoding } from '../core/ingest/request-body/index.ts'

/** JSON and forms shrink to a tenth, tables of zeros to a hundredth; bombs to a thousandth and less. */
const RATIO_MAX = 200
/** So much may come out of anything, however small. */
const FREE_BYTES = 65_536

export interface InflaterLimits {
  /** Threads of the pool are also needed by others, and each of these holds a buffer. */
  readonly atOnceMax: number
  /** More are refused. */
  readonly waitingMax: number
}

export const OF_VERIFIED: InflaterLimits = { atOnceMax: 3, waitingMax: Number.POSITIVE_INFINITY }
/** What a stranger sends costs more here than it cost to send. */
export const OF_STRANGERS: InflaterLimits = { atOnceMax: 1, waitingMax: 256 }

type Decompress = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number },
  done: (error: Error | null, result: Buffer) => void,
) => void

export type Inflater = (encoding: Encoding, bytes: Uint8Array, bytesMax: number) => Promise<Uint8Array>

export function makeInflater({ atOnceMax, waitingMax }: InflaterLimits): Inflater {
  let running = 0
  const waiting: (() => void)[] = []
  const enter = (): Promise<void> | null => {
    if (running < atOnceMax) {
      running += 1
      return null
    }
    if (waiting.length >= waitingMax) {
      throw new AppError('overloaded', 'too many compressed bodies wait to be verified')
    }
    return new Promise((resolve) => waiting.push(resolve))
  }
  const leave = () => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
  return async (encoding, bytes, bytesMax) => {
    await enter()
    try {
      return await inflateWithin(encoding, bytes, bytesMax)
    } finally {
      leave()
    }
  }
}

function inflateWithin(encoding: Encoding, bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  const byRatio = Math.max(FREE_BYTES, bytes.byteLength * RATIO_MAX)
  const maxOutputLength = Math.min(bytesMax, byRatio)
  return new Promise((resolve, reject) => {
    decompressorOf(encoding, bytes)(bytes, { maxOutputLength }, (error, result) => {
      if (error === null) resolve(result)
      else if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') {
        reject(new AppError('body_unreadable', `the body is not ${encoding}, or not whole`))
      } else {
        const rule = byRatio < bytesMax ? `${RATIO_MAX} times its compressed size` : `${bytesMax} bytes`
        reject(new AppError('body_too_large', `inflated, the body is larger than ${rule}`))
      }
    })
  })
}

const ZLIB_METHOD = 8

function decompressorOf(encoding: Encoding, bytes: Uint8Array): Decompress {
  switch (encoding) {
    case 'gzip':
      return gunzip
    case 'br':
      return brotliDecompress
    case 'deflate':
      // Meant is the format of zlib; some senders leave its two bytes out.
      return ((bytes[0] ?? 0) & 0x0f) === ZLIB_METHOD ? inflate : inflateRaw
  }
}
