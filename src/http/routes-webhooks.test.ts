// The routes of subscriptions and deliveries over parts that keep what they were asked; what the parts do is tested with them.

import { describe, expect, test } from 'vitest'
import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { FRESH_SUBSCRIPTION } from '../core/webhooks/subscription/index.ts'
import { makeIdempotency } from '../engine/access/idempotency-keys.ts'
import type { NewSubscription, SubscriptionDetail } from '../engine/webhooks/index.ts'
import type { HttpApi } from './api.ts'
import { makeDefinitionWorld } from './definitions.fixture.ts'

const AT = Date.UTC(2026, 0, 2, 3, 4, 5)
const SECRET = 'whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IQ=='

const HEALTH = {
  lastDeliveredAt: AT,
  lastFailedAt: null,
  recent: { delivered: 3, failed: 1 },
  waiting: 2,
  isCapped: false,
}

/** Subscriptions in a map, and the calls made to them. */
function makeParts(over: Partial<HttpApi> = {}) {
  const asked: unknown[][] = []
  const kept = new Map<string, SubscriptionDetail>()
  const put = ({ document, written }: NewSubscription, more: Partial<SubscriptionDetail> = {}) => {
    const item: SubscriptionDetail = {
      name: document.name,
      document,
      hash: 'sha256:1',
      written,
      managedBy: 'api',
      status: 'active',
      state: FRESH_SUBSCRIPTION,
      disableAt: null,
      version: 1,
      createdAt: AT,
      createdBy: 'key:a',
      updatedAt: AT,
      updatedBy: 'key:a',
      health: HEALTH,
      secret: {
        from: 'generated',
        name: `webhooks.${document.name}`,
        version: 1,
        oldUntil: [AT],
        isUnseen: false,
      },
      ...more,
    }
    kept.set(item.name, item)
    return item
  }
  const find = (name: string) => {
    const found = kept.get(name)
    if (found === undefined) throw new AppError('unknown_subscription', `there is no subscription ${name}`)
    return found
  }
  const subscriptions = {
    list: async () => ({ items: [...kept.values()], nextCursor: null }),
    find: async (_tenant, name) => find(name),
    create: async (_tenant, given, decided) => {
      asked.push(['create', given.document.name, decided])
      if (kept.has(given.document.name)) throw new AppError('name_taken')
      const isGenerated = given.document.secret === null
      return { item: put(given), secret: isGenerated ? SECRET : null }
    },
    patch: async (_tenant, name, given, decided) => {
      asked.push(['patch', name, given.base, decided])
      return { item: put(given), secret: null }
    },
    remove: async (_tenant, name) => void kept.delete(find(name).name),
    pause: async (_tenant, name) => ({ ...find(name), status: 'paused' }),
    disable: async (_tenant, name) => ({ ...find(name), status: 'disabled' }),
    enable: async (_tenant, name) => find(name),
    rotateSecret: async (_tenant, name, request) => {
      asked.push(['rotate', name, request])
      return { secret: request.secret ?? SECRET, version: 2, oldUntil: AT }
    },
    revealSecret: async (_tenant, name) => {
      if (!find(name).secret.isUnseen) throw new AppError('secret_shown')
      return { secret: SECRET, version: 1 }
    },
    publicKeys: async (_tenant, name) =>
      name === 'keyed' ? [{ id: 'k1', algorithm: 'ed25519', key: 'whpk_AAAA' }] : null,
    test: async () => ({
      ok: false,
      status: 503,
      durationMs: 12,
      class: 'transient',
      error: 'answered 503',
      response: { headers: { 'content-type': 'text/plain' }, body: 'away', isCut: false },
      request: { url: 'https://crm.example.com/hooks?token=t0k', headers: { 'webhook-id': 'evt_1' } },
    }),
  } as Partial<HttpApi['subscriptions']> as HttpApi['subscriptions']
  const world = makeDefinitionWorld({
    subscriptions,
    deliveries: { window: () => null } as unknown as HttpApi['deliveries'],
    vetSubscription: async () => ({ ok: true }),
    ...over,
  })
  return { ...world, asked, kept, put }
}

const BODY = { name: 'crm', url: 'https://crm.example.com/hooks?token=t0k', on: ['shop.order.paid'] }

const create = (world: ReturnType<typeof makeParts>, more: object = {}, key?: string) =>
  world.post('/webhooks/subscriptions', { ...BODY, ...more }, key)

describe('creating', () => {
  test('[WH1] gives the generated secret once: no list, no detail and no change shows it', async () => {
    const world = makeParts()
    const made = await create(world)
    expect(made).toMatchObject({ status: 201, body: { name: 'crm', secret: SECRET, status: 'active' } })
    for (const path of ['', '/crm']) {
      const { status, text } = await world.get(`/webhooks/subscriptions${path}`)
      expect(status).toBe(200)
      expect(text).not.toContain('whsec_')
    }
    expect(world.faults).toEqual([])
  })

  test('[WH2] an answer that is repeated by its key has no secret, and neither has the store', async () => {
    const [clock, log] = [makeSystemClock(), makeMemoryLog()]
    const store = makeMemoryStore({ now: () => AT, defer: (callback) => queueMicrotask(callback) })
    const world = makeParts({
      idempotency: makeIdempotency({ store, clock, log, life: 'one', tenants: async () => [] }),
    })
    const send = () =>
      world.server.app.inject({
        method: 'POST',
        url: '/v1/webhooks/subscriptions',
        headers: { authorization: 'Bearer test-key', 'idempotency-key': 'k-1' },
        payload: BODY,
      })
    const [first, again] = [await send(), await send()]
    expect(first.json().secret).toBe(SECRET)
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(again.json()).toEqual({ ...first.json(), secret: null })
    const { records } = await store.system('verification').dump()
    expect(records.filter(({ kind }) => kind === 'idempotency')).toHaveLength(1)
    expect(JSON.stringify(records)).not.toContain('whsec_')
  })

  test('[WH3] says which field is wrong and what was probably meant, and makes nothing', async () => {
    const world = makeParts()
    const refused = await create(world, { wher: 'payload.total > 1', on: [] })
    expect(refused).toMatchObject({ status: 422, body: { code: 'subscription_invalid' } })
    const paths = refused.body.details.fields.map(({ path }: { path: string }) => path)
    expect(paths).toEqual(expect.arrayContaining(['/on', '/wher']))
    expect(refused.text).toContain('where')
    expect(world.kept.size).toBe(0)
  })

  test('[WH4] an address that may not be called is refused with the rule', async () => {
    const vetted: string[] = []
    const world = makeParts({
      async vetSubscription(_, { url }) {
        vetted.push(url)
        return { ok: false, rule: 'private', message: '10.0.0.1 is a private address' } as never
      },
    })
    expect(await create(world)).toMatchObject({
      status: 422,
      body: {
        code: 'endpoint_refused',
        detail: '10.0.0.1 is a private address',
        details: { rule: 'private', field: 'url' },
        next: expect.stringContaining('MILLRACE_OUTBOUND_ALLOW'),
      },
    })
    expect([vetted, world.kept.size]).toEqual([[BODY.url], 0])
  })

  test('[WH4] a name that cannot be looked up is let through with a warning', async () => {
    const world = makeParts({ vetSubscription: async () => ({ ok: true, warning: 'has no address now' }) })
    const { body } = await create(world)
    expect(body.warnings).toContainEqual(
      expect.objectContaining({ severity: 'warning', field: 'url', message: 'has no address now' }),
    )
    expect(world.faults).toEqual([])
  })

  test('[WH5] makes a name from the address where none is given, and another where that is taken', async () => {
    const world = makeParts()
    const unnamed = { name: undefined }
    const names = [(await create(world, unnamed)).body.name, (await create(world, unnamed)).body.name]
    expect(names[0]).toBe('crm-example-com')
    expect(names[1]).toMatch(/^crm-example-com-\w+$/)
    expect(await create(world, { name: names[0] })).toMatchObject({
      status: 409,
      body: { code: 'name_taken' },
    })
  })
})

describe('changing', () => {
  test('[WH6] takes the fields that are given, and null takes one back', async () => {
    const world = makeParts()
    await create(world, { description: 'The CRM', metadata: { team: 'sales' } })
    const changed = await world.patch('/webhooks/subscriptions/crm', { description: null, on: ['shop.>'] })
    expect(changed).toMatchObject({
      status: 200,
      body: { description: null, on: ['shop.>'], metadata: { team: 'sales' }, secret: null },
    })
    expect(world.asked.at(-1)).toEqual(['patch', 'crm', 'sha256:1', { actor: expect.any(String) }])
    expect(world.faults).toEqual([])
  })

  test('[WH6] does not rename, and looks at an address only where it is another', async () => {
    let vetted = 0
    const world = makeParts({
      async vetSubscription() {
        vetted += 1
        return { ok: true }
      },
    })
    await create(world)
    expect(await world.patch('/webhooks/subscriptions/crm', { name: 'erp' })).toMatchObject({ status: 400 })
    expect(await world.patch('/webhooks/subscriptions/crm', { wher: null })).toMatchObject({ status: 400 })
    await world.patch('/webhooks/subscriptions/crm', { description: 'x' })
    expect(vetted).toBe(1)
    await world.patch('/webhooks/subscriptions/crm', { url: 'https://other.example.com/' })
    expect(vetted).toBe(2)
  })

  test('[WH7] what the folder has is changed there', async () => {
    const world = makeParts()
    await create(world)
    const own = world.kept.get('crm') as SubscriptionDetail
    world.kept.set('crm', { ...own, written: null, managedBy: 'folder' })
    expect(await world.patch('/webhooks/subscriptions/crm', { description: 'x' })).toMatchObject({
      status: 409,
      body: { code: 'managed_by_folder' },
    })
  })
})

describe('secrets', () => {
  test('[WH8] an overlap is from nothing to seven days', async () => {
    const world = makeParts()
    await create(world)
    const rotate = (overlap: string) => world.post('/webhooks/subscriptions/crm/rotate-secret', { overlap })
    for (const overlap of ['8d', '-1h', 'a day', '']) {
      expect(await rotate(overlap)).toMatchObject({ status: 400, body: { code: 'overlap_invalid' } })
    }
    expect(world.asked.filter(([what]) => what === 'rotate')).toEqual([])
    for (const overlap of ['7d', '0s']) {
      const rotated = { secret: SECRET, version: 2, oldUntil: '2026-01-02T03:04:05.000Z' }
      expect(await rotate(overlap)).toMatchObject({ status: 200, body: rotated })
    }
    expect(world.faults).toEqual([])
  })

  test('[WH9] a secret that was shown is not shown again', async () => {
    const world = makeParts()
    await create(world)
    const path = '/webhooks/subscriptions/crm/reveal-secret'
    expect(await world.post(path)).toMatchObject({ status: 409, body: { code: 'secret_shown' } })
    const own = world.kept.get('crm') as SubscriptionDetail
    world.kept.set('crm', { ...own, secret: { ...own.secret, isUnseen: true } })
    expect(await world.post(path)).toMatchObject({ status: 200, body: { secret: SECRET } })
  })

  test('[WH2] what is about a secret alone takes no idempotency key', async () => {
    const world = makeParts()
    for (const verb of ['rotate-secret', 'reveal-secret']) {
      const answer = await world.server.app.inject({
        method: 'POST',
        url: `/v1/webhooks/subscriptions/crm/${verb}`,
        headers: { authorization: 'Bearer test-key', 'idempotency-key': 'k-1' },
        payload: {},
      })
      expect([answer.statusCode, answer.json().code]).toEqual([400, 'invalid_request'])
    }
  })
})

describe('what viewers see', () => {
  test('[WH10] values of the query and of headers are hidden from viewers', async () => {
    const world = makeParts()
    await create(world, { headers: { 'x-token': 'h1dden' } })
    const [viewer, operator] = [await world.key('viewer'), await world.key('operator')]
    for (const path of ['/webhooks/subscriptions', '/webhooks/subscriptions/crm']) {
      const seen = await world.get(path, viewer)
      expect(seen.text).toContain('https://crm.example.com/hooks?token=[hidden]')
      expect(seen.text).not.toMatch(/t0k|h1dden/)
      expect((await world.get(path, operator)).text).toContain('?token=t0k')
    }
    expect(world.faults).toEqual([])
  })
})

test('[WH11] public keys are open to all, for ed25519 subscriptions only', async () => {
  const world = makeParts()
  const ask = (name: string) => world.server.app.inject(`/webhooks/${DEFAULT_TENANT}/${name}/keys`)
  const answer = await ask('keyed')
  expect(answer.json()).toEqual({ keys: [{ id: 'k1', algorithm: 'ed25519', key: 'whpk_AAAA' }] })
  const [other, none] = [await ask('crm'), await ask('nobody')]
  expect([other.statusCode, none.statusCode]).toEqual([404, 404])
  expect(other.json().detail).toBe(none.json().detail)
})

test('[WH12] a test shows the response, and needs an operator', async () => {
  const world = makeParts()
  await create(world)
  expect(await world.post('/webhooks/subscriptions/crm/test')).toMatchObject({
    status: 200,
    body: { ok: false, status: 503, response: { body: 'away' } },
  })
  expect((await world.post('/webhooks/subscriptions/crm/test', {}, await world.key('viewer'))).status).toBe(
    403,
  )
  expect(world.faults).toEqual([])
})

test('[SE50] in PROD a change of one that has a credential in clear text already warns of it, and a new one is refused', async () => {
  const about = { environment: 'DEV', version: '0.0.0', node: 'node-1', roles: [] }
  const world = makeParts({ about })
  expect((await create(world, { headers: { 'x-api-key': 'abc123' } })).status).toBe(201)
  about.environment = 'PROD'
  const changed = await world.patch('/webhooks/subscriptions/crm', { description: 'x' })
  expect(changed).toMatchObject({ status: 200 })
  expect(changed.body.warnings.map(({ field }: { field: string }) => field)).toContain('headers.x-api-key')
  const another = await world.patch('/webhooks/subscriptions/crm', { headers: { 'x-api-key': 'def456' } })
  expect(another).toMatchObject({ status: 422, body: { code: 'subscription_invalid' } })
})

test('a secret that is not set is named, wherever the subscription names it', async () => {
  const world = makeParts()
  for (const more of [
    { headers: { 'x-api-key': "{{ secret('nowhere') }}" } },
    { auth: { bearer: { ref: 'nowhere' } } },
  ]) {
    const made = await create(world, { name: `crm-${Object.keys(more)[0]}`, ...more })
    expect(JSON.stringify(made.body.warnings ?? made.body)).toContain('nowhere')
  }
})
