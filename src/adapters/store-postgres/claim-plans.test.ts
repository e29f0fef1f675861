import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import { claimSql } from './claim.ts'
import { WRITE_SETTINGS } from './connection.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

const WAITING = 3_000
const TAKEN = 8

test('[PG15] a claim reads about as much as it takes, from tables that the planner has no statistics of', async () => {
  const { url, drop } = await server.makeDatabase()
  await server.query(
    url,
    `INSERT INTO millrace.event (tenant, id, source, subject, correlation_id, dedup_key, payload_hash, headers, data, matched,
       received_at, trace_id)
     SELECT 'acme', 'evt_01a1e176-76a9-7' || lpad(to_hex(n), 15, '0'), 's', 's', 'c', 'k' || n, 'h', '{}', '{}', 1, 0, 't'
     FROM generate_series(1, ${WAITING}) AS n;
     INSERT INTO millrace.work (tenant, id, kind, consumer, definition, event_id, epoch, created_at, state, due_at, alone,
       attempts, waits, losses, expires_at, generation)
     SELECT 'acme', 'wrk_01a1e176-76a9-7' || lpad(to_hex(n), 15, '0'), 'route', 'route:count', 'd',
       'evt_01a1e176-76a9-7' || lpad(to_hex(n), 15, '0'), 0, 0, 'ready', n, false, 0, 0, 0, 9999999999999, 1
     FROM generate_series(1, ${WAITING}) AS n;
     SELECT millrace.join_node('n', 600000)`,
  )
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const [name, value] of Object.entries(WRITE_SETTINGS)) await client.query(`SET ${name} = ${value}`)
    await client.query('BEGIN')
    const { rows } = await client.query(claimSql('millrace'), [
      ...[
        '01a1e176-76a9-7000-8c09-5f077d7d06a9',
        1,
        ['acme'],
        ['route:count'],
        [TAKEN],
        [null],
        TAKEN,
        1,
        [],
        [null],
      ],
    ])
    expect(rows).toHaveLength(TAKEN + 1)
    const [read] = (
      await client.query(
        `SELECT sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::int AS count
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = 'millrace' AND c.relkind IN ('r', 'i')`,
      )
    ).rows
    // Each job, its event and their rows, some of them twice, and the few rows of owners.
    expect(read.count).toBeLessThan(20 * TAKEN)
    await client.query('COMMIT')
  } finally {
    await client.end()
    await drop()
  }
})
