// What the events of this system need of a store: facts, which are appended, read by ranges of ids and removed by age.

import { describe, expect, test } from 'vitest'
import type { EventId, TenantId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import type { Write } from '../store.ts'
import { type Kit, OTHER, START, TENANT } from './kit.conformance.ts'

/** No fact contains it, but a store stores what it is given. */
const ODD = '["a\u0000b ü 😀"]'
const ALL = { after: 'evt_' as EventId, below: 'evt_~' as EventId, limit: 100 }

export function factRules(kit: () => Kit): void {
  const reads = (tenant: TenantId = TENANT) => kit().store.forTenant(tenant)
  const add = (id: EventId, body = '["x"]'): Write => ({ w: 'fact.add', fact: { id, body } })
  const idsOf = async (order: 'oldest' | 'newest', query: Partial<typeof ALL> = {}, tenant = TENANT) =>
    (await reads(tenant).facts({ ...ALL, ...query, order })).map(({ id }) => id)
  const prune = (factMs?: number, scanMax = 100, after: string | null = null) =>
    kit().store.prune({
      ...{ tenant: TENANT, keepMs: {}, otherwiseMs: 365 * DAY, after, scanMax },
      ...(factMs === undefined ? {} : { factMs }),
    })

  describe('facts', () => {
    test('[FA5] a fact is stored unchanged, with the instant of its commit', async () => {
      const id = kit().ids.event()
      await kit().advance(250)
      await kit().apply([add(id, ODD)])
      await kit().reopen()
      const stored = { id, tenant: TENANT, body: ODD, createdAt: START + 250 }
      expect(await reads().facts({ ...ALL, order: 'oldest' })).toEqual([stored])
      expect((await kit().store.system('verification').dump()).facts).toEqual([stored])
      // It is no event.
      expect(await reads().event(id)).toBeNull()
    })

    test('[FA5] facts are read by ranges of ids, in both orders, and belong to one tenant', async () => {
      const ids = [kit().ids.event(), kit().ids.event(), kit().ids.event(), kit().ids.event()] as const
      await kit().apply(ids.map((id) => add(id)))
      await kit().apply([add(ids[1])], OTHER)
      expect(await idsOf('oldest')).toEqual(ids)
      expect(await idsOf('newest', { limit: 2 })).toEqual([ids[3], ids[2]])
      expect(await idsOf('oldest', { after: ids[0], below: ids[3] })).toEqual([ids[1], ids[2]])
      expect(await idsOf('oldest', {}, OTHER)).toEqual([ids[1]])
    })

    test('[FA5] a fact of a refused or failed commit does not exist, and an id that exists stays', async () => {
      const { event } = await kit().add()
      const [refused, failed, twice] = [kit().ids.event(), kit().ids.event(), kit().ids.event()]
      const guard = { g: 'dedup', source: event.source, key: event.dedupKey } as const
      await kit().store.commit(kit().commit([guard], [add(refused)]))
      const again: Write = { w: 'event.append', event, dedupForMs: DAY }
      await expect(kit().store.commit(kit().commit([], [add(failed), again]))).rejects.toThrow()
      await kit().apply([add(twice)])
      await kit().apply([add(twice, '["other"]')])
      expect(await reads().facts({ ...ALL, order: 'oldest' })).toMatchObject([{ body: '["x"]' }])
      expect(await idsOf('oldest')).toEqual([twice])
    })

    test('[FA6] retention removes facts past their time, a bounded number at a time', async () => {
      const old = [kit().ids.event(), kit().ids.event(), kit().ids.event()]
      await kit().apply(old.map((id) => add(id)))
      await kit().advance(2 * DAY)
      const young = kit().ids.event()
      await kit().apply([add(young)])
      expect(await prune()).toMatchObject({ facts: 0, next: null })
      let [after, facts, calls]: [string | null, number, number] = [null, 0, 0]
      do {
        const gone = await prune(DAY, 2, after)
        ;[after, facts, calls] = [gone.next, facts + gone.facts, calls + 1]
      } while (after !== null)
      expect([facts, calls > 1]).toEqual([3, true])
      expect(await idsOf('oldest')).toEqual([young])
      expect(await prune(HOUR)).toMatchObject({ facts: 0, next: null })
    })
  })
}
