// The example of the documents, run by a real node against a tracker with its own log.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, expect, test } from 'vitest'
import { type App, startApp } from '../src/app.ts'
import { resolveConfig } from '../src/config/index.ts'
import { DEFAULT_TENANT, type EventId } from '../src/core/foundation/ids/index.ts'
import { signRequest } from '../src/core/ingest/source/index.ts'
import { eventually } from './support/node-process.ts'
import { GROUNDS, type Ground, makeStores, type TestStore } from './support/stores.ts'

const SECRET = 'a-secret-of-the-test'

interface Ticket {
  readonly key: string
  readonly title: string
}

const stores = makeStores()
afterAll(() => stores.close())

let data = ''
let env: Record<string, string> = {}
let app: App
let store: TestStore
let tracker: Server
let tickets: Ticket[] = []

async function begin(ground: Ground): Promise<void> {
  data = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  tickets = []
  store = await stores.make(ground)
  tracker = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { title } = JSON.parse(text) as { title: string }
    if (title === 'refuse me') {
      response.writeHead(422).end('no such project')
      return
    }
    tickets.push({ key: String(request.headers['idempotency-key']), title })
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ number: 1_000 + tickets.length }))
  })
  await new Promise<void>((resolve) => tracker.listen(0, '127.0.0.1', resolve))
  // A function reads the environment of its node; here that is the test's.
  process.env.TRACKER_URL = `http://127.0.0.1:${(tracker.address() as AddressInfo).port}`
  env = {
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: fileURLToPath(new URL('../examples/functions', import.meta.url)),
    MILLRACE_LOG: join(data, 'log.jsonl'),
    GITHUB_WEBHOOK_SECRET: SECRET,
    ...store.env,
  }
  app = await start()
}

async function start(): Promise<App> {
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  return startApp({ config: resolved.config, env })
}

afterEach(async () => {
  delete process.env.TRACKER_URL
  await app.close()
  await store[Symbol.asyncDispose]()
  await new Promise((resolve) => tracker.close(resolve))
  rmSync(data, { recursive: true })
})

async function open(delivery: string, number: number, title: string): Promise<EventId> {
  const payload = {
    action: 'opened',
    issue: { number, title },
    repository: { id: 7, full_name: 'acme/shop' },
  }
  const body = new TextEncoder().encode(JSON.stringify(payload))
  const response = await fetch(`${app.url}/in/default/github`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issues',
      'x-github-delivery': delivery,
      ...signRequest({ scheme: 'github', secret: [] }, { body, secret: SECRET }),
    },
    body,
  })
  expect(response.status).toBe(202)
  return ((await response.json()) as { eventId: EventId }).eventId
}

test.each(GROUNDS)(
  'on %s an issue becomes one ticket, whose number is stored; a refused one is a dead letter that says why',
  async (ground) => {
    await begin(ground)
    const reads = app.store.forTenant(DEFAULT_TENANT)
    const stateOf = async (event: EventId) => (await reads.workOfEvent(event))[0]?.state
    const first = await open('d1', 41, 'It is broken')
    while ((await stateOf(first)) !== 'done') expect(await stateOf(first)).toMatch(/^(leased|done)$/)
    const again = await open('d2', 41, 'It is broken')
    const refused = await open('d3', 42, 'refuse me')
    const wrong = await open('d4', 43, '')
    const isOver = async () =>
      (await reads.deadLetters({ cursor: null, limit: 10 })).items.length === 2 &&
      (await stateOf(again)) === 'skipped'
    await eventually('all four are over', isOver)
    // Before the drain: what is not published by then is left to the node's next start.
    await store.told()
    expect(await app.engine.drain(10_000)).toEqual({ left: 0 })

    expect(tickets).toEqual([{ key: expect.stringContaining('TICKET:7:41'), title: 'It is broken' }])
    expect([await stateOf(first), await stateOf(again)]).toEqual(['done', 'skipped'])
    const entry = await reads.ledger('TICKET:7:41')
    expect(JSON.parse(String(entry?.result))).toEqual({ ticket: 1_001 })

    const { items: letters } = await reads.deadLetters({ cursor: null, limit: 10 })
    const deadLetterOf = (event: EventId) => letters.find(({ eventId }) => eventId === event)
    expect(deadLetterOf(refused)).toMatchObject({
      class: 'validation',
      lastError: expect.stringContaining('the tracker refused the issue: no such project'),
    })
    expect(deadLetterOf(wrong)).toMatchObject({
      class: 'validation',
      lastError: expect.stringContaining('input.title'),
    })

    const { items: events } = await reads.events({ cursor: null, limit: 10 })
    expect(events.find(({ subject }) => subject === 'tracker.ticket.opened')?.causationId).toBe(first)
  },
)

test('[FN26] the data folder may be inside the folder of definitions', async () => {
  // With SQLite everything is in that folder.
  await begin('SQLite')
  await app.close()
  const flows = join(data, 'flows')
  mkdirSync(flows)
  const code = `import { defineFunction, defineRoute } from 'millrace'
export const note = defineFunction({ name: 'note', run: () => 1 })
export default defineRoute({ name: 'note_it', on: ['a.b'], do: note.with({}) })`
  writeFileSync(join(flows, 'note.ts'), code)
  env = { ...env, MILLRACE_FLOWS: flows, MILLRACE_DATA: join(flows, 'data') }
  app = await start()
  const { count } = app.definitions
  await app.close()
  expect(
    readdirSync(join(flows, 'data'), { recursive: true }).some((name) => /\.mjs$/.test(String(name))),
  ).toBe(true)
  app = await start()
  expect(app.definitions.count).toBe(count)
})
