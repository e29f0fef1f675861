// Incarnations of nodes, and claims.

import { describe, expect, test } from 'vitest'
import type { Incarnation, NodeId, WorkId } from '../../core/foundation/ids/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { ClaimRequest, ClaimResult, Guard } from '../store.ts'
import { type Kit, OTHER, ROUTE, START, TENANT } from './kit.conformance.ts'

const counters = { attempts: 1, waits: 0, losses: 0 }
const NODE_B = 'node-b' as NodeId
const idsOf = (result: ClaimResult): readonly WorkId[] => result.items.map(({ work }) => work.id)

/** All leased jobs are lost by two crashes in a row. Returns the incarnation that is alive now. */
async function loseTwice(kit: () => Kit, slots?: ClaimRequest['slots']): Promise<Incarnation> {
  const owner = await kit().join()
  await kit().store.reclaim(10)
  await kit().claim(owner, slots === undefined ? {} : { slots })
  const next = await kit().join()
  await kit().store.reclaim(10)
  return next
}

export function leaseRules(kit: () => Kit): void {
  const workRow = (id: WorkId) => kit().store.forTenant(TENANT).work(id)

  describe('incarnations of nodes', () => {
    test('[ST40] incarnations only grow', async () => {
      const first = await kit().store.join(NODE_B, 5_000)
      expect(first).toEqual({ owner: first.owner, until: START + 5_000, now: START })
      await kit().advance(7)
      const second = await kit().store.join(NODE_B, 1_000)
      expect(second).toEqual({ owner: second.owner, until: START + 1_007, now: START + 7 })
      const third = await kit().join()
      expect(second.owner).toBeGreaterThan(first.owner)
      expect(third).toBeGreaterThan(second.owner)
      await kit().reopen()
      expect(await kit().join()).toBeGreaterThan(third)
    })

    test('[ST41] joining fences predecessors of the same node only', async () => {
      const [a1, b1] = [await kit().join(), await kit().join(NODE_B)]
      const ofA = await kit().add({ lease: a1 })
      const ofB = await kit().add({ lease: b1 })
      const a2 = await kit().join()
      expect(await kit().store.renew(a1, 30_000)).toBe('fenced')
      expect(await kit().store.renew(b1, 30_000)).not.toBe('fenced')
      expect(await kit().store.renew(a2, 30_000)).not.toBe('fenced')
      const guard = (work: WorkId, owner: Incarnation): Guard => ({ g: 'lease', work, owner, epoch: 1 })
      expect(await kit().ask(guard(ofA.work.id, a1))).toMatchObject({
        ok: false,
        found: { f: 'work', state: 'leased', owner: a1, epoch: 1 },
      })
      expect(await kit().ask(guard(ofB.work.id, b1))).toMatchObject({ ok: true })
    })

    test('[ST42] renewing extends the lease', async () => {
      const owner = await kit().join()
      await kit().advance(29_999)
      const answer = { until: START + 39_999, now: START + 29_999 }
      expect(await kit().store.renew(owner, 10_000)).toEqual(answer)
      await kit().advance(9_999)
      expect(await kit().store.reclaim(10)).toEqual([])
      expect(await kit().store.renew(owner, 10_000)).not.toBe('fenced')
    })

    test('[ST42] of two renewals the longer one holds, whichever comes last', async () => {
      const owner = await kit().join()
      expect(await kit().store.renew(owner, 300_000)).toEqual({ until: START + 300_000, now: START })
      await kit().advance(1_000)
      const answer = { until: START + 300_000, now: START + 1_000 }
      expect(await kit().store.renew(owner, 30_000)).toEqual(answer)
      await kit().advance(60_000)
      expect(await kit().store.reclaim(10)).toEqual([])
      expect(await kit().store.renew(owner, 30_000)).not.toBe('fenced')
    })

    test('[ST43] an expired incarnation never comes back', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ lease: owner })
      await kit().advance(30_000)
      expect(await kit().store.renew(owner, 30_000)).toBe('fenced')
      expect(await kit().store.renew(owner, 30_000)).toBe('fenced')
      expect((await kit().claim(owner)).items).toEqual([])
      expect(await kit().store.reclaim(10)).toEqual([work.id])
      expect(await kit().store.renew(owner, 30_000)).toBe('fenced')
      expect(await kit().store.renew(999_999 as Incarnation, 30_000)).toBe('fenced')
    })

    test('[ST43] a clock that is set back revives none', async () => {
      const owner = await kit().join()
      await kit().advance(30_000)
      expect(await kit().store.renew(owner, 30_000)).toBe('fenced')
      await kit().advance(-20_000)
      expect(await kit().store.renew(owner, 30_000)).toBe('fenced')
      expect((await kit().add({ lease: owner })).leased).toEqual([])
    })

    test('[ST44] jobs of the dead are put back, lowest id first', async () => {
      const [a, b] = [await kit().join(), await kit().join(NODE_B)]
      const held = []
      for (const lease of [b, a, b, a, b]) held.push((await kit().add({ lease })).work.id)
      const [claimed] = [await kit().add({ delayMs: 100 })]
      await kit().advance(10_000)
      expect(idsOf(await kit().claim(b))).toEqual([claimed.work.id])
      await kit().store.renew(a, 300_000)
      await kit().advance(50_000)
      expect(await kit().store.reclaim(2)).toEqual([held[0], held[2]])
      expect(await kit().store.reclaim(10)).toEqual([held[4], claimed.work.id])
      expect(await kit().store.reclaim(10)).toEqual([])
      const given = { state: 'ready', owner: null, dueAt: START + 60_000, alone: true, losses: 0 }
      expect(await workRow(held[0]!)).toMatchObject({ ...given, epoch: 1 })
      expect(await workRow(claimed.work.id)).toMatchObject({ ...given, epoch: 1 })
      expect(await workRow(held[1]!)).toMatchObject({ state: 'leased', owner: a, alone: false })
      expect(await kit().store.renew(b, 30_000)).toBe('fenced')
    })

    test('[ST44] the lowest id comes first, whichever node held it', async () => {
      const [a, b] = [await kit().join(), await kit().join(NODE_B)]
      const held = []
      for (const lease of [b, a, b, a]) held.push((await kit().add({ lease })).work.id)
      await kit().advance(30_000)
      expect(await kit().store.reclaim(3)).toEqual(held.slice(0, 3))
    })

    test('[ST44] a fence also holds for jobs beyond the limit', async () => {
      const owner = await kit().join()
      const items = [await kit().add({ lease: owner }), await kit().add({ lease: owner })]
      await kit().advance(30_000)
      expect(await kit().store.reclaim(1)).toEqual([items[0]!.work.id])
      const guard: Guard = { g: 'lease', work: items[1]!.work.id, owner, epoch: 1 }
      expect(await kit().ask(guard)).toMatchObject({ ok: false })
    })

    test('[ST44] jobs of all tenants are put back', async () => {
      const owner = await kit().join()
      const items = [await kit().add({ lease: owner }), await kit().add({ lease: owner, tenant: OTHER })]
      await kit().join()
      expect(await kit().store.reclaim(10)).toEqual(items.map(({ work }) => work.id))
    })

    test('[ST45] only crashes beyond the first count', async () => {
      const { work } = await kit().add({ lease: await kit().join() })
      for (const losses of [0, 1, 2]) {
        const owner = await kit().join()
        expect(await kit().store.reclaim(10)).toEqual([work.id])
        expect(await workRow(work.id)).toMatchObject({ alone: true, losses, epoch: losses + 1 })
        expect(idsOf(await kit().claim(owner))).toEqual([work.id])
        expect(await workRow(work.id)).toMatchObject({ alone: true, losses, epoch: losses + 2 })
      }
      await kit().apply([{ w: 'work.again', work: work.id, delayMs: 0, counters, note: EMPTY_NOTE }])
      await kit().claim(await kit().join())
      await kit().join()
      await kit().store.reclaim(10)
      expect(await workRow(work.id)).toMatchObject({ alone: true, losses: 0 })
    })

    test('[ST200] a node that leaves is fenced at once, and its jobs are ready for others, of all tenants', async () => {
      const [owner, other] = [await kit().join(), await kit().join(NODE_B)]
      const held = [await kit().add({ lease: owner }), await kit().add({ lease: owner, tenant: OTHER })]
      const [claimed, foreign] = [await kit().add({ delayMs: 100 }), await kit().add({ lease: other })]
      await kit().advance(10_000)
      expect(idsOf(await kit().claim(owner))).toEqual([claimed.work.id])
      const given = [...held, claimed].map(({ work }) => work.id)
      expect(await kit().store.leave(owner)).toEqual(given)
      expect(await kit().store.leave(owner)).toEqual([])
      expect(await kit().store.renew(owner, 30_000)).toBe('fenced')
      const guard: Guard = { g: 'lease', work: claimed.work.id, owner, epoch: 1 }
      expect(await kit().ask(guard)).toMatchObject({ ok: false })
      expect((await kit().add({ lease: owner })).leased).toEqual([])
      expect(await workRow(foreign.work.id)).toMatchObject({ state: 'leased', owner: other })
      expect(await kit().store.leave(999_999 as Incarnation)).toEqual([])
      const freed = { state: 'ready', owner: null, dueAt: START + 10_000, epoch: 1, alone: false, losses: 0 }
      expect(await workRow(claimed.work.id)).toMatchObject(freed)
      expect(await kit().store.reclaim(10)).toEqual([])
    })

    test('[ST201] leaving counts no crash, and an isolated job stays isolated', async () => {
      const { work } = await kit().add({ lease: await kit().join() })
      const owner = await kit().join()
      expect(await kit().store.reclaim(10)).toEqual([work.id])
      expect(idsOf(await kit().claim(owner))).toEqual([work.id])
      expect(await kit().store.leave(owner)).toEqual([work.id])
      expect(await workRow(work.id)).toMatchObject({ state: 'ready', alone: true, losses: 0, epoch: 2 })
      expect(idsOf(await kit().claim(await kit().join()))).toEqual([work.id])
    })

    test('[ST46] a stale owner is refused', async () => {
      const stale = await kit().join()
      const { work } = await kit().add({ lease: stale })
      const guard: Guard = { g: 'lease', work: work.id, owner: stale, epoch: 1 }
      await kit().advance(30_000)
      await kit().store.reclaim(10)
      expect(await kit().ask(guard)).toMatchObject({
        found: { f: 'work', state: 'ready', owner: null, epoch: 1 },
      })
      const next = await kit().join()
      await kit().claim(next)
      const found = { f: 'work', state: 'leased', owner: next, epoch: 2 }
      expect(await kit().ask(guard)).toMatchObject({ found })
      expect(await kit().ask({ ...guard, owner: next })).toMatchObject({ found })
      expect(await kit().ask({ ...guard, owner: next, epoch: 2 })).toMatchObject({ ok: true })
    })

    test('[ST46] an own lease of an earlier epoch is stale too', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ lease: owner })
      await kit().apply([{ w: 'work.again', work: work.id, delayMs: 0, counters, note: EMPTY_NOTE }])
      await kit().claim(owner)
      const guard: Guard = { g: 'lease', work: work.id, owner, epoch: 1 }
      expect(await kit().ask(guard)).toMatchObject({ ok: false })
      expect(await kit().ask({ ...guard, epoch: 2 })).toMatchObject({ ok: true })
    })
  })
}

export function claimRules(kit: () => Kit): void {
  const slot = (consumer: string, max: number, tenant = TENANT) => ({ tenant, consumer, max })

  describe('claims', () => {
    test('[ST50] oldest due first, then by id, each with its event', async () => {
      const owner = await kit().join()
      const late = await kit().add({ delayMs: 30 })
      const soon = await kit().add({ delayMs: 10 })
      const twins = [await kit().add({ delayMs: 20 }), await kit().add({ delayMs: 20 })]
      await kit().add({ delayMs: 41 })
      await kit().advance(40)
      const result = await kit().claim(owner)
      const expected = [soon, ...twins, late]
      expect(result).toEqual({
        items: await Promise.all(
          expected.map(async ({ work, event }) => ({
            work: await kit().store.forTenant(TENANT).work(work.id),
            event: await kit().store.forTenant(TENANT).event(event.id),
          })),
        ),
        nextDueAt: START + 41,
        now: START + 40,
      })
      for (const { work } of result.items) {
        expect(work).toMatchObject({ state: 'leased', owner, epoch: 1, alone: false })
      }
    })

    test('[ST50] a job is due at its instant, not before', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ delayMs: 10 })
      await kit().advance(9)
      expect(await kit().claim(owner)).toEqual({ items: [], nextDueAt: START + 10, now: START + 9 })
      await kit().advance(1)
      expect(idsOf(await kit().claim(owner))).toEqual([work.id])
    })

    test('[ST50] the epoch grows with every claim', async () => {
      const owner = await kit().join()
      const { work } = await kit().add()
      for (const epoch of [1, 2, 3]) {
        expect((await kit().claim(owner)).items[0]?.work).toMatchObject({ id: work.id, epoch })
        await kit().apply([{ w: 'work.again', work: work.id, delayMs: 0, counters, note: EMPTY_NOTE }])
      }
    })

    test('[ST51] slots in order, with their limits and the limit of all', async () => {
      const owner = await kit().join()
      const added = { a: [] as WorkId[], b: [] as WorkId[], c: [] as WorkId[] }
      for (const consumer of ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c'] as const) {
        added[consumer].push((await kit().add({ work: { consumer } })).work.id)
      }
      const result = await kit().claim(owner, { slots: [slot('c', 2), slot('a', 0), slot('b', 9)], max: 4 })
      expect(idsOf(result)).toEqual([...added.c.slice(0, 2), ...added.b.slice(0, 2)])
      expect(result.nextDueAt).toBe(START)
      const rest = await kit().claim(owner, { slots: [slot('a', 9), slot('b', 9), slot('c', 9)] })
      expect(idsOf(rest)).toEqual([...added.a, added.b[2], added.c[2]])
      expect(rest.nextDueAt).toBeNull()
    })

    test('[ST51] slots of several tenants', async () => {
      const owner = await kit().join()
      const own = await kit().add()
      const other = await kit().add({ tenant: OTHER })
      expect(idsOf(await kit().claim(owner))).toEqual([own.work.id])
      const result = await kit().claim(owner, { slots: [slot(ROUTE, 5), slot(ROUTE, 5, OTHER)] })
      expect(idsOf(result)).toEqual([other.work.id])
      expect(result.items[0]?.work.tenant).toBe(OTHER)
      expect(result.items[0]?.event.tenant).toBe(OTHER)
    })

    test('[ST51] no slot, no job', async () => {
      const owner = await kit().join()
      await kit().add()
      expect(await kit().claim(owner, { slots: [] })).toEqual({ items: [], nextDueAt: null, now: START })
      expect(await kit().claim(owner, { max: 0 })).toEqual({ items: [], nextDueAt: START, now: START })
    })

    test('[ST52] a job that one crash left is claimed like others', async () => {
      const dead = await kit().join()
      const lost = []
      for (let count = 0; count < 5; count += 1) lost.push((await kit().add({ lease: dead })).work.id)
      const owner = await kit().join()
      await kit().store.reclaim(10)
      const fresh = await kit().add()
      expect(idsOf(await kit().claim(owner, { maxIsolated: 0 }))).toEqual([...lost, fresh.work.id])
    })

    test('[ST52] few isolated jobs, others after them', async () => {
      const dead = await kit().join()
      const lost = [await kit().add({ lease: dead }), await kit().add({ lease: dead })]
      const owner = await loseTwice(kit)
      await kit().advance(5)
      const fresh = await kit().add()
      const none = await kit().claim(owner, { maxIsolated: 0, max: 0 })
      expect(none).toEqual({ items: [], nextDueAt: START, now: START + 5 })
      const result = await kit().claim(owner, { maxIsolated: 1 })
      expect(idsOf(result)).toEqual([lost[0]!.work.id, fresh.work.id])
      expect(result.items.map(({ work }) => work.alone)).toEqual([true, false])
      expect(result.nextDueAt).toBe(START)
      expect(idsOf(await kit().claim(owner, { maxIsolated: 1 }))).toEqual([lost[1]!.work.id])
    })

    test('[ST52] the limit of isolated jobs counts over all slots', async () => {
      const dead = await kit().join()
      const lost = []
      for (const consumer of ['a', 'b', 'b']) lost.push(await kit().add({ lease: dead, work: { consumer } }))
      const slots = [slot('a', 5), slot('b', 5)]
      const owner = await loseTwice(kit, slots)
      expect(idsOf(await kit().claim(owner, { slots, maxIsolated: 2 }))).toEqual(
        lost.slice(0, 2).map(({ work }) => work.id),
      )
    })

    test('[ST53] only code that the node has', async () => {
      const owner = await kit().join()
      const plain = await kit().add({ work: { codeHash: null } })
      const one = await kit().add({ work: { codeHash: 'hash-1' } })
      const two = await kit().add({ work: { codeHash: 'hash-2' } })
      expect(idsOf(await kit().claim(owner, { codeHashes: ['hash-2', 'hash-3'] }))).toEqual([
        plain.work.id,
        two.work.id,
      ])
      expect(await kit().claim(owner)).toEqual({ items: [], nextDueAt: null, now: START })
      expect(idsOf(await kit().claim(owner, { codeHashes: ['hash-1'] }))).toEqual([one.work.id])
    })

    test('[ST54] the next due job of the requested slots', async () => {
      const owner = await kit().join()
      await kit().add({ delayMs: 500, work: { consumer: 'a' } })
      await kit().add({ delayMs: 300, work: { consumer: 'b' } })
      await kit().add({ delayMs: 100, work: { consumer: 'c' } })
      await kit().add({ delayMs: 50, work: { consumer: 'a', codeHash: 'hash-1' } })
      await kit().add({ delayMs: 200, work: { consumer: 'a' }, tenant: OTHER })
      const nextDueAt = async (...slots: ReturnType<typeof slot>[]) =>
        (await kit().claim(owner, { slots })).nextDueAt
      expect(await nextDueAt(slot('a', 1))).toBe(START + 500)
      expect(await nextDueAt(slot('a', 1), slot('b', 1))).toBe(START + 300)
      expect(await nextDueAt(slot('a', 1, OTHER), slot('b', 0))).toBe(START + 200)
      expect(await nextDueAt(slot('d', 1))).toBeNull()
      expect(await nextDueAt(slot('c', 0))).toBe(START + 100)
    })

    test('[ST54] jobs that a limit left are due at their original time', async () => {
      const owner = await kit().join()
      for (const delayMs of [10, 20, 30]) await kit().add({ delayMs })
      await kit().advance(100)
      expect((await kit().claim(owner, { max: 1 })).nextDueAt).toBe(START + 20)
      expect((await kit().claim(owner, { slots: [slot(ROUTE, 1)] })).nextDueAt).toBe(START + 30)
      expect((await kit().claim(owner)).nextDueAt).toBeNull()
    })

    test('[ST55] an owner that is not alive claims nothing', async () => {
      const fenced = await kit().join()
      await kit().join()
      const expired = await kit().join(NODE_B, 1_000)
      await kit().add()
      await kit().advance(1_000)
      for (const owner of [fenced, expired, 999_999 as Incarnation]) {
        expect(await kit().claim(owner)).toEqual({ items: [], nextDueAt: null, now: START + 1_000 })
      }
      expect(idsOf(await kit().claim(await kit().join()))).toHaveLength(1)
    })

    test('[ST56] concurrent claims share the jobs', async () => {
      const owners = [await kit().join(), await kit().join(NODE_B)]
      const all = []
      for (let count = 0; count < 20; count += 1) all.push((await kit().add()).work.id)
      const results = await Promise.all(
        Array.from({ length: 6 }, (_, index) => kit().claim(owners[index % 2]!, { max: 4 })),
      )
      const claimed = results.flatMap(idsOf)
      claimed.push(...idsOf(await kit().claim(owners[0]!)))
      expect(claimed.sort()).toEqual(all)
    })
  })
}
