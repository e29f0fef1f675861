// A provider, a connection and a credential for tests, and credentials that the test controls.

import type {
  ConnectionDocument,
  CredentialDocument,
  DefinitionDocument,
  OperationActionDocument,
  OperationDocument,
  ProviderDocument,
  RouteDocument,
} from '../../core/definitions/documents/index.ts'
import { operationOf, USUAL_CIRCUIT } from '../../core/definitions/documents/index.ts'
import { compileRoute } from '../../core/routing/index.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import { makeWorld, ROUTE, SOURCE, type World } from '../engine.fixture.ts'
import type { Gate } from '../flow-control/connection-gate.ts'
import type { AfterRefusal, Credentials } from './connection-types.ts'

export const OPERATION: OperationDocument = {
  name: 'book',
  description: null,
  method: 'POST',
  path: '/accounts/{{ config.account }}/orders',
  query: {},
  headers: {},
  body: { order: '{{ input.order }}' },
  encoding: 'json',
  endpoint: null,
  input: { type: 'object', required: ['order'], properties: { order: { type: 'string' } } },
  output: null,
  idempotency: 'none',
  keyTtlMs: null,
  keyHeader: 'idempotency-key',
  lookup: null,
  result: '{ "number": result.body.id }',
  ref: null,
  classify: {},
  refine: [],
  timeoutMs: 10_000,
  buckets: [],
  scopes: [],
  deprecated: null,
}

const READING: OperationDocument = {
  ...OPERATION,
  name: 'read',
  method: 'GET',
  path: '/orders/{{ input.order }}',
  body: null,
  idempotency: 'idempotent',
  keyHeader: null,
  result: null,
}

export const PROVIDER: ProviderDocument = {
  kind: 'Provider',
  name: 'shopware',
  title: 'Shop',
  description: null,
  category: 'commerce',
  auth: ['bearer'],
  authentication: { header: 'authorization', prefix: 'Bearer ', query: null },
  oauth2: null,
  baseUrl: 'https://api.{{ config.region }}.shop.example/v1',
  endpoints: { files: 'https://files.shop.example' },
  config: null,
  capabilities: [],
  buckets: {},
  probe: { method: 'GET', path: '/me', query: {}, headers: {}, timeoutMs: 5_000 },
  classify: {},
  refine: [],
  operations: { book: OPERATION, read: READING },
  rotation: null,
  inbound: null,
  deprecated: null,
}

export const CONNECTION: ConnectionDocument = {
  kind: 'Connection',
  name: 'shop',
  description: null,
  provider: 'shopware',
  credential: 'shop_key',
  config: { region: 'eu', account: '7' },
  endpoints: {},
  status: 'active',
  probe: null,
  buckets: {},
  circuit: USUAL_CIRCUIT,
}

export const CREDENTIAL: CredentialDocument = {
  kind: 'Credential',
  name: 'shop_key',
  description: null,
  provider: 'shopware',
  auth: 'bearer',
  secret: { ref: 'shop_key' },
  username: null,
  oauth2: null,
  githubApp: null,
  serviceAccount: null,
  hmac: null,
  rotation: { everyMs: null, coolDownMs: 600_000, overlapMs: 60_000 },
}

export const ACTION: OperationActionDocument = {
  type: 'operation',
  provider: 'shopware',
  operation: OPERATION,
  connection: 'shop',
  with: { order: '{{ payload.order }}' },
  classify: {},
}

const ON_CONNECTION: RouteDocument = { ...ROUTE, do: ACTION }

export function documents(
  known: {
    readonly provider?: Partial<ProviderDocument>
    readonly connection?: Partial<ConnectionDocument>
    readonly route?: Partial<RouteDocument>
    readonly action?: Partial<OperationActionDocument>
    readonly operation?: Partial<OperationDocument>
  } = {},
): readonly DefinitionDocument[] {
  const own = { ...OPERATION, ...known.operation }
  const provider = { ...PROVIDER, ...known.provider }
  // As definitions pin it: with the provider's rules for responses.
  const operation = operationOf({ ...provider, operations: { [own.name]: own } }, own.name) ?? own
  const route: RouteDocument = {
    ...ON_CONNECTION,
    do: { ...ACTION, operation, ...known.action },
    ...known.route,
  }
  // A document that does not compile would stop the node: a mistake of the test.
  compileRoute(route)
  return [SOURCE, provider, { ...CONNECTION, ...known.connection }, CREDENTIAL, route]
}

export const SECRET = 'sk-very/secret+value-1'

export interface ManualCredentials extends Credentials {
  version: number
  secret: string
  closed: Extract<Gate, { is: 'closed' }> | null
  /** The result when one is refused. */
  next: AfterRefusal
  readonly refusals: { readonly version: number | null; readonly error: string }[]
}

export function makeManualCredentials(): ManualCredentials {
  const credentials: ManualCredentials = {
    version: 1,
    secret: SECRET,
    closed: null,
    next: { is: 'dead', why: 'it cannot be renewed' },
    refusals: [],
    async authorize() {
      return {
        ok: true,
        version: credentials.version,
        headers: { authorization: `Bearer ${credentials.secret}` },
        query: {},
        secrets: [credentials.secret],
      }
    },
    async refused(_tenant, _credential, { version, error }) {
      credentials.refusals.push({ version, error })
      return credentials.next
    },
    async accepted() {},
    gate: () => credentials.closed,
  }
  return credentials
}

export const WELL: HttpOutcome = { kind: 'response', status: 200, headers: {}, body: '{}', durationMs: 2 }

/** Probes pass unless `probe` says otherwise; everything else gets the given response. */
export function makeShop(
  answer: (request: HttpRequest, call: number) => HttpOutcome | null,
  probe: () => HttpOutcome = () => WELL,
): World & { readonly sent: readonly HttpRequest[] } {
  let calls = 0
  const world = makeWorld((request) => {
    if (request.url.endsWith('/me')) return probe()
    calls += 1
    return answer(request, calls)
  })
  return {
    ...world,
    get sent() {
      return world.calls.map(({ request }) => request).filter(({ url }) => !url.endsWith('/me'))
    },
  }
}
