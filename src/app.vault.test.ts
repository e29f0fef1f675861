// A whole node whose secrets are in a HashiCorp Vault and in files.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startVaultServer } from './adapters/vault-hashicorp/server.fixture.ts'
import { type App, SettingError, startApp } from './app.ts'
import { resolveConfig } from './config/index.ts'
import { signRequest } from './core/ingest/source/index.ts'

const VALUE = 'vk-41b7e0-nobody-may-find-me'
const FLOWS = `
kind: Source
name: shop
verify: { scheme: github, secret: { ref: shop } }
subject: "shop.events.{{ payload.type }}"
event: { id: payload.id }
---
kind: Source
name: yard
verify: { scheme: github, secret: { file: yard-signing } }
subject: "yard.events.{{ payload.type }}"
event: { id: payload.id }
`

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function makeFolder() {
  const root = mkdtempSync(join(tmpdir(), 'millrace-app-'))
  cleanups.push(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, 'flows'))
  writeFileSync(join(root, 'flows', 'shop.yaml'), FLOWS)
  const env = {
    MILLRACE_ENV: 'QA',
    MILLRACE_DATA: join(root, 'data'),
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: join(root, 'flows'),
    MILLRACE_LOG: join(root, 'millrace.log'),
  }
  return { root, env, log: () => readFileSync(env.MILLRACE_LOG, 'utf8') }
}

function resolved(env: Record<string, string>) {
  const found = resolveConfig(env)
  if (!found.ok) throw new Error(JSON.stringify(found.findings))
  return found
}

async function start(env: Record<string, string>): Promise<App> {
  const app = await startApp({ config: resolved(env).config, env })
  cleanups.push(() => app.close())
  return app
}

interface Answered {
  readonly code?: string
  readonly next?: string
  readonly items?: readonly unknown[]
}

function makeCaller(app: App) {
  const send = async (secret: string, id: string, source = 'shop') => {
    const body = JSON.stringify({ id, type: 'paid' })
    const verify = { scheme: 'github', secret: [] } as const
    const signed = signRequest(verify, { body: new TextEncoder().encode(body), secret })
    const headers = { 'content-type': 'application/json', ...signed }
    const answer = await fetch(`${app.url}/in/default/${source}`, { method: 'POST', body, headers })
    return { status: answer.status, body: (await answer.json()) as Answered }
  }
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${app.adminKey.value}`, 'content-type': 'application/json' }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const answer = await fetch(app.url + path, init)
    return { status: answer.status, body: (await answer.json()) as Answered }
  }
  return { send, ask }
}

test('[VA16] [VA18] [VA19] secrets go into the vault and not into the store; a node starts and says what is wrong while it is sealed', async () => {
  const server = await startVaultServer({ now: () => Date.now() })
  server.give('hvs.node')
  const { env, log } = makeFolder()
  const withVault = { ...env, MILLRACE_VAULT_URL: server.url, MILLRACE_VAULT_TOKEN: 'hvs.node' }

  server.state = 'sealed'
  const app = await start(withVault)
  const { send, ask } = makeCaller(app)
  const refused = await send(VALUE, '1')
  expect([refused.status, refused.body.code]).toEqual([503, 'vault_sealed'])
  const set = await ask('POST', '/v1/secrets', { name: 'shop', value: VALUE })
  expect([set.status, set.body.code]).toEqual([503, 'vault_sealed'])
  expect(set.body.next ?? JSON.stringify(set.body)).toContain('unseal')

  server.state = 'up'
  expect((await ask('POST', '/v1/secrets', { name: 'shop', value: VALUE })).body).toEqual({
    name: 'shop',
    version: 1,
  })
  expect(server.data('millrace/default/shop')?.value).toBe(VALUE)
  expect((await send(VALUE, '2')).status).toBe(202)
  expect((await ask('GET', '/v1/secrets')).body.items).toMatchObject([{ name: 'shop', version: 1 }])
  expect((await ask('POST', '/v1/secrets/rewrap')).body).toEqual({ rewrapped: 0, unreadable: [] })

  const stored = JSON.stringify(await app.store.system('verification').dump())
  await app.close()
  expect([stored.includes(VALUE), log().includes(VALUE), log().includes('hvs.node')]).toEqual([
    false,
    false,
    false,
  ])
  for (const line of ['vault.away', 'vault.not-checked', 'vault.back', 'access.secret-set'])
    expect(log()).toContain(`"${line}"`)
})

test('[VA13] a source verifies with a file of the folder of secrets', async () => {
  const { env, root } = makeFolder()
  mkdirSync(join(root, 'secrets'))
  writeFileSync(join(root, 'secrets', 'yard-signing'), `${VALUE}\n`)
  const { send } = makeCaller(await start({ ...env, MILLRACE_SECRETS_DIR: join(root, 'secrets') }))
  expect((await send(VALUE, '1', 'yard')).status).toBe(202)
  expect((await send('guess', '2', 'yard')).status).toBe(401)
})

test('[VA14] a master key in the data folder that is too simple keeps a node from starting in PROD', async () => {
  const { env, root } = makeFolder()
  mkdirSync(join(root, 'data'), { mode: 0o700 })
  writeFileSync(join(root, 'data', 'master.key'), Buffer.alloc(32, 1).toString('base64'))
  const started = start({ ...env, MILLRACE_ENV: 'PROD' })
  await expect(started).rejects.toThrow(SettingError)
  await expect(started).rejects.toThrow(/openssl rand/)
})

test('[VA22] a node does not start while one of its own keys is in the folder of secrets, and says which', async () => {
  const { env, root } = makeFolder()
  const secrets = join(root, 'secrets')
  mkdirSync(secrets)
  writeFileSync(join(secrets, 'admin_key'), 'a-key-of-more-than-twenty-characters\n')
  const named = {
    ...env,
    MILLRACE_SECRETS_DIR: join(root, 'flows', '..', 'secrets'),
    MILLRACE_ADMIN_KEY_FILE: join(secrets, 'admin_key'),
  }
  const { config } = resolved(named)
  const started = startApp({ config, env: named })
  await expect(started).rejects.toMatchObject({
    setting: 'MILLRACE_SECRETS_DIR',
    message: expect.stringMatching(/admin_key\).*Move them to a folder of their own/),
  })
  expect(existsSync(join(root, 'data'))).toBe(false)
  // The data folder has keys too, from the first start on.
  await expect(start({ ...env, MILLRACE_SECRETS_DIR: root })).rejects.toThrow(/master\.key/)
})

test('[VA23] in PROD a definition that reads a variable not on the list keeps the node from starting', async () => {
  const { env, root } = makeFolder()
  const text = FLOWS.replace('{ ref: shop }', '{ env: SHOP_SECRET }')
  writeFileSync(join(root, 'flows', 'shop.yaml'), text)
  const given = { ...env, MILLRACE_ENV: 'PROD', SHOP_SECRET: VALUE }
  await expect(start(given)).rejects.toMatchObject({
    findings: [{ rule: 'VA23', message: expect.stringContaining('MILLRACE_SECRET_ENV') }],
  })
  const { send, ask } = makeCaller(await start({ ...given, MILLRACE_SECRET_ENV: 'SHOP_*' }))
  expect((await send(VALUE, '1')).status).toBe(202)
  const other = FLOWS.replace('{ ref: shop }', '{ env: PATH }')
  const applied = await ask('POST', '/v1/definitions/check', { files: [{ path: 'a.yaml', text: other }] })
  expect(JSON.stringify(applied.body)).toContain('VA23')
})
