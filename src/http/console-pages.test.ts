import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import type { HttpApi } from './api.ts'
import { type HttpServer, makeHttpServer } from './server.ts'

const open: { folder: string; server: HttpServer }[] = []
afterEach(async () => {
  for (const { folder, server } of open.splice(0)) {
    await server.close()
    rmSync(folder, { recursive: true })
  }
})

function start(isBuilt: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-pages-'))
  if (isBuilt) {
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'index.html'), '<p>the console</p>')
    writeFileSync(join(folder, 'favicon.svg'), '<svg/>')
    writeFileSync(join(folder, 'assets', 'index-abc123.js'), 'export {}')
  }
  const nothing: unknown = new Proxy(() => nothing, { get: () => nothing })
  const server = makeHttpServer(nothing as HttpApi, {
    consoleFolder: folder,
    bodyBytesMax: 1_000,
    closeMs: 0,
    requestId: () => 'r',
    log: makeMemoryLog(),
  })
  open.push({ folder, server })
  return (url: string, accept = 'text/html,*/*', method: 'GET' | 'POST' | 'HEAD' = 'GET') =>
    server.app.inject({ method, url, headers: { accept } })
}

test('[AP12] the console is at the root, and every address of a screen gets it', async () => {
  const get = start(true)
  for (const url of ['/', '/events/evt_1', '/sign-in', '/index.html', '/dead-letters?state=open']) {
    const answer = await get(url)
    expect([url, answer.statusCode, answer.body]).toEqual([url, 200, '<p>the console</p>'])
    expect(answer.headers['cache-control']).toBe('no-cache')
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toContain("default-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    expect(answer.headers['referrer-policy']).toBe('no-referrer')
  }
})

test('[AP12] files are served by their names, those with a hash for ever', async () => {
  const get = start(true)
  const asset = await get('/assets/index-abc123.js', '*/*')
  expect([asset.statusCode, asset.body]).toEqual([200, 'export {}'])
  expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(asset.headers['content-type']).toContain('javascript')
  expect((await get('/favicon.svg', 'image/*')).headers['cache-control']).toBe('no-cache')
  expect((await get('/', 'text/html', 'HEAD')).statusCode).toBe(200)
})

test('[AP12] what is for programs stays so, and nothing outside of the folder is served', async () => {
  const get = start(true)
  for (const url of [
    '/v1/nothing',
    '/errors/nothing/at-all',
    '/assets/gone.js',
    '/../package.json',
    '/%2e%2e/x',
  ]) {
    const answer = await get(url, url.startsWith('/v1') || url.startsWith('/errors') ? 'text/html' : '*/*')
    expect([url, answer.statusCode]).toEqual([url, 404])
    expect(answer.headers['content-type']).toContain('application/problem+json')
  }
  expect((await get('/', 'text/html', 'POST')).statusCode).toBe(404)
})

test('[AP12] without a built console a page says what to do', async () => {
  const get = start(false)
  const page = await get('/events')
  expect([page.statusCode, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
  expect(page.body).toContain('npm run build')
  expect((await get('/events', 'application/json')).headers['content-type']).toContain('problem+json')
  expect((await get('/v1/nothing')).headers['content-type']).toContain('problem+json')
})
