// Bad requests to the real process: each is refused with a problem document that says what to do, and nothing is
// stored.

import { gzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { settled } from '../support/account.ts'
import { makeDelivery } from '../support/load.ts'
import { buildDist, startNode } from '../support/node-process.ts'
import { readRows } from '../support/sqlite-rows.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

test('bad input is refused with its reason and the next step; the store is unchanged', async () => {
  await using workspace = makeWorkspace()
  const node = await startNode({ workspace, env: { MILLRACE_BODY_LIMIT: '4KiB' } })
  const at = `${node.url}/in/default/github`
  const { body, headers } = makeDelivery()
  const accepted = await fetch(at, { method: 'POST', body, headers })
  expect(accepted.status).toBe(202)
  await settled(node)
  const unsigned = {
    'content-type': 'application/json',
    'x-github-event': 'issues',
    'x-github-delivery': 'x',
  }
  const before = readRows(workspace.database)
  expect(before.event?.length).toBeGreaterThan(0)
  const broken = '{"action":"opened"'
  const twice = '{"action":"opened","action":"closed"}'
  // Fits into the node's limit as sent, and exceeds it once it is inflated.
  const bomb = gzipSync(Buffer.alloc(3_000_000))
  const large = JSON.stringify({ action: 'opened', text: 'x'.repeat(5_000) })

  const cases: readonly [string, number, string, RequestInit & { readonly at?: string }][] = [
    ['no signature', 401, 'signature_missing', { method: 'POST', body, headers: unsigned }],
    [
      'another secret’s signature',
      401,
      'signature_wrong',
      { method: 'POST', body, headers: { ...headers, 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` } },
    ],
    ['another body’s signature', 401, 'signature_wrong', { method: 'POST', body: `${body} `, headers }],
    [
      'an unknown source',
      404,
      'unknown_source',
      { method: 'POST', body, headers, at: `${node.url}/in/default/gitbub` },
    ],
    [
      'an unknown tenant',
      404,
      'unknown_source',
      { method: 'POST', body, headers, at: `${node.url}/in/nobody/github` },
    ],
    [
      'not JSON',
      400,
      'not_json',
      { method: 'POST', body: broken, headers: makeDelivery({ body: broken }).headers },
    ],
    [
      'over the limit',
      413,
      'body_too_large',
      { method: 'POST', body: large, headers: makeDelivery({ body: large }).headers },
    ],
    [
      'the wrong type',
      415,
      'wrong_type',
      { method: 'POST', body, headers: { ...headers, 'content-type': 'multipart/form-data' } },
    ],
    [
      'an unknown encoding',
      415,
      'wrong_type',
      { method: 'POST', body, headers: { ...headers, 'content-encoding': 'zstd' } },
    ],
    [
      'not compressed as it says',
      400,
      'body_unreadable',
      { method: 'POST', body, headers: { ...headers, 'content-encoding': 'gzip' } },
    ],
    [
      'a bomb',
      413,
      'body_too_large',
      {
        method: 'POST',
        body: bomb,
        headers: { ...makeDelivery({ body: bomb }).headers, 'content-encoding': 'gzip' },
      },
    ],
    [
      'a key twice',
      400,
      'duplicate_key',
      { method: 'POST', body: twice, headers: makeDelivery({ body: twice }).headers },
    ],
    ['GET', 405, 'method_not_allowed', { method: 'GET' }],
    ['an unknown address', 404, 'not_found', { at: `${node.url}/nowhere` }],
  ]
  for (const [name, status, code, { at: address = at, ...init }] of cases) {
    const response = await fetch(address, init)
    expect(response.headers.get('content-type'), name).toMatch(/^application\/problem\+json/)
    const problem = (await response.json()) as Record<string, string>
    expect(problem, name).toEqual({
      type: `/errors/${code}`,
      title: expect.any(String),
      status,
      detail: expect.any(String),
      code,
      next: expect.stringMatching(/^[A-Z].* .*\.$/),
      instance: expect.stringMatching(/^\/requests\/./),
      ...(status === 405 && { details: { allow: ['POST'] } }),
    })
    expect(response.status, name).toBe(status)
    if (status === 405) expect(response.headers.get('allow')).toBe('POST')
    // The type is an address on this very server.
    expect((await fetch(node.url + problem.type)).status, name).toBe(200)
  }
  expect(readRows(workspace.database)).toEqual(before)
  // Each is listed, except requests without a source; the list contains nothing of what was sent.
  const listed = await fetch(`${node.url}/v1/rejections?limit=100`, {
    headers: { authorization: `Bearer ${node.adminKey}` },
  })
  const { items } = (await listed.json()) as { items: { reason: string; address: string }[] }
  const told = cases.filter(([name]) => !['an unknown tenant', 'an unknown address'].includes(name))
  expect(items.map(({ reason }) => reason).sort()).toEqual(told.map(([, , code]) => code).sort())
  expect(new Set(items.map(({ address }) => address))).toEqual(new Set(['127.0.0.1']))
  expect(JSON.stringify(items)).not.toContain('opened')
  // The node is as healthy as before.
  expect((await fetch(at, { method: 'POST', body, headers })).status).toBe(202)
})
