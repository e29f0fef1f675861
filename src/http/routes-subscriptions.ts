// Endpoints that get our events: GET, POST, PATCH and DELETE /v1/webhooks/subscriptions; POST …/{name}/enable, disable, pause, test,
// rotate-secret and reveal-secret.

import type { FastifyInstance } from 'fastify'
import type { SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { SIGNINGS } from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import { FAILURE_CLASSES } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../core/foundation/json/index.ts'
import { DAY } from '../core/foundation/time/index.ts'
import { namedSecrets } from '../core/secrets/index.ts'
import { SUBSCRIPTION_STATUSES } from '../core/webhooks/subscription/index.ts'
import { type FieldFinding, type GivenFields, patchFields } from '../definitions/index.ts'
import { fieldFinding } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { readSurroundings } from './check-context.ts'
import { refuseFindings } from './field-findings.ts'
import { bodyMembers, operations, serveOn, shape } from './operations.ts'
import { readFilter, showPage } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { checkFields } from './run-check.ts'
import { isoOrNull } from './shapes.ts'
import { hideQuery, seesTokens, showSubscription, showSubscriptionDetail } from './shapes-webhooks.ts'

const OVERLAP_MS_MAX = 7 * DAY

type Api = Pick<
  HttpApi,
  'subscriptions' | 'deliveries' | 'definitions' | 'secrets' | 'vetSubscription' | 'about' | 'runCheck'
>

const subscriptionShape = shape('Subscription', 'A subscribed endpoint.', (s) =>
  s.object({
    name: s.string,
    description: s.nullable(s.string),
    url: s.string.describe(
      'Where to. Values of its query are shown as `[hidden]` to callers below operator.',
    ),
    on: s.list(s.string).describe('Patterns of the subjects that it wants.'),
    status: s
      .enum(SUBSCRIPTION_STATUSES)
      .describe(
        '`failing`: it is tried still, but nothing has arrived for a while. `paused`: what comes is kept for later. `disabled`: what comes is skipped, and can be recovered.',
      ),
    because: s
      .nullable(s.enum(['gone', 'failing', 'person']))
      .describe('If it is disabled: it answered 410, it failed for too long, or a user disabled it.'),
    reason: s.nullable(s.string).describe('What was said, or what the endpoint answered.'),
    since: s.nullable(s.instant).describe('Since when the status is what it is, where it changed.'),
    failingSince: s.nullable(s.instant).describe('The first failure behind which no success came.'),
    disableAt: s.nullable(s.instant).describe('When it will disable itself if nothing arrives until then.'),
    managedBy: s.enum(['folder', 'api']).describe('`folder`: change its file, not it.'),
    signing: s.enum(SIGNINGS),
    metadata: s.record(s.string).describe('Its owner’s own words.'),
    createdAt: s.nullable(s.instant),
    updatedAt: s.nullable(s.instant),
    health: s
      .object({
        lastDeliveredAt: s.nullable(s.instant),
        lastFailedAt: s.nullable(s.instant),
        recent: s
          .object({ delivered: s.integer, failed: s.integer })
          .describe('Tries in the last while, as far as this node made them.'),
        waiting: s.integer.describe('Deliveries that are not over; counted up to a cap.'),
        isCapped: s.boolean.describe('At least so many wait.'),
      })
      .describe('How it goes.'),
  }),
)

const subscriptionMadeShape = shape('SubscriptionMade', 'A subscription that was made or changed.', (s) =>
  s.extend(subscriptionShape.declare, {
    secret: s
      .nullable(s.string)
      .describe(
        'The generated secret, in this answer and nowhere else; null: it names one, or has it already. An answer that is repeated by its idempotency key has null here.',
      ),
    warnings: s.list(fieldFinding(s)).describe('What is doubtful about it; it is in force all the same.'),
  }),
)

const subscriptionDetailShape = shape(
  'SubscriptionDetail',
  'A subscription, how it sends, and what it signs with.',
  (s) =>
    s.extend(subscriptionShape.declare, {
      by: s
        .nullable(s.string)
        .describe('The user who did it; null: it happened automatically, or not at all.'),
      createdBy: s.nullable(s.string),
      updatedBy: s.nullable(s.string),
      document: s.anyObject.describe(
        'Everything that it says, defaults filled in. Below operator, headers and values of the query are `[hidden]`.',
      ),
      window: s
        .nullable(
          s.object({
            limit: s.integer.describe('How many may be on their way at once.'),
            inFlight: s.integer,
            pausedUntil: s
              .nullable(s.instant)
              .describe('Nothing is sent before; the endpoint asked for it, or does not answer.'),
          }),
        )
        .describe('How this node sends to it; null: it has not so far.'),
      secret: s
        .object({
          from: s.enum(['generated', 'vault', 'environment', 'file']).describe('Where it is kept.'),
          name: s.string.describe('Its name in the vault, in the environment or in the folder of secrets.'),
          version: s.nullable(s.integer).describe('null: it is not set, or not in the vault.'),
          oldUntil: s.list(s.instant).describe('Until when each former secret signs beside it.'),
          isUnseen: s.boolean.describe('It was generated, and `reveal-secret` shows it once.'),
        })
        .describe('What it signs with; never the value.'),
    }),
)

const subscriptionTestShape = shape('SubscriptionTest', 'One call made now; it is kept nowhere.', (s) =>
  s.object({
    ok: s.boolean.describe('The endpoint answered with a 2xx status.'),
    status: s.nullable(s.integer),
    durationMs: s.number,
    class: s.nullable(s.enum(FAILURE_CLASSES)),
    error: s.nullable(s.string),
    response: s
      .nullable(
        s.object({
          headers: s.record(s.string),
          body: s.string,
          isCut: s.boolean.describe('It goes on behind what is here.'),
        }),
      )
      .describe('How the answer began; null: there was none.'),
    request: s
      .nullable(s.object({ url: s.string, headers: s.record(s.string) }))
      .describe('As it was sent; what may be secret in it is hidden. null: nothing was sent.'),
  }),
)

const rotatedSecretShape = shape('RotatedSecret', 'A new secret.', (s) =>
  s.object({
    secret: s.string.describe('Shown in this answer and nowhere else.'),
    version: s.integer,
    oldUntil: s.nullable(s.instant).describe('Until then the former secret signs too; null: it does not.'),
  }),
)

export const subscriptionsOperations = operations('webhooks', (s) => ({
  listSubscriptions: {
    at: 'GET /v1/webhooks/subscriptions',
    summary: 'Endpoints that get events, by name, with their health',
    query: s.page({
      status: s.enum(SUBSCRIPTION_STATUSES),
      q: s.textOf(200).describe('A piece of the name, description, address, patterns or metadata.'),
    }),
    answer: s.pageOf(s.ref(subscriptionShape)),
  },
  getSubscription: {
    at: 'GET /v1/webhooks/subscriptions/:name',
    summary: 'A subscription: what it says, how it goes, and what it signs with; never the secret',
    params: s.fields({ name: s.textOf(128) }),
    answer: s.answer('The subscription', s.ref(subscriptionDetailShape)),
  },
  createSubscription: {
    at: 'POST /v1/webhooks/subscriptions',
    config: { role: 'admin', secretMembers: ['secret'] },
    summary: 'Let an endpoint get events; a generated secret is in this answer and nowhere else',
    body: s.open({
      name: s.string.max(128).describe('Left out when it is created: one is made from the address.'),
      ...s.definition('Subscription'),
    }),
    answers: {
      201: s.answer('It is in force', s.ref(subscriptionMadeShape)),
    },
  },
  patchSubscription: {
    at: 'PATCH /v1/webhooks/subscriptions/:name',
    config: { role: 'admin' },
    summary: 'Change the fields that are given; null takes one back to its default',
    params: s.fields({ name: s.textOf(128) }),
    body: s.open(s.definition('Subscription')),
    answer: s.answer('As it is now', s.ref(subscriptionMadeShape)),
  },
  deleteSubscription: {
    at: 'DELETE /v1/webhooks/subscriptions/:name',
    config: { role: 'admin' },
    summary: 'Forget a subscription with its generated secret; its open deliveries end as cancelled',
    params: s.fields({ name: s.textOf(128) }),
    answers: {
      202: s.answer('It gets nothing more; what is open is being ended', s.object({ name: s.string })),
    },
  },
  enableSubscription: {
    at: 'POST /v1/webhooks/subscriptions/:name/enable',
    config: { role: 'operator' },
    summary: 'Let a paused or disabled subscription get events again; from disabled, a test event goes first',
    params: s.fields({ name: s.textOf(128) }),
    body: s.filters({ reason: s.why }),
    answer: s.answer('As it is now', s.ref(subscriptionShape)),
  },
  disableSubscription: {
    at: 'POST /v1/webhooks/subscriptions/:name/disable',
    config: { role: 'operator' },
    summary: 'Send nothing more: what comes is skipped and can be recovered, what waits stays',
    params: s.fields({ name: s.textOf(128) }),
    body: s.filters({ reason: s.why }),
    answer: s.answer('As it is now', s.ref(subscriptionShape)),
  },
  pauseSubscription: {
    at: 'POST /v1/webhooks/subscriptions/:name/pause',
    config: { role: 'operator' },
    summary: 'Keep what comes for later',
    params: s.fields({ name: s.textOf(128) }),
    body: s.filters({ reason: s.why }),
    answer: s.answer('As it is now', s.ref(subscriptionShape)),
  },
  testSubscription: {
    at: 'POST /v1/webhooks/subscriptions/:name/test',
    config: { role: 'operator', readsOnly: true },
    summary: 'Make one signed call with a test event now, whatever the status, and say what came back',
    params: s.fields({ name: s.textOf(128) }),
    body: s.fields({}),
    answer: s.answer('What came of it', s.ref(subscriptionTestShape)),
  },
  rotateSubscriptionSecret: {
    at: 'POST /v1/webhooks/subscriptions/:name/rotate-secret',
    config: { role: 'admin', answerIsSecret: true },
    summary: 'Sign with a new secret, and with the former one too for a while',
    params: s.fields({ name: s.textOf(128) }),
    body: s.filters({
      overlap: s.string.max(20).describe('How long both sign: `0s` to `7d`; left out: `24h`.'),
      secret: s.text.describe('The new secret; left out: one is generated.'),
    }),
    answer: s.answer('Both sign now', s.ref(rotatedSecretShape)),
  },
  revealSubscriptionSecret: {
    at: 'POST /v1/webhooks/subscriptions/:name/reveal-secret',
    config: { role: 'admin', answerIsSecret: true },
    summary: 'Show a generated secret once, if it was not shown before',
    params: s.fields({ name: s.textOf(128) }),
    body: s.fields({}),
    answer: s.answer('The secret', s.object({ secret: s.string, version: s.integer })),
  },
}))

export function addSubscriptionRoutes(app: FastifyInstance, api: Api): void {
  const on = serveOn(app, subscriptionsOperations)
  on('listSubscriptions', async ({ caller, query }) => {
    return showPage(await api.subscriptions.list(caller.tenant, readFilter(query)), (one) =>
      showSubscription(one, caller),
    )
  })

  on('getSubscription', async ({ caller, params }, reply) => {
    const found = await api.subscriptions.find(caller.tenant, params.name)
    const window = api.deliveries.window(caller.tenant, params.name)
    const shown = showSubscriptionDetail(found, window, caller)
    return reply.type('application/json').send(stringifyJson(shown as unknown as JsonValue))
  })

  on(
    'createSubscription',
    async ({ caller, body, id }, reply) => {
      const { tenant, actor } = caller
      const isNamed = typeof body.name === 'string'
      const named = isNamed ? body : { ...body, name: nameOf(body.url) }
      const create = async (written: GivenFields) => {
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
    { bodyLimit: BODY_BYTES_MAX.ids },
  )

  on(
    'patchSubscription',
    async ({ caller, params, body }) => {
      const { tenant, actor } = caller
      const before = await api.subscriptions.find(tenant, params.name)
      if (before.written === null) throw managedByFolder(params.name)
      refuseRenaming(params.name, body)
      refuseUnknown(body)
      const written = parseJson(before.written) as GivenFields
      const checked = await check(api, tenant, patchFields(written, body), before.document)
      const given = { document: checked.document, written: stringifyJson(checked.written), base: before.hash }
      const { item, secret } = await api.subscriptions.patch(tenant, params.name, given, { actor })
      return { ...showSubscription(item, caller), secret, warnings: checked.warnings }
    },
    { bodyLimit: BODY_BYTES_MAX.ids },
  )

  on('deleteSubscription', async ({ caller, params }, reply) => {
    await api.subscriptions.remove(caller.tenant, params.name, { actor: caller.actor })
    reply.code(202)
    return { name: params.name }
  })

  for (const verb of VERBS) {
    on(`${verb}Subscription` as const, async ({ caller, params, body }) => {
      const { reason: said = null } = body
      mustSayWhy(api.about, said, DOINGS[verb])
      const decided = { actor: caller.actor, reason: said }
      return showSubscription(await api.subscriptions[verb](caller.tenant, params.name, decided), caller)
    })
  }

  on('testSubscription', async ({ caller, params }) => {
    const tested = await api.subscriptions.test(caller.tenant, params.name, { actor: caller.actor })
    const { request } = tested
    if (request === null || seesTokens(caller)) return tested
    return { ...tested, request: { ...request, url: hideQuery(request.url) } }
  })

  on('rotateSubscriptionSecret', async ({ caller, params, body }) => {
    const { overlap, secret } = body
    const request = {
      ...(overlap !== undefined && { overlapMs: readOverlap(overlap) }),
      ...(secret !== undefined && { secret }),
    }
    const decided = { actor: caller.actor }
    const rotated = await api.subscriptions.rotateSecret(caller.tenant, params.name, request, decided)
    return { ...rotated, oldUntil: isoOrNull(rotated.oldUntil) }
  })

  on('revealSubscriptionSecret', ({ caller, params }) =>
    api.subscriptions.revealSecret(caller.tenant, params.name, { actor: caller.actor }),
  )
}

const VERBS = ['enable', 'disable', 'pause'] as const
const DOINGS: Readonly<Record<(typeof VERBS)[number], string>> = {
  enable: 'enabling a subscription',
  disable: 'disabling a subscription',
  pause: 'pausing a subscription',
}

/** Checked like a definition, and its address by the outbound rules. `before`: the deployed version. */
async function check(
  api: Api,
  tenant: TenantId,
  written: GivenFields,
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

function refuseRenaming(name: string, body: GivenFields): void {
  const given = body.name
  if (given === undefined || given === name) return
  const message = 'a name stays: create another subscription, and delete this one'
  throw new AppError('invalid_request', `body/name: ${message}`, {
    details: { fields: [{ path: '/name', message }] },
  })
}

/** What is taken back is gone before the check reads it: a slip would end as a success that changed nothing. */
function refuseUnknown(body: GivenFields): void {
  const known = bodyMembers('patchSubscription')
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
