// Expands a connector's manifest to the whole form of a provider: omitted fields get the usual values. The same holds
// for providers that users write.

import type {
  AuthModel,
  Bucket,
  Idempotency,
  OperationDocument,
  OperationRequest,
  ProviderDocument,
  Refinement,
} from '../core/definitions/documents/index.ts'
import type { FailureClass } from '../core/failures/failure/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { SECOND } from '../core/foundation/time/index.ts'

type RequestManifest = Pick<OperationRequest, 'method' | 'path'> &
  Partial<Pick<OperationRequest, 'query' | 'headers'>>

export interface OperationManifest extends RequestManifest {
  readonly description: string
  readonly body?: JsonValue
  readonly encoding?: 'form'
  readonly endpoint?: string
  /** With `examples`: the first one is what the suite sends. */
  readonly input: JsonValue
  readonly output?: JsonValue
  readonly idempotency: Idempotency
  readonly keyTtlMs?: number
  readonly keyHeader?: string
  readonly lookup?: RequestManifest & {
    readonly found: string
    readonly id?: string
    readonly afterMs?: number
  }
  readonly result?: string
  readonly ref?: string
  readonly classify?: Readonly<Record<string, FailureClass | 'done'>>
  readonly refine?: readonly Refinement[]
  readonly timeoutMs?: number
  readonly buckets?: readonly string[]
  readonly scopes?: readonly string[]
  readonly deprecated?: string
}

export interface Manifest {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly category: string
  readonly auth: readonly AuthModel[]
  readonly authentication?: Partial<ProviderDocument['authentication']>
  readonly oauth2?: Partial<NonNullable<ProviderDocument['oauth2']>> & { readonly tokenUrl: string }
  readonly baseUrl: string
  readonly endpoints?: Readonly<Record<string, string>>
  readonly config?: JsonValue
  readonly capabilities?: readonly string[]
  readonly buckets?: Readonly<Record<string, Bucket>>
  readonly probe?: RequestManifest & { readonly timeoutMs?: number }
  readonly classify?: Readonly<Record<string, FailureClass | 'done'>>
  readonly refine?: readonly Refinement[]
  /** In every request, the probe and lookups included; an operation's own win. */
  readonly headers?: Readonly<Record<string, string>>
  readonly operations: Readonly<Record<string, OperationManifest>>
  readonly rotation?: ProviderDocument['rotation']
  readonly inbound?: ProviderDocument['inbound']
  readonly deprecated?: string
}

const OPERATION_TIMEOUT_MS = 30 * SECOND
const PROBE_TIMEOUT_MS = 10 * SECOND
const LOOKUP_AFTER_MS = 5 * SECOND

export function makeProvider(manifest: Manifest): ProviderDocument {
  const { headers = {}, probe, oauth2 } = manifest
  return {
    kind: 'Provider',
    name: manifest.name,
    title: manifest.title,
    description: manifest.description,
    category: manifest.category,
    auth: manifest.auth,
    authentication: resolveAuthentication(manifest),
    oauth2:
      oauth2 === undefined
        ? null
        : { authorizeUrl: null, scopes: [], parameters: {}, clientAuth: 'basic', ...oauth2 },
    baseUrl: manifest.baseUrl,
    endpoints: manifest.endpoints ?? {},
    config: manifest.config ?? null,
    capabilities: manifest.capabilities ?? [],
    buckets: manifest.buckets ?? {},
    probe:
      probe === undefined
        ? null
        : { ...resolveRequest(probe, headers), timeoutMs: probe.timeoutMs ?? PROBE_TIMEOUT_MS },
    classify: manifest.classify ?? {},
    refine: manifest.refine ?? [],
    operations: Object.fromEntries(
      Object.entries(manifest.operations).map(([name, operation]) => [
        name,
        resolveOperation(name, operation, headers),
      ]),
    ),
    rotation: manifest.rotation ?? null,
    inbound: manifest.inbound ?? null,
    deprecated: manifest.deprecated ?? null,
  }
}

function resolveAuthentication({ auth, authentication = {} }: Manifest): ProviderDocument['authentication'] {
  const { header, prefix, query = null } = authentication
  if (auth.includes('apiKey') || auth.includes('hmac') || !auth.includes('bearer'))
    return { header: header ?? null, prefix: prefix ?? '', query }
  return { header: header ?? 'authorization', prefix: prefix ?? 'Bearer ', query }
}

function resolveOperation(
  name: string,
  operation: OperationManifest,
  headers: Readonly<Record<string, string>>,
): OperationDocument {
  const { lookup, body = null } = operation
  return {
    name,
    description: operation.description,
    ...resolveRequest(operation, headers),
    body,
    encoding: operation.encoding ?? 'json',
    endpoint: operation.endpoint ?? null,
    input: operation.input,
    output: operation.output ?? null,
    idempotency: operation.idempotency,
    keyTtlMs: operation.keyTtlMs ?? null,
    keyHeader: operation.keyHeader ?? (operation.idempotency === 'native' ? 'idempotency-key' : null),
    lookup:
      lookup === undefined
        ? null
        : {
            ...resolveRequest(lookup, headers),
            found: lookup.found,
            id: lookup.id ?? null,
            afterMs: lookup.afterMs ?? LOOKUP_AFTER_MS,
          },
    result: operation.result ?? null,
    ref: operation.ref ?? null,
    classify: operation.classify ?? {},
    refine: operation.refine ?? [],
    timeoutMs: operation.timeoutMs ?? OPERATION_TIMEOUT_MS,
    buckets: operation.buckets ?? [],
    scopes: operation.scopes ?? [],
    deprecated: operation.deprecated ?? null,
  }
}

function resolveRequest(
  { method, path, query = {}, headers = {} }: RequestManifest,
  usual: Readonly<Record<string, string>>,
): OperationRequest {
  return { method, path, query, headers: { ...usual, ...headers } }
}
