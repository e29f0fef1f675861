// What the response to a call says about the limits of the other side.

import { type Limits, readLimits } from '../../core/flow-control/rate/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'

export interface LimitsSaid {
  /** 429; or a 403 by which some say the same, with nothing left. */
  readonly isLimited: boolean
  /** null: it says nothing. */
  readonly limits: Limits | null
}

export function limitsSaid(outcome: HttpOutcome, now: Instant): LimitsSaid {
  if (outcome.kind === 'failed') return { isLimited: false, limits: null }
  const limits = readLimits(outcome.headers, now)
  const { status } = outcome
  return { isLimited: status === 429 || (status === 403 && limits?.remaining === 0), limits }
}
