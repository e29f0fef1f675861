// The connections of the simulated shop: two providers, each with its own way to a new secret, and routes and a function that call their
// operations. Every promise about repetition is here once: a key that the vendor remembers, a lookup, an operation that may be done
// twice, and one that may not.
//
// `depot` is called with a token that an operator sets; `mint` with access tokens, which it gives out for a secret that it makes itself. A second
// tenant has an account at the depot under the same names.

import type {
  ActionDocument,
  ConnectionDocument,
  CredentialDocument,
  DefinitionDocument,
  OperationDocument,
  ProviderDocument,
  RouteDocument,
} from '../src/core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../src/core/foundation/ids/index.ts'
import { MINUTE, SECOND } from '../src/core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../src/core/queue/retry/index.ts'
import type { ScenarioRoute } from './scenario-route.ts'
import type { VendorOperation } from './vendor-operation.ts'

/** Who has an account of the same name, and must never be seen in place of the shop. */
export const NEIGHBOUR = 'bolt' as TenantId
export const COOL_DOWN_MS = 20 * SECOND
export const OVERLAP_MS = 6 * SECOND
/** How long an open circuit waits for its try. */
const OPEN_MS = 30 * SECOND
/** How long an access token of the mint is good. */
export const TOKEN_S = 15
export const ROTATION_ATTEMPTS = RETRY_PROFILES.ROTATION.attempts
const TIMEOUT_MS = 2 * SECOND
const DELAYS_MS: readonly number[] = [1 * SECOND, 2 * SECOND, 4 * SECOND]
const CODE_HASH = 'sha256:simulated'

export const CONNECTION_KINDS: Readonly<Record<string, number>> = { linked: 70, created: 5, paid: 5 }

/** Where each credential's value is, and what is signed in with it. */
export interface AccountName {
  readonly tenant: TenantId
  readonly credential: string
  readonly connection: string
  readonly provider: 'depot' | 'mint'
  /** In the vault. */
  readonly secret: string
}

export const ACCOUNTS: readonly AccountName[] = [
  {
    tenant: DEFAULT_TENANT,
    credential: 'depotkey',
    connection: 'depot',
    provider: 'depot',
    secret: 'depot-key',
  },
  { tenant: DEFAULT_TENANT, credential: 'mintkey', connection: 'mint', provider: 'mint', secret: 'mint-key' },
  { tenant: NEIGHBOUR, credential: 'depotkey', connection: 'depot', provider: 'depot', secret: 'depot-key' },
]

function operation(name: string, how: Partial<OperationDocument>): OperationDocument {
  return {
    name,
    description: null,
    method: 'POST',
    path: `/${name}/{{ key }}`,
    query: {},
    headers: { 'x-event': '{{ input.event }}', 'x-account': '{{ config.account }}' },
    body: { order: '{{ input.order }}' },
    encoding: 'json',
    endpoint: null,
    input: null,
    output: null,
    idempotency: 'none',
    keyTtlMs: null,
    keyHeader: 'idempotency-key',
    lookup: null,
    result: null,
    ref: null,
    classify: {},
    refine: [],
    timeoutMs: TIMEOUT_MS,
    buckets: [],
    scopes: [],
    deprecated: null,
    ...how,
  }
}

const LOOKUP_AFTER_MS = 5 * SECOND
const KEY_TTL_MS = 80 * SECOND
const keyless = { headers: { 'x-account': '{{ config.account }}' } }

const DEPOT_OPERATIONS: Readonly<Record<string, OperationDocument>> = {
  linkput: operation('linkput', { method: 'PUT', idempotency: 'idempotent' }),
  linkpay: operation('linkpay', { idempotency: 'native', keyTtlMs: KEY_TTL_MS }),
  fnmail: operation('fnmail', {}),
}

const MINT_OPERATIONS: Readonly<Record<string, OperationDocument>> = {
  linkask: operation('linkask', {
    idempotency: 'lookup',
    lookup: {
      method: 'GET',
      path: '/linkask/{{ key }}',
      query: {},
      headers: { 'x-event': '{{ input.event }}', 'x-account': '{{ config.account }}' },
      found: 'result.status == 200',
      id: 'result.body.id',
      afterMs: LOOKUP_AFTER_MS,
    },
  }),
  linkmail: operation('linkmail', {}),
  fnput: operation('fnput', { method: 'PUT', idempotency: 'idempotent' }),
  createkey: operation('createkey', { ...keyless, body: { name: '{{ input.rotation }}' } }),
  deletekey: operation('deletekey', { ...keyless, body: { ref: '{{ input.ref }}' } }),
}

function provider(name: 'depot' | 'mint', how: Partial<ProviderDocument>): ProviderDocument {
  return {
    kind: 'Provider',
    name,
    title: name,
    description: null,
    category: 'other',
    auth: ['bearer'],
    authentication: { header: 'authorization', prefix: 'Bearer ', query: null },
    oauth2: null,
    baseUrl: `https://${name}.test`,
    endpoints: {},
    config: null,
    capabilities: [],
    buckets: { default: { perMinute: 600, burst: 20 } },
    probe: {
      method: 'GET',
      path: '/me',
      query: {},
      headers: { 'x-account': '{{ config.account }}' },
      timeoutMs: TIMEOUT_MS,
    },
    classify: {},
    refine: [],
    operations: DEPOT_OPERATIONS,
    rotation: null,
    inbound: null,
    deprecated: null,
    ...how,
  }
}

const DEPOT = provider('depot', {})
const MINT = provider('mint', {
  auth: ['oauth2'],
  oauth2: {
    authorizeUrl: null,
    tokenUrl: 'https://mint.test/token',
    scopes: [],
    parameters: {},
    clientAuth: 'body',
  },
  operations: MINT_OPERATIONS,
  rotation: { create: 'createkey', secret: '"mint-secret-" + result.body.id', revoke: 'deletekey' },
})

function connection(
  { tenant, connection: name, provider, credential }: AccountName,
  description: string | null,
): ConnectionDocument {
  return {
    kind: 'Connection',
    name,
    description,
    provider,
    credential,
    config: { account: tenant },
    endpoints: {},
    status: 'active',
    probe: { everyMs: 10 * SECOND, timeoutMs: TIMEOUT_MS },
    buckets: {},
    circuit: { consecutive: 3, ratio: 0.8, of: 10, openMs: OPEN_MS },
  }
}

function credential({ credential: name, provider, secret }: AccountName): CredentialDocument {
  const isMint = provider === 'mint'
  return {
    kind: 'Credential',
    name,
    description: null,
    provider,
    auth: isMint ? 'oauth2' : 'bearer',
    secret: { ref: secret },
    username: null,
    oauth2: isMint ? { grant: 'clientCredentials', clientId: 'shop', scopes: null, audience: null } : null,
    githubApp: null,
    serviceAccount: null,
    hmac: null,
    rotation: { everyMs: isMint ? 40 * SECOND : null, coolDownMs: COOL_DOWN_MS, overlapMs: OVERLAP_MS },
  }
}

/** Beside the routes, by the number of their bundle: in the second one a connection is another document, which must be tested again. */
export function connectionsBeside(bundle: 0 | 1): readonly DefinitionDocument[] {
  return bundle === 0 ? IN_FIRST : IN_SECOND
}

const IN_FIRST = documentsOf(DEFAULT_TENANT, null)
const IN_SECOND = documentsOf(DEFAULT_TENANT, 'second')

/** All that the second tenant has. */
export const NEIGHBOUR_DOCUMENTS: readonly DefinitionDocument[] = documentsOf(NEIGHBOUR, null)

function documentsOf(tenant: TenantId, description: string | null): readonly DefinitionDocument[] {
  const own = ACCOUNTS.filter((account) => account.tenant === tenant)
  return [
    DEPOT,
    ...(own.some(({ provider }) => provider === 'mint') ? [MINT] : []),
    ...own.map((account) => connection(account, account.provider === 'depot' ? description : null)),
    ...own.map(credential),
  ]
}

function route(name: string, action: ActionDocument): ScenarioRoute {
  const document: RouteDocument = {
    kind: 'Route',
    name,
    description: null,
    on: ['order.linked'],
    where: null,
    status: 'active',
    key: `"${name}:" + event.id`,
    uniqueness: 'operation',
    retry: { profile: null, attempts: DELAYS_MS.length + 1, delaysMs: DELAYS_MS },
    maxWaitMs: 3 * MINUTE,
    deadLetter: { severity: 'medium', runbook: null },
    do: action,
  }
  return { document, wants: (subject) => subject === 'order.linked' }
}

const calls = (name: string, provider: ProviderDocument): ScenarioRoute =>
  route(name, {
    type: 'operation',
    provider: provider.name,
    operation: provider.operations[name] as OperationDocument,
    connection: provider.name,
    with: { order: '{{ payload.order }}', event: '{{ event.id }}' },
    classify: {},
  })

export const FUNCTION_TIMEOUT_MS = 5 * SECOND

export const CONNECTION_ROUTES: readonly ScenarioRoute[] = [
  calls('linkput', DEPOT),
  calls('linkpay', DEPOT),
  calls('linkask', MINT),
  calls('linkmail', MINT),
  route('linkfn', {
    type: 'function',
    name: 'linkfn',
    codeHash: CODE_HASH,
    with: null,
    timeoutMs: FUNCTION_TIMEOUT_MS,
  }),
]

const promised = (consumer: string, how: Partial<VendorOperation>): Omit<VendorOperation, 'name'> => ({
  consumer,
  isIdempotent: false,
  keyTtlMs: null,
  probeAfterMs: null,
  timeoutMs: TIMEOUT_MS,
  ...how,
})

/** What can be asked for on a connection, by operation. */
export const CONNECTION_OPERATIONS: Readonly<Record<string, Omit<VendorOperation, 'name'>>> = {
  linkput: promised('route:linkput', { isIdempotent: true, connection: 'depot' }),
  linkpay: promised('route:linkpay', { keyTtlMs: KEY_TTL_MS, connection: 'depot' }),
  linkask: promised('route:linkask', { probeAfterMs: LOOKUP_AFTER_MS, connection: 'mint' }),
  linkmail: promised('route:linkmail', { connection: 'mint' }),
  fnmail: promised('route:linkfn', { connection: 'depot' }),
  fnput: promised('route:linkfn', { isIdempotent: true, isUnreserved: true, connection: 'mint' }),
  createkey: promised('credential:mintkey', { isRotation: true, connection: 'mint' }),
  deletekey: promised('credential:mintkey', { isRotation: true, connection: 'mint' }),
}

/** Routes whose whole action is an operation: of these a done item has a completed run. */
export const OPERATION_CONSUMERS: ReadonlySet<string> = new Set(
  CONNECTION_ROUTES.filter(({ document }) => document.do.type === 'operation').map(
    ({ document }) => `route:${document.name}`,
  ),
)
