// A provider as data: one kind of system that we call, and how. Built-in ones are the manifests of src/connectors; others are
// written by users. Both have this form, and nothing else is known of either.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'

/** `oauth2` is of two grants, which its credential names. `none`: the address itself is the secret, or there is none. */
export const AUTH_MODELS = [
  'none',
  'apiKey',
  'basic',
  'bearer',
  'oauth2',
  'githubApp',
  'serviceAccount',
  'hmac',
] as const
export type AuthModel = (typeof AUTH_MODELS)[number]

/**
 * What makes a repetition safe. `native`: the vendor knows our key, for `keyTtlMs`. `lookup`: it can be asked whether the effect is
 * there. `idempotent`: doing it twice is doing it once. `none`: nothing does.
 */
export const IDEMPOTENCIES = ['native', 'lookup', 'idempotent', 'none'] as const
export type Idempotency = (typeof IDEMPOTENCIES)[number]

/** A request, in templates that see `input`, `config`, `key`, `extRef` and `vars`. */
export interface OperationRequest {
  readonly method: string
  /** Begins with a slash; rendered in url mode, and put behind the connection's address. */
  readonly path: string
  /** A value that is missing leaves its name out; a list repeats it. */
  readonly query: Readonly<Record<string, string>>
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
}

/** What an answer means where its status does not say it: the first that holds counts. Over `result` = `{status, headers, body}`. */
export interface Refinement {
  readonly when: string
  readonly as: FailureClass | 'done'
}

export interface OperationDocument extends OperationRequest {
  readonly name: string
  readonly description: string | null
  /** A tree of templates; null: no body. */
  readonly body: JsonValue
  readonly encoding: 'json' | 'form'
  /** Which of the connection's addresses it goes to; null: the base. */
  readonly endpoint: string | null
  /** JSON Schemas; null: anything. */
  readonly input: JsonValue
  readonly output: JsonValue
  readonly idempotency: Idempotency
  /** Of `native`; null otherwise. */
  readonly keyTtlMs: number | null
  /** The header that carries the key, lower case; null: none does (a template of the request may). */
  readonly keyHeader: string | null
  /** Of `lookup`; null otherwise. */
  readonly lookup:
    | (OperationRequest & {
        /** Over `result`, true when the effect is there. */
        readonly found: string
        /** Over `result`: what it is called there. */
        readonly id: string | null
        /** How long after a doubtful call the vendor may still be applying it. */
        readonly afterMs: number
      })
    | null
  /** Over `result`: what the operation gives; null: the body of the answer. */
  readonly result: string | null
  /** Over `result`: where the effect is, in the vendor's words; null: its `location` or `id`. */
  readonly ref: string | null
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
  readonly refine: readonly Refinement[]
  readonly timeoutMs: number
  /** Names of the provider's buckets that a call takes a token of; empty: `default`, where there is one. */
  readonly buckets: readonly string[]
  /** What the account must be allowed to do. */
  readonly scopes: readonly string[]
  /** What to use in its place; null: it is current. */
  readonly deprecated: string | null
}

export interface Bucket {
  readonly perMinute: number
  readonly burst: number
}

export interface ProviderDocument {
  readonly kind: 'Provider'
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly category: string
  /** What a credential may be; the first one is the usual one. */
  readonly auth: readonly AuthModel[]
  /**
   * How a value travels that the model leaves open: of `apiKey` and `hmac`, or of `bearer` in a provider that has neither. Asked by
   * `authenticationOf`.
   */
  readonly authentication: {
    /** Lower case. Of `apiKey`: null with `query`. */
    readonly header: string | null
    /** Before the value, with its blank. */
    readonly prefix: string
    /** The name in the query that carries an `apiKey`; null: a header does. */
    readonly query: string | null
  }
  readonly oauth2: {
    /** Templates over `config`. */
    readonly authorizeUrl: string | null
    readonly tokenUrl: string
    readonly scopes: readonly string[]
    /** Beside the usual fields, in the address that people are sent to. */
    readonly parameters: Readonly<Record<string, string>>
    /** How the client shows who it is at `tokenUrl`. */
    readonly clientAuth: 'basic' | 'body'
  } | null
  /** A template over `config`. */
  readonly baseUrl: string
  /** Other addresses by operation class; templates over `config`. */
  readonly endpoints: Readonly<Record<string, string>>
  /** JSON Schema of a connection's `config`; null: anything. */
  readonly config: JsonValue
  readonly capabilities: readonly string[]
  readonly buckets: Readonly<Record<string, Bucket>>
  /** Read-only, by which a connection is tested, probed, and a new secret verified; null: it cannot be. */
  readonly probe: (OperationRequest & { readonly timeoutMs: number }) | null
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
  readonly refine: readonly Refinement[]
  readonly operations: Readonly<Record<string, OperationDocument>>
  /**
   * How a new secret is made at the vendor, where it can be: the name of an operation whose `secret` is an expression over its
   * `result`; and how the former one is ended, once nobody uses it. null: a person brings it.
   */
  readonly rotation: {
    readonly create: string
    readonly secret: string
    readonly revoke: string | null
  } | null
  /** What comes in from it: a scheme and a mapping of sources; null: nothing known. */
  readonly inbound: { readonly scheme: string; readonly subjects: string | null } | null
  /** What to use in its place; null: it is current. */
  readonly deprecated: string | null
}

/** How the value of a credential travels; null: the model says so itself. */
export function authenticationOf(
  { auth, authentication }: Pick<ProviderDocument, 'auth' | 'authentication'>,
  model: AuthModel,
): ProviderDocument['authentication'] | null {
  if (model === 'apiKey' || model === 'hmac') return authentication
  if (model !== 'bearer') return null
  // Beside a key with a header of its own, a token goes as tokens do.
  return auth.includes('apiKey') || auth.includes('hmac') ? BEARER : authentication
}

export const BEARER: ProviderDocument['authentication'] = {
  header: 'authorization',
  prefix: 'Bearer ',
  query: null,
}

/** An operation with all that is said of it: what its provider says of every answer holds where it says nothing itself. */
export function operationOf(
  { operations, classify, refine }: Pick<ProviderDocument, 'operations' | 'classify' | 'refine'>,
  name: string,
): OperationDocument | null {
  const own = Object.hasOwn(operations, name) ? operations[name] : undefined
  if (own === undefined) return null
  return { ...own, classify: { ...classify, ...own.classify }, refine: [...own.refine, ...refine] }
}
