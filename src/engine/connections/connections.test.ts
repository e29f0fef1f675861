// Calls of routes on a connection, with a memory store and responses by the test.
import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { EngineConfig } from '../config.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  LOST,
  makeWorld,
  PAID,
  type StoreFaults,
  workOf,
} from '../engine.fixture.ts'
import { documents, makeManualCredentials, makeShop, SECRET, WELL } from './connections.fixture.ts'

const runsOf = async (world: ReturnType<typeof makeShop>) =>
  (await world.reads.runs({ cursor: null, limit: 50, purpose: 'work' })).items

async function start(
  world: ReturnType<typeof makeShop>,
  known: Parameters<typeof documents>[0] = {},
  config: Partial<EngineConfig> = {},
) {
  const credentials = makeManualCredentials()
  const node = await world.node({ documents: documents(known), credentials, config })
  await world.pass()
  return { node, credentials }
}

async function passUntil(world: ReturnType<typeof makeShop>, isSo: () => Promise<boolean>) {
  for (let left = 300; !(await isSo()); left -= 1) {
    if (left === 0) throw new Error('it never came')
    await world.pass(1_000)
  }
}

describe('an operation', () => {
  test('[DR1] [DR5] goes to the address of its connection with its credential, key and trace, once, and is a run', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world)
    const eventId = await accept(world, node)
    const work = await workOf(world, eventId)
    expect(work).toMatchObject({ state: 'done', attempts: 1, effectRef: 'v1' })
    expect(world.sent).toHaveLength(1)
    expect(world.sent[0]).toMatchObject({
      method: 'POST',
      url: 'https://api.eu.shop.example/v1/accounts/7/orders',
      body: '{"order":"o1"}',
      headers: {
        authorization: `Bearer ${SECRET}`,
        'idempotency-key': 'BOOK:o1',
        'user-agent': expect.stringMatching(/^millrace\//),
        traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
      },
    })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done', result: '{"number":"v1"}' })
    const [run] = await runsOf(world)
    expect(run).toMatchObject({
      id: `run_${work.id.slice(4)}`,
      state: 'completed',
      connection: 'shop',
      provider: 'shopware',
      operation: 'shopware.book',
      workId: work.id,
      eventId,
      key: 'BOOK:o1',
      attemptCount: 1,
      httpStatus: 201,
      externalRef: 'v1',
      attempts: [{ number: 1, credentialVersion: 1, class: null }],
    })
    await accept(world, node, { ...PAID, id: 'd2' })
    expect(world.sent).toHaveLength(1)
  })

  test('[DR11] one that fails is retried as the same run', async () => {
    const world = makeShop((_request, call) => (call === 1 ? answered(503) : CREATED))
    const { node } = await start(world)
    await accept(world, node)
    expect(await runsOf(world)).toMatchObject([{ state: 'failed', class: 'transient', attemptCount: 1 }])
    await world.pass(5_000)
    const [run, ...others] = await runsOf(world)
    expect(others).toEqual([])
    expect(run).toMatchObject({ state: 'completed', class: null, attemptCount: 2 })
    expect(run?.attempts.map(({ number, httpStatus }) => [number, httpStatus])).toEqual([
      [1, 503],
      [2, 201],
    ])
  })

  test('[DR11] [DR12] one that is dead leaves a dead run, and its replay is another that names it', async () => {
    let isWell = false
    const world = makeShop(() => (isWell ? CREATED : answered(422)))
    const { node } = await start(world)
    const eventId = await accept(world, node)
    const dead = await workOf(world, eventId)
    expect(await runsOf(world)).toMatchObject([{ state: 'dead-lettered', class: 'validation' }])
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
    isWell = true
    const replayed = node.engine.replay(DEFAULT_TENANT, letter!.id, { force: false })
    await world.pass(1_000)
    const { workId } = await replayed
    expect(await world.reads.work(workId)).toMatchObject({ state: 'done' })
    const runs = await runsOf(world)
    expect(runs).toHaveLength(2)
    expect(runs.find((run) => run.workId === workId)).toMatchObject({
      state: 'completed',
      replayOf: `run_${dead.id.slice(4)}`,
    })
  })

  test('[DR7] an input that does not fit is not sent', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world, { action: { with: { order: 7 } } })
    const eventId = await accept(world, node)
    expect(world.sent).toEqual([])
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'dead',
      class: 'validation',
      lastError: expect.stringContaining('does not fit book'),
    })
    expect(await runsOf(world)).toEqual([])
  })

  test('[DR8] an unknown outcome is looked up, and not called again', async () => {
    const lookup = {
      method: 'GET',
      path: '/orders',
      query: { ref: '{{ extRef }}' },
      headers: {},
      found: 'result.body.total > 0',
      id: 'result.body.id',
      afterMs: 1_000,
    }
    const world = makeShop((request) =>
      request.method === 'POST'
        ? LOST
        : { kind: 'response', status: 200, headers: {}, body: '{"total":1,"id":"v9"}', durationMs: 1 },
    )
    const { node } = await start(world, { operation: { idempotency: 'lookup', lookup } })
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', effectRef: 'v9' })
    expect(world.sent.map(({ method }) => method)).toEqual(['POST', 'GET'])
    expect(world.sent[1]).toMatchObject({
      url: 'https://api.eu.shop.example/v1/orders?ref=BOOK%3Ao1',
      headers: { authorization: `Bearer ${SECRET}` },
    })
    expect(await runsOf(world)).toMatchObject([{ state: 'completed', externalRef: 'v9' }])
  })

  test('[DR8] the provider’s rules for a response count beside its status', async () => {
    const body = '{"ok":false,"error":"ratelimited"}'
    const world = makeShop((_request, call) =>
      call === 1 ? { kind: 'response', status: 200, headers: {}, body, durationMs: 1 } : CREATED,
    )
    const refine = [{ when: "result.body.error == 'ratelimited'", as: 'transient' as const }]
    const { node } = await start(world, { provider: { refine } })
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', class: 'transient', attempts: 1 })
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
  })

  test('[VN26] an operation’s rules for a response take precedence over its provider’s', async () => {
    const world = makeShop(() => ({
      kind: 'response',
      status: 502,
      headers: {},
      body: '{"code":"late"}',
      durationMs: 1,
    }))
    const when = "result.body.code == 'late'"
    const { node } = await start(world, {
      provider: { refine: [{ when, as: 'done' }] },
      operation: { refine: [{ when, as: 'transient' }] },
    })
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked' })
    expect(world.sent).toHaveLength(1)
  })

  test('[VN26] an http call on a connection is judged by the provider’s rules', async () => {
    const body = '{"ok":false}'
    const world = makeShop(() => ({ kind: 'response', status: 200, headers: {}, body, durationMs: 1 }))
    const { node } = await start(world, {
      provider: { refine: [{ when: 'result.body.ok == false', as: 'validation' }] },
      route: { do: { ...HTTP, connection: 'shop', url: '/orders' } },
    })
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'validation' })
  })
})

describe('the gate', () => {
  const failing = { route: { retry: { profile: null, attempts: 9, delaysMs: Array(8).fill(1_000) } } }

  test('[CX6] [CX8] opens its circuit after five failures; jobs wait without an attempt, one is tried, and the rest continues', async () => {
    let isWell = false
    const world = makeShop(() => (isWell ? CREATED : answered(503)))
    const { node } = await start(world, failing)
    const first = await accept(world, node)
    await world.pass(4_500)
    expect(world.sent).toHaveLength(5)
    const state = async () => (await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')).state
    expect(await state()).toMatchObject({
      status: 'degraded',
      health: 'unhealthy',
      circuit: { state: 'open' },
    })
    expect(node.engine.flowControl.list(DEFAULT_TENANT)).toMatchObject([{ circuit: { state: 'closed' } }])
    const others = []
    for (const order of ['o2', 'o3', 'o4'])
      others.push(await accept(world, node, { ...PAID, id: order, order }))
    await world.pass(20_000)
    expect(world.sent).toHaveLength(5)
    for (const id of others)
      expect(await workOf(world, id)).toMatchObject({ state: 'ready', attempts: 0, waits: 0 })
    isWell = true
    await world.pass(10_000)
    for (const id of [first, ...others]) expect(await workOf(world, id)).toMatchObject({ state: 'done' })
    expect(await workOf(world, first)).toMatchObject({ attempts: 6 })
    expect(world.sent).toHaveLength(9)
    expect(await state()).toMatchObject({ status: 'active', circuit: { state: 'closed' } })
  })

  test('[CX31] a failed probe holds its jobs, without an attempt, until a probe or a trial passes; operators see why', async () => {
    let isWell = true
    const world = makeShop(
      () => CREATED,
      () => (isWell ? WELL : answered(503)),
    )
    const probe = { everyMs: 60_000, timeoutMs: 1_000 }
    const { node } = await start(world, { connection: { probe } })
    await world.pass(61_000)
    isWell = false
    const state = async () => (await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')).state
    await passUntil(world, async () => (await state()).health === 'degraded')
    const before = world.sent.length
    const eventId = await accept(world, node)
    await world.pass(20_000)
    expect(world.sent).toHaveLength(before)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0, waits: 0 })
    expect(node.engine.flowControl.list(DEFAULT_TENANT)).toMatchObject([
      {
        connection: {
          name: 'shop',
          gate: { is: 'closed', why: expect.stringContaining('failed its latest probe') },
        },
      },
    ])
    // One failed probe is no outage.
    expect((await world.reads.escalations({ cursor: null, limit: 10 })).items).toEqual([])
    await world.pass(15_000)
    // The trial call passed.
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(await state()).toMatchObject({ status: 'active', health: 'healthy', circuit: { state: 'closed' } })
    await passUntil(world, async () => (await state()).health === 'degraded')
    isWell = true
    await passUntil(world, async () => (await state()).health === 'healthy')
    expect(await state()).toMatchObject({ circuit: { state: 'closed' } })
  })

  test('[FL12] failed probes are one failure of the connection, escalated by the second and resolved by recovery', async () => {
    let isWell = true
    const world = makeShop(
      () => CREATED,
      () => (isWell ? WELL : answered(503)),
    )
    const probe = { everyMs: 20_000, timeoutMs: 1_000 }
    await start(world, { connection: { probe } })
    await world.pass(21_000)
    isWell = false
    const failures = async () => (await world.reads.failures({ cursor: null, limit: 9 })).items
    await passUntil(world, async () => (await failures()).length > 0)
    const [opened] = await failures()
    expect(opened).toMatchObject({
      ...{ state: 'open', workId: '', consumer: 'connection:shop', class: 'transient', cause: null },
      willRetryAt: expect.any(Number),
    })
    const event = (await world.reads.event(opened!.eventId))!
    expect(event).toMatchObject({ subject: 'integration.failed', correlationId: opened?.correlationId })
    expect(JSON.parse(event.data)).toMatchObject({ failureId: opened?.id, what: 'probe', connection: 'shop' })
    await passUntil(world, async () => (await failures())[0]?.state === 'escalated')
    const [outage] = await failures()
    const escalations = await world.reads.escalations({ cursor: null, limit: 9 })
    expect(escalations.items).toMatchObject([{ cause: outage?.cause, count: 1, workId: null }])
    isWell = true
    await passUntil(world, async () => (await failures())[0]?.state === 'resolved')
    expect(await failures()).toMatchObject([{ id: opened?.id, willRetryAt: null, cause: outage?.cause }])
    const resolved = await world.reads.events({
      cursor: null,
      limit: 9,
      subject: 'integration.failure.resolved',
    })
    expect(resolved.items).toMatchObject([
      { id: (await failures())[0]?.eventId, correlationId: event.correlationId },
    ])
  })

  test('[FL12] [FL11] the failure of a connection that is no longer deployed is closed', async () => {
    let isWell = true
    const world = makeShop(
      () => CREATED,
      () => (isWell ? WELL : answered(503)),
    )
    const probe = { everyMs: 60_000, timeoutMs: 1_000 }
    const { node } = await start(
      world,
      { connection: { probe } },
      { sweepEveryMs: 5_000, escalateAfterMs: 40_000 },
    )
    await world.pass(21_000)
    isWell = false
    const failures = async () => (await world.reads.failures({ cursor: null, limit: 9 })).items
    await passUntil(world, async () => (await failures()).length > 0)
    const applied = node.engine.apply(DEFAULT_TENANT, [])
    await world.pass()
    await applied
    await world.pass(60_000)
    expect(await failures()).toMatchObject([{ state: 'resolved', reason: 'gone' }])
  })

  test('[CX31] [CX3] an operator lets the calls of an unhealthy connection go', async () => {
    let isWell = true
    const world = makeShop(
      () => CREATED,
      () => (isWell ? WELL : answered(503)),
    )
    const { node } = await start(world, { connection: { probe: { everyMs: 60_000, timeoutMs: 1_000 } } })
    const { integrations } = node.engine
    isWell = false
    const state = async () => (await integrations.connection(DEFAULT_TENANT, 'shop')).state
    await passUntil(world, async () => (await state()).health === 'degraded')
    const switched = integrations.override(
      DEFAULT_TENANT,
      'shop',
      { is: 'closed', until: null },
      { by: 'ops', reason: 'their probe is broken' },
    )
    await world.pass()
    await switched
    const eventId = await accept(world, node)
    await world.pass(100)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[CX4] two nodes make one trial, and both learn its result', async () => {
    const world = makeShop(() => answered(503))
    // The other node reads every few seconds: until then none of its jobs is due.
    const slow = { route: { retry: { profile: null, attempts: 9, delaysMs: Array(8).fill(10_000) } } }
    const { node, credentials } = await start(world, slow)
    const second = await world.node({ name: 'two', documents: documents(slow), credentials })
    for (let index = 0; index < 5; index += 1)
      await accept(world, node, { ...PAID, id: `d${index}`, order: `o${index}` })
    expect(world.sent.length).toBeGreaterThanOrEqual(5)
    const before = world.sent.length
    await world.pass(29_000)
    expect(world.sent).toHaveLength(before)
    await world.pass(20_000)
    expect(world.sent).toHaveLength(before + 1)
    const { state } = await second.engine.integrations.connection(DEFAULT_TENANT, 'shop')
    expect(state.circuit).toMatchObject({ state: 'open', opened: 2 })
  })

  test('[CX5] an outage is escalated and emitted in the commit that stores it, once', async () => {
    const world = makeShop(() => answered(503))
    const { node } = await start(world, failing)
    await accept(world, node)
    await world.pass(10_000)
    const { items } = await world.reads.events({ cursor: null, limit: 50, subject: 'integration.failed' })
    const outages = []
    for (const { id } of items) {
      const data = JSON.parse((await world.reads.event(id))!.data)
      if (data.what === 'outage') outages.push(data)
    }
    expect(outages).toMatchObject([
      {
        connection: 'shop',
        provider: 'shopware',
        class: 'transient',
        terminal: false,
        willRetryAt: expect.any(String),
      },
    ])
    const raised = await world.reads.escalations({ cursor: null, limit: 10 })
    expect(raised.items.filter(({ reason }) => reason === 'circuit_open')).toMatchObject([
      { consumer: 'connection:shop', count: 1 },
    ])
  })

  test('[CX3] an operator opens it and closes it, with a reason and an end', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world)
    const { integrations } = node.engine
    const asked = { by: 'ops', reason: 'they move house' }
    const opened = integrations.override(
      DEFAULT_TENANT,
      'shop',
      { is: 'open', until: world.now() + 60_000 },
      asked,
    )
    await world.pass()
    await opened
    const eventId = await accept(world, node)
    await world.pass(59_000)
    expect(world.sent).toEqual([])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0 })
    await world.pass(3_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[CX2] a call on a retired connection is dead, not sent and no run', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world)
    const retired = node.engine.integrations.retire(DEFAULT_TENANT, 'shop', { by: 'ops', reason: 'over' })
    await world.pass()
    expect((await retired).state.status).toBe('retired')
    const eventId = await accept(world, node)
    await world.pass(1_000)
    expect(world.sent).toEqual([])
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'dead',
      class: 'config',
      lastError: expect.stringMatching(/^connection_retired: .*name another/),
    })
    expect(await runsOf(world)).toEqual([])
  })

  test('[CX2] an unknown one is named as such', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world, { action: { connection: 'other' } })
    const eventId = await accept(world, node)
    await world.pass(1_000)
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'dead',
      lastError: expect.stringMatching(/^connection_unknown: there is no connection other/),
    })
  })

  test('[CX1] [CX2] [CX7] one whose test fails for good is refused; one whose test cannot be made yet keeps its jobs waiting', async () => {
    let status = 401
    const world = makeWorld((request) => (request.url.endsWith('/me') ? answered(status) : CREATED))
    const credentials = makeManualCredentials()
    const node = await world.node({ documents: documents(), credentials })
    await world.pass(1_000)
    const refused = await accept(world, node)
    await world.pass(1_000)
    expect(await workOf(world, refused)).toMatchObject({
      state: 'dead',
      lastError: expect.stringMatching(/^connection_pending: .*answered 401.*test it/),
    })
    status = 503
    await world.pass(300_000)
    const waiting = await accept(world, node, { ...PAID, id: 'd2', order: 'o2' })
    await world.pass(2_000)
    expect(await workOf(world, waiting)).toMatchObject({ state: 'ready', attempts: 0 })
    status = 200
    await world.pass(400_000)
    expect(await workOf(world, waiting)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[CX1] a changed document is tested again; [CX7] without a probe it passes if its credential is available', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world, { provider: { probe: null } })
    const view = async () => (await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')).state
    const first = await view()
    expect(first).toMatchObject({ status: 'active', lastTest: { ok: true } })
    const applied = node.engine.apply(
      DEFAULT_TENANT,
      documents({ provider: { probe: null }, connection: { description: 'another' } }),
    )
    await world.pass()
    await applied
    const second = await view()
    expect(second.status).toBe('active')
    expect(second.testedHash).not.toBe(first.testedHash)
  })

  test('[CX30] an http connection whose address answers 404 is active, and its credential not verified', async () => {
    let status = 404
    const world = makeWorld((request) => (request.method === 'GET' ? answered(status) : CREATED))
    // Like the connector's own: it calls the address itself if no path is named.
    const probe = { method: 'GET', path: '/', query: {}, headers: {}, timeoutMs: 5_000 }
    const parts = {
      provider: { name: 'http', baseUrl: 'https://shop.example', probe },
      connection: { provider: 'http' },
    }
    const node = await world.node({ documents: documents(parts), credentials: makeManualCredentials() })
    await world.pass(1_000)
    expect(await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')).toMatchObject({
      state: { status: 'active' },
      lastProbe: { ok: true, httpStatus: 404, isUnverified: true },
    })
    for (const refusal of [401, 403, 503]) {
      status = refusal
      const testing = node.engine.integrations.test(DEFAULT_TENANT, 'shop', { by: 'anna', reason: null })
      await world.pass(10_000)
      const { ok, view: seen } = await testing
      expect([ok, seen.lastProbe?.isUnverified]).toEqual([false, undefined])
    }
  })

  test('[HE7] its last probe is the latest one, scheduled or by a test', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world, { connection: { probe: { everyMs: 60_000, timeoutMs: 5_000 } } })
    const view = async () => {
      const [one] = await node.engine.integrations.connections(DEFAULT_TENANT)
      const detail = await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')
      expect(one?.lastProbe).toEqual(detail.lastProbe)
      return detail
    }
    await world.pass(13 * 60_000)
    const later = await view()
    expect(later.lastProbe).toEqual(later.health[0])
    // The connection's record has the result of the first test: it is not written for every probe.
    expect(later.lastProbe?.at).toBeGreaterThan((later.state.lastTest?.at ?? 0) + 11 * 60_000)
    const testing = node.engine.integrations.test(DEFAULT_TENANT, 'shop', { by: 'anna', reason: null })
    await world.pass(1_000)
    const { view: tested } = await testing
    expect(tested.lastProbe).toEqual(tested.state.lastTest)
  })

  test('[CX6] while its credential is being rotated nothing is claimed', async () => {
    const world = makeShop(() => CREATED)
    const { node, credentials } = await start(world)
    credentials.closed = { is: 'closed', untilAt: null, why: 'it is being rotated' }
    const eventId = await accept(world, node)
    await world.pass(30_000)
    expect(world.sent).toEqual([])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0, waits: 0 })
    credentials.closed = null
    await world.pass(1_500)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  })
})

test('[DR14] the time that a reserve allows runs while its response is pending, and while the credential is resolved', async () => {
  const world = makeShop(() => CREATED)
  const credentials = makeManualCredentials()
  const pauses: (() => void)[] = []
  const paused = (ms: number) => new Promise<void>((resolve) => pauses.push(world.clock.after(ms, resolve)))
  let isSlow = false
  const { authorize } = credentials
  credentials.authorize = async (request) => {
    if (isSlow) await paused(3_000)
    return authorize(request)
  }
  const commit: StoreFaults['commit'] = async ({ writes }, pass) => {
    const result = await pass()
    if (isSlow && writes.some(({ w }) => w === 'ledger.reserve')) await paused(3_000)
    return result
  }
  const node = await world.node({ documents: documents(), credentials, faults: { commit } })
  await world.pass()
  isSlow = true
  const eventId = await accept(world, node)
  await world.pass(6_500)
  expect(pauses).toHaveLength(2)
  expect(world.sent).toEqual([])
  expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'released', proof: 'never-sent' })
  isSlow = false
  await world.pass(60_000)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  expect(world.sent).toHaveLength(1)
})

describe('a refused credential', () => {
  test('[DR6] a secret that gets no token waits for its rotation too: no attempt is used, and the circuit stays closed', async () => {
    const world = makeShop(() => CREATED)
    const { node, credentials } = await start(world)
    const { authorize } = credentials
    credentials.authorize = async () => ({
      ok: false,
      class: 'transient',
      code: 'oauth_refused',
      error: 'no token is given out for it',
      wait: { delayMs: 2_000, why: 'its credential is being rotated' },
    })
    const events = []
    for (let index = 0; index < 8; index += 1)
      events.push(await accept(world, node, { ...PAID, id: `d${index}`, order: `o${index}` }))
    for (const eventId of events)
      expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0 })
    const { state } = await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')
    expect(state.circuit.state).toBe('closed')
    credentials.authorize = authorize
    await world.pass(5_000)
    for (const eventId of events)
      expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[DR6] the call waits for its rotation without using an attempt, and is the same run', async () => {
    const world = makeShop((request) =>
      request.headers.authorization === `Bearer ${SECRET}` ? answered(401) : CREATED,
    )
    const { node, credentials } = await start(world)
    credentials.next = { is: 'wait', delayMs: 2_000, why: 'its credential is being rotated' }
    const eventId = await accept(world, node)
    expect(credentials.refusals).toMatchObject([{ version: 1 }])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0, waits: 1 })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'released', proof: 'not-applied' })
    credentials.secret = 'sk-the-next-one'
    credentials.version = 2
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    const [run] = await runsOf(world)
    expect(run).toMatchObject({ state: 'completed', attemptCount: 2 })
    expect(run?.attempts.map(({ credentialVersion }) => credentialVersion)).toEqual([1, 2])
  })

  test('[DR6] if another is in use already it is retried at once; if none is available it is dead', async () => {
    const world = makeShop((_request, call) => (call === 2 ? CREATED : answered(401)))
    const { node, credentials } = await start(world)
    credentials.next = { is: 'again' }
    const first = await accept(world, node)
    await world.pass(500)
    expect(await workOf(world, first)).toMatchObject({ state: 'done', attempts: 1 })
    credentials.next = { is: 'dead', why: 'authorize it again' }
    const second = await accept(world, node, { ...PAID, id: 'd2', order: 'o2' })
    expect(await workOf(world, second)).toMatchObject({
      state: 'dead',
      class: 'auth',
      lastError: 'answered 401; authorize it again',
    })
  })
})

describe('limits', () => {
  test('[RB2] [CX6] a 429 closes the bucket until the requested time; one is tried, then the others', async () => {
    const world = makeShop((_request, call) =>
      call === 1 ? answered(429, { 'retry-after': '20' }) : CREATED,
    )
    const { node } = await start(world)
    const first = await accept(world, node)
    const others = []
    for (const order of ['o2', 'o3']) others.push(await accept(world, node, { ...PAID, id: order, order }))
    await world.pass(19_000)
    expect(world.sent).toHaveLength(1)
    expect(await workOf(world, first)).toMatchObject({ state: 'ready', attempts: 0 })
    await world.pass(30_000)
    for (const id of [first, ...others])
      expect(await workOf(world, id)).toMatchObject({ state: 'done', attempts: 1 })
    expect(world.sent).toHaveLength(4)
  })

  test('[RB1] [DR5] no more begin than its bucket allows', async () => {
    const world = makeShop(() => CREATED)
    const buckets = { default: { perMinute: 60, burst: 2 } }
    const { node } = await start(world, { connection: { buckets } })
    await world.pass(10_000)
    const sent = world.sent.length
    for (let index = 0; index < 6; index += 1)
      await accept(world, node, { ...PAID, id: `d${index}`, order: `o${index}` })
    expect(world.sent.length - sent).toBe(2)
    await world.pass(2_100)
    expect(world.sent.length - sent).toBe(4)
    await world.pass(5_000)
    expect(world.sent.length - sent).toBe(6)
    const { buckets: view } = await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')
    expect(view).toMatchObject([{ name: 'default', perMinute: 60, burst: 2 }])
  })

  test('[DR5] [RB2] a trial that was not sent lets the next one try, and its permit is given back', async () => {
    const world = makeShop((_request, call) =>
      call === 1 ? answered(429, { 'retry-after': '10' }) : CREATED,
    )
    const buckets = { default: { perMinute: 1, burst: 2 } }
    const retry = { profile: null, attempts: 9, delaysMs: Array(8).fill(5_000) }
    const { node, credentials } = await start(world, { connection: { buckets }, route: { retry } })
    const left = async () =>
      (await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')).buckets[0]?.left
    await world.pass(180_000)
    expect(await left()).toBe(2)
    const eventId = await accept(world, node)
    const { authorize } = credentials
    credentials.authorize = async () => ({
      ok: false,
      class: 'transient',
      code: 'vault_unavailable',
      error: 'away',
    })
    await world.pass(14_000)
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'ready',
      attempts: 1,
      lastError: 'vault_unavailable: away',
    })
    expect(await left()).toBe(1)
    credentials.authorize = authorize
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
    expect(world.sent).toHaveLength(2)
  })

  test('[RB1] [RB3] the remaining quota that the other side reports counts until its window ends', async () => {
    const world = makeShop((_request, call) =>
      call === 1
        ? ({
            ...CREATED,
            headers: { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '30' },
          } as typeof CREATED)
        : CREATED,
    )
    const { node } = await start(world)
    for (let index = 0; index < 4; index += 1)
      await accept(world, node, { ...PAID, id: `d${index}`, order: `o${index}` })
    await world.pass(25_000)
    expect(world.sent).toHaveLength(2)
    await world.pass(10_000)
    expect(world.sent).toHaveLength(4)
  })

  test('[RB2] [RB4] a 403 with nothing left is a limit and no refused credential, and the host is notified', async () => {
    const spent = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' }
    const world = makeShop((_request, call) => (call === 1 ? answered(403, spent) : CREATED))
    const { node, credentials } = await start(world)
    const eventId = await accept(world, node)
    expect(credentials.refusals).toEqual([])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', class: 'rate_limited', attempts: 0 })
    // Its own quota is spent: other credentials may have some left, so the host itself stays open.
    const closed = node.log.messages.filter(({ name }) => name === 'bucket.closed')
    expect(closed.filter(({ fields }) => fields?.host === 'api.eu.shop.example')).toEqual([])
    await world.pass(80_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })
})

describe('failures that are not the other side’s fault', () => {
  test('[CX9] failing requests of one route do not hold back the others', async () => {
    const world = makeShop((request) => ((request.body ?? '').includes('gone') ? answered(404) : CREATED))
    const { node } = await start(world)
    for (let index = 0; index < 12; index += 1)
      await accept(world, node, { ...PAID, id: `g${index}`, order: `gone${index}` })
    const eventId = await accept(world, node, { ...PAID, id: 'd2', order: 'o2' })
    await world.pass(1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(world.sent).toHaveLength(13)
    const { state } = await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')
    expect(state).toMatchObject({ status: 'active', circuit: { state: 'closed' } })
  })

  test('[CX8] [DR6] refusals that a rotation handles do not open the circuit', async () => {
    let isRotated = false
    const world = makeShop(() => (isRotated ? CREATED : answered(401)))
    const { node, credentials } = await start(world)
    credentials.next = { is: 'wait', delayMs: 2_000, why: 'its credential is being rotated' }
    const ids = []
    for (let index = 0; index < 8; index += 1)
      ids.push(await accept(world, node, { ...PAID, id: `d${index}`, order: `o${index}` }))
    expect(world.sent).toHaveLength(8)
    const { state } = await node.engine.integrations.connection(DEFAULT_TENANT, 'shop')
    expect(state).toMatchObject({ status: 'active', circuit: { state: 'closed' } })
    isRotated = true
    await world.pass(5_000)
    for (const id of ids) expect(await workOf(world, id)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[DR11] a job that waits for another’s key has no run of its own', async () => {
    const world = makeShop(() => null)
    const { node } = await start(world)
    await accept(world, node)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await workOf(world, second)).toMatchObject({ state: 'ready', attempts: 0, waits: 1 })
    expect(await runsOf(world)).toMatchObject([{ state: 'running', attemptCount: 1 }])
    world.calls.at(-1)?.answer(CREATED)
    await world.pass(5_000)
    expect(await runsOf(world)).toMatchObject([{ state: 'completed', attemptCount: 1 }])
  })

  test('[DR11] a run whose node crashed is continued by the node that takes over its job', async () => {
    const world = makeShop(() => null)
    const { node, credentials } = await start(world, { operation: { idempotency: 'idempotent' } })
    const eventId = await accept(world, node)
    expect(await runsOf(world)).toMatchObject([{ state: 'running', attemptCount: 1, attempts: [] }])
    node.crash()
    await world.node({
      name: 'two',
      documents: documents({ operation: { idempotency: 'idempotent' } }),
      credentials,
    })
    await world.pass(60_000)
    world.calls.at(-1)?.answer(CREATED)
    await world.pass(1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    const [run, ...others] = await runsOf(world)
    expect(others).toEqual([])
    expect(run).toMatchObject({ state: 'completed', httpStatus: 201, attemptCount: 2 })
  })
})
