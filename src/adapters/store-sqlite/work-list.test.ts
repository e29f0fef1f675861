// Which index each list of jobs uses. The conformance suite checks the results; this checks their cost.

import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { SCAN_ROWS_MAX } from '../../ports/store.ts'
import { decodeCursor } from './cursor.ts'
import { migrate } from './migrate.ts'
import { makeReadAccess, type ReadAccess, type Value } from './read-connection.ts'
import { isScan } from './scans.ts'
import { countOpen, listWork, type WorkQuery } from './work-list.ts'

const TENANT = 'acme' as TenantId
const SHOP = 'subscription:shop'
const ROWS = 60_000

let db: InstanceType<typeof DatabaseSync>

/** Each consumer has a third; every hundredth job is dead, the oldest third of a thousand is ready. */
beforeAll(() => {
  db = new DatabaseSync(':memory:')
  migrate(db, 'data.db')
  db.exec("INSERT INTO tenant (no, name) VALUES (1, 'acme')")
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
    INSERT INTO work (seq, tenant, id, state, due_at, epoch, alone, attempts, waits, losses, created_at, expires_at, consumer,
      kind, definition)
    SELECT i * 65536, 1, printf('wrk_%012d', i), CASE WHEN i < 1000 THEN 2 WHEN i % 100 = 0 THEN 7 ELSE 0 END, i, 0, 0, 0, 0, 0, i, i,
      CASE i % 3 WHEN 0 THEN 'route:a' WHEN 1 THEN '${SHOP}' ELSE 'subscription:crm' END,
      CASE i % 3 WHEN 0 THEN 'route' ELSE 'delivery' END, 1 FROM n`)
})
afterAll(() => db.close())

/** The event and the texts that a row names by their numbers. */
const OF_A_ROW = /^CORRELATED SCALAR SUBQUERY|^SEARCH (e|term) USING INTEGER PRIMARY KEY/

/** The reads with their plans. */
function watch(read: (access: ReadAccess) => unknown): readonly string[] {
  const access = makeReadAccess(db)
  const plans: string[] = []
  const note = (text: string, values: readonly Value[]) => {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values)
    const own = steps.map((step) => String(step.detail)).filter((detail) => !OF_A_ROW.test(detail))
    plans.push(own.join('; '))
  }
  read({
    ...access,
    get(text, ...values) {
      if (!text.includes('FROM tenant')) note(text, values)
      return access.get(text, ...values)
    },
    all(text, ...values) {
      note(text, values)
      return access.all(text, ...values)
    },
  })
  return plans
}

const planOf = (query: Partial<WorkQuery>) =>
  watch((access) => listWork(access, TENANT, { cursor: null, limit: 20, ...query }))

test('[ST154] the deliveries of a subscription are a walk of their own index, with every state but done', () => {
  const own = 'SEARCH work USING INDEX work_delivery (tenant=? AND consumer=?)'
  expect(planOf({ consumer: SHOP })).toEqual([own])
  for (const state of ['dead', 'waiting', 'skipped', 'cancelled', 'parked', 'merged'] as const) {
    const held = 'SEARCH work USING INDEX work_delivery_held (tenant=? AND consumer=? AND state=?)'
    expect(planOf({ consumer: SHOP, state })).toEqual([held])
  }
  const cursor = listWork(makeReadAccess(db), TENANT, { consumer: SHOP, cursor: null, limit: 5 }).nextCursor
  expect(planOf({ consumer: SHOP, cursor })).toEqual([own.replace(')', ' AND id<?)')])
})

test('[ST154] ready ones are sorted while they are few, and walked by id when they are many', () => {
  const few = planOf({ consumer: SHOP, state: 'ready' })
  expect(few[0]).toContain('work_ready (tenant=? AND consumer=?)')
  expect(few[1]).toContain('work_ready (tenant=? AND consumer=?)')
  expect(few).toHaveLength(2)
  const many = planOf({ consumer: SHOP, state: 'ready', scanMax: 100 })
  expect(many.slice(1)).toEqual([
    'SEARCH work USING COVERING INDEX work_delivery (tenant=? AND consumer=?)',
    'SEARCH work USING INDEX work_delivery (tenant=? AND consumer=? AND id>?)',
  ])
})

test('[ST153] a list without an index scans a bounded number of rows, found from the index alone', () => {
  const ofTenant = [
    'SEARCH work USING COVERING INDEX work_id (tenant=?)',
    'SEARCH work USING INDEX work_id (tenant=? AND id>?)',
  ]
  expect(planOf({ consumer: 'route:none' })).toEqual(ofTenant)
  expect(planOf({ kind: 'delivery' })).toEqual(ofTenant)
  const { items, nextCursor } = listWork(makeReadAccess(db), TENANT, {
    consumer: 'route:none',
    cursor: null,
    limit: 5,
  })
  expect(items).toEqual([])
  expect(decodeCursor('work', nextCursor as string)[1]).toBe(`wrk_0000000${ROWS - SCAN_ROWS_MAX + 1}`)
  expect(planOf({ state: 'dead', class: 'config' })).toEqual([
    'SEARCH work USING COVERING INDEX work_held (tenant=? AND state=?)',
    'SEARCH work USING INDEX work_held (tenant=? AND state=?)',
  ])
})

test('[ST155] open jobs are counted from indexes over open ones', () => {
  const plans = watch((access) => countOpen(access, TENANT, [SHOP, 'route:a'], 100))
  expect(plans).toHaveLength(5)
  expect(plans[0]).toContain('USING INDEX work_leased')
  for (const plan of plans.slice(1)) {
    expect(plan).toMatch(/USING (COVERING )?INDEX work_(ready|waiting) \(tenant=\? AND consumer=\?\)/)
  }
})

test('[ST86] a walk of an index is a look-up, all else about jobs waits among scans', () => {
  const scans = (query: Partial<WorkQuery>) =>
    isScan('workList', [TENANT, { cursor: null, limit: 20, ...query }])
  expect([{}, { state: 'dead' }, { consumer: SHOP }, { consumer: SHOP, state: 'dead' }] as const).toSatisfy(
    (queries: readonly Partial<WorkQuery>[]) => queries.every((query) => !scans(query)),
  )
  const slow: readonly Partial<WorkQuery>[] = [
    ...[{ consumer: 'route:a' }, { consumer: SHOP, state: 'done' as const }, { kind: 'delivery' as const }],
    ...[{ from: 1 }, { to: 1 }, { class: 'config' as const }, { consumer: SHOP, state: 'ready' as const }],
  ]
  for (const query of slow) expect({ query, isScan: scans(query) }).toEqual({ query, isScan: true })
  expect(isScan('openCounts', [TENANT, [SHOP], 9])).toBe(true)
})
