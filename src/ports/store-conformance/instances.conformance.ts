// Instances of workflows, their history, the keys by which events find them, orphans, and their retention.

import { describe, expect, test } from 'vitest'
import type { EventId, InstanceId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type NewWork, type SettledState } from '../../core/queue/work/index.ts'
import type { Pruned, PruneRequest } from '../../core/store/retention/index.ts'
import type { InstanceRow, NewInstance } from '../../core/workflows/instance/index.ts'
import type { NewOrphan } from '../../core/workflows/orphan/index.ts'
import type { Page, Write } from '../store.ts'
import { type Kit, OTHER, ROUTE, readAll, START, TENANT } from './kit.conformance.ts'

const COUNTERS = { attempts: 1, waits: 0, losses: 0 }

export function instanceRules(kit: () => Kit): void {
  const reads = (tenant = TENANT) => kit().store.forTenant(tenant)
  const instance = (fields: Partial<NewInstance> = {}) => kit().instance(kit().ids.event(), fields)
  const put = (row: NewInstance): Write => ({ w: 'instance.put', row })
  const history = (id: InstanceId, ...numbers: readonly number[]): Write => ({
    w: 'history.append',
    rows: numbers.map((sequence) => ({ instance: id, sequence, type: 'fired', body: `{"n":${sequence}}` })),
  })
  const orphan = (fields: Partial<NewOrphan> = {}) => kit().orphan(kit().ids.event(), fields)
  const settle = (work: Pick<NewWork, 'id'>, to: SettledState, place?: 'keep'): Write => ({
    w: 'work.settle',
    work: work.id,
    to,
    counters: COUNTERS,
    note: EMPTY_NOTE,
    ...(place === undefined ? {} : { place }),
  })
  const idsOf = ({ items }: Page<{ readonly id: string }>) => items.map(({ id }) => id)

  describe('instances', () => {
    test('[ST134] an instance is written whole; its creation stays, and its end is when it was no longer active', async () => {
      const row = instance({ marking: { 'a,b*': 2, ü: 1, empty: 0 }, body: '{"x":"\u0000😀"}' })
      await kit().apply([put(row)])
      const stored: InstanceRow = {
        ...row,
        tenant: TENANT,
        marking: { 'a,b*': 2, ü: 1 },
        createdAt: START,
        updatedAt: START,
        endedAt: null,
      }
      expect(await reads().instance(row.id)).toEqual(stored)
      await kit().advance(5)
      const other = instance({
        id: row.id,
        definition: 'd2',
        version: '2',
        attention: 'stuck',
        revision: 2,
        marking: {},
        correlationId: 'c2',
        parent: kit().ids.instance(),
        body: 'b',
      })
      await kit().apply([put(other)])
      expect(await reads().instance(row.id)).toEqual({
        ...other,
        tenant: TENANT,
        createdAt: START,
        updatedAt: START + 5,
        endedAt: null,
      })
      const ends = [
        ['failed', START + 10],
        ['failed', START + 10],
        ['active', null],
        ['completed', START + 25],
      ] as const
      for (const [state, endedAt] of ends) {
        await kit().advance(5)
        await kit().apply([put({ ...other, state, revision: 3 })])
        expect(await reads().instance(row.id)).toMatchObject({ state, endedAt, createdAt: START })
      }
      const short = instance({ state: 'cancelled' })
      await kit().apply([put(short)])
      await kit().reopen()
      expect(await reads().instance(short.id)).toMatchObject({ state: 'cancelled', endedAt: START + 25 })
      expect(await reads(OTHER).instance(row.id)).toBeNull()
    })

    test('[ST134] constant and changing parts are both stored, with and without a guard', async () => {
      const row = instance()
      await kit().apply([put(row)])
      const guard = (version: number) => ({ g: 'version', of: 'instance', key: row.id, version }) as const
      const step = { ...row, revision: 2, marking: { next: 1 }, body: '2' }
      await kit().store.commit(kit().commit([guard(1)], [put(step)]))
      expect(await reads().instance(row.id)).toMatchObject(step)
      const moved = { ...step, definition: 'd2', version: '2', revision: 3, body: '3' }
      await kit().store.commit(kit().commit([guard(2)], [put(moved)]))
      expect(await reads().instance(row.id)).toMatchObject(moved)
      expect(await reads().instanceCounts('triage')).toEqual({
        markings: [{ marking: { next: 1 }, count: 1 }],
        definitions: [{ definition: 'd2', version: '2', count: 1 }],
        attention: 0,
      })
    })

    test('[ST135] its guard names its revision, and 0 that there is none; of two concurrent commits one is refused', async () => {
      const row = instance()
      const guard = (version: number) => ({ g: 'version', of: 'instance', key: row.id, version }) as const
      expect(await kit().ask(guard(0))).toMatchObject({ ok: true })
      expect(await kit().ask(guard(1))).toMatchObject({ ok: false, found: null })
      const both = ['a', 'b'].map((body) =>
        kit().store.commit(kit().commit([guard(0)], [put({ ...row, body }), history(row.id, 1)])),
      )
      const [first, second] = await Promise.all(both)
      expect(first).toMatchObject({ ok: true })
      expect(second).toMatchObject({ ok: false, guard: 0, found: { f: 'version', version: 1 } })
      expect(await reads().instance(row.id)).toMatchObject({ body: 'a' })
      await kit().apply([put({ ...row, revision: 7 })])
      expect(await kit().ask(guard(7))).toMatchObject({ ok: true })
      expect(await kit().ask(guard(0))).toMatchObject({ ok: false, found: { version: 7 } })
      expect(await kit().ask(guard(7), OTHER)).toMatchObject({ ok: false, found: null })
    })

    test('[ST136] history is appended at the commit’s instant, and read from a position on', async () => {
      const { id } = instance()
      await kit().apply([history(id, 1, 2)])
      await kit().advance(7)
      await kit().apply([history(id, 3), history(kit().ids.instance(), 1)])
      const entry = (sequence: number, at: number) => ({
        instance: id,
        sequence,
        type: 'fired',
        body: `{"n":${sequence}}`,
        at,
      })
      const all = [entry(1, START), entry(2, START), entry(3, START + 7)]
      expect(await reads().instanceHistory(id, { after: 0, limit: 9 })).toEqual(all)
      expect(await reads().instanceHistory(id, { after: 1, limit: 1 })).toEqual([all[1]])
      expect(await reads().instanceHistory(id, { after: 3, limit: 9 })).toEqual([])
      expect(await reads(OTHER).instanceHistory(id, { after: 0, limit: 9 })).toEqual([])
      await kit().apply([history(id, 1)], OTHER)
      await kit().reopen()
      expect(await reads().instanceHistory(id, { after: 0, limit: 9 })).toEqual(all)
    })

    test('[ST136] a number that exists already is rejected, with its whole commit', async () => {
      const row = instance()
      await kit().apply([put(row), history(row.id, 1)])
      const again = kit().commit([], [put({ ...row, revision: 2 }), history(row.id, 2, 1)])
      const beside = instance()
      const results = await Promise.allSettled([
        kit().store.commit(again),
        kit().store.commit(kit().commit([], [put(beside)])),
      ])
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
      expect(await reads().instance(row.id)).toMatchObject({ revision: 1 })
      expect(await reads().instanceHistory(row.id, { after: 0, limit: 9 })).toHaveLength(1)
      expect(await reads().instance(beside.id)).not.toBeNull()
    })

    test('[ST137] instances are listed newest first, by workflow, state and parent', async () => {
      const parent = kit().ids.instance()
      const rows = [
        instance(),
        instance({ state: 'completed', parent }),
        instance({ workflow: 'order', parent }),
        instance({ state: 'failed' }),
        instance({ state: 'failed', workflow: 'order' }),
        instance({ state: 'cancelled' }),
        instance(),
      ]
      for (const row of rows) await kit().apply([put(row)])
      await kit().apply([put(instance())], OTHER)
      const list = async (query: Omit<Parameters<ReturnType<typeof reads>['instances']>[0], keyof Limit>) => {
        const pages = await readAll((cursor) => reads().instances({ ...query, cursor, limit: 2 }))
        expect(pages.slice(0, -1).every((page) => page.length === 2)).toBe(true)
        const all = pages.flat().map(({ id }) => rows.findIndex((row) => row.id === id))
        expect(idsOf(await reads().instances({ ...query, cursor: null, limit: 9 }))).toEqual(
          all.map((index) => rows[index]?.id),
        )
        return all
      }
      expect(await list({})).toEqual([6, 5, 4, 3, 2, 1, 0])
      expect(await list({ workflow: 'triage' })).toEqual([6, 5, 3, 1, 0])
      expect(await list({ workflow: 'tri' })).toEqual([])
      expect(await list({ state: 'active' })).toEqual([6, 2, 0])
      expect(await list({ workflow: 'triage', state: 'active' })).toEqual([6, 0])
      expect(await list({ state: 'failed' })).toEqual([4, 3])
      expect(await list({ workflow: 'order', state: 'failed' })).toEqual([4])
      expect(await list({ state: 'completed' })).toEqual([1])
      expect(await list({ workflow: 'triage', state: 'cancelled' })).toEqual([5])
      expect(await list({ parent })).toEqual([2, 1])
      expect(await list({ parent, state: 'active' })).toEqual([2])
      expect(await list({ parent, workflow: 'triage' })).toEqual([1])
      await expect(reads().instances({ cursor: 'no', limit: 1, state: 'active' })).rejects.toMatchObject({
        code: 'invalid_cursor',
      })
    })

    test('[ST138] filters by place, definition and attention find active ones', async () => {
      const rows = [
        instance({ marking: { a: 1 } }),
        instance({ marking: { a: 2, b: 1 }, definition: 'd2', attention: 'stuck' }),
        instance({ marking: { ab: 1 }, attention: 'step_failed' }),
        instance({ marking: { 'a,b': 3, b: 2 }, definition: 'd2' }),
        instance({ marking: { a: 1 }, workflow: 'order' }),
        instance({ marking: { a: 1 }, state: 'completed', attention: 'stuck' }),
        instance({ marking: {}, attention: 'stuck', workflow: 'order' }),
        instance({ marking: { a: 1 } }),
      ]
      for (const row of rows) await kit().apply([put(row)])
      const list = async (query: Omit<Parameters<ReturnType<typeof reads>['instances']>[0], keyof Limit>) => {
        const pages = await readAll((cursor) => reads().instances({ ...query, cursor, limit: 2 }))
        return pages.flat().map(({ id }) => rows.findIndex((row) => row.id === id))
      }
      expect(await list({ workflow: 'triage', place: 'a' })).toEqual([7, 1, 0])
      expect(await list({ workflow: 'triage', place: 'b' })).toEqual([3, 1])
      expect(await list({ workflow: 'triage', place: 'a,b' })).toEqual([3])
      expect(await list({ workflow: 'order', place: 'a' })).toEqual([4])
      expect(await list({ workflow: 'triage', place: 'nowhere' })).toEqual([])
      expect(await list({ workflow: 'triage', place: 'toString' })).toEqual([])
      expect(await list({ workflow: 'triage', definition: 'd1' })).toEqual([7, 2, 0])
      expect(await list({ workflow: 'triage', definition: 'd2', place: 'a' })).toEqual([1])
      expect(await list({ attention: 'any' })).toEqual([6, 2, 1])
      expect(await list({ attention: 'stuck' })).toEqual([6, 1])
      expect(await list({ attention: 'any', workflow: 'triage' })).toEqual([2, 1])
      expect(await list({ attention: 'any', workflow: 'triage', place: 'a' })).toEqual([1])
      expect(await list({ workflow: 'triage', place: 'a', state: 'completed' })).toEqual([])
      await kit().apply([put({ ...rows[7]!, marking: { b: 1 }, revision: 2 })])
      expect(await list({ workflow: 'triage', place: 'a' })).toEqual([1, 0])
      expect(await list({ workflow: 'triage', place: 'b' })).toEqual([7, 3, 1])
      await kit().apply([put({ ...rows[1]!, state: 'failed', revision: 2 })])
      expect(await list({ workflow: 'triage', place: 'b' })).toEqual([7, 3])
      expect(await list({ attention: 'stuck' })).toEqual([6])
    })

    test('[ST139] active instances of a workflow are counted by marking and by definition', async () => {
      expect(await reads().instanceCounts('triage')).toEqual({ markings: [], definitions: [], attention: 0 })
      const rows = [
        instance({ marking: { b: 2, a: 1 }, attention: 'stuck' }),
        instance({ marking: { a: 1, b: 2 }, definition: 'd2', version: '2' }),
        instance({ marking: { a: 1 }, definition: 'd2', version: '2b' }),
        instance({ marking: { a: 1 }, state: 'completed', attention: 'stuck' }),
        instance({ marking: { a: 1 }, workflow: 'order', attention: 'stuck' }),
        instance({ marking: {} }),
      ]
      for (const row of rows) await kit().apply([put(row)])
      expect(await reads().instanceCounts('triage')).toEqual({
        markings: [
          { marking: {}, count: 1 },
          { marking: { a: 1 }, count: 1 },
          { marking: { a: 1, b: 2 }, count: 2 },
        ],
        definitions: [
          { definition: 'd1', version: '1', count: 2 },
          { definition: 'd2', version: '2b', count: 2 },
        ],
        attention: 1,
      })
      expect((await reads(OTHER).instanceCounts('triage')).markings).toEqual([])
    })
  })

  describe('correlations and orphans', () => {
    test('[ST140] a key has one row of its tenant, with a version that guards name', async () => {
      const key = 'triage/issue/\u0000ü😀/4711'
      const guard = (version: number) => ({ g: 'version', of: 'correlation', key, version }) as const
      expect(await reads().correlation(key)).toBeNull()
      expect(await kit().ask(guard(0))).toMatchObject({ ok: true })
      await kit().apply([{ w: 'correlation.put', key, version: 1, body: '{"x":"\u0000"}' }])
      expect(await reads().correlation(key)).toEqual({ version: 1, body: '{"x":"\u0000"}' })
      expect(await kit().ask(guard(1))).toMatchObject({ ok: true })
      expect(await kit().ask(guard(0))).toMatchObject({ ok: false, found: { f: 'version', version: 1 } })
      await kit().apply([{ w: 'correlation.put', key, version: 2, body: 'b' }])
      await kit().apply([{ w: 'correlation.put', key, version: 9, body: 'c' }], OTHER)
      await kit().reopen()
      expect(await reads().correlation(key)).toEqual({ version: 2, body: 'b' })
      expect(await reads(OTHER).correlation(key)).toEqual({ version: 9, body: 'c' })
      expect(await reads().correlation(`${key}1`)).toBeNull()
      await kit().apply([
        { w: 'correlation.delete', key },
        { w: 'correlation.delete', key: 'nobody has this' },
      ])
      expect(await reads().correlation(key)).toBeNull()
      expect(await kit().ask(guard(0))).toMatchObject({ ok: true })
      expect(await reads(OTHER).correlation(key)).not.toBeNull()
      await kit().apply([{ w: 'correlation.put', key, version: 1, body: 'd' }])
      expect(await reads().correlation(key)).toEqual({ version: 1, body: 'd' })
    })

    test('[ST140] of two concurrent puts of the same key one is refused', async () => {
      const guards = [{ g: 'version', of: 'correlation', key: 'k', version: 0 }] as const
      const commits = ['a', 'b'].map((body) =>
        kit().store.commit(kit().commit(guards, [{ w: 'correlation.put', key: 'k', version: 1, body }])),
      )
      expect((await Promise.all(commits)).map(({ ok }) => ok)).toEqual([true, false])
      expect(await reads().correlation('k')).toEqual({ version: 1, body: 'a' })
    })

    test('[ST141] an orphan is written whole, its end counted from now; its version guards it', async () => {
      const row = orphan({ state: 'waiting', expiresInMs: 100, keys: 'issue=\u0000ü' })
      await kit().apply([{ w: 'orphan.put', row }])
      const { expiresInMs: _expires, ...rest } = row
      const stored = { ...rest, tenant: TENANT, expiresAt: START + 100, createdAt: START, updatedAt: START }
      expect(await reads().orphan(row.id)).toEqual(stored)
      await kit().advance(3)
      const changed = {
        ...row,
        version: 2,
        state: 'correlated' as const,
        expiresInMs: null,
        instance: kit().ids.instance(),
        by: 'ada',
        note: 'it is this one',
      }
      await kit().apply([{ w: 'orphan.put', row: changed }])
      const { expiresInMs: _none, ...after } = changed
      await kit().reopen()
      expect(await reads().orphan(row.id)).toEqual({
        ...stored,
        ...after,
        expiresAt: null,
        updatedAt: START + 3,
      })
      const guard = (version: number) => ({ g: 'version', of: 'orphan', key: row.id, version }) as const
      expect(await kit().ask(guard(2))).toMatchObject({ ok: true })
      expect(await kit().ask(guard(1))).toMatchObject({ ok: false, found: { f: 'version', version: 2 } })
      expect(await kit().ask(guard(0), OTHER)).toMatchObject({ ok: true })
      expect(await reads(OTHER).orphan(row.id)).toBeNull()
    })

    test('[ST141] orphans are listed newest first, by state and workflow', async () => {
      const rows = [
        orphan(),
        orphan({ state: 'waiting' }),
        orphan({ workflow: 'order' }),
        orphan({ state: 'discarded' }),
      ]
      for (const row of rows) await kit().apply([{ w: 'orphan.put', row }])
      const list = async (query: { state?: 'open' | 'waiting'; workflow?: string }) => {
        const pages = await readAll((cursor) => reads().orphans({ ...query, cursor, limit: 1 }))
        return pages.flat().map(({ id }) => rows.findIndex((row) => row.id === id))
      }
      expect(await list({})).toEqual([3, 2, 1, 0])
      expect(await list({ state: 'open' })).toEqual([2, 0])
      expect(await list({ workflow: 'triage' })).toEqual([3, 1, 0])
      expect(await list({ state: 'open', workflow: 'triage' })).toEqual([0])
      expect((await reads(OTHER).orphans({ cursor: null, limit: 9 })).items).toEqual([])
    })
  })

  describe('jobs of instances', () => {
    test('[ST142] a job keeps its instance and its step, also when it is claimed', async () => {
      const owner = await kit().join()
      const id = kit().ids.instance()
      const fields = { kind: 'step', instance: id, step: 'fire/1/ü' } as const
      const { work } = await kit().add({ work: fields })
      const { work: laned } = await kit().add({ work: { ...fields, lane: { key: 'l', width: 1 } } })
      const { work: plain } = await kit().add()
      expect(await reads().work(plain.id)).toMatchObject({ instance: null, step: null })
      const { items } = await kit().claim(owner)
      expect(items.map(({ work }) => [work.id, work.kind, work.instance, work.step])).toEqual([
        [work.id, 'step', id, 'fire/1/ü'],
        [laned.id, 'step', id, 'fire/1/ü'],
        [plain.id, 'route', null, null],
      ])
      const { work: trigger } = await kit().add({ work: { kind: 'trigger', step: 'opened' } })
      expect(await reads().work(trigger.id)).toMatchObject({ instance: null, step: 'opened' })
    })

    test('[ST142] those that are not final are listed by creation; all: also final ones of its own event', async () => {
      const row = instance()
      const of = { kind: 'step', instance: row.id } as const
      const add = async (eventId: EventId, fields: Partial<NewWork> = {}) => {
        const work = kit().work(eventId, { ...of, ...fields })
        await kit().apply([{ w: 'work.add', work, lease: null, delayMs: 0 }])
        await kit().advance(1)
        return work
      }
      const { event, work: first } = await kit().add({ work: of })
      const { event: another } = await kit().add()
      await kit().apply([put({ ...row, eventId: event.id })])
      const states = ['done', 'skipped', 'dead', 'cancelled', 'parked', 'merged'] as const
      const works: NewWork[] = []
      for (const state of states) {
        const work = await add(event.id)
        await kit().apply([settle(work, state)])
        works.push(work)
      }
      const elsewhere = await add(another.id)
      const over = await add(another.id)
      await kit().apply([settle(over, 'done')])
      await add(event.id, { instance: kit().ids.instance() })
      const list = async (all: boolean, tenant = TENANT) =>
        (await reads(tenant).workOfInstance(row.id, { all })).map(({ id }) => id)
      const open = [first, works[4]!, works[5]!, elsewhere].map(({ id }) => id)
      expect(await list(false)).toEqual(open)
      expect(await list(true)).toEqual([first, ...works, elsewhere].map(({ id }) => id))
      expect(await list(true, OTHER)).toEqual([])
      await kit().apply([settle(first, 'done')])
      expect(await list(false)).toEqual(open.slice(1))
      await kit().apply([
        { w: 'work.again', work: over.id, delayMs: 0, counters: COUNTERS, note: EMPTY_NOTE },
      ])
      await kit().reopen()
      expect(await list(false)).toEqual([...open.slice(1), over.id])
    })

    test('[ST143] the overview counts active instances, those with attention, and open orphans', async () => {
      await kit().apply([
        put(instance()),
        put(instance({ attention: 'stuck' })),
        put(instance({ state: 'failed', attention: 'stuck' })),
        { w: 'orphan.put', row: orphan() },
        { w: 'orphan.put', row: orphan({ state: 'waiting' }) },
      ])
      expect((await reads().overview()).counts).toMatchObject({
        activeInstances: 2,
        instancesWithAttention: 1,
        openOrphans: 1,
      })
      expect((await reads(OTHER).overview()).counts).toMatchObject({ activeInstances: 0, openOrphans: 0 })
    })

    test('[ST144] a done job may keep its lane position until it leaves: a lock is a lane', async () => {
      const owner = await kit().join()
      const lane = { key: 'lock/object/1', width: 1 }
      const { work: holder } = await kit().add({ lease: owner, work: { kind: 'admit', lane } })
      const { work: next } = await kit().add({ lease: owner, work: { kind: 'admit', lane } })
      await kit().apply([settle(holder, 'done', 'keep')])
      expect(await reads().work(holder.id)).toMatchObject({ state: 'done', hasPlace: true, owner: null })
      expect(await reads().work(next.id)).toMatchObject({ state: 'waiting' })
      expect((await reads().laneHolders({ cursor: null, limit: 9 })).items).toEqual([])
      await kit().reopen()
      expect(await reads().lane(ROUTE, lane.key)).toMatchObject({ places: 1, waiting: 1 })
      await kit().apply([{ w: 'lane.leave', work: holder.id }])
      expect(await reads().work(holder.id)).toMatchObject({ state: 'done', hasPlace: false })
      expect(await reads().work(next.id)).toMatchObject({ state: 'ready', hasPlace: true })
      await kit().apply([{ w: 'lane.leave', work: holder.id }])
      expect(await reads().lane(ROUTE, lane.key)).toMatchObject({ places: 1, waiting: 0 })
    })

    test('[ST145] a job may be settled whichever node leases it: that node finds its lease gone', async () => {
      const owner = await kit().join()
      const lane = { key: 'l', width: 1 }
      const { work: leased } = await kit().add({ lease: owner, work: { lane } })
      const { work: waiting } = await kit().add({ work: { lane } })
      const { work: ready } = await kit().add({ work: { consumer: 'workflow:triage' } })
      await kit().apply([waiting, ready, leased].map((work) => settle(work, 'cancelled')))
      for (const { id } of [leased, waiting, ready]) {
        expect(await reads().work(id)).toMatchObject({ state: 'cancelled', owner: null, hasPlace: false })
      }
      expect(await kit().ask({ g: 'lease', work: leased.id, owner, epoch: 1 })).toMatchObject({
        ok: false,
        found: { f: 'work', state: 'cancelled' },
      })
      expect(await reads().lane(ROUTE, 'l')).toMatchObject({ places: 0, waiting: 0 })
      const slots = [ROUTE, 'workflow:triage'].map((consumer) => ({ tenant: TENANT, consumer, max: 9 }))
      expect((await kit().claim(owner, { slots })).items).toEqual([])
    })
  })

  describe('retention of instances', () => {
    const keep = { tenant: TENANT, keepMs: { shop: HOUR }, otherwiseMs: DAY, after: null, scanMax: 100 }
    const prune = (fields: Partial<PruneRequest> = {}) => kit().store.prune({ ...keep, ...fields })
    const add = async (fields: Partial<NewWork> = {}) => {
      const event = kit().event({ matched: 1 })
      const work = kit().work(event.id, fields)
      await kit().apply([
        { w: 'event.append', event, dedupForMs: HOUR },
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ])
      return work
    }

    test('[ST146] an event stays while its instance is active, its orphan is open, or its job holds a lock', async () => {
      const [plain, began, waits, open, lock] = [
        await add(),
        await add(),
        await add(),
        await add(),
        await add({ kind: 'admit', lane: { key: 'lock', width: 1 } }),
      ]
      const active = instance({ eventId: began.eventId })
      const waiting = orphan({ eventId: waits.eventId, state: 'waiting' })
      const stays = orphan({ eventId: open.eventId })
      await kit().apply([
        ...[plain, began, waits, open].map((work) => settle(work, 'done')),
        settle(lock, 'done', 'keep'),
        put(active),
        { w: 'orphan.put', row: waiting },
        { w: 'orphan.put', row: stays },
      ])
      await kit().apply([put(instance({ eventId: plain.eventId }))], OTHER)
      await kit().advance(2 * HOUR)
      expect(await prune()).toMatchObject({ events: 1 })
      expect(await reads().event(plain.eventId)).toBeNull()
      await kit().apply([put({ ...active, state: 'completed', revision: 2 })])
      expect(await prune()).toMatchObject({ events: 1, instances: 0 })
      expect(await reads().event(began.eventId)).toBeNull()
      await kit().apply([{ w: 'orphan.put', row: { ...waiting, version: 2, state: 'correlated' } }])
      await kit().apply([{ w: 'orphan.put', row: { ...stays, version: 2, state: 'discarded' } }])
      expect(await prune()).toMatchObject({ events: 2, orphans: 0 })
      await kit().apply([{ w: 'lane.leave', work: lock.id }])
      expect(await prune()).toMatchObject({ events: 1 })
    })

    test('[ST147] an ended instance is deleted with its history after the longest time, a closed orphan likewise', async () => {
      const [active, ended] = [instance(), instance()]
      const rows = (['open', 'waiting', 'correlated', 'discarded'] as const).map((state) => orphan({ state }))
      await kit().apply([
        put(active),
        put(ended),
        history(active.id, 1, 2),
        history(ended.id, 1, 2, 3),
        ...rows.map((row): Write => ({ w: 'orphan.put', row })),
      ])
      await kit().apply([put(ended), history(ended.id, 1)], OTHER)
      await kit().advance(DAY)
      await kit().apply([put({ ...ended, state: 'failed', revision: 2 })])
      expect(await prune()).toMatchObject({ instances: 0, history: 0, orphans: 2 })
      await kit().advance(DAY - 1)
      await kit().apply([put({ ...ended, state: 'failed', revision: 3 })])
      expect(await prune()).toMatchObject({ instances: 0 })
      await kit().advance(1)
      expect(await prune()).toMatchObject({ instances: 1, history: 3, orphans: 0 })
      expect(await reads().instance(ended.id)).toBeNull()
      expect(await reads().instanceHistory(ended.id, { after: 0, limit: 9 })).toEqual([])
      expect(await reads().instance(active.id)).not.toBeNull()
      expect(await reads().instanceHistory(active.id, { after: 0, limit: 9 })).toHaveLength(2)
      expect(await reads(OTHER).instanceHistory(ended.id, { after: 0, limit: 9 })).toHaveLength(1)
      expect(idsOf(await reads().orphans({ cursor: null, limit: 9 }))).toEqual(
        [rows[1], rows[0]].map((row) => row?.id),
      )
    })

    test.each([3, 2, 1])(
      '[ST148] [ST149] a walk in steps of %i deletes every ended instance and its whole history',
      async (scanMax) => {
        for (let index = 0; index < 5; index += 1) {
          const row = instance({ state: index === 2 ? 'active' : 'completed' })
          const numbers = Array.from({ length: index * 2 }, (_, number) => number + 1)
          await kit().apply([put(row), history(row.id, ...numbers)])
          await kit().apply([{ w: 'orphan.put', row: orphan({ state: 'discarded' }) }])
        }
        await kit().advance(2 * DAY)
        const total = { instances: 0, history: 0, orphans: 0 }
        let after: string | null = null
        let steps = 0
        do {
          const pruned: Pruned = await prune({ after, scanMax })
          for (const name of ['instances', 'history', 'orphans'] as const) total[name] += pruned[name]
          after = pruned.next
          steps += 1
        } while (after !== null && steps < 60)
        expect(total).toEqual({ instances: 4, history: 16, orphans: 5 })
        const dump = await kit().store.system('verification').dump()
        expect(dump.instances).toMatchObject([{ state: 'active' }])
        expect(dump.history).toHaveLength(4)
        expect(dump.orphans).toEqual([])
      },
    )
  })
}

interface Limit {
  readonly cursor: string | null
  readonly limit: number
}
