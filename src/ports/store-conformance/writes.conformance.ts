// Writes: the rows that each kind leaves.

import { describe, expect, test } from 'vitest'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { StoredEvent } from '../../core/events/event/index.ts'
import type { Incarnation, NodeId } from '../../core/foundation/ids/index.ts'
import type { Note, WorkRow } from '../../core/queue/work/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import { type Kit, START, TENANT } from './kit.conformance.ts'

const counters = { attempts: 2, waits: 3, losses: 1 }
const note: Note = {
  key: 'crm:4711',
  class: 'transient',
  lastError: 'HTTP 503',
  effectRef: 'contact/9',
  httpStatus: 503,
  durationMs: 40,
}

export function writeRules(kit: () => Kit): void {
  const reads = () => kit().store.forTenant(TENANT)

  describe('events and jobs', () => {
    test('[ST20] an event with every field, and one with none', async () => {
      const full = kit().event({ matched: 2, causationId: kit().ids.event() })
      const bare = kit().event({ objectType: null, objectId: null, occurredAt: null })
      await kit().advance(10)
      await kit().apply([
        { w: 'event.append', event: full, dedupForMs: 1 },
        { w: 'event.append', event: bare, dedupForMs: 1 },
      ])
      const stored = { receivedAt: START + 10, duplicates: 0, lastDuplicateAt: null }
      expect(await reads().event(full.id)).toEqual({ ...full, ...stored } satisfies StoredEvent)
      expect(await reads().event(bare.id)).toEqual({ ...bare, ...stored })
      expect(await reads().event(kit().ids.event())).toBeNull()
    })

    test('[ST21] a job is ready on insert', async () => {
      const replayOf = kit().ids.deadLetter()
      const { work } = await kit().add({
        delayMs: 700,
        work: { codeHash: 'c1', replayOf, expiresInMs: 9_000 },
      })
      expect(await reads().work(work.id)).toEqual({
        id: work.id,
        tenant: TENANT,
        kind: 'route',
        consumer: work.consumer,
        definition: work.definition,
        codeHash: 'c1',
        eventId: work.eventId,
        state: 'ready',
        dueAt: START + 700,
        owner: null,
        epoch: 0,
        alone: false,
        attempts: 0,
        waits: 0,
        losses: 0,
        ...EMPTY_NOTE,
        createdAt: START,
        expiresAt: START + 9_000,
        processedAt: null,
        replayOf,
        element: null,
        lane: null,
        hasPlace: false,
        isFrozen: false,
        into: null,
        generation: 1,
        instance: null,
        step: null,
      } satisfies WorkRow)
    })

    test('[ST22] a job is leased on insert to an owner that is alive', async () => {
      const owner = await kit().join()
      const { work, leased } = await kit().add({ lease: owner, delayMs: 5 })
      expect(leased).toEqual([work.id])
      const row = { state: 'leased', owner, epoch: 1, dueAt: START + 5, alone: false }
      expect(await reads().work(work.id)).toMatchObject(row)
      expect((await kit().claim(owner)).items).toEqual([])
    })

    test('[ST22] only the jobs that were leased on insert are listed', async () => {
      const owner = await kit().join()
      const event = kit().event()
      const works = [1, 2, 3, 4].map(() => kit().work(event.id))
      const { leased } = await kit().apply([
        { w: 'event.append', event, dedupForMs: 1 },
        ...works.map((work, index) => ({
          w: 'work.add' as const,
          work,
          lease: index % 2 === 0 ? owner : null,
          delayMs: 0,
        })),
      ])
      expect(leased).toEqual([works[0]!.id, works[2]!.id])
    })

    test('[ST23] no lease on insert for an owner that is not alive', async () => {
      const fenced = await kit().join()
      await kit().join()
      const expired = await kit().join('node-b' as NodeId, 1_000)
      await kit().advance(1_000)
      for (const lease of [fenced, expired, 999_999 as Incarnation]) {
        const { work, leased } = await kit().add({ lease, delayMs: 50 })
        expect(leased).toEqual([])
        const row = { state: 'ready', owner: null, epoch: 0, dueAt: START + 1_050 }
        expect(await reads().work(work.id)).toMatchObject(row)
      }
    })

    test.each(['done', 'skipped', 'merged', 'parked', 'dead', 'cancelled'] as const)(
      '[ST24] settling as %s',
      async (to) => {
        const owner = await kit().join()
        const { work } = await kit().add({ lease: owner })
        const before = await reads().work(work.id)
        await kit().advance(80)
        await kit().apply([{ w: 'work.settle', work: work.id, to, counters, note }])
        const after = { ...before, ...counters, ...note, state: to, owner: null, processedAt: START + 80 }
        expect(await reads().work(work.id)).toEqual(after)
        expect((await kit().claim(owner)).items).toEqual([])
        await kit().advance(60_000)
        expect(await kit().store.reclaim(10)).toEqual([])
      },
    )

    test('[ST24] a job that a crash left behind stays marked when it is settled', async () => {
      const { work } = await kit().add({ lease: await kit().join() })
      const owner = await kit().join()
      await kit().store.reclaim(10)
      await kit().claim(owner)
      await kit().apply([{ w: 'work.settle', work: work.id, to: 'done', counters, note }])
      expect(await reads().work(work.id)).toMatchObject({ alone: true, epoch: 2, dueAt: START })
    })

    test('[ST73] a job that is added and settled in one commit', async () => {
      const event = kit().event()
      const work = kit().work(event.id)
      await kit().apply([
        { w: 'event.append', event, dedupForMs: 1 },
        { w: 'work.add', work, lease: null, delayMs: 0 },
        { w: 'work.settle', work: work.id, to: 'skipped', counters, note },
      ])
      const row = { state: 'skipped', owner: null, epoch: 0, processedAt: START, ...counters, ...note }
      expect(await reads().work(work.id)).toMatchObject(row)
      expect((await kit().claim(await kit().join())).items).toEqual([])
    })

    test('[ST25] again, later', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ lease: owner })
      const before = await reads().work(work.id)
      await kit().advance(80)
      await kit().apply([{ w: 'work.again', work: work.id, delayMs: 500, counters, note }])
      const after = { ...before, ...counters, ...note, state: 'ready', owner: null, dueAt: START + 580 }
      expect(await reads().work(work.id)).toEqual(after)
      await kit().advance(500)
      const [claimed] = (await kit().claim(owner)).items
      expect(claimed?.work).toEqual({ ...after, state: 'leased', owner, epoch: 2 })
    })

    test('[ST25] again ends the isolation', async () => {
      const { work } = await kit().add({ lease: await kit().join() })
      const owner = await kit().join()
      await kit().store.reclaim(10)
      await kit().claim(owner)
      expect(await reads().work(work.id)).toMatchObject({ alone: true, epoch: 2 })
      await kit().apply([{ w: 'work.again', work: work.id, delayMs: 0, counters, note }])
      expect(await reads().work(work.id)).toMatchObject({ alone: false, epoch: 2 })
    })

    test('[ST25] a parked job that is retried is no longer processed', async () => {
      const { work } = await kit().add()
      await kit().apply([{ w: 'work.settle', work: work.id, to: 'parked', counters, note }])
      await kit().apply([{ w: 'work.again', work: work.id, delayMs: 0, counters, note: EMPTY_NOTE }])
      const row = { state: 'ready', processedAt: null, ...EMPTY_NOTE }
      expect(await reads().work(work.id)).toMatchObject(row)
    })

    test('[ST26] attempts are only added', async () => {
      const { work } = await kit().add()
      const attempts = [
        kit().attempt(1),
        kit().attempt(1, { outcome: 'waited', class: 'rate_limited', httpStatus: 429 }),
        kit().attempt(2, { outcome: 'done', class: null, httpStatus: null, error: null }),
      ]
      for (const attempt of attempts) {
        await kit().apply([{ w: 'attempt.append', work: work.id, attempt }])
      }
      expect(await reads().attempts(work.id)).toEqual(attempts)
    })

    test('[ST34] a missing row is not changed', async () => {
      const work = kit().ids.work()
      await kit().apply([
        { w: 'work.settle', work, to: 'done', counters, note },
        { w: 'work.again', work: kit().ids.work(), delayMs: 0, counters, note },
        { w: 'attempt.append', work: kit().ids.work(), attempt: kit().attempt(1) },
        { w: 'ledger.settle', key: 'none either', to: 'done', proof: 'probe', effectRef: null, result: null },
        { w: 'ledger.observe', key: 'none', evidence: '{}' },
      ])
      const dump = await kit().store.system('verification').dump()
      expect(Object.values(dump).flat()).toEqual([])
    })
  })

  describe('ledger, dead letters and records', () => {
    test('[ST27] a first reserve', async () => {
      const { work } = await kit().add()
      const entry = kit().entry(work, { epoch: 4, objectId: null })
      await kit().advance(5)
      await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 2_000 }])
      expect(await reads().ledger(entry.key)).toEqual({
        ...entry,
        tenant: TENANT,
        generation: 1,
        state: 'reserved',
        proof: null,
        sendBy: START + 2_005,
        effectRef: null,
        result: null,
        evidence: [],
        createdAt: START + 5,
        settledAt: null,
      } satisfies LedgerEntry)
    })

    test.each(['released', 'unknown'] as const)('[ST28] a %s entry is taken over', async (to) => {
      const { work } = await kit().add()
      const entry = kit().entry(work)
      await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 2_000 }])
      await kit().apply([{ w: 'ledger.observe', key: entry.key, evidence: '"seen"' }])
      await kit().apply([
        { w: 'ledger.settle', key: entry.key, to, proof: 'not-applied', effectRef: 'x', result: '{}' },
      ])
      await kit().advance(100)
      const next = kit().entry((await kit().add()).work, { key: entry.key, epoch: 7, objectId: '9' })
      await kit().apply([{ w: 'ledger.reserve', entry: next, sendWithinMs: 2_000 }])
      expect(await reads().ledger(entry.key)).toEqual({
        ...next,
        tenant: TENANT,
        generation: 1,
        state: 'reserved',
        proof: null,
        sendBy: START + 2_100,
        effectRef: null,
        result: null,
        evidence: ['"seen"'],
        createdAt: START,
        settledAt: null,
      } satisfies LedgerEntry)
    })

    test('[ST28] a released entry is done at once', async () => {
      const { work } = await kit().add()
      const entry = kit().entry(work)
      await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 2_000 }])
      await kit().apply([
        {
          w: 'ledger.settle',
          key: entry.key,
          to: 'released',
          proof: 'person',
          effectRef: null,
          result: null,
        },
      ])
      await kit().advance(100)
      await kit().apply([{ w: 'ledger.done', entry: { ...entry, epoch: 2 }, effectRef: 'y', result: '1' }])
      expect(await reads().ledger(entry.key)).toMatchObject({
        state: 'done',
        proof: 'acknowledged',
        epoch: 2,
        effectRef: 'y',
        result: '1',
        sendBy: null,
        createdAt: START,
        settledAt: START + 100,
      })
    })

    test.each([
      ['done', 'acknowledged'],
      ['released', 'never-sent'],
      ['unknown', 'no-answer'],
    ] as const)('[ST29] settling as %s', async (to, proof) => {
      const { work } = await kit().add()
      const entry = kit().entry(work)
      await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 2_000 }])
      const before = await reads().ledger(entry.key)
      await kit().advance(30)
      await kit().apply([
        { w: 'ledger.settle', key: entry.key, to, proof, effectRef: 'contact/9', result: '{"id":9}' },
      ])
      expect(await reads().ledger(entry.key)).toEqual({
        ...before,
        state: to,
        proof,
        effectRef: 'contact/9',
        result: '{"id":9}',
        settledAt: START + 30,
      })
    })

    test('[ST30] done without a reserve before', async () => {
      const { work } = await kit().add()
      const entry = kit().entry(work)
      await kit().apply([{ w: 'ledger.done', entry, effectRef: 'file/1', result: null }])
      expect(await reads().ledger(entry.key)).toEqual({
        ...entry,
        tenant: TENANT,
        generation: 1,
        state: 'done',
        proof: 'acknowledged',
        sendBy: null,
        effectRef: 'file/1',
        result: null,
        evidence: [],
        createdAt: START,
        settledAt: START,
      } satisfies LedgerEntry)
    })

    test('[ST31] evidence is added, oldest first, and nothing else changes', async () => {
      const { work } = await kit().add()
      const entry = kit().entry(work)
      await kit().apply([{ w: 'ledger.reserve', entry, sendWithinMs: 2_000 }])
      const before = await reads().ledger(entry.key)
      const texts = ['"one"', '{"two":"]\\""}', '"one"', '']
      await kit().advance(30)
      await kit().apply([{ w: 'ledger.observe', key: entry.key, evidence: texts[0]! }])
      await Promise.all(
        texts.slice(1).map((evidence) => kit().apply([{ w: 'ledger.observe', key: entry.key, evidence }])),
      )
      expect(await reads().ledger(entry.key)).toEqual({ ...before, evidence: texts })
      await kit().apply([{ w: 'ledger.done', entry, effectRef: null, result: null }])
      await kit().apply([{ w: 'ledger.observe', key: entry.key, evidence: '"late"' }])
      const after = { state: 'done', evidence: [...texts, '"late"'] }
      expect(await reads().ledger(entry.key)).toMatchObject(after)
    })

    test('[ST32] a dead letter is written whole', async () => {
      const { work } = await kit().add()
      const first = kit().deadLetter(work)
      await kit().apply([{ w: 'deadLetter.put', row: first }])
      expect(await reads().deadLetter(first.id)).toEqual({
        ...first,
        tenant: TENANT,
        createdAt: START,
        updatedAt: START,
      })
      await kit().advance(40)
      const next = kit().deadLetter((await kit().add()).work, {
        id: first.id,
        version: 2,
        state: 'replaying',
        class: 'transient',
        reason: 'cap_reached',
        attempts: 6,
        replays: 1,
        lastError: 'HTTP 503',
        key: 'crm:4711',
        runbook: 'https://example.com/runbook',
        severity: 'low',
      })
      await kit().apply([{ w: 'deadLetter.put', row: next }])
      expect(await reads().deadLetter(first.id)).toEqual({
        ...next,
        tenant: TENANT,
        createdAt: START,
        updatedAt: START + 40,
      })
      expect(await reads().deadLetter(kit().ids.deadLetter())).toBeNull()
    })

    test('[ST33] records by kind and key', async () => {
      await kit().apply([
        { w: 'record.put', kind: 'definition', key: 'a', version: 1, body: 'one' },
        { w: 'record.put', kind: 'bundle', key: 'a', version: 5, body: '' },
      ])
      await kit().apply([{ w: 'record.put', kind: 'definition', key: 'a', version: 2, body: 'two' }])
      expect(await reads().record('definition', 'a')).toEqual({ version: 2, body: 'two' })
      expect(await reads().record('bundle', 'a')).toEqual({ version: 5, body: '' })
      expect(await reads().record('setting', 'a')).toBeNull()
    })
  })
}
