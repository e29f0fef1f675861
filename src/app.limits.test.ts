// A whole node that enforces each tenant's limits.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startApp } from './app.ts'
import { resolveConfig } from './config/index.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(settings: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), 'millrace-limits-'))
  cleanups.push(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, 'flows'))
  const env = {
    MILLRACE_ENV: 'QA',
    MILLRACE_DATA: join(root, 'data'),
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: join(root, 'flows'),
    MILLRACE_LOG: join(root, 'millrace.log'),
    ...settings,
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  const app = await startApp({ config: resolved.config, env })
  cleanups.push(() => app.close())
  return async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${app.adminKey.value}`, 'content-type': 'application/json' }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const answer = await fetch(`${app.url}/v1${path}`, init)
    const text = await answer.text()
    // biome-ignore lint/suspicious/noExplicitAny: each test says what it needs of the answer.
    return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as any }
  }
}

const refused = (limit: number, setting: string) => ({
  status: 409,
  body: {
    code: 'tenant_limit',
    detail: expect.stringMatching(new RegExp(`may have ${limit} .*${setting}`)),
    next: expect.stringContaining('raise the setting'),
    details: { limit, setting },
  },
})

test('[TL1] [TL3] [TL4] secrets, keys and subscriptions beyond the limit are refused, and nothing changes', async () => {
  const ask = await start({
    MILLRACE_TENANT_SECRETS: '2',
    MILLRACE_TENANT_KEYS: '2',
    MILLRACE_TENANT_SUBSCRIPTIONS: '2',
  })
  const made = {
    '/secrets': (name: string) => ({ name, value: 'one' }),
    '/keys': (name: string) => ({ name, role: 'viewer' }),
    '/webhooks/subscriptions': (name: string) => ({ name, url: 'https://192.0.43.8/', on: ['shop.>'] }),
  }
  const settings = ['SECRETS', 'KEYS', 'SUBSCRIPTIONS'].map((what) => `MILLRACE_TENANT_${what}`)
  // Subscriptions first: their generated secrets are not counted.
  for (const [index, [path, bodyOf]] of [...Object.entries(made).entries()].reverse()) {
    expect((await ask('POST', path, bodyOf('a'))).status, path).toBe(201)
    expect((await ask('POST', path, bodyOf('b'))).status, path).toBe(201)
    const before = (await ask('GET', path)).body.items
    expect(await ask('POST', path, bodyOf('c'))).toMatchObject(refused(2, String(settings[index])))
    expect((await ask('GET', path)).body.items).toEqual(before)
  }
  // Existing entries can be changed, and removing one makes room.
  expect((await ask('POST', '/secrets', { name: 'a', value: 'two' })).status).toBe(201)
  expect((await ask('DELETE', '/secrets/b')).status).toBe(204)
  expect((await ask('POST', '/secrets', { name: 'c', value: 'three', pending: true })).status).toBe(201)
  expect(await ask('POST', '/secrets', { name: 'd', value: 'four', pending: true })).toMatchObject({
    status: 409,
  })
})

test('[TL2] definitions beyond the limit are refused as a whole, and fewer can always be applied', async () => {
  const ask = await start({ MILLRACE_TENANT_DEFINITIONS: '2', MILLRACE_TENANT_SUBSCRIPTIONS: '1' })
  const source = (name: string) =>
    `kind: Source\nname: ${name}\nverify: { scheme: none }\nsubject: ${name}.seen\n`
  const apply = (...documents: readonly string[]) =>
    ask('POST', '/definitions/apply', { files: [{ path: 'a.yaml', text: documents.join('---\n') }] })
  expect((await apply(source('a'), source('b'))).status).toBe(200)
  expect(await apply(source('c'))).toMatchObject(refused(2, 'MILLRACE_TENANT_DEFINITIONS'))
  expect((await ask('GET', '/definitions')).body.items).toHaveLength(2)
  expect((await apply(source('a').replace('seen', 'known'))).status).toBe(200)
})

test('[TL4] subscriptions of definitions are counted too', async () => {
  const ask = await start({ MILLRACE_TENANT_SUBSCRIPTIONS: '1' })
  const text = ['a', 'b']
    .map((name) => `kind: Subscription\nname: ${name}\nurl: https://192.0.43.8/\non: "shop.>"\n`)
    .join('---\n')
  const applied = await ask('POST', '/definitions/apply', { files: [{ path: 'a.yaml', text }] })
  expect(applied).toMatchObject(refused(1, 'MILLRACE_TENANT_SUBSCRIPTIONS'))
  expect((await ask('GET', '/webhooks/subscriptions')).body.items).toEqual([])
})
