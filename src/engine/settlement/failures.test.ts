import { describe, expect, test } from 'vitest'
import type { RouteDocument, SourceDocument } from '../../core/definitions/documents/index.ts'
import { failureId } from '../../core/failures/failure/index.ts'
import { DEFAULT_TENANT, type EventId } from '../../core/foundation/ids/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  LOST,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'

const T = DEFAULT_TENANT
const MINUTE = 60_000

/** The responses in order; the last one stays. */
const world = (...answers: readonly HttpOutcome[]) =>
  makeWorld((_request, call) => answers[call - 1] ?? (answers.at(-1) as HttpOutcome))

const toldOf = async (at: World, subject?: string) =>
  (await at.store.system('verification').dump()).events
    .filter((event) => event.source === 'millrace' && (subject === undefined || event.subject === subject))
    .map((event) => ({ event, data: JSON.parse(event.data) as Record<string, unknown> }))
const failures = async (at: World) => (await at.store.system('verification').dump()).failures
const escalations = async (at: World) => (await at.store.system('verification').dump()).escalations
const failureOf = async (at: World, eventId: EventId) =>
  at.reads.failure(failureId((await workOf(at, eventId)).id))
const heard = async <Value>(at: World, promise: Promise<Value>): Promise<Value> => {
  const settled = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await at.pass()
  const outcome = await settled
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
const commitsOf = (node: Node) => {
  const writes: string[] = []
  node.faults.commit = (commit, pass) => {
    writes.push(...commit.writes.map(({ w }) => w))
    return pass()
  }
  return writes
}

describe('a failure', () => {
  test('[FL3] [FL8] opens with the first failed attempt and is resolved by a success, each emitted once', async () => {
    const at = world(answered(503), answered(503), CREATED)
    const node = await at.node()
    const eventId = await accept(at, node)
    const work = await workOf(at, eventId)
    expect(await failureOf(at, eventId)).toMatchObject({
      state: 'open',
      workId: work.id,
      consumer: 'route:book',
      eventId,
      class: 'transient',
      reason: null,
      key: 'BOOK:o1',
      attempts: 1,
      lastError: 'answered 503',
      willRetryAt: work.dueAt,
      severity: 'high',
      cause: null,
    })
    expect((await toldOf(at)).map(({ data }) => data)).toEqual([
      {
        failureId: failureId(work.id),
        workId: work.id,
        eventId,
        consumer: 'route:book',
        route: 'book',
        severity: 'high',
        class: 'transient',
        reason: null,
        attempts: 1,
        terminal: false,
        willRetryAt: new Date(work.dueAt).toISOString(),
        error: 'answered 503',
        cause: null,
      },
    ])
    await at.pass(10_000)
    expect((await workOf(at, eventId)).state).toBe('done')
    expect(await failureOf(at, eventId)).toMatchObject({ state: 'resolved', attempts: 2, willRetryAt: null })
    const told = await toldOf(at)
    expect(told.map(({ event }) => event.subject)).toEqual([
      'integration.failed',
      'integration.failed',
      'integration.failure.resolved',
    ])
    expect(told.at(-1)?.data).toMatchObject({ how: 'succeeded', attempts: 2, workId: work.id })
    const { correlationId } = (await at.reads.event(eventId))!
    expect(told.every(({ event }) => event.causationId === eventId)).toBe(true)
    expect(told.every(({ event }) => event.correlationId === correlationId)).toBe(true)
    expect(await escalations(at)).toEqual([])
  })

  test('[FL4] a job that never fails has none, and costs neither a read nor a write', async () => {
    const at = world(CREATED)
    const node = await at.node()
    const writes = commitsOf(node)
    const reads: string[] = []
    const forTenant = at.kept.forTenant
    at.kept.forTenant = (tenant) => {
      const all = forTenant.call(at.kept, tenant)
      return {
        ...all,
        failure: (id) => {
          reads.push(id)
          return all.failure(id)
        },
      }
    }
    await accept(at, node)
    expect(writes).toEqual(['event.append', 'work.add', 'ledger.reserve', 'work.settle', 'ledger.settle'])
    expect(reads).toEqual([])
    expect(await failures(at)).toEqual([])
  })

  test('[FL5] a 429 opens a failure of its class without an attempt, and a success resolves it', async () => {
    const at = world(answered(429, { 'retry-after': '5' }), CREATED)
    const node = await at.node()
    const eventId = await accept(at, node)
    expect(await failureOf(at, eventId)).toMatchObject({
      state: 'open',
      class: 'rate_limited',
      attempts: 0,
      lastError: 'answered 429',
    })
    await at.pass(20_000)
    expect(at.calls).toHaveLength(2)
    expect(await failureOf(at, eventId)).toMatchObject({ state: 'resolved', class: 'rate_limited' })
    expect((await toldOf(at)).map(({ event, data }) => [event.subject, data.class ?? data.how])).toEqual([
      ['integration.failed', 'rate_limited'],
      ['integration.failure.resolved', 'succeeded'],
    ])
  })

  test('[FL3] [ES2] all attempts failed: escalated, with an escalation beside the dead letter', async () => {
    const at = world(answered(503))
    const node = await at.node()
    const eventId = await accept(at, node)
    await at.pass(60_000)
    const work = await workOf(at, eventId)
    expect(work.state).toBe('dead')
    const failure = (await failureOf(at, eventId))!
    expect(failure).toMatchObject({
      state: 'escalated',
      reason: 'cap_reached',
      attempts: 3,
      willRetryAt: null,
    })
    const [letter] = (await at.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ failureId: failure.id })
    expect(await escalations(at)).toMatchObject([
      {
        state: 'raised',
        cause: failure.cause,
        consumer: 'route:book',
        class: 'transient',
        reason: 'cap_reached',
        severity: 'high',
        count: 1,
        workId: work.id,
        lastError: 'answered 503',
      },
    ])
    const told = await toldOf(at)
    expect(told.map(({ data }) => data.terminal)).toEqual([false, false, true])
    expect(told.at(-1)?.data).toMatchObject({
      reason: 'cap_reached',
      willRetryAt: null,
      cause: failure.cause,
    })
  })

  test('[FL3] [ES2] a parked job is escalated, and resolved by an operator’s decision', async () => {
    const at = world(LOST)
    const node = await at.node()
    const eventId = await accept(at, node)
    const { id, state } = await workOf(at, eventId)
    expect(state).toBe('parked')
    expect(await failureOf(at, eventId)).toMatchObject({
      state: 'escalated',
      class: 'unknown',
      reason: 'parked',
    })
    expect(await escalations(at)).toMatchObject([{ state: 'raised', reason: 'parked', count: 1 }])
    await heard(at, node.engine.resolve(T, id, { as: 'done', reason: 'it is there' }))
    expect(await failureOf(at, eventId)).toMatchObject({ state: 'resolved' })
    expect(await toldOf(at, 'integration.failure.resolved')).toHaveLength(1)
  })

  test('[FL2] [FL3] released by an operator, it is retried, stays escalated, and ends resolved', async () => {
    const at = world(LOST, answered(503), CREATED)
    const node = await at.node()
    const eventId = await accept(at, node)
    const { id } = await workOf(at, eventId)
    await heard(at, node.engine.resolve(T, id, { as: 'released', reason: 'not there' }))
    expect(at.calls).toHaveLength(2)
    expect(await failureOf(at, eventId)).toMatchObject({
      state: 'escalated',
      reason: null,
      lastError: 'answered 503',
    })
    await at.pass(5_000)
    expect((await workOf(at, eventId)).state).toBe('done')
    expect(await failureOf(at, eventId)).toMatchObject({ state: 'resolved' })
  })

  test('[FL7] an operator who cancels the job resolves it', async () => {
    const at = world(answered(503))
    const node = await at.node()
    const eventId = await accept(at, node)
    const { id } = await workOf(at, eventId)
    await heard(at, node.engine.cancel(T, id, { reason: 'not needed' }))
    expect(await failureOf(at, eventId)).toMatchObject({ state: 'resolved', reason: 'cancelled' })
    const [told] = await toldOf(at, 'integration.failure.resolved')
    expect(told?.data).toMatchObject({ how: 'cancelled' })
  })
})

describe('a replay', () => {
  const dead = async (...answers: readonly HttpOutcome[]) => {
    const at = world(...answers)
    const node = await at.node()
    const eventId = await accept(at, node)
    const [letter] = (await at.reads.deadLetters({ cursor: null, limit: 9 })).items
    return { at, node, eventId, letter: letter! }
  }

  test('[FL6] continues the failure of its dead letter, and its success resolves it', async () => {
    const { at, node, letter } = await dead(answered(404), answered(422), answered(503), CREATED)
    await heard(at, node.engine.replay(T, letter.id, { force: false }))
    expect(await failures(at)).toMatchObject([
      { id: letter.failureId, state: 'escalated', class: 'validation' },
    ])
    expect((await escalations(at)).map(({ count }) => count)).toEqual([1, 1])
    const { workId } = await heard(at, node.engine.replay(T, letter.id, { force: false }))
    expect(await failures(at)).toMatchObject([{ state: 'escalated', workId, reason: null }])
    await at.pass(5_000)
    expect(await failures(at)).toMatchObject([{ id: letter.failureId, state: 'resolved' }])
    expect(await toldOf(at, 'integration.failure.resolved')).toHaveLength(1)
    expect(await toldOf(at, 'integration.failed')).toHaveLength(3)
  })

  test('[FL7] that is cancelled leaves it escalated; discarding the dead letter resolves it', async () => {
    const { at, node, letter } = await dead(answered(404), answered(503))
    const { workId } = await heard(at, node.engine.replay(T, letter.id, { force: false }))
    await heard(at, node.engine.cancel(T, workId, { reason: 'later' }))
    expect(await failures(at)).toMatchObject([{ state: 'escalated' }])
    await heard(at, node.engine.discard(T, letter.id, { reason: 'nobody wants it' }))
    expect(await failures(at)).toMatchObject([{ state: 'resolved', reason: 'discarded' }])
    const [told] = await toldOf(at, 'integration.failure.resolved')
    expect(told?.data).toMatchObject({ how: 'discarded' })
  })
})

describe('at ingest', () => {
  test('[ES2] an unmatched event, and one that cannot be matched, open an escalation and emit it', async () => {
    const picky: SourceDocument = { ...SOURCE, unmatched: 'deadLetter' }
    const at = world(CREATED)
    const node = await at.node({ documents: [picky, ROUTE] })
    const eventId = await accept(at, node, { ...PAID, kind: 'odd' })
    const [letter] = (await at.reads.deadLetters({ cursor: null, limit: 9 })).items
    expect(letter).toMatchObject({ class: 'config', reason: 'config_missing', eventId })
    expect(await failures(at)).toMatchObject([
      {
        id: letter?.failureId,
        state: 'escalated',
        consumer: 'source:shop',
        class: 'config',
        reason: 'config_missing',
      },
    ])
    expect(await escalations(at)).toMatchObject([{ state: 'raised', consumer: 'source:shop', count: 1 }])
    expect((await toldOf(at)).map(({ data }) => data)).toMatchObject([
      { terminal: true, class: 'config', reason: 'config_missing', route: null, eventId },
    ])
  })

  test('[ES3] DLQ flood from a config error: ten thousand dead letters of one cause are one escalation with a count', async () => {
    const at = world(CREATED)
    // A subject was renamed: no route wants the events.
    const documents = [{ ...SOURCE, unmatched: 'deadLetter' } as SourceDocument, ROUTE]
    const node = await at.node({ documents, config: { sweepEveryMs: MINUTE } })
    const count = 10_000
    for (let sent = 0; sent < count; sent += 1_000) {
      const all = Array.from({ length: 1_000 }, (_, index) =>
        node.send({ kind: 'renamed', id: `d${sent + index}`, order: `o${sent + index}` }),
      )
      await at.pass(300)
      await Promise.all(all)
    }
    await at.pass(2 * MINUTE)
    const letters = await at.reads.deadLetterGroups({ state: 'open' })
    expect(letters.groups).toMatchObject([{ count, reason: 'config_missing' }])
    expect(await escalations(at)).toMatchObject([{ state: 'raised', count, isAnnounced: true }])
    expect(await toldOf(at, 'integration.escalation.raised')).toHaveLength(1)
  })
})

describe('canonical events', () => {
  const ALERT: RouteDocument = {
    ...ROUTE,
    name: 'alert',
    on: ['integration.>'],
    key: null,
    do: { ...HTTP, url: 'https://pager.example/alerts', body: { what: '{{ payload.error }}' } },
  }

  test('[FL8] [FL10] are matched like any other, and are not unmatched if no route wants them', async () => {
    const at = makeWorld(({ url }) => (url.startsWith('https://pager') ? CREATED : answered(404)))
    const node = await at.node({ documents: [SOURCE, ROUTE, ALERT] })
    await accept(at, node)
    expect(at.calls.map(({ request }) => request.url)).toEqual([
      'https://vendor.example/orders/o1',
      'https://pager.example/alerts',
    ])
    expect(at.calls[1]?.request.body).toBe('{"what":"answered 404"}')
    const lonely = world(answered(404))
    await accept(lonely, await lonely.node())
    expect(await toldOf(lonely)).toHaveLength(1)
    expect((await lonely.reads.overview()).counts.unmatched).toBe(0)
  })

  test('[FL9] [ES4] a job for one emits nothing, nor does what follows from it: no loop', async () => {
    const echo: RouteDocument = {
      ...ALERT,
      name: 'echo',
      do: { type: 'emit', subject: 'alerts.seen', data: null },
    }
    const page: RouteDocument = { ...ALERT, name: 'page', on: ['alerts.>'] }
    const at = world(answered(404))
    const node = await at.node({
      documents: [SOURCE, ROUTE, ALERT, echo, page],
      config: { sweepEveryMs: 60_000 },
    })
    await accept(at, node)
    await at.pass(3 * MINUTE)
    expect((await toldOf(at)).map(({ event }) => event.subject)).toEqual([
      'integration.failed',
      'integration.escalation.raised',
    ])
    expect((await failures(at)).map(({ state }) => state)).toEqual(Array(5).fill('escalated'))
    expect((await escalations(at)).every(({ isAnnounced }) => isAnnounced)).toBe(true)
  })

  test('[FL9] a sender cannot claim to be one', async () => {
    const at = world(answered(404))
    const node = await at.node()
    const sent = node.engine.accept({
      tenant: 'default',
      source: 'shop',
      headers: { 'content-type': 'application/json', 'millrace-canonical': '1' },
      body: new TextEncoder().encode(JSON.stringify(PAID)),
    })
    await at.pass()
    await sent
    expect(await toldOf(at)).toHaveLength(1)
  })

  test('[FL8] contain an error without sensitive values', async () => {
    const secret: SourceDocument = { ...SOURCE, sensitive: ['payload.email'] }
    const at = makeWorld(() => ({
      kind: 'response',
      status: 422,
      headers: { 'content-type': 'text/plain' },
      body: 'topsecret is wrong',
      durationMs: 1,
    }))
    const node = await at.node({ documents: [secret, { ...ROUTE, key: null }] })
    await accept(at, node, { ...PAID, email: 'topsecret' })
    const told = await toldOf(at)
    expect(told).toHaveLength(1)
    expect(told[0]?.data.error).toBe('answered 422')
    expect(JSON.stringify([told, await failures(at), await escalations(at)])).not.toContain('topsecret')
  })
})

describe('the sweep', () => {
  const SWEEPS = { sweepEveryMs: MINUTE, escalateAfterMs: 10 * MINUTE }

  test('[ES4] announces an escalation once, whichever nodes sweep', async () => {
    const at = world(answered(404))
    const one = await at.node({ config: SWEEPS })
    await at.node({ name: 'two', config: SWEEPS })
    const cause = (await at.reads.event(await accept(at, one)))!
    expect(await toldOf(at, 'integration.escalation.raised')).toEqual([])
    await at.pass(3 * MINUTE)
    const told = await toldOf(at, 'integration.escalation.raised')
    const [escalation] = await escalations(at)
    expect(told.map(({ data }) => data)).toEqual([
      {
        escalationId: escalation?.id,
        cause: escalation?.cause,
        consumer: 'route:book',
        route: 'book',
        class: 'config',
        reason: 'rejected',
        severity: 'high',
        runbook: null,
        count: 1,
        error: 'answered 404',
        workId: escalation?.workId,
        eventId: cause.id,
        correlationId: cause.correlationId,
        objectType: cause.objectType,
        objectId: cause.objectId,
      },
    ])
    expect(told[0]?.event).toMatchObject({
      correlationId: cause.correlationId,
      causationId: cause.id,
      objectType: 'escalation',
      objectId: escalation?.id,
    })
    expect(escalation).toMatchObject({ isAnnounced: true, state: 'raised' })
  })

  test('[ES4] an escalation that a crash left unannounced is announced by the next node that starts', async () => {
    const at = world(answered(404))
    const one = await at.node({ config: SWEEPS })
    await accept(at, one)
    one.crash()
    await at.node({ name: 'two', config: SWEEPS })
    await at.pass(5_000)
    expect(await toldOf(at, 'integration.escalation.raised')).toHaveLength(1)
  })

  test('[FL11] escalates a failure that has been open for too long, and a late success resolves it', async () => {
    const patient = {
      ...ROUTE,
      retry: { profile: null, attempts: 3, delaysMs: [15 * MINUTE, 1_000] },
      maxWaitMs: 60 * MINUTE,
    }
    const at = world(answered(503), CREATED)
    const node = await at.node({ documents: [SOURCE, patient], config: SWEEPS })
    const eventId = await accept(at, node)
    await at.pass(9 * MINUTE)
    expect(await failureOf(at, eventId)).toMatchObject({ state: 'open' })
    await at.pass(3 * MINUTE)
    const work = await workOf(at, eventId)
    expect(work.state).toBe('ready')
    expect(await failureOf(at, eventId)).toMatchObject({
      state: 'escalated',
      reason: null,
      willRetryAt: work.dueAt,
    })
    expect(await escalations(at)).toMatchObject([{ reason: 'open_too_long', isAnnounced: true, count: 1 }])
    await at.pass(10 * MINUTE)
    expect((await workOf(at, eventId)).state).toBe('done')
    expect(await failureOf(at, eventId)).toMatchObject({ state: 'resolved' })
  })

  test.each([
    ['cancelled', 'resolved', 'cancelled'],
    ['done', 'resolved', null],
    ['gone', 'resolved', 'gone'],
    ['parked', 'escalated', 'parked'],
  ] as const)('[FL11] ends a failure that is open although its job is %s', async (end, state, reason) => {
    const at = world(CREATED)
    const node = await at.node({ config: SWEEPS })
    const eventId = await accept(at, node)
    const work = await workOf(at, eventId)
    const row = {
      id: failureId(work.id),
      state: 'open',
      workId: end === 'gone' ? ('wrk_gone' as typeof work.id) : work.id,
      consumer: work.consumer,
      eventId,
      class: 'transient',
      reason: null,
      key: null,
      attempts: 1,
      lastError: 'answered 503',
      retryInMs: 1_000,
      correlationId: 'c',
      severity: 'high',
      cause: null,
    } as const
    const counters = { attempts: 1, waits: 0, losses: 0 }
    const note = {
      key: null,
      class: null,
      lastError: null,
      effectRef: null,
      httpStatus: null,
      durationMs: null,
    }
    const settle = {
      w: 'work.settle',
      work: work.id,
      to: end === 'gone' ? 'done' : end,
      counters,
      note,
    } as const
    await heard(at, at.store.commit({ tenant: T, guards: [], writes: [settle, { w: 'failure.put', row }] }))
    await at.pass(12 * MINUTE)
    expect(await at.reads.failure(row.id)).toMatchObject({ state, reason })
    expect(await escalations(at)).toHaveLength(state === 'escalated' ? 1 : 0)
  })
})

describe('acknowledging', () => {
  const raised = async () => {
    const at = world(answered(404))
    const node = await at.node({ config: { sweepEveryMs: 60_000 } })
    await accept(at, node)
    await at.pass(5_000)
    const [escalation] = await escalations(at)
    return { at, node, id: escalation!.id }
  }

  test('[ES5] stores the actor and the note, is logged and emitted; a second one is refused', async () => {
    const { at, node, id } = await raised()
    const options = { actor: 'key:ops', note: 'the address changed' }
    const shown = await heard(at, node.engine.escalations.acknowledge(T, id, options))
    expect(shown).toMatchObject({
      state: 'acknowledged',
      acknowledgedBy: 'key:ops',
      note: 'the address changed',
    })
    expect(node.log.messages.filter(({ name }) => name === 'escalation.acknowledged')).toMatchObject([
      { fields: { tenant: T, escalation: id, actor: 'key:ops', note: 'the address changed' } },
    ])
    const [told] = await toldOf(at, 'integration.escalation.acknowledged')
    expect(told?.data).toMatchObject({ escalationId: id, acknowledgedBy: 'key:ops' })
    const again = node.engine.escalations.acknowledge(T, id, { actor: 'key:two', note: null })
    await expect(heard(at, again)).rejects.toMatchObject({ code: 'conflict' })
    expect(await escalations(at)).toMatchObject([{ acknowledgedBy: 'key:ops' }])
    const none = node.engine.escalations.acknowledge(T, 'esc_none' as typeof id, options)
    await expect(heard(at, none)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('[ES1] later failures of the cause raise another one, which is announced too', async () => {
    const { at, node, id } = await raised()
    await heard(at, node.engine.escalations.acknowledge(T, id, { actor: 'key:ops', note: null }))
    await accept(at, node, { ...PAID, id: 'd2', order: 'o2' })
    await at.pass(5_000)
    const all = await escalations(at)
    expect(all.map(({ state, count }) => [state, count])).toEqual([
      ['acknowledged', 1],
      ['raised', 1],
    ])
    expect(new Set(all.map(({ cause }) => cause)).size).toBe(1)
    expect(await toldOf(at, 'integration.escalation.raised')).toHaveLength(2)
  })
})
