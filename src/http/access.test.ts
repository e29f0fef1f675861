import { afterEach, describe, expect, test } from 'vitest'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import { makeLocalVault } from '../adapters/vault-local/index.ts'
import { isAllowed, ROLES, type Role } from '../core/access/callers/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { HOUR } from '../core/foundation/time/index.ts'
import { fingerprintOf, makeMasterKeys } from '../core/secrets/index.ts'
import { ADMIN_KEY, makeAccessWorld, START } from '../engine/access/access.fixture.ts'
import { checkAnswers } from './answers.fixture.ts'
import type { HttpApi } from './api.ts'
import { readDocument } from './document.fixture.ts'
import { type HttpServer, makeHttpServer } from './server.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Method = 'GET' | 'POST' | 'DELETE'
interface Ask {
  readonly key?: string | null
  readonly cookie?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const OLD_KEY_FILL = 7

function makeWorld() {
  const world = makeAccessWorld()
  const keys = makeMasterKeys(new Uint8Array(32), [new Uint8Array(32).fill(OLD_KEY_FILL)])
  const vault = makeLocalVault({ ...world, random: makeSystemRandom(), keys })
  const pendings: unknown[] = []
  const onPending = async (...about: unknown[]) => {
    pendings.push(about)
  }
  const secrets = { ...vault, onPending }
  const nothing: unknown = new Proxy(() => nothing, { get: () => nothing })
  const own: Partial<HttpApi> = {
    access: world.access,
    secrets,
    about: { environment: 'QA', version: '1.2.3', node: 'node-7', roles: ['api'] },
    reads: (tenant) => world.store.forTenant(tenant),
  }
  const api = new Proxy(own as HttpApi, {
    get: (target, name) => (Object.hasOwn(target, name) ? target[name as keyof HttpApi] : nothing),
  })
  let requests = 0
  const server: HttpServer = makeHttpServer(api, {
    bodyBytesMax: 8_388_608,
    closeMs: 1_000,
    requestId: () => {
      requests += 1
      return `r-${requests}`
    },
    log: world.log,
  })
  const answers = checkAnswers(server.app)
  closing.push(async () => {
    await server.close()
    // Whatever was answered is what the document promises.
    expect(answers.faults).toEqual([])
  })
  const ask = async (method: Method, url: string, { key = ADMIN_KEY, cookie, headers, body }: Ask = {}) => {
    const answer = await server.app.inject({
      method,
      url,
      headers: {
        host: 'mill.example:4400',
        ...(key !== null && cookie === undefined && { authorization: `Bearer ${key}` }),
        ...(cookie !== undefined && { cookie }),
        ...headers,
      },
      ...(body !== undefined && { payload: body as object }),
    })
    const text = answer.body
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text,
      body: text === '' ? null : JSON.parse(text),
    }
  }
  const makeKey = async (role: Role, tenant = 'default') =>
    (
      await ask('POST', '/v1/keys', {
        body: { name: `${role}’s`, role, ...(tenant !== 'default' && { tenant }) },
      })
    ).body
  const signIn = async (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await ask('POST', '/v1/session', { key: null, body, headers })
    const cookie = String(answer.headers['set-cookie'] ?? '')
    return { ...answer, cookie: cookie.split(';', 1)[0] as string, wholeCookie: cookie }
  }
  return { ...world, server, ask, makeKey, signIn, pendings }
}

const CONSOLE = { 'millrace-console': '1' }

describe('every route', async () => {
  const { paths } = readDocument()
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase() as Method,
      path: path.replaceAll(/\{\w+\}/g, 'x'),
      needed: operation['x-millrace-role'] as Role | 'node' | 'open',
    })),
  )
  const closed = routes.filter(({ needed }) => needed !== 'open')

  test('[AC13] of /v1 needs a key, except sign-in and the OAuth callback', () => {
    expect(closed.length).toBeGreaterThan(15)
    const open = routes.filter(({ path, needed }) => path.startsWith('/v1/') && needed === 'open')
    expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
      // A vendor redirects users to it; the state in the link identifies the user, once.
      'GET /v1/integrations/oauth/callback',
      'POST /v1/session',
    ])
  })

  test('[AC13] refuses lower roles, and names the role that it needs', async () => {
    const { ask, makeKey } = makeWorld()
    const keys = await Promise.all(ROLES.map(async (role) => ({ role, key: (await makeKey(role)).key })))
    for (const { method, path, needed } of closed) {
      const name = `${method} ${path}`
      const nobody = await ask(method, path, { key: null })
      expect(nobody.body, name).toMatchObject({ status: 401, code: 'not_authenticated' })
      for (const { role, key } of keys) {
        if (isAllowed({ role, isNodeAdmin: false }, needed as Role | 'node')) continue
        const says = needed === 'node' ? 'node’s own admin' : `role ${needed}`
        expect((await ask(method, path, { key })).body, name).toMatchObject({
          status: 403,
          code: 'not_allowed',
          detail: expect.stringContaining(says),
          details: { needed, role },
        })
      }
    }
  })
})

test('[AC4] the answer to a bad key is the same, whatever is bad about it', async () => {
  const { ask, makeKey } = makeWorld()
  const { key, id } = await makeKey('viewer')
  const bad = [
    `mrk_nobody_${id}_${key.slice(-43)}`,
    `${key.slice(0, -1)}!`,
    'x',
    `mrk_default_${id}_${'A'.repeat(43)}`,
  ]
  const answers = await Promise.all(bad.map((one) => ask('GET', '/v1/me', { key: one })))
  const shown = answers.map(({ status, body: { instance, ...body } }) => JSON.stringify([status, body]))
  expect(new Set(shown).size).toBe(1)
  expect(answers[0]?.headers['www-authenticate']).toBe('Bearer')
})

test('GET /v1/me says who and where', async () => {
  const { ask, makeKey } = makeWorld()
  const about = { environment: 'QA', version: '1.2.3', node: 'node-7', nodeRoles: ['api'] }
  expect((await ask('GET', '/v1/me')).body).toEqual({
    tenant: 'default',
    role: 'admin',
    permissions: [],
    actor: 'admin',
    isNodeAdmin: true,
    ...about,
  })
  const { key, id } = await makeKey('viewer')
  expect((await ask('GET', '/v1/me', { key })).body).toEqual({
    tenant: 'default',
    role: 'viewer',
    permissions: [],
    actor: `viewer’s (key ${id})`,
    isNodeAdmin: false,
    ...about,
  })
})

describe('keys', () => {
  test('are made, listed without their texts, and revoked', async () => {
    const { ask } = makeWorld()
    const made = await ask('POST', '/v1/keys', { body: { name: ' ci ', role: 'operator', expiresIn: '30d' } })
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'ci', role: 'operator', tenant: 'default', createdBy: 'admin', lastUsedAt: null },
    })
    const { id, key } = made.body
    expect(made.body.expiresAt).toBe(new Date(START + 30 * 24 * HOUR).toISOString())
    expect((await ask('GET', '/v1/me', { key })).status).toBe(200)
    const list = await ask('GET', '/v1/keys')
    expect(list.body).toMatchObject({
      items: [{ id, name: 'ci', isExpired: false, lastUsedAt: new Date(START).toISOString() }],
      nextCursor: null,
    })
    expect(list.text).not.toContain(key.slice(-43))
    expect((await ask('DELETE', `/v1/keys/${id}`)).status).toBe(204)
    expect((await ask('GET', '/v1/me', { key })).status).toBe(401)
    expect((await ask('DELETE', `/v1/keys/${id}`)).body).toMatchObject({ status: 404, code: 'not_found' })
  })

  test('that cannot be are refused, and nothing is made', async () => {
    const { ask } = makeWorld()
    const rows: readonly [body: object, says: string][] = [
      [{ role: 'viewer' }, 'name'],
      [{ name: 'x' }, 'role'],
      [{ name: '  ', role: 'viewer' }, 'name'],
      [{ name: 'x', role: 'root' }, 'viewer, operator, admin'],
      [{ name: 'x', role: 'viewer', expiresIn: 'soon' }, '30d'],
      [{ name: 'x', role: 'viewer', expiresIn: '1s' }, '1m'],
      [{ name: 'x', role: 'viewer', expiresIn: '4000d' }, '3650d'],
      [{ name: 'x', role: 'viewer', tenant: 'A_b' }, 'tenant'],
      [{ name: 'x', role: 'viewer', permissions: ['a b'] }, 'triage.approve'],
      [{ name: 'x', role: 'viewer', permissions: 'triage.start' }, 'must be a list'],
      [{ name: 'x', role: 'viewer', scope: 'all' }, 'scope'],
    ]
    for (const [body, says] of rows) {
      const answer = await ask('POST', '/v1/keys', { body })
      expect(answer.body, says).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(answer.text).toContain(says)
    }
    expect((await ask('GET', '/v1/keys')).body.items).toEqual([])
  })

  test('[AC14] of other tenants are the node’s own admin’s to make, and only where there is a tenant', async () => {
    const { ask, makeKey } = makeWorld()
    const body = { name: 'x', role: 'admin', tenant: 'acme' }
    expect((await ask('POST', '/v1/keys', { body })).body).toMatchObject({
      status: 400,
      details: { fields: [{ path: '/tenant', message: expect.stringContaining('POST /v1/tenants') }] },
    })
    await ask('POST', '/v1/tenants', { body: { name: 'acme' } })
    const { key: foreign } = await makeKey('admin')
    expect((await ask('POST', '/v1/keys', { body, key: foreign })).body).toMatchObject({
      status: 403,
      code: 'not_allowed',
    })
    const { key } = (await ask('POST', '/v1/keys', { body })).body
    expect((await ask('GET', '/v1/me', { key })).body).toMatchObject({
      tenant: 'acme',
      role: 'admin',
      isNodeAdmin: false,
    })
    // An admin of one tenant sees and ends nothing of another.
    const { id } = (await ask('GET', '/v1/keys')).body.items[0]
    expect((await ask('GET', '/v1/keys', { key })).body.items).toHaveLength(1)
    expect((await ask('DELETE', `/v1/keys/${id}`, { key })).status).toBe(404)
    expect((await ask('GET', '/v1/me', { key: foreign })).status).toBe(200)
  })
})

describe('tenants', () => {
  test('[AC10] are made once and listed', async () => {
    const { ask, access } = makeWorld()
    await access.start()
    const made = await ask('POST', '/v1/tenants', { body: { name: 'acme', description: 'A customer' } })
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'acme', description: 'A customer', createdBy: 'admin' },
    })
    expect((await ask('POST', '/v1/tenants', { body: { name: 'acme' } })).body).toMatchObject({
      status: 409,
      code: 'conflict',
    })
    const { items } = (await ask('GET', '/v1/tenants')).body
    expect(items.map(({ name }: { name: string }) => name)).toEqual(['acme', 'default'])
  })

  test('[AC10] other names are refused', async () => {
    const { ask } = makeWorld()
    for (const name of ['', '-a', 'A', 'a_b', 'a.b', 'x'.repeat(64), ['a']]) {
      const answer = await ask('POST', '/v1/tenants', { body: { name } })
      expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' })
    }
    expect((await ask('GET', '/v1/tenants')).body.items).toEqual([])
  })
})

describe('a session', () => {
  test('[AC8] [AC12] begins with a key, lives in a cookie that scripts and other sites do not get, and ends', async () => {
    const { ask, makeKey, signIn } = makeWorld()
    const { key } = await makeKey('operator')
    const { status, body, cookie, wholeCookie } = await signIn({ key })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      tenant: 'default',
      role: 'operator',
      expiresAt: new Date(START + 12 * HOUR).toISOString(),
    })
    expect(wholeCookie).toMatch(
      /^millrace_session=mrs_default_[0-9a-f]{16}_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
    expect(JSON.stringify(body)).not.toContain('mrs_')
    const others = `theme=dark; ${cookie}; x=y`
    expect((await ask('GET', '/v1/me', { cookie: others })).body).toMatchObject({ role: 'operator' })
    const gone = await ask('DELETE', '/v1/session', { cookie, headers: CONSOLE })
    expect(gone.status).toBe(204)
    expect(gone.headers['set-cookie']).toMatch(/^millrace_session=; .*Max-Age=0/)
    expect((await ask('GET', '/v1/me', { cookie })).body).toMatchObject({ status: 401 })
  })

  test('[AC8] ends with its key', async () => {
    const { ask, makeKey, signIn } = makeWorld()
    const { key, id } = await makeKey('operator')
    const { cookie } = await signIn({ key })
    await ask('DELETE', `/v1/keys/${id}`)
    expect((await ask('GET', '/v1/me', { cookie })).body).toMatchObject({
      status: 401,
      code: 'not_authenticated',
    })
  })

  test('[AC12] is marked secure where the request came by https', async () => {
    const { signIn } = makeWorld()
    const { wholeCookie } = await signIn({ key: ADMIN_KEY }, { 'x-forwarded-proto': 'https' })
    expect(wholeCookie).toMatch(/; Secure$/)
    // A proxy that says nothing of it: the browser knows.
    const byOrigin = await signIn(
      { key: ADMIN_KEY },
      { origin: 'https://mill.example', host: 'mill.example' },
    )
    expect(byOrigin.wholeCookie).toMatch(/; Secure$/)
    const plain = await signIn({ key: ADMIN_KEY }, { origin: 'http://mill.example', host: 'mill.example' })
    expect(plain.wholeCookie).not.toMatch(/Secure/)
  })

  test('[AC12] changes nothing without the console’s header', async () => {
    const { ask, signIn } = makeWorld()
    const { cookie } = await signIn({ key: ADMIN_KEY })
    const body = { name: 'acme' }
    for (const headers of [{}, { 'millrace-console': '0' }, { 'millrace-console': '' }]) {
      const answer = await ask('POST', '/v1/tenants', { cookie, headers, body })
      expect(answer.body).toMatchObject({ status: 403, code: 'wrong_origin' })
    }
    expect((await ask('DELETE', '/v1/session', { cookie })).body).toMatchObject({ code: 'wrong_origin' })
    expect((await ask('POST', '/v1/tenants', { cookie, headers: CONSOLE, body })).status).toBe(201)
  })

  test('[AC12] counts only from its own address, if the request names one', async () => {
    const { ask, signIn } = makeWorld()
    const { cookie } = await signIn({ key: ADMIN_KEY })
    const from = (origin: string, host = 'mill.example:4400') =>
      ask('GET', '/v1/me', { cookie, headers: { ...CONSOLE, origin, host } })
    for (const origin of [
      'http://evil.example',
      'http://mill.example',
      'http://mill.example:4401',
      'http://mill.example:4400.evil.example',
      'null',
      'mill.example:4400',
    ])
      expect((await from(origin)).body, origin).toMatchObject({ status: 403, code: 'wrong_origin' })
    expect((await from('http://mill.example:4400')).status).toBe(200)
    expect((await from('https://mill.example', 'mill.example:443')).status).toBe(200)
    expect((await from('https://mill.example', 'mill.example')).status).toBe(200)
    // Nor may another site sign a browser in.
    const { status } = await signIn({ key: ADMIN_KEY }, { origin: 'http://evil.example' })
    expect(status).toBe(403)
  })

  test('is not looked at where there is a key', async () => {
    const { server, signIn } = makeWorld()
    const { cookie } = await signIn({ key: ADMIN_KEY })
    const headers = { cookie, authorization: 'Bearer wrong' }
    expect((await server.app.inject({ url: '/v1/me', headers })).statusCode).toBe(401)
  })

  test('a key has none to end', async () => {
    const { ask } = makeWorld()
    expect((await ask('DELETE', '/v1/session')).body).toMatchObject({ status: 400, code: 'invalid_request' })
  })

  test('begins with one key or one link, nothing else', async () => {
    const { signIn } = makeWorld()
    for (const body of [{}, { key: 'a', link: 'b' }, { key: '' }, { key: 'x', other: 1 }]) {
      const { status, wholeCookie } = await signIn(body)
      expect([status, wholeCookie]).toEqual([400, ''])
    }
  })

  test('[AC9] too many failed ones get a Retry-After', async () => {
    const { signIn } = makeWorld()
    for (let index = 0; index < 10; index += 1) expect((await signIn({ key: 'wrong' })).status).toBe(401)
    const { status, headers, body } = await signIn({ key: ADMIN_KEY })
    expect([status, body.code, headers['retry-after']]).toEqual([429, 'limited', '6'])
  })
})

describe('a link', () => {
  test('[AC11] opens the console once, as the admin who made it', async () => {
    const { ask, signIn } = makeWorld()
    const made = await ask('POST', '/v1/session/links', { headers: { 'x-forwarded-proto': 'https' } })
    expect(made).toMatchObject({ status: 201, body: { expiresAt: new Date(START + HOUR).toISOString() } })
    const [page, link] = made.body.url.split('#link=')
    expect(page).toBe('https://mill.example:4400/sign-in')
    const { status, cookie } = await signIn({ link })
    expect(status).toBe(201)
    expect((await ask('GET', '/v1/me', { cookie })).body).toMatchObject({ isNodeAdmin: true })
    expect((await signIn({ link })).body).toMatchObject({ status: 401, code: 'not_authenticated' })
  })
})

describe('secrets', () => {
  const SECRET = 'nobody may read this'

  test('[VA1] go in and do not come out', async () => {
    const { ask, log, store } = makeWorld()
    const made = await ask('POST', '/v1/secrets', { body: { name: 'crm', value: SECRET } })
    expect([made.status, made.body]).toEqual([201, { name: 'crm', version: 1 }])
    const pending = await ask('POST', '/v1/secrets', { body: { name: 'crm', value: SECRET, pending: true } })
    expect(pending.body).toEqual({ name: 'crm', version: 2 })
    const list = await ask('GET', '/v1/secrets')
    expect(list.body.items).toEqual([
      {
        name: 'crm',
        version: 1,
        fingerprint: fingerprintOf(DEFAULT_TENANT, 'crm', SECRET),
        hasPending: true,
        pendingFingerprint: fingerprintOf(DEFAULT_TENANT, 'crm', SECRET),
        oldUntil: [],
        updatedAt: new Date(START).toISOString(),
        updatedBy: 'admin',
      },
    ])
    expect((await ask('POST', '/v1/secrets/crm/promote')).body).toEqual({ name: 'crm', version: 2 })
    expect((await ask('POST', '/v1/secrets/crm/promote')).body).toMatchObject({ status: 404 })
    const kept = JSON.stringify([await store.system('verification').dump(), log.messages, log.controls])
    for (const text of [made.text, pending.text, list.text, kept]) expect(text).not.toContain(SECRET)
    expect((await ask('DELETE', '/v1/secrets/crm')).status).toBe(204)
    expect((await ask('DELETE', '/v1/secrets/crm')).body).toMatchObject({ status: 404 })
  })

  test('[VA15] are re-encrypted on request, and those that no key opens are named', async () => {
    const { ask, store, log, clock } = makeWorld()
    expect((await ask('POST', '/v1/secrets/rewrap')).body).toEqual({ rewrapped: 0, unreadable: [] })
    const keep = async (name: string, fill: number) => {
      const keys = makeMasterKeys(new Uint8Array(32).fill(fill))
      const other = makeLocalVault({ store, clock, log, random: makeSystemRandom(), keys })
      await other.set(DEFAULT_TENANT, name, SECRET, { isPending: false, by: 'ada' })
    }
    await keep('lost', 9)
    await keep('moved', OLD_KEY_FILL)
    expect((await ask('POST', '/v1/secrets/rewrap')).body).toEqual({ rewrapped: 1, unreadable: ['lost'] })
    expect((await ask('POST', '/v1/secrets/rewrap')).body).toEqual({ rewrapped: 0, unreadable: ['lost'] })
  })

  test('[VA21] that are pending are reported to the rotation of credentials', async () => {
    const { ask, pendings } = makeWorld()
    await ask('POST', '/v1/secrets', { body: { name: 'crm', value: SECRET } })
    await ask('POST', '/v1/secrets', { body: { name: 'crm', value: 'next', pending: true } })
    await ask('POST', '/v1/secrets', { body: { name: 'a/b', value: 'next', pending: true } })
    expect(pendings).toEqual([[DEFAULT_TENANT, 'crm', 'admin']])
  })

  test('[CD22] no user sets one where tokens of credentials are stored', async () => {
    const { ask } = makeWorld()
    const refused = { code: 'invalid_request', details: { fields: [{ path: '/name' }] } }
    const body = { name: 'credentials.crm', value: SECRET }
    expect((await ask('POST', '/v1/secrets', { body })).body).toMatchObject(refused)
    expect((await ask('POST', '/v1/secrets/credentials.crm/promote')).body).toMatchObject(refused)
  })

  test('[OV6] may overlap with the former value for up to seven days', async () => {
    const { ask } = makeWorld()
    const put = (value: string, more = {}) =>
      ask('POST', '/v1/secrets', { body: { name: 'crm', value, ...more } })
    const oldUntil = async () => (await ask('GET', '/v1/secrets')).body.items[0].oldUntil
    await put('one')
    expect((await put('two', { overlap: '24h' })).status).toBe(201)
    expect(await oldUntil()).toEqual([new Date(START + 24 * 3_600_000).toISOString()])
    for (const overlap of ['8d', '-1h', 'a day', '', 7]) {
      expect((await put('three', { overlap })).body).toMatchObject({
        status: 400,
        code: 'invalid_request',
        details: { fields: [{ path: '/overlap' }] },
      })
      expect((await ask('POST', '/v1/secrets/crm/promote', { body: { overlap } })).status).toBe(400)
    }
    expect((await put('three', { overlap: '1h', pending: true })).status).toBe(400)
    expect((await put('three', { pending: true })).body).toEqual({ name: 'crm', version: 3 })
    expect((await ask('POST', '/v1/secrets/crm/promote', { body: { overlap: '7d' } })).status).toBe(200)
    expect(await oldUntil()).toHaveLength(2)
    await put('four', { overlap: '0s' })
    expect(await oldUntil()).toEqual([])
  })

  test('that cannot be are refused without repeating their values', async () => {
    const { ask, log } = makeWorld()
    const rows: readonly [object][] = [
      [{ name: 'crm' }],
      [{ value: SECRET }],
      [{ name: 'a b', value: SECRET }],
      [{ name: '../x', value: SECRET }],
      [{ name: 'crm', value: '' }],
      [{ name: 'crm', value: 'x'.repeat(65_537) }],
      [{ name: 'crm', value: SECRET, when: 'later' }],
      [{ name: 'crm', value: [SECRET] }],
    ]
    for (const [body] of rows) {
      const answer = await ask('POST', '/v1/secrets', { body })
      expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(answer.text + JSON.stringify(log.messages)).not.toContain(SECRET)
    }
    expect((await ask('GET', '/v1/secrets')).body.items).toEqual([])
  })

  test('[VA2] are each tenant’s own', async () => {
    const { ask, access } = makeWorld()
    await ask('POST', '/v1/secrets', { body: { name: 'crm', value: SECRET } })
    const { key } = await access.keys.make(
      'acme' as TenantId,
      { name: 'x', role: 'admin', expiresInMs: null },
      'test',
    )
    expect((await ask('GET', '/v1/secrets', { key })).body.items).toEqual([])
    for (const [method, url] of [
      ['DELETE', '/v1/secrets/crm'],
      ['POST', '/v1/secrets/crm/promote'],
    ] as const)
      expect((await ask(method, url, { key })).body).toMatchObject({ status: 404 })
  })
})
