// A whole node whose values of `vars` come from its folder, from the API and from its settings.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type App, DefinitionsError, SettingError, startApp } from './app.ts'
import { resolveConfig } from './config/index.ts'
import type { RouteDocument } from './core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from './core/foundation/ids/index.ts'

const VARS = `kind: Vars
name: limits
values: { perMinute: 120, shop: https://shop.example }
`
const ROUTE = `kind: Route
name: book
on: shop.events.paid
key: payload.id
uniqueness: record
rateLimit: { perMinute: "{{ vars.perMinute }}" }
do: { http: { method: PUT, url: "{{ vars.shop }}/orders", idempotent: true } }
`

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function makeFolder(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'millrace-vars-'))
  cleanups.push(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, 'flows'))
  const write = (name: string, text: string) => writeFileSync(join(root, 'flows', name), text)
  for (const [name, text] of Object.entries(files)) write(name, text)
  const env = {
    MILLRACE_ENV: 'QA',
    MILLRACE_DATA: join(root, 'data'),
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: join(root, 'flows'),
    MILLRACE_LOG: join(root, 'millrace.log'),
  }
  return { write, env, log: () => readFileSync(env.MILLRACE_LOG, 'utf8') }
}

async function start(env: Record<string, string>): Promise<App> {
  const found = resolveConfig(env)
  if (!found.ok) throw new Error(JSON.stringify(found.findings))
  const app = await startApp({ config: found.config, env })
  cleanups.push(() => app.close())
  return app
}

async function apply(app: App, text: string) {
  const answer = await fetch(`${app.url}/v1/definitions/apply`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.adminKey.value}`, 'content-type': 'application/json' },
    body: JSON.stringify({ files: [{ path: 'sent.yaml', text }] }),
  })
  return {
    status: answer.status,
    body: (await answer.json()) as { readonly changes?: unknown; readonly detail?: string },
  }
}

const limitOf = async (app: App) => {
  const { item } = await app.engine.definitions.one(DEFAULT_TENANT, 'Route', 'book')
  return { perMinute: (item.document as RouteDocument).rateLimit?.perMinute, managedBy: item.managedBy }
}

test('[VR12] [VR15] a folder reads what the API applied, and is filled in again when that changes', async () => {
  const { env } = makeFolder({ 'vars.yaml': VARS })
  const first = await start(env)
  expect((await apply(first, ROUTE)).status).toBe(200)
  await first.close()
  // The folder and the API change places.
  const second = makeFolder({ 'route.yaml': ROUTE })
  const app = await start({ ...second.env, MILLRACE_DATA: env.MILLRACE_DATA })
  expect(await limitOf(app)).toEqual({ perMinute: 120, managedBy: 'folder' })
  const { body } = await apply(app, VARS.replace('120', '60'))
  expect(body.changes).toEqual([
    { kind: 'Vars', name: 'limits', change: 'update' },
    { kind: 'Route', name: 'book', change: 'update' },
  ])
  expect(await limitOf(app)).toEqual({ perMinute: 60, managedBy: 'folder' })
  expect(await apply(app, VARS.replace('120', 'many'))).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('`vars.perMinute` is `"many"` in QA') },
  })
  await app.close()

  // The next start finds the same, and makes no version.
  const version = async (node: App) =>
    (await node.engine.definitions.versions(DEFAULT_TENANT, { cursor: null, limit: 1 })).items[0]?.version
  const again = await start({ ...second.env, MILLRACE_DATA: env.MILLRACE_DATA })
  expect(await limitOf(again)).toEqual({ perMinute: 60, managedBy: 'folder' })
  expect(await version(again)).toBe(await version(again))
})

test('[VR3] [VR15] a name that is defined nowhere refuses the start', async () => {
  const { env } = makeFolder({ 'route.yaml': ROUTE })
  const refused = await start(env).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(DefinitionsError)
  expect((refused as DefinitionsError).findings).toMatchObject([
    { rule: 'VR3', line: 6, message: expect.stringContaining('there is no `vars.perMinute`') },
    { rule: 'VR3', line: 7 },
  ])
})

test('[VR13] [VR14] a setting takes precedence at the start, also in what the API applied; a wrong one refuses it', async () => {
  const { env, log } = makeFolder({ 'vars.yaml': VARS })
  const first = await start(env)
  expect((await apply(first, ROUTE)).status).toBe(200)
  expect(await limitOf(first)).toEqual({ perMinute: 120, managedBy: 'api' })
  await first.close()

  const second = await start({ ...env, MILLRACE_VAR_PERMINUTE: '30', MILLRACE_VAR_other: 'x' })
  expect(await limitOf(second)).toEqual({ perMinute: 30, managedBy: 'api' })
  expect(second.engine.definitions.vars(DEFAULT_TENANT, [])).toMatchObject({ perMinute: 30 })
  await second.close()
  expect(log()).toContain('vars.setting-unknown')

  const wrong = await start({ ...env, MILLRACE_VAR_perMinute: 'many' }).catch((error: unknown) => error)
  expect((wrong as DefinitionsError).findings).toMatchObject([
    { rule: 'VR14', message: expect.stringContaining('`MILLRACE_VAR_perMinute` cannot be used') },
  ])

  // The same for a definition that only the store has.
  const other = makeFolder({})
  const sent = await start({ ...other.env })
  expect((await apply(sent, VARS)).status).toBe(200)
  await sent.close()
  const refused = await start({ ...other.env, MILLRACE_VAR_perMinute: 'many' }).catch(
    (error: unknown) => error,
  )
  expect(refused).toBeInstanceOf(SettingError)
  expect((refused as SettingError).message).toContain('`vars.perMinute` is a number')
})

test('[VR13] a name of a setting that is none is refused', () => {
  const found = resolveConfig({ MILLRACE_VAR_1a: 'x' })
  expect(found).toMatchObject({ ok: false, findings: [{ setting: 'MILLRACE_VAR_1a' }] })
  expect(resolveConfig({ MILLRACE_VAR_a: 'x' })).toMatchObject({
    ok: true,
    warnings: [],
    config: { vars: { a: 'x' } },
  })
})
