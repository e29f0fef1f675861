// The normal form of a subscription. What is not written, or equals the default, is left out of it where its type
// allows.

import { DISABLE_AFTER_MS, type SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { SECOND } from '../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../core/queue/retry/index.ts'
import { type Known, MAX_WAIT_MS, resolveRetry } from './resolve.ts'
import { resolveAuth } from './resolve-auth.ts'
import { resolveRate } from './resolve-buffers.ts'
import { resolveSecret } from './resolve-secrets.ts'
import type { SubscriptionInput } from './schema.ts'

const TIMEOUT_MS = 15 * SECOND

/** null: it names a profile that is not valid. */
export function resolveSubscription(
  input: SubscriptionInput,
  { profiles }: Pick<Known, 'profiles'>,
): SubscriptionDocument | null {
  const retry = input.retry === undefined ? RETRY_PROFILES.DELIVERY : resolveRetry(input.retry, { profiles })
  const rateLimit = resolveRate(input.rateLimit, profiles)
  if (retry === null || rateLimit === null) return null
  const { transform, sensitive, concurrency, order, headers = {} } = input
  return {
    kind: 'Subscription',
    name: input.name,
    description: input.description ?? null,
    url: input.url,
    on: typeof input.on === 'string' ? [input.on] : input.on,
    where: (input.where ?? null) as JsonValue,
    status: input.status ?? 'active',
    secret: input.secret === undefined ? null : resolveSecret(input.secret),
    signing: input.signing ?? 'standard',
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    retry,
    timeoutMs: milliseconds(input.timeout, TIMEOUT_MS),
    maxWaitMs: milliseconds(input.maxWait, MAX_WAIT_MS),
    disableAfterMs:
      input.disableAfter === 'never' ? null : milliseconds(input.disableAfter, DISABLE_AFTER_MS),
    deadLetter: {
      severity: input.deadLetter?.severity ?? 'medium',
      runbook: input.deadLetter?.runbook ?? null,
    },
    metadata: input.metadata ?? {},
    ...resolveAuth(input.auth),
    ...(transform === undefined ? {} : { transform: transform as JsonValue }),
    ...(sensitive === undefined ? {} : { sensitive }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(order === undefined
      ? {}
      : { order: { by: order.by, ...(order.onBlocked === 'skip' ? { onBlocked: 'skip' } : {}) } }),
  }
}

function milliseconds(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (parseDuration(text) ?? otherwise)
}
