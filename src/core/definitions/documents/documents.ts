// Definitions as data: what YAML, JSON and TypeScript compile to. Durations are milliseconds, sizes bytes, profiles resolved;
// strings that hold expressions and templates stay text, so that a document can be stored, hashed and loaded by a later
// process. src/definitions makes these from what users write.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { DAY } from '../../foundation/time/index.ts'
import type { AgentDocument } from './agent-document.ts'
import type { AuthDocument } from './auth-document.ts'
import type { CarriedProfile, CarriedRoute, CarriedSource } from './carried-fields.generated.ts'
import type { OperationDocument } from './provider-document.ts'
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

export interface HttpActionDocument {
  readonly type: 'http'
  /**
   * The connection whose address and credential it uses: `url` is then a path below its base, or an address of its host. Left
   * out: none.
   */
  readonly connection?: string
  /** For the request and its probe. Left out: none. */
  readonly auth?: AuthDocument
  readonly method: string
  /** A template, rendered in url mode. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A tree of templates; null: no body. */
  readonly body: JsonValue
  /** Repeating the call is harmless. */
  readonly idempotent: boolean
  /** How long the vendor remembers the `Idempotency-Key`; null: not at all. */
  readonly keyTtlMs: number | null
  readonly probe: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    /** Left out: that of the action. */
    readonly auth?: AuthDocument
    /** An expression over `result`, true when the effect is there. */
    readonly found: string
    /** How long after a call with an unknown outcome the vendor may still be applying it. */
    readonly afterMs: number
  } | null
  readonly timeoutMs: number
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
}

export interface FunctionActionDocument {
  readonly type: 'function'
  readonly name: string
  readonly codeHash: string
  readonly with: JsonValue
  readonly timeoutMs: number
}

export interface EmitActionDocument {
  readonly type: 'emit'
  /** A template. */
  readonly subject: string
  readonly data: JsonValue
}

/** One object at the other side per external reference: found and updated, or created with the reference on it. */
export interface UpsertActionDocument {
  readonly type: 'upsert'
  /** `baseUrl` is then empty, or a path below the connection's base. Left out: none. */
  readonly connection?: string
  /** For all its requests. Left out: none. */
  readonly auth?: AuthDocument
  /** A template, rendered in url mode; paths are appended. */
  readonly baseUrl: string
  /** For all its requests. */
  readonly headers: Readonly<Record<string, string>>
  /** A template. */
  readonly extRef: string
  readonly find: {
    readonly method: string
    /** A template, rendered in url mode. */
    readonly path: string
    /** Over `result`: whether the object exists. */
    readonly found: string
    /** Over `result`: the id that `update` uses (`found.id` there); null: it needs no id. */
    readonly id: string | null
    /** How long after a call with an unknown outcome the vendor may still be applying it. */
    readonly afterMs: number
  }
  readonly create: UpsertCallDocument
  /** null: an existing object is left unchanged. */
  readonly update: UpsertCallDocument | null
  /** `single`: one job at a time per reference, across all routes to the same host. */
  readonly lock: 'single' | 'none'
  readonly timeoutMs: number
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
}

export interface UpsertCallDocument {
  readonly method: string
  readonly path: string
  readonly body: JsonValue
  readonly idempotent: boolean
  readonly keyTtlMs: number | null
}

/** A new instance of a workflow, of the version deployed then. */
export interface StartActionDocument {
  readonly type: 'start'
  readonly workflow: string
  /** A tree of templates: its input. */
  readonly with: JsonValue
  /** In a workflow: the step ends when the instance does, with `{ instance, state, data }` as its result. */
  readonly wait: boolean
}

/** Events on a schedule from now on, under a name that `unschedule` removes. Repeating it replaces the schedule. */
export interface ScheduleActionDocument {
  readonly type: 'schedule'
  /** A template. */
  readonly name: string
  readonly cron: string
  readonly zone: string
  /** A template. */
  readonly emit: string
  readonly data: JsonValue
}

export interface UnscheduleActionDocument {
  readonly type: 'unschedule'
  /** A template. */
  readonly name: string
}

/** A named call of a provider, on a connection to it. */
export interface OperationActionDocument {
  readonly type: 'operation'
  readonly provider: string
  /** As it was when this was applied. */
  readonly operation: OperationDocument
  readonly connection: string
  /** A tree of templates: the operation's `input`. */
  readonly with: JsonValue
  /** Of one attempt; left out: the operation's. */
  readonly timeoutMs?: number
  /** Over the operation's own. */
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
}

export interface AgentActionDocument {
  readonly type: 'agent'
  /** As it was when this was applied. */
  readonly agent: AgentDocument
  readonly with: JsonValue
  /** Of one attempt; left out: the agent's. */
  readonly timeoutMs?: number
}

export type ActionDocument =
  | HttpActionDocument
  | FunctionActionDocument
  | EmitActionDocument
  | UpsertActionDocument
  | StartActionDocument
  | ScheduleActionDocument
  | UnscheduleActionDocument
  | AgentActionDocument
  | OperationActionDocument

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
