// What deliveries need of a store: the response of an attempt, and lists of one subscription's jobs among many.

import { describe, expect, test } from 'vitest'
import type { WorkId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type SettledState, type WorkKind, type WorkRow } from '../../core/queue/work/index.ts'
import type { TenantReads, Write } from '../store.ts'
import { type AddOptions, type Kit, OTHER, readAll, START, TENANT } from './kit.conformance.ts'

const SHOP = 'subscription:shop'
const CRM = 'subscription:crm'
/** No name contains it, but a store stores what it is given. */
const ODD = 'subscription:a\u0000b'

type WorkQuery = Parameters<TenantReads['workList']>[0]
const counters = { attempts: 1, waits: 0, losses: 0 }

export function deliveryRules(kit: () => Kit): void {
  const reads = () => kit().store.forTenant(TENANT)
  const addDelivery = async (fields: AddOptions['work'] = {}, options: Omit<AddOptions, 'work'> = {}) =>
    (await kit().add({ ...options, work: { kind: 'delivery', consumer: SHOP, ...fields } })).work
  const settle = (work: WorkRow['id'], to: SettledState): Extract<Write, { w: 'work.settle' }> => ({
    w: 'work.settle',
    work,
    to,
    counters,
    note: EMPTY_NOTE,
  })

  describe('deliveries', () => {
    test('[ST150] an attempt stores its response unchanged, and nothing if there is none', async () => {
      const work = await addDelivery()
      const attempts = [
        kit().attempt(1, { response: 'HTTP 500\nserver: a\u0000b\n\nü 😀' }),
        kit().attempt(2, { response: '' }),
        kit().attempt(3),
      ]
      for (const attempt of attempts) await kit().apply([{ w: 'attempt.append', work: work.id, attempt }])
      await kit().reopen()
      const found = await reads().attempts(work.id)
      expect(found).toEqual(attempts)
      expect(found.map((attempt) => 'response' in attempt)).toEqual([true, true, false])
      const dump = await kit().store.system('verification').dump()
      expect(dump.attempts).toEqual(attempts.map((attempt) => ({ ...attempt, work: work.id })))
    })

    test('[ST150] an attempt is written in the commit that ends its job, before the end or after it', async () => {
      const owner = await kit().join()
      const [first, second, third] = [
        await addDelivery({}, { lease: owner }),
        await addDelivery({}, { lease: owner }),
        await addDelivery({}, { lease: owner }),
      ]
      const append = (work: WorkRow['id'], number: number): Write => ({
        w: 'attempt.append',
        work,
        attempt: kit().attempt(number, { response: `${number}` }),
      })
      await kit().apply([settle(first.id, 'done'), append(first.id, 1)])
      await kit().apply([append(second.id, 2), settle(second.id, 'dead')])
      // One after the end of another job is its own.
      await kit().apply([settle(third.id, 'done'), append(first.id, 3)])
      expect(await reads().attempts(first.id)).toMatchObject([{ response: '1' }, { response: '3' }])
      expect(await reads().attempts(second.id)).toMatchObject([{ response: '2' }])
      expect(await reads().attempts(third.id)).toEqual([])
    })

    test('[ST151] a delivery is a job like any other: claimed, put back and settled', async () => {
      const work = await addDelivery()
      const owner = await kit().join()
      const slots = [{ tenant: TENANT, consumer: SHOP, max: 9 }]
      const { items } = await kit().claim(owner, { slots })
      expect(items).toMatchObject([{ work: { id: work.id, kind: 'delivery', consumer: SHOP } }])
      await kit().apply([settle(work.id, 'cancelled')])
      await kit().reopen()
      expect(await reads().work(work.id)).toMatchObject({ kind: 'delivery', state: 'cancelled' })
    })

    test('[ST152] jobs are listed by kind, state, consumer, class and creation, and by any combination', async () => {
      const owner = await kit().join()
      const ids: WorkRow['id'][] = []
      const note = { ...EMPTY_NOTE, class: 'transient' as const }
      const add = async (consumer: string, kind: WorkKind, to?: SettledState | 'leased') => {
        const lease = to === 'leased' ? owner : null
        const { id } = await addDelivery({ consumer, kind }, { lease })
        ids.push(id)
        if (to !== undefined && to !== 'leased') await kit().apply([{ ...settle(id, to), note }])
        await kit().advance(1_000)
      }
      await add(SHOP, 'delivery', 'done')
      await add(CRM, 'delivery', 'dead')
      await add('route:shop', 'route', 'dead')
      await add(SHOP, 'delivery', 'dead')
      await add(SHOP, 'delivery')
      await add(SHOP, 'route')
      await add(SHOP, 'delivery', 'leased')
      await add('subscription;', 'delivery', 'dead')
      await add('subscription:', 'delivery')
      await add(ODD, 'delivery', 'skipped')
      const list = async (query: Omit<WorkQuery, 'cursor' | 'limit'>) => {
        const pages = [3, 100].map((limit) =>
          readAll((cursor) => reads().workList({ ...query, cursor, limit })),
        )
        const [some, all] = (await Promise.all(pages)).map((found) => found.flat().map((row) => row.id))
        expect(some).toEqual(all)
        return all!.map((id) => ids.indexOf(id))
      }
      expect(await list({ consumer: SHOP })).toEqual([6, 5, 4, 3, 0])
      expect(await list({ consumer: SHOP, kind: 'delivery' })).toEqual([6, 4, 3, 0])
      expect(await list({ consumer: SHOP, state: 'dead' })).toEqual([3])
      expect(await list({ consumer: SHOP, state: 'ready' })).toEqual([5, 4])
      expect(await list({ consumer: SHOP, state: 'leased' })).toEqual([6])
      expect(await list({ consumer: SHOP, state: 'done' })).toEqual([0])
      expect(await list({ consumer: SHOP, state: 'waiting' })).toEqual([])
      expect(await list({ consumer: SHOP, class: 'transient' })).toEqual([3, 0])
      expect(await list({ consumer: 'subscription;' })).toEqual([7])
      expect(await list({ consumer: 'subscription:' })).toEqual([8])
      expect(await list({ consumer: ODD, state: 'skipped' })).toEqual([9])
      expect(await list({ consumer: 'subscription:sho' })).toEqual([])
      expect(await list({ kind: 'route' })).toEqual([5, 2])
      expect(await list({ kind: 'delivery', state: 'dead' })).toEqual([7, 3, 1])
      const at = (index: number) => START + index * 1_000
      expect(await list({ from: at(2), to: at(5) })).toEqual([4, 3, 2])
      expect(await list({ from: at(2) + 1, to: at(5) + 1, kind: 'delivery' })).toEqual([4, 3])
      expect(await list({ consumer: SHOP, from: at(1), to: at(6) })).toEqual([5, 4, 3])
      expect(await list({ consumer: SHOP, from: at(1), state: 'dead', class: 'transient' })).toEqual([3])
      expect(await list({ state: 'ready', to: at(5) })).toEqual([4])
      expect(await list({ state: 'leased', from: at(7) })).toEqual([])
      expect(
        (await kit().store.forTenant(OTHER).workList({ consumer: SHOP, cursor: null, limit: 9 })).items,
      ).toEqual([])
    })

    test('[ST153] a search without an index has bounded pages that continue, and each row comes once', async () => {
      const ids: WorkRow['id'][] = []
      for (let index = 0; index < 12; index += 1) {
        const { id } = await addDelivery({ consumer: index % 2 ? SHOP : 'route:a' })
        ids.unshift(id)
        if (index % 4 === 0) await kit().apply([settle(id, 'dead')])
        if (index % 4 === 1) await kit().apply([settle(id, 'done')])
        await kit().advance(1)
      }
      const walk = async (query: Omit<WorkQuery, 'cursor' | 'limit' | 'scanMax'>) => {
        const pages = await readAll((cursor) => reads().workList({ ...query, cursor, limit: 2, scanMax: 3 }))
        for (const page of pages) expect(page.length).toBeLessThanOrEqual(2)
        return pages.flat().map((row) => ids.indexOf(row.id))
      }
      const [dead, done, ready] = [
        [3, 7, 11],
        [2, 6, 10],
        [0, 1, 4, 5, 8, 9],
      ]
      expect(await walk({ state: 'dead' })).toEqual(dead)
      expect(await walk({ state: 'dead', consumer: 'route:a' })).toEqual(dead)
      expect(await walk({ state: 'done' })).toEqual(done)
      expect(await walk({ state: 'done', consumer: SHOP, kind: 'delivery' })).toEqual(done)
      expect(await walk({ state: 'ready' })).toEqual(ready)
      expect(await walk({ state: 'ready', consumer: SHOP })).toEqual([0, 4, 8])
      expect(await walk({ consumer: 'route:a' })).toEqual([1, 3, 5, 7, 9, 11])
      expect(await walk({ consumer: 'nobody' })).toEqual([])
      expect(await walk({ class: 'config' })).toEqual([])
      expect(await walk({ kind: 'delivery', from: kit().now() - 4 })).toEqual([0, 1, 2, 3])
      // A page without a match says where to continue.
      const empty = await reads().workList({ class: 'config', cursor: null, limit: 2, scanMax: 3 })
      expect(empty).toEqual({ items: [], nextCursor: expect.any(String) })
    })

    test('[ST155] open jobs are counted per consumer, in the order requested and up to a cap', async () => {
      const owner = await kit().join()
      const lane = { key: 'a', width: 1 }
      for (let index = 0; index < 3; index += 1) await addDelivery({ lane })
      await addDelivery({}, { lease: owner })
      await addDelivery({ consumer: CRM }, { lease: owner })
      await addDelivery({ consumer: ODD })
      const over = await addDelivery()
      await kit().apply([settle(over.id, 'done')])
      expect(await reads().openCounts([CRM, 'route:none', SHOP, ODD], 100)).toEqual([
        { consumer: CRM, ready: 0, waiting: 0, leased: 1 },
        { consumer: 'route:none', ready: 0, waiting: 0, leased: 0 },
        { consumer: SHOP, ready: 1, waiting: 2, leased: 1 },
        { consumer: ODD, ready: 1, waiting: 0, leased: 0 },
      ])
      expect(await reads().openCounts([SHOP], 1)).toEqual([
        { consumer: SHOP, ready: 1, waiting: 1, leased: 1 },
      ])
      expect(await reads().openCounts([], 1)).toEqual([])
      const others = await kit().store.forTenant(OTHER).openCounts([SHOP], 9)
      expect(others).toEqual([{ consumer: SHOP, ready: 0, waiting: 0, leased: 0 }])
    })

    test('[ST203] open jobs and dead letters of a tenant are counted together, up to a bound', async () => {
      const total = (cap: number, tenant = TENANT) => kit().store.forTenant(tenant).openTotal(cap)
      expect(await total(9)).toBe(0)
      const ended: WorkId[] = []
      for (let index = 0; index < 7; index += 1) ended.push((await addDelivery()).id)
      expect(await total(100)).toBe(7)
      const [done, dead, parked, skipped] = ended as [WorkId, WorkId, WorkId, WorkId]
      await kit().apply([settle(done, 'done')])
      await kit().apply([settle(skipped, 'skipped')])
      await kit().apply([settle(parked, 'parked')])
      await kit().apply([settle(dead, 'dead')])
      // A parked job is open; a dead one counts by its dead letter.
      expect(await total(100)).toBe(4)
      expect(await total(3)).toBe(3)
      expect(await total(100, OTHER)).toBe(0)
    })

    test('[ST156] a subscription’s record is guarded by its version, and listed by name', async () => {
      const put = (key: string, version: number, tenant = TENANT) =>
        kit().store.commit(
          kit().commit(
            [{ g: 'version', of: 'subscription', key, version: version - 1 }],
            [{ w: 'record.put', kind: 'subscription', key, version, body: `{"version":${version}}` }],
            tenant,
          ),
        )
      for (const name of ['crm', 'a-shop', 'shop']) expect(await put(name, 1)).toMatchObject({ ok: true })
      expect(await put('crm', 1, OTHER)).toMatchObject({ ok: true })
      const found = { f: 'version', version: 1 }
      expect(await put('crm', 1)).toMatchObject({ ok: false, guard: 0, found })
      const both = await Promise.all([put('crm', 2), put('crm', 2)])
      expect(both.filter(({ ok }) => ok)).toHaveLength(1)
      expect(await reads().record('subscription', 'crm')).toEqual({ version: 2, body: '{"version":2}' })
      expect(await reads().record('definition', 'crm')).toBeNull()
      const pages = await readAll((cursor) => reads().records({ kind: 'subscription', cursor, limit: 2 }))
      expect(pages.flat().map(({ key }) => key)).toEqual(['a-shop', 'crm', 'shop'])
      await kit().apply([{ w: 'record.delete', kind: 'subscription', key: 'shop' }])
      expect(await reads().record('subscription', 'shop')).toBeNull()
    })

    test('[ST157] deliveries are deleted with their event, with all that belongs to them; the subscription stays', async () => {
      const record = { kind: 'subscription', key: 'shop', version: 1, body: '{}' } as const
      await kit().apply([{ w: 'record.put', ...record }])
      const lane = { key: 'a', width: 1 }
      const [done, dead, open] = [await addDelivery({ lane }), await addDelivery(), await addDelivery()]
      const letter = kit().deadLetter(dead, { state: 'resolved' })
      const append = ({ id }: { readonly id: WorkRow['id'] }): Write => ({
        w: 'attempt.append',
        work: id,
        attempt: kit().attempt(1, { response: 'HTTP 200' }),
      })
      await kit().apply([
        ...[settle(done.id, 'done'), append(done), settle(dead.id, 'dead'), append(dead), append(open)],
        { w: 'deadLetter.put', row: letter },
      ])
      await kit().advance(3 * DAY)
      const request = { tenant: TENANT, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 }
      expect(await kit().store.prune(request)).toMatchObject({
        ...{ events: 2, work: 2, attempts: 2, deadLetters: 1, lanes: 1 },
      })
      const dump = await kit().store.system('verification').dump()
      expect(dump.work.map(({ id }) => id)).toEqual([open.id])
      expect(dump.attempts).toMatchObject([{ work: open.id }])
      expect(dump.records).toMatchObject([{ kind: 'subscription', key: 'shop' }])
      const left = await reads().workList({ consumer: SHOP, cursor: null, limit: 9 })
      expect(left.items.map(({ id }) => id)).toEqual([open.id])
      for (const state of ['dead', 'done'] as const) {
        const none = await reads().workList({ consumer: SHOP, state, cursor: null, limit: 9 })
        expect(none).toEqual({ items: [], nextCursor: null })
      }
    })
  })
}
