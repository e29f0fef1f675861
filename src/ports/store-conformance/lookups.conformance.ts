// What users look for: events by text, what an event caused, records by prefix, dead letters by cause, the overview.

import { describe, expect, test } from 'vitest'
import type { NewEvent } from '../../core/events/event/index.ts'
import type { NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { TenantReads } from '../store.ts'
import { type Kit, OTHER, ROUTE, readAll, TENANT } from './kit.conformance.ts'

const counters = { attempts: 1, waits: 0, losses: 0 }
type EventsQuery = Partial<Parameters<TenantReads['events']>[0]>

export function lookupRules(kit: () => Kit): void {
  const reads = (tenant: TenantId = TENANT) => kit().store.forTenant(tenant)

  const append = async (fields: Partial<NewEvent>, tenant: TenantId = TENANT): Promise<EventId> => {
    const event = kit().event(fields)
    await kit().apply([{ w: 'event.append', event, dedupForMs: DAY }], tenant)
    return event.id
  }
  const find = async (query: EventsQuery, tenant: TenantId = TENANT) => {
    const pages = await readAll((cursor) => reads(tenant).events({ cursor, limit: 2, ...query }))
    return pages.flat().map((row) => row.id)
  }

  describe('records', () => {
    test('[ST75] a deleted record is gone, and may be created again', async () => {
      const put = { w: 'record.put', kind: 'key', key: 'a', version: 3, body: 'one' } as const
      await kit().apply([put, { ...put, key: 'b' }, { ...put, kind: 'secret' }])
      await kit().apply([put], OTHER)
      await kit().apply([{ w: 'record.delete', kind: 'key', key: 'a' }])
      await kit().apply([{ w: 'record.delete', kind: 'key', key: 'never was' }])
      expect(await reads().record('key', 'a')).toBeNull()
      expect(await reads().record('key', 'b')).toEqual({ version: 3, body: 'one' })
      expect(await reads().record('secret', 'a')).toEqual({ version: 3, body: 'one' })
      expect(await reads(OTHER).record('key', 'a')).toEqual({ version: 3, body: 'one' })
      expect(await kit().ask({ g: 'version', of: 'key', key: 'a', version: 0 })).toMatchObject({ ok: true })
      await kit().apply([{ ...put, version: 1 }])
      expect(await reads().record('key', 'a')).toEqual({ version: 1, body: 'one' })
    })

    test('[ST75] a version guards against deleting what another commit just wrote', async () => {
      await kit().apply([{ w: 'record.put', kind: 'session', key: 'a', version: 2, body: 'two' }])
      const remove = (version: number) =>
        kit().store.commit(
          kit().commit(
            [{ g: 'version', of: 'session', key: 'a', version }],
            [{ w: 'record.delete', kind: 'session', key: 'a' }],
          ),
        )
      expect(await remove(1)).toMatchObject({ ok: false, found: { f: 'version', version: 2 } })
      expect(await reads().record('session', 'a')).not.toBeNull()
      const both = await Promise.all([remove(2), remove(2)])
      expect(both.map(({ ok }) => ok)).toEqual([true, false])
      expect(both[1]).toMatchObject({ found: null })
      expect(await reads().record('session', 'a')).toBeNull()
    })

    test('[ST75] a commit that fails deletes nothing', async () => {
      const { event } = await kit().add()
      await kit().apply([{ w: 'record.put', kind: 'key', key: 'a', version: 1, body: '' }])
      const broken = kit().commit(
        [],
        [
          { w: 'record.delete', kind: 'key', key: 'a' },
          { w: 'event.append', event, dedupForMs: DAY },
        ],
      )
      await expect(kit().store.commit(broken)).rejects.toThrow()
      expect(await reads().record('key', 'a')).toEqual({ version: 1, body: '' })
    })

    test('[ST76] by key, in pages, of one kind and tenant', async () => {
      const keys = ['b', 'a', 'B', '😀', '\ufffd', 'é', 'a b', 'ab', '']
      const sorted = ['', 'B', 'a', 'a b', 'ab', 'b', 'é', '\ufffd', '😀']
      await kit().apply(
        keys.map((key) => ({ w: 'record.put', kind: 'replay', key, version: 2, body: `of ${key}` })),
      )
      await kit().apply([{ w: 'record.put', kind: 'tenant', key: 'a', version: 1, body: '' }])
      await kit().apply([{ w: 'record.put', kind: 'replay', key: 'theirs', version: 1, body: '' }], OTHER)
      for (const limit of [1, 2, 4, 9, 20]) {
        const pages = await readAll((cursor) => reads().records({ kind: 'replay', cursor, limit }))
        expect(pages.flat()).toEqual(sorted.map((key) => ({ key, version: 2, body: `of ${key}` })))
        expect(pages).toHaveLength(Math.ceil(9 / limit))
      }
      expect(await reads().records({ kind: 'control', cursor: null, limit: 5 })).toEqual({
        items: [],
        nextCursor: null,
      })
    })

    test('[ST76] a prefix is literal', async () => {
      const keys = ['a%', 'a%b', 'a_', 'aXb', 'ab', 'a%\u{10ffff}z', 'A%', 'b']
      await kit().apply(keys.map((key) => ({ w: 'record.put', kind: 'setting', key, version: 1, body: '' })))
      const list = async (prefix: string) => {
        const pages = await readAll((cursor) =>
          reads().records({ kind: 'setting', prefix, cursor, limit: 2 }),
        )
        return pages.flat().map((row) => row.key)
      }
      expect(await list('a%')).toEqual(['a%', 'a%b', 'a%\u{10ffff}z'])
      expect(await list('a_')).toEqual(['a_'])
      expect(await list('a%\u{10ffff}')).toEqual(['a%\u{10ffff}z'])
      expect(await list('')).toHaveLength(8)
      expect(await list('c')).toEqual([])
    })

    test('[ST76] a cursor of another kind is refused', async () => {
      for (const key of ['a', 'b']) {
        await kit().apply([{ w: 'record.put', kind: 'code', key, version: 1, body: '' }])
      }
      const { nextCursor } = await reads().records({ kind: 'code', cursor: null, limit: 1 })
      await expect(reads().records({ kind: 'key', cursor: nextCursor, limit: 1 })).rejects.toMatchObject({
        code: 'invalid_cursor',
      })
    })

    test('[ST77] tenants with a bundle, by name', async () => {
      const tenants = () => kit().store.system('definitions').tenants()
      expect(await tenants()).toEqual([])
      const bundle = { w: 'record.put', kind: 'bundle', key: 'current', version: 1, body: '' } as const
      await kit().apply([bundle, { ...bundle, key: '1' }], OTHER)
      await kit().apply([{ ...bundle, kind: 'setting' }])
      expect(await tenants()).toEqual([OTHER])
      await kit().apply([bundle])
      await kit().apply([bundle], 'a-new-one' as TenantId)
      expect(await tenants()).toEqual(['a-new-one', TENANT, OTHER])
      expect(await reads('a-new-one' as TenantId).record('bundle', 'current')).toMatchObject({ version: 1 })
    })
  })

  const searchesPayloads = () => kit().harness.capabilities?.searchesPayloads ?? true

  describe('search', () => {
    test('[ST78] a part of any of the texts, A to Z as a to z', async () => {
      const blank = { subject: 's', source: 'p', objectId: null, data: '{}' }
      const ids = {
        subject: await append({ ...blank, subject: 'Order.Created' }),
        source: await append({ ...blank, source: 'WebShop' }),
        object: await append({ ...blank, objectId: 'Obj-77' }),
        correlation: await append({ ...blank, correlationId: 'Corr_9' }),
        dedup: await append({ ...blank, dedupKey: 'Dup%Key' }),
        payload: await append({ ...blank, data: '{"Name":"Zoë Müller","path":"C:\\\\x"}' }),
      }
      await append({ ...blank, subject: 'Order.Created' }, OTHER)
      expect(await find({ q: 'order.c' })).toEqual([ids.subject])
      expect(await find({ q: 'EBSH' })).toEqual([ids.source])
      expect(await find({ q: 'obj-7' })).toEqual([ids.object])
      expect(await find({ q: 'corr_' })).toEqual([ids.correlation])
      expect(await find({ q: 'DUP%' })).toEqual([ids.dedup])
      const inPayload = searchesPayloads() ? [ids.payload] : []
      expect(await find({ q: 'zoë mü' })).toEqual(inPayload)
      expect(await find({ q: 'ZOË' })).toEqual([])
      expect(await find({ q: 'C:\\\\X' })).toEqual(inPayload)
      expect(await find({ q: ids.object.slice(4, 30) })).toContain(ids.object)
      expect(await find({ q: 'a%e' })).toEqual([])
      expect(await find({ q: 'b_c' })).toEqual([])
      expect(await find({ q: '' })).toHaveLength(6)
      expect(await find({ q: 'name', subject: 's' })).toEqual(inPayload)
      expect(await find({ q: 'name', subject: 'other' })).toEqual([])
    })

    test('[SE15] an encrypted payload is not searched', async () => {
      const open = await append({ data: '{"is":"QUJDREVG"}', subject: 'sealed.not' })
      await append({ data: 'mrs1.ab12.W10.QUJDREVG', subject: 'sealed.yes' })
      expect(await find({ q: 'qujd' })).toEqual(searchesPayloads() ? [open] : [])
      expect(await find({ q: 'mrs1' })).toEqual([])
      expect(await find({ q: 'sealed.yes' })).toHaveLength(1)
    })

    test('[ST79] a whole event or work id finds that one event', async () => {
      const { event, work } = await kit().add()
      const other = await append({ data: JSON.stringify({ about: event.id }), matched: 0 })
      expect(await find({ q: event.id })).toEqual([event.id])
      expect(await find({ q: work.id })).toEqual([event.id])
      expect(await find({ q: work.id, unmatched: true })).toEqual([])
      expect(await find({ q: event.id, source: 'none' })).toEqual([])
      expect(await find({ q: kit().ids.event() })).toEqual([])
      expect(await find({ q: kit().ids.work() })).toEqual([])
      expect(await find({ q: event.id }, OTHER)).toEqual([])
      expect(await find({ q: work.id }, OTHER)).toEqual([])
      expect(await find({ q: event.id.slice(0, -1) })).toEqual([
        ...(searchesPayloads() ? [other] : []),
        event.id,
      ])
    })

    test('[ST80] a page reads so many rows and continues after them', async () => {
      const ids: EventId[] = []
      for (let index = 0; index < 12; index += 1) {
        ids.push(await append({ subject: index % 4 === 0 ? 'rare' : 'usual', matched: index % 2 }))
      }
      ids.reverse()
      const sizes = async (query: EventsQuery, tenant?: TenantId) =>
        (await readAll((cursor) => reads(tenant).events({ cursor, limit: 9, ...query }))).map(
          (page) => page.length,
        )
      const rare = [ids[3], ids[7], ids[11]]
      expect(await find({ subject: 'rare', scanMax: 3 })).toEqual(rare)
      expect(await find({ q: 'RARE', scanMax: 5 })).toEqual(rare)
      expect(await sizes({ subject: 'rare', scanMax: 3 })).toEqual([0, 1, 1, 1])
      expect(await sizes({ subject: 'rare', scanMax: 4 })).toEqual([1, 1, 1])
      expect(await sizes({ subject: 'rare', scanMax: 12 })).toEqual([3])
      expect(await sizes({ subject: 'rare', scanMax: 4, limit: 1 })).toEqual([1, 1, 1])
      expect(await sizes({ q: 'nobody', scanMax: 5 })).toEqual([0, 0, 0])
      expect(await sizes({ unmatched: false, scanMax: 6 })).toEqual([3, 3])
      expect(await sizes({ sourceNot: 'none', scanMax: 6 })).toEqual([6, 6])
      // Filters that have an index are not scans: the unmatched ones are six rows, and all rows are a plain list.
      expect(await sizes({ unmatched: true, scanMax: 1 })).toEqual([6])
      expect(await sizes({ unmatched: true, q: 'rare', scanMax: 3 })).toEqual([1, 2])
      expect(await sizes({ scanMax: 1 })).toEqual([9, 3])
      expect(await sizes({ q: 'rare', scanMax: 2 }, OTHER)).toEqual([0])
    })
  })

  describe('search through large payloads', () => {
    const PAYLOAD = JSON.stringify({ word: 'ü'.repeat(40) })
    const BYTES = new TextEncoder().encode(PAYLOAD).length
    const sizes = async (query: EventsQuery) =>
      (await readAll((cursor) => reads().events({ cursor, limit: 9, ...query }))).map((page) => page.length)

    test('[ST85] a page ends with the row that reaches the limit of bytes', async () => {
      if (!searchesPayloads()) return
      for (let index = 0; index < 10; index += 1) {
        await append({ subject: index % 5 === 0 ? 'rare' : 'usual', data: PAYLOAD })
      }
      await append({ data: PAYLOAD }, OTHER)
      expect(await sizes({ q: 'rare', scanBytesMax: 3 * BYTES })).toEqual([0, 1, 0, 1])
      expect(await sizes({ q: 'rare', scanBytesMax: 3 * BYTES + 1 })).toEqual([0, 1, 1])
      expect(await sizes({ q: 'rare', scanBytesMax: 1 })).toEqual([0, 0, 0, 0, 1, 0, 0, 0, 0, 1])
      expect(await sizes({ q: 'nobody', scanBytesMax: 5 * BYTES })).toEqual([0, 0])
      expect(await sizes({ q: 'nobody', scanBytesMax: 10 * BYTES })).toEqual([0])
      expect(await sizes({ q: 'nobody', scanBytesMax: 4 * BYTES, scanMax: 3 })).toEqual([0, 0, 0, 0])
      expect(await sizes({ q: 'nobody', scanBytesMax: 2 * BYTES, scanMax: 9 })).toEqual([0, 0, 0, 0, 0])
      expect(await sizes({ q: 'ü', scanBytesMax: 5 * BYTES, limit: 2 })).toEqual([2, 2, 2, 2, 2])
      // Other filters do not read the payload.
      expect(await sizes({ subject: 'rare', scanBytesMax: 1 })).toEqual([2])
    })

    test('[ST85] 8 MiB by default', async () => {
      if (!searchesPayloads()) return
      const data = JSON.stringify('x'.repeat(1_024 * 1_024))
      for (let index = 0; index < 9; index += 1) await append({ data })
      expect(await sizes({ q: 'nobody' })).toEqual([0, 0])
    })
  })

  describe('related rows', () => {
    test('[ST81] what an event caused, oldest first', async () => {
      const cause = await append({})
      const caused: EventId[] = []
      for (let index = 0; index < 4; index += 1) caused.push(await append({ causationId: cause }))
      await append({ causationId: caused[0]! })
      await append({ causationId: cause }, OTHER)
      expect((await reads().causedBy(cause, 10)).map((row) => row.id)).toEqual(caused)
      expect((await reads().causedBy(cause, 2)).map((row) => row.id)).toEqual(caused.slice(0, 2))
      expect(await reads().causedBy(caused[1]!, 10)).toEqual([])
      const [first] = await reads().causedBy(cause, 1)
      const { headers: _h, data: _d, raw: _r, sensitive: _s, ...summary } = (await reads().event(caused[0]!))!
      expect(first).toEqual(summary)
    })

    test('[ST170] a walk over the events, oldest first, between two ids', async () => {
      const made: EventId[] = []
      for (let index = 0; index < 5; index += 1) made.push(await append({}))
      await append({}, OTHER)
      const walk = async (after: string, below: string, limit: number, tenant: TenantId = TENANT) => {
        const ids = { after: after as EventId, below: below as EventId }
        return (await reads(tenant).eventsAfter({ ...ids, limit })).map(({ id }) => id)
      }
      expect(await walk('evt_0', 'evt_g', 10)).toEqual(made)
      expect(await walk('evt_0', 'evt_g', 2)).toEqual(made.slice(0, 2))
      expect(await walk(made[1]!, 'evt_g', 2)).toEqual(made.slice(2, 4))
      expect(await walk(made[1]!, made[3]!, 9)).toEqual([made[2]])
      expect(await walk(made[4]!, 'evt_g', 9)).toEqual([])
      expect(await walk('evt_0', 'evt_g', 9, OTHER)).toHaveLength(1)
      const [first] = await reads().eventsAfter({ after: made[0]!, below: 'evt_g' as EventId, limit: 1 })
      const { headers: _h, data: _d, raw: _r, sensitive: _s, ...summary } = (await reads().event(made[1]!))!
      expect(first).toEqual(summary)
    })

    test('[ST82] the jobs of several events, by event and id', async () => {
      const added = [await kit().add(), await kit().add(), await kit().add()]
      const second: WorkId[] = []
      for (const { event } of [added[2]!, added[0]!]) {
        const work = kit().work(event.id)
        second.push(work.id)
        await kit().apply([{ w: 'work.add', work, lease: null, delayMs: 0 }])
      }
      const none = await append({})
      const ids = [added[2]!.event.id, none, added[0]!.event.id, added[2]!.event.id]
      const rows = await reads().workOfEvents(ids)
      expect(rows.map((row) => row.id)).toEqual([added[0]!.work.id, second[1], added[2]!.work.id, second[0]])
      expect(rows[0]).toEqual(await reads().work(added[0]!.work.id))
      expect(await reads().workOfEvents([])).toEqual([])
      expect(await reads(OTHER).workOfEvents(ids)).toEqual([])
    })
  })

  describe('the ledger', () => {
    test('[ST87] has the open entries of one job, oldest first', async () => {
      const { work } = await kit().add()
      const other = (await kit().add()).work
      const reserve = (of: typeof work, key: string) =>
        ({ w: 'ledger.reserve', entry: kit().entry(of, { key }), sendWithinMs: 1_000 }) as const
      const settle = (key: string, to: 'done' | 'released' | 'unknown') =>
        ({ w: 'ledger.settle', key, to, proof: 'person', effectRef: null, result: null }) as const
      const keys = async (id: WorkId = work.id, tenant: TenantId = TENANT) =>
        (await reads(tenant).ledgerOfWork(id)).map(({ key, state }) => `${key} ${state}`)
      expect(await keys()).toEqual([])
      await kit().apply(['b', 'a', 'ä'].map((key) => reserve(work, key)))
      await kit().apply([reserve(other, 'o')])
      await kit().advance(5)
      await kit().apply(['Z', 'd'].map((key) => reserve(work, key)))
      expect(await keys()).toEqual(['a reserved', 'b reserved', 'ä reserved', 'Z reserved', 'd reserved'])
      await kit().apply([settle('a', 'done'), settle('b', 'released'), settle('ä', 'unknown')])
      await kit().apply([{ w: 'ledger.observe', key: 'ä', evidence: '"seen"' }])
      expect(await keys()).toEqual(['ä unknown', 'Z reserved', 'd reserved'])
      expect((await reads().ledgerOfWork(work.id))[0]).toEqual(await reads().ledger('ä'))
      // The job that takes an entry over has it.
      await kit().apply([reserve(other, 'b'), reserve(other, 'ä')])
      expect(await keys()).toEqual(['Z reserved', 'd reserved'])
      expect(await keys(other.id)).toEqual(['b reserved', 'o reserved', 'ä reserved'])
      expect(await keys(work.id, OTHER)).toEqual([])
    })
  })

  describe('summaries', () => {
    test('[ST83] an overview counts what waits, and since when', async () => {
      const empty = {
        ready: 0,
        leased: 0,
        parked: 0,
        openDeadLetters: 0,
        unmatched: 0,
        raisedEscalations: 0,
        openFailures: 0,
        activeInstances: 0,
        instancesWithAttention: 0,
        openOrphans: 0,
      }
      expect(await reads().overview()).toEqual({ counts: empty, cappedAt: 10_000, oldestReadyAt: null })
      expect(await reads().oldestReadyAt()).toBe(null)
      const owner = await kit().join()
      await kit().add({ delayMs: 5_000, work: { consumer: 'route:a' } })
      await kit().add({ delayMs: 2_000, work: { consumer: 'route:b' } })
      await kit().add({ delayMs: 3_000, work: { consumer: 'route:b' } })
      await kit().add({ lease: owner })
      const { work } = await kit().add()
      await kit().add({ tenant: OTHER })
      await append({ matched: 0 })
      await append({ matched: 0 }, OTHER)
      await kit().apply([
        { w: 'work.settle', work: work.id, to: 'parked', counters, note: EMPTY_NOTE },
        { w: 'deadLetter.put', row: kit().deadLetter(work) },
        { w: 'deadLetter.put', row: kit().deadLetter(work, { state: 'resolved' }) },
      ])
      expect(await reads().overview()).toEqual({
        counts: { ...empty, ready: 3, leased: 1, parked: 1, openDeadLetters: 1, unmatched: 1 },
        cappedAt: 10_000,
        oldestReadyAt: kit().now() + 2_000,
      })
      expect(await reads().oldestReadyAt()).toBe(kit().now() + 2_000)
      expect(await reads(OTHER).oldestReadyAt()).toBe(kit().now())
      expect(await reads(OTHER).overview()).toEqual({
        counts: { ...empty, ready: 1, unmatched: 1 },
        cappedAt: 10_000,
        oldestReadyAt: kit().now(),
      })
    })

    test('[ST84] dead letters by reason', async () => {
      const { work } = await kit().add()
      const rows = [kit().deadLetter(work), kit().deadLetter(work, { reason: 'expired' })]
      await kit().apply(rows.map((row) => ({ w: 'deadLetter.put', row })))
      const list = async (reason: NewDeadLetter['reason']) =>
        (await reads().deadLetters({ reason, cursor: null, limit: 9 })).items.map((row) => row.id)
      expect(await list('expired')).toEqual([rows[1]!.id])
      expect(await list('rejected')).toEqual([rows[0]!.id])
      expect(await list('crash_loop')).toEqual([])
    })

    test('[ST84] dead letters older than one of them', async () => {
      const { work } = await kit().add()
      const rows = Array.from({ length: 4 }, () => kit().deadLetter(work))
      await kit().apply(rows.map((row) => ({ w: 'deadLetter.put', row })))
      const query = { olderThan: rows[3]!.id, state: 'open', limit: 2 } as const
      const pages = await readAll((cursor) => reads().deadLetters({ ...query, cursor }))
      expect(pages.map((page) => page.map((row) => row.id))).toEqual([
        [rows[2]!.id, rows[1]!.id],
        [rows[0]!.id],
      ])
    })

    test('[ST84] dead letters by cause, the largest group first', async () => {
      const { work } = await kit().add()
      const put = async (fields: Partial<NewDeadLetter>, tenant?: TenantId) => {
        const row = kit().deadLetter(work, fields)
        await kit().apply([{ w: 'deadLetter.put', row }], tenant)
        await kit().advance(10)
        return row.id
      }
      const start = kit().now()
      await put({ lastError: 'order 1 of "anna" is wrong' })
      const alone = await put({ lastError: 'answered 404' })
      await put({ lastError: 'order 2 of "bert" is wrong' })
      await put({ lastError: 'order 2 of "bert" is wrong' })
      const newest = await put({ lastError: 'order 33 of "carla" is wrong' })
      const other = await put({
        lastError: 'order 1 of "anna" is wrong',
        reason: 'expired',
        class: 'transient',
      })
      await put({ lastError: 'order 1 of "anna" is wrong', state: 'discarded' })
      await put({ lastError: 'answered 404' }, OTHER)
      expect(await reads().deadLetterGroups({ state: 'open' })).toEqual({
        groups: [
          {
            class: 'config',
            reason: 'rejected',
            consumer: ROUTE,
            cause: 'order # of «…» is wrong',
            count: 4,
            firstAt: start,
            latestAt: start + 40,
            sampleId: newest,
          },
          expect.objectContaining({ reason: 'expired', class: 'transient', count: 1, sampleId: other }),
          expect.objectContaining({ cause: 'answered 404', count: 1, sampleId: alone }),
        ],
        isCapped: false,
      })
      const discarded = await reads().deadLetterGroups({ state: 'discarded' })
      expect(discarded.groups.map(({ count }) => count)).toEqual([1])
      expect(await reads().deadLetterGroups({ state: 'replaying' })).toEqual({ groups: [], isCapped: false })
    })

    test('[ST84] at most 200 groups are returned, and that there are more', async () => {
      const { work } = await kit().add()
      const letters = Array.from({ length: 201 }, (_, index) => {
        const word = String.fromCharCode(...[97 + (index % 26), 97 + Math.floor(index / 26)])
        return kit().deadLetter(work, { lastError: `no ${word}` })
      })
      await kit().apply(letters.map((row) => ({ w: 'deadLetter.put', row })))
      const { groups, isCapped } = await reads().deadLetterGroups({ state: 'open' })
      expect(isCapped).toBe(true)
      expect(groups.map(({ sampleId }) => sampleId)).toEqual(
        letters
          .map(({ id }) => id)
          .reverse()
          .slice(0, 200),
      )
    })
  })
}
