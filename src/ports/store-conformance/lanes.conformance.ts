// Lanes: which jobs have a position, which wait, and which is next.

import { describe, expect, test } from 'vitest'
import type { Incarnation, WorkId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type NewWork, type SettledState } from '../../core/queue/work/index.ts'
import type { Write } from '../store.ts'
import { type Kit, OTHER, ROUTE, readAll, START, TENANT } from './kit.conformance.ts'

const COUNTERS = { attempts: 1, waits: 0, losses: 0 }
type Settle = Extract<Write, { w: 'work.settle' }>
type Add = Extract<Write, { w: 'work.add' }>

export function laneRules(kit: () => Kit): void {
  const reads = (tenant = TENANT) => kit().store.forTenant(tenant)
  const row = async (id: WorkId) => (await reads().work(id))!
  const lane = (key = 'a') => reads().lane(ROUTE, key)
  const states = (works: readonly { readonly id: WorkId }[]) =>
    Promise.all(works.map(async ({ id }) => (await row(id)).state))

  /** One commit with an event and its jobs, all of the lane `a` by default. */
  const enter = async (
    count: number,
    fields: Partial<NewWork> = {},
    options: Partial<Omit<Add, 'w' | 'work'>> = {},
    tenant = TENANT,
  ) => {
    const event = kit().event({ tenant, matched: count })
    const works = Array.from({ length: count }, () =>
      kit().work(event.id, { lane: { key: 'a', width: 1 }, ...fields }),
    )
    const result = await kit().apply(
      [
        { w: 'event.append', event, dedupForMs: DAY },
        ...works.map((work) => ({ w: 'work.add', work, lease: null, delayMs: 0, ...options }) as const),
      ],
      tenant,
    )
    return Object.assign(works, { leased: result.leased })
  }
  const settle = (id: WorkId, to: SettledState, fields: Partial<Settle> = {}): Settle => ({
    w: 'work.settle',
    work: id,
    to,
    counters: COUNTERS,
    note: EMPTY_NOTE,
    ...fields,
  })
  const again = (id: WorkId, fields: Partial<Extract<Write, { w: 'work.again' }>> = {}): Write => ({
    w: 'work.again',
    work: id,
    delayMs: 0,
    counters: COUNTERS,
    note: EMPTY_NOTE,
    ...fields,
  })

  describe('lanes', () => {
    test('[ST102] as many as the lane is wide have a position, the others wait, whatever lease is requested', async () => {
      const owner = await kit().join()
      const works = await enter(4, { lane: { key: 'a', width: 2 } }, { lease: owner })
      expect(await states(works)).toEqual(['leased', 'leased', 'waiting', 'waiting'])
      expect(works.leased).toEqual([works[0]!.id, works[1]!.id])
      expect(await row(works[1]!.id)).toMatchObject({ lane: 'a', hasPlace: true, isFrozen: false })
      expect(await row(works[2]!.id)).toMatchObject({ hasPlace: false, owner: null, epoch: 0 })
      expect(await lane()).toEqual({
        consumer: ROUTE,
        key: 'a',
        width: 2,
        version: null,
        places: 2,
        waiting: 2,
        updatedAt: START,
      })
      expect(await states(await enter(1))).toEqual(['waiting'])
      expect((await kit().claim(owner)).items).toEqual([])
    })

    test('[ST102] lanes of another key, consumer or tenant are other lanes', async () => {
      await enter(1)
      expect(await states(await enter(1, { lane: { key: 'b', width: 1 } }))).toEqual(['ready'])
      expect(await states(await enter(1, { consumer: 'route:other' }))).toEqual(['ready'])
      const [other] = await enter(1, {}, {}, OTHER)
      expect(await reads(OTHER).work(other!.id)).toMatchObject({ state: 'ready', hasPlace: true })
      expect(await states(await enter(1))).toEqual(['waiting'])
      expect(await reads(OTHER).lane(ROUTE, 'b')).toBeNull()
      expect(await lane('nobody')).toBeNull()
    })

    test('[ST103] a settled job passes its position to the oldest that waits, due at its own time or now', async () => {
      const [head] = await enter(1)
      const [late] = await enter(1, {}, { delayMs: 5_000 })
      await kit().advance(10)
      const [third, fourth] = await enter(2)
      await kit().apply([settle(head!.id, 'done')])
      expect(await row(head!.id)).toMatchObject({ state: 'done', hasPlace: false, lane: 'a' })
      expect(await row(late!.id)).toMatchObject({ state: 'ready', hasPlace: true, dueAt: START + 5_000 })
      await kit().advance(10)
      await kit().apply([settle(late!.id, 'dead')])
      expect(await row(third!.id)).toMatchObject({ state: 'ready', dueAt: START + 20, isFrozen: false })
      expect(await lane()).toMatchObject({ places: 1, waiting: 1, updatedAt: START + 20 })
      await kit().apply([settle(third!.id, 'parked'), settle(fourth!.id, 'cancelled')])
      expect(await lane()).toMatchObject({ places: 0, waiting: 0 })
    })

    test('[ST103] of equal creation times the smaller id is first', async () => {
      const [head] = await enter(1)
      const event = kit().event({ matched: 2 })
      const works = [kit().work(event.id), kit().work(event.id)].map((work) => ({
        ...work,
        lane: { key: 'a', width: 1 },
      }))
      await kit().apply([
        { w: 'event.append', event, dedupForMs: 1 },
        ...works.reverse().map((work) => ({ w: 'work.add', work, lease: null, delayMs: 0 }) as const),
      ])
      const ids = works.map(({ id }) => id).sort()
      expect((await reads().laneWaiting(ROUTE, 'a', 9)).map(({ id }) => id)).toEqual(ids)
      await kit().apply([settle(head!.id, 'done')])
      expect((await row(ids[0]!)).state).toBe('ready')
    })

    test('[ST104] a job that keeps its position holds the others up, until it leaves', async () => {
      const [head, second, third] = await enter(3)
      await kit().apply([settle(head!.id, 'dead', { place: 'keep' })])
      expect(await row(head!.id)).toMatchObject({ state: 'dead', hasPlace: true })
      expect(await states([second!])).toEqual(['waiting'])
      await kit().advance(5)
      await kit().apply([{ w: 'lane.leave', work: head!.id }])
      expect(await row(head!.id)).toMatchObject({ state: 'dead', hasPlace: false })
      expect(await row(second!.id)).toMatchObject({ state: 'ready', hasPlace: true, dueAt: START + 5 })
      await kit().apply([{ w: 'lane.leave', work: head!.id }])
      await kit().apply([{ w: 'lane.leave', work: third!.id }])
      await kit().apply([{ w: 'lane.leave', work: kit().ids.work() }])
      await kit().apply([{ w: 'lane.leave', work: second!.id }], OTHER)
      expect(await lane()).toMatchObject({ places: 1, waiting: 1 })
    })

    test('[ST105] a position may be passed to a named job, which is frozen and due now', async () => {
      const [head] = await enter(1)
      const works = await enter(3, {}, { delayMs: 9_000 })
      await kit().advance(7)
      await kit().apply([
        settle(head!.id, 'skipped', { place: { to: works[2]!.id } }),
        settle(works[0]!.id, 'skipped'),
      ])
      const chosen = { state: 'ready', hasPlace: true, isFrozen: true, dueAt: START + 7 }
      expect(await row(works[2]!.id)).toMatchObject(chosen)
      expect(await row(works[1]!.id)).toMatchObject({ state: 'waiting', isFrozen: false })
      expect(await lane()).toMatchObject({ places: 1, waiting: 1 })
      expect((await reads().laneWaiting(ROUTE, 'a', 9)).map(({ id }) => id)).toEqual([works[1]!.id])
    })

    test('[ST105] passed to a job that does not wait there, it goes to the oldest', async () => {
      const [elsewhere] = await enter(2, { lane: { key: 'b', width: 1 } })
      const [head, second, third] = await enter(3)
      await kit().apply([settle(head!.id, 'done', { place: { to: elsewhere!.id } })])
      expect(await states([second!, third!])).toEqual(['ready', 'waiting'])
      await kit().apply([
        settle(third!.id, 'skipped'),
        settle(second!.id, 'done', { place: { to: third!.id } }),
      ])
      expect(await states([second!, third!])).toEqual(['done', 'skipped'])
      expect(await lane()).toMatchObject({ places: 0, waiting: 0 })
    })

    test('[ST106] a waiting job may be settled: no other moves up for it', async () => {
      const [head, second, third] = await enter(3)
      await kit().apply([settle(second!.id, 'cancelled', { place: 'keep' })])
      expect(await row(second!.id)).toMatchObject({ state: 'cancelled', hasPlace: false })
      expect(await states([head!, third!])).toEqual(['ready', 'waiting'])
      expect(await lane()).toMatchObject({ places: 1, waiting: 1 })
      const { work } = await kit().add()
      await kit().apply([settle(work.id, 'parked', { place: 'keep', laneVersion: '7' })])
      expect(await row(work.id)).toMatchObject({ lane: null, hasPlace: false })
    })

    test('[ST107] a retried job keeps its position; its time may start again', async () => {
      const owner = await kit().join()
      const [head, second] = await enter(2, { expiresInMs: 1_000 })
      expect((await kit().claim(owner)).items.map(({ work }) => work.id)).toEqual([head!.id])
      await kit().advance(500)
      await kit().apply([again(head!.id, { delayMs: 100 })])
      expect(await row(head!.id)).toMatchObject({ state: 'ready', hasPlace: true, expiresAt: START + 1_000 })
      expect(await states([second!])).toEqual(['waiting'])
      await kit().apply([again(head!.id, { expiresInMs: 2_000 })])
      expect(await row(head!.id)).toMatchObject({ expiresAt: START + 2_500 })
    })

    test('[ST107] without a position it enters again, and waits if none is free', async () => {
      const [head, second, third] = await enter(3)
      await kit().apply([settle(head!.id, 'parked')])
      await kit().apply([again(head!.id)])
      expect(await row(head!.id)).toMatchObject({ state: 'waiting', hasPlace: false, processedAt: null })
      expect(await lane()).toMatchObject({ places: 1, waiting: 2 })
      await kit().apply([again(third!.id, { delayMs: 50 })])
      expect(await row(third!.id)).toMatchObject({ state: 'waiting', dueAt: START + 50 })
      expect(await lane()).toMatchObject({ places: 1, waiting: 2 })
      await kit().apply([settle(second!.id, 'done')])
      expect(await states([head!, third!])).toEqual(['ready', 'waiting'])
      await kit().apply([settle(head!.id, 'done'), settle(third!.id, 'parked')])
      await kit().apply([again(third!.id)])
      expect(await row(third!.id)).toMatchObject({ state: 'ready', hasPlace: true })
      expect(await lane()).toMatchObject({ places: 1, waiting: 0 })
    })

    test('[ST108] a job may take over the position of another of its lane', async () => {
      const owner = await kit().join()
      const [dead, waits] = await enter(2)
      await kit().apply([settle(dead!.id, 'dead', { place: 'keep' })])
      const [replay] = await enter(1, {}, { inPlaceOf: dead!.id, lease: owner })
      expect(await row(replay!.id)).toMatchObject({ state: 'leased', hasPlace: true })
      expect(await row(dead!.id)).toMatchObject({ state: 'dead', hasPlace: false })
      expect(await lane()).toMatchObject({ places: 1, waiting: 1 })
      const [tail] = await enter(1, {}, { inPlaceOf: dead!.id })
      const [stranger] = await enter(
        1,
        { lane: { key: 'b', width: 1 } },
        { inPlaceOf: replay!.id, lease: owner },
      )
      expect(await states([waits!, tail!, stranger!])).toEqual(['waiting', 'waiting', 'leased'])
      expect(await row(replay!.id)).toMatchObject({ hasPlace: true })
    })

    test('[ST109] a lane is as wide as its latest job says; it fills one at a time', async () => {
      const first = await enter(3)
      const wide = await enter(1, { lane: { key: 'a', width: 3 } })
      expect(await states([...first, ...wide])).toEqual(['ready', 'ready', 'waiting', 'waiting'])
      expect(await lane()).toMatchObject({ width: 3, places: 2, waiting: 2 })
      const narrow = await enter(1, { lane: { key: 'a', width: 1 } })
      await kit().apply([settle(first[0]!.id, 'done')])
      expect(await states([first[1]!, first[2]!, ...narrow])).toEqual(['ready', 'waiting', 'waiting'])
      expect(await lane()).toMatchObject({ width: 1, places: 1, waiting: 3 })
      await kit().apply([settle(first[1]!.id, 'done')])
      expect(await states([first[2]!])).toEqual(['ready'])
    })

    test('[ST110] a lane remembers the latest version', async () => {
      const [first, second] = await enter(2)
      await kit().apply([settle(first!.id, 'done', { laneVersion: '7' })])
      await kit().advance(3)
      expect(await lane()).toMatchObject({ version: '7', updatedAt: START })
      await kit().apply([settle(second!.id, 'skipped')])
      expect(await lane()).toMatchObject({ version: '7', updatedAt: START + 3, places: 0 })
    })

    test('[ST111] waiting jobs, the oldest first, and jobs that hold a lane up, the newest first', async () => {
      const works = await enter(4)
      const waiting = async (limit: number) =>
        (await reads().laneWaiting(ROUTE, 'a', limit)).map(({ id }) => id)
      expect(await waiting(2)).toEqual([works[1]!.id, works[2]!.id])
      expect(await reads().laneWaiting(ROUTE, 'b', 9)).toEqual([])
      expect(await reads(OTHER).laneWaiting(ROUTE, 'a', 9)).toEqual([])
      expect((await reads().laneHolders({ cursor: null, limit: 9 })).items).toEqual([])
      const held: WorkId[] = []
      for (const [key, to] of [...Object.entries({ p: 'parked', d: 'dead', m: 'merged', o: 'done' })]) {
        const [work] = await enter(1, { lane: { key, width: 1 } })
        await kit().apply([settle(work!.id, to as SettledState, { place: 'keep' })])
        if (to === 'parked' || to === 'dead') held.unshift(work!.id)
      }
      const pages = await readAll((cursor) => reads().laneHolders({ cursor, limit: 1 }))
      expect(pages.map((page) => page.map(({ id }) => id))).toEqual(held.map((id) => [id]))
      expect((await reads(OTHER).laneHolders({ cursor: null, limit: 9 })).items).toEqual([])
    })

    test('[ST112] jobs that a crash left behind keep their position', async () => {
      const owner = await kit().join(undefined, 1_000)
      const [head, second] = await enter(2, {}, { lease: owner })
      await kit().advance(1_000)
      expect(await kit().store.reclaim(9)).toEqual([head!.id])
      expect(await row(head!.id)).toMatchObject({ state: 'ready', alone: true, hasPlace: true })
      expect(await states([second!])).toEqual(['waiting'])
      const next = await kit().join()
      expect((await kit().claim(next)).items.map(({ work }) => work)).toMatchObject([
        { id: head!.id, hasPlace: true, lane: 'a' },
      ])
    })

    test('[ST113] members of a batch are merged into it, and stay known as its members', async () => {
      const works = await enter(3, { lane: { key: 'a', width: 3 } })
      const [batch] = await enter(1, { kind: 'batch', lane: { key: 'batch', width: 1 } })
      const into = batch!.id
      await kit().apply(works.map(({ id }) => settle(id, 'merged', { place: 'keep', into })))
      expect(await row(works[0]!.id)).toMatchObject({ state: 'merged', into, hasPlace: true })
      expect((await reads().workMerged(into)).map(({ id }) => id)).toEqual(works.map(({ id }) => id))
      await kit().apply([settle(works[0]!.id, 'done'), again(works[1]!.id)])
      expect(await row(works[0]!.id)).toMatchObject({ state: 'done', into, hasPlace: false })
      expect(await row(works[1]!.id)).toMatchObject({ state: 'ready', into: null, hasPlace: true })
      expect((await reads().workMerged(into)).map(({ id }) => id)).toEqual([works[0]!.id, works[2]!.id])
      expect(await reads(OTHER).workMerged(into)).toEqual([])
    })

    test('[ST114] a job has its element and its generation', async () => {
      const { work } = await kit().add({ work: { element: 3, generation: 2 } })
      expect(await row(work.id)).toMatchObject({ element: 3, generation: 2, lane: null })
      const { work: first } = await kit().add({ work: { element: 0 } })
      expect(await row(first.id)).toMatchObject({ element: 0, generation: 1 })
    })

    test('[ST115] a rejected or refused commit leaves lanes unchanged', async () => {
      const works = await enter(2)
      const before = await kit().store.system('verification').dump()
      const writes: Write[] = [
        settle(works[0]!.id, 'done', { laneVersion: '9' }),
        { w: 'work.add', work: works[0]!, lease: null, delayMs: 0 },
      ]
      await expect(kit().store.commit(kit().commit([], writes))).rejects.toThrow()
      const guard = { g: 'work', work: works[0]!.id, state: 'dead', epoch: 0 } as const
      expect(await kit().store.commit(kit().commit([guard], writes.slice(0, 1)))).toMatchObject({ ok: false })
      expect(await kit().store.system('verification').dump()).toEqual(before)
      await kit().apply([settle(works[0]!.id, 'done')])
      expect(await states(works)).toEqual(['done', 'ready'])
    })

    test('[ST115] lanes are there after the store was reopened', async () => {
      const [head, second] = await enter(2)
      await kit().reopen()
      expect(await lane()).toMatchObject({ places: 1, waiting: 1 })
      await kit().apply([settle(head!.id, 'done')])
      expect(await states([second!])).toEqual(['ready'])
    })

    test('[ST115] commits of one group in the same lane are applied one after the other', async () => {
      const [head] = await enter(1)
      const add = async () => enter(1)
      const settled = kit().store.commit(kit().commit([], [settle(head!.id, 'done')]))
      const [[a], [b], [c]] = await Promise.all([add(), add(), add(), settled])
      expect((await states([a!, b!, c!])).sort()).toEqual(['ready', 'waiting', 'waiting'])
      expect(await lane()).toMatchObject({ places: 1, waiting: 2 })
    })
  })

  describe('claims with a limit', () => {
    const slot = (fields: object = {}) => ({
      slots: [{ tenant: TENANT, consumer: ROUTE, max: 9, ...fields }],
    })

    test('[ST116] no more than the limit are leased at once, by all owners together', async () => {
      const [one, two] = [await kit().join(), await kit().join('node-b' as never)]
      for (let count = 0; count < 5; count += 1) await kit().add()
      const count = async (owner: Incarnation, limit: number) =>
        (await kit().claim(owner, slot({ limit }))).items.length
      expect(await count(one, 2)).toBe(2)
      expect(await count(two, 2)).toBe(0)
      expect(await count(two, 3)).toBe(1)
      expect(await count(two, 1)).toBe(0)
      const { items } = await kit()
        .store.forTenant(TENANT)
        .workList({ state: 'leased', cursor: null, limit: 1 })
      await kit().apply([settle(items[0]!.id, 'done')])
      expect(await count(two, 3)).toBe(1)
    })

    test('[ST116] jobs leased by another consumer or of another tenant do not count', async () => {
      const owner = await kit().join()
      await kit().add({ lease: owner, work: { consumer: 'route:other' } })
      await kit().add({ lease: owner, tenant: OTHER })
      await kit().add()
      const { items } = await kit().claim(owner, slot({ limit: 1 }))
      expect(items).toHaveLength(1)
    })

    test('[ST116] a consumer that is requested twice has one limit', async () => {
      const owner = await kit().join()
      for (let count = 0; count < 4; count += 1) await kit().add()
      const { slots } = slot({ limit: 2 })
      expect((await kit().claim(owner, { slots: [...slots, ...slots] })).items).toHaveLength(2)
    })

    test('[ST117] jobs that a limit holds back are reported as due', async () => {
      const owner = await kit().join()
      await kit().add({ lease: owner })
      await kit().add()
      const { items, nextDueAt } = await kit().claim(owner, slot({ limit: 1 }))
      expect(items).toEqual([])
      expect(nextDueAt).toBe(START)
    })
  })
}
