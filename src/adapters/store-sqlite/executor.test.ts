// The executor under faults: what a group does if a commit is broken or COMMIT itself fails.

import { DatabaseSync } from '@photostructure/sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Commit, Guard, Write } from '../../ports/store.ts'
import { type Executor, makeExecutor } from './executor.ts'
import { migrate } from './migrate.ts'

const TENANT = 'acme' as TenantId

function put(key: string, body = '{}'): Commit {
  const writes: Write[] = [{ w: 'record.put', kind: 'setting', key, version: 1, body }]
  return { tenant: TENANT, guards: [], writes }
}

/** No store can bind this: stands for any bug that a commit may carry. */
function broken(): Commit {
  return put('broken', { not: 'a text', includes: () => false } as unknown as string)
}

describe('the executor under faults', () => {
  let db: InstanceType<typeof DatabaseSync>
  let faults: ((commit: () => void) => void)[]
  let executor: Executor
  const keys = () =>
    db
      .prepare('SELECT key FROM record ORDER BY key')
      .all()
      .map((row) => row.key)

  beforeEach(() => {
    db = new DatabaseSync(':memory:')
    migrate(db, 'test')
    faults = []
    executor = makeExecutor(db, {
      commit(commit) {
        const fault = faults.shift()
        if (fault) fault(commit)
        else commit()
      },
    })
  })

  const failBefore = () => {
    throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
  }
  const failAfter = (commit: () => void) => {
    commit()
    throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
  }
  const failInFlush = () => {
    throw Object.assign(new Error('disk I/O error'), { errcode: 1034 })
  }

  test('keys that cannot be read leave the group in one transaction', () => {
    // As SQLite does where the disk fails: the read throws, and an open transaction is rolled back.
    const failing = new Proxy(db, {
      get(target, name) {
        if (name !== 'prepare') {
          const value = Reflect.get(target, name, target)
          return typeof value === 'function' ? value.bind(target) : value
        }
        return (text: string) =>
          text.includes('group_concat(hex(hash)')
            ? {
                get() {
                  if (target.isTransaction) target.exec('ROLLBACK')
                  failBefore()
                },
              }
            : target.prepare(text)
      },
    })
    const seen: boolean[] = []
    const commits = makeExecutor(failing, {
      commit(commit) {
        seen.push(db.isTransaction)
        commit()
      },
    })
    expect(commits.commit(1_000, [put('a'), put('b')]).map(({ ok }) => ok)).toEqual([true, true])
    expect(seen).toEqual([true])
    expect(keys()).toEqual(['a', 'b'])
  })

  test('what a guard saw of a ledger entry settles that row, and not one that the same commit opens', () => {
    const entry = {
      key: 'K:1',
      work: 'wrk_1',
      epoch: 1,
      consumer: 'route:crm',
      eventId: 'evt_1',
      objectId: null,
      payloadHash: 'h',
      correlationId: 'c',
    }
    const reserve = { w: 'ledger.reserve', entry, sendWithinMs: 1_000 } as Write
    const again = { w: 'ledger.reserve', entry: { ...entry, generation: 2 }, sendWithinMs: 1_000 } as Write
    const guard = (state: 'reserved' | 'done') =>
      ({ g: 'ledger', key: 'K:1', state, work: 'wrk_1', epoch: 1 }) as Guard
    const settle = (to: 'done' | 'released') =>
      ({ w: 'ledger.settle', key: 'K:1', to, proof: null, effectRef: to, result: null }) as unknown as Write
    const results = executor.commit(1_000, [
      { tenant: TENANT, guards: [{ g: 'unreserved', key: 'K:1' }], writes: [reserve] },
      { tenant: TENANT, guards: [guard('reserved')], writes: [settle('done')] },
      { tenant: TENANT, guards: [guard('done')], writes: [again, settle('released')] },
    ])
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true])
    const history = executor.ledgerHistory(TENANT, 'K:1')
    expect(history.map(({ state, generation, effectRef }) => [generation, state, effectRef])).toEqual([
      [1, 'done', 'done'],
      [2, 'released', 'released'],
    ])
  })

  test('a broken commit fails alone; the others of its group are applied once', () => {
    const outcomes = executor.commit(1_000, [put('a'), broken(), put('b')])
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, 'failed', true])
    expect(keys()).toEqual(['a', 'b'])
    expect(executor.commit(1_001, [put('c')])).toEqual([{ ok: true, at: 1_001, leased: [] }])
  })

  test('a COMMIT that failed before it took effect is executed again', () => {
    faults = [failBefore]
    expect(executor.commit(1_000, [put('a'), put('b')]).map(({ ok }) => ok)).toEqual([true, true])
    expect(keys()).toEqual(['a', 'b'])
  })

  test('a COMMIT that failed after it took effect returns its results, and is not executed again', () => {
    faults = [failAfter]
    const guarded: Commit = {
      ...put('a'),
      guards: [{ g: 'version', of: 'setting', key: 'a', version: 0 }],
    }
    expect(executor.commit(1_000, [guarded])).toEqual([{ ok: true, at: 1_000, leased: [] }])
    expect(keys()).toEqual(['a'])
  })

  test('a COMMIT that keeps failing is an error that says that nothing was applied', () => {
    faults = [failBefore, failBefore, failBefore]
    const outcomes = executor.commit(1_000, [put('a'), put('b')])
    expect(outcomes).toMatchObject([
      { ok: 'failed', error: { name: 'StoreError', code: 'unavailable', applied: 'no' } },
      { ok: 'failed', error: { name: 'StoreError', code: 'unavailable', applied: 'no' } },
    ])
    expect(keys()).toEqual([])
    expect(executor.commit(1_001, [put('c')])).toMatchObject([{ ok: true }])
  })

  test('[DU4] after a failed flush the outcome is unknown, and no later success hides it', () => {
    const { owner } = executor.join(1_000, 'node' as never, 10_000)
    faults = [failInFlush]
    expect(executor.commit(1_000, [put('a'), put('b')])).toMatchObject([
      { ok: 'failed', error: { code: 'sync_failed', applied: 'indeterminate' } },
      { ok: 'failed', error: { code: 'sync_failed', applied: 'indeterminate' } },
    ])
    expect(executor.commit(1_001, [put('c')])).toMatchObject([
      { ok: 'failed', error: { code: 'sync_failed', applied: 'no' } },
    ])
    const claim = { owner, slots: [], max: 1, maxIsolated: 0, codeHashes: [] }
    expect(executor.together(1_002, [{ commits: [put('d')] }, { claim }])).toMatchObject([
      { outcomes: [{ ok: 'failed', error: { code: 'sync_failed' } }] },
      { error: { code: 'sync_failed' } },
    ])
    expect(() => executor.renew(1_003, owner, 10)).toThrow(/flushing to the disk failed/)
    expect(keys()).toEqual([])
  })

  test('if the check is impossible too, the commit is indeterminate', () => {
    faults = [
      () => {
        db.close()
        failBefore()
      },
    ]
    expect(executor.commit(1_000, [put('a'), put('b')])).toMatchObject([
      { ok: 'failed', error: { code: 'unavailable', applied: 'indeterminate' } },
      { ok: 'failed', error: { code: 'unavailable', applied: 'indeterminate' } },
    ])
  })

  test('a group and a claim that waited together share a COMMIT, and each has its own result', () => {
    const { owner } = executor.join(1_000, 'node' as never, 10_000)
    let commits = 0
    const counted = (commit: () => void) => {
      commits += 1
      commit()
    }
    faults = [counted, counted]
    const claim = { owner, slots: [], max: 1, maxIsolated: 0, codeHashes: [] }
    expect(executor.together(1_001, [{ commits: [put('a')] }, { claim }, { commits: [put('b')] }])).toEqual([
      { outcomes: [{ ok: true, at: 1_001, leased: [] }] },
      { claimed: { count: 0, values: [], nextDueAt: null, now: 1_001 } },
      { outcomes: [{ ok: true, at: 1_001, leased: [] }] },
    ])
    expect(commits).toBe(1)
    expect(keys()).toEqual(['a', 'b'])
  })

  test('a broken one among those that waited together fails alone', () => {
    const asked = [{ commits: [put('a')] }, { commits: [broken(), put('b')] }]
    expect(executor.together(1_000, asked)).toMatchObject([
      { outcomes: [{ ok: true }] },
      { outcomes: [{ ok: 'failed' }, { ok: true }] },
    ])
    expect(keys()).toEqual(['a', 'b'])
  })

  test('calls that waited together are executed again one by one if COMMIT took no effect, and not if it did', () => {
    faults = [failBefore]
    expect(executor.together(1_000, [{ commits: [put('a')] }, { commits: [put('b')] }])).toMatchObject([
      { outcomes: [{ ok: true }] },
      { outcomes: [{ ok: true }] },
    ])
    const guarded: Commit = { ...put('c'), guards: [{ g: 'version', of: 'setting', key: 'c', version: 0 }] }
    faults = [failAfter]
    expect(executor.together(1_001, [{ commits: [guarded] }, { commits: [put('d')] }])).toMatchObject([
      { outcomes: [{ ok: true }] },
      { outcomes: [{ ok: true }] },
    ])
    expect(keys()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('if no check is possible, all that waited together are indeterminate', () => {
    const { owner } = executor.join(1_000, 'node' as never, 10_000)
    faults = [
      () => {
        db.close()
        failBefore()
      },
    ]
    const claim = { owner, slots: [], max: 1, maxIsolated: 0, codeHashes: [] }
    expect(executor.together(1_001, [{ commits: [put('a')] }, { claim }])).toMatchObject([
      { outcomes: [{ ok: 'failed', error: { applied: 'indeterminate' } }] },
      { error: { applied: 'indeterminate' } },
    ])
  })

  test('claims, joins and reclaims survive a failing COMMIT as well', () => {
    faults = [failBefore]
    const { owner } = executor.join(1_000, 'node' as never, 10)
    expect(owner).toBe(1)
    faults = [failAfter]
    expect(executor.renew(1_001, owner, 10)).toEqual({ until: 1_011, now: 1_001 })
    faults = [failBefore, failBefore]
    expect(() => executor.reclaim(2_000, 10)).toThrow(/disk/)
    expect(executor.renew(1_002, owner, 10)).toEqual({ until: 1_012, now: 1_002 })
  })

  test('a refused commit writes nothing and flushes nothing', () => {
    executor.commit(1_000, [put('a')])
    const before = db.prepare('SELECT * FROM newest_group').get()
    const refused: Commit = {
      tenant: 'nobody' as TenantId,
      guards: [{ g: 'version', of: 'setting', key: 'a', version: 5 }],
      writes: put('b').writes,
    }
    expect(executor.commit(2_000, [refused])).toMatchObject([{ ok: false, found: null }])
    expect(db.prepare('SELECT * FROM newest_group').get()).toEqual(before)
    expect(db.prepare('SELECT name FROM tenant').all()).toHaveLength(1)
  })

  test('the clock of the last group is known after reopening', () => {
    executor.commit(5_000, [put('a')])
    expect(makeExecutor(db).lastAt).toBe(5_000)
  })

  test('texts with NUL are stored whole and are distinct keys', () => {
    executor.commit(1_000, [put('a\0b', 'x\0y'), put('a', 'z')])
    expect(keys()).toHaveLength(2)
    const guard = (key: string): Commit => ({
      ...put('c'),
      guards: [{ g: 'version', of: 'setting', key, version: 1 }],
    })
    expect(executor.commit(1_000, [guard('a\0b'), guard('a\0c')])).toMatchObject([
      { ok: true },
      { ok: false },
    ])
  })
})
