// What a page of ledger entries reads: the blocks of its tenant alone, however many entries others have.

import { DatabaseSync } from '@photostructure/sqlite'
import { beforeEach, expect, test } from 'vitest'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { makeSqliteStoreInline } from './inline.ts'
import { listLedger } from './ledger-list.ts'
import { migrate } from './migrate.ts'
import { makeReadAccess } from './read-connection.ts'

const FEW = 'few' as TenantId
const MANY = 'many' as TenantId

let db: InstanceType<typeof DatabaseSync>
let now = 1_000_000
beforeEach(() => {
  db = new DatabaseSync(':memory:')
  migrate(db, 'data.db')
})

const openStore = () =>
  makeSqliteStoreInline(db, { now: () => now, defer: (callback) => void setImmediate(callback) })

const done = (tenant: TenantId, keys: readonly string[]) => ({
  tenant,
  guards: [],
  writes: keys.map((key) => ({
    w: 'ledger.done' as const,
    entry: {
      ...{ key, epoch: 1, consumer: 'route:a', objectId: null, payloadHash: 'h', correlationId: 'c' },
      ...{ work: 'wrk_1' as LedgerEntry['work'], eventId: 'evt_1' as LedgerEntry['eventId'] },
    },
    effectRef: null,
    result: null,
  })),
})

const blocks = (tenant: number) =>
  db.prepare('SELECT block FROM ledger_block WHERE tenant = ? ORDER BY block').all(tenant)

test('[ST212] a tenant with few entries is listed without a look at those of others, and without sorting', async () => {
  const store = openStore()
  await store.commit(done(FEW, ['a', 'b']))
  await store.commit(
    done(
      MANY,
      Array.from({ length: 1_000 }, (_, at) => `k${at}`),
    ),
  )
  await store.commit(done(FEW, ['c']))
  expect(blocks(1)).toEqual([{ block: 0 }, { block: 15 }])
  const reads = store.forTenant(FEW)
  const { items, nextCursor } = await reads.ledgerList({ cursor: null, limit: 2 })
  expect(items.map(({ key }) => key)).toEqual(['c', 'b'])
  const rest = await reads.ledgerList({ cursor: nextCursor, limit: 2 })
  expect(rest).toMatchObject({ items: [{ key: 'a' }], nextCursor: null })

  const access = makeReadAccess(db)
  const plans: string[] = []
  const watched = {
    ...access,
    sql(text: string) {
      const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all()
      plans.push(...steps.map((step) => String(step.detail)))
      return access.sql(text)
    },
  }
  listLedger(watched, FEW, { cursor: nextCursor, limit: 2 }, () => ({}) as LedgerEntry)
  listLedger(watched, FEW, { cursor: nextCursor, limit: 2, state: 'unknown' }, () => ({}) as LedgerEntry)
  expect(plans).toEqual([
    'SEARCH ledger_block USING PRIMARY KEY (tenant=? AND block<?)',
    'SEARCH ledger USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    'SEARCH ledger USING INDEX ledger_open (tenant=? AND state=? AND rowid<?)',
  ])
})

test('[ST212] a block goes with its last entry, and comes again with the next', async () => {
  const store = openStore()
  await store.commit(done(FEW, ['a', 'b']))
  now += 2 * DAY
  const request = { tenant: FEW, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 }
  const pruned = await store.prune({ ...request, ledger: { keepMs: {}, otherwiseMs: DAY } })
  expect(pruned).toMatchObject({ ledger: 2, next: null })
  expect(blocks(1)).toEqual([])
  await store.commit(done(FEW, ['c']))
  expect((await store.forTenant(FEW).ledgerList({ cursor: null, limit: 9 })).items).toMatchObject([
    { key: 'c' },
  ])
})

test('[ST212] entries beyond number 2^31 are pruned page by page, and their blocks with them', async () => {
  await openStore().commit(done(MANY, ['first']))
  db.exec('UPDATE ledger SET seq = 2147483648; UPDATE ledger_block SET block = 33554432')
  const store = openStore()
  const keys = Array.from({ length: 150 }, (_, at) => `k${at}`)
  await store.commit(done(FEW, keys))
  expect(blocks(2)).toHaveLength(3)
  now += 2 * DAY
  let ledger = 0
  let after: unknown = null
  do {
    const request = { tenant: FEW, keepMs: {}, otherwiseMs: DAY, after, scanMax: 20 } as const
    const pruned = await store.prune({ ...request, ledger: { keepMs: {}, otherwiseMs: DAY } } as never)
    ledger += pruned.ledger
    after = pruned.next
  } while (after !== null)
  expect(ledger).toBe(150)
  expect(blocks(2)).toEqual([])
})
