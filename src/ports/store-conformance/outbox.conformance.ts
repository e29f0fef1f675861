// What the relay to the bus needs of a store: an outbox that is written in the commit it is about, and read in a stable order.

import { describe, expect, test } from 'vitest'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { NewOutboxRow } from '../../core/store/outbox/index.ts'
import type { Write } from '../store.ts'
import { type Kit, OTHER, START, TENANT } from './kit.conformance.ts'

const ODD = 'a\u0000b ü 😀'

export function outboxRules(kit: () => Kit): void {
  const reads = () => kit().store.system('relay')
  const token = (id: string, fields: Partial<NewOutboxRow> = {}): NewOutboxRow => ({
    ...{
      id,
      subject: 'millrace.acme.workflows.w.places.p.tokens.t',
      about: 'token',
      event: null,
      body: '{}',
    },
    ...fields,
  })
  const add = (...rows: readonly NewOutboxRow[]): Write => ({ w: 'outbox.add', rows })
  const remove = (...positions: readonly number[]): Write => ({ w: 'outbox.delete', positions })
  const told = async (limit = 100) => (await reads().outbox(limit)).rows
  const idsTold = async (limit?: number) => (await told(limit)).map(({ id }) => id)

  describe('outbox', () => {
    test('[ST180] a row is stored unchanged, with its tenant and the instant of its commit', async () => {
      const odd = token(ODD, { subject: ODD, body: ODD })
      const gone = token('gone', { body: null })
      await kit().advance(250)
      await kit().apply([add(odd, gone)])
      await kit().reopen()
      const kept = { tenant: TENANT, createdAt: START + 250, position: expect.any(Number) }
      expect(await reads().outbox(10)).toEqual({
        rows: [
          { ...odd, ...kept },
          { ...gone, ...kept },
        ],
        events: [],
      })
    })

    test('[ST181] the rows of a refused or failed commit do not exist', async () => {
      const { event } = await kit().add()
      const guard = { g: 'dedup', source: event.source, key: event.dedupKey } as const
      await kit().store.commit(kit().commit([guard], [add(token('refused'))]))
      const twice: Write = { w: 'event.append', event, dedupForMs: DAY }
      await expect(kit().store.commit(kit().commit([], [add(token('broken')), twice]))).rejects.toThrow()
      await kit().apply([add(token('applied'))])
      expect(await idsTold()).toEqual(['applied'])
    })

    test('[ST182] rows come in the order of their commits, and within a commit in that of its writes', async () => {
      await kit().apply([add(token('c'), token('a')), add(token('b'))])
      await kit().apply([add(token('d'))], OTHER)
      await kit().apply([add(token('a'))])
      expect(await idsTold()).toEqual(['c', 'a', 'b', 'd', 'a'])
      const all = await told()
      for (const [index, { position }] of all.entries()) {
        expect((await reads().outbox(2, position)).rows).toEqual(all.slice(index + 1, index + 3))
      }
      expect(await idsTold(2)).toEqual(['c', 'a'])
      const positions = (await told()).map(({ position }) => position)
      expect(new Set(positions).size).toBe(5)
    })

    test('[ST182] of many concurrent commits, those of one instance keep their order', async () => {
      const { event } = await kit().add()
      const row = kit().instance(event.id)
      await kit().apply([{ w: 'instance.put', row }])
      const others: Promise<unknown>[] = []
      for (let revision = 1; revision <= 12; revision += 1) {
        const guard = { g: 'version', of: 'instance', key: row.id, version: revision } as const
        const writes = [
          { w: 'instance.put', row: { ...row, revision: revision + 1 } } as const,
          add(token(`${revision}`)),
        ]
        others.push(...[1, 2].map((other) => kit().apply([add(token(`other ${revision} ${other}`))])))
        expect(await kit().store.commit(kit().commit([guard], writes))).toMatchObject({ ok: true })
      }
      await Promise.all(others)
      const ids = await idsTold()
      expect(ids).toHaveLength(36)
      expect(ids.filter((id) => !id.startsWith('other'))).toEqual(
        Array.from({ length: 12 }, (_, index) => `${index + 1}`),
      )
    })

    test('[ST183] a row is returned until it is deleted, and no other is deleted with it', async () => {
      await kit().apply([add(token('a'), token('b'), token('c'))])
      await kit().apply([add(token('theirs'))], OTHER)
      const [a, b, , theirs] = (await told()).map(({ position }) => position) as [
        number,
        number,
        number,
        number,
      ]
      await kit().apply([remove(b, theirs, 999_999)])
      expect(await idsTold()).toEqual(['a', 'c', 'theirs'])
      await kit().apply([remove(a, b)])
      await kit().apply([remove(theirs)], OTHER)
      expect(await idsTold()).toEqual(['c'])
      await kit().apply([remove()])
      expect(await idsTold()).toEqual(['c'])
    })

    test('[ST184] a position is never reused, so that a late delete deletes nothing else', async () => {
      await kit().apply([add(token('a'))])
      const [first] = await told()
      const late = remove(first?.position ?? 0)
      await kit().apply([late])
      await kit().reopen()
      await kit().apply([add(token('b'))])
      await kit().apply([late])
      expect(await idsTold()).toEqual(['b'])
    })

    test('[ST185] the rows come with their events, each once, except deleted ones', async () => {
      const tell = (id: NewOutboxRow['event'], tenant: TenantId = TENANT) =>
        kit().apply([add(token('x', { about: 'event', event: id, body: null }))], tenant)
      const [one, two] = [(await kit().add()).event, (await kit().add({ event: { data: '"ü"' } })).event]
      await tell(two.id)
      await tell(one.id)
      await tell(one.id)
      await tell(kit().ids.event())
      await tell(one.id, OTHER)
      const { rows, events } = await reads().outbox(10)
      expect(rows).toHaveLength(5)
      const find = (id: NewOutboxRow['event']) => id && kit().store.forTenant(TENANT).event(id)
      expect(events).toEqual([await find(one.id), await find(two.id)])
      expect((await reads().outbox(1)).events).toEqual([await find(two.id)])
    })

    test('[ST186] the count stops at the cap', async () => {
      expect(await reads().outboxCount(10)).toBe(0)
      await kit().apply([add(token('a'), token('b'), token('c'))])
      expect([await reads().outboxCount(10), await reads().outboxCount(2)]).toEqual([3, 2])
    })

    test('[ST202] since when the oldest is there', async () => {
      expect(await reads().outboxEldest()).toEqual({ at: null, heldBy: null })
      await kit().apply([add(token('a'))])
      const at = (await reads().outbox(1)).rows[0]?.createdAt
      await kit().advance(5_000)
      await kit().apply([add(token('b'))], OTHER)
      expect(await reads().outboxEldest()).toEqual({ at, heldBy: null })
    })

    test('[ST187] a dump has the rows by tenant and id, without their positions', async () => {
      await kit().apply([add(token('b'))], OTHER)
      await kit().apply([add(token('b', { body: null }), token('a'))])
      const { outbox } = await kit().store.system('verification').dump()
      const kept = { createdAt: START }
      expect(outbox).toEqual([
        { ...token('a'), ...kept, tenant: TENANT },
        { ...token('b', { body: null }), ...kept, tenant: TENANT },
        { ...token('b'), ...kept, tenant: OTHER },
      ])
    })

    test('[ST188] [ST95] neither a row nor its event is deleted before it was published', async () => {
      const { event, work } = await kit().add()
      const other = await kit().add({ tenant: OTHER })
      const settle = (id: WorkId): Write => ({
        w: 'work.settle',
        work: id,
        to: 'cancelled',
        note: EMPTY_NOTE,
        counters: { attempts: 0, waits: 0, losses: 0 },
      })
      await kit().apply([
        add(token(event.id, { about: 'event', event: event.id, body: null })),
        add(token('of nobody', { about: 'event', event: other.event.id, body: null })),
        settle(work.id),
      ])
      await kit().apply([settle(other.work.id)], OTHER)
      await kit().advance(3 * DAY)
      const prune = (tenant: TenantId) =>
        kit().store.prune({ tenant, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 })
      expect(await prune(TENANT)).toMatchObject({ events: 0, work: 0 })
      // Another tenant's row keeps nothing.
      expect(await prune(OTHER)).toMatchObject({ events: 1, work: 1 })
      const { rows, events } = await reads().outbox(10)
      expect(rows.map(({ id }) => id)).toEqual([event.id, 'of nobody'])
      expect(events.map(({ id }) => id)).toEqual([event.id])
      await kit().apply([remove(...rows.map(({ position }) => position))])
      expect(await prune(TENANT)).toMatchObject({ events: 1, work: 1 })
    })
  })
}
