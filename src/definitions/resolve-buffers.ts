// The normal form of a route's flow control, order and batching. What is not written, or equals the default, is left
// out, so that a document of an older release keeps its hash.

import {
  type CircuitPolicy,
  DRAIN_PROFILES,
  type DrainPolicy,
  type ProfileDocument,
  type RatePolicy,
  type RouteDocument,
  USUAL_CIRCUIT,
  usualBurst,
} from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import { MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { USUAL_ELEMENT } from './expression-names.ts'
import type { RouteInput } from './schema.ts'
import type { CircuitInput, DrainInput, RateInput } from './schema-buffers.ts'

/** How many elements of a list become jobs, if `each` does not say. */
const EACH_MAX = 500
const BATCH_WAIT_MS = 5 * SECOND
/** How many windows a burst may last before a job runs all the same. */
export const DEBOUNCE_WINDOWS = 10

type Buffers = Pick<
  RouteDocument,
  | 'each'
  | 'fanOut'
  | 'priority'
  | 'drain'
  | 'rateLimit'
  | 'concurrency'
  | 'order'
  | 'debounce'
  | 'batch'
  | 'circuit'
  | 'ledgerKeepMs'
  | 'keyMigration'
>

export type Profiles = ReadonlyMap<string, ProfileDocument>

/** null: it names a profile that is not valid. */
export function resolveBuffers(input: RouteInput, profiles: Profiles): Buffers | null {
  const drain = resolveDrain(input.drain, profiles)
  const rateLimit = resolveRate(input.rateLimit, profiles)
  if (drain === null || rateLimit === null) return null
  const { fanOut, priority, concurrency, ledger, keyMigration } = input
  return {
    ...resolveEach(input.each),
    ...(fanOut === undefined || fanOut === 'all' ? {} : { fanOut }),
    ...(priority === undefined || priority === 'normal' ? {} : { priority }),
    ...(drain === undefined ? {} : { drain }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(concurrency === undefined ? {} : { concurrency: withoutHoles(concurrency) }),
    ...resolveOrder(input.order),
    ...resolveDebounce(input.debounce),
    ...resolveBatch(input.batch),
    ...resolveCircuit(input.circuit),
    ...(ledger === undefined ? {} : { ledgerKeepMs: milliseconds(ledger.keep) }),
    ...(keyMigration === undefined ? {} : { keyMigration }),
  }
}

function resolveEach(input: RouteInput['each']): Pick<RouteDocument, 'each'> {
  if (input === undefined) return {}
  return { each: { of: input.of, as: input.as ?? USUAL_ELEMENT, max: input.max ?? EACH_MAX } }
}

function resolveOrder(input: RouteInput['order']): Pick<RouteDocument, 'order'> {
  if (input === undefined) return {}
  const { by, version, stale, onBlocked } = input
  return {
    order: {
      by,
      ...(version === undefined ? {} : { version }),
      ...(stale === 'skip' ? { stale } : {}),
      ...(onBlocked === 'skip' ? { onBlocked } : {}),
    },
  }
}

function resolveDebounce(input: RouteInput['debounce']): Pick<RouteDocument, 'debounce'> {
  if (input === undefined) return {}
  const windowMs = milliseconds(input.window)
  const maxWaitMs = input.maxWait === undefined ? DEBOUNCE_WINDOWS * windowMs : milliseconds(input.maxWait)
  return {
    debounce: { by: input.by, windowMs, maxWaitMs, ...(input.keep === 'first' ? { keep: 'first' } : {}) },
  }
}

function resolveBatch(input: RouteInput['batch']): Pick<RouteDocument, 'batch'> {
  if (input === undefined) return {}
  const { size, maxWait, results, item } = input
  return {
    batch: {
      size,
      maxWaitMs: maxWait === undefined ? BATCH_WAIT_MS : milliseconds(maxWait),
      ...(results === undefined ? {} : { results }),
      ...(item === undefined ? {} : { item }),
    },
  }
}

function resolveCircuit(input: RouteInput['circuit']): Pick<RouteDocument, 'circuit'> {
  if (input === undefined || input === 'off') return input === undefined ? {} : { circuit: 'off' }
  return { circuit: resolveCircuitInline(input) }
}

export function resolveCircuitInline(input: CircuitInput): CircuitPolicy {
  return {
    consecutive: input.failures ?? USUAL_CIRCUIT.consecutive,
    ratio: input.ratio ?? USUAL_CIRCUIT.ratio,
    of: input.of ?? USUAL_CIRCUIT.of,
    openMs: input.openFor === undefined ? USUAL_CIRCUIT.openMs : milliseconds(input.openFor),
  }
}

/** undefined: at once. */
function resolveDrain(input: RouteInput['drain'], profiles: Profiles): DrainPolicy | undefined | null {
  if (input === undefined) return undefined
  if (typeof input !== 'string') return resolveDrainInline(input, null)
  const own = profiles.get(input)
  if (own !== undefined) return own.drain ?? null
  const named: Readonly<Record<string, DrainPolicy | null>> = DRAIN_PROFILES
  return Object.hasOwn(named, input) ? (named[input] ?? undefined) : null
}

export function resolveDrainInline(input: DrainInput, profile: string | null): DrainPolicy {
  return { profile, everyMs: milliseconds(input.every), events: input.events, cycles: input.cycles ?? 1 }
}

export function resolveRate(
  input: RouteInput['rateLimit'],
  profiles: Profiles,
): RatePolicy | undefined | null {
  if (input === undefined) return undefined
  return typeof input === 'string' ? (profiles.get(input)?.rate ?? null) : resolveRateInline(input, null)
}

export function resolveRateInline(input: RateInput, profile: string | null): RatePolicy {
  const { perMinute, burst = usualBurst(perMinute) } = input
  return { profile, perMinute, burst }
}

function withoutHoles({ limit, by }: { limit: number; by?: string | undefined }): {
  readonly limit: number
  readonly by?: string
} {
  return by === undefined ? { limit } : { limit, by }
}

function milliseconds(text: string): number {
  return parseDuration(text) ?? MINUTE
}
