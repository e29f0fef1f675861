// Which requests are admitted, how bodies are read, what is responded, and which refusals are recorded.
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { SourceDocument } from '../../core/definitions/documents/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { compileSource, signRequest } from '../../core/ingest/source/index.ts'
import { StoreError } from '../../ports/store.ts'
import { makeWorld, type Node, SOURCE, type World } from '../engine.fixture.ts'
import { type IntakeRequest, makeAdmission } from './admission.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const PAID_TEXT = '{"kind":"paid","id":"d1","order":"o1"}'

async function nodeWith(document: Partial<SourceDocument>, world: World = makeWorld()) {
  const node = await world.node({ documents: [{ ...SOURCE, ...document }] })
  return { world, node }
}

async function receive(world: World, node: Node, request: Partial<IntakeRequest> = {}) {
  const whole = { tenant: 'default', source: 'shop', headers: {}, body: bytes(PAID_TEXT), ...request }
  const received = node.engine.receive(whole).then(
    (value) => value,
    (error) => {
      if (error instanceof AppError)
        return { code: error.code, details: error.details, message: error.message }
      throw error
    },
  )
  await world.pass()
  return received
}

const eventsOf = async (world: World) => (await world.store.system('verification').dump()).events

describe('who may send', () => {
  test.each([
    ['203.0.113.7', true],
    ['::ffff:203.0.113.7', true],
    ['203.0.114.7', false],
    ['', false],
  ])('[GU1] [GU2] %s: %s', async (address, isIn) => {
    const { world, node } = await nodeWith({ allow: ['203.0.113.0/24', '2001:db8::1'] })
    const received = await receive(world, node, { address })
    expect('eventId' in received).toBe(isIn)
    if (isIn) return
    expect(received).toMatchObject({ code: 'address_refused' })
    expect(JSON.stringify(received)).not.toContain('203.0.113')
    expect(await eventsOf(world)).toEqual([])
  })

  test('[GU23] an unknown tenant, an unknown source and one that accepts no requests get the same response', async () => {
    const { world, node } = await nodeWith({ verify: { scheme: 'closed' } })
    const unknown = await receive(world, node, { source: 'nobody' })
    expect(unknown).toMatchObject({ code: 'unknown_source' })
    expect(await receive(world, node, { tenant: 'nobody' })).toEqual(unknown)
    expect(await receive(world, node)).toEqual(unknown)
    expect(await receive(world, node, { method: 'GET', source: 'nobody' })).toEqual(unknown)
    expect(await receive(world, node, { method: 'GET', tenant: 'nobody' })).toEqual(unknown)
  })

  test('[GU20] the address is checked before size and signature, the signature before the body', async () => {
    const verify = { scheme: 'github', secret: [{ env: 'S' }] } as const
    const limits = { bodyBytes: 10, depth: 16 }
    const closed = await nodeWith({ allow: ['10.0.0.1'], limits, verify })
    expect(await receive(closed.world, closed.node)).toMatchObject({ code: 'address_refused' })
    const large = await nodeWith({ limits, verify })
    expect(await receive(large.world, large.node)).toMatchObject({ code: 'body_too_large' })
    const disabled = await nodeWith({ status: 'disabled', allow: ['10.0.0.1'] })
    expect(await receive(disabled.world, disabled.node)).toMatchObject({ code: 'source_disabled' })
  })
})

describe('rate limits', () => {
  const rateLimit = { perMinute: 60, burst: 2 }
  const body = (id: string) => bytes(JSON.stringify({ kind: 'paid', id, order: id }))

  test('[GU8] beyond the burst the response says when to retry, and that retry is accepted', async () => {
    const { world, node } = await nodeWith({ rateLimit })
    expect(await receive(world, node, { body: body('a') })).toHaveProperty('eventId')
    expect(await receive(world, node, { body: body('b') })).toHaveProperty('eventId')
    const refused = await receive(world, node, { body: body('c') })
    expect(refused).toMatchObject({ code: 'rate_limited', details: { retryAfterSeconds: 1 } })
    await world.pass(1_000)
    expect(await receive(world, node, { body: body('c') })).toHaveProperty('eventId')
    expect(await eventsOf(world)).toHaveLength(3)
  })

  test('[GU8] an unverified request uses no token', async () => {
    const header = { verify: { scheme: 'hmac', secret: [{ env: 'S' }] } } as const
    const verify = {
      ...header.verify,
      header: 'x-signature',
      algorithm: 'sha256',
      encoding: 'hex',
      prefix: '',
      signed: '{{ body }}',
      timestampHeader: null,
      toleranceMs: 0,
    } as const
    const { world, node } = await nodeWith({ rateLimit: { perMinute: 1, burst: 1 }, verify }, withSecret())
    for (let guess = 0; guess < 5; guess += 1) {
      const headers = { 'x-signature': String(guess).repeat(64) }
      expect(await receive(world, node, { headers })).toMatchObject({ code: 'signature_wrong' })
    }
    const headers = signRequest(verify, { body: bytes(PAID_TEXT), secret: 's' })
    expect(await receive(world, node, { headers })).toHaveProperty('eventId')
    expect(await receive(world, node, { headers })).toMatchObject({ code: 'rate_limited' })
  })

  test('[GU9] a bucket survives changes other than its rate', async () => {
    const { world, node } = await nodeWith({ rateLimit: { perMinute: 1, burst: 1 } })
    await receive(world, node)
    const apply = async (document: Partial<SourceDocument>) => {
      const applied = node.engine.apply(DEFAULT_TENANT, [{ ...SOURCE, ...document }])
      await world.pass()
      await applied
    }
    await apply({ rateLimit: { perMinute: 1, burst: 1 } })
    await apply({ rateLimit: { perMinute: 1, burst: 1 }, description: 'another' })
    expect(await receive(world, node)).toMatchObject({ code: 'rate_limited' })
    await apply({ rateLimit: { perMinute: 1, burst: 2 } })
    expect(await receive(world, node)).toMatchObject({ duplicate: true })
  })
})

describe('a body', () => {
  test.each([
    ['application/json', PAID_TEXT, null, undefined],
    ['application/x-www-form-urlencoded', 'kind=paid&id=d1&order=o1', 'kind=paid&id=d1&order=o1', undefined],
    ['application/x-www-form-urlencoded', `payload=${encodeURIComponent(PAID_TEXT)}`, 'same', PAID_TEXT],
    ['text/plain', PAID_TEXT, null, undefined],
  ])('[GU13] [GU16] of %s is stored as received, and named by its fields', async (type, text, raw, data) => {
    const { world, node } = await nodeWith({})
    const received = await receive(world, node, { headers: { 'content-type': type }, body: bytes(text) })
    expect(received).toMatchObject({ duplicate: false })
    const [event] = await eventsOf(world)
    expect(event).toMatchObject({ subject: 'shop.events.paid', raw: raw === 'same' ? text : raw })
    expect(JSON.parse(event?.data as string)).toMatchObject({ kind: 'paid', id: 'd1', order: 'o1' })
    if (data !== undefined) expect(event?.data).toBe(data)
  })

  test('[GU14] of text is a string', async () => {
    const { world, node } = await nodeWith({
      subject: 'shop.events.note',
      event: { ...SOURCE.event, id: null, objectId: null },
    })
    await receive(world, node, { headers: { 'content-type': 'text/xml' }, body: bytes('<a/>') })
    expect(await eventsOf(world)).toMatchObject([{ data: '"<a/>"', raw: '<a/>' }])
  })

  test.each([
    ['{"id":1,"id":2}', 'application/json', 'duplicate_key'],
    [`${'['.repeat(17)}${']'.repeat(17)}`, 'application/json', 'too_deep'],
    ['a=%ff', 'application/x-www-form-urlencoded', 'body_unreadable'],
    ['x', 'multipart/form-data', 'wrong_type'],
  ])('[GU10] [GU11] %s as %s is %s', async (text, type, code) => {
    const { world, node } = await nodeWith({})
    const headers = { 'content-type': type }
    expect(await receive(world, node, { headers, body: bytes(text) })).toMatchObject({ code })
    expect(await eventsOf(world)).toEqual([])
  })

  test('[GU15] [GU16] that is compressed may be signed either way, and is stored inflated', async () => {
    const verify = { scheme: 'github', secret: [{ env: 'S' }] } as const
    const packed = gzipSync(PAID_TEXT)
    const inflate = async (bytesMax: number) => {
      if (bytesMax < PAID_TEXT.length) throw new AppError('body_too_large')
      return bytes(PAID_TEXT)
    }
    for (const signed of [packed, bytes(PAID_TEXT)]) {
      const { world, node } = await nodeWith({ verify }, withSecret())
      const headers = signRequest(verify, { body: signed, secret: 's' })
      expect(await receive(world, node, { headers, body: packed, inflate })).toHaveProperty('eventId')
      expect(await eventsOf(world)).toMatchObject([{ data: PAID_TEXT, raw: null }])
    }
    const { world, node } = await nodeWith({ verify }, withSecret())
    const wrong = {
      headers: signRequest(verify, { body: bytes('other'), secret: 's' }),
      body: packed,
      inflate,
    }
    expect(await receive(world, node, wrong)).toMatchObject({ code: 'signature_wrong' })
    const small = await nodeWith({ limits: { bodyBytes: packed.length, depth: 16 } })
    const body = gzipSync('x'.repeat(500)).subarray(0, 20)
    const large = { body, inflate: async () => Promise.reject(new AppError('body_too_large')) }
    expect(await receive(small.world, small.node, large)).toMatchObject({ code: 'body_too_large' })
  })
})

describe('an unknown sender', () => {
  const packed = gzipSync(PAID_TEXT)
  const key = { scheme: 'api-key', secret: [{ env: 'S' }], header: 'x-key', prefix: '' } as const
  const github = { scheme: 'github', secret: [{ env: 'S' }] } as const

  test.each([
    ['shows a wrong key', key, { 'x-key': 'wrong' }, []],
    ['shows the right key', key, { 'x-key': 's' }, [true]],
    ['signs wrong', github, { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }, [false]],
    ['signs what was sent', github, signRequest(github, { body: packed, secret: 's' }), [true]],
    ['signs nothing', github, {}, []],
  ] as const)('[GU25] that %s', async (_name, verify, headers, inflated) => {
    const { world, node } = await nodeWith({ verify }, withSecret())
    const asked: boolean[] = []
    const inflate = async (_bytesMax: number, isVerified: boolean) => {
      asked.push(isVerified)
      return bytes(PAID_TEXT)
    }
    await receive(world, node, { headers, body: packed, inflate })
    expect(asked).toEqual(inflated)
  })

  test.each([
    ['secret_unreadable', 'A secret cannot be decrypted'],
    ['vault_sealed', 'The vault is sealed'],
    ['vault_denied', 'The vault refuses this node'],
    ['vault_unavailable', 'The vault does not respond'],
  ] as const)('[GU26] does not learn which secret failed, nor where: %s', async (code, message) => {
    const source = compileSource({ ...SOURCE, verify: github })
    const admission = makeAdmission({
      clock: {} as never,
      sharedPermits: null,
      backlog: { check: () => {} },
      isShared: false,
      vault: {
        resolve: () => Promise.reject(new AppError(code, 'the secret ‘crm’, by the key 0af3')),
      },
      log: {} as never,
      registry: { source: () => source, needsNewerVersion: () => false } as never,
    })
    const request = { tenant: 'default', source: 'shop', headers: {}, body: bytes(PAID_TEXT) }
    await expect(admission.admit(request)).rejects.toMatchObject({ code, message })
  })
})

describe('a handshake', () => {
  const handshake = {
    method: 'GET',
    when: "query.token == 'right'",
    status: 200,
    contentType: 'text/plain',
    body: '{{ query.challenge }}',
  } as const

  test('[GU18] with GET is answered if its condition holds, and stores nothing', async () => {
    const { world, node } = await nodeWith({ handshake })
    const ask = (target: string) => receive(world, node, { method: 'GET', target, body: bytes('') })
    expect(await ask('/in/default/shop?token=right&challenge=1%3C7')).toEqual({
      handshake: { status: 200, contentType: 'text/plain', body: '1<7' },
    })
    for (const target of ['/in/default/shop?token=wrong', '/in/default/shop', '/in/default/shop?token=%ff']) {
      expect(await ask(target)).toMatchObject({ code: 'handshake_refused' })
    }
    expect(await eventsOf(world)).toEqual([])
    expect(node.log.controls.map(({ action }) => action)).toContain('HANDSHAKE')
  })

  test('[GU18] without one, GET is not allowed', async () => {
    const { world, node } = await nodeWith({})
    const refused = await receive(world, node, { method: 'GET' })
    expect(refused).toMatchObject({ code: 'method_not_allowed', details: { allow: ['POST'] } })
  })

  test('[GU18] with POST comes after the signature, and uses no token', async () => {
    const verify = { scheme: 'github', secret: [{ env: 'S' }] } as const
    const own = {
      ...handshake,
      method: 'POST',
      when: "payload.kind == 'hello'",
      body: { ok: '{{ payload.id }}' },
    } as const
    const { world, node } = await nodeWith(
      { verify, handshake: own, rateLimit: { perMinute: 1, burst: 1 } },
      withSecret(),
    )
    const body = bytes('{"kind":"hello","id":7}')
    expect(await receive(world, node, { body })).toMatchObject({ code: 'signature_missing' })
    const headers = signRequest(verify, { body, secret: 's' })
    for (let times = 0; times < 3; times += 1) {
      expect(await receive(world, node, { body, headers })).toEqual({
        handshake: { status: 200, contentType: 'text/plain', body: '{"ok":7}' },
      })
    }
    const signed = signRequest(verify, { body: bytes(PAID_TEXT), secret: 's' })
    expect(await receive(world, node, { headers: signed })).toHaveProperty('eventId')
    expect(await eventsOf(world)).toHaveLength(1)
  })

  test('[GU18] of Slack is answered with its challenge only if it is signed', async () => {
    const verify = { scheme: 'slack', secret: [{ env: 'S' }] } as SourceDocument['verify']
    const { world, node } = await nodeWith({ verify }, withSecret())
    const body = bytes('{"type":"url_verification","challenge":"abc"}')
    const headers = signRequest(verify, { body, secret: 's', now: world.now() })
    expect(await receive(world, node, { body, headers })).toMatchObject({
      handshake: { status: 200, body: expect.stringContaining('abc') },
    })
    expect(await receive(world, node, { body })).toMatchObject({ code: 'signature_missing' })
    expect(await eventsOf(world)).toEqual([])
  })
})

describe('a source’s own response', () => {
  test('[GU19] is rendered from the event, for a duplicate too', async () => {
    const respond = {
      status: 200,
      contentType: 'text/xml',
      body: '<ok id="{{ event.id }}" to="{{ payload.order }}"/>',
    }
    const { world, node } = await nodeWith({ respond })
    const first = await receive(world, node)
    expect(first).toMatchObject({ duplicate: false, answer: { status: 200, contentType: 'text/xml' } })
    const { eventId } = first as { eventId: string }
    const answer = { status: 200, contentType: 'text/xml', body: `<ok id="${eventId}" to="o1"/>` }
    expect(await receive(world, node)).toEqual({ eventId, duplicate: true, answer })
  })

  test('[GU19] that fails to render falls back to the default, and the event is stored', async () => {
    const { world, node } = await nodeWith({
      respond: { status: 200, contentType: 'text/plain', body: '{{ payload.id * 2 }}' },
    })
    const received = await receive(world, node)
    expect(received).toMatchObject({ duplicate: false })
    expect(received).not.toHaveProperty('answer')
    expect(node.log.messages.map(({ name }) => name)).toContain('source.respond-failed')
    expect(await eventsOf(world)).toHaveLength(1)
  })
})

describe('refused requests', () => {
  const ALL = { cursor: null, limit: 50 }
  const refuse = async (world: World, node: Node, over: Partial<IntakeRequest> = {}) =>
    receive(world, node, { body: bytes('{"secret":'), address: '203.0.113.7', ...over })

  test('[GU21] are listed with their reason, newest first, and never with their content', async () => {
    const { world, node } = await nodeWith({})
    await refuse(world, node, { headers: { 'content-type': 'application/json' } })
    await world.pass(10)
    await refuse(world, node, { source: 'nobody' })
    node.engine.refused({ tenant: 'default', source: 'shop' }, new AppError('wrong_type'))
    await world.pass()
    const { items, counts } = await node.engine.rejections.list(DEFAULT_TENANT, ALL)
    expect(items.map(({ source, reason, address }) => [source, reason, address]).sort()).toEqual([
      ['nobody', 'unknown_source', '203.0.113.7'],
      ['shop', 'not_json', '203.0.113.7'],
      ['shop', 'wrong_type', ''],
    ])
    expect(items.at(-1)?.reason).toBe('not_json')
    expect(counts.map(({ source, reason, count }) => [source, reason, count]).sort()).toEqual([
      [null, 'unknown_source', 1],
      ['shop', 'not_json', 1],
      ['shop', 'wrong_type', 1],
    ])
    expect(JSON.stringify({ items, counts })).not.toContain('secret')
    const one = await node.engine.rejections.list(DEFAULT_TENANT, {
      ...ALL,
      source: 'shop',
      reason: 'not_json',
    })
    expect([one.items.length, one.counts.length]).toEqual([1, 1])
  })

  test('[GU21] are listed page by page', async () => {
    const { world, node } = await nodeWith({})
    for (let n = 0; n < 7; n += 1) await refuse(world, node)
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<typeof node.engine.rejections.list>> = await node.engine.rejections.list(
        DEFAULT_TENANT,
        { cursor, limit: 3 },
      )
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor !== null)
    expect([seen.length, new Set(seen).size]).toEqual([7, 7])
    const broken = node.engine.rejections.list(DEFAULT_TENANT, { ...ALL, cursor: 'x' })
    await expect(broken).rejects.toMatchObject({ code: 'invalid_cursor' })
  })

  test('[GU22] a flood is one write, bounded to a few hundred names, and unknown senders are only counted', async () => {
    let writes = 0
    const world = makeWorld()
    const node = await world.node({
      documents: [SOURCE],
      faults: {
        commit: (commit, pass) => {
          if (commit.writes.some((write) => write.w === 'record.put' && write.kind === 'rejection'))
            writes += 1
          return pass()
        },
      },
    })
    for (let n = 0; n < 300; n += 1) {
      await refuse(world, node, { source: `name${n}` })
      await refuse(world, node, { tenant: `tenant${n}` })
    }
    expect(writes).toBe(0)
    await world.pass(5_000)
    expect(writes).toBe(1)
    const { items } = await world.store.forTenant(DEFAULT_TENANT).records({ kind: 'rejection', ...ALL })
    expect(items).toHaveLength(1)
    expect(node.log.messages).toContainEqual(
      expect.objectContaining({ name: 'ingest.unknown-tenants', fields: { count: 300 } }),
    )
    const listed = await node.engine.rejections.list(DEFAULT_TENANT, { ...ALL, limit: 500 })
    expect(listed.items).toHaveLength(100)
    expect(listed.counts).toMatchObject([{ source: null, reason: 'unknown_source', count: 300 }])
  })

  test('[GU22] of several nodes are merged, and outlive the nodes', async () => {
    const world = makeWorld()
    const nodes = [await world.node({ name: 'one' }), await world.node({ name: 'two' })]
    for (const node of nodes) await refuse(world, node)
    await world.pass(5_000)
    const [one] = nodes as [Node, Node]
    await refuse(world, one)
    const drained = one.engine.drain(1_000)
    await world.pass(1_000)
    await drained
    const next = await world.node({ name: 'three' })
    const { items, counts } = await next.engine.rejections.list(DEFAULT_TENANT, ALL)
    expect(items).toHaveLength(3)
    expect(counts).toMatchObject([{ source: 'shop', reason: 'wrong_type', count: 3 }])
  })

  test('[GU22] that cannot be written are written later', async () => {
    const { world, node } = await nodeWith({})
    const { commit } = node.faults
    node.faults.commit = () => Promise.reject(new StoreError('unavailable', 'disk full'))
    await refuse(world, node)
    await world.pass(6_000)
    await refuse(world, node)
    node.faults.commit = commit
    await world.pass(10_000)
    const { counts } = await node.engine.rejections.list(DEFAULT_TENANT, ALL)
    expect(counts).toMatchObject([{ count: 2 }])
    expect(await world.store.forTenant(DEFAULT_TENANT).record('rejection', 'source:shop')).not.toBeNull()
  })
})

/** A world whose vault has one secret, `s`. */
function withSecret(): World {
  return makeWorld(() => null, ['s'])
}
