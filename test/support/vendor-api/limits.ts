// How a vendor limits its callers, and in which format it reports it. A window of fixed length; calls over it are
// refused.

export const LIMIT_DIALECTS = ['github', 'gitlab', 'ietf', 'ietf-old', 'retry-after', 'slack'] as const
/**
 * `github`: `x-ratelimit-*` with the reset as epoch seconds, 403. `gitlab`: `ratelimit-*` with epoch seconds, 429. `ietf`: the structured
 * `RateLimit` and `RateLimit-Policy`. `ietf-old`: `ratelimit-*` with seconds from now. `retry-after`: nothing but that. `slack`: the same,
 * with its own body.
 */
export type LimitDialect = (typeof LIMIT_DIALECTS)[number]

export interface VendorLimit {
  readonly limit: number
  readonly windowMs: number
  readonly dialect: LimitDialect
}

export interface Limited {
  readonly isOver: boolean
  readonly headers: Readonly<Record<string, string>>
  /** Of the refusal. */
  readonly status: number
  readonly body: unknown
}

export function makeLimiter({ limit, windowMs, dialect }: VendorLimit, now: () => number): () => Limited {
  let windowFrom = Number.NEGATIVE_INFINITY
  let used = 0
  return () => {
    const at = now()
    if (at >= windowFrom + windowMs) {
      windowFrom = at
      used = 0
    }
    used += 1
    const isOver = used > limit
    const remaining = Math.max(0, limit - used)
    const resetAt = windowFrom + windowMs
    return {
      isOver,
      headers: headersOf(dialect, { limit, remaining, resetAt, at, windowMs, isOver }),
      status: dialect === 'github' ? 403 : 429,
      body: bodyOf(dialect),
    }
  }
}

interface Standing {
  readonly limit: number
  readonly remaining: number
  readonly resetAt: number
  readonly at: number
  readonly windowMs: number
  readonly isOver: boolean
}

function headersOf(dialect: LimitDialect, standing: Standing): Readonly<Record<string, string>> {
  const { limit, remaining, resetAt, at, windowMs, isOver } = standing
  const epochSeconds = String(Math.ceil(resetAt / 1_000))
  const seconds = String(Math.ceil((resetAt - at) / 1_000))
  const retryAfter: Readonly<Record<string, string>> = isOver ? { 'retry-after': seconds } : {}
  switch (dialect) {
    case 'github':
      return {
        'x-ratelimit-limit': String(limit),
        'x-ratelimit-remaining': String(remaining),
        'x-ratelimit-used': String(limit - remaining),
        'x-ratelimit-reset': epochSeconds,
        'x-ratelimit-resource': 'core',
      }
    case 'gitlab':
      return {
        'ratelimit-limit': String(limit),
        'ratelimit-observed': String(limit - remaining),
        'ratelimit-remaining': String(remaining),
        'ratelimit-reset': epochSeconds,
        ...retryAfter,
      }
    case 'ietf':
      return {
        'ratelimit-policy': `"default";q=${limit};w=${Math.ceil(windowMs / 1_000)}`,
        ratelimit: `"default";r=${remaining};t=${seconds}`,
        ...retryAfter,
      }
    case 'ietf-old':
      return {
        'ratelimit-limit': String(limit),
        'ratelimit-remaining': String(remaining),
        'ratelimit-reset': seconds,
        ...retryAfter,
      }
    case 'retry-after':
    case 'slack':
      return retryAfter
  }
}

function bodyOf(dialect: LimitDialect): unknown {
  if (dialect === 'github') return { message: 'API rate limit exceeded for this account.' }
  if (dialect === 'slack') return { ok: false, error: 'ratelimited' }
  return { message: 'Too many requests' }
}
