import type { PoolClient } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres, type TestDatabase } from '../../../test/support/postgres.ts'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { sendBatch } from './batch.ts'
import { makeLaneless } from './commit/laneless.ts'
import { makePool, type Pool, prepare, WRITE_SETTINGS } from './connection.ts'

let server: PostgresServer
let database: TestDatabase
beforeAll(async () => {
  server = await startPostgres()
  database = await server.makeDatabase({ empty: true })
  await server.query(database.url, 'CREATE TABLE one (id int PRIMARY KEY)')
})
afterAll(() => server?.close())

const LIMITS = { connections: 1, connectTimeoutMs: 5_000, lockTimeoutMs: 5_000, settings: WRITE_SETTINGS }
let pool: Pool
let client: PoolClient
const connect = async (statementTimeoutMs: number) => {
  pool = makePool({ connectionString: database.url }, { ...LIMITS, statementTimeoutMs }, () => {})
  client = await pool.connect()
}
beforeEach(() => connect(5_000))
afterEach(async () => {
  client.release(true)
  await pool.end()
  await server.query(database.url, 'TRUNCATE one')
})

const BEGIN = prepare('BEGIN')
const COMMIT = prepare('COMMIT')
const insert = (id: number) => prepare('INSERT INTO one (id) VALUES ($1::int)', [id])
const all = prepare('SELECT id, id::int8 AS "big", NULL::text AS "none" FROM one ORDER BY id')

describe('statements sent as one batch', () => {
  test('[PG16] get each its own result, the first time and later', async () => {
    for (const id of [1, 2]) {
      const answers = await sendBatch(client, [BEGIN, insert(id), all, insert(id + 10), COMMIT])
      expect(answers.map(({ command }) => command)).toEqual([
        'BEGIN',
        'INSERT 0 1',
        `SELECT ${2 * id - 1}`,
        'INSERT 0 1',
        'COMMIT',
      ])
      expect(answers[2]?.rows[0]).toEqual({ id: 1, big: 1, none: null })
    }
  })

  test('[PG16] nothing after a failed one is executed, and all of them can be sent again', async () => {
    const failing = () => sendBatch(client, [BEGIN, insert(1), insert(1), all, COMMIT])
    for (let time = 0; time < 2; time += 1) {
      await expect(failing()).rejects.toMatchObject({ code: '23505' })
      await client.query('ROLLBACK')
      const [, , found] = await sendBatch(client, [BEGIN, insert(5), all, prepare('ROLLBACK')])
      expect(found?.rows.map(({ id }) => id)).toEqual([5])
    }
    expect(await server.query(database.url, 'SELECT id FROM one')).toEqual([])
  })

  test('[PG16] a statement that does not parse spoils no other', async () => {
    const wrong = prepare('SELECT nothing FROM nowhere')
    for (let time = 0; time < 2; time += 1)
      await expect(sendBatch(client, [all, wrong])).rejects.toMatchObject({ code: '42P01' })
    expect((await sendBatch(client, [all]))[0]?.rows).toEqual([])
  })

  test('[PG16] a number that cannot be represented is an error, not a wrong value', async () => {
    const large = prepare('SELECT 9007199254740993::int8 AS "large"')
    await expect(sendBatch(client, [large, all])).rejects.toThrow('beyond what a number holds')
    expect((await sendBatch(client, [all]))[0]?.rows).toEqual([])
  })

  test('[PG16] a connection that is cut fails all of them', async () => {
    const [answer] = await sendBatch(client, [prepare('SELECT pg_backend_pid() AS pid')])
    const sent = sendBatch(client, [BEGIN, prepare('SELECT pg_sleep(30)'), COMMIT])
    const ended = expect(sent).rejects.toThrow()
    await server.query(database.url, `SELECT pg_terminate_backend(${answer?.rows[0].pid})`)
    await ended
  })
})

describe('jobs that are known to be in no lane', () => {
  const tenant = 'acme' as TenantId
  const row = (id: string, lane: string | null = null, processedAt: number | null = null) => ({
    ...{ tenant, id: id as WorkId, lane, processedAt },
  })

  test('are those that were added and not settled', () => {
    const laneless = makeLaneless()
    laneless.learn([row('w1'), row('w2', 'lane'), row('w3')])
    laneless.forget([row('w1', null, 5), row('w3')])
    expect([...laneless.items]).toEqual(['4:acme2:w3'])
  })

  test('are forgotten before there are too many', () => {
    const laneless = makeLaneless()
    laneless.learn(Array.from({ length: 50_000 }, (_, index) => row(`w${index}`)))
    expect(laneless.items.size).toBeLessThanOrEqual(20_000)
    expect(laneless.items.has('4:acme6:w49999')).toBe(true)
  })
})
