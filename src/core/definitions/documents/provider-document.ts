// A provider as data: one kind of system that we call, and how. Built-in providers are the manifests of src/connectors; users
// write others. Both have this form, and the code treats them alike.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { CarriedProvider } from './carried-fields.generated.ts'

/**
 * `oauth2` covers two grants, of which the credential names one. `none`: the address itself is the secret, or there is none.
 */
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
 * What makes a repetition safe. `native`: the vendor deduplicates by our key, for `keyTtlMs`. `lookup`: it can be asked whether
 * the effect exists. `idempotent`: repeating is harmless. `none`: nothing does.
 */
export const IDEMPOTENCIES = ['native', 'lookup', 'idempotent', 'none'] as const
export type Idempotency = (typeof IDEMPOTENCIES)[number]

/** A request, in templates that see `input`, `config`, `key`, `extRef` and `vars`. */
export interface OperationRequest {
  readonly method: string
  /** Begins with a slash; rendered in url mode, and appended to the connection's address. */
  readonly path: string
  /** A missing value omits its parameter; a list repeats it. */
  readonly query: Readonly<Record<string, string>>
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
}

/** How to read a response whose status is not enough: the first match counts. Over `result` = `{status, headers, body}`. */
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
  /** The header that carries the key, lower case; null: none (a template of the request may). */
  readonly keyHeader: string | null
  /** Of `lookup`; null otherwise. */
  readonly lookup:
    | (OperationRequest & {
        /** Over `result`, true when the effect exists. */
        readonly found: string
        /** Over `result`: the vendor's id of it. */
        readonly id: string | null
        /** How long after a call with an unknown outcome the vendor may still be applying it. */
        readonly afterMs: number
      })
    | null
  /** Over `result`: the operation's output; null: the body of the response. */
  readonly result: string | null
  /** Over `result`: the vendor's reference to the effect; null: its `location` or `id`. */
  readonly ref: string | null
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
  readonly refine: readonly Refinement[]
  readonly timeoutMs: number
  /** Names of the provider's buckets from which a call takes a token; empty: `default`, where there is one. */
  readonly buckets: readonly string[]
  /** Permissions that the account needs. */
  readonly scopes: readonly string[]
  /** What to use instead; null: it is current. */
  readonly deprecated: string | null
}

export interface Bucket {
  readonly perMinute: number
  readonly burst: number
}

export interface ProviderDocument extends CarriedProvider {
  readonly kind: 'Provider'
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly category: string
  /** The supported credential models; the first one is the default. */
  readonly auth: readonly AuthModel[]
  /**
   * How the value is sent where the model leaves it open: for `apiKey` and `hmac`, or for `bearer` in a provider that has
   * neither. Read through `authenticationOf`.
   */
  readonly authentication: {
    /** Lower case. For `apiKey`: null with `query`. */
    readonly header: string | null
    /** Precedes the value, including its blank. */
    readonly prefix: string
    /** The name in the query that carries an `apiKey`; null: a header does. */
    readonly query: string | null
  }
  readonly oauth2: {
    /** Templates over `config`. */
    readonly authorizeUrl: string | null
    readonly tokenUrl: string
    readonly scopes: readonly string[]
    /** Added to the usual parameters of the address that users are sent to. */
    readonly parameters: Readonly<Record<string, string>>
    /** How the client authenticates at `tokenUrl`. */
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
  /** Read-only request that tests and probes a connection and verifies a new secret; null: none. */
  readonly probe: (OperationRequest & { readonly timeoutMs: number }) | null
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
  readonly refine: readonly Refinement[]
  readonly operations: Readonly<Record<string, OperationDocument>>
  /**
   * How a new secret is created at the vendor, where possible: the name of an operation whose `secret` is an expression over
   * its `result`; and how the former one is revoked once it is no longer used. null: a user enters it.
   */
  readonly rotation: {
    readonly create: string
    readonly secret: string
    readonly revoke: string | null
  } | null
  /** Its webhooks: a scheme and a mapping of sources; null: unknown. */
  readonly inbound: { readonly scheme: string; readonly subjects: string | null } | null
  /** What to use instead; null: it is current. */
  readonly deprecated: string | null
}

/** How the value of a credential is sent; null: the model determines it. */
export function authenticationOf(
  { auth, authentication }: Pick<ProviderDocument, 'auth' | 'authentication'>,
  model: AuthModel,
): ProviderDocument['authentication'] | null {
  if (model === 'apiKey' || model === 'hmac') return authentication
  if (model !== 'bearer') return null
  // Where a key has a header of its own, a token is still sent as a bearer token.
  return auth.includes('apiKey') || auth.includes('hmac') ? BEARER : authentication
}

export const BEARER: ProviderDocument['authentication'] = {
  header: 'authorization',
  prefix: 'Bearer ',
  query: null,
}

/** An operation with inherited fields: the provider's outcome rules apply where the operation has none. */
export function operationOf(
  { operations, classify, refine }: Pick<ProviderDocument, 'operations' | 'classify' | 'refine'>,
  name: string,
): OperationDocument | null {
  const own = Object.hasOwn(operations, name) ? operations[name] : undefined
  if (own === undefined) return null
  return { ...own, classify: { ...classify, ...own.classify }, refine: [...own.refine, ...refine] }
}
