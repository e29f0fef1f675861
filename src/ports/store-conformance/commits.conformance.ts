// Commits: all or nothing, single or in a group.

import { describe, expect, test } from 'vitest'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { CommitResult, Guard, Write } from '../store.ts'
import { type Kit, TENANT } from './kit.conformance.ts'

const dumpOf = (kit: Kit) => kit.store.system('verification').dump()

/** A commit that accepts an event: guarded by its dedup key, with one job. */
function makeAccept(kit: Kit, dedupKey: string) {
  const event = kit.event({ dedupKey, matched: 1 })
  const work = kit.work(event.id)
  const commit = kit.commit(
    [{ g: 'dedup', source: event.source, key: dedupKey }],
    [
      { w: 'event.append', event, dedupForMs: DAY },
      { w: 'work.add', work, lease: null, delayMs: 0 },
    ],
  )
  return { event, work, commit }
}

/** Every kind of write, onto rows that exist. */
async function makeEveryWrite(kit: Kit): Promise<readonly Write[]> {
  const first = await kit.add()
  const second = await kit.add()
  const entry = kit.entry(first.work)
  const seen = kit.entry(first.work)
  await kit.apply([
    { w: 'ledger.reserve', entry, sendWithinMs: 1_000 },
    { w: 'ledger.reserve', entry: seen, sendWithinMs: 1_000 },
  ])
  const event = kit.event()
  const counters = { attempts: 1, waits: 0, losses: 0 }
  return [
    { w: 'event.append', event, dedupForMs: DAY },
    { w: 'work.add', work: kit.work(event.id), lease: null, delayMs: 0 },
    { w: 'work.settle', work: first.work.id, to: 'done', counters, note: EMPTY_NOTE },
    { w: 'work.again', work: second.work.id, delayMs: 5, counters, note: EMPTY_NOTE },
    { w: 'attempt.append', work: first.work.id, attempt: kit.attempt(1) },
    { w: 'ledger.reserve', entry: kit.entry(second.work), sendWithinMs: 1_000 },
    { w: 'ledger.settle', key: entry.key, to: 'done', proof: 'probe', effectRef: 'x', result: '{}' },
    { w: 'ledger.done', entry: kit.entry(second.work), effectRef: null, result: null },
    { w: 'ledger.observe', key: seen.key, evidence: '{}' },
    { w: 'deadLetter.put', row: kit.deadLetter(second.work) },
    { w: 'record.put', kind: 'setting', key: 'a', version: 1, body: '{}' },
    { w: 'instance.put', row: kit.instance(event.id) },
    {
      w: 'history.append',
      rows: [{ instance: kit.ids.instance(), sequence: 1, type: 'created', body: '{}' }],
    },
    { w: 'correlation.put', key: 'triage/issue/1', version: 1, body: '{}' },
    { w: 'orphan.put', row: kit.orphan(event.id) },
    { w: 'run.put', row: kit.run(first.work) },
  ]
}

const holding: Guard = { g: 'unreserved', key: 'nobody has this key' }
const refusing: Guard = { g: 'version', of: 'setting', key: 'no such record', version: 7 }

export function commitRules(kit: () => Kit): void {
  describe('commits', () => {
    test('[ST1] all writes of a commit are stored, at the instant of the result', async () => {
      const writes = await makeEveryWrite(kit())
      await kit().advance(250)
      const result = await kit().store.commit(kit().commit([holding], writes))
      expect(result).toEqual({ ok: true, at: kit().now(), leased: [] })
      const dump = await dumpOf(kit())
      expect(dump.events).toHaveLength(3)
      expect(dump.work.map((row) => row.state)).toEqual(['done', 'ready', 'ready'])
      expect(dump.attempts).toHaveLength(1)
      expect(dump.ledger.map((row) => row.state).sort()).toEqual(['done', 'done', 'reserved', 'reserved'])
      expect(dump.ledger.flatMap((row) => row.evidence)).toEqual(['{}'])
      expect(dump.deadLetters).toHaveLength(1)
      expect(dump.records).toHaveLength(1)
      for (const rows of [dump.instances, dump.history, dump.correlations, dump.orphans, dump.runs]) {
        expect(rows).toHaveLength(1)
      }
    })

    test('[ST2] a refused guard writes nothing and is named by its index', async () => {
      const writes = await makeEveryWrite(kit())
      const before = await dumpOf(kit())
      const guards = [holding, holding, refusing, refusing]
      const result = await kit().store.commit(kit().commit(guards, writes))
      expect(result).toEqual({ ok: false, at: kit().now(), guard: 2, found: null })
      expect(await dumpOf(kit())).toEqual(before)
    })

    test('[ST3] a commit does not conflict with itself', async () => {
      const { commit } = makeAccept(kit(), 'order-1')
      expect(await kit().store.commit(commit)).toMatchObject({ ok: true })
      const put: Write = { w: 'record.put', kind: 'setting', key: 'a', version: 1, body: '{}' }
      const guard: Guard = { g: 'version', of: 'setting', key: 'a', version: 0 }
      expect(await kit().store.commit(kit().commit([guard, guard], [put]))).toMatchObject({ ok: true })
    })

    test('[ST4] a duplicate in the same tick returns the first event', async () => {
      const accepts = ['a', 'b', 'a', 'a', 'b'].map((key) => makeAccept(kit(), key))
      const results = await Promise.all(accepts.map(({ commit }) => kit().store.commit(commit)))
      expect(results.map((result) => (result.ok ? 'applied' : result.found))).toEqual([
        'applied',
        'applied',
        { f: 'event', id: accepts[0]!.event.id },
        { f: 'event', id: accepts[0]!.event.id },
        { f: 'event', id: accepts[1]!.event.id },
      ])
      const { items } = await kit().store.forTenant(TENANT).events({ cursor: null, limit: 10 })
      expect(items.map((row) => row.id)).toEqual([accepts[1]!.event.id, accepts[0]!.event.id])
    })

    test('[ST4] commits of one tick are applied in the order given', async () => {
      const step = (version: number) =>
        kit().commit(
          [{ g: 'version', of: 'setting', key: 'chain', version: version - 1 }],
          [{ w: 'record.put', kind: 'setting', key: 'chain', version, body: String(version) }],
        )
      const commits = [1, 2, 2, 3, 5, 4].map(step)
      const results = await Promise.all(commits.map((commit) => kit().store.commit(commit)))
      expect(results.map((result) => result.ok)).toEqual([true, true, false, true, false, true])
      expect(await kit().store.forTenant(TENANT).record('setting', 'chain')).toEqual({
        version: 4,
        body: '4',
      })
    })

    test('[ST4] a job added and settled in one tick', async () => {
      const owner = await kit().join()
      const event = kit().event()
      const work = kit().work(event.id)
      const add = kit().commit(
        [],
        [
          { w: 'event.append', event, dedupForMs: DAY },
          { w: 'work.add', work, lease: owner, delayMs: 0 },
        ],
      )
      const counters = { attempts: 1, waits: 0, losses: 0 }
      const finish = () =>
        kit().commit(
          [{ g: 'lease', work: work.id, owner, epoch: 1 }],
          [{ w: 'work.settle', work: work.id, to: 'done', counters, note: EMPTY_NOTE }],
        )
      const results = await Promise.all([add, finish(), finish()].map((one) => kit().store.commit(one)))
      expect(results).toEqual([
        { ok: true, at: kit().now(), leased: [work.id] },
        { ok: true, at: kit().now(), leased: [] },
        {
          ok: false,
          at: kit().now(),
          guard: 0,
          found: { f: 'work', state: 'done', owner: null, epoch: 1 },
        },
      ])
    })

    test('[ST5] an id that exists already rejects its own commit alone', async () => {
      const old = await kit().add()
      const good = [makeAccept(kit(), 'before'), makeAccept(kit(), 'after')]
      const fresh = kit().event({ dedupKey: 'spoiled' })
      const spoiled = [
        kit().commit(
          [],
          [
            { w: 'record.put', kind: 'setting', key: 'spoiled', version: 1, body: '{}' },
            { w: 'event.append', event: fresh, dedupForMs: DAY },
            { w: 'work.add', work: old.work, lease: null, delayMs: 0 },
          ],
        ),
        kit().commit([], [{ w: 'event.append', event: { ...fresh, id: old.event.id }, dedupForMs: DAY }]),
      ]
      const commits = [good[0]!.commit, ...spoiled, good[1]!.commit]
      const results = await Promise.allSettled(commits.map((commit) => kit().store.commit(commit)))
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
      const dump = await dumpOf(kit())
      expect(dump.records).toEqual([])
      expect(dump.events.map((row) => row.id)).toEqual([old.event.id, good[0]!.event.id, good[1]!.event.id])
      expect(await kit().ask({ g: 'dedup', source: fresh.source, key: 'spoiled' })).toMatchObject({
        ok: true,
      })
    })

    test('[ST6] 500 commits of one tick', async () => {
      const accepts = Array.from({ length: 500 }, (_, index) => makeAccept(kit(), `order-${index % 400}`))
      const results = await Promise.all(accepts.map(({ commit }) => kit().store.commit(commit)))
      const expected = accepts.map(
        (_, index): CommitResult =>
          index < 400
            ? { ok: true, at: kit().now(), leased: [] }
            : {
                ok: false,
                at: kit().now(),
                guard: 0,
                found: { f: 'event', id: accepts[index - 400]!.event.id },
              },
      )
      expect(results).toEqual(expected)
      const dump = await dumpOf(kit())
      expect(dump.events.map((row) => row.id)).toEqual(accepts.slice(0, 400).map(({ event }) => event.id))
      expect(dump.work).toHaveLength(400)
    })

    test.each([
      ['a mebibyte', JSON.stringify({ text: 'ab\n'.repeat(350_000) })],
      ['emoji and accents', '{"text":"😀 ĝis é e\u0301 \u{10ffff} \ufffd \ufeff"}'],
      ['an escaped NUL', '{"text":"a\\u0000b"}'],
      ['quotes and backslashes', `{"a":"'; DROP TABLE x; --","b":"\\"\\\\","c":"$1 %s ? :x"}`],
      ['odd space', ' \t{ "a" : 1.0,\r\n"b":1e400,"id":12345678901234567890 }\u2028 '],
    ])('[ST7] texts are stored unchanged: %s', async (_, text) => {
      const { event, work } = await kit().add({ event: { data: text, headers: text } })
      const entry = kit().entry(work, { key: `key ${text.slice(0, 100)}` })
      await kit().apply([
        { w: 'ledger.done', entry, effectRef: text.slice(0, 100), result: text },
        { w: 'record.put', kind: 'bundle', key: text.slice(0, 100), version: 1, body: text },
        { w: 'deadLetter.put', row: kit().deadLetter(work, { lastError: text, key: entry.key }) },
        { w: 'attempt.append', work: work.id, attempt: kit().attempt(1, { error: text }) },
      ])
      await kit().apply([{ w: 'ledger.observe', key: entry.key, evidence: text }])
      const reads = kit().store.forTenant(TENANT)
      expect(await reads.event(event.id)).toMatchObject({ data: text, headers: text })
      expect(await reads.ledger(entry.key)).toMatchObject({ result: text, evidence: [text] })
      expect(await reads.record('bundle', text.slice(0, 100))).toEqual({ version: 1, body: text })
      const { items } = await reads.deadLetters({ cursor: null, limit: 1 })
      expect(items[0]).toMatchObject({ lastError: text, key: entry.key })
      expect((await reads.attempts(work.id))[0]?.error).toBe(text)
    })

    test('[ST8] everything is there after reopening', async () => {
      const owner = await kit().join()
      await kit().store.commit(kit().commit([], await makeEveryWrite(kit())))
      const { event, work } = await kit().add({ lease: owner, event: { dedupKey: 'kept' } })
      const before = await dumpOf(kit())
      await kit().reopen()
      expect(await dumpOf(kit())).toEqual(before)
      expect(await kit().ask({ g: 'dedup', source: 'shop', key: 'kept' })).toMatchObject({
        found: { f: 'event', id: event.id },
      })
      if (!kit().harness.capabilities?.fencesOnOpen) {
        expect(await kit().ask({ g: 'lease', work: work.id, owner, epoch: 1 })).toMatchObject({ ok: true })
      }
      expect(await kit().join()).toBeGreaterThan(owner)
      expect(await kit().ask({ g: 'lease', work: work.id, owner, epoch: 1 })).toMatchObject({ ok: false })
      expect(await kit().store.reclaim(10)).toEqual([work.id])
    })

    test('[ST9] closing waits for pending commits; later calls are refused', async () => {
      const { store } = kit()
      const owner = await kit().join()
      const accepts = ['a', 'b', 'c'].map((key) => makeAccept(kit(), key))
      const answered: boolean[] = []
      const given = accepts.map(({ commit }) => store.commit(commit).then(({ ok }) => answered.push(ok)))
      await store[Symbol.asyncDispose]()
      // A few ticks for the results to arrive, none for the store to work.
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
      expect(answered).toEqual([true, true, true])
      await Promise.all(given)
      const closed = { name: 'StoreError', code: 'closed', applied: 'no' }
      await expect(store.commit(makeAccept(kit(), 'd').commit)).rejects.toMatchObject(closed)
      await expect(kit().claim(owner)).rejects.toMatchObject(closed)
      await expect(kit().join()).rejects.toMatchObject(closed)
      await expect(store.forTenant(TENANT).event(accepts[0]!.event.id)).rejects.toMatchObject(closed)
      await kit().reopen()
      expect((await dumpOf(kit())).events).toHaveLength(3)
    })
  })
}
