// Guards: each kind, holding and refused, with what it finds.

import { describe, expect, test } from 'vitest'
import { LEDGER_STATES } from '../../core/effects/ledger/index.ts'
import type { Incarnation, NodeId } from '../../core/foundation/ids/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Guard } from '../store.ts'
import { type Kit, TENANT } from './kit.conformance.ts'

const counters = { attempts: 1, waits: 0, losses: 0 }

export function guardRules(kit: () => Kit): void {
  const holds = async (guard: Guard) => {
    expect(await kit().ask(guard)).toEqual({ ok: true, at: kit().now(), leased: [] })
  }
  const finds = async (guard: Guard, found: unknown) => {
    expect(await kit().ask(guard)).toEqual({ ok: false, at: kit().now(), guard: 0, found })
  }

  describe('guards', () => {
    test('[ST10] a lease needs its owner and its epoch', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ lease: owner })
      const guard: Guard = { g: 'lease', work: work.id, owner, epoch: 1 }
      const found = { f: 'work', state: 'leased', owner, epoch: 1 }
      await holds(guard)
      await finds({ ...guard, epoch: 0 }, found)
      await finds({ ...guard, epoch: 2 }, found)
      await finds({ ...guard, owner: await kit().join('node-b' as NodeId) }, found)
      await finds({ ...guard, owner: 999_999 as Incarnation }, found)
      await kit().apply([{ w: 'work.settle', work: work.id, to: 'parked', counters, note: EMPTY_NOTE }])
      await finds(guard, { f: 'work', state: 'parked', owner: null, epoch: 1 })
    })

    test('[ST10] an owner may finish after its lease expired until it is fenced', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ lease: owner })
      const guard: Guard = { g: 'lease', work: work.id, owner, epoch: 1 }
      await kit().advance(60_000)
      await holds(guard)
      expect(await kit().store.renew(owner, 30_000)).toBe('fenced')
      await finds(guard, { f: 'work', state: 'leased', owner, epoch: 1 })
    })

    test('[ST11] a job needs its state and its epoch', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ lease: owner })
      await holds({ g: 'work', work: work.id, state: 'leased', epoch: 1 })
      await kit().apply([{ w: 'work.settle', work: work.id, to: 'parked', counters, note: EMPTY_NOTE }])
      await holds({ g: 'work', work: work.id, state: 'parked', epoch: 1 })
      const found = { f: 'work', state: 'parked', owner: null, epoch: 1 }
      await finds({ g: 'work', work: work.id, state: 'parked', epoch: 0 }, found)
      await finds({ g: 'work', work: work.id, state: 'ready', epoch: 1 }, found)
    })

    test('[ST12] a job that does not exist is found as null', async () => {
      const owner = await kit().join()
      const work = kit().ids.work()
      await finds({ g: 'lease', work, owner, epoch: 1 }, null)
      await finds({ g: 'work', work, state: 'ready', epoch: 0 }, null)
    })

    test('[ST13] a key counts for its source until its window ends', async () => {
      const event = kit().event({ source: 'shop', dedupKey: 'order-1' })
      await kit().apply([{ w: 'event.append', event, dedupForMs: 1_000 }])
      const guard: Guard = { g: 'dedup', source: 'shop', key: 'order-1' }
      await finds(guard, { f: 'event', id: event.id })
      await holds({ ...guard, source: 'shop2' })
      await holds({ ...guard, key: 'order-2' })
      await kit().advance(999)
      await finds(guard, { f: 'event', id: event.id })
      await kit().advance(1)
      await holds(guard)
    })

    test('[ST13] an empty window never counts', async () => {
      const event = kit().event({ dedupKey: 'order-1' })
      await kit().apply([{ w: 'event.append', event, dedupForMs: 0 }])
      await holds({ g: 'dedup', source: event.source, key: 'order-1' })
    })

    test('[ST13] source and key are not concatenated ambiguously', async () => {
      const event = kit().event({ source: 'a', dedupKey: 'b:c' })
      await kit().apply([{ w: 'event.append', event, dedupForMs: 1_000 }])
      await holds({ g: 'dedup', source: 'a:b', key: 'c' })
      await holds({ g: 'dedup', source: 'ab', key: ':c' })
    })

    test('[ST14] the next event takes the key over', async () => {
      const first = kit().event({ dedupKey: 'order-1' })
      await kit().apply([{ w: 'event.append', event: first, dedupForMs: 1_000 }])
      await kit().advance(5_000)
      const guard: Guard = { g: 'dedup', source: first.source, key: 'order-1' }
      const second = kit().event({ dedupKey: 'order-1' })
      const result = await kit().store.commit(
        kit().commit([guard], [{ w: 'event.append', event: second, dedupForMs: 1_000 }]),
      )
      expect(result).toMatchObject({ ok: true })
      await kit().advance(999)
      await finds(guard, { f: 'event', id: second.id })
      expect(await kit().store.forTenant(TENANT).event(first.id)).toMatchObject({ dedupKey: 'order-1' })
    })

    test('[ST15] unreserved finds any entry', async () => {
      const { work } = await kit().add()
      const entry = kit().entry(work)
      const guard: Guard = { g: 'unreserved', key: entry.key }
      await holds(guard)
      await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 1_000 }])
      const reads = kit().store.forTenant(TENANT)
      await finds(guard, { f: 'ledger', entry: await reads.ledger(entry.key) })
      for (const to of ['unknown', 'released', 'done'] as const) {
        await kit().apply([
          { w: 'ledger.settle', key: entry.key, to, proof: 'probe', effectRef: null, result: null },
        ])
        await finds(guard, { f: 'ledger', entry: await reads.ledger(entry.key) })
      }
    })

    test('[ST16] ledger needs state, job and epoch', async () => {
      const { work } = await kit().add()
      const entry = kit().entry(work, { epoch: 3 })
      const guard: Guard = { g: 'ledger', key: entry.key, state: 'reserved', work: work.id, epoch: 3 }
      await finds(guard, null)
      await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 1_000 }])
      await holds(guard)
      const found = { f: 'ledger', entry: await kit().store.forTenant(TENANT).ledger(entry.key) }
      for (const state of LEDGER_STATES.filter((name) => name !== 'reserved')) {
        await finds({ ...guard, state }, found)
      }
      await finds({ ...guard, work: kit().ids.work() }, found)
      await finds({ ...guard, epoch: 2 }, found)
    })

    test('[ST17] version of a record, 0 while it is absent', async () => {
      const guard: Guard = { g: 'version', of: 'definition', key: 'route:crm', version: 0 }
      await holds(guard)
      await finds({ ...guard, version: 1 }, null)
      await kit().apply([{ w: 'record.put', kind: 'definition', key: 'route:crm', version: 3, body: '{}' }])
      await holds({ ...guard, version: 3 })
      await finds(guard, { f: 'version', version: 3 })
      await finds({ ...guard, version: 2 }, { f: 'version', version: 3 })
      await holds({ ...guard, of: 'bundle' })
    })

    test('[ST17] version of a dead letter, 0 while it is absent', async () => {
      const { work } = await kit().add()
      const row = kit().deadLetter(work)
      const guard: Guard = { g: 'version', of: 'deadLetter', key: row.id, version: 0 }
      await holds(guard)
      await finds({ ...guard, version: 1 }, null)
      await kit().apply([{ w: 'deadLetter.put', row }])
      await holds({ ...guard, version: 1 })
      await finds(guard, { f: 'version', version: 1 })
      await kit().apply([{ w: 'deadLetter.put', row: { ...row, version: 2, state: 'discarded' } }])
      await finds({ ...guard, version: 1 }, { f: 'version', version: 2 })
    })
  })
}
