// POST /v1/try, POST /v1/try/expression and GET /v1/events/{id}/explain: what would happen, and why something did.

import type { FastifyInstance } from 'fastify'
import type { RouteDocument } from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { EventId, TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { hideRequest } from '../core/secrets/index.ts'
import type { Finding } from '../definitions/index.ts'
import type { GivenEvent, Tried } from '../engine/observe/index.ts'
import type { HttpApi } from './api.ts'
import { assertRole } from './auth.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { type CompileFiles, refuseErrors } from './definition-files.ts'
import { findings } from './routes-definitions.ts'
import { fields, idParams, oneOf, text } from './schemas.ts'
import {
  answer,
  anything,
  boolean,
  integer,
  listOf,
  nullable,
  ref,
  shape,
  string,
} from './schemas-answers.ts'
import { readerOf } from './sensitive.ts'
import { showLedgerEntry } from './shapes.ts'
import { seesTokens } from './shapes-webhooks.ts'

type AskedEvent = EventId | GivenEvent

const event = {
  description: 'The id of an accepted event, or one given in place.',
  anyOf: [
    { type: 'string', minLength: 1, maxLength: 128 },
    fields(
      {
        subject: text,
        source: { ...text, description: 'A source in force names its object and dedup key.' },
        data: anything,
        headers: { type: 'object', maxProperties: 200, additionalProperties: { type: 'string' } },
      },
      ['subject', 'data'],
    ),
  ],
} as const
const why = listOf(
  shape({ part: string, holds: boolean, saw: { ...string, description: 'What it looked at.' } }, ['saw']),
)
const tried = shape(
  {
    route: shape({ name: string, hash: string, status: string }),
    subjectFits: boolean,
    matched: boolean,
    why,
    elements: nullable({
      ...integer,
      description:
        'How many items it makes, one per element; what follows is about the first. null: one, of the whole event.',
    }),
    lane: nullable({ ...string, description: 'What `order.by`, `debounce.by` or `concurrency.by` gives.' }),
    key: nullable(string),
    action: nullable(
      shape(
        {
          type: oneOf(['http', 'function', 'emit', 'start', 'schedule', 'unschedule', 'agent']),
          request: shape({
            method: string,
            url: string,
            headers: { type: 'object', additionalProperties: string },
            body: nullable(string),
          }),
          function: shape({ name: string, codeHash: string, input: anything }),
          emit: shape({ subject: string, data: anything }),
          start: shape({ workflow: string, input: anything }),
          schedule: shape({ name: string, cron: string, zone: string, subject: string, data: anything }),
          unschedule: shape({ name: string }),
          agent: shape({ name: string, system: nullable(string), user: string }),
        },
        ['request', 'function', 'emit', 'start', 'schedule', 'unschedule', 'agent'],
      ),
    ),
    ledger: nullable(
      shape(
        {
          verdict: oneOf(['would-call', 'would-skip', 'would-wait', 'would-park']),
          reason: string,
          entry: ref('LedgerEntry'),
        },
        ['entry'],
      ),
    ),
    problem: shape({
      at: oneOf(['where', 'each', 'order', 'key', 'do']),
      message: string,
      path: nullable(string),
      type: nullable(string),
    }),
    findings,
  },
  ['problem', 'findings'],
)

/** What stands in a request in places of credentials is for operators. */
function hideAction(action: NonNullable<Tried['action']>): Tried['action'] {
  return action.type !== 'http' ? action : { ...action, request: hideRequest(action.request) }
}

export function addTryRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'inspect'>,
  limits: { readonly eventBodyLimit: number },
  compileFiles: CompileFiles,
): void {
  app.post<{ Body: { route?: string; yaml?: string; event: AskedEvent } }>(
    '/try',
    {
      bodyLimit: limits.eventBodyLimit + BODY_BYTES_MAX.yaml,
      config: { role: 'viewer', readsOnly: true },
      schema: {
        operationId: 'tryRoute',
        tags: ['try'],
        summary: 'What a route would do with an event; calls nobody and writes nothing',
        body: fields(
          {
            route: { ...text, description: 'The name of a route in force.' },
            yaml: {
              type: 'string',
              minLength: 1,
              maxLength: 262_144,
              description: 'Or one that is not applied; for operators.',
            },
            event,
          },
          ['event'],
        ),
        response: { 200: answer('Match, key, request and verdict', tried) },
      },
    },
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

  app.post<{ Body: { expression: string; as: 'pick' | 'send' | 'condition'; event: AskedEvent } }>(
    '/try/expression',
    {
      bodyLimit: limits.eventBodyLimit,
      config: { role: 'viewer', readsOnly: true },
      schema: {
        operationId: 'tryExpression',
        tags: ['try'],
        summary: 'The value of an expression over an event',
        body: fields(
          {
            expression: { type: 'string', minLength: 1, maxLength: 65_536 },
            as: {
              ...oneOf(['pick', 'send', 'condition']),
              description: 'An expression, a text with `{{ }}`, or a condition.',
            },
            event,
          },
          ['expression', 'as', 'event'],
        ),
        response: {
          200: answer(
            'The value, or what is wrong',
            shape(
              {
                ok: boolean,
                value: anything,
                type: string,
                message: string,
                at: { ...integer, description: 'Where in the text, from 0.' },
              },
              ['value', 'type', 'message', 'at'],
            ),
          ),
        },
      },
    },
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
  )

  app.get<{ Params: { id: EventId } }>(
    '/events/:id/explain',
    {
      schema: {
        operationId: 'explainEvent',
        tags: ['try'],
        summary: 'Who wants an event by the definitions in force, who does not, and why',
        params: idParams,
        response: {
          200: answer(
            'Every consumer',
            shape({
              eventId: string,
              subject: string,
              consumers: listOf(
                shape(
                  {
                    kind: string,
                    name: string,
                    verdict: oneOf([
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
                    status: oneOf(['active', 'paused', 'disabled', 'gone']),
                    patterns: listOf(string),
                    why,
                    workId: string,
                  },
                  ['workId'],
                ),
              ),
            }),
          ),
        },
      },
    },
    async (request) => {
      const { id } = request.params
      const { caller } = request
      const { subject, consumers } = await api.inspect.explain(caller.tenant, id, readerOf(caller))
      const shown = consumers.map(({ workId, ...rest }) => ({
        ...rest,
        ...(workId === null ? {} : { workId }),
      }))
      return { eventId: id, subject, consumers: shown }
    },
  )
}
