// Turns a valid document as written into its normal form: defaults filled in, units resolved, profiles looked up.

import type {
  ActionDocument,
  ProfileDocument,
  RetryPolicy,
  RouteDocument,
  SecretRef,
  SourceDocument,
  VerifyDocument,
} from '../core/definitions/documents/index.ts'
import { MESSAGE_SUBJECT } from '../core/definitions/documents/index.ts'
import { parseDuration, parseSize } from '../core/expression/index.ts'
import { assert } from '../core/foundation/errors/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { DAY, HOUR, MINUTE } from '../core/foundation/time/index.ts'
import { MAPPINGS } from '../core/ingest/source/index.ts'
import { RETRY_PROFILES } from '../core/queue/retry/index.ts'
import { type KnownFunctions, resolveAction } from './resolve-actions.ts'
import { type Profiles, resolveBuffers, resolveDrainInline, resolveRateInline } from './resolve-buffers.ts'
import { resolveSecret } from './resolve-secrets.ts'
import { resolveWaysIn } from './resolve-sources.ts'
import type { ProfileInput, RetryInput, RouteInput, SecretInput, SourceInput } from './schema.ts'

const BODY_BYTES = 1024 * 1024
const DEPTH = 64
const DEDUP_WINDOW_MS = 7 * DAY
const TOLERANCE_MS = 5 * MINUTE
export const MAX_WAIT_MS = 24 * HOUR

const NO_MAPPING = {
  subject: null,
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
} as const

export function resolveSource(input: SourceInput): SourceDocument {
  const mapping = input.subjects === undefined ? NO_MAPPING : MAPPINGS[input.subjects]
  const subject = input.subject ?? mapping.subject ?? ownSubjectOf(input)
  assert(subject !== null, 'a source has a subject or a mapping')
  const id = input.event?.id ?? mapping.event.id
  return {
    kind: 'Source',
    name: input.name,
    description: input.description ?? null,
    // A schedule and a NATS consumer have no sender.
    verify: input.verify === undefined ? { scheme: 'closed' } : resolveVerify(input.verify),
    subject,
    event: {
      id,
      objectType: input.event?.objectType ?? mapping.event.objectType,
      objectId: input.event?.objectId ?? mapping.event.objectId,
      occurredAt: input.event?.occurredAt ?? mapping.event.occurredAt,
    },
    dedup: {
      by: input.dedup?.by ?? (id === null ? null : 'event.id'),
      windowMs: milliseconds(input.dedup?.window, DEDUP_WINDOW_MS),
    },
    limits: {
      bodyBytes: input.limits?.body === undefined ? BODY_BYTES : (parseSize(input.limits.body) ?? BODY_BYTES),
      depth: input.limits?.depth ?? DEPTH,
    },
    status: input.status ?? 'active',
    ...resolveWaysIn(input),
  }
}

/** The name of its events if it gives none. */
function ownSubjectOf({ name, schedule, nats }: SourceInput): string | null {
  if (schedule !== undefined) return `schedule.${name}`
  return nats === undefined ? null : MESSAGE_SUBJECT
}

function resolveVerify(input: NonNullable<SourceInput['verify']>): VerifyDocument {
  if (input.scheme === 'none') return { scheme: 'none' }
  const secret = resolveSecrets(input.secret)
  switch (input.scheme) {
    case 'hmac':
      return {
        scheme: 'hmac',
        secret,
        header: (input.header ?? 'x-signature').toLowerCase(),
        algorithm: input.algorithm ?? 'sha256',
        encoding: input.encoding ?? 'hex',
        prefix: input.prefix ?? '',
        signed: input.signed ?? '{{ body }}',
        timestampHeader: input.timestampHeader?.toLowerCase() ?? null,
        toleranceMs: milliseconds(input.tolerance, TOLERANCE_MS),
      }
    case 'basic':
      return { scheme: 'basic', username: input.username, secret }
    case 'api-key':
      return {
        scheme: 'api-key',
        secret,
        header: (input.header ?? 'x-api-key').toLowerCase(),
        prefix: input.prefix ?? '',
      }
    default: {
      const toleranceMs = 'tolerance' in input ? milliseconds(input.tolerance, TOLERANCE_MS) : TOLERANCE_MS
      return {
        scheme: input.scheme,
        secret,
        // Written or not, the usual one is the same document.
        ...(toleranceMs === TOLERANCE_MS ? {} : { toleranceMs }),
        ...('url' in input && input.url !== undefined ? { url: input.url } : {}),
      }
    }
  }
}

function resolveSecrets(input: SecretInput): readonly SecretRef[] {
  return (Array.isArray(input) ? input : [input]).map(resolveSecret)
}

export function resolveProfile(input: ProfileInput): ProfileDocument {
  const { name, retry, rate, drain } = input
  return {
    kind: 'Profile',
    name,
    description: input.description ?? null,
    ...(retry === undefined ? {} : { retry: resolveRetryInline(retry, name) }),
    ...(rate === undefined ? {} : { rate: resolveRateInline(rate, name) }),
    ...(drain === undefined ? {} : { drain: resolveDrainInline(drain, name) }),
  }
}

function resolveRetryInline(input: RetryInput, profile: string | null): RetryPolicy {
  return {
    profile,
    attempts: input.attempts,
    delaysMs: (input.delays ?? []).map((delay) => milliseconds(delay, 0)),
  }
}

export interface Known extends KnownFunctions {
  readonly profiles: Profiles
}

/** null: it names a profile, an agent or a provider that is not valid. */
export function resolveRoute(input: RouteInput, known: Known): RouteDocument | null {
  const buffers = resolveBuffers(input, known.profiles)
  const action = resolveAction(input.do, input.batch === undefined ? 'route' : 'batch', known)
  const retry = retryOfAgent(input, action) ?? resolveRetry(input.retry, known)
  if (retry === null || buffers === null || action === null) return null
  return {
    kind: 'Route',
    name: input.name,
    description: input.description ?? null,
    on: typeof input.on === 'string' ? [input.on] : input.on,
    where: (input.where ?? null) as JsonValue,
    status: input.status ?? 'active',
    key: input.key ?? null,
    uniqueness: input.uniqueness ?? 'operation',
    retry,
    maxWaitMs: milliseconds(input.maxWait, MAX_WAIT_MS),
    deadLetter: {
      severity: input.deadLetter?.severity ?? 'medium',
      runbook: input.deadLetter?.runbook ?? null,
    },
    do: action,
    ...buffers,
  }
}

/** An agent says how often it is asked, unless the route or step that uses it does. */
export function retryOfAgent(
  { retry }: { readonly retry?: unknown },
  action: ActionDocument | null | undefined,
): RetryPolicy | null {
  return retry === undefined && action?.type === 'agent' ? (action.agent.retry ?? null) : null
}

export function resolveRetry(input: RouteInput['retry'], known: Pick<Known, 'profiles'>): RetryPolicy | null {
  if (input === undefined) return RETRY_PROFILES.STANDARD
  if (typeof input !== 'string') return resolveRetryInline(input, null)
  const named: Readonly<Record<string, RetryPolicy>> = RETRY_PROFILES
  const own = known.profiles.get(input)
  if (own !== undefined) return own.retry ?? null
  return Object.hasOwn(named, input) ? (named[input] ?? null) : null
}

function milliseconds(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (parseDuration(text) ?? otherwise)
}
