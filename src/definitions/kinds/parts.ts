// Parts that several kinds have, as written and in their normal form: the envelope, retries, rates, drains, circuits,
// dead letters, secrets and inline auth. A schema is built when its kind is first used.

import * as z from 'zod'
import {
  type ActionDocument,
  type AuthDocument,
  type CircuitPolicy,
  DRAIN_PROFILES,
  type DrainPolicy,
  ENVIRONMENTS,
  type ProfileDocument,
  type RatePolicy,
  RETRY_CAUSES,
  type RetryPolicy,
  type SecretRef,
  USUAL_CIRCUIT,
  usualBurst,
} from '../../core/definitions/documents/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { type Backoff, backoffDelays, RETRY_PROFILES } from '../../core/queue/retry/index.ts'
import {
  constant,
  documentName,
  duration,
  field,
  literal,
  named,
  oneOf,
  optional,
  pattern,
  readable,
} from '../fields.ts'
import { milliseconds } from '../written.ts'
export const envelope = <const Kind extends string>(kind: Kind) => ({
  kind: field(constant(kind), 'What this document defines.'),
  apiVersion: optional(constant('millrace/v1'), 'The version of the language.', { default: 'millrace/v1' }),
  name: field(documentName(), 'Unique among the documents of its kind; letters, digits, `_` and `-`.'),
  description: optional(literal(), 'For people; it changes nothing.', 'none'),
})

/** `meaning`: what the two that are not `active` do. */
export const status = (meaning: string) =>
  optional(oneOf('active', 'paused', 'disabled'), meaning, { default: 'active' })

export const method = () => named('Method', oneOf('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'))

/** One pattern of subjects, or several. */
export const patterns = () => z.union([pattern(), z.array(pattern()).min(1).max(100)])

/** How long a job may wait besides its retries. */
export const MAX_WAIT_MS = 24 * HOUR
/** How many windows a burst may last before a job runs all the same. */
export const DEBOUNCE_WINDOWS = 10

export const deadLetter = () =>
  optional(
    z.strictObject({
      severity: optional(oneOf('low', 'medium', 'high', 'critical'), 'How bad it is.', { default: 'medium' }),
      runbook: optional(readable(), 'Where it is written what to do.', 'none'),
    }),
    'What its dead letters say.',
    'as below',
  )

export function resolveDeadLetter(input: z.infer<ReturnType<typeof deadLetter>>) {
  return { severity: input?.severity ?? 'medium', runbook: input?.runbook ?? null }
}

// --- Policies

export const count = (max: number) => z.number().int().min(1).max(max)

/** `what` is counted: calls, requests. */
export const ratePolicy = (what = 'calls ') =>
  named(
    'RateDefinition',
    z.strictObject({
      perMinute: field(count(1_000_000), `How many ${what}a minute.`),
      burst: optional(count(1_000_000), 'How many at once.', 'a sixth of a minute’s'),
    }),
  )

export const retryInline = () =>
  named(
    'RetryDefinition',
    z.strictObject({
      attempts: field(z.number().int().min(1).max(100), 'How often, the first time included.'),
      delays: optional(
        z.array(duration(0, 7 * DAY)).max(99),
        'The pauses in between, one fewer than attempts.',
        'none, or those of `backoff`',
      ),
      backoff: optional(
        oneOf('exponential', 'linear', 'fixed'),
        'A formula in place of `delays`: each pause is `factor` times the one before, one `first` longer, or equal.',
        'the pauses are listed',
      ),
      first: optional(duration(1, 7 * DAY), 'Of `backoff`: the first pause.', { default: '1s' }),
      factor: optional(z.number().min(1).max(100), 'Of `backoff: exponential`: how fast pauses grow.', {
        default: 2,
      }),
      max: optional(
        duration(1, 7 * DAY),
        'Of `backoff: exponential` and `linear`: no pause is longer.',
        '`1h`, or `first` where that is longer',
      ),
      retryOn: optional(
        z.array(oneOf(...RETRY_CAUSES)).min(1),
        'The only failures that are tried again: classes, and `timeout` for calls that took too long, whatever their class.',
        'all that may succeed later',
      ),
    }),
  )

export const drainPolicy = () =>
  named(
    'DrainDefinition',
    z.strictObject({
      every: field(duration(SECOND, DAY), 'How often.'),
      events: field(count(10_000), 'How many items a cycle takes.'),
      cycles: optional(count(1_000), 'How many cycles, one after another, each time.', { default: 1 }),
    }),
  )

export const circuitPolicy = () =>
  named(
    'CircuitDefinition',
    z.strictObject({
      failures: optional(count(1_000), 'So many failures one after another.', { default: 5 }),
      ratio: optional(z.number().min(0.01).max(1), 'Or this share of the calls within a minute.', {
        default: 0.5,
      }),
      of: optional(count(1_000), 'The share is looked at from so many calls on.', { default: 20 }),
      openFor: optional(duration(SECOND, DAY), 'How long until it tries one.', { default: '30s' }),
    }),
  )

export type RateInput = z.infer<ReturnType<typeof ratePolicy>>
export type DrainInput = z.infer<ReturnType<typeof drainPolicy>>
export type CircuitInput = z.infer<ReturnType<typeof circuitPolicy>>

export type RetryInput = z.infer<ReturnType<typeof retryInline>>

export type Profiles = ReadonlyMap<string, ProfileDocument>

export function resolveRetryInline(input: RetryInput, profile: string | null): RetryPolicy {
  const { attempts, delays = [], retryOn } = input
  const only = RETRY_CAUSES.filter((cause) => retryOn?.includes(cause) ?? true)
  return {
    profile,
    attempts,
    delaysMs:
      input.backoff === undefined
        ? delays.map((delay) => milliseconds(delay, 0))
        : backoffDelays(backoffOf(input.backoff, input), attempts),
    ...(only.length === RETRY_CAUSES.length ? {} : { retryOn: only }),
  }
}

function backoffOf(shape: Backoff['shape'], { first, factor, max }: RetryInput): Backoff {
  const firstMs = milliseconds(first, SECOND)
  return { shape, firstMs, factor: factor ?? 2, maxMs: milliseconds(max, Math.max(HOUR, firstMs)) }
}

/** An agent says how often it is asked, unless the route or step that uses it does. */
export function retryOfAgent(
  { retry }: { readonly retry?: unknown },
  action: ActionDocument | null | undefined,
): RetryPolicy | null {
  return retry === undefined && action?.type === 'agent' ? (action.agent.retry ?? null) : null
}

export function resolveRetry(
  input: string | RetryInput | undefined,
  { profiles }: { readonly profiles: Profiles },
): RetryPolicy | null {
  if (input === undefined) return RETRY_PROFILES.STANDARD
  if (typeof input !== 'string') return resolveRetryInline(input, null)
  const named: Readonly<Record<string, RetryPolicy>> = RETRY_PROFILES
  const own = profiles.get(input)
  if (own !== undefined) return own.retry ?? null
  return Object.hasOwn(named, input) ? (named[input] ?? null) : null
}

export function resolveCircuit(input: CircuitInput | 'off' | undefined): {
  readonly circuit?: CircuitPolicy | 'off'
} {
  if (input === undefined) return {}
  return { circuit: input === 'off' ? 'off' : resolveCircuitInline(input) }
}

export function resolveCircuitInline(input: CircuitInput): CircuitPolicy {
  return {
    consecutive: input.failures ?? USUAL_CIRCUIT.consecutive,
    ratio: input.ratio ?? USUAL_CIRCUIT.ratio,
    of: input.of ?? USUAL_CIRCUIT.of,
    openMs: milliseconds(input.openFor, USUAL_CIRCUIT.openMs),
  }
}

/** undefined: at once. */
export function resolveDrain(
  input: string | DrainInput | undefined,
  profiles: Profiles,
): DrainPolicy | undefined | null {
  if (input === undefined) return undefined
  if (typeof input !== 'string') return resolveDrainInline(input, null)
  const own = profiles.get(input)
  if (own !== undefined) return own.drain ?? null
  const named: Readonly<Record<string, DrainPolicy | null>> = DRAIN_PROFILES
  return Object.hasOwn(named, input) ? (named[input] ?? undefined) : null
}

export function resolveDrainInline(input: DrainInput, profile: string | null): DrainPolicy {
  return {
    profile,
    everyMs: milliseconds(input.every, MINUTE),
    events: input.events,
    cycles: input.cycles ?? 1,
  }
}

export function resolveRate(
  input: string | RateInput | undefined,
  profiles: Profiles,
): RatePolicy | undefined | null {
  if (input === undefined) return undefined
  return typeof input === 'string' ? (profiles.get(input)?.rate ?? null) : resolveRateInline(input, null)
}

export function resolveRateInline(input: RateInput, profile: string | null): RatePolicy {
  const { perMinute, burst = usualBurst(perMinute) } = input
  return { profile, perMinute, burst }
}

// --- Secrets and auth

export interface SecretPlaceInput {
  readonly env?: string | undefined
  readonly ref?: string | undefined
  readonly file?: string | undefined
}

export function resolveSecret({ env, ref, file }: SecretPlaceInput): SecretRef {
  if (env !== undefined) return { env }
  if (file !== undefined) return { file }
  assert(ref !== undefined, 'a secret has `env`, `ref` or `file`')
  return { ref }
}

export interface AuthInput {
  readonly bearer?: SecretPlaceInput | undefined
  readonly basic?: { readonly user: string; readonly password: SecretPlaceInput } | undefined
  readonly header?: { readonly name: string; readonly value: SecretPlaceInput } | undefined
}

/** As a field beside others: omitted if nothing was written. */
export function resolveAuth(input: AuthInput | undefined): { readonly auth?: AuthDocument } {
  return input === undefined ? {} : { auth: authOf(input) }
}

function authOf({ bearer, basic, header }: AuthInput): AuthDocument {
  if (bearer !== undefined) return { bearer: resolveSecret(bearer) }
  if (basic !== undefined) return { basic: { user: basic.user, password: resolveSecret(basic.password) } }
  assert(header !== undefined, 'auth has `bearer`, `basic` or `header`')
  return { header: { name: header.name.toLowerCase(), value: resolveSecret(header.value) } }
}

// --- Environments

/** One name may have a document for each; a node uses the one of its own. */
export const environment = () =>
  optional(
    oneOf(...ENVIRONMENTS),
    'The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`.',
    'every one that has no document of its own',
  )
