// Generated from src/definitions/kinds by `npm run docs`; do not edit.

import type { AuthDefinition, Condition, Expression, JsonSchema, SecretReference, Sent, SizeText, Template } from './definition-values.ts'
import type { DurationText } from './errors.ts'

export interface HttpRequestDefinition {
  /** Whose address and credential it goes with. Left out: nobody’s. */
  readonly connection?: string
  /** What proves who calls, in place of a connection: for the request and its probe. Left out: nothing does. */
  readonly auth?: AuthDefinition
  /** The method. Left out: `POST`. */
  readonly method?: Method
  /** Absolute, http or https; values in it are percent-encoded. With a connection a path behind its base, or an address of its host. In its query `{{ secret('name') }}` is a secret of the vault, read when it is sent. */
  readonly url: Template
  /** Headers, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none. */
  readonly headers?: Readonly<Record<string, Template>>
  /** What is not a text is sent as JSON; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none. */
  readonly body?: Sent
  /** Repeating the call is harmless. Left out: true for GET, HEAD, OPTIONS, PUT and DELETE. */
  readonly idempotent?: boolean
  /** How long the vendor remembers the `Idempotency-Key`. Left out: it does not. */
  readonly keyTtl?: DurationText
  /** The same as `timeout` beside `http`; where both are written they agree. Left out: `timeout` beside `http`, or `10s`. */
  readonly timeout?: DurationText
  /** How to ask whether the effect is there. Left out: it cannot be asked. */
  readonly probe?: {
    /** What proves who calls, where the probe needs another. Left out: `auth` of the action. */
    readonly auth?: AuthDefinition
    /** The method. Left out: `GET`. */
    readonly method?: Method
    /** As `url`. */
    readonly url: Template
    /** Headers, by name. Left out: none. */
    readonly headers?: Readonly<Record<string, Template>>
    /** True when it is there; sees `result.status`, `result.headers`, `result.body`. */
    readonly found: Expression
    /** How long the vendor may still be busy with a call that was given up. Left out: `30s`. */
    readonly after?: DurationText
  }
}

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

export interface UpsertDefinition {
  /** Whose address and credential it goes with. Left out: nobody’s. */
  readonly connection?: string
  /** What proves who calls, in place of a connection: for all its requests. Left out: nothing does. */
  readonly auth?: AuthDefinition
  /** Absolute, http or https; the paths are put behind it. With a connection a path behind its base. Left out: the connection’s. */
  readonly baseUrl?: Template
  /** Headers of all its requests, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none. */
  readonly headers?: Readonly<Record<string, Template>>
  /** The external reference of the object; `extRef` in what follows. */
  readonly extRef: Template
  /** How to look for the object by its reference. */
  readonly find: {
    /** The method. Left out: `GET`. */
    readonly method?: Method
    /** Behind `baseUrl`; values in it are percent-encoded. */
    readonly path: Template
    /** True when it is there; sees `result`. */
    readonly found: Expression
    /** What `update` calls it, as `found.id`; sees `result`. Left out: none. */
    readonly id?: Expression
    /** How long the vendor may still be busy with a call that was given up. Left out: `30s`. */
    readonly after?: DurationText
  }
  /** What makes the object; its body should set the reference. */
  readonly create: UpsertCallDefinition
  /** What changes an object that was found; `none`: it is left alone. Left out: `none`. */
  readonly update?: UpsertCallDefinition | 'none'
  /** `single`: one item at a time for a reference, over all routes to the same host. Left out: `single`. */
  readonly lock?: 'single' | 'none'
}

export interface UpsertCallDefinition {
  /** The method. Left out: `POST`. */
  readonly method?: Method
  /** Behind `baseUrl`. */
  readonly path: Template
  /** What is not a text is sent as JSON. Left out: none. */
  readonly body?: Sent
  /** Repeating the call is harmless. Left out: true for PUT and DELETE. */
  readonly idempotent?: boolean
  /** How long the vendor remembers the `Idempotency-Key`. Left out: it does not. */
  readonly keyTtl?: DurationText
}

export interface RateDefinition {
  /** How many requests a minute. */
  readonly perMinute: number
  /** How many at once. Left out: a sixth of a minute’s. */
  readonly burst?: number
}

export interface RetryDefinition {
  /** How often, the first time included. */
  readonly attempts: number
  /** The pauses in between, one fewer than attempts. Left out: none, or those of `backoff`. */
  readonly delays?: readonly DurationText[]
  /** A formula in place of `delays`: each pause is `factor` times the one before, one `first` longer, or equal. Left out: the pauses are listed. */
  readonly backoff?: 'exponential' | 'linear' | 'fixed'
  /** Of `backoff`: the first pause. Left out: `1s`. */
  readonly first?: DurationText
  /** Of `backoff: exponential`: how fast pauses grow. Left out: `2`. */
  readonly factor?: number
  /** Of `backoff: exponential` and `linear`: no pause is longer. Left out: `1h`, or `first` where that is longer. */
  readonly max?: DurationText
  /** The only failures that are tried again: classes, and `timeout` for calls that took too long, whatever their class. Left out: all that may succeed later. */
  readonly retryOn?: readonly ('transient' | 'rate_limited' | 'timeout' | 'unknown')[]
}

export interface DrainDefinition {
  /** How often. */
  readonly every: DurationText
  /** How many items a cycle takes. */
  readonly events: number
  /** How many cycles, one after another, each time. Left out: `1`. */
  readonly cycles?: number
}

export interface CircuitDefinition {
  /** So many failures one after another. Left out: `5`. */
  readonly failures?: number
  /** Or this share of the calls within a minute. Left out: `0.5`. */
  readonly ratio?: number
  /** The share is looked at from so many calls on. Left out: `20`. */
  readonly of?: number
  /** How long until it tries one. Left out: `30s`. */
  readonly openFor?: DurationText
}

export interface StepFields {
  /** Unique among the steps: its result is `steps.<name>.result` in later ones. */
  readonly name: string
  /** For people. Left out: none. */
  readonly description?: string
  /** How long it waits after the step before it, or after the event. Left out: none. */
  readonly delay?: DurationText
  /** One action, as of a route. */
  readonly do: ActionDefinition
  /** What is kept of the `result`. Target and expression: `title` means `data.title`, which later steps read. Left out: nothing. */
  readonly out?: Readonly<Record<string, Expression>>
  /** What takes the step back if a later one fails for good; sees its `result`. Left out: nothing has to be taken back. */
  readonly undo?: ActionDefinition
  /** Names the effect of this step. Left out: the name of the step and the key of the route. */
  readonly key?: Expression
  /** The name of a profile, or a policy in place. Left out: that of the route. */
  readonly retry?: string | RetryDefinition
  /** How long the step may wait beside its retries. Left out: that of the route. */
  readonly maxWait?: DurationText
  /** When the step pauses itself because its calls fail; `off`: never. Left out: that of the route. */
  readonly circuit?: CircuitDefinition | 'off'
}

export interface OnFailureFields {
  /** Steps that are done are undone first, newest first. Left out: nothing is undone. */
  readonly undo?: 'done-steps'
  /** The place of the token while steps are undone. Left out: needed with `undo`. */
  readonly through?: string
  /** The place of the token after that. */
  readonly to: string
}

export interface TriggerFields {
  /** Subjects that it wants; `*` is one token, `>` at the end one or more. Left out: a trigger of another sort. */
  readonly on?: string | readonly string[]
  /** A new instance by the clock. Left out: a trigger of another sort. */
  readonly schedule?: {
    /** When: five fields, or six with seconds first. */
    readonly cron: string
    /** Whose clock, as in `Europe/Berlin`. Left out: `UTC`. */
    readonly zone?: string
    /** What becomes of the instants at which no node ran. Left out: `once`. */
    readonly missed?: 'once' | 'skip' | 'all'
    /** No new one while so many are active. Left out: no bound. */
    readonly maxInstances?: number
  }
  /** By a person, a program, or `start` of a route or another workflow. Left out: a trigger of another sort. */
  readonly manual?: {
    /** What whoever starts it must be granted. Left out: the role is enough. */
    readonly permission?: string
    /** A JSON Schema of what is given. Left out: anything. */
    readonly input?: JsonSchema
  }
  /** Whether an event makes an instance, changes one, or whichever is needed. Left out: `create`. */
  readonly action?: 'create' | 'update' | 'createOrUpdate'
  /** Which of these events: an expression or a filter. Left out: all of them. */
  readonly where?: Condition
  /** By what an event finds its instance: keys by name, or one expression, whose name is `default`. Left out: no key. */
  readonly correlate?: Expression | Readonly<Record<string, Expression>>
  /** No second instance with the same key: while one lives (`live`, `true`), or `ever`. Left out: several may have the same. */
  readonly unique?: 'live' | 'ever' | true
  /** Target and expression: `title` means `data.title`; also `metadata.x` and `correlation.x`. Left out: nothing is taken over. */
  readonly map?: Readonly<Record<string, Expression>>
  /** The transition that an update fires, if it can. Left out: none. */
  readonly fire?: string
  /** How long an update waits for its instance, before it is an orphan. Left out: `1h`. */
  readonly buffer?: DurationText
  /** How many events are taken: a policy in place, or the name of a profile. Others do what `onLimit` says. Left out: as many as come. */
  readonly rateLimit?: string | RateDefinition
  /** What an event over `rateLimit` does: it waits for its turn, or is a dead letter, which can be replayed. Left out: `wait`. */
  readonly onLimit?: 'wait' | 'reject'
  /** How often an event is tried that its instance refuses or that cannot be mapped: a profile, or a policy in place. Left out: such an event is a dead letter at once. */
  readonly retry?: string | RetryDefinition
  /** How long an event may take from its first try on, the wait for its instance excepted; then it is a dead letter. Left out: no limit. */
  readonly maxProcessingTime?: DurationText
  /** An event about each of its dead letters. Left out: none. */
  readonly deadLetter?: {
    /** Of an event with the payload and why it failed. */
    readonly subject: string
  }
  /** When the trigger pauses itself because its events fail. Later events wait, and one is tried. Left out: never. */
  readonly circuit?: CircuitDefinition
}

export interface PlaceFields {
  /** For people. Left out: none. */
  readonly description?: string
  /** `final` and `error` end an instance; `waiting` and `review` are for people to see. Left out: `normal`, or `final` with `final: true`. */
  readonly type?: 'normal' | 'waiting' | 'review' | 'error' | 'final'
  /** The same as `type: final`. Left out: what `type` says. */
  readonly final?: boolean
  /** For the whole stay of a token, retries of what it is used for included. Left out: it may stay for ever. */
  readonly timeout?: {
    /** How long. */
    readonly after: DurationText
    /** The transition that fires then. */
    readonly fire: string
  }
  /** Done for every token that comes in; it goes on only after that. Left out: nothing. */
  readonly onEnter?: ActionDefinition
}

export interface TransitionFields {
  /** For people. Left out: none. */
  readonly description?: string
  /** Takes one token of each of these places. Left out: `fromAny` is needed. */
  readonly from?: string | readonly string[]
  /** Takes one token of one of these, the first written that has one. Left out: `from` is needed. */
  readonly fromAny?: string | readonly string[]
  /** Gives one token to each of these places. Left out: `choose` is needed. */
  readonly to?: string | readonly string[]
  /** Where the token goes, where it depends: the first branch that holds. Left out: `to` is needed. */
  readonly choose?: readonly {
    /** An expression or a filter; sees `result`. Left out: always. */
    readonly when?: Condition
    /** The places of this branch. */
    readonly to: string | readonly string[]
  }[]
  /** `auto`: as soon as it can, unless a `fire` names it. `manual`: by a person. `event` and `timer`: when a `fire` says so. Left out: `auto`. */
  readonly on?: 'auto' | 'manual' | 'event' | 'timer'
  /** Short for a `timeout` of the place in `from` that fires it, and `on: timer`: it fires so long after the token came. Left out: none. */
  readonly delay?: DurationText
  /** Whether it may fire: an expression or a filter over the instance. Left out: always. */
  readonly when?: Condition
  /** The step. Left out: it only moves tokens. */
  readonly do?: ActionDefinition
  /** What is kept of the `result`. Target and expression: `title` means `data.title`; also `metadata.x` and `correlation.x`. Left out: nothing. */
  readonly out?: Readonly<Record<string, Expression>>
  /** Names the effect: one per key, over all instances and replays. Left out: one effect per firing. */
  readonly key?: Expression
  /** The name of a profile, or a policy in place. Left out: `STEP`. */
  readonly retry?: string | RetryDefinition
  /** How long a step may wait beside its retries. Left out: `24h`. */
  readonly maxWait?: DurationText
  /** When the step pauses itself, for all instances, because its calls fail; `off`: never. Left out: as of a route. */
  readonly circuit?: CircuitDefinition | 'off'
  /** What takes the step back; sees its `result`. Left out: nothing has to be taken back. */
  readonly undo?: ActionDefinition
  /** As of the workflow; `none`: a dead letter. Left out: the workflow’s. */
  readonly onFailure?: OnFailureFields | 'none'
  /** What whoever fires it must be granted. Left out: the role is enough. */
  readonly permission?: string
  /** A JSON Schema of what whoever fires it gives; `input` in expressions. Left out: anything. */
  readonly input?: JsonSchema
  /** Whoever this names may not fire it. Left out: anybody may. */
  readonly notBy?: Expression
}

export interface MigrationFields {
  /** The older version. */
  readonly from: string
  /** The newer version. */
  readonly to: string
  /** `inPlace`: the instance goes on under the new version. `manual`: so it does, one by one, when a user asks for it with a reason; migrating all passes it over. `newInstance`: it ends, and a new instance takes over its keys, data and tokens. Left out: `inPlace`. */
  readonly strategy?: 'inPlace' | 'manual' | 'newInstance'
  /** Old place and new place. Left out: places keep their names. */
  readonly places?: Readonly<Record<string, string>>
  /** What becomes of the data, in order: `rename`, `delete`, `default`, `set` or `transform`. Left out: it stays as it is. */
  readonly data?: readonly ({
    /** A path that gets another name. */
    readonly rename: string
    /** The other name. */
    readonly to: string
  } | {
    /** A path that goes. */
    readonly delete: string
  } | {
    /** A path that gets a value where it has none. */
    readonly default: string
    /** Of `default` any value; of `set` an expression over the data as it was. Left out: needed with `set`; nothing with `default`. */
    readonly value: unknown
  } | {
    /** A path that gets a computed value. */
    readonly set: string
    /** Of `default` any value; of `set` an expression over the data as it was. Left out: needed with `set`; nothing with `default`. */
    readonly value: Expression
  } | {
    /** A function that returns the new data. */
    readonly transform: string
    /** How long the function may take. Left out: as of the function. */
    readonly timeout?: DurationText
  })[]
}

export type AuthModelName = 'none' | 'apiKey' | 'basic' | 'bearer' | 'oauth2' | 'githubApp' | 'serviceAccount' | 'hmac'

export interface OperationDefinition {
  /** For people. Left out: none. */
  readonly description?: string
  /** The method. Left out: `POST`. */
  readonly method?: Method
  /** Behind the connection’s address; values in it are percent-encoded. */
  readonly path: Template
  /** What stands behind the path, by name; a value that is missing leaves its name out, a list repeats it. Left out: nothing. */
  readonly query?: Readonly<Record<string, Template>>
  /** Headers, by name; what shows who calls comes with the credential. Left out: none. */
  readonly headers?: Readonly<Record<string, Template>>
  /** What is not a text is sent as `encoding` says; empty: no body. Left out: `{{ input }}` of `POST`, `PUT` and `PATCH`. */
  readonly body?: Sent
  /** How the body is written. Left out: `json`. */
  readonly encoding?: 'json' | 'form'
  /** Which of `endpoints` it goes to. Left out: the base. */
  readonly endpoint?: string
  /** A JSON Schema of what it is given. Left out: anything. */
  readonly input?: unknown
  /** A JSON Schema of what it gives. Left out: anything. */
  readonly output?: unknown
  /** What makes a repetition safe: the vendor’s own key, a look, its nature, or nothing. Left out: as `keyTtl`, `lookup` and the method say. */
  readonly idempotency?: 'native' | 'lookup' | 'idempotent' | 'none'
  /** Of `native`: how long the vendor remembers a key. Left out: needed with `native`. */
  readonly keyTtl?: DurationText
  /** The header that carries the key; `none`: a template of the request does. Left out: `idempotency-key` of `native`. */
  readonly keyHeader?: string
  /** Of `lookup`: how to ask whether the effect is there. Left out: needed with `lookup`. */
  readonly lookup?: {
    /** The method. Left out: `GET`. */
    readonly method?: Method
    /** Behind the connection’s address; values in it are percent-encoded. */
    readonly path: Template
    /** What stands behind the path, by name; a value that is missing leaves its name out, a list repeats it. Left out: nothing. */
    readonly query?: Readonly<Record<string, Template>>
    /** Headers, by name; what shows who calls comes with the credential. Left out: none. */
    readonly headers?: Readonly<Record<string, Template>>
    /** True when it is there; sees `result`. */
    readonly found: Expression
    /** What it is called there; sees `result`. Left out: not known. */
    readonly id?: Expression
    /** How long the vendor may still be busy with a call that was given up. Left out: `30s`. */
    readonly after?: DurationText
  }
  /** What it gives; sees `result`. Left out: the body of the answer. */
  readonly result?: Expression
  /** Where the effect is, in the vendor’s words; sees `result`. Left out: its `location` or `id`. */
  readonly ref?: Expression
  /** What single statuses mean, instead of the table of failures. Left out: what the provider says. */
  readonly classify?: Readonly<Record<number, 'done' | 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'>>
  /** What an answer means where its status does not say it; the first that holds counts. Left out: what the provider says. */
  readonly refine?: readonly {
    /** Sees `result.status`, `result.headers` and `result.body`. */
    readonly when: Expression
    /** A class of failures, or `done`. */
    readonly as: 'done' | 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  }[]
  /** For the whole exchange. Left out: `30s`. */
  readonly timeout?: DurationText
  /** Of which buckets a call takes a token. Left out: `default`, where there is one. */
  readonly buckets?: readonly string[]
  /** What the account must be allowed to do. Left out: not known. */
  readonly scopes?: readonly string[]
  /** What to use in its place; whoever uses it is told. Left out: it is current. */
  readonly deprecated?: string
}

export interface HttpActionDefinition {
  /** One request to somebody else’s server. Left out: another action. */
  readonly http: HttpRequestDefinition
  /** For the whole exchange, or one attempt of a function. Left out: the function’s or the operation’s own, or `10s`. */
  readonly timeout?: DurationText
  /** What single statuses mean, instead of the table of failures. Left out: the table. */
  readonly classify?: Readonly<Record<number, 'done' | 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'>>
}

export interface UpsertActionDefinition {
  /** One object at the other side per external reference: found and updated, or created. Left out: another action. */
  readonly upsert: UpsertDefinition
  /** For the whole exchange, or one attempt of a function. Left out: the function’s or the operation’s own, or `10s`. */
  readonly timeout?: DurationText
  /** What single statuses mean, instead of the table of failures. Left out: the table. */
  readonly classify?: Readonly<Record<number, 'done' | 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'>>
}

export interface FunctionActionDefinition {
  /** The name of a function to run. Left out: another action. */
  readonly function: string
  /** The input of the function, the workflow, the agent or the operation. Left out: the payload; in a workflow the instance’s data. */
  readonly with?: Sent
  /** For the whole exchange, or one attempt of a function. Left out: the function’s or the operation’s own, or `10s`. */
  readonly timeout?: DurationText
}

export interface EmitActionDefinition {
  /** The subject of an event to emit. Left out: another action. */
  readonly emit: Template
  /** The emitted event’s payload. Left out: the payload; in a workflow the instance’s data. */
  readonly data?: Sent
}

export interface StartActionDefinition {
  /** The name of a workflow to start. Left out: another action. */
  readonly start: string
  /** The input of the function, the workflow, the agent or the operation. Left out: the payload; in a workflow the instance’s data. */
  readonly with?: Sent
  /** Only in a workflow: the step ends when the started instance does. Left out: it does not wait. */
  readonly wait?: boolean
}

export interface ScheduleActionDefinition {
  /** Events by the clock from now on; doing it again under the same name replaces it. Left out: another action. */
  readonly schedule: {
    /** What `unschedule` calls it. */
    readonly name: Template
    /** When: five fields, or six with seconds first. */
    readonly cron: string
    /** Whose clock, as in `Europe/Berlin`. Left out: `UTC`. */
    readonly zone?: string
    /** The subject of each event. */
    readonly emit: Template
    /** The payload of each event. Left out: none. */
    readonly data?: Sent
  }
}

export interface UnscheduleActionDefinition {
  /** The name of a schedule to end. Left out: another action. */
  readonly unschedule: Template
}

export interface AgentActionDefinition {
  /** The name of an agent to ask. Left out: another action. */
  readonly agent: string
  /** The input of the function, the workflow, the agent or the operation. Left out: the payload; in a workflow the instance’s data. */
  readonly with?: Sent
  /** For the whole exchange, or one attempt of a function. Left out: the function’s or the operation’s own, or `10s`. */
  readonly timeout?: DurationText
}

export interface OperationActionDefinition {
  /** A named call of a provider, as `github.createIssue`; pinned as it is when this is applied. Left out: another action. */
  readonly operation: string
  /** Of an operation: the account that it is called by, a `kind: Connection`. Left out: another action. */
  readonly connection: string
  /** The input of the function, the workflow, the agent or the operation. Left out: the payload; in a workflow the instance’s data. */
  readonly with?: Sent
  /** For the whole exchange, or one attempt of a function. Left out: the function’s or the operation’s own, or `10s`. */
  readonly timeout?: DurationText
  /** What single statuses mean, instead of the table of failures. Left out: the table. */
  readonly classify?: Readonly<Record<number, 'done' | 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'>>
}

export type ActionDefinition =
  | HttpActionDefinition
  | UpsertActionDefinition
  | FunctionActionDefinition
  | EmitActionDefinition
  | StartActionDefinition
  | ScheduleActionDefinition
  | UnscheduleActionDefinition
  | AgentActionDefinition
  | OperationActionDefinition

/** An entry point for events, with its verification. */
export interface SourceDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** Short for `verify.scheme` and, where there is a mapping of that name, `subjects`; with `secret` beside it. Left out: `verify` is written. */
  readonly vendor?: 'github' | 'bitbucket' | 'jira' | 'shopify' | 'terraform-cloud' | 'sentry' | 'intercom' | 'pagerduty' | 'workfront' | 'gitlab' | 'stripe' | 'slack' | 'standard-webhooks' | 'discord' | 'linear' | 'zoom' | 'paddle' | 'twilio' | 'square' | 'hubspot'
  /** Beside `vendor`: the secret to verify with, as in `verify`. Left out: in `verify`. */
  readonly secret?: SecretReference | readonly SecretReference[]
  /** How senders prove who they are. Taking everything in must be written out. Left out: only a schedule and `nats` need none. */
  readonly verify?: {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'none'
  } | {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'github' | 'bitbucket' | 'jira' | 'shopify' | 'terraform-cloud' | 'sentry' | 'intercom' | 'pagerduty' | 'workfront'
    /** The secret to verify with; of several, each is tried, so that it can be rotated. */
    readonly secret: SecretReference | readonly SecretReference[]
  } | {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'gitlab' | 'stripe' | 'slack' | 'standard-webhooks' | 'discord' | 'linear' | 'zoom' | 'paddle'
    /** The secret to verify with; of several, each is tried, so that it can be rotated. */
    readonly secret: SecretReference | readonly SecretReference[]
    /** How near, in both directions. Left out: `300s`. */
    readonly tolerance?: DurationText
  } | {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'twilio' | 'square'
    /** The secret to verify with; of several, each is tried, so that it can be rotated. */
    readonly secret: SecretReference | readonly SecretReference[]
    /** The address that the sender knows, without a query, where its scheme signs it. Left out: as the request came. */
    readonly url?: string
  } | {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'hubspot'
    /** The secret to verify with; of several, each is tried, so that it can be rotated. */
    readonly secret: SecretReference | readonly SecretReference[]
    /** How near, in both directions. Left out: `300s`. */
    readonly tolerance?: DurationText
    /** The address that the sender knows, without a query, where its scheme signs it. Left out: as the request came. */
    readonly url?: string
  } | {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'hmac'
    /** The secret to verify with; of several, each is tried, so that it can be rotated. */
    readonly secret: SecretReference | readonly SecretReference[]
    /** The header with the signature or the key. Left out: `x-signature`, or `x-api-key` of `api-key`. */
    readonly header?: string
    /** The hash under the HMAC. Left out: `sha256`. */
    readonly algorithm?: 'sha1' | 'sha256' | 'sha512'
    /** How the signature is written. Left out: `hex`. */
    readonly encoding?: 'hex' | 'base64'
    /** What stands before the signature or the key. Left out: nothing. */
    readonly prefix?: string
    /** What is signed; sees `body` and `header`. Left out: `{{ body }}`. */
    readonly signed?: Template
    /** A header with a time that must be near. Left out: none. */
    readonly timestampHeader?: string
    /** How near, in both directions. Left out: `300s`. */
    readonly tolerance?: DurationText
  } | {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'basic'
    /** The user of Basic authentication. */
    readonly username: string
    /** The secret to verify with; of several, each is tried, so that it can be rotated. */
    readonly secret: SecretReference | readonly SecretReference[]
  } | {
    /** A vendor’s way, any HMAC, a password, a key, or nothing at all. */
    readonly scheme: 'api-key'
    /** The secret to verify with; of several, each is tried, so that it can be rotated. */
    readonly secret: SecretReference | readonly SecretReference[]
    /** The header with the signature or the key. Left out: `x-signature`, or `x-api-key` of `api-key`. */
    readonly header?: string
    /** What stands before the signature or the key. Left out: nothing. */
    readonly prefix?: string
  }
  /** A ready mapping of a vendor’s events to subjects, instead of `subject`. Left out: `subject` is needed. */
  readonly subjects?: 'github' | 'gitlab' | 'stripe' | 'terraform-cloud' | 'slack' | 'shopify' | 'workfront'
  /** The event’s subject. Left out: `subjects` is needed; of `nats`, the message’s own. */
  readonly subject?: Template
  /** What the event says about itself. Left out: what `subjects` brings. */
  readonly event?: {
    /** Tells repeated events from new ones. Left out: none. */
    readonly id?: Expression
    /** The kind of object that the event is about. Left out: none. */
    readonly objectType?: Template
    /** Which object it is. Left out: none. */
    readonly objectId?: Expression
    /** When it happened: ISO 8601 with its zone, or Unix seconds or milliseconds. Left out: not known. */
    readonly occurredAt?: Expression
  }
  /** How repeated events are known. */
  readonly dedup?: {
    /** The dedup key. Left out: `event.id`; without one, payload hash and object id. */
    readonly by?: Expression
    /** How long a key is remembered. Left out: `7d`. */
    readonly window?: DurationText
  }
  /** What is too much. */
  readonly limits?: {
    /** The largest body; `MILLRACE_BODY_LIMIT` is above it. Left out: `1MiB`. */
    readonly body?: SizeText
    /** The deepest nesting. Left out: `64`. */
    readonly depth?: number
  }
  /** `paused`: what arrives is kept and waits. `disabled`: senders get 410. Left out: `active`. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** Internal events that are made from what arrives. Left out: none. */
  readonly dispatch?: {
    /** Whether one rule or every rule that holds emits. Left out: `first`. */
    readonly mode?: 'first' | 'all'
    /** The rules, in order. */
    readonly rules: readonly {
      /** Which events: an expression or a filter. Left out: every event. */
      readonly when?: Condition
      /** The subject of the internal event. */
      readonly emit: Template
      /** Its payload. Left out: the payload. */
      readonly data?: Sent
    }[]
    /** What becomes of an event that no rule wants: it is kept, or a dead letter too. Left out: `keep`. */
    readonly otherwise?: 'keep' | 'deadLetter'
  }
  /** Who may send: networks, addresses, or a vendor’s name for the ranges it publishes. Left out: everybody. */
  readonly allow?: string | readonly string[]
  /** How much may be sent; beyond it senders get 429. Left out: any. */
  readonly rateLimit?: RateDefinition
  /** What is encrypted at rest, kept out of logs and hidden from viewers. Left out: nothing. */
  readonly sensitive?: readonly string[]
  /** How confidential fields are: path and level. `confidential` is as in `sensitive`. `restricted` is also hidden from operators and never sent to subscriptions. `public` and `internal` fields are not sensitive. Left out: nothing is said of them. */
  readonly classification?: Readonly<Record<string, 'public' | 'internal' | 'confidential' | 'restricted'>>
  /** How long an event is kept once all its work is done. Left out: `30d`. */
  readonly retention?: DurationText
  /** What becomes of an event that no route wants: it is listed, or a dead letter too. Left out: `keep`. */
  readonly unmatched?: 'keep' | 'deadLetter'
  /** Makes events by the clock; nobody sends to it. Left out: none. */
  readonly schedule?: {
    /** Minute, hour, day of month, month, day of week. */
    readonly cron: string
    /** The time zone that it is read in. Left out: `UTC`. */
    readonly zone?: string
    /** Of what passed while nothing could fire: the latest, none, or all of it. Left out: `once`. */
    readonly missed?: 'once' | 'skip' | 'all'
    /** What the payload says beside the time. Left out: nothing. */
    readonly data?: unknown
  }
  /** Takes messages of a stream of NATS; nobody sends to it. Left out: none. */
  readonly nats?: {
    /** The stream. Left out: the one that has the subjects. */
    readonly stream?: string
    /** Which of its messages: one pattern or several, as NATS has them. */
    readonly subjects: string | readonly string[]
    /** The consumer that all nodes share, and that remembers how far they came. Left out: `<prefix>_<tenant>_<source>`. */
    readonly durable?: string
  }
  /** The subjects that it can publish. Left out: what `subjects` brings. */
  readonly catalog?: {
    /** What becomes of a payload that does not fit its schema: nothing, a mark, or a dead letter. Left out: `pass`. */
    readonly mismatch?: 'pass' | 'tag' | 'quarantine'
    /** One entry per subject. Left out: what `subjects` brings. */
    readonly subjects?: readonly {
      /** The subject. */
      readonly subject: string
      /** For people. Left out: none. */
      readonly description?: string
      /** A JSON Schema of the payload. Left out: any payload. */
      readonly schema?: unknown
      /** A payload to try things with. Left out: none. */
      readonly example?: unknown
    }[]
  }
  /** What senders are answered. Left out: 202 and the event’s id. */
  readonly respond?: {
    /** From 200 to 299. Left out: `200`. */
    readonly status?: number
    /** Of the body. Left out: plain text for a text, JSON for anything else. */
    readonly contentType?: string
    /** A text, or a value that is sent as JSON. Left out: empty. */
    readonly body?: Sent
  }
  /** A question that a sender asks before it sends events; no event comes of it. Left out: what the scheme brings. */
  readonly handshake?: {
    /** How it is asked. Left out: `POST`. */
    readonly method?: 'GET' | 'POST'
    /** How it is known; sees `payload`, `header` and `query`. */
    readonly when: Condition
    /** From 200 to 299. Left out: `200`. */
    readonly status?: number
    /** Of the body. Left out: plain text. */
    readonly contentType?: string
    /** The answer. Left out: empty. */
    readonly body?: Template
  }
}

/** A source that is asked on schedule for what changed. */
export interface PollerDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** `paused`: it polls nothing and keeps its watermark. `disabled`: the same, by definition. Left out: `active`. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** How often it polls. Left out: `5m`. */
  readonly every?: DurationText
  /** When it polls, instead of `every`. Left out: `every`. */
  readonly cron?: string
  /** The time zone of `cron`. Left out: `UTC`. */
  readonly zone?: string
  /** The call that lists what changed; sees `window.from` (inclusive), `window.to` (exclusive) and `pageSize`. */
  readonly list: {
    /** A request to an address, or on a connection. Left out: `operation`. */
    readonly http?: {
      /** Whose address and credential it goes with. Left out: nobody’s. */
      readonly connection?: string
      /** What proves who calls, in place of a connection. Left out: nothing does. */
      readonly auth?: AuthDefinition
      /** Absolute, http or https; with a connection a path behind its base. It is requested with GET. */
      readonly url: Template
      /** Parameters, by name; values are percent-encoded. Left out: none. */
      readonly query?: Readonly<Record<string, Template>>
      /** Headers, by name. Left out: none. */
      readonly headers?: Readonly<Record<string, Template>>
    }
    /** An operation of a provider that lists, as `shop.listOrders`. Left out: `http`. */
    readonly operation?: string
    /** Of an operation: the account that it is called by. Left out: `http`. */
    readonly connection?: string
    /** The input of the operation. Left out: none. */
    readonly with?: Sent
    /** The list of items in the response: `result.body…`; for operations `result` as the operation gives it. Left out: `result.body`, or `result` of an operation. */
    readonly items?: Expression
  }
  /** How further pages are read. Left out: one response has everything. */
  readonly paging?: {
    /** How the next page is asked for. */
    readonly style: 'page'
    /** The parameter of the request that it is written in. */
    readonly param: string
    /** The number of the first page. Left out: `1`. */
    readonly first?: number
    /** How many items there are over all pages. The last page is known by it, and pages that lack items are noticed. Left out: the pages end with an empty one, and items that move between them may be missed. */
    readonly total?: Expression
    /** What `pageSize` is in the request. Left out: `200`. */
    readonly pageSize?: number
    /** How many pages one run reads. A window with more keeps the watermark, and the next run goes on at the next page. Left out: `50`. */
    readonly maxPages?: number
  } | {
    /** How the next page is asked for. */
    readonly style: 'offset'
    /** The parameter of the request that it is written in. */
    readonly param: string
    /** The offset of the first item. Left out: `0`. */
    readonly first?: number
    /** How many items there are over all pages. The last page is known by it, and pages that lack items are noticed. Left out: the pages end with an empty one, and items that move between them may be missed. */
    readonly total?: Expression
    /** What `pageSize` is in the request. Left out: `200`. */
    readonly pageSize?: number
    /** How many pages one run reads. A window with more keeps the watermark, and the next run goes on at the next page. Left out: `50`. */
    readonly maxPages?: number
  } | {
    /** How the next page is asked for. */
    readonly style: 'cursor'
    /** The parameter of the request that it is written in. */
    readonly param: string
    /** The cursor of the next page; null or empty at the end. */
    readonly next: Expression
    /** What `pageSize` is in the request. Left out: `200`. */
    readonly pageSize?: number
    /** How many pages one run reads. A window with more keeps the watermark, and the next run goes on at the next page. Left out: `50`. */
    readonly maxPages?: number
  } | {
    /** How the next page is asked for. */
    readonly style: 'link'
    /** What `pageSize` is in the request. Left out: `200`. */
    readonly pageSize?: number
    /** How many pages one run reads. A window with more keeps the watermark, and the next run goes on at the next page. Left out: `50`. */
    readonly maxPages?: number
  }
  /** How far it got. */
  readonly cursor: {
    /** When the item changed last: what the watermark follows. */
    readonly field: Expression
  }
  /** How far back the first window begins. Left out: `30d`. */
  readonly since?: DurationText
  /** How far each window reaches back behind the watermark, for what the source shows late. Left out: `10m`. */
  readonly overlap?: DurationText | 'auto'
  /** How far each window ends before the present. Left out: `30s`. */
  readonly safetyLag?: DurationText
  /** What an object consists of, as `hash(item)`: while it is the same as before, the object is skipped. Left out: the time of its change alone counts; if the request names no `window.from`, `event.id`. */
  readonly unchanged?: Expression
  /** The subject of the events: that of the push path. */
  readonly subject: Template
  /** What the events are about. */
  readonly event: {
    /** Which version of which object it is: the same is stored once. Left out: the object and the time of its change. */
    readonly id?: Expression
    /** What kind of object it is about. Left out: none. */
    readonly objectType?: Template
    /** Which object it is about. */
    readonly objectId: Expression
    /** When it happened. Left out: `cursor.field`. */
    readonly occurredAt?: Expression
  }
  /** The payload of the events. Left out: the item. */
  readonly data?: Sent
  /** Of calls that failed: the name of a profile, or a policy in place. Left out: `STANDARD`. */
  readonly retry?: string | RetryDefinition
  /** Of one page. Left out: `30s`. */
  readonly timeout?: DurationText
  /** What its dead letters say. */
  readonly deadLetter?: {
    /** How bad it is. Left out: `medium`. */
    readonly severity?: 'low' | 'medium' | 'high' | 'critical'
    /** Where it is written what to do. Left out: none. */
    readonly runbook?: string
  }
  /** What is encrypted at rest, kept out of logs and hidden from viewers. Left out: nothing. */
  readonly sensitive?: readonly string[]
  /** How long an event is stored once all its jobs are done. Left out: `30d`. */
  readonly retention?: DurationText
}

/** Sends matching events to one action. */
export interface RouteDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** Subjects that it wants; `*` is one token, `>` at the end one or more. */
  readonly on: string | readonly string[]
  /** Which of these events: an expression or a filter. Left out: all of them. */
  readonly where?: Condition
  /** `paused`: work is kept and not run. `disabled`: work is skipped. Left out: `active`. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** Names the effect: one per key, over all events and replays. Left out: the route’s name and the event’s id. */
  readonly key?: Expression
  /** `operation`: an effect per version of an object. `record`: one object, made once. Left out: `operation`. */
  readonly uniqueness?: 'operation' | 'record'
  /** The name of a profile, or a policy in place. Left out: `STANDARD`. */
  readonly retry?: string | RetryDefinition
  /** How long an item may wait beside its retries. Left out: `24h`. */
  readonly maxWait?: DurationText
  /** How long a new job waits before its first attempt; replays run at once. Left out: none. */
  readonly delay?: DurationText
  /** What its dead letters say. */
  readonly deadLetter?: {
    /** How bad it is. Left out: `medium`. */
    readonly severity?: 'low' | 'medium' | 'high' | 'critical'
    /** Where it is written what to do. Left out: none. */
    readonly runbook?: string
  }
  /** One work item, one key and one effect for each element of a list. Left out: one for the event. */
  readonly each?: {
    /** The list. */
    readonly of: Expression
    /** What an element is called in `key`, in `by` and in `do`. Left out: `element`. */
    readonly as?: string
    /** The longest list; a longer one is a dead letter, and nothing of it is done. Left out: `500`. */
    readonly max?: number
  }
  /** Short for `each`, with the `concurrency` of the elements of one event. Left out: one for the event. */
  readonly forEach?: {
    /** The list. */
    readonly of: Expression
    /** What an element is called in `key`, in `by` and in `do`. Left out: `element`. */
    readonly as?: string
    /** The longest list, as of `each`. Left out: `500`. */
    readonly max?: number
    /** How many elements of one event run at once: `concurrency: { limit, by: event.id }`. Left out: as the node can. */
    readonly parallel?: number
  }
  /** Among the routes that match an event: `all` run; of those that say `first`, the first written; one that says `one` must be alone. Left out: `all`. */
  readonly fanOut?: 'all' | 'first' | 'one'
  /** Whose work is taken up first where there is more than can be done. Left out: `normal`. */
  readonly priority?: 'high' | 'normal' | 'low'
  /** The name of a profile, or a policy in place: work is taken up every so often, so much of it. Left out: `INSTANT`. */
  readonly drain?: string | DrainDefinition
  /** How many calls it makes: a policy in place, or the name of a profile. Items wait for their turn. Left out: as many as it can. */
  readonly rateLimit?: string | RateDefinition
  /** How many of its items run at once. Left out: as the node can. */
  readonly concurrency?: {
    /** So many; with `by` so many for each value of it. */
    readonly limit: number
    /** What the limit is counted by. Left out: all of the route together. */
    readonly by?: Expression
  }
  /** Items of one value run one after another, in the order in which they were accepted. Left out: in any order. */
  readonly order?: {
    /** What has an order. */
    readonly by: Expression
    /** The version of the object in the event; numbers compare as numbers, anything else as text. Left out: none. */
    readonly version?: Expression
    /** Of an item whose version is older than one that is done: it runs all the same, or is skipped. Left out: `run`. */
    readonly stale?: 'run' | 'skip'
    /** Of the others while one is dead or parked: they wait for a person, or go on without it. Left out: `hold`. */
    readonly onBlocked?: 'hold' | 'skip'
  }
  /** Of events that come close together one stands for all; the others are skipped and point to it. Left out: each for itself. */
  readonly debounce?: {
    /** Which events belong together. */
    readonly by: Expression
    /** How long it must be quiet. */
    readonly window: DurationText
    /** How long the first may be kept waiting by those after it. Left out: ten windows. */
    readonly maxWait?: DurationText
    /** Which one stands for all. Left out: `last`. */
    readonly keep?: 'last' | 'first'
  }
  /** One call for many items. Left out: one call for one item. */
  readonly batch?: {
    /** How many at most. */
    readonly size: number
    /** How long the first waits for others. Left out: `5s`. */
    readonly maxWait?: DurationText
    /** The list of what became of each; sees `result`. Left out: all share the outcome of the call. */
    readonly results?: Expression
    /** How to read one of `results`. Left out: needed with `results`. */
    readonly item?: {
      /** Whose it is: the key of an item; sees `item`. */
      readonly key: Expression
      /** True when it went well; sees `item`. */
      readonly ok: Expression
    }
  }
  /** When the route pauses itself because the other side fails; `off`: never. */
  readonly circuit?: CircuitDefinition | 'off'
  /** What the ledger remembers of its effects. */
  readonly ledger?: {
    /** For how long; `check` refuses less than it takes until nothing can come again. Left out: for as long as they may come again, and at least `90d`. */
    readonly keep: DurationText
  }
  /** Says that another formula of `key` is meant; a changed one is refused without it. Left out: the formula is the one in force. */
  readonly keyMigration?: {
    /** The formula that was in force, as it was written. */
    readonly from: string
    /** Why no effect is repeated or lost by the change. */
    readonly note: string
  }
  /** One action: `http`, `upsert`, `operation`, `function`, `emit`, `start`, `schedule`, `unschedule` or `agent`. Left out: `steps` is needed. */
  readonly do?: ActionDefinition
  /** Actions one after another, instead of `do`: short for a workflow of this name. Left out: one action. */
  readonly steps?: readonly StepFields[]
}

/** A net of places and transitions, and the triggers that start and change its instances. */
export interface WorkflowFields {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** For people and for migrations; an instance stays on the version that it began with. Left out: `1.0.0`. */
  readonly version?: string
  /** `paused`: events and steps wait. `disabled`: its triggers want nothing. Left out: `active`. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** The place in which the token of a new instance is. */
  readonly start: string
  /** A JSON Schema of an instance’s data. Left out: anything. */
  readonly data?: JsonSchema
  /** One instance at a time for each value: others wait, or are skipped. Left out: as many as there are. */
  readonly lock?: {
    /** The value, as a business object’s number. */
    readonly by: Expression
    /** How long it may be held before somebody is told; it is never taken away. Left out: `30m`. */
    readonly ttl?: DurationText
    /** What a new instance does meanwhile. Left out: `wait`. */
    readonly whenHeld?: 'wait' | 'skip'
    /** Workflows with the same name share their locks. Left out: the workflow’s own. */
    readonly name?: string
  }
  /** How many instances run at once; the others wait. Left out: as many as there are. */
  readonly maxConcurrent?: number
  /** What becomes of an instance whose step failed for good; a transition may say otherwise. Left out: a dead letter, from which it goes on when that is replayed. */
  readonly onFailure?: OnFailureFields
  /** What its dead letters say. */
  readonly deadLetter?: {
    /** How bad it is. Left out: `medium`. */
    readonly severity?: 'low' | 'medium' | 'high' | 'critical'
    /** Where it is written what to do. Left out: none. */
    readonly runbook?: string
  }
  /** What begins and changes instances, each `on`, `schedule` or `manual`. */
  readonly triggers: readonly TriggerFields[]
  /** Where tokens are, by name. */
  readonly places: Readonly<Record<string, PlaceFields>>
  /** What moves tokens, by name, in the order in which they are tried. */
  readonly transitions: Readonly<Record<string, TransitionFields>>
  /** Which older versions are still good. Left out: all of them. */
  readonly compatibility?: {
    /** Versions whose instances may go on. Left out: none but this one. */
    readonly supported?: readonly string[]
    /** Whether instances of other versions are told of. Left out: `true`. */
    readonly deprecationWarnings?: boolean
    /** An apply is refused while instances of other versions are active. Left out: `false`. */
    readonly strict?: boolean
  }
  /** How instances of an older version go over to this one. Left out: they stay on theirs. */
  readonly migrations?: readonly MigrationFields[]
  /** Who may do what, and what is hidden. Left out: roles are enough. */
  readonly security?: {
    /** What keys may be granted for it; every `permission` of it is one of them. Left out: none. */
    readonly permissions?: readonly string[]
    /** What is needed to see or touch its instances at all. Left out: nothing. */
    readonly required?: readonly string[]
    /** `confidential` and `restricted`: every value is encrypted at rest. Viewers do not see the values of confidential instances, and only admins see those of restricted ones. Left out: not said. */
    readonly classification?: 'public' | 'internal' | 'confidential' | 'restricted'
    /** Paths in `data` and `metadata` that are encrypted at rest and hidden from viewers; `all`: every value of both. Left out: none; all where `classification` is `confidential` or `restricted`. */
    readonly encrypt?: readonly string[] | 'all'
    /** `full`: history stores the values that changed. `detailed` (or `changes`): only their paths. `basic`: only steps and tokens. `none`: only the beginning, the end and what users did. Left out: `full`. */
    readonly audit?: 'full' | 'detailed' | 'basic' | 'none' | 'changes'
  }
}

/** A model behind an endpoint that speaks the OpenAI protocol, and its instructions. */
export interface AgentDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** Whose address and credential it goes with, instead of `baseUrl` and `secret`. Left out: nobody’s. */
  readonly connection?: string
  /** An endpoint that speaks the OpenAI protocol, up to and without `/chat/completions`. With a connection a path behind its base. Left out: the connection’s. */
  readonly baseUrl?: Template
  /** Sent as a bearer token. Left out: none is sent. */
  readonly secret?: SecretReference
  /** What proves who calls, in place of `secret` or a connection. Left out: `secret`, or nothing does. */
  readonly auth?: AuthDefinition
  /** Headers beside it, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none. */
  readonly headers?: Readonly<Record<string, Template>>
  /** The model, as the endpoint calls it. */
  readonly model: string
  /** What it is told first; sees the fields of `with`. Left out: nothing. */
  readonly system?: Template
  /** What it is asked; sees the fields of `with`. */
  readonly user: Template
  /** The form of its answer; what does not fit is asked for again. Left out: the answer is a text. */
  readonly output?: {
    /** A JSON Schema. Left out: any JSON. */
    readonly schema: JsonSchema
  }
  /** For one attempt. Left out: `60s`. */
  readonly timeout?: DurationText
  /** How much it varies. Left out: as the endpoint has it. */
  readonly temperature?: number
  /** What all attempts may cost. Left out: no bound. */
  readonly budget?: {
    /** Tokens, asked and answered. */
    readonly tokens: number
  }
  /** Of steps and routes that ask it and have no `retry`: the name of a profile, or a policy in place. Left out: as without an agent. */
  readonly retry?: string | RetryDefinition
  /** How often an answer that does not fit is asked for again within one attempt. Left out: `1`. */
  readonly repairs?: number
}

/** An endpoint, which of our events it receives, and how. */
export interface SubscriptionDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** Where events are sent to: http or https, without a user, a password or a `#`. Sees `vars` alone; what the node does not allow is refused. */
  readonly url: Template
  /** Subjects that it wants; `*` is one token, `>` at the end one or more. */
  readonly on: string | readonly string[]
  /** Which of these events: an expression or a filter. Left out: all of them. */
  readonly where?: Condition
  /** `paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped. Left out: `active`. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** The body that is sent. Left out: `id`, `type`, `timestamp` and `data` of the event. */
  readonly transform?: Exclude<Sent, null>
  /** Headers beside our own, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none. */
  readonly headers?: Readonly<Record<string, Template>>
  /** What proves who calls, beside the signature. Left out: the signature alone does. */
  readonly auth?: AuthDefinition
  /** What deliveries are signed with. Left out: one is generated, and shown once. */
  readonly secret?: SecretReference
  /** How: with the headers of Standard Webhooks by a shared secret (`standard`) or a key pair (`ed25519`), or with `x-hub-signature-256` (`github`). Left out: `standard`. */
  readonly signing?: 'standard' | 'ed25519' | 'github'
  /** The name of a profile, or a policy in place. Left out: `DELIVERY`. */
  readonly retry?: string | RetryDefinition
  /** Of one attempt, `1s` to `60s`. Left out: `15s`. */
  readonly timeout?: DurationText
  /** How long a delivery may wait beside its retries, as when the endpoint asks for less. Left out: `24h`. */
  readonly maxWait?: DurationText
  /** How long everything may fail before the subscription disables itself; `never`: it goes on for good. Left out: `5d`. */
  readonly disableAfter?: DurationText | 'never'
  /** How much is sent: a policy in place, or the name of a profile. Deliveries wait for their turn. Left out: as much as the endpoint bears. */
  readonly rateLimit?: string | RateDefinition
  /** How many deliveries are under way at once. Left out: as many as the endpoint bears, up to 64 a node. */
  readonly concurrency?: {
    /** So many. */
    readonly limit: number
  }
  /** The connection whose rate limits its deliveries share with the calls on it: the default bucket of its provider, also while that is closed after a 429. Address and proof stay those of the subscription. Left out: limits are those of the endpoint alone. Since 0.2. */
  readonly connection?: string
  /** Deliveries of one value go one after another, in the order in which events were accepted. Left out: in any order. */
  readonly order?: {
    /** What has an order. */
    readonly by: Expression
    /** Of the others while one is dead: they wait for a person, or go on without it. Left out: `hold`. */
    readonly onBlocked?: 'hold' | 'skip'
  }
  /** What its dead letters say. */
  readonly deadLetter?: {
    /** How bad it is. Left out: `medium`. */
    readonly severity?: 'low' | 'medium' | 'high' | 'critical'
    /** Where it is written what to do. Left out: none. */
    readonly runbook?: string
  }
  /** `send`: what sources declare as sensitive is sent to this endpoint. Left out: it is sent as `[hidden]`. */
  readonly sensitive?: 'send'
  /** Whose it is, in your own words; it changes nothing. Left out: none. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** A kind of system that is called, and its operations. */
export interface ProviderDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** What people read. Left out: its name. */
  readonly title?: string
  /** What kind of system it is. Left out: `other`. */
  readonly category?: string
  /** Where it is called; sees `config` of the connection. A connection may have another. */
  readonly baseUrl: Template
  /** What a credential of it may be; of several the first is the usual one. Left out: `none`. */
  readonly auth?: AuthModelName | readonly AuthModelName[]
  /** How a value travels, where the model leaves it open: of `apiKey`, `bearer` and `hmac`. Left out: `x-api-key`, `authorization: Bearer`, `x-signature`. */
  readonly authentication?: {
    /** The header that carries it. Left out: that of the model. */
    readonly header?: string
    /** What stands before it in the header, with its blank. Left out: nothing; `Bearer ` of `bearer` in its usual header. */
    readonly prefix?: string
    /** The name in the query that carries an `apiKey`, instead of a header. Left out: a header does. */
    readonly query?: string
  }
  /** Where tokens come from. Left out: needed with `auth: oauth2`. */
  readonly oauth2?: {
    /** Where people allow it; sees `config`. Left out: only the client itself can be allowed. */
    readonly authorizeUrl?: Template
    /** Where a token is asked for; sees `config`. */
    readonly tokenUrl: Template
    /** What is asked for. Left out: nothing in particular. */
    readonly scopes?: readonly string[]
    /** Beside the usual fields, in the address that people are sent to. Left out: none. */
    readonly parameters?: Readonly<Record<string, string>>
    /** How the client shows who it is: by Basic authentication, or in the body. Left out: `basic`. */
    readonly clientAuth?: 'basic' | 'body'
  }
  /** Other addresses, by what operations call them in `endpoint`; see `config`. Left out: none. */
  readonly endpoints?: Readonly<Record<string, Template>>
  /** A JSON Schema of a connection’s `config`. Left out: anything. */
  readonly config?: unknown
  /** What it can do, in words that people search by. Left out: none. */
  readonly capabilities?: readonly string[]
  /** The bucket `default`. Left out: none. */
  readonly rate?: RateDefinition
  /** How much the vendor bears, by name: shared by all that calls on one connection. Left out: as much as it says in its answers. */
  readonly buckets?: Readonly<Record<string, RateDefinition>>
  /** A request that only reads: by it connections are tested and watched, and new secrets verified. Sees `config` and `vars`. Left out: they cannot be. */
  readonly probe?: {
    /** The method. Left out: `GET`. */
    readonly method?: Method
    /** Behind the connection’s address; values in it are percent-encoded. */
    readonly path: Template
    /** What stands behind the path, by name; a value that is missing leaves its name out, a list repeats it. Left out: nothing. */
    readonly query?: Readonly<Record<string, Template>>
    /** Headers, by name; what shows who calls comes with the credential. Left out: none. */
    readonly headers?: Readonly<Record<string, Template>>
    /** How long it may take. Left out: `10s`. */
    readonly timeout?: DurationText
  }
  /** What single statuses mean, instead of the table of failures. Left out: the table. */
  readonly classify?: Readonly<Record<number, 'done' | 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'>>
  /** What an answer means where its status does not say it; the first that holds counts. Left out: the table. */
  readonly refine?: readonly {
    /** Sees `result.status`, `result.headers` and `result.body`. */
    readonly when: Expression
    /** A class of failures, or `done`. */
    readonly as: 'done' | 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  }[]
  /** What can be called, by name. Left out: none. */
  readonly operations?: Readonly<Record<string, OperationDefinition>>
  /** How a new secret is made at the vendor. Left out: a person brings it. */
  readonly rotation?: {
    /** The operation that makes one. */
    readonly create: string
    /** Where it is in what that gives; sees `result`. */
    readonly secret: Expression
    /** The operation that ends the former one, once nobody uses it. Left out: it ends by itself. */
    readonly revoke?: string
  }
  /** What comes in from it. Left out: nothing known. */
  readonly inbound?: {
    /** How it signs: a scheme of a Source. */
    readonly scheme: 'github' | 'bitbucket' | 'jira' | 'shopify' | 'terraform-cloud' | 'sentry' | 'intercom' | 'pagerduty' | 'workfront' | 'gitlab' | 'stripe' | 'slack' | 'standard-webhooks' | 'discord' | 'linear' | 'zoom' | 'paddle' | 'twilio' | 'square' | 'hubspot' | 'hmac' | 'basic' | 'api-key' | 'none'
    /** The ready mapping of its events. Left out: none. */
    readonly subjects?: 'github' | 'gitlab' | 'stripe' | 'terraform-cloud' | 'slack' | 'shopify' | 'workfront'
  }
  /** What to use in its place; whoever uses it is told. Left out: it is current. */
  readonly deprecated?: string
}

/** A tenant's account at a provider. */
export interface ConnectionDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`. Left out: every one that has no document of its own. */
  readonly environment?: 'DEV' | 'QA' | 'PROD'
  /** Whose account it is: a `kind: Provider`, or one that comes with Millrace. */
  readonly provider: string
  /** The name of a `kind: Credential` of the same provider. Left out: the provider takes none. */
  readonly credential?: string
  /** What the provider wants to know of the account; sees `vars`. No secrets. Left out: empty. */
  readonly config?: Sent
  /** Addresses in place of the provider’s; `default` is the base. Sees `vars` and `config`. Left out: the provider’s. */
  readonly endpoints?: Readonly<Record<string, Template>>
  /** `retired`: it runs nothing, for good. Left out: `active`. */
  readonly status?: 'active' | 'retired'
  /** How often it is looked whether the other side is well; `none`: never. */
  readonly probe?: {
    /** Once in so long. Left out: `1m`. */
    readonly every?: DurationText
    /** How long an answer may take. Left out: `10s`. */
    readonly timeout?: DurationText
  } | 'none'
  /** In place of the provider’s, by name. Left out: the provider’s. */
  readonly buckets?: Readonly<Record<string, RateDefinition>>
  /** When nothing is sent for a while because the other side fails; `off`: never. */
  readonly circuit?: CircuitDefinition | 'off'
}

/** The secret of an account, and how it authenticates. */
export interface CredentialDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`. Left out: every one that has no document of its own. */
  readonly environment?: 'DEV' | 'QA' | 'PROD'
  /** At whom it is known. */
  readonly provider: string
  /** How: one of the provider’s models. Left out: the provider’s first. */
  readonly auth?: AuthModelName
  /** Where the value is: the key, the token, the password, the client’s secret, the private key (PEM) or the key file (JSON). Never the value itself. */
  readonly secret: SecretReference
  /** Of `basic`. Left out: needed with `basic`. */
  readonly username?: string
  /** Of `oauth2`: who asks for tokens. Left out: needed with `oauth2`. */
  readonly oauth2?: {
    /** As the client itself, or on behalf of a person who allowed it. Left out: `clientCredentials`. */
    readonly grant?: 'clientCredentials' | 'authorizationCode'
    /** The client’s name at the provider. */
    readonly clientId: string
    /** What is asked for. Left out: the provider’s. */
    readonly scopes?: readonly string[]
    /** For whom the token is. Left out: not said. */
    readonly audience?: string
  }
  /** Of `githubApp`: which app, and where it is installed. Left out: needed with `githubApp`. */
  readonly githubApp?: {
    /** The app. */
    readonly appId: string
    /** Its installation. */
    readonly installationId: string
  }
  /** Of `serviceAccount`. */
  readonly serviceAccount?: {
    /** What is asked for. Left out: nothing in particular. */
    readonly scopes?: readonly string[]
    /** On whose behalf. Left out: its own. */
    readonly subject?: string
  }
  /** Of `hmac`. */
  readonly hmac?: {
    /** The hash under the HMAC. Left out: `sha256`. */
    readonly algorithm?: 'sha256' | 'sha512'
  }
  /** When another value takes its place. */
  readonly rotation?: {
    /** Once in so long. Left out: only when somebody asks, or when it is refused. */
    readonly every?: DurationText
    /** How long after a rotation that failed none is begun by a refusal. Left out: `10m`. */
    readonly coolDown?: DurationText
    /** For how long the former value stays good beside the new one. Left out: `1m`. */
    readonly overlap?: DurationText
  }
}

/** Named retries, rates or drains: one of them. */
export interface ProfileDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** The policy. Left out: a profile of another sort. */
  readonly retry?: RetryDefinition
  /** The policy. Left out: a profile of another sort. */
  readonly rate?: RateDefinition
  /** The policy. Left out: a profile of another sort. */
  readonly drain?: DrainDefinition
}

/** Values that differ by environment. */
export interface VarsDefinition {
  /** The version of the language. Left out: `millrace/v1`. */
  readonly apiVersion?: 'millrace/v1'
  /** Unique among the documents of its kind; letters, digits, `_` and `-`. */
  readonly name: string
  /** For people; it changes nothing. Left out: none. */
  readonly description?: string
  /** By name, what holds where an environment has no value of its own. Left out: none. */
  readonly values?: Readonly<Record<string, unknown>>
  /** By environment, what differs there. Left out: `values` holds everywhere. */
  readonly environments?: {
    /** On nodes of DEV. Left out: as in `values`. */
    readonly DEV?: Readonly<Record<string, unknown>>
    /** On nodes of QA. Left out: as in `values`. */
    readonly QA?: Readonly<Record<string, unknown>>
    /** On nodes of PROD. Left out: as in `values`. */
    readonly PROD?: Readonly<Record<string, unknown>>
  }
}

export function defineSource<const Name extends string>(
  definition: SourceDefinition & { readonly name: Name },
): { readonly kind: 'Source' } & SourceDefinition & { readonly name: Name } {
  return { kind: 'Source', ...definition }
}

export function definePoller<const Name extends string>(
  definition: PollerDefinition & { readonly name: Name },
): { readonly kind: 'Poller' } & PollerDefinition & { readonly name: Name } {
  return { kind: 'Poller', ...definition }
}

export function defineRoute<const Name extends string>(
  definition: RouteDefinition & { readonly name: Name } & ({ readonly do: NonNullable<RouteDefinition['do']> } | { readonly steps: NonNullable<RouteDefinition['steps']> }),
): { readonly kind: 'Route' } & RouteDefinition & { readonly name: Name } {
  return { kind: 'Route', ...definition }
}

export function defineAgent<const Name extends string>(
  definition: AgentDefinition & { readonly name: Name },
): { readonly kind: 'Agent' } & AgentDefinition & { readonly name: Name } {
  return { kind: 'Agent', ...definition }
}

export function defineSubscription<const Name extends string>(
  definition: SubscriptionDefinition & { readonly name: Name },
): { readonly kind: 'Subscription' } & SubscriptionDefinition & { readonly name: Name } {
  return { kind: 'Subscription', ...definition }
}

export function defineProvider<const Name extends string>(
  definition: ProviderDefinition & { readonly name: Name },
): { readonly kind: 'Provider' } & ProviderDefinition & { readonly name: Name } {
  return { kind: 'Provider', ...definition }
}

export function defineConnection<const Name extends string>(
  definition: ConnectionDefinition & { readonly name: Name },
): { readonly kind: 'Connection' } & ConnectionDefinition & { readonly name: Name } {
  return { kind: 'Connection', ...definition }
}

export function defineCredential<const Name extends string>(
  definition: CredentialDefinition & { readonly name: Name },
): { readonly kind: 'Credential' } & CredentialDefinition & { readonly name: Name } {
  return { kind: 'Credential', ...definition }
}

export function defineProfile<const Name extends string>(
  definition: ProfileDefinition & { readonly name: Name },
): { readonly kind: 'Profile' } & ProfileDefinition & { readonly name: Name } {
  return { kind: 'Profile', ...definition }
}

export function defineVars<const Name extends string>(
  definition: VarsDefinition & { readonly name: Name },
): { readonly kind: 'Vars' } & VarsDefinition & { readonly name: Name } {
  return { kind: 'Vars', ...definition }
}
