// A server with real definitions behind it and nothing else, for the tests of their routes.

import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeStaticCode } from '../adapters/code-static/index.ts'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { makeLocalVault } from '../adapters/vault-local/index.ts'
import { DEFAULT_TENANT, type EventId, type WorkId } from '../core/foundation/ids/index.ts'
import { makeMasterKeys } from '../core/secrets/index.ts'
import { compileDefinitions } from '../definitions/language.ts'
import { makeAccess } from '../engine/access/index.ts'
import { makeDefinitions } from '../engine/definitions/index.ts'
import { makeRegistry } from '../engine/definitions/registry.ts'
import { makeInspect } from '../engine/observe/index.ts'
import { checkAnswers } from './answers.fixture.ts'
import type { HttpApi } from './api.ts'
import { makeHttpServer } from './server.ts'

const ADMIN = 'test-key'
const NOW = Date.UTC(2026, 10, 15, 12)

export function makeDefinitionWorld(over: Partial<HttpApi> = {}) {
  const store = makeMemoryStore({ now: () => NOW, defer: (callback) => queueMicrotask(callback) })
  const log = makeMemoryLog()
  const [clock, random] = [makeSystemClock(), makeSystemRandom()]
  const registry = makeRegistry({ store })
  const definitions = makeDefinitions({
    store,
    registry,
    code: makeStaticCode({}),
    log,
    clock,
    now: () => NOW,
    wake: () => {},
  })
  const api: Partial<HttpApi> = {
    reads: (tenant) => store.forTenant(tenant),
    vetSubscription: async (_, { url }) => ({
      ok: true,
      ...(url.includes('nowhere') && { warning: 'it could not be looked up' }),
    }),
    access: makeAccess({ store, clock, random, log, adminKey: ADMIN }),
    secrets: makeLocalVault({ store, clock, random, log, keys: makeMasterKeys(new Uint8Array(32)) }),
    definitions: {
      ...definitions,
      functionHash: (tenant, name) => (name === 'known' && tenant === DEFAULT_TENANT ? 'sha256:known' : null),
      functionTimeoutMs: () => null,
      fires: async () => ({ nextFireAt: NOW + 60_000, lastFiredAt: null }),
      consumes: () => ({ is: 'waiting', why: 'there is no stream' }),
      functionEmits: () => [],
    },
    inspect: makeInspect({ store, registry, definitions, vars: () => ({}), log, now: () => NOW }),
    about: { environment: 'DEV', version: '0.0.0', node: 'node-1', roles: [] },
    ...over,
  }
  let requests = 0
  const server = makeHttpServer(api as HttpApi, {
    bodyBytesMax: 8_388_608,
    closeMs: 1_000,
    requestId: () => {
      requests += 1
      return `r-${requests}`
    },
    log,
  })
  const { faults } = checkAnswers(server.app)
  const inject = async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    url: string,
    payload?: unknown,
    key = ADMIN,
  ) => {
    const answer = await server.app.inject({
      method,
      url: `/v1${url}`,
      headers: { authorization: `Bearer ${key}` },
      ...(payload !== undefined && { payload: payload as object }),
    })
    return { status: answer.statusCode, text: answer.body, body: JSON.parse(answer.body) }
  }
  return {
    store,
    server,
    definitions,
    /** Answers that are not as the document says. */
    faults,
    get: (url: string, key?: string) => inject('GET', url, undefined, key),
    post: (url: string, payload?: unknown, key?: string) => inject('POST', url, payload, key),
    put: (url: string, payload?: unknown, key?: string) => inject('PUT', url, payload, key),
    patch: (url: string, payload?: unknown, key?: string) => inject('PATCH', url, payload, key),
    async key(role: string, tenant?: string): Promise<string> {
      if (tenant !== undefined) await inject('POST', '/tenants', { name: tenant })
      const made = await inject('POST', '/keys', { name: role, role, ...(tenant && { tenant }) })
      return made.body.key
    },
    /** A job of an event, as if it had been created while this definition was deployed. */
    async keepWork(eventId: string, workId: string, consumer: string, definition: string) {
      const event = { id: eventId as EventId, tenant: DEFAULT_TENANT, source: 'shop', subject: 'shop.paid' }
      const none = { objectType: null, objectId: null, occurredAt: null, causationId: null, raw: null }
      const texts = { dedupKey: eventId, payloadHash: 'sha256:0', headers: '{}', data: '{}', sensitive: [] }
      const ids = { correlationId: eventId, traceId: eventId }
      const work = { id: workId as WorkId, kind: 'route', consumer, definition, eventId: event.id } as const
      await store.commit({
        tenant: DEFAULT_TENANT,
        guards: [],
        writes: [
          {
            w: 'event.append',
            event: { ...event, ...none, ...texts, ...ids, matched: 1 },
            dedupForMs: 1_000,
          },
          {
            w: 'work.add',
            work: { ...work, codeHash: null, expiresInMs: 1_000, replayOf: null },
            lease: null,
            delayMs: 0,
          },
        ],
      })
    },
    /** As the node's folder would at the start. */
    async folder(text: string) {
      const compiled = compileDefinitions([{ path: 'all.yaml', text }], { functions: () => null })
      await definitions.apply(DEFAULT_TENANT, {
        definitions: compiled.definitions,
        managedBy: 'folder',
        prune: false,
        by: 'folder',
        reason: null,
      })
    },
  }
}

export const SOURCE_YAML = `kind: Source
name: shop
description: The shop
verify: { scheme: none }
subject: shop.events.{{ payload.kind }}
event: { id: payload.id, objectType: order, objectId: payload.order }
`

export const ROUTE_YAML = `kind: Route
name: book # one booking per order
on: shop.events.paid
where: payload.amount > 50
key: "'BOOK:' + payload.order"
do:
  http:
    url: https://vendor.example/orders
    body: { amount: "{{ payload.amount }}" }
    idempotent: true
`
