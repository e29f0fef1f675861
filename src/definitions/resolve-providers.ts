// The normal form of a provider, as the manifests of src/connectors have it. A document that uses an operation contains
// it (resolve-actions.ts), and so pins it.

import {
  type AuthModel,
  BEARER,
  type Bucket,
  type Idempotency,
  type OperationDocument,
  type OperationRequest,
  type ProviderDocument,
  usualBurst,
} from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { withoutTrailingSlashes } from '../core/foundation/text/index.ts'
import { SECOND } from '../core/foundation/time/index.ts'
import { isIdempotentMethod, PROBE_AFTER_MS } from './resolve-actions.ts'
import type { ProviderInput } from './schema.ts'
import type { RateInput } from './schema-buffers.ts'
import type { OperationInput } from './schema-providers.ts'

const OPERATION_TIMEOUT_MS = 30 * SECOND
const PROBE_TIMEOUT_MS = 10 * SECOND
const KEY_HEADER = 'idempotency-key'
const USUAL_CATEGORY = 'other'

export function resolveProvider(input: ProviderInput): ProviderDocument {
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

function milliseconds(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (parseDuration(text) ?? otherwise)
}
