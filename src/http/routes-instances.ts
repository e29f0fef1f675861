// One instance: GET /v1/instances/{id}[?at=], …/history, …/why, …/work; POST …/fire, move, edit, retry, cancel and migrate.

import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { InstanceId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { parseInstant } from '../core/foundation/time/index.ts'
import type { Marking } from '../core/workflows/instance/index.ts'
import type { Until } from '../core/workflows/machine/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { mustSayWhy } from './required-reason.ts'
import { fields, idParams, line, reason } from './schemas.ts'
import { answer, boolean, integer, listOf, ref, shape, string } from './schemas-answers.ts'
import { migrationResult } from './schemas-workflows.ts'
import { showWork } from './shapes.ts'
import { showEntry, showInstanceDetail, showPast } from './shapes-workflows.ts'

const tags = ['instances']
const HISTORY_SHOWN = 200
const CHILDREN_SHOWN = 100
const EDITS_MAX = 100

const why = { ...reason, description: 'Why; it is kept. Needed in the environment PROD.' } as const
const placeName = { type: 'string', minLength: 1, maxLength: 128 } as const
const tokens = {
  description: 'A place, a list of places, or how many tokens of each: `{"review": 2}`.',
  anyOf: [
    placeName,
    { type: 'array', items: placeName, minItems: 1, maxItems: 100 },
    {
      type: 'object',
      additionalProperties: { type: 'integer', minimum: 1, maximum: 100 },
      maxProperties: 100,
    },
  ],
} as const
type Tokens = string | readonly string[] | Marking

const detail = { 200: answer('The instance as it is now', ref('InstanceDetail')) }
type Ask<Body> = { Params: { id: InstanceId }; Body: Body }

export function addInstanceRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'workflows' | 'about'>,
  limits: { readonly eventBodyLimit: number },
): void {
  const sendJson = (reply: FastifyReply, value: unknown) =>
    reply.type('application/json').send(stringifyJson(value as JsonValue))

  const showNow = async (caller: Caller, id: InstanceId) => {
    const { reading } = api.workflows
    const found = await reading.one(caller, id)
    const after = Math.max(0, found.instance.next.history - 1 - HISTORY_SHOWN)
    const [history, children] = await Promise.all([
      reading.history(caller, id, { after, limit: HISTORY_SHOWN }),
      reading.list(caller, { parent: id, cursor: null, limit: CHILDREN_SHOWN }),
    ])
    return showInstanceDetail(found, { history, children: children.items.map((row) => row.id) })
  }

  app.get<{ Params: { id: InstanceId }; Querystring: { at?: string } }>(
    '/instances/:id',
    {
      schema: {
        operationId: 'getInstance',
        tags,
        summary: 'An instance as it is, or as it was at a moment or step',
        params: idParams,
        querystring: fields({
          at: {
            type: 'string',
            minLength: 1,
            maxLength: 40,
            description: 'An instant (`2026-11-16T09:30:00Z`), or the number of a step of its history.',
          },
        }),
        response: { 200: answer('The instance', ref('InstanceDetail')) },
      },
    },
    async ({ caller, params, query }, reply) => {
      if (query.at === undefined) return sendJson(reply, await showNow(caller, params.id))
      const past = await api.workflows.reading.at(caller, params.id, readMoment(query.at))
      return sendJson(reply, showPast(past, HISTORY_SHOWN))
    },
  )

  app.get<{ Params: { id: InstanceId }; Querystring: { after: number; limit: number } }>(
    '/instances/:id/history',
    {
      schema: {
        operationId: 'listInstanceHistory',
        tags,
        summary: 'Everything that happened to an instance, oldest first',
        params: idParams,
        querystring: fields({
          after: {
            type: 'integer',
            minimum: 0,
            default: 0,
            description: 'Only what comes behind this step.',
          },
          limit: { type: 'integer', minimum: 1, maximum: 500, default: 100 },
        }),
        response: {
          200: answer(
            'A page',
            shape({
              items: listOf(ref('InstanceHistory')),
              nextAfter: {
                type: ['integer', 'null'],
                description: 'Give it back as `after` to get the next page; null at the end.',
              },
            }),
          ),
        },
      },
    },
    async ({ caller, params, query }, reply) => {
      const entries = await api.workflows.reading.history(caller, params.id, query)
      const nextAfter = entries.length < query.limit ? null : (entries.at(-1)?.sequence ?? null)
      return sendJson(reply, { items: entries.map(showEntry), nextAfter })
    },
  )

  app.get<{ Params: { id: InstanceId }; Querystring: { transition?: string } }>(
    '/instances/:id/why',
    {
      schema: {
        operationId: 'explainInstance',
        tags,
        summary: 'Why each transition can or cannot fire now, rule by rule, for the caller',
        params: idParams,
        querystring: fields({ transition: placeName }),
        response: {
          200: answer(
            'The transitions in the order written',
            shape({
              transitions: listOf(
                shape({
                  name: string,
                  canFire: { ...boolean, description: 'The caller could fire it by hand.' },
                  rules: listOf(shape({ rule: string, holds: boolean, message: string })),
                }),
              ),
            }),
          ),
        },
      },
    },
    async ({ caller, params, query }) => ({
      transitions: await api.workflows.instanceActions.why(caller, params.id, query.transition ?? null),
    }),
  )

  app.get<{ Params: { id: InstanceId } }>(
    '/instances/:id/work',
    {
      schema: {
        operationId: 'listInstanceWork',
        tags,
        summary: 'The work items of an instance, by birth, a thousand at most',
        params: idParams,
        response: {
          200: answer('All of them', shape({ items: listOf(ref('Work')), nextCursor: { type: 'null' } })),
        },
      },
    },
    async ({ caller, params }) => {
      await api.workflows.reading.one(caller, params.id)
      const items = await api.reads(caller.tenant).workOfInstance(params.id, { all: true })
      return { items: items.map(showWork), nextCursor: null }
    },
  )

  app.post<Ask<{ transition: string; input?: JsonValue; comment?: string }>>(
    '/instances/:id/fire',
    {
      bodyLimit: limits.eventBodyLimit,
      config: { role: 'operator' },
      schema: {
        operationId: 'fireTransition',
        tags,
        summary: 'Fire a transition by hand',
        params: idParams,
        body: fields(
          {
            transition: placeName,
            input: { description: 'What the transition’s `input` asks for.' },
            comment: { ...line(1_000), description: 'Kept in the history.' },
          },
          ['transition'],
        ),
        response: detail,
      },
    },
    async ({ caller, params, body }, reply) => {
      const { transition, input = null, comment = null } = body
      await api.workflows.instanceActions.fire(caller, params.id, { transition, input, comment })
      return sendJson(reply, await showNow(caller, params.id))
    },
  )

  app.post<Ask<{ from: Tokens; to: Tokens; reason?: string }>>(
    '/instances/:id/move',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'moveTokens',
        tags,
        summary: 'Move tokens from places to others, past every transition',
        params: idParams,
        body: fields({ from: tokens, to: tokens, reason: why }, ['from', 'to']),
        response: detail,
      },
    },
    async ({ caller, params, body }, reply) => {
      const { reason: said = null } = body
      mustSayWhy(api.about, said, 'moving tokens')
      const asked = { from: readTokens(body.from), to: readTokens(body.to), reason: said }
      await api.workflows.instanceActions.move(caller, params.id, asked)
      return sendJson(reply, await showNow(caller, params.id))
    },
  )

  interface EditBody {
    readonly changes: readonly { readonly path: string; readonly value?: JsonValue }[]
    readonly reason?: string
    readonly dryRun: boolean
  }
  app.post<Ask<EditBody>>(
    '/instances/:id/edit',
    {
      bodyLimit: limits.eventBodyLimit,
      config: { role: 'operator' },
      schema: {
        operationId: 'editInstance',
        tags,
        summary: 'Change data of an instance; with `dryRun`, only show the difference',
        params: idParams,
        body: fields(
          {
            changes: {
              type: 'array',
              minItems: 1,
              maxItems: EDITS_MAX,
              items: fields(
                {
                  path: {
                    type: 'string',
                    minLength: 1,
                    maxLength: 512,
                    description: '`data.customer.city`, `metadata.owner` or `correlation.order`.',
                  },
                  value: { description: 'Any JSON value; left out: the field goes.' },
                },
                ['path'],
              ),
            },
            reason: why,
            dryRun: { type: 'boolean', default: false, description: 'Only say what would change.' },
          },
          ['changes'],
        ),
        response: {
          200: answer(
            'What changed, or would',
            shape(
              {
                dryRun: boolean,
                changes: listOf(ref('InstanceChange')),
                fires: { ...listOf(string), description: 'Transitions that begin by it.' },
                instance: ref('InstanceDetail'),
              },
              ['instance'],
            ),
          ),
        },
      },
    },
    async ({ caller, params, body }, reply) => {
      const { changes, dryRun, reason: said = null } = body
      const { instanceActions } = api.workflows
      if (!dryRun) mustSayWhy(api.about, said, 'editing data')
      const preview = await instanceActions.previewEdit(caller, params.id, { changes, reason: said })
      const shown = { dryRun, changes: preview.changes, fires: preview.fires }
      if (dryRun) return sendJson(reply, shown)
      await instanceActions.edit(caller, params.id, { changes, reason: said })
      return sendJson(reply, { ...shown, instance: await showNow(caller, params.id) })
    },
  )

  app.post<Ask<{ firing?: number; reason?: string }>>(
    '/instances/:id/retry',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'retryInstance',
        tags,
        summary: 'Go on at a step that failed: its dead letter is replayed, or it is done anew',
        params: idParams,
        body: fields({
          firing: { type: 'integer', minimum: 1, description: 'Which, where several failed.' },
          reason: why,
        }),
        response: { 202: answer('It is under way again', shape({ firing: integer, workId: string })) },
      },
    },
    async ({ caller, params, body }, reply) => {
      const { firing = null, reason: said = null } = body
      mustSayWhy(api.about, said, 'trying a step again')
      reply.code(202)
      return api.workflows.instanceActions.retry(caller, params.id, { firing, reason: said })
    },
  )

  app.post<Ask<{ reason?: string }>>(
    '/instances/:id/cancel',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'cancelInstance',
        tags,
        summary: 'End an instance; nothing that was done is undone',
        params: idParams,
        body: fields({ reason: why }),
        response: detail,
      },
    },
    async ({ caller, params, body }, reply) => {
      const { reason: said = null } = body
      mustSayWhy(api.about, said, 'cancelling an instance')
      await api.workflows.instanceActions.cancel(caller, params.id, { reason: said })
      return sendJson(reply, await showNow(caller, params.id))
    },
  )

  app.post<Ask<{ dryRun: boolean; reason?: string }>>(
    '/instances/:id/migrate',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'migrateInstance',
        tags,
        summary: 'Bring an instance to the version of its workflow that is in force',
        params: idParams,
        body: fields({
          dryRun: { type: 'boolean', default: false, description: 'Only say what would change.' },
          reason: why,
        }),
        response: { 200: answer('What changed, or would', migrationResult) },
      },
    },
    async ({ caller, params, body }, reply) => {
      const { dryRun, reason: said = null } = body
      if (!dryRun) mustSayWhy(api.about, said, 'a migration')
      return sendJson(reply, await api.workflows.migrations.one(caller, params.id, { dryRun, reason: said }))
    },
  )
}

/** A whole number is a step, anything else an instant with its zone. */
function readMoment(text: string): Until {
  if (/^\d{1,12}$/.test(text)) return { sequence: Number(text) }
  const at = parseInstant(text)
  if (at !== null) return { at }
  const message = 'write an instant with its zone, such as 2026-11-16T09:30:00Z, or the number of a step'
  throw new AppError('invalid_request', `query /at: ${message}`, {
    details: { fields: [{ path: '/at', message }] },
  })
}

function readTokens(given: Tokens): Marking {
  if (typeof given === 'string') return { [given]: 1 }
  if (!Array.isArray(given)) return given as Marking
  const counts = new Map<string, number>()
  for (const place of given as readonly string[]) counts.set(place, (counts.get(place) ?? 0) + 1)
  return Object.fromEntries(counts)
}
