// Providers, connections and credentials as a user writes them in TypeScript; src/definitions/schema-providers.ts and
// schema-connections.ts say the same for YAML and JSON.

import type {
  Described,
  Expression,
  FailureName,
  Method,
  RateDefinition,
  SecretReference,
  Sent,
  Template,
} from './definitions.ts'
import type { DurationText } from './errors.ts'

export type AuthModelName =
  | 'none'
  | 'apiKey'
  | 'basic'
  | 'bearer'
  | 'oauth2'
  | 'githubApp'
  | 'serviceAccount'
  | 'hmac'

interface RequestDefinition {
  readonly method?: Method
  /** After the connection's address; values in it are percent-encoded. */
  readonly path: Template
  /** A missing value leaves its name out. */
  readonly query?: Readonly<Record<string, Template>>
  readonly headers?: Readonly<Record<string, Template>>
}

interface AnswerDefinition {
  /** What single statuses mean: `{ 409: 'done' }`. */
  readonly classify?: Readonly<Record<number, 'done' | FailureName>>
  /** What a response means if its status does not say it; the first match counts. */
  readonly refine?: readonly { readonly when: Expression; readonly as: 'done' | FailureName }[]
}

/**
 * A named call. Its templates see `input`, `config`, `key`, `extRef` and `vars`; expressions about a response see
 * `result`.
 */
export interface OperationDefinition extends RequestDefinition, AnswerDefinition {
  readonly description?: string
  /** `{{ input }}` of `POST`, `PUT` and `PATCH` when left out; null: none. */
  readonly body?: Sent
  /** `json` when left out. */
  readonly encoding?: 'json' | 'form'
  /** One of the provider's `endpoints`; the base when left out. */
  readonly endpoint?: string
  /** JSON Schemas. */
  readonly input?: unknown
  readonly output?: unknown
  /** What makes a repetition safe. */
  readonly idempotency?: 'native' | 'lookup' | 'idempotent' | 'none'
  /** Of `native`: how long the vendor remembers a key. */
  readonly keyTtl?: DurationText
  /** Of `native`: `idempotency-key` when left out; `none`: a template carries it. */
  readonly keyHeader?: string
  /** For `lookup`: how to ask whether the effect exists. */
  readonly lookup?: RequestDefinition & {
    readonly found: Expression
    readonly id?: Expression
    /** `30s` when left out. */
    readonly after?: DurationText
  }
  /** The operation's result; the body of the response when left out. */
  readonly result?: Expression
  /** The vendor's reference of the effect. */
  readonly ref?: Expression
  /** Per attempt; `30s` when left out. */
  readonly timeout?: DurationText
  readonly buckets?: readonly string[]
  readonly scopes?: readonly string[]
  /** What to use instead. */
  readonly deprecated?: string
}

/** A kind of system that is called, and its operations. */
export interface ProviderDefinition extends Described, AnswerDefinition {
  readonly title?: string
  readonly category?: string
  /** Sees `config`. */
  readonly baseUrl: Template
  /** The supported credentials, the usual one first; `none` when left out. */
  readonly auth?: AuthModelName | readonly AuthModelName[]
  /** How a value travels, for `apiKey`, `bearer` and `hmac`. */
  readonly authentication?: { readonly header?: string; readonly prefix?: string; readonly query?: string }
  readonly oauth2?: {
    readonly authorizeUrl?: Template
    readonly tokenUrl: Template
    readonly scopes?: readonly string[]
    readonly parameters?: Readonly<Record<string, string>>
    /** `basic` when left out. */
    readonly clientAuth?: 'basic' | 'body'
  }
  /** Other addresses, by the names that operations use. */
  readonly endpoints?: Readonly<Record<string, Template>>
  /** A JSON Schema of a connection's `config`. */
  readonly config?: unknown
  readonly capabilities?: readonly string[]
  /** The bucket `default`. */
  readonly rate?: RateDefinition
  readonly buckets?: Readonly<Record<string, RateDefinition>>
  /** A request that only reads: tests connections and new secrets. */
  readonly probe?: RequestDefinition & { readonly timeout?: DurationText }
  readonly operations?: Readonly<Record<string, OperationDefinition>>
  /** How a new secret is created at the vendor. */
  readonly rotation?: { readonly create: string; readonly secret: Expression; readonly revoke?: string }
  /** What comes in from it. */
  readonly inbound?: { readonly scheme: string; readonly subjects?: string }
  /** What to use instead. */
  readonly deprecated?: string
}

/** A tenant's account at a provider. */
export interface ConnectionDefinition extends Described {
  /** The only environment that it is for; every one without a document of its own when left out. */
  readonly environment?: 'DEV' | 'QA' | 'PROD'
  readonly provider: string
  readonly credential?: string
  /** Sees `vars`. */
  readonly config?: Sent
  /** In place of the provider's; `default` is the base. */
  readonly endpoints?: Readonly<Record<string, Template>>
  /** `retired`: it runs nothing. */
  readonly status?: 'active' | 'retired'
  /** `1m` and `10s` when left out. */
  readonly probe?: 'none' | { readonly every?: DurationText; readonly timeout?: DurationText }
  /** In place of the provider's. */
  readonly buckets?: Readonly<Record<string, RateDefinition>>
  /** 5 failures one after another, or half of 20 within a minute, when left out. */
  readonly circuit?:
    | 'off'
    | {
        readonly failures?: number
        readonly ratio?: number
        readonly of?: number
        readonly openFor?: DurationText
      }
}

/** The secret of an account, and how it authenticates. */
export interface CredentialDefinition extends Described {
  /** The only environment that it is for; every one without a document of its own when left out. */
  readonly environment?: 'DEV' | 'QA' | 'PROD'
  readonly provider: string
  /** The provider's usual one when left out. */
  readonly auth?: AuthModelName
  /** Never the value itself. */
  readonly secret: SecretReference
  /** Of `basic`. */
  readonly username?: string
  readonly oauth2?: {
    /** `clientCredentials` when left out. */
    readonly grant?: 'clientCredentials' | 'authorizationCode'
    readonly clientId: string
    readonly scopes?: readonly string[]
    readonly audience?: string
  }
  readonly githubApp?: { readonly appId: string; readonly installationId: string }
  readonly serviceAccount?: { readonly scopes?: readonly string[]; readonly subject?: string }
  readonly hmac?: { readonly algorithm?: 'sha256' | 'sha512' }
  readonly rotation?: {
    /** Only on request, or when it is refused, when left out. */
    readonly every?: DurationText
    /** `10m` when left out. */
    readonly coolDown?: DurationText
    /** `1m` when left out. */
    readonly overlap?: DurationText
  }
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
