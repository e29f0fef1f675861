// What is learned about an event after it was stored: duplicates, and its matches; and lists by a time range.

import { describe, expect, test } from 'vitest'
import type { EventId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import { type Kit, OTHER, ROUTE, readAll, START, TENANT } from './kit.conformance.ts'

export function laterRules(kit: () => Kit): void {
  const reads = () => kit().store.forTenant(TENANT)
  const idsOf = (rows: readonly { readonly id: EventId }[]) => rows.map(({ id }) => id)

  describe('later changes of an event', () => {
    test('[ST88] a body that is not JSON is stored unchanged; encrypted paths are not the store’s concern', async () => {
      const raw = 'a=1&b=%20\r\n\u0000 é 😀'
      const event = kit().event({ raw, sensitive: ['payload.a'], matched: 1 })
      const work = kit().work(event.id)
      await kit().apply([
        { w: 'event.append', event, dedupForMs: DAY },
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ])
      await kit().reopen()
      const expected = { raw, sensitive: [] }
      expect(await reads().event(event.id)).toMatchObject(expected)
      expect((await kit().store.system('verification').dump()).events).toMatchObject([expected])
      const [summary] = (await reads().events({ cursor: null, limit: 1 })).items
      expect(Object.keys(summary!)).not.toEqual(expect.arrayContaining(['raw']))
      const { items } = await kit().claim(await kit().join())
      expect(items[0]!.event).toMatchObject(expected)
    })

    test('[ST89] duplicates add up, wherever the event is read', async () => {
      const { event } = await kit().add()
      const { event: other } = await kit().add()
      expect(await reads().event(event.id)).toMatchObject({ duplicates: 0, lastDuplicateAt: null })
      await kit().advance(10)
      const repeat = (count: number) => kit().apply([{ w: 'event.repeat', event: event.id, count }])
      await Promise.all([repeat(1), repeat(2)])
      await kit().advance(10)
      await repeat(4)
      const expected = { id: event.id, duplicates: 7, lastDuplicateAt: START + 20 }
      expect(await reads().event(event.id)).toMatchObject(expected)
      expect((await reads().events({ cursor: null, limit: 9 })).items).toMatchObject([
        { id: other.id, duplicates: 0, lastDuplicateAt: null },
        expected,
      ])
      expect((await kit().store.system('verification').dump()).events[0]).toMatchObject(expected)
      const { items } = await kit().claim(await kit().join())
      expect(items.map((item) => item.event.duplicates)).toEqual([7, 0])
    })

    test('[ST90] the number of matches can be written later', async () => {
      const event = kit().event({ matched: 1 })
      await kit().apply([{ w: 'event.append', event, dedupForMs: DAY }])
      const unmatched = async () =>
        idsOf((await reads().events({ cursor: null, limit: 9, unmatched: true })).items)
      expect(await unmatched()).toEqual([])
      await kit().apply([{ w: 'event.match', event: event.id, matched: 0 }])
      expect(await unmatched()).toEqual([event.id])
      expect((await reads().overview()).counts.unmatched).toBe(1)
      await kit().apply([{ w: 'event.match', event: event.id, matched: 3 }])
      expect(await unmatched()).toEqual([])
      expect((await reads().event(event.id))!.matched).toBe(3)
    })

    test('[ST91] for a missing event nothing is written, and no job is added', async () => {
      const { event } = await kit().add({ tenant: OTHER })
      for (const id of [kit().ids.event(), event.id]) {
        const work = kit().work(id)
        const { leased } = await kit().apply([
          { w: 'event.repeat', event: id, count: 1 },
          { w: 'event.match', event: id, matched: 0 },
          { w: 'work.add', work, lease: await kit().join(), delayMs: 0 },
          { w: 'record.put', kind: 'setting', key: id, version: 1, body: 'the rest is' },
        ])
        expect(leased).toEqual([])
        expect(await reads().work(work.id)).toBeNull()
        expect(await reads().record('setting', id)).not.toBeNull()
      }
      expect(await kit().store.forTenant(OTHER).event(event.id)).toMatchObject({ matched: 1, duplicates: 0 })
      const own = await kit().add()
      const later = kit().work(own.event.id)
      await kit().apply([{ w: 'work.add', work: later, lease: null, delayMs: 0 }])
      expect((await reads().workOfEvent(own.event.id)).map(({ id }) => id)).toEqual([own.work.id, later.id])
      const slots = [{ tenant: TENANT, consumer: ROUTE, max: 9 }]
      expect((await kit().claim(await kit().join(), { slots })).items).toHaveLength(2)
    })
  })

  describe('events of a time range', () => {
    /** One every hour. */
    const addHourly = async (count: number) => {
      const events: EventId[] = []
      for (let hour = 0; hour < count; hour += 1) {
        if (hour > 0) await kit().advance(HOUR)
        const event = kit().event({ objectId: `object-${hour % 2}`, correlationId: `case-${hour % 3}` })
        await kit().apply([{ w: 'event.append', event, dedupForMs: 1 }])
        events.push(event.id)
      }
      return events
    }

    test('[ST92] events by object, by correlation, and by the time they were received', async () => {
      const events = await addHourly(6)
      const list = async (filter: object) =>
        (await readAll((cursor) => reads().events({ cursor, limit: 2, ...filter })))
          .flat()
          .map(({ id }) => events.indexOf(id))
      expect(await list({ objectId: 'object-1' })).toEqual([5, 3, 1])
      expect(await list({ correlationId: 'case-0' })).toEqual([3, 0])
      expect(await list({ from: START + HOUR, to: START + 4 * HOUR })).toEqual([3, 2, 1])
      expect(await list({ from: START + HOUR + 1, to: START + 4 * HOUR + 1 })).toEqual([4, 3, 2])
      expect(await list({ from: START + 4 * HOUR })).toEqual([5, 4])
      expect(await list({ to: START + HOUR })).toEqual([0])
      expect(await list({ from: START, to: START + 3 * HOUR, objectId: 'object-0' })).toEqual([2, 0])
      expect(await list({ from: START + 3 * HOUR, to: START + 2 * HOUR })).toEqual([])
    })

    test('[ST93] a range is found by the order of ids: rows beyond it are not read', async () => {
      const events = await addHourly(8)
      const query = { cursor: null, limit: 9, scanMax: 1 }
      const span = { from: START + 1.5 * HOUR, to: START + 2.5 * HOUR }
      const page = await reads().events({ ...query, ...span })
      expect(page).toMatchObject({ items: [{ id: events[2] }], nextCursor: null })
      const before = await reads().events({ ...query, to: START + HOUR / 2 })
      expect(before).toMatchObject({ items: [{ id: events[0] }], nextCursor: null })
    })
  })
}
