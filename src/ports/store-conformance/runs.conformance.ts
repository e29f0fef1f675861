// What connections need of a store: runs, jobs that rotate a credential, and the records of the state of each.

import { describe, expect, test } from 'vitest'
import { type NewRun, runIdOf } from '../../core/effects/integration-run/index.ts'
import type { RunId, TenantId } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR, MINUTE } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type NewWork, type SettledState } from '../../core/queue/work/index.ts'
import type { TenantReads, Write } from '../store.ts'
import { type Kit, OTHER, readAll, START, TENANT } from './kit.conformance.ts'

type RunQuery = Omit<Parameters<TenantReads['runs']>[0], 'cursor' | 'limit'>
const counters = { attempts: 1, waits: 0, losses: 0 }
/** No name contains it, but a store stores what it is given. */
const ODD = 'a\u0000b ü 😀'

export function runRules(kit: () => Kit): void {
  const reads = (tenant: TenantId = TENANT) => kit().store.forTenant(tenant)
  const put = (row: NewRun): Write => ({ w: 'run.put', row })
  const settle = ({ id }: NewWork, to: SettledState = 'done'): Write => ({
    ...{ w: 'work.settle', work: id, to, counters, note: EMPTY_NOTE },
  })
  const prune = (scanMax = 100, after: string | null = null) =>
    kit().store.prune({ tenant: TENANT, keepMs: { crm: 2 * DAY }, otherwiseMs: DAY, after, scanMax })

  describe('runs', () => {
    test('[ST158] a run is written whole, from its first put on', async () => {
      const { work } = await kit().add()
      const first = kit().run(work, { state: 'running', attemptCount: 1, durationMs: null })
      await kit().apply([put(first)])
      const born = { ...first, tenant: TENANT, createdAt: START, updatedAt: START }
      expect(await reads().run(first.id)).toEqual(born)
      await kit().advance(250)
      const attempt = kit().runAttempt(1, { error: ODD, response: `HTTP 500\n\n${ODD}`, durationMs: 0.25 })
      const last: NewRun = {
        ...first,
        state: 'dead-lettered',
        ...{ provider: ODD, operation: ODD, key: ODD, error: ODD, externalRef: ODD },
        ...{ correlationId: ODD, traceId: ODD, eventId: null },
        attemptCount: 21,
        attempts: [
          attempt,
          kit().runAttempt(21, { class: null, error: null, request: null, response: null }),
        ],
        ...{ class: 'transient', httpStatus: 500, durationMs: 0.5 },
        replayOf: kit().ids.run(),
      }
      await kit().apply([put(last)])
      await kit().reopen()
      expect(await reads().run(first.id)).toEqual({ ...born, ...last, updatedAt: START + 250 })
      expect((await kit().store.system('verification').dump()).runs).toEqual([await reads().run(first.id)])
    })

    test('[ST158] the fields that it is found by never change', async () => {
      const [one, other] = [await kit().add(), await kit().add()]
      const run = kit().run(one.work)
      const moved: NewRun = { ...run, connection: 'b', purpose: 'test', workId: other.work.id }
      await kit().apply([put(run)])
      await kit().apply([put({ ...moved, state: 'failed' })])
      expect(await reads().run(run.id)).toMatchObject({ ...run, state: 'failed' })
      const unowned = kit().run(null)
      await kit().apply([put(unowned)])
      await kit().apply([put({ ...unowned, workId: one.work.id })])
      expect(await reads().run(unowned.id)).toMatchObject({ workId: null })
    })

    test('[ST158] it stores only the fields of a run, and belongs to one tenant', async () => {
      const run = kit().run(null)
      const more = { ...run, secret: 'x', attempts: [{ ...kit().runAttempt(1), secret: 'x' }] }
      await kit().apply([put(more)])
      await kit().apply([put({ ...run, operation: 'theirs' })], OTHER)
      const found = await reads().run(run.id)
      expect(JSON.stringify(found)).not.toContain('secret')
      expect(found).toMatchObject({ tenant: TENANT, operation: run.operation, attempts: [{ number: 1 }] })
      expect(await reads(OTHER).run(run.id)).toMatchObject({ tenant: OTHER, operation: 'theirs' })
      expect(await reads().run(kit().ids.run())).toBeNull()
    })

    test('[ST158] it is written in the commits of its job, before the job ends or after it', async () => {
      const owner = await kit().join()
      const { work } = await kit().add({ lease: owner })
      const run = kit().run(work, { state: 'running' })
      const lease = { g: 'lease', work: work.id, owner, epoch: 1 } as const
      const reserve: Write = { w: 'ledger.reserve', entry: kit().entry(work), sendWithinMs: 1_000 }
      await kit().store.commit(kit().commit([lease], [reserve, put(run)]))
      const end = [settle(work), put({ ...run, state: 'completed' })]
      expect(await kit().store.commit(kit().commit([lease], end))).toMatchObject({ ok: true })
      const late = [put({ ...run, state: 'failed' })]
      expect(await kit().store.commit(kit().commit([lease], late))).toMatchObject({ ok: false })
      expect(await reads().run(run.id)).toMatchObject({ state: 'completed' })
    })

    test('[ST158] those of many concurrent commits do not conflict', async () => {
      const rows = Array.from({ length: 40 }, () => kit().run(null, { state: 'running' }))
      const all = [...rows, ...rows.map((row) => ({ ...row, state: 'completed' as const }))]
      await Promise.all(all.map((row) => kit().apply([put(row)])))
      const found = await readAll((cursor) => reads().runs({ cursor, limit: 7 }))
      expect(found.flat().map(({ id }) => id)).toEqual(rows.map(({ id }) => id).reverse())
      expect(found.flat().every(({ state }) => state === 'completed')).toBe(true)
    })

    test('[ST159] runs are listed by connection, state, purpose and job, and by any combination', async () => {
      const [one, other] = [(await kit().add()).work, (await kit().add()).work]
      const ids: RunId[] = []
      const add = async (work: NewWork | null, fields: Partial<NewRun> = {}) => {
        const run = kit().run(work, { id: kit().ids.run(), ...fields })
        ids.push(run.id)
        await kit().apply([put({ ...run, state: 'running' })])
        await kit().apply([put(run)])
      }
      await add(one, { state: 'completed' })
      await add(other, { state: 'failed' })
      await add(null, { state: 'failed', purpose: 'test' })
      await add(one, { state: 'running', connection: 'b' })
      await add(one, { state: 'dead-lettered', connection: 'b' })
      await add(null, { state: 'completed', purpose: 'verification', connection: 'b' })
      await add(null, { state: 'pending', purpose: 'test', connection: ODD })
      await add(one, { state: 'running' })
      const list = async (query: RunQuery) => {
        const pages = [2, 100].map((limit) => readAll((cursor) => reads().runs({ ...query, cursor, limit })))
        const [some, all] = (await Promise.all(pages)).map((found) => found.flat().map((row) => row.id))
        expect(some).toEqual(all)
        return all!.map((id) => ids.indexOf(id))
      }
      expect(await list({})).toEqual([7, 6, 5, 4, 3, 2, 1, 0])
      expect(await list({ connection: 'tickets' })).toEqual([7, 2, 1, 0])
      expect(await list({ connection: 'b' })).toEqual([5, 4, 3])
      expect(await list({ connection: ODD })).toEqual([6])
      expect(await list({ connection: 'ticket' })).toEqual([])
      expect(await list({ state: 'failed' })).toEqual([2, 1])
      expect(await list({ state: 'dead-lettered' })).toEqual([4])
      expect(await list({ state: 'pending' })).toEqual([6])
      expect(await list({ state: 'running' })).toEqual([7, 3])
      expect(await list({ state: 'completed' })).toEqual([5, 0])
      expect(await list({ connection: 'tickets', state: 'failed' })).toEqual([2, 1])
      expect(await list({ connection: 'b', state: 'failed' })).toEqual([])
      expect(await list({ connection: 'b', state: 'dead-lettered' })).toEqual([4])
      expect(await list({ connection: 'b', state: 'running' })).toEqual([3])
      expect(await list({ connection: 'b', state: 'completed' })).toEqual([5])
      expect(await list({ purpose: 'test' })).toEqual([6, 2])
      expect(await list({ purpose: 'verification' })).toEqual([5])
      expect(await list({ purpose: 'work' })).toEqual([7, 4, 3, 1, 0])
      expect(await list({ purpose: 'test', state: 'pending', connection: ODD })).toEqual([6])
      expect(await list({ purpose: 'work', connection: 'b' })).toEqual([4, 3])
      expect(await list({ purpose: 'work', state: 'running', connection: 'b' })).toEqual([3])
      expect(await list({ workId: one.id })).toEqual([7, 4, 3, 0])
      expect(await list({ workId: one.id, connection: 'b', state: 'running', purpose: 'work' })).toEqual([3])
      expect(await list({ workId: other.id })).toEqual([1])
      expect(await list({ workId: kit().ids.work() })).toEqual([])
      const theirs = await reads(OTHER).runs({ workId: one.id, cursor: null, limit: 9 })
      expect(theirs).toEqual({ items: [], nextCursor: null })
      await expect(reads().runs({ cursor: 'x', limit: 9 })).rejects.toMatchObject({ code: 'invalid_cursor' })
    })

    test('[ST161] runs are deleted with their job, whatever their state', async () => {
      const [done, dead, open] = [
        (await kit().add()).work,
        (await kit().add()).work,
        (await kit().add()).work,
      ]
      const rows = [
        kit().run(done, { state: 'completed' }),
        kit().run(done, { id: kit().ids.run(), state: 'running' }),
        kit().run(dead, { state: 'dead-lettered' }),
        kit().run(open, { state: 'failed' }),
      ]
      await kit().apply([...rows.map(put), settle(done), settle(dead, 'dead')])
      // Another tenant has one of the same names.
      await kit().apply([put(kit().run(done, { id: rows[0]!.id }))], OTHER)
      await kit().advance(3 * DAY)
      expect(await prune()).toMatchObject({ events: 2, work: 2, runs: 3, next: null })
      const { runs } = await kit().store.system('verification').dump()
      expect(runs.map(({ tenant, id }) => [tenant, id])).toEqual([
        [TENANT, rows[3]!.id],
        [OTHER, rows[0]!.id],
      ])
      expect(await reads().runs({ workId: done.id, cursor: null, limit: 9 })).toMatchObject({ items: [] })
    })

    test('[ST162] runs without a job are deleted when they were untouched for as long as any event is stored', async () => {
      const { work } = await kit().add()
      const gone = kit().work(kit().ids.event())
      const old = [kit().run(null, { purpose: 'test' }), kit().run(gone), kit().run(null)]
      await kit().apply([...old, kit().run(work)].map(put))
      await kit().advance(HOUR)
      await kit().apply([put(old[2]!)])
      await kit().advance(2 * DAY - HOUR - 1)
      expect(await prune()).toMatchObject({ runs: 0 })
      await kit().advance(1)
      expect(await prune()).toMatchObject({ runs: 2 })
      expect(await reads().run(old[2]!.id)).not.toBeNull()
      await kit().advance(HOUR)
      expect(await prune()).toMatchObject({ runs: 1 })
      expect(await reads().run(runIdOf(work.id))).not.toBeNull()
    })

    test('[ST162] a walk in steps of 1 deletes each of them once, and skips the others', async () => {
      const rows = Array.from({ length: 4 }, () => kit().run(null))
      const { work } = await kit().add()
      await kit().apply([...rows, kit().run(work)].map(put))
      await kit().advance(2 * DAY)
      const young = kit().run(null)
      await kit().apply([put(young)])
      await kit().advance(MINUTE)
      let taken = 0
      let steps = 0
      for (let after: string | null = null; steps < 50; steps += 1) {
        const { runs, next }: { runs: number; next: string | null } = await prune(1, after)
        taken += runs
        after = next
        if (next === null) break
      }
      expect(taken).toBe(4)
      expect(steps).toBeLessThan(20)
      const left = await reads().runs({ cursor: null, limit: 9 })
      expect(left.items.map(({ id }) => id)).toEqual([young.id, runIdOf(work.id)])
    })

    test('[ST163] a rotation is a job like any other: claimed, put back and settled', async () => {
      const consumer = 'credential:tickets'
      const { work } = await kit().add({ work: { kind: 'rotation', consumer } })
      const owner = await kit().join()
      const slots = [{ tenant: TENANT, consumer, max: 9 }]
      expect((await kit().claim(owner, { slots })).items).toMatchObject([{ work: { kind: 'rotation' } }])
      await kit().apply([{ w: 'work.again', work: work.id, delayMs: 5, counters, note: EMPTY_NOTE }])
      await kit().advance(5)
      const { items } = await kit().claim(owner, { slots })
      expect(items).toMatchObject([{ work: { id: work.id, kind: 'rotation', consumer, epoch: 2 } }])
      await kit().apply([settle(work)])
      await kit().reopen()
      expect(await reads().work(work.id)).toMatchObject({ kind: 'rotation', state: 'done' })
      const listed = await reads().workList({ kind: 'rotation', cursor: null, limit: 9 })
      expect(listed.items.map(({ id }) => id)).toEqual([work.id])
    })

    test('[ST164] the states of a connection, of a credential and of probes are records, guarded by their versions', async () => {
      for (const kind of ['connection', 'credential', 'health'] as const) {
        const write = (version: number) =>
          kit().store.commit(
            kit().commit(
              [{ g: 'version', of: kind, key: 'tickets', version: version - 1 }],
              [{ w: 'record.put', kind, key: 'tickets', version, body: `${kind} ${version}` }],
            ),
          )
        expect(await write(1)).toMatchObject({ ok: true })
        const both = await Promise.all([write(2), write(2)])
        expect(both.filter(({ ok }) => ok)).toHaveLength(1)
        expect(await write(2)).toMatchObject({ ok: false, found: { f: 'version', version: 2 } })
        expect(await reads().record(kind, 'tickets')).toEqual({ version: 2, body: `${kind} 2` })
        const { items } = await reads().records({ kind, cursor: null, limit: 9 })
        expect(items.map(({ key }) => key)).toEqual(['tickets'])
      }
    })
  })
}
