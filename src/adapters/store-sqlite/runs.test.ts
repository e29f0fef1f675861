// Which index each list of runs uses, and what a put touches. The conformance suite checks the results; this checks
// their cost.

import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { TenantReads } from '../../ports/store.ts'
import { migrate } from './migrate.ts'
import { makePager } from './pages.ts'
import { makeReadAccess } from './read-connection.ts'
import { makeRunReads } from './runs.ts'
import { isScan } from './scans.ts'

type RunQuery = Parameters<TenantReads['runs']>[0]
const TENANT = 'acme' as TenantId

let db: InstanceType<typeof DatabaseSync>
beforeAll(() => {
  db = new DatabaseSync(':memory:')
  migrate(db, 'data.db')
  db.exec("INSERT INTO tenant (no, name) VALUES (1, 'acme')")
})
afterAll(() => db.close())

function planOf(query: Partial<RunQuery>): string {
  const access = makeReadAccess(db)
  let plan = ''
  const reads = makeRunReads(
    access,
    makePager({
      ...access,
      all(text, ...values) {
        const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values)
        plan = steps.map((step) => String(step.detail)).join('; ')
        return access.all(text, ...values)
      },
    }),
  )
  reads.runs(TENANT, { cursor: null, limit: 20, ...query })
  return plan
}

test('[ST160] every list of runs is a walk of an index in the order of the list', () => {
  expect(planOf({})).toBe('SEARCH run USING INDEX run_id (tenant=?)')
  expect(planOf({ connection: 'a' })).toBe(
    'SEARCH run USING INDEX run_connection (tenant=? AND connection=?)',
  )
  for (const state of ['pending', 'failed', 'dead-lettered'] as const) {
    expect(planOf({ state })).toBe('SEARCH run USING INDEX run_held (tenant=? AND state=?)')
    expect(planOf({ state, connection: 'a' })).toBe(
      'SEARCH run USING INDEX run_connection_held (tenant=? AND connection=? AND state=?)',
    )
  }
  for (const query of [{}, { connection: 'a' }]) {
    expect(planOf({ state: 'running', ...query })).toBe('SEARCH run USING INDEX run_running (tenant=?)')
    expect(planOf({ purpose: 'test', state: 'failed', ...query })).toBe(
      'SEARCH run USING INDEX run_other (tenant=?)',
    )
  }
  // A job has few: they are sorted.
  expect(planOf({ workId: 'wrk_1' as WorkId, state: 'failed' })).toMatch(
    /^SEARCH run USING INDEX run_work \(work_id=\?\); /,
  )
})

test('[ST160] lists that may skip many rows delay no look-up', () => {
  const isSlow = (query: Partial<RunQuery>) => isScan('runs', [TENANT, { cursor: null, limit: 20, ...query }])
  expect([{}, { connection: 'a' }, { state: 'running' as const }].some(isSlow)).toBe(false)
  expect(isSlow({ connection: 'a', state: 'completed' })).toBe(true)
  expect(isSlow({ purpose: 'work' })).toBe(true)
  expect(isSlow({ workId: 'wrk_1' as WorkId, purpose: 'work' })).toBe(false)
})
