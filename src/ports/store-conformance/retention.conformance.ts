// Retention: what is deleted, what stays, and how a walk continues.

import { describe, expect, test } from 'vitest'
import type { EventId, TenantId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type SettledState } from '../../core/queue/work/index.ts'
import type { PruneRequest } from '../../core/store/retention/index.ts'
import type { Write } from '../store.ts'
import { type Added, type Kit, OTHER, TENANT } from './kit.conformance.ts'

const COUNTERS = { attempts: 1, waits: 0, losses: 0 }
const NOTHING = {
  events: 0,
  work: 0,
  attempts: 0,
  deadLetters: 0,
  dedup: 0,
  failures: 0,
  ledger: 0,
  lanes: 0,
  escalations: 0,
  instances: 0,
  history: 0,
  orphans: 0,
  runs: 0,
  facts: 0,
  next: null,
}

export function retentionRules(kit: () => Kit): void {
  const reads = (tenant: TenantId = TENANT) => kit().store.forTenant(tenant)
  const prune = (fields: Partial<PruneRequest> = {}) =>
    kit().store.prune({ tenant: TENANT, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100, ...fields })
  const settle = ({ work }: Pick<Added, 'work'>, to: SettledState = 'done'): Write => ({
    w: 'work.settle',
    work: work.id,
    to,
    counters: COUNTERS,
    note: EMPTY_NOTE,
  })
  const isThere = async (id: EventId) => (await reads().event(id)) !== null
  /** One with a job, whose window is an hour. */
  const add = async (fields: Parameters<Kit['event']>[0] = {}) => {
    const event = kit().event({ matched: 1, ...fields })
    const work = kit().work(event.id)
    await kit().apply([
      { w: 'event.append', event, dedupForMs: HOUR },
      { w: 'work.add', work, lease: null, delayMs: 0 },
    ])
    return { event, work, leased: [] }
  }

  describe('retention', () => {
    test('[ST94] events are deleted once they are as old as their source says', async () => {
      const shop = await add({ source: 'shop' })
      const crm = await add({ source: 'crm' })
      const odd = await add({ source: 'constructor' })
      await kit().apply([settle(shop), settle(crm), settle(odd)])
      const keep = { keepMs: { shop: 2 * DAY }, otherwiseMs: 3 * DAY }
      await kit().advance(2 * DAY - 1)
      expect(await prune(keep)).toEqual(NOTHING)
      await kit().advance(1)
      expect(await prune(keep)).toEqual({ ...NOTHING, events: 1, work: 1, dedup: 1 })
      expect(await isThere(shop.event.id)).toBe(false)
      await kit().advance(DAY)
      expect(await prune(keep)).toMatchObject({ events: 2 })
      expect((await kit().store.system('verification').dump()).events).toEqual([])
    })

    test('[ST95] nothing is deleted that is still needed', async () => {
      const states = ['done', 'skipped', 'dead', 'cancelled', 'parked', 'merged'] as const
      const settled = new Map<string, Added>()
      for (const to of states) settled.set(to, await add())
      const [ready, leased, half] = [await add(), await add(), await add()]
      const second = kit().work(half.event.id)
      const owner = await kit().join()
      const held = kit().work(leased.event.id)
      await kit().apply([
        ...states.map((to) => settle(settled.get(to)!, to)),
        settle(leased),
        settle(half),
        { w: 'work.add', work: held, lease: owner, delayMs: 0 },
        { w: 'work.add', work: second, lease: null, delayMs: 0 },
      ])
      await kit().advance(DAY)
      expect(await prune()).toMatchObject({ events: 4, work: 4 })
      for (const to of ['parked', 'merged']) expect(await isThere(settled.get(to)!.event.id)).toBe(true)
      for (const { event } of [ready, leased, half]) expect(await isThere(event.id)).toBe(true)
      expect(await reads().work(half.work.id)).not.toBeNull()
      await kit().apply([settle({ work: second })])
      expect(await prune()).toMatchObject({ events: 1, work: 2 })
    })

    test('[ST101] events that rules made of an event are deleted with it, and not before', async () => {
      const parent = await add()
      const child = await add({ source: 'source:shop', causationId: parent.event.id })
      const emitted = await add({ source: 'route:crm', causationId: parent.event.id })
      await kit().apply([settle(child), settle(emitted)])
      await kit().advance(DAY)
      expect(await prune()).toMatchObject({ events: 1 })
      expect(await isThere(emitted.event.id)).toBe(false)
      expect(await isThere(child.event.id)).toBe(true)
      await kit().apply([settle(parent)])
      expect(await prune()).toMatchObject({ events: 2, work: 2 })
      const orphan = await add({ source: 'source:shop', causationId: parent.event.id })
      await kit().apply([settle(orphan)])
      await kit().advance(DAY)
      expect(await prune()).toMatchObject({ events: 1 })
    })

    test('[ST95] nor with an open dead letter, or an effect in progress or with an unknown outcome', async () => {
      const letters = ['open', 'ready_to_replay', 'replaying', 'resolved', 'discarded'] as const
      const added = await Promise.all(letters.map(() => add()))
      const effects = ['reserved', 'unknown', 'released', 'done'] as const
      const called = await Promise.all(effects.map(() => add()))
      for (const [index, state] of letters.entries()) {
        const row = kit().deadLetter(added[index]!.work, { state })
        await kit().apply([settle(added[index]!, 'dead'), { w: 'deadLetter.put', row }])
      }
      for (const [index, to] of effects.entries()) {
        const entry = kit().entry(called[index]!.work)
        await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 1 }, settle(called[index]!)])
        if (to === 'reserved') continue
        const proof = { proof: 'person', effectRef: null, result: null } as const
        await kit().apply([{ w: 'ledger.settle', key: entry.key, to, ...proof }])
      }
      await kit().advance(DAY)
      expect(await prune()).toMatchObject({ events: 4, work: 4, deadLetters: 2 })
      const left = async (rows: readonly Added[]) => Promise.all(rows.map(({ event }) => isThere(event.id)))
      expect(await left(added)).toEqual([true, true, true, false, false])
      expect(await left(called)).toEqual([true, true, false, false])
    })

    test('[ST96] an event stays while its dedup window is open, and its key is free afterwards', async () => {
      const { event, work } = await add({ dedupKey: 'k1' })
      const late = await add({ dedupKey: 'k2' })
      await kit().apply([settle({ work }), settle(late)])
      const dedup = { g: 'dedup', source: 'shop', key: 'k1' } as const
      await kit().advance(HOUR - 1)
      expect(await prune({ otherwiseMs: 0 })).toEqual(NOTHING)
      expect(await kit().ask(dedup)).toMatchObject({ ok: false, found: { f: 'event', id: event.id } })
      await kit().advance(1)
      const again = await add({ dedupKey: 'k2' })
      // The later event has the key now: deleting the first does not delete its window.
      expect(await prune({ otherwiseMs: 1 })).toEqual({ ...NOTHING, events: 2, work: 2, dedup: 1 })
      expect(await kit().ask(dedup)).toMatchObject({ ok: true })
      expect(await kit().ask({ ...dedup, key: 'k2' })).toMatchObject({ found: { id: again.event.id } })
      await kit().reopen()
      expect(await kit().ask({ ...dedup, key: 'k2' })).toMatchObject({ found: { id: again.event.id } })
      await add({ dedupKey: 'k1' })
      expect(await kit().ask(dedup)).toMatchObject({ ok: false })
    })

    test('[ST97] everything that belongs to an event is deleted with it; the ledger and all else stays', async () => {
      const [first, other] = [await add(), await add()]
      const entry = kit().entry(first.work, { key: 'effect' })
      const row = kit().deadLetter(first.work, { state: 'resolved' })
      await kit().apply([
        { w: 'ledger.done', entry, effectRef: 'ref', result: '1' },
        { w: 'event.repeat', event: first.event.id, count: 2 },
        { w: 'attempt.append', work: first.work.id, attempt: kit().attempt(1) },
        { w: 'attempt.append', work: first.work.id, attempt: kit().attempt(2) },
        { w: 'attempt.append', work: other.work.id, attempt: kit().attempt(1) },
        { w: 'deadLetter.put', row },
        { w: 'record.put', kind: 'setting', key: 'a', version: 1, body: 'b' },
        settle(first, 'dead'),
      ])
      await kit().apply([{ w: 'ledger.observe', key: 'effect', evidence: '{}' }])
      const before = await kit().store.system('verification').dump()
      await kit().advance(DAY)
      expect(await prune()).toEqual({
        ...NOTHING,
        events: 1,
        work: 1,
        attempts: 2,
        deadLetters: 1,
        dedup: 1,
      })
      const after = await kit().store.system('verification').dump()
      expect(after).toEqual({
        ...before,
        events: before.events.filter(({ id }) => id === other.event.id),
        work: before.work.filter(({ id }) => id === other.work.id),
        attempts: before.attempts.filter(({ work }) => work === other.work.id),
        deadLetters: [],
      })
      expect(await reads().ledger('effect')).toMatchObject({ state: 'done', result: '1', evidence: ['{}'] })
      expect(await reads().attempts(first.work.id)).toEqual([])
      expect(await reads().workOfEvent(first.event.id)).toEqual([])
    })

    test('[ST98] a walk reads so many events at a time, and continues after them', async () => {
      const added: Added[] = []
      for (let index = 0; index < 5; index += 1) added.push(await add())
      await kit().apply(added.filter((_, index) => index !== 1).map((one) => settle(one)))
      await kit().advance(DAY)
      const fresh = await add()
      await kit().apply([settle(fresh)])
      const steps: unknown[] = []
      let after: string | null = null
      do {
        const { events, next } = await prune({ after, scanMax: 2 })
        steps.push([events, next])
        after = next
      } while (after !== null && steps.length < 9)
      // An event so young that none of its source can be deleted is not read.
      expect(steps).toEqual([
        [1, added[1]!.event.id],
        [2, added[3]!.event.id],
        [1, null],
      ])
      expect(await isThere(added[1]!.event.id)).toBe(true)
      expect(await isThere(fresh.event.id)).toBe(true)
    })

    test('[ST99] another tenant’s events are not touched', async () => {
      const { event, work } = await kit().add({ tenant: OTHER })
      await kit().apply([settle({ work })], OTHER)
      const own = await add({ dedupKey: event.dedupKey })
      await kit().apply([settle(own)])
      await kit().advance(DAY)
      expect(await prune({ tenant: 'nobody' as TenantId })).toEqual(NOTHING)
      expect(await prune()).toMatchObject({ events: 1 })
      expect(await reads(OTHER).event(event.id)).not.toBeNull()
      expect(await reads(OTHER).work(work.id)).not.toBeNull()
    })

    test('[ST100] deleted rows stay deleted, and several walks may run at once', async () => {
      const added = await Promise.all(Array.from({ length: 20 }, () => add()))
      await kit().apply(added.map((one) => settle(one)))
      await kit().advance(DAY)
      const walks = await Promise.all([prune(), prune(), prune()])
      expect(walks.reduce((sum, { events }) => sum + events, 0)).toBe(20)
      await kit().reopen()
      expect(await prune()).toEqual(NOTHING)
      expect((await kit().store.system('verification').dump()).work).toEqual([])
      const { event } = await add()
      expect(await isThere(event.id)).toBe(true)
    })
  })
}
