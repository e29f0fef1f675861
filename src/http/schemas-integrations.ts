// What answers about providers, connections, credentials and runs contain, by name; shapes-integrations.ts makes them.

import { CONNECTION_STATUSES, HEALTHS } from '../core/connections/connection/index.ts'
import { CREDENTIAL_STATUSES, ROTATION_REASONS } from '../core/connections/credential/index.ts'
import { AUTH_MODELS, IDEMPOTENCIES } from '../core/definitions/documents/index.ts'
import { RUN_PURPOSES, RUN_STATES } from '../core/effects/integration-run/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { anything, boolean, instant, integer, listOf, nullable, ref, shape, string } from './schema-parts.ts'
import { oneOf } from './schemas.ts'

const managedBy = oneOf(['folder', 'api', 'demo'])
const failureClass = nullable(oneOf(FAILURE_CLASSES))
const addresses = { type: 'object', additionalProperties: string } as const

const providerFields = {
  name: string,
  title: string,
  description: nullable(string),
  category: string,
  auth: {
    ...listOf(oneOf(AUTH_MODELS)),
    description: 'What a credential may be; the first is the usual one.',
  },
  capabilities: listOf(string),
  deprecated: { ...nullable(string), description: 'What to use in its place; null: it is current.' },
  inbound: {
    ...nullable(shape({ scheme: string, subjects: nullable(string) })),
    description: 'How what it sends is verified and named.',
  },
  managedBy: oneOf(['folder', 'api', 'demo', 'built-in']),
  connections: { ...integer, description: 'How many of the tenant’s name it.' },
  canProbe: { ...boolean, description: 'Whether a connection to it can be tested by a call.' },
  canRotate: { ...boolean, description: 'Whether it makes new secrets by its own API.' },
}

const provider = shape({ ...providerFields, operations: listOf(string) })

const providerDetail = shape({
  ...providerFields,
  baseUrl: string,
  endpoints: addresses,
  config: { ...anything, description: 'JSON Schema of a connection’s `config`; null: anything.' },
  buckets: { type: 'object', additionalProperties: shape({ perMinute: integer, burst: integer }) },
  authentication: shape({ header: nullable(string), prefix: string, query: nullable(string) }),
  oauth2: nullable(shape({ scopes: listOf(string), hasAuthorizationCode: boolean })),
  operations: listOf(
    shape({
      name: string,
      description: nullable(string),
      method: string,
      path: string,
      input: { ...anything, description: 'JSON Schema; null: anything.' },
      output: { ...anything, description: 'JSON Schema; null: anything.' },
      idempotency: oneOf(IDEMPOTENCIES),
      keyTtlMs: nullable(integer),
      scopes: listOf(string),
      deprecated: nullable(string),
      timeoutMs: integer,
    }),
  ),
})

const probe = shape(
  {
    at: instant,
    window: instant,
    ok: boolean,
    durationMs: { type: 'number' },
    httpStatus: nullable(integer),
    class: failureClass,
    error: nullable(string),
    unverified: {
      ...boolean,
      description:
        'Only where it is true: the other side is there, but its answer says nothing of the credential. Name a path in `config.probe` that can be read with it.',
    },
  },
  ['unverified'],
)

const connectionFields = {
  id: { ...string, description: 'Its name.' },
  name: string,
  description: nullable(string),
  provider: string,
  credential: nullable(string),
  config: anything,
  endpoints: addresses,
  probeEveryMs: { ...nullable(integer), description: 'null: it is not probed by itself.' },
  managedBy,
  status: {
    ...oneOf(CONNECTION_STATUSES),
    description: '`pending`: it has not passed a test, and runs nothing.',
  },
  health: oneOf(HEALTHS),
  lastTest: {
    ...nullable(ref('Probe')),
    description: 'The last test that a user or a new definition asked for.',
  },
  lastProbe: {
    ...nullable(ref('Probe')),
    description:
      'The latest look at the other side: by the clock (`probe.every`) or by a test, whichever is newer.',
  },
  circuit: shape({
    state: oneOf(['closed', 'open', 'half-open']),
    since: nullable(instant),
    tryAt: nullable(instant),
    class: failureClass,
    override: {
      ...nullable(
        shape({
          is: oneOf(['open', 'closed']),
          reason: string,
          by: string,
          since: instant,
          until: nullable(instant),
        }),
      ),
      description: 'What a person says of it.',
    },
  }),
  retired: nullable(shape({ by: string, reason: string, at: instant })),
  buckets: listOf(
    shape({
      name: string,
      perMinute: integer,
      burst: integer,
      left: { type: 'number' },
      closedUntil: nullable(instant),
    }),
  ),
  updatedAt: instant,
}

const connectionDetail = shape({
  ...connectionFields,
  history: {
    ...listOf(ref('Probe')),
    description: 'The latest looks at the other side, the last one first.',
  },
})

const credential = shape({
  id: { ...string, description: 'Its name.' },
  name: string,
  description: nullable(string),
  provider: string,
  auth: oneOf(AUTH_MODELS),
  grant: { ...nullable(string), description: 'Of `oauth2`.' },
  secret: {
    type: 'object',
    additionalProperties: string,
    description: 'Where the value lies; never the value.',
  },
  managedBy,
  status: oneOf(CREDENTIAL_STATUSES),
  version: nullable(integer),
  fingerprint: nullable(string),
  versions: listOf(
    shape({
      version: integer,
      fingerprint: string,
      since: instant,
      by: string,
      state: oneOf(['active', 'pending', 'former', 'refused']),
    }),
  ),
  connections: listOf(string),
  rotation: shape({
    everyMs: nullable(integer),
    coolDownMs: integer,
    overlapMs: integer,
    nextAt: nullable(instant),
    lastAt: nullable(instant),
    underWay: nullable(
      shape({
        reason: oneOf(ROTATION_REASONS),
        note: nullable(string),
        by: string,
        begunAt: instant,
        workId: string,
      }),
    ),
    lastFailure: nullable(shape({ at: instant, error: string, version: nullable(integer) })),
  }),
  tokenExpiresAt: nullable(instant),
  updatedAt: instant,
})

const run = shape({
  id: string,
  state: oneOf(RUN_STATES),
  purpose: oneOf(RUN_PURPOSES),
  connection: string,
  provider: string,
  operation: string,
  workId: nullable(string),
  eventId: nullable(string),
  correlationId: string,
  traceId: string,
  key: nullable(string),
  attemptCount: integer,
  attempts: listOf(
    shape({
      number: integer,
      startedAt: instant,
      durationMs: { type: 'number' },
      class: failureClass,
      httpStatus: nullable(integer),
      error: nullable(string),
      credentialVersion: nullable(integer),
      request: { ...nullable(string), description: 'Hidden from viewers.' },
      response: { ...nullable(string), description: 'Hidden from viewers.' },
    }),
  ),
  class: failureClass,
  httpStatus: nullable(integer),
  durationMs: nullable({ type: 'number' }),
  error: nullable(string),
  externalRef: nullable(string),
  replayOf: nullable(string),
  createdAt: instant,
  updatedAt: instant,
})

/** By name, beside those of schemas-answers.ts. */
export const INTEGRATION_SHAPES = {
  Provider: { ...provider, description: 'A kind of system that connections lead to.' },
  ProviderDetail: { ...providerDetail, description: 'A provider with its operations.' },
  Probe: { ...probe, description: 'One look at the other side.' },
  Connection: { ...shape(connectionFields), description: 'An account at another system.' },
  ConnectionDetail: { ...connectionDetail, description: 'A connection with its health.' },
  Credential: { ...credential, description: 'What opens accounts; never its value.' },
  Run: { ...run, description: 'One execution of an operation, with its attempts.' },
}
