// Endpoints that get our events: GET, POST, PATCH and DELETE /v1/webhooks/subscriptions; POST …/{name}/enable, disable, pause, test,
// rotate-secret and reveal-secret.

import type { FastifyInstance } from 'fastify'
import type { SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../core/foundation/json/index.ts'
import { DAY } from '../core/foundation/time/index.ts'
import { namedSecrets } from '../core/secrets/index.ts'
import { SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../core/webhooks/subscription/index.ts'
import { type FieldFinding, patchSubscription, type WrittenSubscription } from '../definitions/index.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { readSurroundings } from './check-context.ts'
import { refuseFindings } from './field-findings.ts'
import { mustSayWhy } from './required-reason.ts'
import { checkFields } from './run-check.ts'
import { fields, oneOf, type PageQuery, page, reason, splitQuery } from './schemas.ts'
import { answer, integer, pageOf, ref, shape, string } from './schemas-answers.ts'
import { changedSubscriptionBody, newSubscriptionBody } from './schemas-webhooks.ts'
import { isoOrNull } from './shapes.ts'
import { hideQuery, seesTokens, showSubscription, showSubscriptionDetail } from './shapes-webhooks.ts'

const tags = ['webhooks']
const NAME_LENGTH_MAX = 128
const OVERLAP_MS_MAX = 7 * DAY
const SECRET_LENGTH_MAX = 512

const nameParams = fields({ name: { type: 'string', minLength: 1, maxLength: NAME_LENGTH_MAX } }, ['name'])
const why = { ...reason, description: 'Why; it is kept. Needed in the environment PROD.' } as const
const made = ref('SubscriptionMade')

type Api = Pick<
  HttpApi,
  'subscriptions' | 'deliveries' | 'definitions' | 'secrets' | 'vetSubscription' | 'about' | 'runCheck'
>
interface Named {
  readonly name: string
}

export function addSubscriptionRoutes(app: FastifyInstance, api: Api): void {
  interface ListQuery extends PageQuery {
    readonly status?: SubscriptionStatus
    readonly q?: string
  }
  app.get<{ Querystring: ListQuery }>(
    '/webhooks/subscriptions',
    {
      schema: {
        operationId: 'listSubscriptions',
        tags,
        summary: 'Endpoints that get events, by name, with their health',
        querystring: fields({
          ...page,
          status: oneOf(SUBSCRIPTION_STATUSES),
          q: {
            type: 'string',
            minLength: 1,
            maxLength: 200,
            description: 'A piece of the name, description, address, patterns or metadata.',
          },
        }),
        response: { 200: answer('A page', pageOf(ref('Subscription'))) },
      },
    },
    async ({ caller, query }) => {
      const { items, nextCursor } = await api.subscriptions.list(caller.tenant, splitQuery(query))
      return { items: items.map((one) => showSubscription(one, caller)), nextCursor }
    },
  )

  app.get<{ Params: Named }>(
    '/webhooks/subscriptions/:name',
    {
      schema: {
        operationId: 'getSubscription',
        tags,
        summary: 'A subscription: what it says, how it goes, and what it signs with; never the secret',
        params: nameParams,
        response: { 200: answer('The subscription', ref('SubscriptionDetail')) },
      },
    },
    async ({ caller, params }, reply) => {
      const found = await api.subscriptions.find(caller.tenant, params.name)
      const window = api.deliveries.window(caller.tenant, params.name)
      const shown = showSubscriptionDetail(found, window, caller)
      return reply.type('application/json').send(stringifyJson(shown as unknown as JsonValue))
    },
  )

  app.post<{ Body: WrittenSubscription }>(
    '/webhooks/subscriptions',
    {
      bodyLimit: BODY_BYTES_MAX.ids,
      config: { role: 'admin', secretMembers: ['secret'] },
      schema: {
        operationId: 'createSubscription',
        tags,
        summary: 'Let an endpoint get events; a generated secret is in this answer and nowhere else',
        body: newSubscriptionBody,
        response: { 201: answer('It is in force', made) },
      },
    },
    async ({ caller, body, id }, reply) => {
      const { tenant, actor } = caller
      const isNamed = typeof body.name === 'string'
      const named = isNamed ? body : { ...body, name: nameOf(body.url) }
      const create = async (written: WrittenSubscription) => {
        const checked = await check(api, tenant, written)
        const given = { document: checked.document, written: stringifyJson(checked.written) }
        return { checked, ...(await api.subscriptions.create(tenant, given, { actor })) }
      }
      const created = await create(named).catch((error: unknown) => {
        const isTaken = error instanceof AppError && error.code === 'name_taken'
        if (isNamed || !isTaken) throw error
        return create({ ...body, name: `${nameOf(body.url)}-${id.replaceAll(/\W/g, '').slice(-8)}` })
      })
      const { item, secret, checked } = created
      reply.code(201)
      return { ...showSubscription(item, caller), secret, warnings: checked.warnings }
    },
  )

  app.patch<{ Params: Named; Body: WrittenSubscription }>(
    '/webhooks/subscriptions/:name',
    {
      bodyLimit: BODY_BYTES_MAX.ids,
      config: { role: 'admin' },
      schema: {
        operationId: 'patchSubscription',
        tags,
        summary: 'Change the fields that are given; null takes one back to its default',
        params: nameParams,
        body: changedSubscriptionBody,
        response: { 200: answer('As it is now', made) },
      },
    },
    async ({ caller, params, body }) => {
      const { tenant, actor } = caller
      const before = await api.subscriptions.find(tenant, params.name)
      if (before.written === null) throw managedByFolder(params.name)
      refuseRenaming(params.name, body)
      refuseUnknown(body)
      const written = parseJson(before.written) as WrittenSubscription
      const checked = await check(api, tenant, patchSubscription(written, body), before.document)
      const given = { document: checked.document, written: stringifyJson(checked.written), base: before.hash }
      const { item, secret } = await api.subscriptions.patch(tenant, params.name, given, { actor })
      return { ...showSubscription(item, caller), secret, warnings: checked.warnings }
    },
  )

  app.delete<{ Params: Named }>(
    '/webhooks/subscriptions/:name',
    {
      config: { role: 'admin' },
      schema: {
        operationId: 'deleteSubscription',
        tags,
        summary: 'Forget a subscription with its generated secret; its open deliveries end as cancelled',
        params: nameParams,
        response: {
          202: answer('It gets nothing more; what is open is being ended', shape({ name: string })),
        },
      },
    },
    async ({ caller, params }, reply) => {
      await api.subscriptions.remove(caller.tenant, params.name, { actor: caller.actor })
      reply.code(202)
      return { name: params.name }
    },
  )

  for (const verb of VERBS) {
    app.post<{ Params: Named; Body: { reason?: string } }>(
      `/webhooks/subscriptions/:name/${verb}`,
      {
        config: { role: 'operator' },
        schema: {
          operationId: `${verb}Subscription`,
          tags,
          summary: SUMMARIES[verb],
          params: nameParams,
          body: fields({ reason: why }),
          response: { 200: answer('As it is now', ref('Subscription')) },
        },
      },
      async ({ caller, params, body }) => {
        const { reason: said = null } = body
        mustSayWhy(api.about, said, DOINGS[verb])
        const decided = { actor: caller.actor, reason: said }
        return showSubscription(await api.subscriptions[verb](caller.tenant, params.name, decided), caller)
      },
    )
  }

  app.post<{ Params: Named }>(
    '/webhooks/subscriptions/:name/test',
    {
      // One more call each time; nothing of it is kept.
      config: { role: 'operator', readsOnly: true },
      schema: {
        operationId: 'testSubscription',
        tags,
        summary: 'Make one signed call with a test event now, whatever the status, and say what came back',
        params: nameParams,
        body: fields({}),
        response: { 200: answer('What came of it', ref('SubscriptionTest')) },
      },
    },
    async ({ caller, params }) => {
      const tested = await api.subscriptions.test(caller.tenant, params.name, { actor: caller.actor })
      const { request } = tested
      if (request === null || seesTokens(caller)) return tested
      return { ...tested, request: { ...request, url: hideQuery(request.url) } }
    },
  )

  app.post<{ Params: Named; Body: { overlap?: string; secret?: string } }>(
    '/webhooks/subscriptions/:name/rotate-secret',
    {
      config: { role: 'admin', answerIsSecret: true },
      schema: {
        operationId: 'rotateSubscriptionSecret',
        tags,
        summary: 'Sign with a new secret, and with the former one too for a while',
        params: nameParams,
        body: fields({
          overlap: {
            type: 'string',
            maxLength: 20,
            description: 'How long both sign: `0s` to `7d`; left out: `24h`.',
          },
          secret: {
            type: 'string',
            minLength: 1,
            maxLength: SECRET_LENGTH_MAX,
            description: 'The new secret; left out: one is generated.',
          },
        }),
        response: { 200: answer('Both sign now', ref('RotatedSecret')) },
      },
    },
    async ({ caller, params, body }) => {
      const { overlap, secret } = body
      const request = {
        ...(overlap !== undefined && { overlapMs: readOverlap(overlap) }),
        ...(secret !== undefined && { secret }),
      }
      const decided = { actor: caller.actor }
      const rotated = await api.subscriptions.rotateSecret(caller.tenant, params.name, request, decided)
      return { ...rotated, oldUntil: isoOrNull(rotated.oldUntil) }
    },
  )

  app.post<{ Params: Named }>(
    '/webhooks/subscriptions/:name/reveal-secret',
    {
      config: { role: 'admin', answerIsSecret: true },
      schema: {
        operationId: 'revealSubscriptionSecret',
        tags,
        summary: 'Show a generated secret that nobody has seen so far, once',
        params: nameParams,
        body: fields({}),
        response: { 200: answer('The secret', shape({ secret: string, version: integer })) },
      },
    },
    ({ caller, params }) =>
      api.subscriptions.revealSecret(caller.tenant, params.name, { actor: caller.actor }),
  )
}

const VERBS = ['enable', 'disable', 'pause'] as const
const SUMMARIES: Readonly<Record<(typeof VERBS)[number], string>> = {
  enable: 'Let a paused or disabled subscription get events again; from disabled, a test event goes first',
  disable: 'Send nothing more: what comes is skipped and can be recovered, what waits stays',
  pause: 'Keep what comes for later',
}
const DOINGS: Readonly<Record<(typeof VERBS)[number], string>> = {
  enable: 'enabling a subscription',
  disable: 'disabling a subscription',
  pause: 'pausing a subscription',
}

/** Checked as a definition is, and its address by the rules for what leaves. `before`: as it is in force already. */
async function check(
  api: Api,
  tenant: TenantId,
  written: WrittenSubscription,
  before: SubscriptionDocument | null = null,
) {
  const namesSecret = isNamed(written.secret) || namedSecrets(written as JsonValue).length > 0
  const known = await readSurroundings(api, tenant, namesSecret)
  // What is deployed with it is no new credential in clear text.
  const beside =
    before === null ? known : { ...known, deployedDocuments: [...known.deployedDocuments, before] }
  const checked = await checkFields(api, { job: 'subscription', written, beside })
  if (!checked.ok) throw refuseFindings('subscription_invalid', checked.findings)
  const { document, written: whole } = checked
  const warning = document.url === before?.url ? null : await vet(api, tenant, document)
  const warnings: readonly Warning[] = warning === null ? checked.warnings : [...checked.warnings, warning]
  return { document, written: whole, warnings }
}

function isNamed(secret: unknown): boolean {
  return secret !== undefined && secret !== null
}

type Warning = Omit<FieldFinding, 'rule'> & { readonly rule: string }

async function vet(api: Api, tenant: TenantId, document: SubscriptionDocument): Promise<Warning | null> {
  const vetted = await api.vetSubscription(tenant, document)
  if (!vetted.ok) {
    throw new AppError('endpoint_refused', vetted.message, { details: { rule: vetted.rule, field: 'url' } })
  }
  return vetted.warning === undefined
    ? null
    : { severity: 'warning', rule: 'OG', message: vetted.warning, field: 'url' }
}

function refuseRenaming(name: string, body: WrittenSubscription): void {
  const given = body.name
  if (given === undefined || given === name) return
  const message = 'a name stays: create another subscription, and delete this one'
  throw new AppError('invalid_request', `body/name: ${message}`, {
    details: { fields: [{ path: '/name', message }] },
  })
}

/** What is taken back is gone before the check reads it: a slip would end as a success that changed nothing. */
function refuseUnknown(body: WrittenSubscription): void {
  const known = Object.keys(changedSubscriptionBody.properties)
  const unknown = Object.keys(body).find((field) => body[field] === null && !known.includes(field))
  if (unknown === undefined) return
  const message = `is not known; known: ${known.join(', ')}`
  throw new AppError('invalid_request', `body /${unknown} ${message}`, {
    details: { fields: [{ path: `/${unknown}`, message }] },
  })
}

function managedByFolder(name: string): AppError {
  return new AppError('managed_by_folder', `the subscription ${name} stands in the definitions`, {
    next: 'Change its document and apply it; one that is in the folder of a node, in its file there.',
  })
}

function readOverlap(text: string): number {
  const overlapMs = parseDuration(text)
  if (overlapMs === null || overlapMs > OVERLAP_MS_MAX) {
    throw new AppError('overlap_invalid', `‘${text}’ is not a duration from 0s to 7d`, {
      details: { fields: [{ path: '/overlap', message: 'write a duration from 0s to 7d' }] },
    })
  }
  return overlapMs
}

/** `https://crm.example.com/hooks` → `crm-example-com`. */
function nameOf(url: JsonValue | undefined): string {
  const host = typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : ''
  const name = host
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '')
  return /^[a-z]/.test(name) ? name : `endpoint${name === '' ? '' : `-${name}`}`
}
