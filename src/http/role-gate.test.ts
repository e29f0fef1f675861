import { expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import type { Role } from '../core/node/index.ts'
import type { HttpApi } from './api.ts'
import { makeHttpServer } from './server.ts'

const nothing: Partial<HttpApi> = {
  health: async () => ({ ready: true, reasons: [], checks: { store: 'ok', lease: 'held', bus: 'none' } }),
  refused: () => {
    throw new Error('nothing that came to the wrong node is listed as refused')
  },
}

async function ask(roles: readonly Role[], method: 'GET' | 'POST', url: string) {
  await using server = makeHttpServer(nothing as HttpApi, {
    roles: new Set(roles),
    bodyBytesMax: 1_000,
    closeMs: 0,
    requestId: () => 'r-1',
    log: makeMemoryLog(),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const answer = await fetch(`http://127.0.0.1:${port}${url}`, { method, headers: { accept: 'text/html' } })
  return { status: answer.status, text: await answer.text() }
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
