// Calling other systems: GET and POST /v1/integrations/providers, connections and credentials; test, retire and circuit of a connection;
// rotation and authorization of a credential; GET /v1/integrations/runs.
//
// What is posted is a definition like any other, managed by the API: it is checked, versioned and rolled back as all are.

import type { FastifyInstance } from 'fastify'
import {
  RUN_PURPOSES,
  RUN_STATES,
  type RunPurpose,
  type RunState,
} from '../core/effects/integration-run/index.ts'
import { AppError, ERRORS, type ErrorCode } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { type FieldFinding, type IntegrationKind, RULES } from '../definitions/index.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { outboundJob, readSurroundings } from './check-context.ts'
import { refuseFindings } from './field-findings.ts'
import { mustSayWhy } from './required-reason.ts'
import { checkFields } from './run-check.ts'
import { fields, oneOf, type PageQuery, page, readInstant, reason, splitQuery, text } from './schemas.ts'
import { answer, boolean, instant, listOf, nullable, pageOf, ref, shape, string } from './schemas-answers.ts'
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

const tags = ['integrations']
const nameParams = fields({ id: { type: 'string', minLength: 1, maxLength: 128 } }, ['id'])
const why = { ...reason, description: 'Why; it is kept. Needed in the environment PROD.' } as const
const warning = shape(
  { severity: string, rule: string, message: string, field: string, suggestion: string },
  ['suggestion'],
)
const made = (item: Parameters<typeof shape>[0][string]) =>
  shape({ item, warnings: listOf(warning), version: { type: 'integer' } })

type Api = Pick<
  HttpApi,
  'integrations' | 'definitions' | 'secrets' | 'about' | 'outbound' | 'busPrefix' | 'runCheck'
>
interface Named {
  readonly id: string
}
type Written = { readonly [name: string]: JsonValue }

/** A document as a definition has it, without `kind`. What may stand in it is said by the language, and checked by it. */
const written = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1, maxLength: 128 } },
  additionalProperties: true,
} as const

/** `publicUrl`: the node's public address; null: as each request says. */
export function addIntegrationRoutes(app: FastifyInstance, api: Api, publicUrl: string | null): void {
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

  app.get(
    '/integrations/providers',
    {
      schema: {
        operationId: 'listProviders',
        tags,
        summary: 'The systems that connections may lead to: built in, or described by definitions',
        response: { 200: answer('All of them', pageOf(ref('Provider'))) },
      },
    },
    async ({ caller }) => ({
      items: integrations.providers(caller.tenant).map(showProvider),
      nextCursor: null,
    }),
  )
  app.get<{ Params: Named }>(
    '/integrations/providers/:id',
    {
      schema: {
        operationId: 'getProvider',
        tags,
        summary: 'A provider with its operations and what they take and give',
        params: nameParams,
        response: { 200: answer('The provider', ref('ProviderDetail')) },
      },
    },
    async ({ caller, params }, reply) =>
      reply
        .type('application/json')
        .send(stringifyJson(showProviderDetail(integrations.provider(caller.tenant, params.id)) as never)),
  )
  app.post<{ Body: Written }>(
    '/integrations/providers',
    {
      bodyLimit: BODY_BYTES_MAX.files,
      config: { role: 'admin' },
      schema: {
        operationId: 'putProvider',
        tags,
        summary: 'Describe a provider, or describe it anew: a definition of the kind Provider as JSON',
        body: written,
        response: { 201: answer('It is in force', made(ref('ProviderDetail'))) },
      },
    },
    async ({ caller, body }, reply) => {
      const applied = await put(caller.tenant, caller.actor, 'Provider', body)
      const item = showProviderDetail(integrations.provider(caller.tenant, String(body.name)))
      return reply
        .code(201)
        .type('application/json')
        .send(stringifyJson({ item, ...applied } as never))
    },
  )

  // Connections -------------------------------------------------------------------------------------------------

  app.get(
    '/integrations/connections',
    {
      schema: {
        operationId: 'listConnections',
        tags,
        summary: 'The tenant’s accounts at other systems, with their health',
        response: { 200: answer('All of them', pageOf(ref('Connection'))) },
      },
    },
    async ({ caller }) => ({
      items: (await integrations.connections(caller.tenant)).map(showConnection),
      nextCursor: null,
    }),
  )
  app.get<{ Params: Named }>(
    '/integrations/connections/:id',
    {
      schema: {
        operationId: 'getConnection',
        tags,
        summary: 'A connection: its status, health, circuit and limits',
        params: nameParams,
        response: { 200: answer('The connection', ref('ConnectionDetail')) },
      },
    },
    async ({ caller, params }) =>
      showConnectionDetail(await integrations.connection(caller.tenant, params.id)),
  )
  app.get<{ Params: Named }>(
    '/integrations/connections/:id/health',
    {
      schema: {
        operationId: 'listConnectionHealth',
        tags,
        summary: 'The latest looks at the other side, the last one first',
        params: nameParams,
        response: { 200: answer('Those that are kept', pageOf(ref('Probe'))) },
      },
    },
    async ({ caller, params }) => {
      const { health } = await integrations.connection(caller.tenant, params.id)
      return { items: health.map(showProbe), nextCursor: null }
    },
  )
  app.post<{ Body: Written }>(
    '/integrations/connections',
    {
      bodyLimit: BODY_BYTES_MAX.files,
      config: { role: 'admin' },
      schema: {
        operationId: 'putConnection',
        tags,
        summary:
          'Make a connection, or change it: a definition of the kind Connection as JSON. It is pending until it passes a test',
        body: written,
        response: { 201: answer('It is in force', made(ref('Connection'))) },
      },
    },
    async ({ caller, body }, reply) => {
      const applied = await put(caller.tenant, caller.actor, 'Connection', body)
      const item = showConnection(await integrations.connection(caller.tenant, String(body.name)))
      reply.code(201)
      return { item, ...applied }
    },
  )
  app.post<{ Params: Named }>(
    '/integrations/connections/:id/test',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'testConnection',
        tags,
        summary: 'Call the other side once, now; a test that passes makes the connection active',
        params: nameParams,
        response: {
          200: answer(
            'What came of it',
            shape({ ok: boolean, run: ref('Run'), connection: ref('Connection') }),
          ),
        },
      },
    },
    async ({ caller, params }) => {
      const asked = { by: caller.actor, reason: null }
      const { ok, run, view } = await integrations.test(caller.tenant, params.id, asked)
      return { ok, run: showRun(run, true), connection: showConnection(view) }
    },
  )
  app.post<{ Params: Named; Body: { reason: string } }>(
    '/integrations/connections/:id/retire',
    {
      config: { role: 'admin' },
      schema: {
        operationId: 'retireConnection',
        tags,
        summary: 'Let nothing run on a connection any more; work that names it becomes dead letters',
        params: nameParams,
        body: fields({ reason }, ['reason']),
        response: { 200: answer('As it is now', ref('Connection')) },
      },
    },
    async ({ caller, params, body }) =>
      showConnection(
        await integrations.retire(caller.tenant, params.id, { by: caller.actor, reason: body.reason }),
      ),
  )
  app.post<{ Params: Named; Body: { is: 'open' | 'closed' | 'auto'; reason: string; until?: string } }>(
    '/integrations/connections/:id/circuit',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'switchConnectionCircuit',
        tags,
        summary:
          'Hold all calls of a connection back (`open`), let them go whatever fails (`closed`), or leave it to the circuit (`auto`)',
        params: nameParams,
        body: fields(
          {
            is: oneOf(['open', 'closed', 'auto']),
            reason,
            until: { ...instant, description: 'Left out: until it is taken back.' },
          },
          ['is', 'reason'],
        ),
        response: { 200: answer('As it is now', ref('Connection')) },
      },
    },
    async ({ caller, params, body }) => {
      const { is, reason: said, until } = body
      const override = is === 'auto' ? null : { is, until: until === undefined ? null : readInstant(until) }
      return showConnection(
        await integrations.override(caller.tenant, params.id, override, { by: caller.actor, reason: said }),
      )
    },
  )

  // Credentials -------------------------------------------------------------------------------------------------

  app.get(
    '/integrations/credentials',
    {
      schema: {
        operationId: 'listCredentials',
        tags,
        summary: 'What opens the tenant’s accounts: which secret, in which version; never a value',
        response: { 200: answer('All of them', pageOf(ref('Credential'))) },
      },
    },
    async ({ caller }) => ({
      items: (await integrations.credentials(caller.tenant)).map(showCredential),
      nextCursor: null,
    }),
  )
  app.get<{ Params: Named }>(
    '/integrations/credentials/:id',
    {
      schema: {
        operationId: 'getCredential',
        tags,
        summary: 'A credential with its versions and rotations; never a value',
        params: nameParams,
        response: { 200: answer('The credential', ref('Credential')) },
      },
    },
    async ({ caller, params }) => showCredential(await integrations.credential(caller.tenant, params.id)),
  )
  app.post<{ Body: Written }>(
    '/integrations/credentials',
    {
      bodyLimit: BODY_BYTES_MAX.files,
      config: { role: 'admin' },
      schema: {
        operationId: 'putCredential',
        tags,
        summary:
          'Make a credential, or change it: a definition of the kind Credential as JSON; the value is set as a secret',
        body: written,
        response: { 201: answer('It is in force', made(ref('Credential'))) },
      },
    },
    async ({ caller, body }, reply) => {
      const applied = await put(caller.tenant, caller.actor, 'Credential', body)
      const item = showCredential(await integrations.credential(caller.tenant, String(body.name)))
      reply.code(201)
      return { item, ...applied }
    },
  )
  app.post<{ Body: { credentialId: string; reason?: string } }>(
    '/integrations/credentials/rotate',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'rotateCredential',
        tags,
        summary: 'Begin a rotation: the new value is verified before it takes the place of the one in use',
        body: fields({ credentialId: text, reason: why }, ['credentialId']),
        response: {
          202: answer(
            'It is under way',
            shape({
              rotationId: {
                ...nullable(string),
                description: 'The work item; null: there is nothing to do.',
              },
              isNew: { ...boolean, description: 'Whether this request began it.' },
              credential: ref('Credential'),
            }),
          ),
        },
      },
    },
    async ({ caller, body }, reply) => {
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
    },
  )
  app.post<{ Params: Named }>(
    '/integrations/credentials/:id/authorize',
    {
      config: { role: 'admin', answerIsSecret: true },
      schema: {
        operationId: 'authorizeCredential',
        tags,
        summary: 'Where a person goes to allow this tenant in, for credentials of the authorization code',
        params: nameParams,
        response: { 200: answer('Go there within its time', shape({ url: string, expiresAt: instant })) },
      },
    },
    async (request) => {
      const { caller, params } = request
      const callback = `${publicUrl ?? `${request.protocol}://${request.host}`}${CALLBACK_PATH}`
      const asked = { by: caller.actor, reason: null }
      const { url, expiresAt } = await integrations.authorizeUrl(caller.tenant, params.id, callback, asked)
      return { url, expiresAt: new Date(expiresAt).toISOString() }
    },
  )

  // Runs --------------------------------------------------------------------------------------------------------

  interface RunQuery extends PageQuery {
    readonly connection?: string
    readonly state?: RunState
    readonly purpose?: RunPurpose
    readonly workId?: string
  }
  app.get<{ Querystring: RunQuery }>(
    '/integrations/runs',
    {
      schema: {
        operationId: 'listRuns',
        tags,
        summary: 'Calls of operations with their attempts, newest first',
        querystring: fields({
          ...page,
          connection: text,
          state: oneOf(RUN_STATES),
          purpose: oneOf(RUN_PURPOSES),
          workId: text,
        }),
        response: { 200: answer('A page', pageOf(ref('Run'))) },
      },
    },
    async ({ caller, query }) => {
      const { items, nextCursor } = await integrations.runs(caller.tenant, splitQuery(query))
      return { items: items.map((run) => showRun(run, seesTokens(caller))), nextCursor }
    },
  )
  app.get<{ Params: Named }>(
    '/integrations/runs/:id',
    {
      schema: {
        operationId: 'getRun',
        tags,
        summary: 'A run with its attempts: what was sent and answered, redacted',
        params: nameParams,
        response: { 200: answer('The run', ref('Run')) },
      },
    },
    async ({ caller, params }) =>
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
  app.get<{ Querystring: { state?: string; code?: string; error?: string } }>(
    CALLBACK_PATH,
    {
      config: { role: 'open' },
      schema: {
        operationId: 'finishAuthorization',
        tags: ['open'],
        summary: 'Where a vendor sends people back whom it asked whether we may come in',
        // Vendors add parameters of their own.
        querystring: {
          type: 'object',
          properties: {
            state: { type: 'string', description: 'As the link carried it.' },
            code: { type: 'string', description: 'What the vendor gives when the person agreed.' },
            error: { type: 'string', description: 'Why it gives none.' },
          },
          additionalProperties: true,
        },
        response: {
          200: {
            description: 'A page that says what came of it',
            content: { 'text/html': { schema: { type: 'string' } } },
          },
        },
      },
    },
    async ({ query, headers }, reply) => {
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
    },
  )
}

const HTML = 'text/html; charset=utf-8'

function pageInWords(title: string, text: string): string {
  const safe = (words: string) => words.replaceAll(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${safe(title)} · Millrace</title><body style="font:16px system-ui;margin:4rem auto;padding:0 1rem;max-width:32rem"><h1>${safe(title)}</h1><p>${safe(text)}</p></body></html>`
}
