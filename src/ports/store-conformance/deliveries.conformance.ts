// What deliveries ask of a store: what was answered to a try, and lists of one subscription's items among many.

import { describe, expect, test } from 'vitest'
import { EMPTY_NOTE, type SettledState, type WorkRow } from '../../core/work/index.ts'
import type { Write } from '../store.ts'
import { type AddOptions, type Kit, TENANT } from './kit.conformance.ts'

const SHOP = 'subscription:shop'
const counters = { attempts: 1, waits: 0, losses: 0 }

export function deliveryRules(kit: () => Kit): void {
  const reads = () => kit().store.forTenant(TENANT)
  const addDelivery = async (fields: AddOptions['work'] = {}, options: Omit<AddOptions, 'work'> = {}) =>
    (await kit().add({ ...options, work: { kind: 'delivery', consumer: SHOP, ...fields } })).work
  const settle = (work: WorkRow['id'], to: SettledState): Write => ({
    w: 'work.settle',
    work,
    to,
    counters,
    note: EMPTY_NOTE,
  })

  describe('deliveries', () => {
    test('[ST150] a try keeps what was answered as it is, and nothing where nothing was kept', async () => {
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

    test('[ST150] a try is noted in the commit that ends its item, before the end or behind it', async () => {
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
      // One behind the end of another item is its own.
      await kit().apply([settle(third.id, 'done'), append(first.id, 3)])
      expect(await reads().attempts(first.id)).toMatchObject([{ response: '1' }, { response: '3' }])
      expect(await reads().attempts(second.id)).toMatchObject([{ response: '2' }])
      expect(await reads().attempts(third.id)).toEqual([])
    })

    test('[ST151] a delivery is work as any other: claimed, given back and settled', async () => {
      const work = await addDelivery()
      const owner = await kit().join()
      const slots = [{ tenant: TENANT, consumer: SHOP, max: 9 }]
      const { items } = await kit().claim(owner, { slots })
      expect(items).toMatchObject([{ work: { id: work.id, kind: 'delivery', consumer: SHOP } }])
      await kit().apply([settle(work.id, 'cancelled')])
      await kit().reopen()
      expect(await reads().work(work.id)).toMatchObject({ kind: 'delivery', state: 'cancelled' })
    })
  })
}
