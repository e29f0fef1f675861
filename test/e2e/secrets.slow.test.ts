// Secrets of the vault in a whole node: they verify webhooks, survive a change of the master key, and are found
// nowhere, in the API, in the log, or in the files of the data folder.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type App, startApp } from '../../src/app.ts'
import { resolveConfig } from '../../src/config/index.ts'
import { signRequest } from '../../src/core/ingest/source/index.ts'
import { readFiles, spellings } from '../support/find-values.ts'
import { makeWorkspace, type Workspace } from '../support/workspace.ts'

const VALUE = 'wk-7f3c9a-nobody-may-find-me'
const PENDING = 'wk-0b1d2e-nor-me'
const ENV_VALUE = 'wk-55aa11-nor-what-the-environment-has'
const FLOWS = `
kind: Source
name: shop
verify: { scheme: github, secret: { ref: shop } }
subject: "shop.events.{{ payload.type }}"
event: { id: payload.id }
---
kind: Source
name: yard
verify: { scheme: github, secret: { env: YARD_SECRET } }
subject: yard.events
event: { id: payload.id }
---
kind: Source
name: later
verify: { scheme: github, secret: { ref: not-set } }
subject: later.events
---
kind: Route
name: relay
on: shop.events.paid
do: { emit: shop.relayed, data: { id: "{{ payload.id }}" } }
`

async function start(workspace: Workspace, flows: string, more: Record<string, string> = {}): Promise<App> {
  const env = {
    MILLRACE_ENV: 'QA',
    MILLRACE_DATA: workspace.data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: flows,
    MILLRACE_LOG: join(workspace.data, 'millrace.log'),
    YARD_SECRET: ENV_VALUE,
    ...more,
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  return startApp({ config: resolved.config, env })
}

/** Everything that the node responds, as text. */
function makeCaller(app: App) {
  const heard: string[] = []
  const hear = async (answer: Response) => {
    const text = await answer.text()
    heard.push(JSON.stringify([...answer.headers]), text)
    return { status: answer.status, text }
  }
  const send = async (source: string, secret: string, id: string) => {
    const body = JSON.stringify({ id, type: 'paid' })
    const verify = { scheme: 'github', secret: [] } as const
    const signed = signRequest(verify, { body: new TextEncoder().encode(body), secret })
    const headers = { 'content-type': 'application/json', ...signed }
    return hear(await fetch(`${app.url}/in/default/${source}`, { method: 'POST', body, headers }))
  }
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${app.adminKey.value}`, 'content-type': 'application/json' }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    return hear(await fetch(app.url + path, init))
  }
  return { heard, send, ask }
}

test('[N11] [VA4] no value is found in a response, the log, the store or its files; a new master key decrypts them', async () => {
  await using workspace = makeWorkspace()
  const flows = await workspace.writeFlows(FLOWS)
  const texts: string[] = []

  const first = await start(workspace, flows)
  try {
    const { heard, send, ask } = makeCaller(first)
    expect((await send('shop', VALUE, '0')).status).toBe(503)
    expect((await ask('POST', '/v1/secrets', { name: 'shop', value: VALUE })).status).toBe(201)
    expect((await ask('POST', '/v1/secrets', { name: 'shop', value: PENDING, pending: true })).status).toBe(
      201,
    )
    expect((await ask('POST', '/v1/secrets', { name: 'sh op', value: VALUE })).status).toBe(400)
    const accepted = await send('shop', VALUE, '1')
    expect(accepted.status).toBe(202)
    expect((await send('shop', PENDING, '2')).status).toBe(401)
    expect((await send('shop', 'guess', '3')).status).toBe(401)
    expect((await send('yard', ENV_VALUE, '4')).status).toBe(202)
    expect((await send('later', VALUE, '5')).status).toBe(503)
    await askEverything(ask, JSON.parse(accepted.text).eventId)
    texts.push(...heard, JSON.stringify(await first.store.system('verification').dump()))
  } finally {
    await first.close()
  }

  const old = readFileSync(join(workspace.data, 'master.key'), 'utf8').trim()
  expect(statSync(join(workspace.data, 'master.key')).mode & 0o777).toBe(0o600)
  const moved = Buffer.alloc(32, 7).toString('hex')
  const second = await start(workspace, flows, { MILLRACE_MASTER_KEY: moved, MILLRACE_MASTER_KEYS_OLD: old })
  await second.close()
  // From now on without the old one.
  const third = await start(workspace, flows, { MILLRACE_MASTER_KEY: moved })
  try {
    const { heard, send, ask } = makeCaller(third)
    expect((await send('shop', VALUE, '6')).status).toBe(202)
    expect((await ask('POST', '/v1/secrets/shop/promote')).status).toBe(200)
    expect((await send('shop', PENDING, '7')).status).toBe(202)
    expect((await send('shop', VALUE, '8')).status).toBe(401)
    texts.push(...heard, JSON.stringify(await third.store.system('verification').dump()))
  } finally {
    await third.close()
  }

  const foreign = { MILLRACE_MASTER_KEY: Buffer.alloc(32, 8).toString('hex') }
  const paused = await start(workspace, flows, foreign)
  await paused.close()
  const fourth = await start(workspace, flows, {
    ...foreign,
    MILLRACE_CONFIRM_COPY: paused.pause?.confirm ?? '',
  })
  try {
    const { heard, send } = makeCaller(fourth)
    const refused = await send('shop', PENDING, '9')
    expect([refused.status, JSON.parse(refused.text).code]).toEqual([503, 'secret_unreadable'])
    texts.push(...heard)
  } finally {
    await fourth.close()
  }

  const files = readFiles(workspace.data)
  const log = files.find(({ path }) => path.endsWith('millrace.log'))?.bytes.toString() ?? ''
  for (const name of ['access.secret-set', 'source.secret-not-set', 'vault.rewrapped', 'vault.unreadable'])
    expect(log).toContain(`"${name}"`)
  const database = files.find(({ path }) => path.endsWith('millrace.db'))
  // The search can find something: what is not secret is there.
  expect(database?.bytes.includes('shop.events.paid')).toBe(true)
  for (const value of [VALUE, PENDING, ENV_VALUE]) {
    for (const spelling of spellings(value)) {
      expect(files.filter(({ bytes }) => bytes.includes(spelling)).map(({ path }) => path)).toEqual([])
      expect(texts.filter((text) => text.includes(spelling.toString()))).toEqual([])
    }
  }
  expect(texts.some((text) => text.includes('"shop"'))).toBe(true)
})

/** Every GET of the document, with the event's own ids if a path needs one. */
async function askEverything(ask: ReturnType<typeof makeCaller>['ask'], eventId: string): Promise<void> {
  const document = JSON.parse((await ask('GET', '/openapi.json')).text)
  const work = JSON.parse((await ask('GET', '/v1/work')).text).items[0]
  const ids: Readonly<Record<string, string>> = {
    '/v1/events/{id}': eventId,
    '/v1/events/{id}/explain': eventId,
    '/v1/work/{id}': work.id,
  }
  let found = 0
  for (const [path, operations] of Object.entries<Record<string, unknown>>(document.paths)) {
    // The stream does not end; it has the same content as the lists.
    if (operations.get === undefined || path === '/v1/stream') continue
    const filled = path
      .replace('{kind}/{name}', 'Source/shop')
      .replace('{id}', ids[path] ?? 'none')
      .replace('{code}', 'secret_missing')
    const { status } = await ask('GET', filled)
    expect(status, filled).toBeLessThan(500)
    if (status === 200) found += 1
  }
  expect(found).toBeGreaterThan(10)
}
