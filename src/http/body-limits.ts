// How much of a body each kind of request may send: what its fields can hold at their longest, and little more. None takes more than
// `MILLRACE_BODY_LIMIT`.

import { AppError } from '../core/foundation/errors/index.ts'

const KIB = 1_024

export const BODY_BYTES_MAX = {
  /** Names, reasons and switches. */
  small: 16 * KIB,
  /** As many ids as a request may name. */
  ids: 128 * KIB,
  /** A secret whose every character is escaped. */
  secret: 512 * KIB,
  /** A route that is not applied, beside an event. */
  yaml: 512 * KIB,
  /** What definitions may hold in all, and what quoting adds. */
  files: 2 * KIB * KIB,
} as const

/** The framework's refusal with the limit that was passed; null for any other error. */
export function tooLarge(error: unknown, limit: number | undefined, bodyBytesMax: number): AppError | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code !== 'FST_ERR_CTP_BODY_TOO_LARGE' || limit === undefined) return null
  return bodyTooLarge(limit, bodyBytesMax)
}

export function bodyTooLarge(limit: number, bodyBytesMax: number): AppError {
  const next =
    limit === bodyBytesMax
      ? 'Send less, or raise the node’s `MILLRACE_BODY_LIMIT`.'
      : limit === BODY_BYTES_MAX.files
        ? 'Send fewer files at once.'
        : 'Send less: leave out what this request does not take.'
  return new AppError('body_too_large', `the limit here is ${limit} bytes`, { next, details: { limit } })
}
