// Reads: pages, tenants, dumps.

import { describe, expect, test } from 'vitest'
import type { NodeId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Guard, Page, TenantReads, Write } from '../store.ts'
import { type Added, type Kit, OTHER, ROUTE, readAll, TENANT } from './kit.conformance.ts'

const counters = { attempts: 1, waits: 0, losses: 0 }
type List = 'events' | 'workList' | 'ledgerList' | 'deadLetters'
const LISTS: readonly List[] = ['events', 'workList', 'ledgerList', 'deadLetters']

/** One row in every list. */
async function addRows(kit: Kit, key: string): Promise<Added> {
  const added = await kit.add()
  await kit.apply([
    { w: 'ledger.reserve', entry: kit.entry(added.work, { key }), sendWithinMs: 1_000 },
    { w: 'deadLetter.put', row: kit.deadLetter(added.work) },
  ])
  await kit.advance(1)
  return added
}

function readList(reads: TenantReads, list: List, cursor: string | null, limit: number) {
  return reads[list]({ cursor, limit }) as Promise<Page<{ eventId?: string; id?: string }>>
}

export function readRules(kit: () => Kit): void {
  const reads = () => kit().store.forTenant(TENANT)
  const eventOf = (row: { eventId?: string; id?: string }) => row.eventId ?? row.id

  describe('lists', () => {
    test.each(LISTS)('[ST60] %s: newest first, in pages', async (list) => {
      const added: Added[] = []
      // Keys that sort against time: only time may count.
      for (const key of ['d', 'c', 'z', 'a', 'b']) added.push(await addRows(kit(), key))
      const newest = added.map(({ event }) => event.id).reverse()
      for (const limit of [1, 2, 3, 5, 9]) {
        const pages = await readAll((cursor) => readList(reads(), list, cursor, limit))
        expect(pages.flat().map(eventOf)).toEqual(newest)
        expect(pages).toHaveLength(Math.ceil(5 / limit))
      }
      const none = { items: [], nextCursor: null }
      expect(await readList(kit().store.forTenant(OTHER), list, null, 5)).toEqual(none)
    })

    test('[ST60] rows of one instant all appear once', async () => {
      const { work } = await kit().add()
      const entries = Array.from({ length: 7 }, () => kit().entry(work))
      await kit().apply(entries.map((entry) => ({ w: 'ledger.reserve', entry, sendWithinMs: 1_000 })))
      const pages = await readAll((cursor) => reads().ledgerList({ cursor, limit: 2 }))
      const keys = pages.flat().map((row) => row.key)
      expect(keys.sort()).toEqual(entries.map((entry) => entry.key).sort())
    })

    test('[ST60] events by source, subject and match', async () => {
      const add = async (source: string, subject: string, matched: number) => {
        const event = kit().event({ source, subject, matched })
        await kit().apply([{ w: 'event.append', event, dedupForMs: DAY }])
        return event.id
      }
      const ids = [
        await add('shop', 'order.created', 0),
        await add('shop', 'order.paid', 1),
        await add('crm', 'order.created', 2),
        await add('shop', 'order.created', 1),
      ]
      const list = async (query: Omit<Parameters<TenantReads['events']>[0], 'cursor' | 'limit'>) => {
        const pages = await readAll((cursor) => reads().events({ ...query, cursor, limit: 1 }))
        return pages.flat().map((row) => ids.indexOf(row.id))
      }
      expect(await list({})).toEqual([3, 2, 1, 0])
      expect(await list({ source: 'shop' })).toEqual([3, 1, 0])
      expect(await list({ subject: 'order.created' })).toEqual([3, 2, 0])
      expect(await list({ source: 'shop', subject: 'order.created' })).toEqual([3, 0])
      expect(await list({ unmatched: true })).toEqual([0])
      expect(await list({ unmatched: false, source: 'shop' })).toEqual([3, 1])
      expect(await list({ source: 'none' })).toEqual([])
      expect(await list({ sourceNot: 'shop' })).toEqual([2])
      expect(await list({ sourceNot: 'none', unmatched: true })).toEqual([0])
      expect(await list({ sourceNot: 'crm', subject: 'order.created' })).toEqual([3, 0])
    })

    test('[ST60] work by state, consumer and class', async () => {
      const added = []
      for (const consumer of ['a', 'b', 'a', 'a']) added.push(await kit().add({ work: { consumer } }))
      const ids = added.map(({ work }) => work.id)
      const settle = (index: number, to: 'dead' | 'parked', cause: 'config' | 'unknown'): Write => ({
        w: 'work.settle',
        work: ids[index]!,
        to,
        counters,
        note: { ...EMPTY_NOTE, class: cause },
      })
      await kit().apply([
        settle(0, 'dead', 'config'),
        settle(1, 'dead', 'config'),
        settle(2, 'parked', 'unknown'),
      ])
      const list = async (query: Omit<Parameters<TenantReads['workList']>[0], 'cursor' | 'limit'>) => {
        const pages = await readAll((cursor) => reads().workList({ ...query, cursor, limit: 1 }))
        return pages.flat().map((row) => ids.indexOf(row.id))
      }
      expect(await list({})).toEqual([3, 2, 1, 0])
      expect(await list({ state: 'dead' })).toEqual([1, 0])
      expect(await list({ state: 'ready' })).toEqual([3])
      expect(await list({ consumer: 'a' })).toEqual([3, 2, 0])
      expect(await list({ class: 'unknown' })).toEqual([2])
      expect(await list({ state: 'dead', consumer: 'a', class: 'config' })).toEqual([0])
    })

    test('[ST60] ledger entries by state', async () => {
      for (const key of ['a', 'b', 'c']) await addRows(kit(), key)
      await kit().apply([
        { w: 'ledger.settle', key: 'b', to: 'unknown', proof: 'no-answer', effectRef: null, result: null },
      ])
      const list = async (state: 'reserved' | 'unknown' | 'done') =>
        (await readAll((cursor) => reads().ledgerList({ state, cursor, limit: 1 })))
          .flat()
          .map((row) => row.key)
      expect(await list('reserved')).toEqual(['c', 'a'])
      expect(await list('unknown')).toEqual(['b'])
      expect(await list('done')).toEqual([])
    })

    test('[ST60] dead letters by state, consumer and class', async () => {
      const { work } = await kit().add()
      const rows = [
        kit().deadLetter(work),
        kit().deadLetter(work, { state: 'resolved' }),
        kit().deadLetter(work, { consumer: 'route:other', class: 'poison' }),
      ]
      for (const row of rows) await kit().apply([{ w: 'deadLetter.put', row }])
      const list = async (query: Omit<Parameters<TenantReads['deadLetters']>[0], 'cursor' | 'limit'>) => {
        const pages = await readAll((cursor) => reads().deadLetters({ ...query, cursor, limit: 1 }))
        return pages.flat().map((row) => rows.findIndex(({ id }) => id === row.id))
      }
      expect(await list({})).toEqual([2, 1, 0])
      expect(await list({ state: 'open' })).toEqual([2, 0])
      expect(await list({ consumer: ROUTE })).toEqual([1, 0])
      expect(await list({ class: 'poison' })).toEqual([2])
      expect(await list({ eventId: work.eventId })).toEqual([2, 1, 0])
      expect(await list({ eventId: (await kit().add()).event.id })).toEqual([])
      expect(await list({ state: 'open', consumer: ROUTE, class: 'config' })).toEqual([0])
    })

    test.each(LISTS)('[ST61] %s: new rows do not disturb', async (list) => {
      const added: Added[] = []
      for (const key of ['m', 'c', 'z', 'a', 'b']) added.push(await addRows(kit(), key))
      const first = await readList(reads(), list, null, 2)
      for (const key of ['0', 'n', 'zz']) await addRows(kit(), key)
      const second = await readList(reads(), list, first.nextCursor, 2)
      await addRows(kit(), 'y')
      const third = await readList(reads(), list, second.nextCursor, 2)
      expect(third.nextCursor).toBeNull()
      const rows = [...first.items, ...second.items, ...third.items]
      expect(rows.map(eventOf)).toEqual(added.map(({ event }) => event.id).reverse())
    })

    test.each(LISTS)('[ST62] %s: a malformed cursor', async (list) => {
      for (const key of ['a', 'b', 'c']) await addRows(kit(), key)
      const invalid = { name: 'StoreError', code: 'invalid_cursor' }
      const { nextCursor } = await readList(reads(), list, null, 1)
      expect(nextCursor).not.toBeNull()
      for (const cursor of ['', 'x', '😀', 'e30', 'bnVsbA', `${nextCursor}x`, '{}', 'null']) {
        await expect(readList(reads(), list, cursor, 1)).rejects.toMatchObject(invalid)
      }
      for (const other of LISTS.filter((name) => name !== list)) {
        const foreign = (await readList(reads(), other, null, 1)).nextCursor
        await expect(readList(reads(), list, foreign, 1)).rejects.toMatchObject(invalid)
      }
    })

    test('[ST63] jobs of an event by id, attempts by number', async () => {
      const { event, work } = await kit().add()
      const works = [kit().work(event.id), kit().work(event.id)]
      await kit().apply(
        [works[1]!, works[0]!].map((one) => ({ w: 'work.add', work: one, lease: null, delayMs: 0 })),
      )
      for (const number of [2, 3, 1]) {
        await kit().apply([{ w: 'attempt.append', work: work.id, attempt: kit().attempt(number) }])
      }
      const rows = await reads().workOfEvent(event.id)
      expect(rows.map((row) => row.id)).toEqual([work, ...works].map((one) => one.id))
      expect(await reads().workOfEvent(kit().ids.event())).toEqual([])
      expect((await reads().attempts(work.id)).map((attempt) => attempt.number)).toEqual([1, 2, 3])
      expect(await reads().attempts(kit().ids.work())).toEqual([])
    })
  })

  describe('tenants', () => {
    /** The same names under a tenant, with its own contents. */
    const fill = async (tenant: typeof TENANT, body: string) => {
      const { event, work } = await kit().add({ tenant, event: { dedupKey: 'same', data: body } })
      const row = kit().deadLetter(work, { lastError: body })
      await kit().apply(
        [
          { w: 'ledger.reserve', entry: kit().entry(work, { key: 'same' }), sendWithinMs: 1_000 },
          { w: 'deadLetter.put', row },
          { w: 'record.put', kind: 'setting', key: 'same', version: 1, body },
          { w: 'attempt.append', work: work.id, attempt: kit().attempt(1) },
        ],
        tenant,
      )
      return { event, work, row }
    }

    test('[ST64] no read crosses tenants', async () => {
      const own = await fill(TENANT, '"own"')
      const other = kit().store.forTenant(OTHER)
      expect(await other.event(own.event.id)).toBeNull()
      expect(await other.work(own.work.id)).toBeNull()
      expect(await other.workOfEvent(own.event.id)).toEqual([])
      expect(await other.attempts(own.work.id)).toEqual([])
      expect(await other.ledger('same')).toBeNull()
      expect(await other.deadLetter(own.row.id)).toBeNull()
      expect(await other.record('setting', 'same')).toBeNull()
      for (const list of LISTS) expect((await readList(other, list, null, 10)).items).toEqual([])
      await fill(OTHER, '"other"')
      for (const list of LISTS) {
        expect((await readList(other, list, null, 10)).items).toHaveLength(1)
        expect((await readList(reads(), list, null, 10)).items).toHaveLength(1)
      }
    })

    test('[ST65] no guard crosses tenants', async () => {
      const owner = await kit().join()
      const { work, row } = await fill(TENANT, '"own"')
      await kit().claim(owner)
      const absent = async (guard: Guard) =>
        expect(await kit().ask(guard, OTHER)).toMatchObject({ ok: false, found: null })
      const holds = async (guard: Guard) => expect(await kit().ask(guard, OTHER)).toMatchObject({ ok: true })
      await absent({ g: 'lease', work: work.id, owner, epoch: 1 })
      await absent({ g: 'work', work: work.id, state: 'leased', epoch: 1 })
      await absent({ g: 'ledger', key: 'same', state: 'reserved', work: work.id, epoch: 1 })
      await absent({ g: 'version', of: 'setting', key: 'same', version: 1 })
      await absent({ g: 'version', of: 'deadLetter', key: row.id, version: 1 })
      await holds({ g: 'dedup', source: 'shop', key: 'same' })
      await holds({ g: 'unreserved', key: 'same' })
      await holds({ g: 'version', of: 'setting', key: 'same', version: 0 })
      await holds({ g: 'version', of: 'deadLetter', key: row.id, version: 0 })
    })

    test('[ST66] no write crosses tenants', async () => {
      const { event, work, row } = await fill(TENANT, '"own"')
      const before = await kit().store.system('verification').dump()
      await kit().apply([{ w: 'work.settle', work: work.id, to: 'done', counters, note: EMPTY_NOTE }], OTHER)
      await kit().apply([{ w: 'work.again', work: work.id, delayMs: 9, counters, note: EMPTY_NOTE }], OTHER)
      await kit().apply(
        [{ w: 'ledger.settle', key: 'same', to: 'done', proof: 'person', effectRef: null, result: null }],
        OTHER,
      )
      await kit().apply([{ w: 'ledger.observe', key: 'same', evidence: '{}' }], OTHER)
      await kit().apply([{ w: 'attempt.append', work: work.id, attempt: kit().attempt(2) }], OTHER)
      expect(await kit().store.system('verification').dump()).toEqual(before)

      const other = await fill(OTHER, '"other"')
      await kit().apply([{ w: 'deadLetter.put', row: { ...row, lastError: 'theirs' } }], OTHER)
      expect(await reads().event(event.id)).toMatchObject({ data: '"own"' })
      expect(await reads().deadLetter(row.id)).toMatchObject({ lastError: '"own"', tenant: TENANT })
      expect(await reads().ledger('same')).toMatchObject({ work: work.id, tenant: TENANT })
      expect(await reads().record('setting', 'same')).toEqual({ version: 1, body: '"own"' })
      const theirs = kit().store.forTenant(OTHER)
      expect(await theirs.deadLetter(row.id)).toMatchObject({ lastError: 'theirs', tenant: OTHER })
      expect(await theirs.ledger('same')).toMatchObject({ work: other.work.id, tenant: OTHER })
      expect(await theirs.record('setting', 'same')).toEqual({ version: 1, body: '"other"' })
    })

    test('[ST66] what is written belongs to the tenant of the commit', async () => {
      const event = kit().event({ tenant: OTHER })
      await kit().apply([{ w: 'event.append', event, dedupForMs: DAY }])
      expect(await reads().event(event.id)).toMatchObject({ tenant: TENANT })
      expect(await kit().store.forTenant(OTHER).event(event.id)).toBeNull()
    })
  })

  describe('everything', () => {
    test('[ST67] jobs per state', async () => {
      const owner = await kit().join('node-b' as NodeId)
      const zero = {
        ready: 0,
        waiting: 0,
        leased: 0,
        done: 0,
        skipped: 0,
        merged: 0,
        parked: 0,
        dead: 0,
        cancelled: 0,
      }
      expect(await kit().store.system('health').workCounts()).toEqual(zero)
      await kit().add()
      await kit().add({ tenant: OTHER })
      await kit().add({ lease: owner })
      const { work } = await kit().add()
      await kit().apply([{ w: 'work.settle', work: work.id, to: 'parked', counters, note: EMPTY_NOTE }])
      const counts = { ...zero, ready: 2, leased: 1, parked: 1 }
      expect(await kit().store.system('health').workCounts()).toEqual(counts)
    })

    test('[ST72] consumers with ready jobs', async () => {
      const owner = await kit().join()
      const consumersOf = () => kit().store.system('recovery').readyConsumers()
      expect(await consumersOf()).toEqual([])
      await kit().add({ tenant: OTHER, work: { consumer: 'route:b' } })
      await kit().add({ work: { consumer: 'route:b' }, delayMs: DAY })
      await kit().add({ work: { consumer: 'route:a' } })
      await kit().add({ work: { consumer: 'route:a', codeHash: 'hash-1' } })
      await kit().add({ work: { consumer: 'route:c' }, lease: owner })
      const ready = [
        { tenant: TENANT, consumer: 'route:a' },
        { tenant: TENANT, consumer: 'route:b' },
        { tenant: OTHER, consumer: 'route:b' },
      ]
      expect(await consumersOf()).toEqual(ready)
      const slots = [{ tenant: TENANT, consumer: 'route:a', max: 9 }]
      await kit().claim(owner, { slots, codeHashes: ['hash-1'] })
      expect(await consumersOf()).toEqual(ready.slice(1))
      await kit().join()
      await kit().store.reclaim(9)
      expect(await consumersOf()).toEqual([
        ready[0],
        ready[1],
        { tenant: TENANT, consumer: 'route:c' },
        ready[2],
      ])
    })

    test('[ST68] a dump has one order everywhere', async () => {
      const keys = ['b', 'a', 'B', '😀', '\ufffd', 'é', 'a b', 'ab', '']
      const sorted = ['', 'B', 'a', 'a b', 'ab', 'b', 'é', '\ufffd', '😀']
      const items = [await kit().add({ tenant: OTHER }), await kit().add(), await kit().add()]
      const [theirs, own, last] = items.map(({ work }) => work)
      await kit().apply(
        [...keys].flatMap((key): Write[] => [
          { w: 'record.put', kind: 'setting', key, version: 1, body: '' },
          { w: 'record.put', kind: 'bundle', key, version: 1, body: '' },
          { w: 'ledger.done', entry: kit().entry(own!, { key }), effectRef: null, result: null },
        ]),
      )
      await kit().apply([{ w: 'attempt.append', work: theirs!.id, attempt: kit().attempt(1) }], OTHER)
      await kit().apply([{ w: 'attempt.append', work: last!.id, attempt: kit().attempt(1) }])
      for (const number of [2, 1]) {
        await kit().apply([{ w: 'attempt.append', work: own!.id, attempt: kit().attempt(number) }])
      }
      const letters = [kit().deadLetter(own!), kit().deadLetter(own!)]
      await kit().apply([...letters].reverse().map((row) => ({ w: 'deadLetter.put', row })))

      const dump = await kit().store.system('verification').dump()
      expect(dump.work.map((row) => row.id)).toEqual([own!.id, last!.id, theirs!.id])
      expect(dump.events.map((row) => row.id)).toEqual([own!, last!, theirs!].map((work) => work.eventId))
      expect(dump.attempts).toEqual([
        { ...kit().attempt(1), work: own!.id },
        { ...kit().attempt(2), work: own!.id },
        { ...kit().attempt(1), work: last!.id },
        { ...kit().attempt(1), work: theirs!.id },
      ])
      expect(dump.ledger.map((row) => row.key)).toEqual(sorted)
      expect(dump.deadLetters.map((row) => row.id)).toEqual(letters.map((row) => row.id))
      expect(dump.records).toEqual(
        ['bundle', 'setting'].flatMap((kind) =>
          sorted.map((key) => ({ tenant: TENANT, kind, key, version: 1, body: '' })),
        ),
      )
    })

    test('[ST69] a returned object belongs to the reader', async () => {
      const owner = await kit().join()
      const { event, work } = await kit().add()
      const before = await reads().work(work.id)
      const copy = structuredClone(before)
      const { items } = await kit().claim(owner)
      expect(before).toEqual(copy)
      const handed: object[] = [before!, items[0]!.work, items[0]!.event, (await reads().event(event.id))!]
      const dump = await kit().store.system('verification').dump()
      for (const row of handed) Reflect.set(row, 'tenant', 'changed')
      for (const row of dump.work) Reflect.set(row, 'state', 'changed')
      expect(await reads().work(work.id)).toMatchObject({ tenant: TENANT, state: 'leased' })
      expect(await reads().event(event.id)).toMatchObject({ tenant: TENANT })
    })

    test('[ST69] a passed object may be changed afterwards', async () => {
      const event = { ...kit().event() }
      const work = { ...kit().work(event.id) }
      const { id } = event
      await kit().apply([
        { w: 'event.append', event, dedupForMs: DAY },
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ])
      const before = await kit().store.system('verification').dump()
      const copy = structuredClone(before)
      Object.assign(event, { id: 'changed', subject: 'changed' })
      Object.assign(work, { consumer: 'changed' })
      expect(await kit().store.system('verification').dump()).toEqual(copy)
      expect(await reads().event(id)).toMatchObject({ subject: 'order.created' })
    })
  })
}
