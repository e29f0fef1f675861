// A provider: a kind of system that is called, its address, how callers authenticate there, and its operations. The
// manifests of src/connectors are the normal form of the same. A document that uses an operation contains it, and so
// pins it.

import * as z from 'zod'
import {
  ADDRESSED_SCHEMES,
  AUTH_MODELS,
  type AuthModel,
  BEARER,
  type Bucket,
  IDEMPOTENCIES,
  type Idempotency,
  type OperationDocument,
  type OperationRequest,
  PLAIN_SCHEMES,
  type ProviderDocument,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
  usualBurst,
} from '../../core/definitions/documents/index.ts'
import { FAILURE_CLASSES } from '../../core/failures/failure/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { withoutTrailingSlashes } from '../../core/foundation/text/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { MAPPING_NAMES } from '../../core/ingest/source/index.ts'
import { isIdempotentMethod, PROBE_AFTER_MS } from '../actions/index.ts'
import type { Surroundings } from '../document-context.ts'
import {
  duration,
  field,
  headerName,
  headerText,
  json,
  literal,
  named,
  oneOf,
  optional,
  partName,
  pick,
  reference,
  requestPath,
  send,
  sends,
  statusCode,
  url,
} from '../fields.ts'
import { checkKeyless } from '../keyless.ts'
import { type Fields, milliseconds } from '../written.ts'
import { type KindDeclaration, lazily } from './kind.ts'
import { envelope, method, type RateInput, ratePolicy } from './parts.ts'
import { checkProvider } from './provider-checks.ts'

/** What the requests of an operation see, and what its provider sees of a connection. */
const OPERATION_ROOTS = ['input', 'config', 'key', 'extRef', 'vars'] as const
const CONFIG_ROOTS = ['config'] as const
const PROBE_ROOTS = ['config', 'vars'] as const
const ANSWER_ROOTS = ['result'] as const

export const authModel = () => named('AuthModelName', oneOf(...AUTH_MODELS))

const request = (roots: readonly string[], usual: 'GET' | 'POST') => ({
  method: optional(method(), 'The method.', { default: usual }),
  path: field(requestPath(roots), 'Behind the connection’s address; values in it are percent-encoded.'),
  query: optional(
    z.record(literal({ minLength: 1 }), field(send(roots), 'One value.')),
    'What stands behind the path, by name; a value that is missing leaves its name out, a list repeats it.',
    'nothing',
  ),
  headers: optional(
    z.record(headerName(true), field(headerText(roots), 'One header.')),
    'Headers, by name; what shows who calls comes with the credential.',
    'none',
  ),
})

const meaningOfAnswers = (otherwise: string) => ({
  classify: optional(
    z.record(statusCode(), field(oneOf('done', ...FAILURE_CLASSES), 'Of one status.')),
    'What single statuses mean, instead of the table of failures.',
    otherwise,
  ),
  refine: optional(
    z
      .array(
        z.strictObject({
          when: field(pick(ANSWER_ROOTS), 'Sees `result.status`, `result.headers` and `result.body`.'),
          as: field(oneOf('done', ...FAILURE_CLASSES), 'A class of failures, or `done`.'),
        }),
      )
      .max(50),
    'What an answer means where its status does not say it; the first that holds counts.',
    otherwise,
  ),
})

const operation = () =>
  named(
    'OperationDefinition',
    z.strictObject({
      description: optional(literal(), 'For people.', 'none'),
      ...request(OPERATION_ROOTS, 'POST'),
      body: optional(
        sends(OPERATION_ROOTS),
        'What is not a text is sent as `encoding` says; empty: no body.',
        '`{{ input }}` of `POST`, `PUT` and `PATCH`',
      ),
      encoding: optional(oneOf('json', 'form'), 'How the body is written.', { default: 'json' }),
      endpoint: optional(reference(), 'Which of `endpoints` it goes to.', 'the base'),
      input: optional(json(), 'A JSON Schema of what it is given.', 'anything'),
      output: optional(json(), 'A JSON Schema of what it gives.', 'anything'),
      idempotency: optional(
        oneOf(...IDEMPOTENCIES),
        'What makes a repetition safe: the vendor’s own key, a look, its nature, or nothing.',
        'as `keyTtl`, `lookup` and the method say',
      ),
      keyTtl: optional(
        duration(SECOND, 90 * DAY),
        'Of `native`: how long the vendor remembers a key.',
        'needed with `native`',
      ),
      keyHeader: optional(
        headerName(false),
        'The header that carries the key; `none`: a template of the request does.',
        '`idempotency-key` of `native`',
      ),
      lookup: optional(
        z.strictObject({
          ...request(OPERATION_ROOTS, 'GET'),
          found: field(pick([...OPERATION_ROOTS, ...ANSWER_ROOTS]), 'True when it is there; sees `result`.'),
          id: optional(
            pick([...OPERATION_ROOTS, ...ANSWER_ROOTS]),
            'What it is called there; sees `result`.',
            'not known',
          ),
          after: optional(
            duration(0, HOUR),
            'How long the vendor may still be busy with a call that was given up.',
            { default: '30s' },
          ),
        }),
        'Of `lookup`: how to ask whether the effect is there.',
        'needed with `lookup`',
      ),
      result: optional(pick(ANSWER_ROOTS), 'What it gives; sees `result`.', 'the body of the answer'),
      ref: optional(
        pick(ANSWER_ROOTS),
        'Where the effect is, in the vendor’s words; sees `result`.',
        'its `location` or `id`',
      ),
      ...meaningOfAnswers('what the provider says'),
      timeout: optional(duration(1, 10 * MINUTE), 'For the whole exchange.', { default: '30s' }),
      buckets: optional(
        z.array(reference()).min(1).max(10),
        'Of which buckets a call takes a token.',
        '`default`, where there is one',
      ),
      scopes: optional(
        z.array(literal({ minLength: 1 })).max(50),
        'What the account must be allowed to do.',
        'not known',
      ),
      deprecated: optional(
        literal({ minLength: 1 }),
        'What to use in its place; whoever uses it is told.',
        'it is current',
      ),
    }),
  )

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Provider'),
      title: optional(literal({ minLength: 1 }), 'What people read.', 'its name'),
      category: optional(literal({ minLength: 1 }), 'What kind of system it is.', { default: 'other' }),
      baseUrl: field(
        url(CONFIG_ROOTS),
        'Where it is called; sees `config` of the connection. A connection may have another.',
      ),
      auth: optional(
        z.union([authModel(), z.array(authModel()).min(1).max(AUTH_MODELS.length)]),
        'What a credential of it may be; of several the first is the usual one.',
        { default: 'none' },
      ),
      authentication: optional(
        z.strictObject({
          header: optional(headerName(false), 'The header that carries it.', 'that of the model'),
          prefix: optional(
            literal(),
            'What stands before it in the header, with its blank.',
            'nothing; `Bearer ` of `bearer` in its usual header',
          ),
          query: optional(
            literal({ minLength: 1 }),
            'The name in the query that carries an `apiKey`, instead of a header.',
            'a header does',
          ),
        }),
        'How a value travels, where the model leaves it open: of `apiKey`, `bearer` and `hmac`.',
        '`x-api-key`, `authorization: Bearer`, `x-signature`',
      ),
      oauth2: optional(
        z.strictObject({
          authorizeUrl: optional(
            url(CONFIG_ROOTS),
            'Where people allow it; sees `config`.',
            'only the client itself can be allowed',
          ),
          tokenUrl: field(url(CONFIG_ROOTS), 'Where a token is asked for; sees `config`.'),
          scopes: optional(
            z.array(literal({ minLength: 1 })).max(100),
            'What is asked for.',
            'nothing in particular',
          ),
          parameters: optional(
            z.record(literal({ minLength: 1 }), field(literal(), 'One of them.')),
            'Beside the usual fields, in the address that people are sent to.',
            'none',
          ),
          clientAuth: optional(
            oneOf('basic', 'body'),
            'How the client shows who it is: by Basic authentication, or in the body.',
            { default: 'basic' },
          ),
        }),
        'Where tokens come from.',
        'needed with `auth: oauth2`',
      ),
      endpoints: optional(
        z.record(partName(), field(url(CONFIG_ROOTS), 'One address.')),
        'Other addresses, by what operations call them in `endpoint`; see `config`.',
        'none',
      ),
      config: optional(json(), 'A JSON Schema of a connection’s `config`.', 'anything'),
      capabilities: optional(
        z.array(literal({ minLength: 1 })).max(100),
        'What it can do, in words that people search by.',
        'none',
      ),
      rate: optional(ratePolicy(), 'The bucket `default`.', 'none'),
      buckets: optional(
        z.record(partName(), field(ratePolicy(), 'One of them.')),
        'How much the vendor bears, by name: shared by all that calls on one connection.',
        'as much as it says in its answers',
      ),
      probe: optional(
        z.strictObject({
          ...request(PROBE_ROOTS, 'GET'),
          timeout: optional(duration(SECOND, MINUTE), 'How long it may take.', { default: '10s' }),
        }),
        'A request that only reads: by it connections are tested and watched, and new secrets verified. Sees `config` and `vars`.',
        'they cannot be',
      ),
      ...meaningOfAnswers('the table'),
      operations: optional(
        z.record(
          partName(),
          field(
            operation(),
            'One operation; its requests see `input`, `config`, `key`, `extRef` and `vars`.',
          ),
        ),
        'What can be called, by name.',
        'none',
      ),
      rotation: optional(
        z.strictObject({
          create: field(reference(), 'The operation that makes one.'),
          secret: field(pick(ANSWER_ROOTS), 'Where it is in what that gives; sees `result`.'),
          revoke: optional(
            reference(),
            'The operation that ends the former one, once nobody uses it.',
            'it ends by itself',
          ),
        }),
        'How a new secret is made at the vendor.',
        'a person brings it',
      ),
      inbound: optional(
        z.strictObject({
          scheme: field(
            oneOf(
              ...PLAIN_SCHEMES,
              ...TIMED_SCHEMES,
              ...ADDRESSED_SCHEMES,
              ...TIMED_ADDRESSED_SCHEMES,
              'hmac',
              'basic',
              'api-key',
              'none',
            ),
            'How it signs: a scheme of a Source.',
          ),
          subjects: optional(oneOf(...MAPPING_NAMES), 'The ready mapping of its events.', 'none'),
        }),
        'What comes in from it.',
        'nothing known',
      ),
      deprecated: optional(
        literal({ minLength: 1 }),
        'What to use in its place; whoever uses it is told.',
        'it is current',
      ),
    })
    .meta({ title: 'Provider' }),
)

export type ProviderInput = z.infer<ReturnType<typeof schema>>
export type OperationInput = z.infer<ReturnType<typeof operation>>

export const providerKind = {
  schema,
  resolve: resolveProvider,
  check: (value: Fields, around: Surroundings) => [
    ...checkProvider(value, around),
    ...checkKeyless(value, []),
  ],
  summary: 'A kind of system that is called, and its operations.',
  template: `kind: Provider
name: NAME
baseUrl: https://api.NAME.example
auth: bearer
probe: { path: /me }
operations:
  createItem: { path: /items, keyTtl: 24h }
`,
} satisfies KindDeclaration<ProviderDocument, ReturnType<typeof schema>>

// --- The normal form

const OPERATION_TIMEOUT_MS = 30 * SECOND
const PROBE_TIMEOUT_MS = 10 * SECOND
const KEY_HEADER = 'idempotency-key'
const USUAL_CATEGORY = 'other'

function resolveProvider(input: ProviderInput): ProviderDocument {
  const { oauth2, rotation, inbound, probe, operations = {} } = input
  const auth = authOf(input.auth)
  return {
    kind: 'Provider',
    name: input.name,
    title: input.title ?? input.name,
    description: input.description ?? null,
    category: input.category ?? USUAL_CATEGORY,
    auth,
    authentication: resolveAuthentication(input.authentication, auth),
    oauth2:
      oauth2 === undefined
        ? null
        : {
            authorizeUrl: oauth2.authorizeUrl ?? null,
            tokenUrl: oauth2.tokenUrl,
            scopes: oauth2.scopes ?? [],
            parameters: oauth2.parameters ?? {},
            clientAuth: oauth2.clientAuth ?? 'basic',
          },
    baseUrl: withoutTrailingSlashes(input.baseUrl),
    endpoints: mapValues(input.endpoints ?? {}, withoutTrailingSlashes),
    config: (input.config ?? null) as JsonValue,
    capabilities: input.capabilities ?? [],
    buckets: resolveBuckets(input),
    probe:
      probe === undefined
        ? null
        : { ...resolveRequest(probe, 'GET'), timeoutMs: milliseconds(probe.timeout, PROBE_TIMEOUT_MS) },
    classify: input.classify ?? {},
    refine: input.refine ?? [],
    operations: Object.fromEntries(
      Object.entries(operations).map(([name, one]) => [name, resolveOperation(name, one)]),
    ),
    rotation: rotation === undefined ? null : { ...rotation, revoke: rotation.revoke ?? null },
    inbound: inbound === undefined ? null : { scheme: inbound.scheme, subjects: inbound.subjects ?? null },
    deprecated: input.deprecated ?? null,
  }
}

/** A provider that declares no auth is open to everyone. */
function authOf(auth: ProviderInput['auth']): readonly AuthModel[] {
  if (auth === undefined) return ['none']
  return typeof auth === 'string' ? [auth] : auth
}

function resolveAuthentication(
  input: ProviderInput['authentication'],
  auth: readonly AuthModel[],
): ProviderDocument['authentication'] {
  const { header, prefix, query } = input ?? {}
  const usual = usualAuthentication(auth)
  return {
    header: query !== undefined ? null : (header?.toLowerCase() ?? usual.header),
    // A custom header has no prefix unless one is written.
    prefix: prefix ?? (header === undefined && query === undefined ? usual.prefix : ''),
    query: query ?? null,
  }
}

function usualAuthentication(auth: readonly AuthModel[]): ProviderDocument['authentication'] {
  if (auth.includes('apiKey')) return { header: 'x-api-key', prefix: '', query: null }
  if (auth.includes('hmac')) return { header: 'x-signature', prefix: '', query: null }
  return auth.includes('bearer') ? BEARER : { header: null, prefix: '', query: null }
}

function resolveBuckets({ rate, buckets = {} }: ProviderInput): Readonly<Record<string, Bucket>> {
  return mapValues(rate === undefined ? buckets : { default: rate, ...buckets }, resolveBucket)
}

export function resolveBucket({ perMinute, burst = usualBurst(perMinute) }: RateInput): Bucket {
  return { perMinute, burst }
}

function resolveOperation(name: string, input: OperationInput): OperationDocument {
  const request = resolveRequest(input, 'POST')
  const { lookup } = input
  const idempotency = idempotencyOf(input)
  return {
    name,
    description: input.description ?? null,
    ...request,
    body: bodyOf(input.body as JsonValue | undefined, request.method),
    encoding: input.encoding ?? 'json',
    endpoint: input.endpoint ?? null,
    input: (input.input ?? null) as JsonValue,
    output: (input.output ?? null) as JsonValue,
    idempotency,
    keyTtlMs: idempotency === 'native' ? milliseconds(input.keyTtl, 0) : null,
    keyHeader: keyHeaderOf(input.keyHeader, idempotency),
    lookup:
      lookup === undefined
        ? null
        : {
            ...resolveRequest(lookup, 'GET'),
            found: lookup.found,
            id: lookup.id ?? null,
            afterMs: milliseconds(lookup.after, PROBE_AFTER_MS),
          },
    result: input.result ?? null,
    ref: input.ref ?? null,
    classify: input.classify ?? {},
    refine: input.refine ?? [],
    timeoutMs: milliseconds(input.timeout, OPERATION_TIMEOUT_MS),
    buckets: input.buckets ?? [],
    scopes: input.scopes ?? [],
    deprecated: input.deprecated ?? null,
  }
}

/** Derived from the fields beside it, and after that from the method. */
function idempotencyOf(
  input: Pick<OperationInput, 'idempotency' | 'keyTtl' | 'lookup' | 'method'>,
): Idempotency {
  if (input.idempotency !== undefined) return input.idempotency
  if (input.keyTtl !== undefined) return 'native'
  if (input.lookup !== undefined) return 'lookup'
  return isIdempotentMethod(input.method ?? 'POST') ? 'idempotent' : 'none'
}

function bodyOf(body: JsonValue | undefined, method: string): JsonValue {
  if (body !== undefined) return body
  return ['POST', 'PUT', 'PATCH'].includes(method) ? '{{ input }}' : null
}

function keyHeaderOf(written: string | undefined, idempotency: Idempotency): string | null {
  if (written === undefined) return idempotency === 'native' ? KEY_HEADER : null
  return written === 'none' ? null : written.toLowerCase()
}

type RequestInput = Pick<OperationInput, 'method' | 'path' | 'query' | 'headers'>

function resolveRequest(
  { method, path, query = {}, headers = {} }: RequestInput,
  usual: string,
): OperationRequest {
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return { method: method ?? usual, path, query, headers: Object.fromEntries(lowered) }
}

function mapValues<From, To>(
  map: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]))
}
