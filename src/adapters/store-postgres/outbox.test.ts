// The order of the outbox while transactions of other nodes are open.

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PostgresServer, startPostgres, type TestDatabase } from '../../../test/support/postgres.ts'
import type { InstanceId, TenantId } from '../../core/foundation/ids/index.ts'
import type { NewOutboxRow } from '../../core/store/outbox/index.ts'
import type { Store } from '../../ports/store.ts'
import { openPostgresStore } from './index.ts'

type Client = InstanceType<typeof pg.Client>

const TENANT = 'acme' as TenantId

let server: PostgresServer
let database: TestDatabase
let store: Store
const others: Client[] = []
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())
beforeEach(async () => {
  database = await server.makeDatabase()
  store = await openPostgresStore({ connection: database.url })
})
afterEach(async () => {
  for (const other of others.splice(0)) await other.end()
  await store[Symbol.asyncDispose]()
  await database.giveBack()
})

/** Another node, in a transaction that has its id. */
async function begin(): Promise<Client> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  others.push(client)
  await client.query('BEGIN')
  await client.query('SELECT pg_current_xact_id()')
  return client
}

const tellBy = (client: Client, id: string) =>
  client.query(
    `INSERT INTO millrace.outbox (tenant, id, subject, about, created_at) VALUES ('acme', $1, 'a.b', 'token', 0)`,
    [id],
  )

async function tell(id: string): Promise<void> {
  const row: NewOutboxRow = { id, subject: 'a.b', about: 'token', event: null, body: null }
  await store.commit({ tenant: TENANT, guards: [], writes: [{ w: 'outbox.add', rows: [row] }] })
}

const idsTold = async (limit = 10) => (await store.system('relay').outbox(limit)).rows.map(({ id }) => id)

test('[ST189] a row whose transaction took an earlier position and commits later is not skipped', async () => {
  const late = await begin()
  await tellBy(late, 'late')
  await tell('soon')
  expect(await idsTold()).toEqual([])
  await late.query('COMMIT')
  expect([...(await idsTold())].sort()).toEqual(['late', 'soon'])
})

test('[ST189] returned rows stay ahead of all that commit later', async () => {
  await tell('first')
  const late = await begin()
  expect(await idsTold()).toEqual(['first'])
  await tellBy(late, 'late')
  await tell('second')
  expect(await idsTold()).toEqual(['first'])
  await late.query('COMMIT')
  expect((await idsTold())[0]).toBe('first')
  expect(await idsTold()).toHaveLength(3)
})

test('[ST182] a row that waited for another, with an older transaction, comes after the one it waited for', async () => {
  const id = 'ins_1' as InstanceId
  const put = (revision: number, told: string) =>
    store.commit({
      tenant: TENANT,
      guards: [],
      writes: [
        {
          w: 'instance.put',
          row: {
            ...{
              id,
              workflow: 'w',
              definition: 'd',
              version: '1',
              state: 'active',
              attention: null,
              revision,
            },
            ...{ marking: {}, eventId: 'evt_1' as never, correlationId: 'c', parent: null, body: '{}' },
          },
        },
        {
          w: 'outbox.add',
          rows: [{ id: told, subject: 'a.b', about: 'token', event: null, body: null }],
        },
      ],
    })
  const waits = await begin()
  const between = await begin()
  await put(1, 'entered')
  // The transaction with the oldest id changes the instance last, and ends before the one between them.
  await waits.query(`SELECT FROM millrace.instance WHERE id = $1 FOR UPDATE`, [id])
  await tellBy(waits, 'left')
  await waits.query('COMMIT')
  expect(await idsTold()).toEqual([])
  await between.query('COMMIT')
  expect(await idsTold()).toEqual(['entered', 'left'])
})

test('[ST189] rows of another server are returned first, in their order', async () => {
  await tell('restored 1')
  await tell('restored 2')
  await server.query(database.url, `UPDATE millrace.outbox SET turn = 9000000000000000000`)
  expect(await idsTold()).toEqual([])
  const another = await openPostgresStore({ connection: database.url })
  await another[Symbol.asyncDispose]()
  await tell('own')
  expect(await idsTold()).toEqual(['restored 1', 'restored 2', 'own'])
})

test('[ST202] the transaction that holds everything back is named', async () => {
  await tell('first')
  expect(await store.system('relay').outboxEldest()).toMatchObject({ heldBy: null })
  const { rows } = await store.system('relay').outbox(1)
  const positions = rows.map(({ position }) => position)
  const old = await begin()
  await store.commit({ tenant: TENANT, guards: [], writes: [{ w: 'outbox.delete', positions }] })
  await tell('second')
  const { at, heldBy } = await store.system('relay').outboxEldest()
  expect(at).toBeGreaterThan(0)
  const { pid } = (await old.query('SELECT pg_backend_pid() AS pid')).rows[0]
  expect(heldBy).toMatch(`process ${pid} (`)
  expect(heldBy).toMatch(/idle in transaction\), open since 20\d\d-.*; end it$/)
  await old.query('COMMIT')
  expect(await store.system('relay').outboxEldest()).toEqual({ at, heldBy: null })
})
