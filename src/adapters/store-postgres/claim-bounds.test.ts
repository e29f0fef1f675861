// Claims while another session has an old snapshot, so that the entries of claimed jobs stay in the index.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { claimSql } from './claim.ts'
import { makeClaimBounds } from './claim-bounds.ts'
import { WRITE_SETTINGS } from './connection.ts'

const TENANT = 'acme' as TenantId
const CONSUMER = 'route:count'
const slot = (consumer: string, max = 8) => ({ tenant: TENANT, consumer, max })
const requestOf = (slots: readonly ReturnType<typeof slot>[], codeHashes: readonly string[] = []) => ({
  slots,
  codeHashes,
})
const ONE = requestOf([slot(CONSUMER)])

describe('where a claim begins', () => {
  test('[PG22] at the first job while claims read little', () => {
    const bounds = makeClaimBounds(() => 0)
    bounds.learn(ONE, [null], { nextFrom: [700], read: 40 })
    expect(bounds.next(ONE)).toEqual([null])
  })

  test('[PG22] where the last one ended once claims read much, and now and then at the first job again', () => {
    let now = 0
    const bounds = makeClaimBounds(() => now)
    bounds.learn(ONE, [null], { nextFrom: [700], read: 100_000 })
    expect(bounds.next(ONE)).toEqual([700])
    now = 4_999
    bounds.learn(ONE, [700], { nextFrom: ['900'], read: 20 })
    expect(bounds.next(requestOf([slot(CONSUMER), slot('route:other')]))).toEqual([900, null])
    now = 5_000
    expect(bounds.next(ONE)).toEqual([null])
    bounds.learn(ONE, [null], { nextFrom: [950], read: 60 })
    expect(bounds.next(ONE)).toEqual([null])
  })

  test('[PG22] at the first job once a minute, however many entries there are and whichever requests come between', () => {
    let now = 0
    const bounds = makeClaimBounds(() => now)
    // Each slot always has a due job behind the bound: only full looks see it, and only claims take it.
    const send = (slots: readonly ReturnType<typeof slot>[]) => {
      const request = requestOf(slots)
      const from = bounds.next(request)
      const nextFrom = slots.map(({ max }, index) => (max === 0 && from[index] === null ? null : now - 500))
      bounds.learn(request, from, { nextFrom, read: from.includes(null) ? 50_000_000 : 10 })
      return from
    }
    const [a, b] = ['route:a', 'route:b']
    const lastFull = new Map<string, number>()
    for (; now < 3_600_000; now += 1_000) {
      send([slot(a, 0), slot(b, 0)])
      if (now % 7_000 === 0) send([slot('route:other')])
      // B comes later than A, and sometimes not at all.
      const slots = now % 3_000 === 0 ? [slot(a)] : [slot(a), slot(b)]
      for (const [index, bound] of send(slots).entries())
        if (bound === null) lastFull.set(slots[index]?.consumer ?? '', now)
      for (const consumer of [a, b])
        expect(now - (lastFull.get(consumer) ?? 0), consumer).toBeLessThanOrEqual(62_000)
    }
    expect([...lastFull.keys()].sort()).toEqual([a, b])
  })

  test('[PG22] a request that takes nothing begins at the bound, and leaves the next claim a full look', () => {
    let now = 0
    const bounds = makeClaimBounds(() => now)
    const look = requestOf([slot(CONSUMER, 0)])
    bounds.learn(ONE, [null], { nextFrom: [700], read: 100_000 })
    expect(bounds.next(look)).toEqual([700])
    bounds.learn(look, [700], { nextFrom: [900], read: 20 })
    now = 5_000
    expect(bounds.next(look)).toEqual([null])
    bounds.learn(look, [null], { nextFrom: [null], read: 100_000 })
    expect(bounds.next(ONE)).toEqual([null])
  })

  test('[PG22] at the first job once this node has other code', () => {
    const bounds = makeClaimBounds(() => 0)
    const before = requestOf(ONE.slots, ['hash-1'])
    const after = requestOf(ONE.slots, ['hash-1', 'hash-2'])
    expect(bounds.next(before)).toEqual([null])
    bounds.learn(before, [null], { nextFrom: [700], read: 100_000 })
    expect(bounds.next(requestOf(ONE.slots, ['hash-1']))).toEqual([700])
    expect(bounds.next(after)).toEqual([null])
    // A claim that was under way looked for the former code.
    bounds.learn(before, [null], { nextFrom: [800], read: 100_000 })
    expect(bounds.next(after)).toEqual([null])
  })

  test('[PG22] where the last full look ended, also if a request from before it ends later', () => {
    const bounds = makeClaimBounds(() => 0)
    bounds.learn(ONE, [null], { nextFrom: [700], read: 100_000 })
    bounds.learn(ONE, [null], { nextFrom: [600], read: 100_000 })
    bounds.learn(ONE, [700], { nextFrom: [900], read: 20 })
    expect(bounds.next(ONE)).toEqual([600])
    // Nor does a job that a crash left, which may be older, move it back.
    bounds.learn(ONE, [600], { nextFrom: [300], read: 20 })
    expect(bounds.next(ONE)).toEqual([600])
  })
})

describe('with an old snapshot', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.close())

  const DEAD = 3_000

  /** Jobs that became due this long ago, numbered from `first` on. */
  const addReady = (url: string, first: number, count: number, agoMs: number) =>
    server.query(
      url,
      `INSERT INTO millrace.work (tenant, id, kind, consumer, definition, event_id, epoch, created_at, state, due_at, alone,
         attempts, waits, losses, expires_at, generation)
       SELECT 'acme', 'wrk_01a1e176-76a9-7' || lpad(to_hex(n), 15, '0'), 'route', '${CONSUMER}', 'd', 'evt_1', 0, 0, 'ready',
         millrace.now_ms() - $3::int, false, 0, 0, 0, 9999999999999, 1 FROM generate_series($1::int, $2::int) AS n`,
      [first, first + count - 1, agoMs],
    )

  test('[PG22] a claim that begins where the last one ended reads no entry of what was claimed before', async () => {
    const { url, drop } = await server.makeDatabase()
    const [old, node] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
    await Promise.all([old.connect(), node.connect()])
    try {
      await server.query(
        url,
        `INSERT INTO millrace.event (tenant, id, source, subject, correlation_id, dedup_key, payload_hash, headers, data,
           matched, received_at, trace_id) VALUES ('acme', 'evt_1', 's', 's', 'c', 'k', 'h', '{}', '{}', 1, 0, 't');
         SELECT millrace.join_node('n', 600000)`,
      )
      await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await old.query('SELECT count(*) FROM millrace.work')
      await addReady(url, 1, DEAD, 60_000)
      await server.query(url, `UPDATE millrace.work SET state = 'done', owner = NULL, processed_at = 1`)
      for (const [name, value] of Object.entries(WRITE_SETTINGS)) await node.query(`SET ${name} = ${value}`)
      let from: string | null = null
      let claims = 0
      const claim = async (due: string | null) => {
        claims += 1
        const group = `01a1e176-76a9-7000-8c09-${String(claims).padStart(12, '0')}`
        const values = [group, 1, [TENANT], [CONSUMER], [8], [null], 8, 1, [], [due]]
        const { rows } = await node.query(claimSql('millrace'), values)
        from = rows.at(-1).nextFrom[0]
        return { ids: rows.slice(0, -1).map((row) => row.w_id as string), read: Number(rows.at(-1).read) }
      }
      expect((await claim(null)).read).toBeGreaterThan(DEAD)
      const claimed: string[] = []
      for (let round = 0; round < 5; round += 1) {
        await addReady(url, DEAD + 1 + 10 * round, 10, 0)
        const { ids, read } = await claim(from)
        claimed.push(...ids)
        expect(read).toBeLessThan(DEAD / 2)
      }
      expect(claimed).toHaveLength(40)
      // What did not fit, and what became due before the bound, is there for one that looks through everything.
      await addReady(url, DEAD + 1_000, 1, 30_000)
      expect((await claim(from)).ids).toHaveLength(8)
      expect(await claim(null)).toMatchObject({ ids: { length: 3 } })
      expect((await claim(null)).ids).toEqual([])
    } finally {
      await Promise.all([old.end(), node.end()])
      await drop()
    }
  })
})
