import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import openapiTS, { astToString } from 'openapi-typescript'
import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeAnswerCheck } from './answers.fixture.ts'
import type { HttpApi } from './api.ts'
import { type OpenApiOperation, type OpenApiSchema, readDocument } from './document.fixture.ts'
import { makeRequests } from './openapi-document.ts'
import { REQUESTS } from './requests.generated.ts'
import { makeHttpServer } from './server.ts'

const document = readDocument()
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, method, path, operation })),
)

describe('[AP1] the OpenAPI document', () => {
  test('is version 3.1 and names the operations of every area', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(operations.length).toBeGreaterThan(20)
    expect(Object.keys(document.paths)).toContain('/in/{tenant}/{source}')
  })

  test.each(operations)('says of $name what it does, who may, and what comes back', ({ path, operation }) => {
    expect(operation.operationId).toMatch(/^[a-z]+([A-Z][a-z]*)*$/)
    expect(operation.summary).toMatch(/^[A-Z]/)
    expect(operation.tags).toHaveLength(1)
    expect(['open', 'viewer', 'operator', 'admin', 'node']).toContain(operation['x-millrace-role'])
    const isOpen = operation['x-millrace-role'] === 'open'
    expect(operation.security).toEqual(isOpen ? [] : undefined)
    const statuses = Object.keys(operation.responses)
    expect(statuses.filter((status) => /^2\d\d$/.test(status)).length).toBeGreaterThan(0)
    for (const status of ['4XX', '5XX']) {
      expect(operation.responses[status]?.content?.['application/problem+json']?.schema).toEqual({
        $ref: '#/components/schemas/Problem',
      })
    }
    for (const { description } of Object.values(operation.responses)) {
      expect(description).not.toBe('Default Response')
    }
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    const described = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
    expect(described.map(({ name }) => name).sort()).toEqual(inPath.sort())
  })

  test('gives every operation an id of its own', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('passes the linter that others use, without an error', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const source = JSON.stringify(document)
    const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config })
    const errors = problems.filter(({ severity }) => severity === 'error')
    expect(errors.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
  })

  test('can be made into types by openapi-typescript', async () => {
    const types = astToString(await openapiTS(JSON.stringify(document)))
    for (const { operation } of operations) expect(types).toContain(`${operation.operationId}: {`)
  })

  test('refers only to shapes that it has', () => {
    const found = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) =>
      String(match[1]),
    )
    expect(found.length).toBeGreaterThan(20)
    const known = new Set(
      Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`),
    )
    expect([...new Set(found)].filter((ref) => !known.has(ref))).toEqual([])
  })

  test('offers the idempotency key on what changes something and holds no secret', () => {
    const keyed = operations.filter(({ operation }) =>
      operation.parameters?.some(({ name }) => name === 'idempotency-key'),
    )
    expect(keyed.map(({ operation }) => operation.operationId)).toContain('resolveWork')
    expect(new Set(keyed.map(({ method }) => method))).toEqual(new Set(['post']))
  })

  test.each(['../../docs/openapi.json', './openapi.generated.json'])(
    'is what %s holds; write it with `npm run docs`',
    (path) => {
      expect(JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))).toEqual(document)
    },
  )
})

describe('the routes', () => {
  test('are checked by what they declare; write it with `npm run docs`', () => {
    expect(REQUESTS).toEqual(makeRequests())
  })

  test('are served as they are declared, every one and no other, with schemas that compile', async () => {
    // Adding routes asks nothing of the parts behind them.
    const nothing: unknown = new Proxy(() => nothing, { get: () => nothing })
    await using server = makeHttpServer(nothing as HttpApi, {
      bodyBytesMax: 8_388_608,
      closeMs: 0,
      compilesAtOnce: true,
      requestId: () => 'none',
      log: makeMemoryLog(),
    })
    const served: string[] = []
    server.app.addHook('onRoute', ({ method, url }) => {
      if (method !== 'HEAD')
        served.push(`${String(method).toLowerCase()} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
    })
    await server.app.ready()
    const declared = operations.map(({ name }) => name).filter((name) => !name.includes(' /in/'))
    expect(served.sort()).toEqual(declared.sort())
  })
})

describe('[AP2] the comparison of answers with the document', () => {
  const schema: OpenApiSchema = {
    type: 'object',
    properties: { id: { type: 'string' }, part: { $ref: '#/components/schemas/Part' } },
    required: ['id'],
  }
  const small = {
    openapi: '3.1.0',
    components: { schemas: { Part: { type: 'object', properties: { size: { type: 'integer' } } } } },
    paths: {
      '/v1/things/{id}': {
        get: {
          responses: {
            200: { description: 'a thing', content: { 'application/json': { schema } } },
            204: { description: 'nothing' },
          },
        } as unknown as OpenApiOperation,
      },
    },
  }
  const answer = { method: 'GET', path: '/v1/things/{id}', status: 200, type: 'application/json', text: '{}' }

  test.each([
    ['a good answer', { text: '{"id":"a","part":{"size":1}}' }, null],
    ['a missing member', { text: '{}' }, 'required'],
    ['a member that is not documented', { text: '{"id":"a","more":1}' }, 'additionalProperties'],
    ['one deeper', { text: '{"id":"a","part":{"size":1,"more":1}}' }, 'additionalProperties'],
    ['a wrong type', { text: '{"id":1}' }, 'must be string'],
    ['another status', { status: 201 }, 'the status is not documented'],
    ['another content type', { type: 'text/plain' }, 'the content type text/plain is not documented'],
    ['a body where none is', { status: 204, text: '{}' }, 'there is a body'],
    ['another operation', { path: '/v1/others' }, 'the operation is not documented'],
  ])('sees %s', async (_name, over, expected) => {
    const fault = (await makeAnswerCheck(small))({ ...answer, ...over })
    if (expected === null) expect(fault).toBeNull()
    else expect(fault).toContain(expected)
  })
})
