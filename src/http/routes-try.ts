// POST /v1/try, POST /v1/try/expression and GET /v1/events/{id}/explain: what would happen, and why something did.

import type { FastifyInstance } from 'fastify'
import { ACTION_TYPES, type RouteDocument } from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId, TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { hideRequest } from '../core/secrets/index.ts'
import type { Finding } from '../definitions/index.ts'
import type { Tried } from '../engine/observe/index.ts'
import { ledgerEntryShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { assertRole } from './auth.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { refuseErrors } from './definition-files.ts'
import { operations, serveOn } from './operations.ts'
import { finding } from './routes-definitions.ts'
import type { Kit } from './schema-kit.ts'
import { readerOf } from './sensitive.ts'
import type { Serving } from './serving.ts'
import { showLedgerEntry } from './shapes.ts'
import { seesTokens } from './shapes-webhooks.ts'

/** What stands in a request in places of credentials is for operators. */
function hideAction(action: NonNullable<Tried['action']>): Tried['action'] {
  return action.type !== 'http' ? action : { ...action, request: hideRequest(action.request) }
}

const triedEvent = (s: Kit) =>
  s.fields({
    subject: s.text,
    source: s.text.describe('A source in force names its object and dedup key.').optional(),
    data: s.any,
    headers: s.record(s.string).meta({ maxProperties: 200 }).optional(),
  })

const triedPart = (s: Kit) =>
  s.object({ part: s.string, holds: s.boolean, saw: s.string.describe('What it looked at.').optional() })

export const tryOperations = operations('try', (s) => ({
  tryRoute: {
    at: 'POST /v1/try',
    config: { role: 'viewer', readsOnly: true },
    summary: 'What a route would do with an event; calls no external system and writes nothing',
    body: s.fields({
      route: s.text.describe('The name of a route in force.').optional(),
      yaml: s.textOf(262_144).describe('Or one that is not applied; for operators.').optional(),
      event: s
        .union(s.as<EventId>(s.textOf(128)), triedEvent(s))
        .describe('The id of an accepted event, or one given in place.'),
    }),
    answer: s.answer(
      'Match, key, request and verdict',
      s.object({
        route: s.object({ name: s.string, hash: s.string, status: s.string }),
        subjectFits: s.boolean,
        matched: s.boolean,
        why: s.list(triedPart(s)),
        elements: s
          .nullable(s.integer)
          .describe(
            'How many items it makes, one per element; what follows is about the first. null: one, of the whole event.',
          ),
        lane: s.nullable(s.string).describe('What `order.by`, `debounce.by` or `concurrency.by` gives.'),
        key: s.nullable(s.string),
        action: s.nullable(
          s.object({
            type: s.enum(ACTION_TYPES).describe('`http` also for an upsert: its first request is shown.'),
            request: s
              .object({
                method: s.string,
                url: s.string,
                headers: s.record(s.string),
                body: s.nullable(s.string),
              })
              .optional(),
            function: s.object({ name: s.string, codeHash: s.string, input: s.any }).optional(),
            emit: s.object({ subject: s.string, data: s.any }).optional(),
            start: s.object({ workflow: s.string, input: s.any }).optional(),
            schedule: s
              .object({ name: s.string, cron: s.string, zone: s.string, subject: s.string, data: s.any })
              .optional(),
            unschedule: s.object({ name: s.string }).optional(),
            operation: s.object({ name: s.string, connection: s.string, input: s.any }).optional(),
            agent: s.object({ name: s.string, system: s.nullable(s.string), user: s.string }).optional(),
          }),
        ),
        ledger: s.nullable(
          s.object({
            verdict: s.enum(['would-call', 'would-skip', 'would-wait', 'would-park']),
            reason: s.string,
            entry: s.ref(ledgerEntryShape).optional(),
          }),
        ),
        problem: s
          .object({
            at: s.enum(['where', 'each', 'order', 'key', 'do']),
            message: s.string,
            path: s.nullable(s.string),
            type: s.nullable(s.string),
          })
          .optional(),
        findings: s.list(finding(s)).optional(),
      }),
    ),
  },
  tryExpression: {
    at: 'POST /v1/try/expression',
    config: { role: 'viewer', readsOnly: true },
    summary: 'The value of an expression over an event',
    body: s.fields({
      expression: s.textOf(65_536),
      as: s
        .enum(['pick', 'send', 'condition'])
        .describe('An expression, a text with `{{ }}`, or a condition.'),
      event: s
        .union(s.as<EventId>(s.textOf(128)), triedEvent(s))
        .describe('The id of an accepted event, or one given in place.'),
    }),
    answer: s.answer(
      'The value, or what is wrong',
      s.object({
        ok: s.boolean,
        value: s.any.optional(),
        type: s.string.optional(),
        message: s.string.optional(),
        at: s.integer.describe('Where in the text, from 0.').optional(),
      }),
    ),
  },
  explainEvent: {
    at: 'GET /v1/events/:id/explain',
    summary: 'Who wants an event by the definitions in force, who does not, and why',
    params: s.byId<EventId>(),
    answer: s.answer(
      'Every consumer',
      s.object({
        eventId: s.string,
        subject: s.string,
        consumers: s.list(
          s.object({
            kind: s.string,
            name: s.string,
            verdict: s.enum([
              'matched',
              'would-match',
              'gave-way',
              'ambiguous',
              'subject',
              'condition',
              'error',
              'kept',
              'unmatchable',
            ]),
            status: s.enum(['active', 'paused', 'disabled', 'gone']),
            patterns: s.list(s.string),
            why: s.list(triedPart(s)),
            workId: s.string.optional(),
          }),
        ),
      }),
    ),
  },
}))

export function addTryRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'inspect'>,
  { limits, compileFiles }: Pick<Serving, 'limits' | 'compileFiles'>,
): void {
  const on = serveOn(app, tryOperations)
  on(
    'tryRoute',
    async (request, reply) => {
      const { tenant } = request.caller
      const { route, yaml } = request.body
      if ((route === undefined) === (yaml === undefined)) {
        const fault = { path: '/route', message: 'or `yaml` must be there, and not both' }
        throw new AppError('invalid_request', 'give a route’s name or its YAML', {
          details: { fields: [fault] },
        })
      }
      // As for `check`: viewers may not send documents.
      if (yaml !== undefined) assertRole(request.caller, 'operator')
      const written = yaml === undefined ? null : await readRoute(tenant, yaml)
      const asked = written?.document ?? (route as string)
      const result = await api.inspect.tryRoute(tenant, asked, request.body.event, readerOf(request.caller))
      const { problem, ledger, action, ...rest } = result
      const shown = {
        ...rest,
        action: seesTokens(request.caller) || action === null ? action : hideAction(action),
        ledger:
          ledger === null
            ? null
            : {
                verdict: ledger.verdict,
                reason: ledger.reason,
                ...(ledger.entry === null ? {} : { entry: showLedgerEntry(ledger.entry) }),
              },
        ...(problem === null ? {} : { problem }),
        ...(written === null ? {} : { findings: written.findings }),
      }
      return reply.type('application/json').send(stringifyJson(shown as unknown as JsonValue))
    },
    { bodyLimit: limits.eventBodyLimit + BODY_BYTES_MAX.yaml },
  )

  const readRoute = async (
    tenant: TenantId,
    yaml: string,
  ): Promise<{ readonly document: RouteDocument; readonly findings: readonly Finding[] }> => {
    const compiled = await compileFiles(tenant, [{ path: 'route.yaml', text: yaml }])
    refuseErrors(compiled.findings)
    const routes = compiled.documents.filter((document) => document.kind === 'Route')
    if (routes.length !== 1) {
      const fault = { path: '/yaml', message: `must hold one route, not ${routes.length}` }
      throw new AppError('invalid_request', `the YAML holds ${routes.length} routes, not one`, {
        details: { fields: [fault] },
      })
    }
    return { document: routes[0] as RouteDocument, findings: compiled.findings }
  }

  on(
    'tryExpression',
    async (request, reply) => {
      const { expression, as, event: asked } = request.body
      const computed = await api.inspect.compute(
        request.caller.tenant,
        expression,
        as,
        asked,
        readerOf(request.caller),
      )
      const shown: JsonValue =
        computed.ok || computed.at !== null
          ? (computed as unknown as JsonValue)
          : { ok: false, message: computed.message }
      return reply.type('application/json').send(stringifyJson(shown))
    },
    { bodyLimit: limits.eventBodyLimit },
  )

  on('explainEvent', async (request) => {
    const { id } = request.params
    const { caller } = request
    const { subject, consumers } = await api.inspect.explain(caller.tenant, id, readerOf(caller))
    const shown = consumers.map(({ workId, ...rest }) => ({
      ...rest,
      ...(workId === null ? {} : { workId }),
    }))
    return { eventId: id, subject, consumers: shown }
  })
}
