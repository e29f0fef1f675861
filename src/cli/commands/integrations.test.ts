import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stubNodeForTests } from '../stub-node.fixture.ts'

const node = stubNodeForTests()
const { folder, run } = node

const base = '/v1/integrations'
const AT = '2026-01-02T03:04:05.000Z'
const LOOKED_AT = '2026-01-02T04:04:05.000Z'
const PROBE = { at: AT, window: AT, ok: true, durationMs: 12, httpStatus: 200, class: null, error: null }
const CONNECTION = {
  id: 'depot',
  name: 'depot',
  description: null,
  provider: 'http',
  credential: 'depot-key',
  config: {},
  endpoints: { default: 'https://depot.example.com' },
  probeEveryMs: null,
  managedBy: 'api',
  status: 'pending',
  health: 'unknown',
  lastTest: PROBE,
  lastProbe: { ...PROBE, at: LOOKED_AT },
  circuit: { state: 'closed', since: null, tryAt: null, class: null, override: null },
  retired: null,
  buckets: [{ name: 'default', perMinute: 60, burst: 10, left: 9.5, closedUntil: null }],
  updatedAt: AT,
}
const CREDENTIAL = {
  id: 'depot-key',
  name: 'depot-key',
  description: null,
  provider: 'http',
  auth: 'bearer',
  grant: null,
  secret: { ref: 'DEPOT' },
  managedBy: 'api',
  status: 'waiting',
  version: 2,
  fingerprint: 'ab12',
  versions: [{ version: 2, fingerprint: 'ab12', since: AT, by: 'ada', state: 'active' }],
  connections: ['depot'],
  rotation: {
    everyMs: null,
    coolDownMs: 600_000,
    overlapMs: 60_000,
    nextAt: null,
    lastAt: AT,
    underWay: { reason: 'request', note: 'old', by: 'ada', begunAt: AT, workId: 'wrk_1' },
    lastFailure: null,
  },
  tokenExpiresAt: null,
  updatedAt: AT,
}
const RUN = {
  id: 'run_1',
  state: 'failed',
  purpose: 'test',
  connection: 'depot',
  provider: 'http',
  operation: 'probe',
  workId: null,
  eventId: null,
  correlationId: 'c-1',
  traceId: 't-1',
  key: null,
  attemptCount: 1,
  attempts: [
    {
      number: 1,
      startedAt: AT,
      durationMs: 12,
      class: 'auth',
      httpStatus: 401,
      error: 'answered 401',
      credentialVersion: 2,
      request: 'GET https://depot.example.com/',
      response: 'HTTP 401\nno\u001b[2J',
    },
  ],
  class: 'auth',
  httpStatus: 401,
  durationMs: 12,
  error: 'answered 401',
  externalRef: null,
  replayOf: null,
  createdAt: AT,
  updatedAt: AT,
}

describe('millrace connections', () => {
  test('[IA9] a list shows the health of each, and one its limits and what to do', async () => {
    const page = { items: [CONNECTION, { ...CONNECTION, name: 'b', status: 'active' }], nextCursor: null }
    node.answers = {
      [`GET ${base}/connections`]: { body: page },
      [`GET ${base}/connections/depot`]: { body: { ...CONNECTION, history: [PROBE] } },
    }
    const { code, stdout } = await run(['connections'])
    expect(code).toBe(0)
    expect(stdout.split('\n')[1]).toBe(`depot  http      depot-key   pending  unknown  closed   ${LOOKED_AT}`)
    expect((await run(['connections', '--status', 'active', '--json'])).stdout).not.toContain('pending')
    const one = await run(['connections', 'depot'])
    expect(one.stdout).toContain('9 of 10 left, 60/min')
    expect(one.stdout).toContain('1 of 1 checks passed')
    expect(one.stderr).toContain('millrace connections test depot')
  })

  test('[IA9] create sends one document of YAML or JSON, and prints warnings', async () => {
    const warnings = [{ severity: 'warning', rule: 'VA9', message: 'is not set', field: 'secret' }]
    node.answers = {
      [`POST ${base}/connections`]: { status: 201, body: { item: CONNECTION, warnings, version: 3 } },
    }
    const file = join(folder, 'depot.yaml')
    writeFileSync(file, 'kind: Connection\nname: depot\nprovider: http\nconfig: { site: 007 }\n')
    const { code, stdout, stderr } = await run(['connections', 'create', '-f', file])
    expect([code, stdout]).toEqual([0, 'depot is pending\n'])
    expect(stderr).toContain('Note: secret: is not set')
    expect(node.asked.at(-1)?.body).toMatchObject({ kind: 'Connection', name: 'depot', provider: 'http' })
    const two = { stdin: 'kind: Connection\nname: a\n---\nkind: Connection\nname: b\n' }
    expect(await run(['connections', 'create', '-f', '-'], two)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('2 documents'),
    })
    expect((await run(['connections', 'create', '-f', '-'], { stdin: 'a: [' })).code).toBe(2)
  })

  test('[IA9] a failed test exits with its code, and shows the response', async () => {
    node.answers = {
      [`POST ${base}/connections/depot/test`]: { body: { ok: false, run: RUN, connection: CONNECTION } },
    }
    const { code, stdout } = await run(['connections', 'test', 'depot'])
    expect(code).toBe(1)
    expect(stdout).toContain('answered 401')
    expect(stdout).not.toContain('\u001b')
  })

  test('[IA9] a circuit is switched with a reason and an end', async () => {
    const override = { is: 'open', reason: 'they move', by: 'ada', since: AT, until: AT }
    const open = { ...CONNECTION, circuit: { ...CONNECTION.circuit, override } }
    node.answers = { [`POST ${base}/connections/depot/circuit`]: { body: open } }
    const given = ['connections', 'circuit', 'depot', 'open', '--reason', 'they move']
    expect(await run([...given, '--for', '2h'])).toMatchObject({
      code: 0,
      stdout: `the circuit of depot is open by ada until ${AT}\n`,
    })
    expect(node.asked.at(-1)?.body).toMatchObject({ is: 'open', until: expect.stringMatching(/Z$/) })
    expect((await run([...given, '--for', 'long'])).code).toBe(2)
    expect((await run(['connections', 'circuit', 'depot', 'shut', '--reason', 'x'])).code).toBe(2)
    expect(
      (await run(['connections', 'circuit', 'depot', 'auto', '--for', '1h', '--reason', 'x'])).code,
    ).toBe(2)
  })

  test('[IA9] one is retired with a reason, and its probes are listed', async () => {
    node.answers = {
      [`POST ${base}/connections/depot/retire`]: { body: { ...CONNECTION, status: 'retired' } },
      [`GET ${base}/connections/depot/health`]: { body: { items: [PROBE], nextCursor: null } },
    }
    expect((await run(['connections', 'retire', 'depot'])).code).toBe(2)
    expect((await run(['connections', 'retire', 'depot', '--reason', 'over'])).stdout).toBe(
      'depot is retired\n',
    )
    expect((await run(['connections', 'health', 'depot'])).stdout).toContain(AT)
  })
})

test('[IA9] millrace credentials shows versions, rotates, and says where the new value goes', async () => {
  node.answers = {
    [`GET ${base}/credentials`]: { body: { items: [CREDENTIAL], nextCursor: null } },
    [`GET ${base}/credentials/depot-key`]: { body: CREDENTIAL },
    [`POST ${base}/credentials/rotate`]: {
      status: 202,
      body: { rotationId: 'wrk_1', isNew: true, credential: CREDENTIAL },
    },
    [`POST ${base}/credentials/depot-key/authorize`]: {
      body: { url: 'https://v.example.com/x', expiresAt: AT },
    },
    [`POST ${base}/credentials`]: { status: 201, body: { item: CREDENTIAL, warnings: [], version: 1 } },
  }
  expect((await run(['credentials'])).stdout).toContain('ab12')
  const one = await run(['credentials', 'depot-key'])
  expect(one.stdout).toContain('ref DEPOT')
  expect(one.stdout).toContain('wrk_1')
  const rotated = await run(['credentials', 'rotate', 'depot-key', '--reason', 'old'])
  expect([rotated.code, rotated.stdout]).toEqual([0, 'wrk_1\n'])
  expect(rotated.stderr).toContain('millrace secrets set DEPOT --pending')
  expect(node.asked.at(-1)?.body).toEqual({ credentialId: 'depot-key', reason: 'old' })
  expect((await run(['credentials', 'authorize', 'depot-key'])).stdout).toBe('https://v.example.com/x\n')
  const stdin = '{"name": "depot-key", "provider": "http", "secret": {"ref": "DEPOT"}}'
  expect(await run(['credentials', 'create', '-f', '-'], { stdin })).toMatchObject({ code: 0 })
})

test('[IA9] millrace runs lists calls, and shows every attempt', async () => {
  node.answers = {
    [`GET ${base}/runs?connection=depot&state=failed&limit=25`]: { body: { items: [RUN], nextCursor: null } },
    [`GET ${base}/runs/run_1`]: { body: RUN },
  }
  expect((await run(['runs', '--connection', 'depot', '--state', 'failed'])).stdout).toContain('run_1')
  const one = await run(['runs', 'run_1'])
  expect(one.stdout).toContain('GET https://depot.example.com/')
  expect(one.stdout).toContain('answered 401')
  expect(JSON.parse((await run(['runs', 'run_1', '--json'])).stdout)).toEqual(RUN)
})

test('[IA9] millrace providers lists systems, shows one with its operations, and describes one', async () => {
  const provider = {
    name: 'depot',
    title: 'The depot',
    description: null,
    category: 'logistics',
    auth: ['bearer'],
    capabilities: [],
    deprecated: null,
    inbound: null,
    managedBy: 'api',
    connections: 1,
    operations: ['order.book'],
    canProbe: true,
    canRotate: false,
  }
  const operation = {
    name: 'order.book',
    description: null,
    method: 'POST',
    path: '/orders',
    input: null,
    output: null,
    idempotency: 'native',
    keyTtlMs: 1,
    scopes: ['write'],
    deprecated: null,
    timeoutMs: 1,
  }
  const detail = {
    ...provider,
    baseUrl: 'https://depot.example.com',
    endpoints: {},
    config: null,
    buckets: { default: { perMinute: 60, burst: 10 } },
    authentication: { header: null, prefix: '', query: null },
    oauth2: null,
    operations: [operation],
  }
  node.answers = {
    [`GET ${base}/providers`]: { body: { items: [provider], nextCursor: null } },
    [`GET ${base}/providers/depot`]: { body: detail },
    [`POST ${base}/providers`]: { status: 201, body: { item: detail, warnings: [], version: 4 } },
  }
  expect((await run(['providers'])).stdout).toContain('The depot')
  const { stdout } = await run(['providers', 'depot'])
  expect(stdout).toContain('default 60/min, 10 at once')
  expect(stdout).toMatch(/order\.book\s+POST\s+\/orders\s+native\s+write/)
  const stdin = 'name: depot\nbaseUrl: https://depot.example.com\n'
  expect((await run(['providers', 'create', '-f', '-'], { stdin })).stdout).toBe(
    'depot is deployed (version 4)\n',
  )
})
