import { expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { ALL_ROLES, type Role } from '../core/queue/node-role/index.ts'
import type { HttpApi } from './api.ts'
import type { ShownPause } from './paused-page.ts'
import { makeHttpServer } from './server.ts'

const nothing: Partial<HttpApi> = {
  health: async () => ({ ready: true, reasons: [], checks: { store: 'ok', lease: 'held', bus: 'none' } }),
  refused: () => {
    throw new Error('nothing that came to the wrong node is listed as refused')
  },
}

async function ask(
  roles: readonly Role[],
  method: 'GET' | 'POST',
  url: string,
  pause: ShownPause | null = null,
) {
  await using server = makeHttpServer(nothing as HttpApi, {
    roles: new Set(roles),
    pause: () => pause,
    bodyBytesMax: 1_000,
    closeMs: 0,
    requestId: () => 'r-1',
    log: makeMemoryLog(),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const answer = await fetch(`http://127.0.0.1:${port}${url}`, { method, headers: { accept: 'text/html' } })
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
}

test.each([
  ['POST', '/in/default/shop', 'ingest', ['api', 'work', 'schedule', 'deliver']],
  ['GET', '/v1/events', 'api', ['ingest', 'work', 'schedule', 'deliver']],
  ['POST', '/v1/session', 'api', ['ingest']],
  ['GET', '/', 'api', ['ingest']],
  ['GET', '/work/wrk_1', 'api', ['deliver']],
] as const)(
  '[ND4] %s %s of a node without the role %s says which one is missing',
  async (method, url, role, roles) => {
    const { status, text } = await ask(roles, method, url)
    expect(status).toBe(421)
    const problem = JSON.parse(text)
    expect(problem).toMatchObject({ code: 'role_missing', details: { role, roles: [...roles] } })
    expect(problem.detail).toContain(role)
    expect(problem.next).toMatch(/--role/)
  },
)

test.each(['/healthz', '/readyz', '/errors/role_missing', '/openapi.json'])(
  '[ND5] every node answers %s',
  async (url) => {
    expect((await ask(['deliver'], 'GET', url)).status).toBe(200)
  },
)

const PAUSE: ShownPause = { reasons: ['/data/<copy>.db is a copy.'], confirm: '0a1b2c3d' }

test.each(['/', '/events', '/work/wrk_1'])(
  '[DU13] a browser that asks a paused node for %s gets a page with the reasons and the command',
  async (url) => {
    const { status, type, text } = await ask([...ALL_ROLES], 'GET', url, PAUSE)
    expect(status).toBe(503)
    expect(type).toContain('text/html')
    expect(text).toContain('/data/&lt;copy&gt;.db is a copy.')
    expect(text).toContain('millrace confirm-copy 0a1b2c3d')
  },
)

test.each([
  ['GET', '/v1/events'],
  ['POST', '/in/default/shop'],
  ['GET', '/metrics'],
] as const)('[DU7] %s %s of a paused node is a problem for programs', async (method, url) => {
  const { status, text } = await ask([...ALL_ROLES], method, url, PAUSE)
  expect(status).toBe(503)
  expect(JSON.parse(text)).toMatchObject({ code: 'node_paused' })
  expect(JSON.parse(text).detail).toContain('/data/<copy>.db is a copy. To go on all the same')
})
