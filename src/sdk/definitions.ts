// The definitions as a user writes them in TypeScript. src/definitions/schema.ts says the same for YAML and JSON; a
// test keeps the two in step.

import type { DurationText } from './errors.ts'

/** An expression, such as `payload.id`; a text needs quotes: `"'EUR'"`. `expr` helps to write one. */
export type Expression = string
/** A text with `{{ expression }}` in it. One template alone keeps the type of its value. */
export type Template = string
export type SizeText = `${number}${'B' | 'KiB' | 'MiB' | 'GiB'}`

/** A value that is sent: every text in it is a template. */
export type Sent =
  | null
  | boolean
  | number
  | Template
  | readonly Sent[]
  | { readonly [field: string]: Sent | undefined }

/** A condition as a filter. */
export type Filter =
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }
  | {
      /** The path of a field, such as `payload.status`. */
      readonly path: string
      readonly equals?: unknown
      readonly notEquals?: unknown
      readonly in?: readonly unknown[]
      readonly notIn?: readonly unknown[]
      readonly contains?: unknown
      readonly notContains?: unknown
      readonly startsWith?: string
      readonly greaterThan?: unknown
      readonly lessThan?: unknown
      readonly atLeast?: unknown
      readonly atMost?: unknown
      readonly exists?: true
      readonly notExists?: true
    }
/** An expression that is true, or a filter. */
export type Condition = Expression | Filter

/** Where a secret is stored: an environment variable, a vault entry, or a file of the node's folder of secrets. */
export type SecretReference = { readonly env: string } | { readonly ref: string } | { readonly file: string }

/** The proof of the caller's identity, on a request itself: its value is read from the secret at each attempt. */
export type AuthDefinition =
  | { readonly bearer: SecretReference }
  | { readonly basic: { readonly user: string; readonly password: SecretReference } }
  | { readonly header: { readonly name: string; readonly value: SecretReference } }

export interface Described {
  readonly apiVersion?: 'millrace/v1'
  /** Lower-case letters and digits, joined by `_` or `-`. */
  readonly name: string
  readonly description?: string
}

export type Verification =
  /** Accepts requests from anyone. */
  | { readonly scheme: 'none' }
  | {
      readonly scheme:
        | 'github'
        | 'bitbucket'
        | 'jira'
        | 'shopify'
        | 'terraform-cloud'
        | 'sentry'
        | 'intercom'
        | 'pagerduty'
        | 'workfront'
      /** Several while rotating. */
      readonly secret: SecretReference | readonly SecretReference[]
    }
  | {
      readonly scheme:
        | 'gitlab'
        | 'stripe'
        | 'slack'
        | 'standard-webhooks'
        | 'discord'
        | 'linear'
        | 'zoom'
        | 'paddle'
      readonly secret: SecretReference | readonly SecretReference[]
      /** How old a request may be; `300s` when left out. */
      readonly tolerance?: DurationText
    }
  | {
      readonly scheme: 'twilio' | 'square'
      readonly secret: SecretReference | readonly SecretReference[]
      /** The address that the sender knows, if it is another one; without a query. */
      readonly url?: string
    }
  | {
      readonly scheme: 'hubspot'
      readonly secret: SecretReference | readonly SecretReference[]
      readonly tolerance?: DurationText
      readonly url?: string
    }
  | {
      readonly scheme: 'basic'
      readonly username: string
      /** The password. */
      readonly secret: SecretReference | readonly SecretReference[]
    }
  | {
      readonly scheme: 'api-key'
      readonly secret: SecretReference | readonly SecretReference[]
      /** `x-api-key` when left out. */
      readonly header?: string
      /** What stands before the key: `Bearer `. */
      readonly prefix?: string
    }
  | {
      readonly scheme: 'hmac'
      /** Several while rotating. */
      readonly secret: SecretReference | readonly SecretReference[]
      /** `x-signature` when left out. */
      readonly header?: string
      /** `sha256` when left out. */
      readonly algorithm?: 'sha1' | 'sha256' | 'sha512'
      /** `hex` when left out. */
      readonly encoding?: 'hex' | 'base64'
      /** What stands before the signature in its header. */
      readonly prefix?: string
      /** What is signed: `{{ body }}` when left out. */
      readonly signed?: Template
      readonly timestampHeader?: string
      /** How old a request may be; `300s` when left out. */
      readonly tolerance?: DurationText
    }

/** An entry point for events, with its verification. */
export interface SourceDefinition extends Described {
  /** Only a schedule and `nats` need none. */
  readonly verify?: Verification
  /** A ready mapping; or write `subject`. */
  readonly subjects?: 'github' | 'gitlab' | 'stripe' | 'terraform-cloud' | 'slack' | 'shopify' | 'workfront'
  /** The subject of an event of this source: `shop.events.{{ payload.type }}`. */
  readonly subject?: Template
  readonly event?: {
    /** The sender's id of the event: two with one id are one. */
    readonly id?: Expression
    readonly objectType?: Template
    readonly objectId?: Expression
    readonly occurredAt?: Expression
  }
  readonly dedup?: {
    /** `event.id` when left out, or the payload's hash where there is none. */
    readonly by?: Expression
    /** `7d` when left out. */
    readonly window?: DurationText
  }
  readonly limits?: {
    /** `1MiB` when left out. */
    readonly body?: SizeText
    readonly depth?: number
  }
  /** `paused` stores what arrives, `disabled` refuses it. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** Internal events that are derived from what arrives. */
  readonly dispatch?: {
    /** `first` when left out. */
    readonly mode?: 'first' | 'all'
    readonly rules: readonly {
      readonly when?: Condition
      readonly emit: Template
      /** The payload when left out. */
      readonly data?: Sent
    }[]
    /** `keep` when left out. */
    readonly otherwise?: 'keep' | 'deadLetter'
  }
  /** Networks, addresses, or a vendor's name. */
  readonly allow?: string | readonly string[]
  readonly rateLimit?: { readonly perMinute: number; readonly burst?: number }
  /** Paths such as `payload.user.email`: encrypted at rest, hidden from viewers. */
  readonly sensitive?: readonly string[]
  /** `30d` when left out. */
  readonly retention?: DurationText
  /** `keep` when left out. */
  readonly unmatched?: 'keep' | 'deadLetter'
  /** Emits events by the clock; it has no sender. */
  readonly schedule?: {
    readonly cron: string
    /** `UTC` when left out. */
    readonly zone?: string
    /** `once` when left out. */
    readonly missed?: 'once' | 'skip' | 'all'
    readonly data?: unknown
  }
  /** Consumes messages of a NATS stream; it has no sender. */
  readonly nats?: {
    /** The stream that has the subjects when left out. */
    readonly stream?: string
    /** Patterns, as NATS has them. */
    readonly subjects: string | readonly string[]
    /** `<prefix>_<tenant>_<source>` when left out. */
    readonly durable?: string
  }
  /** The subjects that it can publish. */
  readonly catalog?: {
    /** `pass` when left out. */
    readonly mismatch?: 'pass' | 'tag' | 'quarantine'
    readonly subjects?: readonly {
      readonly subject: string
      readonly description?: string
      /** A JSON Schema. */
      readonly schema?: unknown
      readonly example?: unknown
    }[]
  }
  /** The response to senders. */
  readonly respond?: { readonly status?: number; readonly contentType?: string; readonly body?: Sent }
  readonly handshake?: {
    readonly method?: 'GET' | 'POST'
    readonly when: Condition
    readonly status?: number
    readonly contentType?: string
    readonly body?: Template
  }
}

export interface RetryDefinition {
  /** Counts the first. */
  readonly attempts: number
  /** One fewer than attempts. */
  readonly delays?: readonly DurationText[]
}

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

export interface HttpRequestDefinition {
  /** The connection whose address and credential it uses: `url` may then be a path. */
  readonly connection?: string
  /** In place of a connection. For the probe too. */
  readonly auth?: AuthDefinition
  /** `POST` when left out. */
  readonly method?: Method
  /** Values in it are percent-encoded. */
  readonly url: Template
  readonly headers?: Readonly<Record<string, Template>>
  readonly body?: Sent
  /** Repeating the call is harmless. */
  readonly idempotent?: boolean
  /** How long the vendor remembers the `Idempotency-Key`. */
  readonly keyTtl?: DurationText
  /** For the whole exchange; allowed here or beside `http`. */
  readonly timeout?: DurationText
  /** Checks whether the effect happened, after a lost response. */
  readonly probe?: {
    /** That of the action when left out. */
    readonly auth?: AuthDefinition
    readonly method?: Method
    readonly url: Template
    readonly headers?: Readonly<Record<string, Template>>
    /** True if it did: an expression over `result`. */
    readonly found: Expression
    /** How long a call with an unknown outcome may still take effect; `30s` when left out. */
    readonly after?: DurationText
  }
}

export type FailureName =
  | 'transient'
  | 'rate_limited'
  | 'auth'
  | 'config'
  | 'validation'
  | 'poison'
  | 'unknown'

export interface HttpActionDefinition {
  readonly http: HttpRequestDefinition
  /** Per attempt; `10s` when left out. */
  readonly timeout?: DurationText
  /** What single statuses mean: `{ 409: 'done' }`. */
  readonly classify?: Readonly<Record<number, 'done' | FailureName>>
}

export interface FunctionActionDefinition {
  /** The function's name; `myFunction.with({…})` writes this action with types. */
  readonly function: string
  /** Its input; the payload when left out. */
  readonly with?: Sent
  /** Per attempt; the function's own when left out. */
  readonly timeout?: DurationText
}

export interface EmitActionDefinition {
  /** The subject of the new event. */
  readonly emit: Template
  /** Its payload; that of the event when left out, and in a workflow the data of the instance. */
  readonly data?: Sent
}

export interface StartActionDefinition {
  /** The name of a workflow, as `orders.name`. */
  readonly start: string
  /** Its input. */
  readonly with?: Sent
  /** Only in a workflow: the step ends when the instance does. */
  readonly wait?: boolean
}

export interface ScheduleActionDefinition {
  readonly schedule: {
    readonly name: Template
    readonly cron: string
    /** `UTC` when left out. */
    readonly zone?: string
    /** The subject of each event. */
    readonly emit: Template
    readonly data?: Sent
  }
}

export interface UnscheduleActionDefinition {
  readonly unschedule: Template
}

export interface AgentActionDefinition {
  /** The name of an agent, as `judge.name`. */
  readonly agent: string
  /** What its templates see. */
  readonly with?: Sent
  /** Per attempt; the agent's own when left out. */
  readonly timeout?: DurationText
}

export interface OperationActionDefinition {
  /** With its provider: `github.createIssue`. */
  readonly operation: string
  /** The name of a connection to that provider, as `main.name`. */
  readonly connection: string
  /** Its input; the payload when left out, and in a workflow the data of the instance. */
  readonly with?: Sent
  /** Per attempt; the operation's own when left out. */
  readonly timeout?: DurationText
  /** Over the operation's own. */
  readonly classify?: Readonly<Record<number, 'done' | FailureName>>
}

interface UpsertCallDefinition {
  /** `POST` of `create`, `PUT` of `update` when left out. */
  readonly method?: Method
  /** After `baseUrl`. */
  readonly path: Template
  readonly body?: Sent
  /** Repeating the call is harmless. */
  readonly idempotent?: boolean
  /** How long the vendor remembers the `Idempotency-Key`. */
  readonly keyTtl?: DurationText
}

export interface UpsertDefinition {
  /** The connection whose address and credential it uses: `baseUrl` may then be left out, or a path. */
  readonly connection?: string
  /** In place of a connection, for all its requests. */
  readonly auth?: AuthDefinition
  readonly baseUrl?: Template
  readonly headers?: Readonly<Record<string, Template>>
  /** The external reference of the object; `extRef` in the fields below. */
  readonly extRef: Template
  readonly find: {
    readonly method?: Method
    readonly path: Template
    /** True if it exists: an expression over `result`. */
    readonly found: Expression
    /** The id that `update` uses, as `found.id`. */
    readonly id?: Expression
    /** How long a call with an unknown outcome may still take effect; `30s` when left out. */
    readonly after?: DurationText
  }
  readonly create: UpsertCallDefinition
  /** `none` when left out: an existing object is left alone. */
  readonly update?: UpsertCallDefinition | 'none'
  /** `single` when left out: one job at a time for a reference. */
  readonly lock?: 'single' | 'none'
}

export interface UpsertActionDefinition {
  readonly upsert: UpsertDefinition
  /** Per attempt; `10s` when left out. */
  readonly timeout?: DurationText
  readonly classify?: Readonly<Record<number, 'done' | FailureName>>
}

export type ActionDefinition =
  | HttpActionDefinition
  | UpsertActionDefinition
  | OperationActionDefinition
  | FunctionActionDefinition
  | EmitActionDefinition
  | StartActionDefinition
  | ScheduleActionDefinition
  | UnscheduleActionDefinition
  | AgentActionDefinition

export interface RateDefinition {
  readonly perMinute: number
  /** A sixth of a minute's when left out. */
  readonly burst?: number
}

export interface DrainDefinition {
  readonly every: DurationText
  readonly events: number
  /** 1 when left out. */
  readonly cycles?: number
}

/** Sends matching events to one action. */
export interface RouteDefinition extends Described {
  /** Subjects: `*` stands for one word, `>` for the rest. */
  readonly on: string | readonly string[]
  /** Events that do not satisfy it are skipped. */
  readonly where?: Condition
  /** `paused` stores what arrives, `disabled` skips it. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** One job, one key and one effect for each element of a list. */
  readonly each?: {
    readonly of: Expression
    /** `element` when left out. */
    readonly as?: string
    /** 500 when left out. */
    readonly max?: number
  }
  /** Events with one key have one effect; one per event when left out. */
  readonly key?: Expression
  /** `operation` when left out: an effect per version of an object. */
  readonly uniqueness?: 'operation' | 'record'
  /** Confirms that a changed formula of `key` is intended. */
  readonly keyMigration?: { readonly from: string; readonly note: string }
  /** How long the ledger remembers its keys. */
  readonly ledger?: { readonly keep: DurationText }
  /** A profile's name, or the retries themselves; `STANDARD` when left out. */
  readonly retry?: string | RetryDefinition
  /** How long it waits for rate, circuit or another job's key; `24h` when left out. */
  readonly maxWait?: DurationText
  /** `normal` when left out. */
  readonly priority?: 'high' | 'normal' | 'low'
  /** A profile's name, or the policy itself; at once when left out. */
  readonly drain?: string | DrainDefinition
  /** Calls: the policy itself, or a profile's name. */
  readonly rateLimit?: string | RateDefinition
  readonly concurrency?: { readonly limit: number; readonly by?: Expression }
  readonly order?: {
    readonly by: Expression
    readonly version?: Expression
    /** `run` when left out. */
    readonly stale?: 'run' | 'skip'
    /** `hold` when left out. */
    readonly onBlocked?: 'hold' | 'skip'
  }
  readonly debounce?: {
    readonly by: Expression
    readonly window: DurationText
    /** Ten windows when left out. */
    readonly maxWait?: DurationText
    /** `last` when left out. */
    readonly keep?: 'last' | 'first'
  }
  readonly batch?: {
    readonly size: number
    /** `5s` when left out. */
    readonly maxWait?: DurationText
    /** The list with the result of each: an expression over `result`. */
    readonly results?: Expression
    /** Over `item`, one of `results`. */
    readonly item?: { readonly key: Expression; readonly ok: Expression }
  }
  /** 5 failures one after another, or half of 20 within a minute, when left out. */
  readonly circuit?:
    | 'off'
    | {
        readonly failures?: number
        readonly ratio?: number
        readonly of?: number
        readonly openFor?: DurationText
      }
  readonly deadLetter?: {
    readonly severity?: 'low' | 'medium' | 'high' | 'critical'
    readonly runbook?: string
  }
  /** `all` when left out. */
  readonly fanOut?: 'all' | 'first' | 'one'
  readonly do: ActionDefinition
}

/** Named retries, rates or drains: one of them. */
export interface ProfileDefinition extends Described {
  readonly retry?: RetryDefinition
  readonly rate?: RateDefinition
  readonly drain?: DrainDefinition
}
