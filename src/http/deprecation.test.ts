import { fastify } from 'fastify'
import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import type { Caller } from '../engine/access/index.ts'
import { addDeprecation, type Deprecation, deprecationFault } from './deprecation.ts'
import type { Declaration } from './operations.ts'
import { ALL_OPERATIONS } from './routes.ts'
import { KIT } from './schema-kit.ts'

const FIELDS: Deprecation = { since: '2026-11-19', sunset: '2027-11-19', use: 'GET /v1/events' }

async function makeServer() {
  const log = makeMemoryLog()
  const app = fastify()
  app.register(
    async (scope) => {
      scope.decorateRequest('caller')
      scope.addHook('onRequest', async (request, reply) => {
        const actor = request.headers.authorization
        if (actor === undefined) return reply.code(401).send({})
        request.caller = { tenant: 'default', actor } as Caller
      })
      addDeprecation(scope, log)
      scope.get('/old', { config: { deprecated: FIELDS } }, async () => ({ ok: true }))
      scope.get('/new', async () => ({ ok: true }))
    },
    { prefix: '/v1' },
  )
  const get = (url: string, authorization?: string) =>
    app.inject({ url, ...(authorization !== undefined && { headers: { authorization } }) })
  return { get, log }
}

describe('a deprecated operation', () => {
  test('[AP61] says since when, until when, and what to use, also when it refuses', async () => {
    const { get } = await makeServer()
    for (const [authorization, status] of [
      ['key:ops', 200],
      [undefined, 401],
    ] as const) {
      const { statusCode, headers } = await get('/v1/old', authorization)
      expect(statusCode).toBe(status)
      expect(headers).toMatchObject({
        deprecation: '@1795046400',
        sunset: 'Fri, 19 Nov 2027 00:00:00 GMT',
        link: '</v1/events>; rel="successor-version"',
      })
    }
    expect((await get('/v1/new', 'key:ops')).headers).not.toHaveProperty('sunset')
  })

  test('[AP62] each caller is logged once', async () => {
    const { get, log } = await makeServer()
    await get('/v1/old')
    for (const actor of ['key:ops', 'key:ops', 'key:ci']) await get('/v1/old', actor)
    await get('/v1/new', 'key:other')
    expect(log.messages.map(({ name, fields }) => [name, fields.by, fields.operation])).toEqual([
      ['api.deprecated', 'key:ops', 'GET /v1/old'],
      ['api.deprecated', 'key:ci', 'GET /v1/old'],
    ])
  })

  test.each([
    [{ ...FIELDS, sunset: '2027-11-18' }, /less than 365 days/],
    [{ ...FIELDS, since: 'yesterday' }, /2026-11-18/],
    [{ ...FIELDS, use: 'the other one' }, /GET \/v1\/events/],
  ])('[AP61] %j is refused', (deprecated, fault) => {
    expect(deprecationFault(deprecated)).toMatch(fault)
    expect(deprecationFault(FIELDS)).toBeNull()
  })

  test('[AP61] what to use instead of each deprecated operation exists, and is not deprecated itself', () => {
    const all = ALL_OPERATIONS.flatMap(({ declare }) => Object.values<Declaration>(declare(KIT)))
    const lasting = new Set(all.filter(({ config }) => config?.deprecated === undefined).map(({ at }) => at))
    for (const { config } of all) {
      if (config?.deprecated !== undefined) expect(lasting).toContain(config.deprecated.use)
    }
    expect(lasting).toContain(FIELDS.use)
  })
})
