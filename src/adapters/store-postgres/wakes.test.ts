import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import { wakesConformance } from '../../ports/wakes.conformance.ts'
import { MISSED, type Wake } from '../../ports/wakes.ts'
import { makePostgresWakes, type PostgresWakes, type PostgresWakesOptions } from './index.ts'
import { startProxy } from './proxy.fixture.ts'

let server: PostgresServer
let url = ''
beforeAll(async () => {
  server = await startPostgres()
  url = (await server.makeDatabase()).url
})
afterAll(() => server?.close())

/** The driver warns once in a process. */
const warnings: Error[] = []
const onWarning = (warning: Error) => warnings.push(warning)
beforeAll(() => void process.on('warning', onWarning))
afterAll(() => void process.off('warning', onWarning))

const opened: PostgresWakes[] = []
afterEach(async () => {
  for (const wakes of opened.splice(0)) await wakes[Symbol.asyncDispose]()
})

const until = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 5 })

async function connect(options: Partial<PostgresWakesOptions> = {}): Promise<PostgresWakes> {
  const wakes = makePostgresWakes({ connection: url, retryMsMax: 100, ...options })
  opened.push(wakes)
  await wakes.listening
  return wakes
}

wakesConformance('PostgreSQL', async () => ({
  connect: () => connect(),
  [Symbol.asyncDispose]: async () => {},
}))

async function connectBehindProxy(options: Partial<PostgresWakesOptions> = {}) {
  const proxy = await startProxy(server.port)
  const said: string[] = []
  const wakes = await connect({
    connection: url.replace(`:${server.port}/`, `:${proxy.port}/`),
    onTrouble: () => said.push('trouble'),
    onBack: () => said.push('back'),
    ...options,
  })
  const heard: Wake[] = []
  wakes.listen((wake) => heard.push(wake))
  return { proxy, wakes, heard, said }
}

test('[WK6] a connection that was cut is restored by itself, and reports that something may have been missed', async () => {
  const { proxy, wakes, heard, said } = await connectBehindProxy()
  const other = await connect()
  const toOther: Wake[] = []
  other.listen((wake) => toOther.push(wake))
  proxy.refuse()
  await until(() => expect(said).toEqual(['trouble']))
  other.send({ wake: 'definitions', tenant: 'acme' as never })
  wakes.send({ wake: 'work' })
  proxy.accept()
  await until(() => expect(heard).toEqual(MISSED))
  expect(said).toEqual(['trouble', 'back'])
  other.send({ wake: 'watching', forMs: 5 })
  await until(() => expect(heard.at(-1)).toEqual({ wake: 'watching', forMs: 5 }))
  wakes.send({ wake: 'work' })
  await until(() => expect(toOther).toEqual([{ wake: 'work' }]))
  await proxy.close()
})

test('[WK6] it is restored after each of many cuts, also those while it connects', async () => {
  const { proxy, heard } = await connectBehindProxy()
  const other = await connect()
  for (let round = 1; round <= 8; round += 1) {
    proxy.cut()
    await until(() => {
      other.send({ wake: 'watching', forMs: round })
      expect(heard).toContainEqual({ wake: 'watching', forMs: round })
    })
  }
  await proxy.close()
})

test('[WK6] it is restored after the server ended the session', async () => {
  const { proxy, heard, said } = await connectBehindProxy()
  await server.query(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace wakes'`,
  )
  await until(() => expect(heard).toContainEqual({ wake: 'work' }))
  expect(said).toEqual(['trouble', 'back'])
  await proxy.close()
})

test('[WK7] sending without a connection does nothing, and the first connection may come late', async () => {
  const proxy = await startProxy(server.port)
  proxy.refuse()
  let troubles = 0
  const wakes = makePostgresWakes({
    connection: url.replace(`:${server.port}/`, `:${proxy.port}/`),
    retryMsMax: 20,
    onTrouble: () => (troubles += 1),
  })
  opened.push(wakes)
  wakes.send({ wake: 'work' })
  await until(() => expect(troubles).toBe(1))
  proxy.accept()
  await wakes.listening
  const other = await connect()
  const heard: Wake[] = []
  other.listen((wake) => heard.push(wake))
  wakes.send({ wake: 'outbox' })
  await until(() => expect(heard).toEqual([{ wake: 'outbox' }]))
  await wakes[Symbol.asyncDispose]()
  wakes.send({ wake: 'work' })
  await proxy.close()
})

test('[WK7] while the server does not respond, wake-ups wait together for one query', async () => {
  const { proxy, wakes } = await connectBehindProxy({ checkEveryMs: 1 })
  const [other, third] = [await connect(), await connect()]
  const heard: Wake[] = []
  other.listen((wake) => heard.push(wake))
  proxy.pause()
  for (let round = 1; round <= 9; round += 1) {
    wakes.send({ wake: 'watching', forMs: round })
    // Longer than it gathers: a pause between two that are answered.
    third.send({ wake: 'watching', forMs: round * 100 })
    await until(() => expect(heard).toContainEqual({ wake: 'watching', forMs: round * 100 }))
  }
  expect(heard).toHaveLength(9)
  proxy.resume()
  await until(() => expect(heard).toHaveLength(18))
  expect(warnings.filter(({ name }) => name === 'DeprecationWarning')).toEqual([])
  await proxy.close()
})

test('[WK8] what is not a wake-up, or one of an unknown kind, is ignored', async () => {
  const wakes = await connect()
  const heard: Wake[] = []
  wakes.listen((wake) => heard.push(wake))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const odd = [
    '',
    'x',
    'null',
    '[]',
    '{"wake":"moon"}',
    '{"wake":"definitions"}',
    '{"wake":"watching","forMs":"1"}',
  ]
  for (const payload of [...odd, '{"wake":"changes"}\n{}', '{"wake":"work","more":1}']) {
    await client.query('SELECT pg_notify($1, $2)', ['millrace_wakes', payload])
  }
  await client.query(`SELECT pg_notify('another_wakes', '{"wake":"outbox"}')`)
  await client.end()
  await until(() => expect(heard).toEqual([{ wake: 'work' }]))
})

test('[WK9] a flood of changes is reported once for a tenant as more changes', async () => {
  const [wakes, other] = [await connect(), await connect()]
  const heard: Wake[] = []
  other.listen((wake) => heard.push(wake))
  const tenant = 'acme' as never
  for (let count = 0; count < 1_000; count += 1) wakes.send({ wake: 'changes', tenant, body: `${count}` })
  wakes.send({ wake: 'work' })
  await until(() => expect(heard).toContainEqual({ wake: 'work' }))
  expect(heard).toHaveLength(202)
  expect(heard).toContainEqual({ wake: 'changes', tenant, body: null })
})
