// Generations of the ledger, failures and escalations, and the retention of ended ones.

import { describe, expect, test } from 'vitest'
import type { NewEscalation } from '../../core/failures/escalation/index.ts'
import { failureId, type NewFailure } from '../../core/failures/failure/index.ts'
import type { EscalationId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type NewWork, type SettledState } from '../../core/queue/work/index.ts'
import type { Pruned, PruneRequest } from '../../core/store/retention/index.ts'
import type { Write } from '../store.ts'
import { type Kit, OTHER, readAll, START, TENANT } from './kit.conformance.ts'

const COUNTERS = { attempts: 1, waits: 0, losses: 0 }

export function outcomeRules(kit: () => Kit): void {
  const reads = (tenant = TENANT) => kit().store.forTenant(tenant)
  const reserve = (entry: ReturnType<Kit['entry']>): Write => ({
    w: 'ledger.reserve',
    entry,
    sendWithinMs: 100,
  })
  const done = (entry: ReturnType<Kit['entry']>, effectRef: string | null = null): Write => ({
    w: 'ledger.done',
    entry,
    effectRef,
    result: null,
  })
  const release = (key: string): Write => ({
    w: 'ledger.settle',
    key,
    to: 'released',
    proof: 'person',
    effectRef: null,
    result: null,
  })
  const settle = (work: Pick<NewWork, 'id'>, to: SettledState, place?: 'keep'): Write => ({
    w: 'work.settle',
    work: work.id,
    to,
    counters: COUNTERS,
    note: EMPTY_NOTE,
    ...(place === undefined ? {} : { place }),
  })

  describe('generations', () => {
    test('[ST118] a higher generation is a new row, and the earlier ones stay unchanged', async () => {
      const { work } = await kit().add()
      const { work: repeat } = await kit().add()
      await kit().apply([done(kit().entry(work, { key: 'k' }), 'first')])
      await kit().apply([{ w: 'ledger.observe', key: 'k', evidence: '1' }])
      const first = await reads().ledger('k')
      await kit().advance(10)
      await kit().apply([reserve(kit().entry(repeat, { key: 'k', generation: 2 }))])
      await kit().apply([{ w: 'ledger.observe', key: 'k', evidence: '2' }])
      const second = await reads().ledger('k')
      expect(second).toMatchObject({
        generation: 2,
        state: 'reserved',
        work: repeat.id,
        effectRef: null,
        evidence: ['2'],
        createdAt: START + 10,
        settledAt: null,
      })
      await kit().apply([release('k')])
      expect(await reads().ledgerHistory('k')).toEqual([
        first,
        { ...second, state: 'released', proof: 'person', settledAt: START + 10 },
      ])
      await kit().apply([done(kit().entry(repeat, { key: 'k', generation: 4 }), 'fourth')])
      expect((await reads().ledgerHistory('k')).map(({ generation }) => generation)).toEqual([1, 2, 4])
      await kit().reopen()
      expect(await reads().ledger('k')).toMatchObject({ generation: 4, effectRef: 'fourth' })
      expect((await reads().ledgerHistory('k')).map(({ state }) => state)).toEqual([
        'done',
        'released',
        'done',
      ])
    })

    test('[ST118] the same generation, a lower one or none takes over the latest', async () => {
      const { work } = await kit().add()
      const entry = (generation?: number) =>
        kit().entry(work, { key: 'k', ...(generation === undefined ? {} : { generation }) })
      await kit().apply([reserve(entry(3))])
      expect(await reads().ledgerHistory('k')).toMatchObject([{ generation: 3, createdAt: START }])
      for (const generation of [3, 1, undefined]) {
        await kit().apply([release('k')])
        await kit().advance(1)
        await kit().apply([reserve(entry(generation))])
        expect(await reads().ledgerHistory('k')).toMatchObject([
          { generation: 3, state: 'reserved', createdAt: START },
        ])
      }
    })

    test('[ST119] guards are about the latest generation, lists about all', async () => {
      const { work } = await kit().add()
      const [a, b] = [{ key: 'k' }, { key: 'k', generation: 2 }].map((fields) => kit().entry(work, fields))
      await kit().apply([done(a!)])
      await kit().apply([reserve({ ...b!, epoch: 2 })])
      expect(await kit().ask({ g: 'unreserved', key: 'k' })).toMatchObject({
        ok: false,
        found: { entry: { generation: 2 } },
      })
      const guard = { g: 'ledger', key: 'k', work: work.id } as const
      expect(await kit().ask({ ...guard, state: 'reserved', epoch: 2 })).toMatchObject({ ok: true })
      expect(await kit().ask({ ...guard, state: 'done', epoch: 1 })).toMatchObject({ ok: false })
      expect(await reads().ledgerOfWork(work.id)).toMatchObject([{ generation: 2 }])
      const pages = await readAll((cursor) => reads().ledgerList({ cursor, limit: 1 }))
      expect(pages.map((page) => page.map(({ generation }) => generation))).toEqual([[2], [1]])
      expect((await reads().ledgerList({ cursor: null, limit: 9, state: 'done' })).items).toMatchObject([
        { generation: 1 },
      ])
      expect(await reads(OTHER).ledgerHistory('k')).toEqual([])
      expect(await reads().ledgerHistory('another')).toEqual([])
    })

    test('[ST120] entries are listed by consumer too', async () => {
      const { work } = await kit().add()
      const other = kit().entry(work, { key: 'other', consumer: 'route:other' })
      await kit().apply([
        reserve(kit().entry(work, { key: 'own' })),
        reserve(other),
        done({ ...other, key: 'd' }),
      ])
      const list = async (query: object) =>
        (await reads().ledgerList({ cursor: null, limit: 9, ...query })).items.map(({ key }) => key).sort()
      expect(await list({ consumer: 'route:other' })).toEqual(['d', 'other'])
      expect(await list({ consumer: 'route:other', state: 'reserved' })).toEqual(['other'])
    })
  })

  const failure = (work: NewWork, fields: Partial<NewFailure> = {}): NewFailure => ({
    id: failureId(work.id),
    state: 'open',
    workId: work.id,
    consumer: work.consumer,
    eventId: work.eventId,
    class: 'transient',
    reason: null,
    key: null,
    attempts: 1,
    lastError: 'HTTP 503',
    retryInMs: 500,
    correlationId: 'c1',
    severity: 'high',
    cause: null,
    ...fields,
  })
  const escalation = (fields: Partial<NewEscalation> = {}): NewEscalation => ({
    id: kit().ids.escalation(),
    cause: 'cause-1',
    consumer: 'route:crm',
    class: 'config',
    reason: 'rejected',
    severity: 'high',
    runbook: null,
    lastError: 'HTTP 404',
    workId: null,
    ...fields,
  })
  const raise = (row: NewEscalation): Write => ({ w: 'escalation.raise', row })
  const failures = async (query: object = {}, tenant = TENANT) =>
    (await reads(tenant).failures({ cursor: null, limit: 9, ...query })).items.map(({ id }) => id)
  const escalations = async (query: object = {}, tenant = TENANT) =>
    (await reads(tenant).escalations({ cursor: null, limit: 9, ...query })).items.map(({ id }) => id)

  describe('failures', () => {
    test('[ST121] a failure is written whole; its creation stays', async () => {
      const { work } = await kit().add()
      const row = failure(work)
      await kit().apply([{ w: 'failure.put', row }])
      const { retryInMs: _, ...kept } = row
      const stored = { ...kept, tenant: TENANT, createdAt: START }
      expect(await reads().failure(row.id)).toEqual({
        ...stored,
        willRetryAt: START + 500,
        updatedAt: START,
      })
      await kit().advance(20)
      const ended = { state: 'escalated', reason: 'cap_reached', cause: 'x', attempts: 4 } as const
      await kit().apply([{ w: 'failure.put', row: { ...row, ...ended, retryInMs: null } }])
      expect(await reads().failure(row.id)).toEqual({
        ...stored,
        ...ended,
        willRetryAt: null,
        updatedAt: START + 20,
      })
      expect(await reads(OTHER).failure(row.id)).toBeNull()
    })

    test('[ST122] failures are listed by state, consumer, class and cause, the newest first', async () => {
      const works = await Promise.all([1, 2, 3].map(async () => (await kit().add()).work))
      const rows = [
        failure(works[0]!, { cause: 'x' }),
        failure(works[1]!, { state: 'resolved', class: 'unknown' }),
        failure(works[2]!, { consumer: 'route:other' }),
      ]
      await kit().apply(rows.map((row) => ({ w: 'failure.put', row })))
      const [a, b, c] = rows.map(({ id }) => id)
      const ids = [a, b, c].sort().reverse()
      expect(await failures()).toEqual(ids)
      const pages = await readAll((cursor) => reads().failures({ cursor, limit: 2 }))
      expect(pages.flat().map(({ id }) => id)).toEqual(ids)
      expect(await failures({ state: 'resolved' })).toEqual([b])
      expect(await failures({ consumer: 'route:other' })).toEqual([c])
      expect(await failures({ class: 'unknown' })).toEqual([b])
      expect(await failures({ cause: 'x' })).toEqual([a])
      expect(await failures({ cause: 'x', state: 'resolved' })).toEqual([])
      expect(await failures({}, OTHER)).toEqual([])
    })
  })

  describe('escalations', () => {
    test('[ST123] one is raised per cause; the others count on it', async () => {
      const { work } = await kit().add()
      const row = escalation()
      await kit().apply([raise(row)])
      const stored = {
        ...row,
        tenant: TENANT,
        version: 1,
        state: 'raised',
        count: 1,
        isAnnounced: false,
        acknowledgedBy: null,
        note: null,
        createdAt: START,
        updatedAt: START,
      }
      expect(await reads().escalation(row.id)).toEqual(stored)
      await kit().advance(5)
      const later = {
        lastError: 'HTTP 410',
        workId: work.id,
        severity: 'low',
        runbook: 'https://example.com',
      }
      await kit().apply([
        raise(escalation()),
        raise(escalation(later)),
        raise(escalation({ cause: 'other' })),
      ])
      expect(await reads().escalation(row.id)).toEqual({
        ...stored,
        ...later,
        count: 3,
        updatedAt: START + 5,
      })
      expect(await escalations()).toHaveLength(2)
      await kit().apply([raise(escalation())], OTHER)
      expect(await escalations({}, OTHER)).toHaveLength(1)
      expect(await reads(OTHER).escalation(row.id)).toBeNull()
      expect(await reads().escalation(row.id)).toMatchObject({ count: 3 })
    })

    test('[ST124] announcing and acknowledging change its version; an acknowledged one counts no more', async () => {
      const row = escalation()
      await kit().apply([raise(row)])
      await kit().apply([{ w: 'escalation.change', id: row.id, announced: true }])
      expect(await reads().escalation(row.id)).toMatchObject({
        version: 2,
        isAnnounced: true,
        state: 'raised',
      })
      await kit().advance(5)
      const acknowledged = { by: 'ada', note: 'known' }
      await kit().apply([{ w: 'escalation.change', id: row.id, acknowledged }])
      expect(await reads().escalation(row.id)).toMatchObject({
        version: 3,
        state: 'acknowledged',
        isAnnounced: true,
        acknowledgedBy: 'ada',
        note: 'known',
        updatedAt: START + 5,
      })
      const next = escalation()
      await kit().apply([raise(next)])
      expect(await reads().escalation(next.id)).toMatchObject({ version: 1, count: 1, isAnnounced: false })
      expect(await reads().escalation(row.id)).toMatchObject({ count: 1, state: 'acknowledged' })
      await kit().apply([{ w: 'escalation.change', id: next.id, announced: true }], OTHER)
      await kit().apply([{ w: 'escalation.change', id: 'esc_none' as EscalationId, announced: true }])
      expect(await reads().escalation(next.id)).toMatchObject({ version: 1, isAnnounced: false })
    })

    test('[ST4] [ST5] beside a rejected commit, the others are applied in their order', async () => {
      for (let round = 0; round < 5; round += 1) {
        const { event } = await kit().add()
        const cause = `cause ${round}`
        const [row, next] = [escalation({ cause }), escalation({ cause })]
        await kit().apply([raise(row)])
        const twice: Write = { w: 'event.append', event, dedupForMs: 0 }
        const acknowledge = {
          w: 'escalation.change',
          id: row.id,
          acknowledged: { by: 'ada', note: null },
        } as const
        const results = await Promise.allSettled([
          ...[kit().apply([twice]), kit().apply([acknowledge]), kit().apply([raise(next)])],
        ])
        expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
        expect(await reads().escalation(row.id)).toMatchObject({ count: 1, state: 'acknowledged' })
        expect(await reads().escalation(next.id)).toMatchObject({ count: 1, state: 'raised' })
      }
    })

    test('[ST125] a guard names its version, which counting does not change', async () => {
      const row = escalation()
      const guard = { g: 'version', of: 'escalation', key: row.id } as const
      expect(await kit().ask({ ...guard, version: 0 })).toMatchObject({ ok: true })
      expect(await kit().ask({ ...guard, version: 1 })).toMatchObject({ ok: false, found: null })
      await kit().apply([raise(row)])
      await kit().apply([raise(escalation())])
      expect(await kit().ask({ ...guard, version: 1 })).toMatchObject({ ok: true })
      expect(await kit().ask({ ...guard, version: 0 })).toMatchObject({
        ok: false,
        found: { f: 'version', version: 1 },
      })
      expect(await kit().ask({ ...guard, version: 1 }, OTHER)).toMatchObject({ ok: false, found: null })
    })

    test('[ST126] escalations are listed by state, consumer and whether they were announced', async () => {
      const rows = ['a', 'b', 'c'].map((cause) => escalation({ cause, consumer: `route:${cause}` }))
      await kit().apply(rows.map(raise))
      const [a, b, c] = rows.map(({ id }) => id)
      await kit().apply([
        { w: 'escalation.change', id: a!, announced: true },
        { w: 'escalation.change', id: b!, acknowledged: { by: 'ada', note: null } },
      ])
      expect(await escalations()).toEqual([a, b, c].sort().reverse())
      const pages = await readAll((cursor) => reads().escalations({ cursor, limit: 1 }))
      expect(pages.flat().map(({ id }) => id)).toEqual([a, b, c].sort().reverse())
      expect(await escalations({ state: 'acknowledged' })).toEqual([b])
      expect(await escalations({ consumer: 'route:c' })).toEqual([c])
      expect(await escalations({ unannounced: true, state: 'raised' })).toEqual([c])
      expect(await escalations({ unannounced: true })).toEqual([b, c].sort().reverse())
    })

    test('[ST127] an overview counts the raised ones, and the open failures', async () => {
      const { work } = await kit().add()
      const { work: other } = await kit().add()
      await kit().apply([
        raise(escalation()),
        raise(escalation({ cause: 'b' })),
        { w: 'failure.put', row: failure(work) },
        { w: 'failure.put', row: failure(other, { state: 'escalated' }) },
      ])
      const [id] = await escalations()
      await kit().apply([{ w: 'escalation.change', id: id!, acknowledged: { by: 'ada', note: null } }])
      expect((await reads().overview()).counts).toMatchObject({ raisedEscalations: 1, openFailures: 1 })
      expect((await reads(OTHER).overview()).counts).toMatchObject({ raisedEscalations: 0, openFailures: 0 })
    })
  })

  describe('retention of ended rows', () => {
    const keep = { tenant: TENANT, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 }
    const prune = (fields: Partial<PruneRequest> = {}) => kit().store.prune({ ...keep, ...fields })
    /** One with a job, whose window is an hour. */
    const add = async (fields: Partial<NewWork> = {}) => {
      const event = kit().event({ matched: 1 })
      const work = kit().work(event.id, fields)
      await kit().apply([
        { w: 'event.append', event, dedupForMs: HOUR },
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ])
      return work
    }

    test('[ST128] an entry is deleted once its event is deleted and its consumer’s time is up', async () => {
      const ledger = { keepMs: { 'route:short': 2 * DAY }, otherwiseMs: 5 * DAY }
      const [gone, stays, open] = [await add(), await add(), await add()]
      await kit().apply([
        done(kit().entry(gone, { key: 'short', consumer: 'route:short' })),
        done(kit().entry(gone, { key: 'long' })),
        reserve(kit().entry(gone, { key: 'released', consumer: 'route:short' })),
        done(kit().entry(stays, { key: 'event is there', consumer: 'route:short' })),
        reserve(kit().entry(open, { key: 'reserved', consumer: 'route:short' })),
        release('released'),
        settle(gone, 'done'),
      ])
      await kit().advance(DAY)
      expect(await prune({ ledger })).toMatchObject({ events: 1, ledger: 0, next: null })
      await kit().advance(DAY - 1)
      expect(await prune({ ledger })).toMatchObject({ ledger: 0 })
      await kit().advance(1)
      expect(await prune()).toMatchObject({ ledger: 0 })
      expect(await prune({ ledger })).toMatchObject({ ledger: 2 })
      for (const key of ['short', 'released']) {
        expect(await reads().ledger(key)).toBeNull()
        expect(await reads().ledgerHistory(key)).toEqual([])
        expect(await kit().ask({ g: 'unreserved', key })).toMatchObject({ ok: true })
      }
      expect(
        (await reads().ledgerList({ cursor: null, limit: 9 })).items.map(({ key }) => key).sort(),
      ).toEqual(['event is there', 'long', 'reserved'])
      await kit().advance(3 * DAY)
      expect(await prune({ ledger })).toMatchObject({ ledger: 1 })
      expect(await reads().ledger('event is there')).not.toBeNull()
      await kit().apply([done(kit().entry(stays, { key: 'short' }), 'anew')])
      expect(await reads().ledger('short')).toMatchObject({ effectRef: 'anew', generation: 1 })
    })

    test('[ST128] a key is deleted as a whole, by its latest generation, and not while one of them is open', async () => {
      const ledger = { keepMs: {}, otherwiseMs: DAY }
      const [first, repeat, doubt] = [await add(), await add(), await add()]
      const entry = (work: NewWork, key: string, generation: number) => kit().entry(work, { key, generation })
      await kit().apply([done(entry(first, 'k', 1)), reserve(entry(doubt, 'd', 1)), settle(first, 'done')])
      await kit().advance(2 * DAY)
      await kit().apply([done(entry(repeat, 'k', 2)), done(entry(repeat, 'd', 2)), settle(repeat, 'done')])
      expect(await prune({ ledger })).toMatchObject({ events: 2, ledger: 0 })
      await kit().advance(DAY)
      expect(await prune({ ledger })).toMatchObject({ ledger: 2 })
      expect(await reads().ledgerHistory('k')).toEqual([])
      expect(await reads().ledgerHistory('d')).toHaveLength(2)
    })

    test('[ST129] a merged job, and one with a lane position, keep their event', async () => {
      const lane = { key: 'a', width: 1 }
      const [head, batch, member] = [await add({ lane }), await add(), await add()]
      await kit().apply([
        settle(head, 'dead', 'keep'),
        { ...settle(member, 'merged'), into: batch.id } as Write,
        settle(batch, 'done'),
      ])
      await kit().advance(DAY)
      expect(await prune()).toMatchObject({ events: 1 })
      expect(await reads().work(batch.id)).toBeNull()
      await kit().apply([{ w: 'lane.leave', work: head.id }, settle(member, 'done')])
      expect(await prune()).toMatchObject({ events: 2 })
    })

    test('[ST130] failures are deleted with their event, whatever their state', async () => {
      const [gone, stays] = [await add(), await add()]
      await kit().apply([
        { w: 'failure.put', row: failure(gone, { state: 'resolved' }) },
        { w: 'failure.put', row: failure(stays) },
        settle(gone, 'done'),
      ])
      await kit().advance(DAY)
      expect(await prune()).toMatchObject({ events: 1, failures: 1 })
      expect(await failures()).toEqual([failureId(stays.id)])
    })

    test('[ST131] a lane is deleted when it is empty and untouched for as long as any event is stored', async () => {
      const inLane = (key: string) => add({ lane: { key, width: 1 } })
      const [idle, busy] = [await inLane('idle'), await inLane('busy')]
      await kit().apply([settle(idle, 'done')])
      await kit().advance(2 * DAY - 1)
      expect(await prune({ keepMs: { shop: 2 * DAY } })).toMatchObject({ lanes: 0 })
      await kit().advance(1)
      expect(await prune({ keepMs: { shop: 2 * DAY } })).toMatchObject({ lanes: 1, next: null })
      expect(await reads().lane(idle.consumer, 'idle')).toBeNull()
      expect(await reads().lane(busy.consumer, 'busy')).toMatchObject({ places: 1 })
    })

    test('[ST132] an escalation is deleted when it was acknowledged as long ago', async () => {
      const [raised, known] = [escalation({ cause: 'a' }), escalation({ cause: 'b' })]
      await kit().apply([raise(raised), raise(known)])
      await kit().advance(DAY)
      await kit().apply([{ w: 'escalation.change', id: known.id, acknowledged: { by: 'ada', note: null } }])
      await kit().advance(DAY - 1)
      expect(await prune()).toMatchObject({ escalations: 0 })
      await kit().advance(1)
      expect(await prune()).toMatchObject({ escalations: 1 })
      expect(await escalations()).toEqual([raised.id])
    })

    test('[ST133] a walk in small steps visits everything once, and sees one tenant', async () => {
      const works: NewWork[] = []
      for (const key of ['a', 'b', 'c', 'd', 'e']) works.push(await add({ lane: { key, width: 1 } }))
      const rows = works.map(({ id }) => escalation({ cause: id }))
      await kit().apply([
        ...works.flatMap((work) => [done(kit().entry(work)), settle(work, 'done')]),
        ...rows.map(raise),
      ])
      await kit().apply(
        rows.map(({ id }) => ({ w: 'escalation.change', id, acknowledged: { by: 'ada', note: null } })),
      )
      await kit().advance(DAY)
      const ledger = { keepMs: {}, otherwiseMs: DAY }
      expect(await prune({ tenant: OTHER, ledger })).toMatchObject({ events: 0, ledger: 0, lanes: 0 })
      const total = { events: 0, ledger: 0, lanes: 0, escalations: 0 }
      let after: string | null = null
      let steps = 0
      do {
        const pruned: Pruned = await prune({ ledger, after, scanMax: 2 })
        for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += pruned[name]
        after = pruned.next
        steps += 1
      } while (after !== null && steps < 50)
      expect(total).toEqual({ events: 5, ledger: 5, lanes: 5, escalations: 5 })
      expect(await kit().store.system('verification').dump()).toMatchObject({
        events: [],
        work: [],
        ledger: [],
        lanes: [],
        escalations: [],
      })
    })
  })
}
