// Sensitive values on their way through the engine: none is stored in clear, or appears in an error or the log.
import { describe, expect, test } from 'vitest'
import type { StaticFunction } from '../../adapters/code-static/index.ts'
import { makeCountingEncryption } from '../../adapters/encryption-local/encryption.fixture.ts'
import type {
  DefinitionDocument,
  RouteDocument,
  SourceDocument,
} from '../../core/definitions/documents/index.ts'
import { isEncrypted } from '../../core/events/sensitive/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { RetryableError, TerminalError } from '../../sdk/errors.ts'
import { accept, makeWorld, type Node, ROUTE, SOURCE, type World, workOf } from '../engine.fixture.ts'

const EMAIL = 'ada@example.com'
const SENT = { kind: 'paid', id: 'd1', order: 'o1', user: { email: EMAIL, name: 'Lovelace' } }
const sensitive: SourceDocument = { ...SOURCE, sensitive: ['payload.user'] }

const calling = (known: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  do: { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: 5_000 },
  ...known,
})
const emitting = (data: string | object): RouteDocument => ({
  ...ROUTE,
  name: 'emitting',
  do: { type: 'emit', subject: 'shop.passed.on', data: data as string },
})

const start = (world: World, documents: readonly DefinitionDocument[], book?: StaticFunction, name = 'one') =>
  world.node({ name, documents, ...(book === undefined ? {} : { functions: { book } }) })

/** Everything that is stored and logged, as one text. */
async function everything(world: World, ...nodes: readonly Node[]): Promise<string> {
  const dump = await world.kept.system('verification').dump()
  const said = nodes.map(({ log }) => [log.controls, log.messages])
  return JSON.stringify([dump, said], (_key, value) => (typeof value === 'bigint' ? String(value) : value))
}

async function expectNothing(world: World, ...nodes: readonly Node[]): Promise<void> {
  const text = await everything(world, ...nodes)
  // Proves that it looks in the right places.
  expect(text).toContain('BOOK:o1')
  expect(text).not.toContain(EMAIL)
  expect(text).not.toContain('Lovelace')
}

describe('a sensitive event', () => {
  test('[SE8] is sent in clear, and stored encrypted', async () => {
    const world = makeWorld(() => ({
      kind: 'response',
      status: 201,
      headers: {},
      body: `{"id":"${EMAIL}","ok":1}`,
      durationMs: 1,
    }))
    const route = { ...ROUTE, do: { ...ROUTE.do, body: '{{ payload.user }}' } } as RouteDocument
    const node = await start(world, [sensitive, route])
    const id = await accept(world, node, SENT)
    expect(world.calls.map(({ request }) => request.body)).toEqual([JSON.stringify(SENT.user)])
    expect((await workOf(world, id)).state).toBe('done')
    expect(await world.reads.event(id)).toMatchObject({
      data: JSON.stringify(SENT),
      sensitive: ['payload.user'],
    })
    await expectNothing(world, node)
  })

  test('[SE18] so is one with classified fields; what is computed from restricted ones is restricted', async () => {
    const body = '{"id":"b1"}'
    const world = makeWorld(() => ({ kind: 'response', status: 201, headers: {}, body, durationMs: 1 }))
    const classification = {
      'payload.user.email': 'restricted',
      'payload.user.name': 'confidential',
    } as const
    const node = await start(world, [
      { ...SOURCE, classification },
      ROUTE,
      { ...emitting({ who: '{{ payload.user.email }}' }), key: "'EMIT:' + payload.order" },
    ])
    const id = await accept(world, node, SENT)
    await world.pass(60_000)
    expect((await workOf(world, id)).state).toBe('done')
    expect((await world.reads.event(id))?.sensitive).toEqual([
      'restricted:payload.user.email',
      'payload.user.name',
    ])
    const { events } = await world.kept.system('verification').dump()
    const emitted = events.find(({ subject }) => subject === 'shop.passed.on')
    expect((await world.reads.event(emitted!.id))?.sensitive).toEqual(['restricted:payload'])
    expect(JSON.stringify(events)).not.toContain(EMAIL)
  })

  test('[SE12] the ledger’s copy of its results is encrypted, and the run that continues can decrypt it', async () => {
    const world = makeWorld()
    let runs = 0
    const given: unknown[] = []
    const node = await start(world, [sensitive, calling()], async (_input, { effect }) => {
      runs += 1
      given.push(await effect('post', async () => ({ id: EMAIL, to: SENT.user })))
      if (runs === 1) throw new RetryableError('not yet')
      return { told: EMAIL }
    })
    const id = await accept(world, node, SENT)
    await world.pass(60_000)
    expect((await workOf(world, id)).state).toBe('done')
    expect(given).toEqual([
      { id: EMAIL, to: SENT.user },
      { id: EMAIL, to: SENT.user },
    ])
    for (const key of ['BOOK:o1', 'BOOK:o1#post']) {
      const entry = await world.reads.ledger(key)
      expect(isEncrypted(entry?.result ?? '')).toBe(true)
    }
    await expectNothing(world, node)
  })

  test('[SE12] a result that cannot be decrypted ends the run visibly', async () => {
    const world = makeWorld()
    const book: StaticFunction = async (_input, { effect }) => {
      await effect('post', async () => ({ id: 'v1' }))
      throw new RetryableError('not yet')
    }
    const first = await start(world, [sensitive, calling()], book)
    const id = await accept(world, first, SENT)
    first.crash()
    // The event can be decrypted, because only the text of the ledger was altered.
    const state = await world.reads.ledger('BOOK:o1#post')
    const other = makeCountingEncryption(9)
    const encrypted = other.encrypt({ tenant: DEFAULT_TENANT, row: 'BOOK:o1#post', part: 'result' }, '{}', [])
    await Promise.all([
      world.kept.commit({
        tenant: DEFAULT_TENANT,
        guards: [],
        writes: [
          {
            w: 'ledger.settle',
            key: 'BOOK:o1#post',
            to: 'done',
            proof: 'acknowledged',
            effectRef: null,
            result: encrypted,
          },
        ],
      }),
      world.pass(),
    ])
    expect(state?.state).toBe('done')
    await start(world, [sensitive, calling()], book, 'two')
    await world.pass(120_000)
    const work = await workOf(world, id)
    expect(work.state).toBe('dead')
    expect(work.lastError).toContain("effect 'post' is done, but its result does not open")
  })

  test('[SE11] errors, log lines and heartbeats of functions lose its values', async () => {
    const world = makeWorld()
    const node = await start(world, [sensitive, calling()], async (_input, { log, heartbeat, event }) => {
      const { user } = event.data as typeof SENT
      log.info(`hello ${user.email}`, { user, list: [user.name], error: new Error(user.email) })
      heartbeat({ at: user.email })
      throw new TerminalError(`no such user: ${user.email} (${JSON.stringify(user)})`)
    })
    const id = await accept(world, node, SENT)
    const work = await workOf(world, id)
    expect(work.lastError).toContain('no such user: [hidden]')
    const letters = await world.reads.deadLetters({ cursor: null, limit: 9 })
    expect(letters.items[0]?.lastError).toBe(work.lastError)
    expect((await world.reads.attempts(work.id))[0]?.error).toBe(work.lastError)
    const said = node.log.messages.find(({ name }) => name === 'function.said')
    expect(said?.fields).toMatchObject({ message: 'hello [hidden]', list: ['[hidden]'], error: '[hidden]' })
    await expectNothing(world, node)
  })

  test('[SE11] texts of vendors about it are stored without its values', async () => {
    const body = JSON.stringify({ message: `${EMAIL} is taken` })
    const world = makeWorld(() => ({ kind: 'response', status: 422, headers: {}, body, durationMs: 1 }))
    const node = await start(world, [sensitive, ROUTE])
    const work = await workOf(world, await accept(world, node, SENT))
    expect(work).toMatchObject({ state: 'dead', lastError: 'answered 422, saying: [hidden] is taken' })
    await expectNothing(world, node)
  })

  test('[SE10] events made from it are sensitive: a copy at the same paths, anything else as a whole', async () => {
    const world = makeWorld()
    const listener: RouteDocument = { ...calling(), name: 'listening', on: ['shop.passed.on'], key: null }
    const heard: unknown[] = []
    const book: StaticFunction = (_input, { emit, event }) => {
      heard.push(event.data)
      if (event.subject === 'shop.passed.on') return null
      emit('shop.passed.on', { to: (event.data as typeof SENT).user.email })
      return null
    }
    const copy: RouteDocument = { ...emitting('{{ payload }}'), name: 'copying', key: null }
    const part: RouteDocument = { ...emitting({ mail: '{{ payload.user.email }}' }), name: 'part', key: null }
    const node = await start(world, [sensitive, copy, part, calling(), listener], book)
    const id = await accept(world, node, SENT)
    await world.pass(1_000)
    const children = await world.reads.causedBy(id, 9)
    const events = await Promise.all(children.map((child) => world.reads.event(child.id)))
    const bySource = Object.fromEntries(events.map((event) => [event?.source, event?.sensitive]))
    expect(bySource).toEqual({
      'route:copying': ['payload.user'],
      'route:part': ['payload'],
      'route:book': ['payload'],
    })
    expect(heard).toContainEqual({ mail: EMAIL })
    expect(heard).toContainEqual({ to: EMAIL })
    await expectNothing(world, node)
  })

  test('[SE10] so are the events that its source dispatches', async () => {
    const world = makeWorld()
    const emits = (data: string | object) => ({ when: null, emit: 'shop.inside', data: data as string })
    const dispatch: SourceDocument['dispatch'] = {
      mode: 'all',
      rules: [emits('{{ payload }}'), emits({ mail: '{{ payload.user.email }}' })],
      otherwise: 'keep',
    }
    const node = await start(world, [{ ...sensitive, dispatch }, calling()], () => null)
    const id = await accept(world, node, SENT)
    const children = await world.reads.causedBy(id, 9)
    const events = await Promise.all(children.map((child) => world.reads.event(child.id)))
    expect(events.map((event) => event?.sensitive)).toEqual([['payload.user'], ['payload']])
    await expectNothing(world, node)
  })

  test('[SE10] a corrected copy keeps the paths of the original', async () => {
    const world = makeWorld()
    let isMended = false
    const node = await start(world, [sensitive, calling()], () => {
      if (!isMended) throw new TerminalError('no')
      return null
    })
    const id = await accept(world, node, SENT)
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    if (letter === undefined) throw new Error('there is no letter')
    isMended = true
    const data = { ...SENT, user: { email: EMAIL, name: 'Ada Lovelace' } }
    const editing = node.engine.edit(DEFAULT_TENANT, letter.id, { data, reason: 'mended', actor: 'op' })
    await world.pass()
    const { eventId } = await editing
    expect(eventId).not.toBe(id)
    expect(await world.reads.event(eventId)).toMatchObject({
      data: JSON.stringify(data),
      sensitive: ['payload.user'],
    })
    // [DL14] Which field below a sensitive path differs is as sensitive as its value.
    const edit = await world.reads.record('edit', eventId)
    expect(JSON.parse(edit?.body ?? 'null')).toMatchObject({ changed: ['user'], by: 'op' })
    const replaying = node.engine.replay(DEFAULT_TENANT, letter.id, {
      force: false,
      reason: null,
      actor: 'op',
    })
    await world.pass(1_000)
    await replaying
    expect((await world.reads.deadLetter(letter.id))?.state).toBe('resolved')
    await expectNothing(world, node)
  })
})

describe('an event that cannot be decrypted', () => {
  test('[SE9] becomes a dead letter that says so, and is replayed once the key is there', async () => {
    const world = makeWorld()
    let isOpen = false
    const book: StaticFunction = () => {
      if (!isOpen) throw new RetryableError('not yet')
      return null
    }
    const first = await start(world, [sensitive, calling()], book)
    const id = await accept(world, first, SENT)
    first.crash()
    const second = await world.node({
      name: 'two',
      documents: [sensitive, calling()],
      functions: { book },
      encryption: makeCountingEncryption(9),
    })
    await world.pass(120_000)
    const work = await workOf(world, id)
    expect(work).toMatchObject({ state: 'dead', class: 'poison' })
    expect(work.lastError).toMatch(
      /the payload is sealed and does not open: it needs the master key [0-9a-f]{16}/,
    )
    expect(second.log.messages.map(({ name }) => name)).toContain('seal.unreadable')
    const tried = second.engine.inspect.explain(DEFAULT_TENANT, id)
    await Promise.all([expect(tried).rejects.toMatchObject({ code: 'conflict' }), world.pass()])
    second.crash()
    isOpen = true
    const third = await start(world, [sensitive, calling()], book, 'three')
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    if (letter === undefined) throw new Error('there is no letter')
    const replaying = third.engine.replay(DEFAULT_TENANT, letter.id, {
      force: false,
      reason: null,
      actor: 'op',
    })
    await world.pass(1_000)
    await replaying
    expect((await world.reads.deadLetter(letter.id))?.state).toBe('resolved')
  })
})

describe('inspecting it', () => {
  const viewer = { actor: 'eve', seesSensitive: false, seesRestricted: false }
  const operator = { actor: 'olga', seesSensitive: true, seesRestricted: true }
  const where = `payload.user.email == '${EMAIL}'`
  const rich: RouteDocument = {
    ...ROUTE,
    where,
    key: 'payload.user.email',
    do: {
      ...ROUTE.do,
      body: { mail: '{{ payload.user.email }}', order: '{{ payload.order }}' },
    } as RouteDocument['do'],
  }

  test('[SE16] a viewer sees what happens without the values, an operator with them', async () => {
    const world = makeWorld(() => null)
    const node = await start(world, [sensitive, rich])
    const id = await accept(world, node, SENT)
    const { inspect } = node.engine
    const seen = async <Value>(asked: Promise<Value>) => {
      await world.pass()
      return asked
    }
    const hidden = await seen(inspect.tryRoute(DEFAULT_TENANT, 'book', id, viewer))
    expect(hidden).toMatchObject({
      matched: true,
      key: '[hidden]',
      why: [{ holds: true, saw: 'payload.user.email = [hidden]' }],
    })
    expect(hidden.action).toMatchObject({ request: { body: '{"order":"o1"}' } })
    expect(JSON.stringify(hidden.why.map(({ saw }) => saw))).not.toContain(EMAIL)
    const [explained] = (await seen(inspect.explain(DEFAULT_TENANT, id, viewer))).consumers
    expect(explained).toMatchObject({ verdict: 'matched' })
    expect(JSON.stringify(explained?.why[0]?.saw)).not.toContain(EMAIL)
    expect(await seen(inspect.compute(DEFAULT_TENANT, 'payload', 'pick', id, viewer))).toMatchObject({
      value: { order: 'o1', user: '[hidden]' },
    })
    expect(await seen(inspect.compute(DEFAULT_TENANT, where, 'condition', id, viewer))).toMatchObject({
      value: false,
    })
    expect(await seen(inspect.compute(DEFAULT_TENANT, 'payload.user.email', 'pick', id))).toMatchObject({
      value: null,
    })
    const isRead = () => node.log.messages.filter(({ name }) => name === 'event.sensitive-read')
    expect(isRead()).toEqual([])
    const clear = await seen(inspect.tryRoute(DEFAULT_TENANT, 'book', id, operator))
    expect(clear).toMatchObject({
      key: EMAIL,
      action: { request: { body: `{"mail":"${EMAIL}","order":"o1"}` } },
    })
    expect(isRead().map(({ fields }) => fields)).toEqual([
      { tenant: DEFAULT_TENANT, event: id, actor: 'olga' },
    ])
  })
})
