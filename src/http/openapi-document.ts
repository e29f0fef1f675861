// The OpenAPI document and the table of requests, made from what the routes declare. `npm run docs` writes both; a node reads what was
// written. What every operation has in common (its role, the refusals, the idempotency key) is added here, so that no route can forget it.

import type { RouteOptions } from 'fastify'
import { deprecationFault } from './deprecation.ts'
import { type JsonSchema, toJsonSchema } from './json-schema.ts'
import { type Declaration, IDEMPOTENCY_KEY, neededRole, takesIdempotencyKey } from './operations.ts'
import { ALL_OPERATIONS, OTHER_SHAPES } from './routes.ts'
import { type Answer, type Content, DESCRIBED, KIT, NAMED } from './schema-kit.ts'

interface Made {
  readonly id: string
  readonly tag: string
  readonly declared: Declaration
  readonly route: {
    readonly method: string
    readonly url: string
    readonly config?: NonNullable<RouteOptions['config']>
  }
}

const REFUSED = {
  description: 'Refused: a problem document says why and what to do.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

export function everyOperation(): readonly Made[] {
  return ALL_OPERATIONS.flatMap(({ tag, declare }) =>
    Object.entries<Declaration>(declare(KIT)).map(([id, declared]) => {
      const [method = '', url = ''] = declared.at.split(' ')
      const { config } = declared
      return { id, tag, declared, route: { method, url, ...(config !== undefined && { config }) } }
    }),
  )
}

/** What Fastify routes by and Ajv checks with, as texts by the id of the operation. */
export function makeRequests(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    everyOperation().map(({ id, declared: { params, query, body }, route }) => {
      const schema = {
        ...(params !== undefined && { params: toJsonSchema(params) }),
        ...(query !== undefined && { querystring: toJsonSchema(query) }),
        ...(body !== undefined && { body: toJsonSchema(body) }),
      }
      return [id, JSON.stringify({ ...route, schema }, withoutDescribed)]
    }),
  )
}

const withoutDescribed = (name: string, value: unknown) => (name === DESCRIBED ? undefined : value)

export function makeDocument(): JsonSchema {
  const operations = everyOperation()
  const paths: Record<string, Record<string, unknown>> = { '/in/{tenant}/{source}': INGEST }
  for (const made of operations) {
    const path = made.route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [made.route.method.toLowerCase()]: describeOperation(made) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: '1',
      description:
        'Events, work, ledger, dead letters and definitions of a node. Lists answer `{items, nextCursor}`; instants are ISO 8601; refusals are problem documents (RFC 9457). `x-millrace-role` says what a caller must at least be.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
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
      schemas: describeShapes(),
    },
    paths,
    servers: [{ url: '/' }],
    security: [{ key: [] }, { session: [] }],
  }
}

/** Those that operations answer with, those that these have within, and those that nothing refers to. */
function describeShapes(): JsonSchema {
  for (const shape of OTHER_SHAPES) NAMED.set(shape.name, shape)
  const described: Record<string, unknown> = {}
  // Describing one may name others, which a map visits as well.
  for (const { name, description, declare } of NAMED.values()) {
    described[name] = { ...toDocument(declare(KIT)), ...(description !== '' && { description }) }
  }
  return described
}

function describeOperation({ tag, id, declared, route }: Made): JsonSchema {
  const role = neededRole(route)
  const { deprecated } = route.config ?? {}
  const fault = deprecated === undefined ? null : deprecationFault(deprecated)
  if (fault !== null) throw new Error(`${id} cannot be deprecated: ${fault}`)
  const { params, query, body, content, answers = {}, answer } = declared
  const parameters = [
    ...(query === undefined ? [] : describeParameters('query', toJsonSchema(query))),
    ...(params === undefined ? [] : describeParameters('path', toJsonSchema(params))),
    ...(takesIdempotencyKey(route) ? [parameterOf('header', 'idempotency-key', IDEMPOTENCY_KEY, false)] : []),
  ]
  const taken = content ?? (body === undefined ? null : { 'application/json': body })
  const good = { ...(answer !== undefined && { 200: answer }), ...answers }
  return {
    operationId: id,
    summary: declared.summary,
    tags: [tag],
    ...(declared.description !== undefined && { description: declared.description }),
    ...(deprecated !== undefined && { deprecated: true, 'x-millrace-deprecated': { ...deprecated } }),
    ...(taken !== null && { requestBody: { required: true, content: describeContent(taken) } }),
    ...(parameters.length > 0 && { parameters }),
    ...(role === 'open' && { security: [] }),
    'x-millrace-role': role,
    responses: {
      ...Object.fromEntries(Object.entries(good).map(([status, one]) => [status, describeAnswer(one)])),
      '4XX': REFUSED,
      '5XX': REFUSED,
    },
  }
}

function describeAnswer({ description, schema, others }: Answer): JsonSchema {
  const json = schema === null ? {} : describeContent({ 'application/json': schema })
  const isAlone = Object.keys(others).length === 0
  const content = { ...(isAlone ? withDescription(json, description) : json), ...describeContent(others) }
  return { description, ...(Object.keys(content).length > 0 && { content }) }
}

/** Generators name the shape of an answer by its description; one that has a name has its own. */
function withDescription(content: JsonSchema, description: string): JsonSchema {
  return Object.fromEntries(
    Object.entries(content as Readonly<Record<string, { readonly schema: JsonSchema }>>).map(
      ([type, { schema }]) => [type, { schema: '$ref' in schema ? schema : { ...schema, description } }],
    ),
  )
}

function describeContent(content: Content): JsonSchema {
  return Object.fromEntries(
    Object.entries(content).map(([type, schema]) => [type, { schema: toDocument(schema) }]),
  )
}

function describeParameters(place: string, { properties, required = [] }: JsonSchema): readonly JsonSchema[] {
  const needed = required as readonly string[]
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, schema]) =>
    parameterOf(place, name, schema, needed.includes(name)),
  )
}

function parameterOf(place: string, name: string, given: JsonSchema, required: boolean): JsonSchema {
  const { description, ...schema } = given
  return { schema, in: place, name, required, ...(description !== undefined && { description }) }
}

/** References as the document has them, and what is only described. */
function toDocument(schema: Parameters<typeof toJsonSchema>[0]): JsonSchema {
  return JSON.parse(
    JSON.stringify(toJsonSchema(schema), (name, value) => {
      if (name === '$ref') return `#/components/schemas/${String(value).slice(0, -1)}`
      return value?.[DESCRIBED] ?? value
    }),
  )
}

/** Served beside the framework. */
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
      content: describeContent({
        'application/json': KIT.any,
        'application/x-www-form-urlencoded': KIT.any,
        'text/plain': KIT.string,
      }),
    },
    responses: {
      202: {
        description: 'Accepted and durable. A duplicate answers with the first event’s id.',
        content: describeContent({
          'application/json': KIT.object({ eventId: KIT.string, duplicate: KIT.boolean }),
        }),
      },
      '4XX': REFUSED,
      '5XX': REFUSED,
    },
  },
}
