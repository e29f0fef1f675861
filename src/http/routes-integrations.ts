// Calling other systems: GET and POST /v1/integrations/providers, connections and credentials; test, retire and circuit of a connection;
// rotation and authorization of a credential; GET /v1/integrations/runs.
//
// What is posted is a definition like any other, managed by the API: it is checked, versioned and rolled back as all are.

import type { FastifyInstance } from 'fastify'
import { CONNECTION_STATUSES, HEALTHS } from '../core/connections/connection/index.ts'
import { CREDENTIAL_STATUSES, ROTATION_REASONS } from '../core/connections/credential/index.ts'
import { AUTH_MODELS, IDEMPOTENCIES } from '../core/definitions/documents/index.ts'
import { RUN_PURPOSES, RUN_STATES } from '../core/effects/integration-run/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { AppError, ERRORS, type ErrorCode } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { RUN_VIAS } from '../core/queue/job-run/index.ts'
import { type FieldFinding, type IntegrationKind, RULES } from '../definitions/index.ts'
import { fieldFinding } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { outboundJob, readSurroundings } from './check-context.ts'
import { refuseFindings } from './field-findings.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readFilter, readInstant, showPage } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { checkFields } from './run-check.ts'
import type { Serving } from './serving.ts'
import {
  showConnection,
  showConnectionDetail,
  showCredential,
  showProbe,
  showProvider,
  showProviderDetail,
  showRun,
} from './shapes-integrations.ts'
import { seesTokens } from './shapes-webhooks.ts'

type Api = Pick<
  HttpApi,
  'integrations' | 'definitions' | 'secrets' | 'about' | 'outbound' | 'busPrefix' | 'runCheck'
>
type Written = { readonly [name: string]: JsonValue }

const providerShape = shape('Provider', 'A kind of system that connections lead to.', (s) =>
  s.object({
    name: s.string,
    title: s.string,
    description: s.nullable(s.string),
    category: s.string,
    auth: s.list(s.enum(AUTH_MODELS)).describe('What a credential may be; the first is the usual one.'),
    capabilities: s.list(s.string),
    deprecated: s.nullable(s.string).describe('What to use in its place; null: it is current.'),
    inbound: s
      .nullable(s.object({ scheme: s.string, subjects: s.nullable(s.string) }))
      .describe('How what it sends is verified and named.'),
    managedBy: s.enum(['folder', 'api', 'demo', 'built-in']),
    connections: s.integer.describe('How many of the tenant’s name it.'),
    canProbe: s.boolean.describe('Whether a connection to it can be tested by a call.'),
    canRotate: s.boolean.describe('Whether it makes new secrets by its own API.'),
    operations: s.list(s.string),
  }),
)

const providerDetailShape = shape('ProviderDetail', 'A provider with its operations.', (s) =>
  s.extend(providerShape.declare, {
    baseUrl: s.string,
    endpoints: s.record(s.string),
    config: s.any.describe('JSON Schema of a connection’s `config`; null: anything.'),
    buckets: s.record(s.object({ perMinute: s.integer, burst: s.integer })),
    authentication: s.object({ header: s.nullable(s.string), prefix: s.string, query: s.nullable(s.string) }),
    oauth2: s.nullable(s.object({ scopes: s.list(s.string), hasAuthorizationCode: s.boolean })),
    operations: s.list(
      s.object({
        name: s.string,
        description: s.nullable(s.string),
        method: s.string,
        path: s.string,
        input: s.any.describe('JSON Schema; null: anything.'),
        output: s.any.describe('JSON Schema; null: anything.'),
        idempotency: s.enum(IDEMPOTENCIES),
        keyTtlMs: s.nullable(s.integer),
        scopes: s.list(s.string),
        deprecated: s.nullable(s.string),
        timeoutMs: s.integer,
      }),
    ),
  }),
)

const probeShape = shape('Probe', 'One look at the other side.', (s) =>
  s.object({
    at: s.instant,
    window: s.instant,
    ok: s.boolean,
    durationMs: s.number,
    httpStatus: s.nullable(s.integer),
    class: s.nullable(s.enum(FAILURE_CLASSES)),
    error: s.nullable(s.string),
    unverified: s.boolean
      .describe(
        'Only where it is true: the other side is there, but its answer says nothing of the credential. Name a path in `config.probe` that can be read with it.',
      )
      .optional(),
  }),
)

const connectionShape = shape('Connection', 'An account at another system.', (s) =>
  s.object({
    id: s.string.describe('Its name.'),
    name: s.string,
    description: s.nullable(s.string),
    provider: s.string,
    credential: s.nullable(s.string),
    config: s.any,
    endpoints: s.record(s.string),
    probeEveryMs: s.nullable(s.integer).describe('null: it is not probed by itself.'),
    managedBy: s.enum(['folder', 'api', 'demo']),
    status: s.enum(CONNECTION_STATUSES).describe('`pending`: it has not passed a test, and runs nothing.'),
    health: s.enum(HEALTHS),
    lastTest: s
      .nullable(s.ref(probeShape))
      .describe('The last test that a user or a new definition asked for.'),
    lastProbe: s
      .nullable(s.ref(probeShape))
      .describe(
        'The latest look at the other side: by the clock (`probe.every`) or by a test, whichever is newer.',
      ),
    circuit: s.object({
      state: s.enum(['closed', 'open', 'half-open']),
      since: s.nullable(s.instant),
      tryAt: s.nullable(s.instant),
      class: s.nullable(s.enum(FAILURE_CLASSES)),
      openedBy: s
        .nullable(s.enum(['calls', 'probe']))
        .describe('`probe`: one probe failed, and no call or later probe has confirmed the outage yet.'),
      override: s
        .nullable(
          s.object({
            is: s.enum(['open', 'closed']),
            reason: s.string,
            by: s.string,
            since: s.instant,
            until: s.nullable(s.instant),
          }),
        )
        .describe('What a person says of it.'),
    }),
    retired: s.nullable(s.object({ by: s.string, reason: s.string, at: s.instant })),
    buckets: s.list(
      s.object({
        name: s.string,
        perMinute: s.integer,
        burst: s.integer,
        left: s.number,
        closedUntil: s.nullable(s.instant),
      }),
    ),
    updatedAt: s.instant,
  }),
)

const connectionDetailShape = shape('ConnectionDetail', 'A connection with its health.', (s) =>
  s.extend(connectionShape.declare, {
    history: s.list(s.ref(probeShape)).describe('The latest looks at the other side, the last one first.'),
  }),
)

const credentialShape = shape('Credential', 'What opens accounts; never its value.', (s) =>
  s.object({
    id: s.string.describe('Its name.'),
    name: s.string,
    description: s.nullable(s.string),
    provider: s.string,
    auth: s.enum(AUTH_MODELS),
    grant: s.nullable(s.string).describe('Of `oauth2`.'),
    secret: s.record(s.string).describe('Where the value lies; never the value.'),
    managedBy: s.enum(['folder', 'api', 'demo']),
    status: s.enum(CREDENTIAL_STATUSES),
    version: s.nullable(s.integer),
    fingerprint: s.nullable(s.string),
    versions: s.list(
      s.object({
        version: s.integer,
        fingerprint: s.string,
        since: s.instant,
        by: s.string,
        state: s.enum(['active', 'pending', 'former', 'refused']),
      }),
    ),
    connections: s.list(s.string),
    rotation: s.object({
      everyMs: s.nullable(s.integer),
      coolDownMs: s.integer,
      overlapMs: s.integer,
      nextAt: s.nullable(s.instant),
      lastAt: s.nullable(s.instant),
      underWay: s.nullable(
        s.object({
          reason: s.enum(ROTATION_REASONS),
          note: s.nullable(s.string),
          by: s.string,
          begunAt: s.instant,
          workId: s.string,
        }),
      ),
      lastFailure: s.nullable(s.object({ at: s.instant, error: s.string, version: s.nullable(s.integer) })),
    }),
    tokenExpiresAt: s.nullable(s.instant),
    updatedAt: s.instant,
  }),
)

const runShape = shape('Run', 'One outbound operation, with its attempts.', (s) =>
  s.object({
    id: s.string,
    state: s.enum(RUN_STATES),
    purpose: s.enum(RUN_PURPOSES),
    via: s
      .enum(RUN_VIAS)
      .describe(
        'What made the calls. All but `connection` are derived from their job: they appear with the end of their first attempt.',
      ),
    connection: s.nullable(s.string).describe('null: the calls name none.'),
    provider: s.nullable(s.string),
    operation: s.string.describe(
      'Of a connection `provider.operation`; otherwise the method and address as defined, the name of the function or agent, or the subscription.',
    ),
    workId: s.nullable(s.string),
    eventId: s.nullable(s.string),
    correlationId: s.string,
    traceId: s.string,
    key: s.nullable(s.string),
    attemptCount: s.integer,
    attempts: s.list(
      s.object({
        number: s.integer,
        startedAt: s.instant,
        durationMs: s.number,
        class: s.nullable(s.enum(FAILURE_CLASSES)),
        httpStatus: s.nullable(s.integer),
        error: s.nullable(s.string),
        credentialVersion: s.nullable(s.integer),
        request: s.nullable(s.string).describe('Hidden from viewers.'),
        response: s.nullable(s.string).describe('Hidden from viewers.'),
      }),
    ),
    class: s.nullable(s.enum(FAILURE_CLASSES)),
    httpStatus: s.nullable(s.integer),
    durationMs: s.nullable(s.number),
    error: s.nullable(s.string),
    externalRef: s.nullable(s.string),
    replayOf: s.nullable(s.string),
    createdAt: s.instant,
    updatedAt: s.instant,
  }),
)

export const integrationOperations = operations('integrations', (s) => ({
  listProviders: {
    at: 'GET /v1/integrations/providers',
    summary: 'The systems that connections may lead to: built in, or described by definitions',
    answer: s.pageOf(s.ref(providerShape), 'All of them'),
  },
  getProvider: {
    at: 'GET /v1/integrations/providers/:id',
    summary: 'A provider with its operations and what they take and give',
    params: s.byId(),
    answer: s.answer('The provider', s.ref(providerDetailShape)),
  },
  putProvider: {
    at: 'POST /v1/integrations/providers',
    config: { role: 'admin' },
    summary: 'Create or replace a provider: a definition of the kind Provider as JSON',
    body: s.open(s.describedDefinition('Provider'), { name: s.textOf(128) }),
    answers: {
      201: s.answer(
        'It is in force',
        s.object({ item: s.ref(providerDetailShape), warnings: s.list(fieldFinding(s)), version: s.integer }),
      ),
    },
  },
  listConnections: {
    at: 'GET /v1/integrations/connections',
    summary: 'The tenant’s accounts at other systems, with their health',
    answer: s.pageOf(s.ref(connectionShape), 'All of them'),
  },
  getConnection: {
    at: 'GET /v1/integrations/connections/:id',
    summary: 'A connection: its status, health, circuit and limits',
    params: s.byId(),
    answer: s.answer('The connection', s.ref(connectionDetailShape)),
  },
  listConnectionHealth: {
    at: 'GET /v1/integrations/connections/:id/health',
    summary: 'The latest looks at the other side, the last one first',
    params: s.byId(),
    answer: s.pageOf(s.ref(probeShape), 'Those that are kept'),
  },
  putConnection: {
    at: 'POST /v1/integrations/connections',
    config: { role: 'admin' },
    summary:
      'Make a connection, or change it: a definition of the kind Connection as JSON. It is pending until it passes a test',
    body: s.open(s.describedDefinition('Connection'), { name: s.textOf(128) }),
    answers: {
      201: s.answer(
        'It is in force',
        s.object({ item: s.ref(connectionShape), warnings: s.list(fieldFinding(s)), version: s.integer }),
      ),
    },
  },
  testConnection: {
    at: 'POST /v1/integrations/connections/:id/test',
    config: { role: 'operator' },
    summary: 'Call the other side once, now; a test that passes makes the connection active',
    params: s.byId(),
    answer: s.answer(
      'What came of it',
      s.object({ ok: s.boolean, run: s.ref(runShape), connection: s.ref(connectionShape) }),
    ),
  },
  retireConnection: {
    at: 'POST /v1/integrations/connections/:id/retire',
    config: { role: 'admin' },
    summary: 'Let nothing run on a connection any more; work that names it becomes dead letters',
    params: s.byId(),
    body: s.fields({ reason: s.reason }),
    answer: s.answer('As it is now', s.ref(connectionShape)),
  },
  switchConnectionCircuit: {
    at: 'POST /v1/integrations/connections/:id/circuit',
    config: { role: 'operator' },
    summary:
      'Hold all calls of a connection back (`open`), let them go whatever fails (`closed`), or leave it to the circuit (`auto`)',
    params: s.byId(),
    body: s.fields({
      is: s.enum(['open', 'closed', 'auto']),
      reason: s.reason,
      until: s.instant.describe('Left out: until it is taken back.').optional(),
    }),
    answer: s.answer('As it is now', s.ref(connectionShape)),
  },
  listCredentials: {
    at: 'GET /v1/integrations/credentials',
    summary: 'What opens the tenant’s accounts: which secret, in which version; never a value',
    answer: s.pageOf(s.ref(credentialShape), 'All of them'),
  },
  getCredential: {
    at: 'GET /v1/integrations/credentials/:id',
    summary: 'A credential with its versions and rotations; never a value',
    params: s.byId(),
    answer: s.answer('The credential', s.ref(credentialShape)),
  },
  putCredential: {
    at: 'POST /v1/integrations/credentials',
    config: { role: 'admin' },
    summary:
      'Make a credential, or change it: a definition of the kind Credential as JSON; the value is set as a secret',
    body: s.open(s.describedDefinition('Credential'), { name: s.textOf(128) }),
    answers: {
      201: s.answer(
        'It is in force',
        s.object({ item: s.ref(credentialShape), warnings: s.list(fieldFinding(s)), version: s.integer }),
      ),
    },
  },
  rotateCredential: {
    at: 'POST /v1/integrations/credentials/rotate',
    config: { role: 'operator' },
    summary: 'Begin a rotation: the new value is verified before it takes the place of the one in use',
    body: s.fields({ credentialId: s.text, reason: s.why.optional() }),
    answers: {
      202: s.answer(
        'It is under way',
        s.object({
          rotationId: s.nullable(s.string).describe('The work item; null: there is nothing to do.'),
          isNew: s.boolean.describe('Whether this request began it.'),
          credential: s.ref(credentialShape),
        }),
      ),
    },
  },
  authorizeCredential: {
    at: 'POST /v1/integrations/credentials/:id/authorize',
    config: { role: 'admin', answerIsSecret: true },
    summary: 'Where a person goes to allow this tenant in, for credentials of the authorization code',
    params: s.byId(),
    answer: s.answer('Go there within its time', s.object({ url: s.string, expiresAt: s.instant })),
  },
  listRuns: {
    at: 'GET /v1/integrations/runs',
    summary: 'Outbound operations with their attempts, newest first',
    description:
      'Every job that calls out is a run: on a connection, by plain HTTP, upserts, functions, agents and deliveries. A page may have fewer runs than `limit`; the list ends where `nextCursor` is null.',
    query: s.page({
      connection: s.text,
      state: s.enum(RUN_STATES),
      purpose: s.enum(RUN_PURPOSES),
      via: s.enum(RUN_VIAS),
      workId: s.text,
    }),
    answer: s.pageOf(s.ref(runShape)),
  },
  getRun: {
    at: 'GET /v1/integrations/runs/:id',
    summary: 'A run with its attempts: what was sent and answered, redacted',
    params: s.byId(),
    answer: s.answer('The run', s.ref(runShape)),
  },
}))

export const callbackOperations = operations('open', (s) => ({
  finishAuthorization: {
    at: 'GET /v1/integrations/oauth/callback',
    config: { role: 'open' },
    summary: 'Where a vendor sends people back whom it asked whether we may come in',
    // Vendors send more than this.
    query: s
      .object({
        state: s.string.describe('As the link carried it.').optional(),
        code: s.string.describe('What the vendor gives when the person agreed.').optional(),
        error: s.string.describe('Why it gives none.').optional(),
      })
      .meta({ additionalProperties: true }),
    answer: s.other('A page that says what came of it', { 'text/html': s.string }),
  },
}))

export function addIntegrationRoutes(
  app: FastifyInstance,
  api: Api,
  { publicUrl }: Pick<Serving, 'publicUrl'>,
): void {
  const on = serveOn(app, integrationOperations)
  const { integrations } = api

  const put = async (tenant: TenantId, by: string, kind: IntegrationKind, body: Written) => {
    const checked = await checkFields(api, {
      job: 'integration',
      kind,
      written: body,
      beside: await readSurroundings(api, tenant),
      ...outboundJob(api, tenant),
    })
    if (!checked.ok) throw refuseFindings(codeOf(checked.findings), checked.findings)
    const { version } = await api.definitions.apply(tenant, {
      definitions: [checked.definition],
      managedBy: 'api',
      prune: false,
      by,
      reason: null,
    })
    return { version, warnings: checked.warnings }
  }

  // Providers ---------------------------------------------------------------------------------------------------

  on('listProviders', async ({ caller }) => ({
    items: integrations.providers(caller.tenant).map(showProvider),
    nextCursor: null,
  }))
  on('getProvider', async ({ caller, params }, reply) =>
    reply
      .type('application/json')
      .send(stringifyJson(showProviderDetail(integrations.provider(caller.tenant, params.id)) as never)),
  )
  on(
    'putProvider',
    async ({ caller, body }, reply) => {
      const applied = await put(caller.tenant, caller.actor, 'Provider', body)
      const item = showProviderDetail(integrations.provider(caller.tenant, String(body.name)))
      return reply
        .code(201)
        .type('application/json')
        .send(stringifyJson({ item, ...applied } as never))
    },
    { bodyLimit: BODY_BYTES_MAX.files },
  )

  // Connections -------------------------------------------------------------------------------------------------

  on('listConnections', async ({ caller }) => ({
    items: (await integrations.connections(caller.tenant)).map(showConnection),
    nextCursor: null,
  }))
  on('getConnection', async ({ caller, params }) =>
    showConnectionDetail(await integrations.connection(caller.tenant, params.id)),
  )
  on('listConnectionHealth', async ({ caller, params }) => {
    const { health } = await integrations.connection(caller.tenant, params.id)
    return { items: health.map(showProbe), nextCursor: null }
  })
  on(
    'putConnection',
    async ({ caller, body }, reply) => {
      const applied = await put(caller.tenant, caller.actor, 'Connection', body)
      const item = showConnection(await integrations.connection(caller.tenant, String(body.name)))
      reply.code(201)
      return { item, ...applied }
    },
    { bodyLimit: BODY_BYTES_MAX.files },
  )
  on('testConnection', async ({ caller, params }) => {
    const asked = { by: caller.actor, reason: null }
    const { ok, run, view } = await integrations.test(caller.tenant, params.id, asked)
    return { ok, run: showRun(run, true), connection: showConnection(view) }
  })
  on('retireConnection', async ({ caller, params, body }) =>
    showConnection(
      await integrations.retire(caller.tenant, params.id, { by: caller.actor, reason: body.reason }),
    ),
  )
  on('switchConnectionCircuit', async ({ caller, params, body }) => {
    const { is, reason: said, until } = body
    const override = is === 'auto' ? null : { is, until: until === undefined ? null : readInstant(until) }
    return showConnection(
      await integrations.override(caller.tenant, params.id, override, { by: caller.actor, reason: said }),
    )
  })

  // Credentials -------------------------------------------------------------------------------------------------

  on('listCredentials', async ({ caller }) => ({
    items: (await integrations.credentials(caller.tenant)).map(showCredential),
    nextCursor: null,
  }))
  on('getCredential', async ({ caller, params }) =>
    showCredential(await integrations.credential(caller.tenant, params.id)),
  )
  on(
    'putCredential',
    async ({ caller, body }, reply) => {
      const applied = await put(caller.tenant, caller.actor, 'Credential', body)
      const item = showCredential(await integrations.credential(caller.tenant, String(body.name)))
      reply.code(201)
      return { item, ...applied }
    },
    { bodyLimit: BODY_BYTES_MAX.files },
  )
  on('rotateCredential', async ({ caller, body }, reply) => {
    const { reason: said = null } = body
    mustSayWhy(api.about, said, 'a rotation')
    const asked = { by: caller.actor, reason: said }
    const { rotationId, isNew, view } = await integrations.rotate(
      caller.tenant,
      body.credentialId,
      'request',
      asked,
    )
    reply.code(202)
    return { rotationId, isNew, credential: showCredential(view) }
  })
  on('authorizeCredential', async (request) => {
    const { caller, params } = request
    const callback = `${publicUrl ?? `${request.protocol}://${request.host}`}${CALLBACK_PATH}`
    const asked = { by: caller.actor, reason: null }
    const { url, expiresAt } = await integrations.authorizeUrl(caller.tenant, params.id, callback, asked)
    return { url, expiresAt: new Date(expiresAt).toISOString() }
  })
  on('listRuns', async ({ caller, query }) => {
    return showPage(await integrations.runs(caller.tenant, readFilter(query)), (run) =>
      showRun(run, seesTokens(caller)),
    )
  })
  on('getRun', async ({ caller, params }) =>
    showRun(await integrations.run(caller.tenant, params.id), seesTokens(caller)),
  )
}

/** What is missing beside it has a code of its own: there is something else to do about it than to write it otherwise. */
function codeOf(findings: readonly FieldFinding[]): ErrorCode {
  const [first] = findings.filter(({ severity }) => severity === 'error')
  if (first?.rule === RULES.unknownProvider) return 'provider_unknown'
  return first?.rule === RULES.unknownCredential ? 'credential_unknown' : 'integration_invalid'
}

const CALLBACK_PATH = '/v1/integrations/oauth/callback'

/**
 * GET /v1/integrations/oauth/callback: where the vendor redirects the user. The request has no API key: the state that the link
 * carried identifies the credential, once.
 */
export function addAuthorizationCallback(app: FastifyInstance, api: Pick<HttpApi, 'integrations'>): void {
  const on = serveOn(app, callbackOperations)
  on('finishAuthorization', async ({ query, headers }, reply) => {
    const { state = '', code = null, error = null } = query
    reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    try {
      const { credential } = await api.integrations.authorized({ state, code, error })
      const text = `The credential ${credential} has what it needs. You can close this page and test the connection.`
      return await reply.type(HTML).send(pageInWords('Done', text))
    } catch (refusal) {
      // Programs get the usual response; a user sees a page in the browser.
      if (!(refusal instanceof AppError) || !(headers.accept ?? '').includes('text/html')) throw refusal
      const { title, next, status } = ERRORS[refusal.code]
      return reply
        .code(status)
        .type(HTML)
        .send(pageInWords(title, `${refusal.message}. ${next}`))
    }
  })
}

const HTML = 'text/html; charset=utf-8'

function pageInWords(title: string, text: string): string {
  const safe = (words: string) => words.replaceAll(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${safe(title)} · Millrace</title><body style="font:16px system-ui;margin:4rem auto;padding:0 1rem;max-width:32rem"><h1>${safe(title)}</h1><p>${safe(text)}</p></body></html>`
}
