// Definitions as data: what YAML, JSON and TypeScript compile to. Durations are milliseconds, sizes bytes, profiles
// resolved; strings that hold expressions and templates stay text, so that a document can be stored, hashed and
// loaded again by a later process. src/definitions makes these from what users write.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { DAY } from '../../foundation/time/index.ts'
import type { AgentDocument } from './agent-document.ts'
import type { AuthDocument } from './auth-document.ts'
import type { OperationDocument } from './provider-document.ts'
import type { VerifyDocument } from './verify-document.ts'

/** How long events are kept where a source says nothing. */
export const RETENTION_MS = 30 * DAY

export interface SourceDocument {
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

  // What is left out was not written, and means the default.

  /** The ready mapping that named the subject and the rest. */
  readonly mapping?: string
  readonly dispatch?: DispatchDocument
  /** Networks, addresses and vendors' names, as written; left out: everybody. */
  readonly allow?: readonly string[]
  readonly rateLimit?: { readonly perMinute: number; readonly burst: number }
  /** Paths such as `payload.user.email`. */
  readonly sensitive?: readonly string[]
  /** Left out: `RETENTION_MS`. */
  readonly retentionMs?: number
  /** Left out: kept, and shown as unmatched. */
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
  /** Of an event that no rule wants. */
  readonly otherwise: 'keep' | 'deadLetter'
}

export interface ScheduleDocument {
  readonly cron: string
  readonly zone: string
  /** What becomes of the instants that passed while nobody could fire. */
  readonly missed: 'once' | 'skip' | 'all'
  /** Beside what the payload says of the instant itself. */
  readonly data: JsonValue
}

/** What the headers of a message call its subject. */
export const MESSAGE_SUBJECT_HEADER = 'nats-subject'
/** The template of a source that names its events as the messages are named. */
export const MESSAGE_SUBJECT = `{{ header.${MESSAGE_SUBJECT_HEADER} }}`

/** Messages of a stream of NATS instead of requests. */
export interface NatsDocument {
  /** Left out: the stream that has the subjects. */
  readonly stream?: string
  /** Patterns. */
  readonly subjects: readonly string[]
  /** Left out: named after tenant and source. */
  readonly durable?: string
}

export interface CatalogDocument {
  /** Of a payload that does not fit its schema. */
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
  /** A tree of templates; a text is sent as it is, anything else as JSON. */
  readonly body: JsonValue
}

/** Asked before there is an event: whoever answers rightly may send. */
export interface HandshakeDocument extends AnswerDocument {
  readonly method: 'GET' | 'POST'
  readonly when: ConditionDocument
}

export interface RetryPolicy {
  /** Name of the profile it came from, or null when written in place. */
  readonly profile: string | null
  /** Counts the first. */
  readonly attempts: number
  /** attempts − 1 of them. */
  readonly delaysMs: readonly number[]
}

/** A condition as written: an expression, or a filter tree. */
export type ConditionDocument = JsonValue

export interface HttpActionDocument {
  readonly type: 'http'
  /** Whose address and credential it goes with: `url` is then a path behind its base, or an address of its host. Left out: nobody's. */
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
  /** How long the vendor remembers the `Idempotency-Key`; null: it does not. */
  readonly keyTtlMs: number | null
  readonly probe: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    /** Left out: that of the action. */
    readonly auth?: AuthDocument
    /** An expression over `result`, true when the effect is there. */
    readonly found: string
    /** How long after the doubtful call the vendor may still be applying it. */
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
  /** `baseUrl` is then empty, or a path behind the connection's base. Left out: nobody's. */
  readonly connection?: string
  /** For all its requests. Left out: none. */
  readonly auth?: AuthDocument
  /** A template, rendered in url mode; paths are put behind it. */
  readonly baseUrl: string
  /** For all its requests. */
  readonly headers: Readonly<Record<string, string>>
  /** A template. */
  readonly extRef: string
  readonly find: {
    readonly method: string
    /** A template, rendered in url mode. */
    readonly path: string
    /** Over `result`: whether the object is there. */
    readonly found: string
    /** Over `result`: what `update` calls it (`found.id` there); null: it needs no id. */
    readonly id: string | null
    /** How long after a doubtful call the vendor may still be applying it. */
    readonly afterMs: number
  }
  readonly create: UpsertCallDocument
  /** null: what is there is left alone. */
  readonly update: UpsertCallDocument | null
  /** `single`: one item at a time per reference, over all routes to the same host. */
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

/** A new instance of a workflow that is in force then. */
export interface StartActionDocument {
  readonly type: 'start'
  readonly workflow: string
  /** A tree of templates: its input. */
  readonly with: JsonValue
  /** In a workflow: the step ends when the instance does, with `{ instance, state, data }` as its result. */
  readonly wait: boolean
}

/** Events by the clock from now on, under a name that `unschedule` takes back. Doing it again replaces it. */
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

/** When a route's work is taken up: every so often, so many at a time, so many times. */
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
  /** So many failures one after another; or `ratio` of `of` within a minute. */
  readonly consecutive: number
  readonly ratio: number
  readonly of: number
  /** How long until it tries one. */
  readonly openMs: number
}

export interface RouteDocument {
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
  /** Waits for rate, circuit or another item's key end after this. */
  readonly maxWaitMs: number
  readonly deadLetter: { readonly severity: string; readonly runbook: string | null }
  readonly do: ActionDocument

  // What is left out was not written, and means the default.

  /** One work item and one key per element of a list; expressions see it under the name `as`. */
  readonly each?: { readonly of: string; readonly as: string; readonly max: number }
  /** Left out: `all` that match do. */
  readonly fanOut?: 'first' | 'one'
  /** Left out: `normal`. */
  readonly priority?: 'high' | 'low'
  /** Left out: at once. */
  readonly drain?: DrainPolicy
  readonly rateLimit?: RatePolicy
  /** At once; with `by` so many per value of it. */
  readonly concurrency?: { readonly limit: number; readonly by?: string }
  readonly order?: {
    readonly by: string
    readonly version?: string
    /** Of an item whose version the lane is past. Left out: it runs all the same. */
    readonly stale?: 'skip'
    /** Of the others while one is dead or parked. Left out: they are held up. */
    readonly onBlocked?: 'skip'
  }
  readonly debounce?: {
    readonly by: string
    readonly windowMs: number
    readonly maxWaitMs: number
    /** Left out: the last one stands for all. */
    readonly keep?: 'first'
  }
  readonly batch?: {
    readonly size: number
    readonly maxWaitMs: number
    /** Over `result`: the list of what became of each. Left out: all share the outcome. */
    readonly results?: string
    /** Over `item`, one of `results`: whose it is, and whether it went well. */
    readonly item?: { readonly key: string; readonly ok: string }
  }
  /** Left out: the usual thresholds. */
  readonly circuit?: 'off' | CircuitPolicy
  /** How long the ledger remembers its keys. Left out: for as long as they may come again, and at least 90 days. */
  readonly ledgerKeepMs?: number
  /** Why another formula is safe: what is written under `from` was in force before. */
  readonly keyMigration?: { readonly from: string; readonly note: string }
}

export interface ProfileDocument {
  readonly kind: 'Profile'
  readonly name: string
  readonly description: string | null
  // One of these.
  readonly retry?: RetryPolicy
  readonly rate?: RatePolicy
  readonly drain?: DrainPolicy
}
