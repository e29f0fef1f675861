import { describe, expect, test } from 'vitest'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { ADMIN_KEY, makeAccessWorld, START } from './access.fixture.ts'
import type { Caller } from './access.ts'
import type { NewKey } from './api-keys.ts'

const ACME = 'acme' as TenantId
const OPERATOR: NewKey = { name: 'ci', role: 'operator', expiresInMs: null }

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof AppError)) throw new Error('it was not refused', { cause: error })
  return `${error.code}: ${error.message}`
}

const UNKNOWN = 'not_authenticated: the key is not known'
const OVER = 'not_authenticated: the session is over; sign in again'

describe('keys', () => {
  test('[AC1] [AC3] a key gives access to its own tenant with its own role, and its text is stored nowhere', async () => {
    const { access, store, log } = makeAccessWorld()
    const made = await access.keys.make(ACME, OPERATOR, 'admin')
    expect(made.key).toMatch(/^mrk_acme_[0-9a-f]{16}_[\w-]{43}$/)
    expect(await access.byKey(made.key)).toMatchObject({
      tenant: 'acme',
      role: 'operator',
      actor: `ci (key ${made.id})`,
      isNodeAdmin: false,
    })
    const secret = made.key.slice(-43)
    expect(JSON.stringify([await store.system('verification').dump(), log.messages])).not.toContain(secret)
    expect(log.messages).toMatchObject([{ name: 'access.key-created', fields: { name: 'ci', by: 'admin' } }])
  })

  test('[HD1] a key has the permissions it was made with, and its sessions have them too', async () => {
    const { access } = makeAccessWorld()
    const granted = { ...OPERATOR, permissions: ['triage.start', 'triage.approve', 'triage.start'] }
    const { key } = await access.keys.make(ACME, granted, 'admin')
    const caller = await access.byKey(key)
    expect(caller.permissions).toEqual(['triage.approve', 'triage.start'])
    const { token } = await access.signIn({ key }, 'here')
    expect((await access.bySession(token)).permissions).toEqual(caller.permissions)
    const plain = await access.keys.make(ACME, OPERATOR, 'admin')
    expect((await access.byKey(plain.key)).permissions).toEqual([])
    // Listed by ids that are random.
    const { items } = await access.keys.list(ACME, { cursor: null, limit: 10 })
    const lists = items.map(({ permissions }) => permissions).sort((a, b) => a.length - b.length)
    expect(lists).toEqual([[], ['triage.approve', 'triage.start']])
  })

  test('[HD1] a key that was made before permissions existed has none', async () => {
    const { access, store } = makeAccessWorld()
    const { key, id } = await access.keys.make(ACME, OPERATOR, 'admin')
    const row = await store.forTenant(ACME).record('key', id)
    const { permissions, ...old } = JSON.parse(row?.body ?? '')
    expect(permissions).toEqual([])
    const body = JSON.stringify(old)
    await store.commit({
      tenant: ACME,
      guards: [],
      writes: [{ w: 'record.put', kind: 'key', key: id, version: 2, body }],
    })
    expect((await access.byKey(key)).permissions).toEqual([])
  })

  test('[AC4] an unknown tenant, an unknown id, a wrong secret and an expired key are refused alike', async () => {
    const { access, pass } = makeAccessWorld()
    const { key, id } = await access.keys.make(ACME, { ...OPERATOR, expiresInMs: HOUR }, 'admin')
    const secret = key.slice(-43)
    const tries = [
      `mrk_nobody_${id}_${secret}`,
      `mrk_default_${id}_${secret}`,
      `mrk_acme_${'0'.repeat(16)}_${secret}`,
      `mrk_acme_${id}_${'A'.repeat(43)}`,
      `mrs_acme_${id}_${secret}`,
      'mrk_',
      `${ADMIN_KEY}x`,
    ]
    for (const text of tries) expect(await refusal(access.byKey(text)), text).toBe(UNKNOWN)
    pass(HOUR - 1)
    expect((await access.byKey(key)).role).toBe('operator')
    pass(1)
    expect(await refusal(access.byKey(key))).toBe(UNKNOWN)
    expect((await access.keys.list(ACME, { cursor: null, limit: 10 })).items).toMatchObject([
      { id, isExpired: true },
    ])
  })

  test('[AC3] a revoked key is invalid here at once, and elsewhere within seconds', async () => {
    const { access, makeNode, pass } = makeAccessWorld()
    const other = makeNode()
    const { key, id } = await access.keys.make(ACME, OPERATOR, 'admin')
    await access.byKey(key)
    await other.byKey(key)
    await access.keys.revoke(ACME, id, 'admin')
    expect(await refusal(access.byKey(key))).toBe(UNKNOWN)
    pass(5 * SECOND)
    expect(await refusal(other.byKey(key))).toBe(UNKNOWN)
    expect(await refusal(access.keys.revoke(ACME, id, 'admin'))).toMatch(/^not_found/)
  })

  test('[AC3] no tenant revokes or lists another tenant’s keys', async () => {
    const { access } = makeAccessWorld()
    const { id, key } = await access.keys.make(ACME, OPERATOR, 'admin')
    expect(await refusal(access.keys.revoke(DEFAULT_TENANT, id, 'admin'))).toMatch(/^not_found/)
    expect((await access.keys.list(DEFAULT_TENANT, { cursor: null, limit: 10 })).items).toEqual([])
    expect((await access.byKey(key)).tenant).toBe('acme')
  })

  test('[AC6] use is recorded at most once a minute, and reading the store waits for seconds too', async () => {
    const { access, store, commits, reads, pass } = makeAccessWorld()
    const { key, id } = await access.keys.make(ACME, OPERATOR, 'admin')
    const noted = () => commits.length - 1
    for (let index = 0; index < 20; index += 1) await access.byKey(key)
    await access.byKey(key)
    expect([noted(), reads()]).toEqual([1, 1])
    pass(30 * SECOND)
    await access.byKey(key)
    expect([noted(), reads()]).toEqual([1, 2])
    pass(30 * SECOND)
    await access.byKey(key)
    expect(noted()).toBe(2)
    const record = await store.forTenant(ACME).record('key', id)
    expect(JSON.parse(record?.body ?? '')).toMatchObject({ lastUsedAt: START + MINUTE })
  })

  test('[AC6] a key that is revoked while its use is being recorded does not come back', async () => {
    const { access, store } = makeAccessWorld()
    const { key, id } = await access.keys.make(ACME, OPERATOR, 'admin')
    const { commit } = store
    let note = async (): Promise<unknown> => {
      throw new Error('its use was not noted')
    }
    store.commit = (held) =>
      new Promise((resolve) => {
        note = async () => resolve(await commit(held))
      })
    await access.byKey(key)
    store.commit = commit
    await access.keys.revoke(ACME, id, 'admin')
    await note()
    expect(await store.forTenant(ACME).record('key', id)).toBeNull()
  })

  test('[AC6] a use that cannot be recorded is logged and blocks nothing', async () => {
    const { access, store, log } = makeAccessWorld()
    const { key } = await access.keys.make(ACME, OPERATOR, 'admin')
    store.commit = async () => {
      throw new Error('the disk is full')
    }
    expect((await access.byKey(key)).role).toBe('operator')
    await Promise.resolve()
    expect(log.messages.at(-1)).toMatchObject({ level: 'warn', name: 'access.use-not-noted' })
  })

  test('are listed in order of creation', async () => {
    const { access, pass } = makeAccessWorld()
    for (const name of ['one', 'two', 'three']) {
      await access.keys.make(ACME, { ...OPERATOR, name }, 'admin')
      pass(1)
    }
    const first = await access.keys.list(ACME, { cursor: null, limit: 2 })
    const second = await access.keys.list(ACME, { cursor: first.nextCursor, limit: 2 })
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['one', 'two', 'three'])
  })
})

describe('the node’s own admin', () => {
  test('[AC7] is an admin of the first tenant', async () => {
    const { access } = makeAccessWorld()
    expect(await access.byKey(ADMIN_KEY)).toMatchObject({
      tenant: 'default',
      role: 'admin',
      actor: 'admin',
      isNodeAdmin: true,
    })
  })

  test('[AC7] [AC8] has sessions that end with the key, and nothing stored helps to guess it', async () => {
    const { access, makeNode, store } = makeAccessWorld()
    const { token, caller } = await access.signIn({ key: ADMIN_KEY }, 'here')
    expect(caller.isNodeAdmin).toBe(true)
    expect((await access.bySession(token)).isNodeAdmin).toBe(true)
    expect((await makeNode().bySession(token)).isNodeAdmin).toBe(true)
    expect(await refusal(makeNode('another-admin-key').bySession(token))).toBe(OVER)
    expect(JSON.stringify(await store.system('verification').dump())).not.toContain(token.slice(-43))
  })
})

describe('sessions', () => {
  const enter = async (world: ReturnType<typeof makeAccessWorld>, key: Partial<NewKey> = {}) => {
    const made = await world.access.keys.make(ACME, { ...OPERATOR, ...key }, 'admin')
    return { made, ...(await world.access.signIn({ key: made.key }, 'here')) }
  }

  test('[AC8] have the permissions of their key for twelve hours', async () => {
    const world = makeAccessWorld()
    const { token, expiresAt, lifeMs } = await enter(world)
    expect([expiresAt, lifeMs]).toEqual([START + 12 * HOUR, 12 * HOUR])
    expect(await world.access.bySession(token)).toMatchObject({ tenant: 'acme', role: 'operator' })
    world.pass(12 * HOUR - 1)
    expect((await world.access.bySession(token)).role).toBe('operator')
    world.pass(1)
    expect(await refusal(world.access.bySession(token))).toBe(OVER)
  })

  test('[AC8] end with their key: revoked or expired', async () => {
    const world = makeAccessWorld()
    const revoked = await enter(world)
    const expiring = await enter(world, { expiresInMs: HOUR })
    expect(expiring.expiresAt).toBe(START + HOUR)
    await world.access.bySession(revoked.token)
    await world.access.keys.revoke(ACME, revoked.made.id, 'admin')
    expect(await refusal(world.access.bySession(revoked.token))).toBe(OVER)
    world.pass(HOUR)
    expect(await refusal(world.access.bySession(expiring.token))).toBe(OVER)
  })

  test('[AC8] end when their user signs out; a key has nothing to sign out of', async () => {
    const world = makeAccessWorld()
    const { token, made } = await enter(world)
    await world.access.signOut(await world.access.bySession(token))
    expect(await refusal(world.access.bySession(token))).toBe(OVER)
    expect(await refusal(world.access.signOut(await world.access.byKey(made.key)))).toMatch(
      /^invalid_request/,
    )
  })

  test('a session is not a key, a key not a session, a link neither', async () => {
    const world = makeAccessWorld()
    const { token, made } = await enter(world)
    const link = await world.access.makeNodeLink()
    expect(await refusal(world.access.byKey(token))).toBe(UNKNOWN)
    expect(await refusal(world.access.byKey(link.token))).toBe(UNKNOWN)
    expect(await refusal(world.access.bySession(made.key))).toBe(OVER)
    expect(await refusal(world.access.bySession(link.token))).toBe(OVER)
    expect(await refusal(world.access.bySession(link.token.replace(/^mrl/, 'mrs')))).toBe(OVER)
  })

  test('that are over are deleted by the next one', async () => {
    const world = makeAccessWorld()
    await enter(world)
    world.pass(DAY)
    const { token } = await enter(world)
    await new Promise((resolve) => setImmediate(resolve))
    const { items } = await world.store.forTenant(ACME).records({ kind: 'session', cursor: null, limit: 10 })
    expect(items).toHaveLength(1)
    expect((await world.access.bySession(token)).role).toBe('operator')
  })
})

describe('links', () => {
  const NOT_OPEN = /^not_authenticated: the link does not open anything/

  test('[AC11] sign in once, as the caller who made them', async () => {
    const { access, store } = makeAccessWorld()
    const { key } = await access.keys.make(ACME, { ...OPERATOR, role: 'admin' }, 'admin')
    const maker: Caller = await access.byKey(key)
    const { token } = await access.makeLink(maker)
    expect(JSON.stringify(await store.system('verification').dump())).not.toContain(token.slice(-43))
    const entered = await access.signIn({ link: token }, 'here')
    expect(await access.bySession(entered.token)).toMatchObject({
      tenant: 'acme',
      role: 'admin',
      actor: maker.actor,
    })
    expect(await refusal(access.signIn({ link: token }, 'here'))).toMatch(NOT_OPEN)
  })

  test('[AC11] two requests that open one at the same moment do not both get in', async () => {
    const { access } = makeAccessWorld()
    const { token } = await access.makeNodeLink()
    const tries = await Promise.allSettled([1, 2, 3].map(() => access.signIn({ link: token }, 'here')))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('[AC11] last an hour, and no longer than their key', async () => {
    const { access, pass, makeNode } = makeAccessWorld()
    const late = await access.makeNodeLink()
    const stale = await access.makeNodeLink()
    const made = await access.keys.make(ACME, OPERATOR, 'admin')
    const orphan = await access.makeLink(await access.byKey(made.key))
    await access.keys.revoke(ACME, made.id, 'admin')
    expect(await refusal(access.signIn({ link: orphan.token }, 'here'))).toMatch(NOT_OPEN)
    expect(await refusal(makeNode('another').signIn({ link: stale.token }, 'here'))).toMatch(NOT_OPEN)
    pass(HOUR)
    expect(await refusal(access.signIn({ link: late.token }, 'here'))).toMatch(NOT_OPEN)
  })
})

test('[AC9] one address may fail ten times, then once every six seconds; others are not affected', async () => {
  const { access, pass, log } = makeAccessWorld()
  const fail = () => refusal(access.signIn({ key: 'wrong' }, 'there'))
  for (let index = 0; index < 10; index += 1) expect(await fail()).toBe(UNKNOWN)
  expect(await fail()).toMatch(/^limited: .*in 6 s/)
  // Also with the right key: otherwise a guesser would notice a hit.
  expect(await refusal(access.signIn({ key: ADMIN_KEY }, 'there'))).toMatch(/^limited/)
  expect((await access.signIn({ key: ADMIN_KEY }, 'here')).caller.isNodeAdmin).toBe(true)
  pass(6 * SECOND)
  expect((await access.signIn({ key: ADMIN_KEY }, 'there')).caller.isNodeAdmin).toBe(true)
  expect(await fail()).toBe(UNKNOWN)
  expect(await fail()).toMatch(/^limited/)
  expect(JSON.stringify(log.messages)).not.toContain('wrong')
})

test('[AC9] a valid key or link gets in where others failed, and a wrong one counts', async () => {
  const { access } = makeAccessWorld()
  const { key } = await access.keys.make(
    DEFAULT_TENANT,
    { name: 'k', role: 'viewer', expiresInMs: null },
    'admin',
  )
  const wrong = `${key.slice(0, -4)}AAAA`
  for (let index = 0; index < 10; index += 1)
    expect(await refusal(access.signIn({ key: wrong }, 'there'))).toBe(UNKNOWN)
  expect(await refusal(access.signIn({ key: wrong }, 'there'))).toMatch(/^limited/)
  expect((await access.signIn({ key }, 'there')).caller.role).toBe('viewer')
  const { token } = await access.makeNodeLink()
  expect((await access.signIn({ link: token }, 'there')).caller.isNodeAdmin).toBe(true)
})

test('[AC23] wrong keys of one address are throttled; a valid one gets in all the same', async () => {
  const strong = '6Xn0vT2qkQhJ8wYbR4sLzA-mPd'
  const { makeNode, pass } = makeAccessWorld()
  const access = makeNode(strong)
  const fail = (address: string) => refusal(access.byKey('wrong', address))
  for (let index = 0; index < 20; index += 1) expect(await fail('there')).toBe(UNKNOWN)
  expect(await fail('there')).toMatch(/^limited: .*in 3 s/)
  expect(await fail('here')).toBe(UNKNOWN)
  expect((await access.byKey(strong, 'there')).isNodeAdmin).toBe(true)
  const { key } = await access.keys.make(
    DEFAULT_TENANT,
    { name: 'k', role: 'viewer', expiresInMs: null },
    'admin',
  )
  expect((await access.byKey(key, 'there')).role).toBe('viewer')
  expect(await refusal(access.byKey(`${key.slice(0, -4)}AAAA`, 'there'))).toMatch(/^limited/)
  pass(3 * SECOND)
  expect(await fail('there')).toBe(UNKNOWN)
  expect(await fail('there')).toMatch(/^limited/)
})

test('[AC23] a guessable admin key is not compared while its address is throttled', async () => {
  const { access, pass } = makeAccessWorld()
  for (let index = 0; index < 100; index += 1) {
    expect((await access.byKey(ADMIN_KEY, 'there')).isNodeAdmin).toBe(true)
  }
  for (let index = 0; index < 20; index += 1) await refusal(access.byKey('wrong', 'there'))
  expect(await refusal(access.byKey(ADMIN_KEY, 'there'))).toMatch(/^limited/)
  expect((await access.byKey(ADMIN_KEY, 'here')).isNodeAdmin).toBe(true)
  pass(3 * SECOND)
  expect((await access.byKey(ADMIN_KEY, 'there')).isNodeAdmin).toBe(true)
})

test('[AC15] a credential has twenty sessions, and the next ends the oldest', async () => {
  const { access, pass } = makeAccessWorld()
  const tokens: string[] = []
  for (let index = 0; index < 21; index += 1) {
    tokens.push((await access.signIn({ key: ADMIN_KEY }, 'here')).token)
    pass(SECOND)
  }
  expect(await refusal(access.bySession(String(tokens[0])))).toMatch(/^not_authenticated/)
  for (const token of tokens.slice(1)) expect((await access.bySession(token)).isNodeAdmin).toBe(true)
})

test('[AC15] a session of a session’s link ends with the session', async () => {
  const { access, pass } = makeAccessWorld()
  const first = await access.signIn({ key: ADMIN_KEY }, 'here')
  pass(11 * 3_600 * SECOND)
  const link = await access.makeLink(await access.bySession(first.token))
  expect((await access.signIn({ link: link.token }, 'here')).expiresAt).toBe(first.expiresAt)
})

test('[AC16] refused keys are logged once in a while, with their number', async () => {
  const { access, pass, log } = makeAccessWorld()
  const told = () =>
    log.messages.filter(({ name }) => name === 'access.key-refused').map(({ fields }) => fields)
  for (let index = 0; index < 5; index += 1) await refusal(access.byKey('wrong'))
  expect(told()).toEqual([{ count: 1 }])
  pass(10 * SECOND)
  await refusal(access.byKey('wrong'))
  expect(told()).toEqual([{ count: 1 }, { count: 5 }])
})

test('[AC16] throttled sign-ins and keys are logged once in a while, with their number', async () => {
  const { access, pass, log } = makeAccessWorld()
  const told = (wanted: string) =>
    log.messages.filter(({ name }) => name === wanted).map(({ fields }) => fields)
  for (let index = 0; index < 10; index += 1) await refusal(access.signIn({ key: 'wrong' }, 'there'))
  expect(told('access.sign-in-limited')).toEqual([])
  for (let index = 0; index < 5; index += 1)
    expect(await refusal(access.signIn({ key: 'wrong' }, 'there'))).toMatch(/^limited/)
  expect(told('access.sign-in-limited')).toEqual([{ count: 1, address: 'there' }])
  pass(10 * SECOND)
  for (let index = 0; index < 2; index += 1) await refusal(access.signIn({ key: 'wrong' }, 'there'))
  expect(told('access.sign-in-limited')).toEqual([
    { count: 1, address: 'there' },
    { count: 5, address: 'there' },
  ])
  expect(told('access.sign-in-refused')).toHaveLength(11)

  for (let index = 0; index < 30; index += 1) await refusal(access.byKey('wrong', 'there'))
  pass(10 * SECOND)
  await refusal(access.byKey('wrong', 'there'))
  expect(told('access.key-refused')).toEqual([{ count: 1 }, { count: 30 }])
})

describe('tenants', () => {
  test('[AC10] the first exists from the start, others are created once', async () => {
    const { access } = makeAccessWorld()
    await access.start()
    await access.start()
    await access.tenants.make('acme', 'A customer', 'admin')
    expect(await refusal(access.tenants.make('acme', null, 'admin'))).toMatch(/^conflict/)
    const { items } = await access.tenants.list({ cursor: null, limit: 10 })
    expect(items).toMatchObject([
      { name: 'acme', description: 'A customer', createdAt: START, createdBy: 'admin' },
      { name: 'default' },
    ])
    expect([await access.tenants.has('acme'), await access.tenants.has('other')]).toEqual([true, false])
    expect(await access.tenants.all()).toEqual(['default', 'acme'])
  })
})
