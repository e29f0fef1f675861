// Definitions as data: what YAML, JSON and TypeScript compile to. Durations are milliseconds, sizes bytes, profiles resolved;
// strings that hold expressions and templates stay text, so that a document can be stored, hashed and loaded by a later
// process. src/definitions makes these from what users write.

import type { JsonValue } from '../../foundation/json/index.ts'
import { DAY } from '../../foundation/time/index.ts'
import type { ActionDocument } from './action-documents.ts'
import type { CarriedProfile, CarriedRoute, CarriedSource } from './carried-fields.generated.ts'
import type { Classification } from './classification.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { VerifyDocument } from './verify-document.ts'

/** How long events are stored where a source sets nothing. */
export const RETENTION_MS = 30 * DAY

export interface SourceDocument extends CarriedSource {
  readonly kind: 'Source'
  readonly name: string
  readonly description: string | null
  readonly verify: VerifyDocument
  /** A template. */
  readonly subject: string
  readonly event: {
    /** An expression. */
    readonly id: string | null
    /** A template. */
    readonly objectType: string | null
    readonly objectId: string | null
    readonly occurredAt: string | null
  }
  readonly dedup: {
    /** An expression; null: payload hash and object id. */
    readonly by: string | null
    readonly windowMs: number
  }
  readonly limits: { readonly bodyBytes: number; readonly depth: number }
  readonly status: 'active' | 'paused' | 'disabled'

  // A field that is left out was not written, and means the default.

  /** The ready mapping that provided the subject and the other fields. */
  readonly mapping?: string
  readonly dispatch?: DispatchDocument
  /** Networks, addresses and vendors' names, as written; left out: no restriction. */
  readonly allow?: readonly string[]
  readonly rateLimit?: { readonly perMinute: number; readonly burst: number }
  /** Paths such as `payload.user.email`. */
  readonly sensitive?: readonly string[]
  /** Path and level. `confidential` and `restricted` paths are sensitive, the latter are for admins alone. */
  readonly classification?: Readonly<Record<string, Classification>>
  /** Left out: `RETENTION_MS`. */
  readonly retentionMs?: number
  /** Left out: stored, and shown as unmatched. */
  readonly unmatched?: 'deadLetter'
  readonly schedule?: ScheduleDocument
  readonly nats?: NatsDocument
  readonly catalog?: CatalogDocument
  readonly respond?: AnswerDocument
  readonly handshake?: HandshakeDocument
}

export interface DispatchDocument {
  readonly mode: 'first' | 'all'
  readonly rules: readonly {
    /** null: always. */
    readonly when: ConditionDocument
    /** A template. */
    readonly emit: string
    /** A tree of templates. */
    readonly data: JsonValue
  }[]
  /** For an event that matches no rule. */
  readonly otherwise: 'keep' | 'deadLetter'
}

export interface ScheduleDocument {
  readonly cron: string
  readonly zone: string
  /** What happens to the instants that passed while no node could fire. */
  readonly missed: 'once' | 'skip' | 'all'
  /** In addition to the payload's fields about the instant itself. */
  readonly data: JsonValue
}

/** The header of a message that names its subject. */
export const MESSAGE_SUBJECT_HEADER = 'nats-subject'
/** The template of a source that names its events like the messages. */
export const MESSAGE_SUBJECT = `{{ header.${MESSAGE_SUBJECT_HEADER} }}`

/** Messages of a NATS stream instead of requests. */
export interface NatsDocument {
  /** Left out: the stream that has the subjects. */
  readonly stream?: string
  /** Patterns. */
  readonly subjects: readonly string[]
  /** Left out: named after tenant and source. */
  readonly durable?: string
}

export interface CatalogDocument {
  /** What happens to a payload that does not match its schema. */
  readonly mismatch: 'pass' | 'tag' | 'quarantine'
  readonly subjects: readonly {
    readonly subject: string
    readonly description?: string
    readonly schema?: JsonValue
    readonly example?: JsonValue
  }[]
}

export interface AnswerDocument {
  readonly status: number
  readonly contentType: string
  /** A tree of templates; text is sent unchanged, anything else as JSON. */
  readonly body: JsonValue
}

/** Sent before there is an event: a caller that responds correctly may send. */
export interface HandshakeDocument extends AnswerDocument {
  readonly method: 'GET' | 'POST'
  readonly when: ConditionDocument
}

/** A condition as written: an expression, or a filter tree. */
export type ConditionDocument = JsonValue

/** How a route's jobs are released: every so often, a batch at a time, so many times. */
export interface DrainPolicy {
  readonly profile: string | null
  readonly everyMs: number
  readonly events: number
  readonly cycles: number
}

export interface RatePolicy {
  readonly profile: string | null
  readonly perMinute: number
  readonly burst: number
}

/** When a route pauses itself. */
export interface CircuitPolicy {
  /** This many consecutive failures; or `ratio` of `of` within a minute. */
  readonly consecutive: number
  readonly ratio: number
  readonly of: number
  /** How long until a trial call. */
  readonly openMs: number
}

export interface RouteDocument extends CarriedRoute {
  readonly kind: 'Route'
  readonly name: string
  readonly description: string | null
  readonly on: readonly string[]
  readonly where: ConditionDocument
  readonly status: 'active' | 'paused' | 'disabled'
  /** An expression; null: one effect per event and route. */
  readonly key: string | null
  readonly uniqueness: 'operation' | 'record'
  readonly retry: RetryPolicy
  /** Waits for a rate limit, a circuit or another job's key end after this. */
  readonly maxWaitMs: number
  readonly deadLetter: { readonly severity: string; readonly runbook: string | null }
  readonly do: ActionDocument

  // A field that is left out was not written, and means the default.

  /** One job and one key per element of a list; expressions see the element under the name `as`. */
  readonly each?: { readonly of: string; readonly as: string; readonly max: number }
  /** Left out: `all` matching rules run. */
  readonly fanOut?: 'first' | 'one'
  /** Left out: `normal`. */
  readonly priority?: 'high' | 'low'
  /** Left out: immediately. */
  readonly drain?: DrainPolicy
  readonly rateLimit?: RatePolicy
  /** How many run concurrently; with `by`, per value of it. */
  readonly concurrency?: { readonly limit: number; readonly by?: string }
  readonly order?: {
    readonly by: string
    readonly version?: string
    /** For a job with a version that the lane has passed. Left out: it runs anyway. */
    readonly stale?: 'skip'
    /** For the jobs behind a dead or parked one. Left out: they are blocked. */
    readonly onBlocked?: 'skip'
  }
  readonly debounce?: {
    readonly by: string
    readonly windowMs: number
    readonly maxWaitMs: number
    /** Left out: the last one represents all. */
    readonly keep?: 'first'
  }
  readonly batch?: {
    readonly size: number
    readonly maxWaitMs: number
    /** Over `result`: the list of individual outcomes. Left out: all share one outcome. */
    readonly results?: string
    /** Over `item`, one of `results`: which element it belongs to, and whether it succeeded. */
    readonly item?: { readonly key: string; readonly ok: string }
  }
  /** Left out: the usual thresholds. */
  readonly circuit?: 'off' | CircuitPolicy
  /** How long the ledger remembers its keys. Left out: as long as they may recur, and at least 90 days. */
  readonly ledgerKeepMs?: number
  /** Why changing the formula is safe: `from` is the formula deployed before. */
  readonly keyMigration?: { readonly from: string; readonly note: string }
}

export interface ProfileDocument extends CarriedProfile {
  readonly kind: 'Profile'
  readonly name: string
  readonly description: string | null
  // One of these.
  readonly retry?: RetryPolicy
  readonly rate?: RatePolicy
  readonly drain?: DrainPolicy
}
