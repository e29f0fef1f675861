// GET /openapi.json: the document is made from the routes themselves. What every operation has in common (its role, the
// refusals, the idempotency key) is added here, so that no route can forget it.

import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { stringifyJson } from '../core/foundation/json/index.ts'
import { anything, boolean, ref, type Schema, SHARED, shape, string } from './schemas-answers.ts'

export type NeededRole = 'open' | 'viewer' | 'operator' | 'admin' | 'node'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a caller must at least be; GET needs a viewer and the rest an operator unless the route says otherwise. */
    role?: NeededRole
    /** It changes nothing, so it can be repeated without an idempotency key, and its response is not stored. */
    readsOnly?: true
    /** What it is sent has a name of its own, by which it is known again: a key would say nothing new. */
    isIdempotent?: true
  }
}

export function neededRole(route: Pick<RouteOptions, 'url' | 'method' | 'config'>): NeededRole {
  if (!route.url.startsWith('/v1/')) return 'open'
  return route.config?.role ?? (isRead(route.method) ? 'viewer' : 'operator')
}

const isRead = (method: RouteOptions['method']) => [method].flat().every((one) => /^(GET|HEAD)$/i.test(one))

/** Call it before any route is added. */
export function addOpenApi(app: FastifyInstance): void {
  for (const [name, schema] of Object.entries(SHARED)) app.addSchema({ $id: name, ...schema })
  // The schemas of answers document and test; what is sent is what the route answered, whole.
  app.setSerializerCompiler(() => (value) => stringifyJson(value))
  app.addHook('onRoute', completeRoute)
  app.register(swagger, {
    openapi: makeDocument(),
    convertConstToEnum: false,
    refResolver: {
      buildLocalReference: (schema, _base, _fragment, index) => `${schema.$id ?? `def-${index}`}`,
    },
    transformObject: (document) => ('openapiObject' in document ? document.openapiObject : {}),
  })
  app.register(async (scope) => {
    let text: string | null = null
    scope.get(
      '/openapi.json',
      {
        schema: {
          operationId: 'getOpenApi',
          tags: ['open'],
          summary: 'This document',
          response: { 200: { type: 'object', additionalProperties: true, description: 'OpenAPI 3.1' } },
        },
      },
      (_request, reply) => {
        text ??= JSON.stringify(app.swagger())
        return reply.type('application/json').send(text)
      },
    )
  })
}

const PROBLEM: Schema = {
  description: 'Refused: a problem document says why and what to do.',
  content: { 'application/problem+json': { schema: ref('Problem') } },
}

const IDEMPOTENCY_KEY: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\x21-\\x7e]+$',
  description:
    'A name for this request, 1 to 255 visible ASCII characters. Sent again within a day, it gets the first answer.',
}

/** POSTs under /v1 whose responses may be stored. */
export function takesIdempotencyKey(route: Pick<RouteOptions, 'url' | 'method' | 'config'>): boolean {
  const isOpen = neededRole(route) === 'open'
  const { answerIsSecret, readsOnly, isIdempotent } = route.config ?? {}
  return route.method === 'POST' && !isOpen && !answerIsSecret && !readsOnly && !isIdempotent
}

function completeRoute(route: RouteOptions): void {
  const role = neededRole(route)
  const given = (route.schema ?? {}) as Record<string, unknown>
  route.schema = {
    ...given,
    ...(takesIdempotencyKey(route) && {
      headers: shape({ 'idempotency-key': IDEMPOTENCY_KEY }, ['idempotency-key']),
    }),
    ...(role === 'open' && { security: [] }),
    ...{ 'x-millrace-role': role },
    response: { ...(given.response as object | undefined), '4xx': PROBLEM, '5xx': PROBLEM },
  }
}

const INGEST = {
  post: {
    operationId: 'ingest',
    tags: ['ingest'],
    summary: 'Send an event to a source, signed as the source asks for',
    description:
      'The body is kept as it came; it may be compressed (gzip, deflate, br). The answer comes when the event is durable. A source may have an answer of its own (`respond`), and answer handshakes, also with GET.',
    security: [],
    'x-millrace-role': 'open',
    parameters: ['tenant', 'source'].map((name) => ({
      in: 'path',
      name,
      required: true,
      schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' },
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: anything },
        'application/x-www-form-urlencoded': { schema: anything },
        'text/plain': { schema: string },
      },
    },
    responses: {
      202: {
        description: 'Accepted and durable. A duplicate answers with the first event’s id.',
        content: { 'application/json': { schema: shape({ eventId: string, duplicate: boolean }) } },
      },
      ...Object.fromEntries(
        ['4XX', '5XX'].map((status) => [
          status,
          {
            description: PROBLEM.description,
            content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
          },
        ]),
      ),
    },
  },
}

/** A new one each time: the routes are added to it. */
function makeDocument(): NonNullable<FastifyDynamicSwaggerOptions['openapi']> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: '1',
      description:
        'Events, work, ledger, dead letters and definitions of a node. Lists answer `{items, nextCursor}`; instants are ISO 8601; refusals are problem documents (RFC 9457). `x-millrace-role` says what a caller must at least be.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }, { session: [] }],
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'millrace_session',
          description:
            'A session of the console; anything but GET also needs the header `millrace-console: 1`.',
        },
      },
    },
    paths: { '/in/{tenant}/{source}': INGEST as object },
  }
}
