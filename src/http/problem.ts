// Refusals and failures as problem documents (RFC 9457), from the one table of errors.
//
// Only an AppError's own text is shown. Whatever else was thrown is our failure: the caller gets its number, the log the
// rest.

import { AppError, ERRORS, type ErrorCode } from '../core/foundation/errors/index.ts'
import { StoreError } from '../ports/store.ts'
import { describeFaults, type SchemaFault } from './request-faults.ts'

export const PROBLEM_TYPE = 'application/problem+json'

export interface Problem {
  /** A reference relative to this server, which explains it there. */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ErrorCode
  readonly next: string
  /** Names this one answer, here and in the log. */
  readonly instance: string
  readonly details?: Readonly<Record<string, unknown>>
}

export function toProblem(error: unknown, requestId: string): Problem {
  const known = toAppError(error)
  const { title, status } = ERRORS[known.code]
  return {
    type: `/errors/${known.code}`,
    title,
    status,
    detail: known.message,
    code: known.code,
    next: known.next,
    instance: `/requests/${requestId}`,
    ...(Object.keys(known.details).length > 0 && { details: known.details }),
  }
}

/** Headers that go with a status, whichever code writes the response. */
export function problemHeaders(problem: Problem): Readonly<Record<string, string>> {
  switch (problem.status) {
    case 401:
      return { 'www-authenticate': 'Bearer' }
    case 405: {
      const allow = problem.details?.allow
      return Array.isArray(allow) ? { allow: allow.join(', ') } : {}
    }
    case 409:
      if (problem.code !== 'idempotency_running') return {}
      return { 'retry-after': String(problem.details?.retryAfterSeconds ?? 1) }
    case 429:
      return { 'retry-after': String(problem.details?.retryAfterSeconds ?? 1) }
    case 503:
      return { 'retry-after': '1' }
    default:
      return {}
  }
}

/** Ours to look into, not the caller's. */
export function isOurFailure(error: unknown): boolean {
  const { code } = toAppError(error)
  return code === 'internal' || code === 'store_unavailable'
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof StoreError) {
    if (error.code === 'invalid_cursor') return new AppError('invalid_cursor', undefined, { cause: error })
    return new AppError('store_unavailable', undefined, { cause: error })
  }
  return fromFastify(error) ?? new AppError('internal', undefined, { cause: error })
}

interface FastifyRefusal {
  readonly code?: unknown
  readonly statusCode?: unknown
  readonly validation?: readonly SchemaFault[]
  readonly validationContext?: string
}

const BY_FASTIFY_CODE: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'wrong_type',
}

/** Refusals of the framework itself; its texts are about the request, so they can be shown. */
function fromFastify(error: unknown): AppError | null {
  if (typeof error !== 'object' || error === null) return null
  const refusal = error as FastifyRefusal
  if (refusal.validation !== undefined) {
    return invalidRequest(refusal.validation, refusal.validationContext)
  }
  const code = typeof refusal.code === 'string' ? BY_FASTIFY_CODE[refusal.code] : undefined
  if (code !== undefined) return new AppError(code)
  const status = typeof refusal.statusCode === 'number' ? refusal.statusCode : 500
  if (status >= 500 || !(error instanceof Error)) return null
  return new AppError('invalid_request', error.message)
}

const WHERE: Readonly<Record<string, string>> = { querystring: 'query', params: 'path', headers: 'header' }
const FAULTS_TOLD_MAX = 3

function invalidRequest(faults: readonly SchemaFault[], context = 'request'): AppError {
  const fields = describeFaults(faults)
  const where = WHERE[context] ?? context
  const told = fields.slice(0, FAULTS_TOLD_MAX).map(({ path, message }) => `${where} ${path} ${message}`)
  if (fields.length > told.length) told.push(`and ${fields.length - told.length} more`)
  return new AppError('invalid_request', told.join('; '), { details: { fields } })
}
