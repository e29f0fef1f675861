import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closeAll } from './app/close-all.ts'
import { startApp } from './app.ts'
import { resolveConfig } from './config/index.ts'

test('closing runs every step, whether or not the ones before succeeded', async () => {
  const done: string[] = []
  const failed: unknown[] = []
  await closeAll(
    [
      () => done.push('one'),
      () => Promise.reject(new Error('two')),
      () => {
        throw new Error('three')
      },
      () => done.push('four'),
    ],
    (error) => failed.push((error as Error).message),
  )
  expect([done, failed]).toEqual([
    ['one', 'four'],
    ['two', 'three'],
  ])
})

test('[ND13] a node that is asked to stop says so while it still accepts requests, and asking twice changes nothing', async () => {
  const data = mkdtempSync(join(tmpdir(), 'millrace-app-'))
  try {
    const env = { MILLRACE_DATA: data, MILLRACE_PORT: '0', MILLRACE_DRAIN_DELAY: '1s', MILLRACE_FLOWS: data }
    const resolved = resolveConfig(env)
    if (!resolved.ok) throw new Error('the settings are wrong')
    const app = await startApp({ config: resolved.config, env })
    const ask = async (path: string) => (await fetch(`${app.url}${path}`)).status
    expect(await ask('/readyz')).toBe(200)
    const closed = app.close()
    const again = app.close()
    expect(await ask('/readyz')).toBe(503)
    expect([await ask('/healthz'), await ask('/in/default/none')]).toEqual([200, 404])
    expect(await closed).toEqual({ left: 0 })
    expect(await again).toEqual({ left: 0 })
    await expect(ask('/healthz')).rejects.toThrow()
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
})

test('[ND13] requests in progress and jobs share the time that a node has to stop', async () => {
  const shutdownMs = 3_000
  const data = mkdtempSync(join(tmpdir(), 'millrace-app-'))
  const vendor = createServer(() => {
    // It never responds: the call is in progress for longer than the node has.
  }).listen(0, '127.0.0.1')
  try {
    await once(vendor, 'listening')
    const flows = `
kind: Source
name: shop
verify: { scheme: none }
subject: shop.paid
---
kind: Route
name: book
on: [shop.paid]
do: { http: { url: "http://127.0.0.1:${(vendor.address() as AddressInfo).port}", body: {} } }`
    mkdirSync(join(data, 'flows'))
    writeFileSync(join(data, 'flows', 'flows.yaml'), flows)
    const env = {
      MILLRACE_DATA: join(data, 'data'),
      MILLRACE_PORT: '0',
      MILLRACE_FLOWS: join(data, 'flows'),
      MILLRACE_SHUTDOWN: `${shutdownMs}ms`,
    }
    const resolved = resolveConfig(env)
    if (!resolved.ok) throw new Error('the settings are wrong')
    const app = await startApp({ config: resolved.config, env })
    const isCalled = once(vendor, 'request')
    const sent = await fetch(`${app.url}/in/default/shop`, { method: 'POST', body: '{}' })
    expect(sent.status).toBe(202)
    await isCalled
    const half = connect(Number(new URL(app.url).port), '127.0.0.1')
    half.on('error', () => {})
    half.write(
      'POST /in/default/shop HTTP/1.1\r\nhost: node\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n',
    )
    expect(String((await once(half, 'data'))[0])).toContain('100 Continue')
    half.write('{')
    const startedAt = performance.now()
    expect(await app.close()).toEqual({ left: 1 })
    const tookMs = performance.now() - startedAt
    half.destroy()
    expect(tookMs).toBeGreaterThan(0.9 * shutdownMs)
    expect(tookMs).toBeLessThan(2 * shutdownMs)
  } finally {
    vendor.closeAllConnections()
    vendor.close()
    rmSync(data, { recursive: true, force: true })
  }
})

test('[AC21] what the node creates is for its owner only, and a well-known secret is reported if others can reach the node', async () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace-app-'))
  const data = join(root, 'data')
  try {
    const env = { MILLRACE_DATA: data, MILLRACE_PORT: '0', MILLRACE_HOST: '0.0.0.0' }
    const resolved = resolveConfig(env)
    if (!resolved.ok) throw new Error('the settings are wrong')
    const notices: string[] = []
    const app = await startApp({ config: resolved.config, env, onNotice: (text) => notices.push(text) })
    const rights = readdirSync(data, { recursive: true, withFileTypes: true }).map((entry) => {
      const { mode } = statSync(join(entry.parentPath, entry.name))
      return [entry.name, entry.isDirectory(), (mode & 0o777).toString(8)]
    })
    await app.close()
    expect((statSync(data).mode & 0o777).toString(8)).toBe('700')
    expect(rights.length).toBeGreaterThan(3)
    expect(rights.filter(([, isFolder, mode]) => mode !== (isFolder ? '700' : '600'))).toEqual([])
    expect(notices.join('')).toContain('dev-secret')
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
