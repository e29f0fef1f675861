import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from './cli.fixture.ts'
import { withOtherId } from './commands/send.ts'
import { resolveUrl } from './connection.ts'
import { EXIT } from './failure.ts'

/** Responds as a test configured it, and records the requests. */
let answer: (request: IncomingMessage) => { status: number; body: string; type?: string } = () => ({
  status: 200,
  body: '{}',
})
const asked: { method: string; url: string; key: string | undefined; body: string }[] = []
const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text
  })
  request.on('end', () => {
    const { method = '', url = '', headers } = request
    asked.push({ method, url, key: headers.authorization, body })
    const given = answer(request)
    response.writeHead(given.status, { 'content-type': given.type ?? 'application/json' }).end(given.body)
  })
})
let url = ''

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const run = (args: string, options: Parameters<typeof runCli>[1] = {}) =>
  runCli(args.split(' '), { ...options, env: { MILLRACE_URL: url, MILLRACE_KEY: 'k', ...options.env } })

const problem = (status: number, more: object = {}) => {
  answer = () => ({
    status,
    type: 'application/problem+json',
    body: JSON.stringify({ title: 'It is refused', detail: 'because', next: 'Do that.', status, ...more }),
  })
}

describe('refusals', () => {
  test.each([
    [400, 'failed'],
    [401, 'notAllowed'],
    [403, 'notAllowed'],
    [404, 'notFound'],
    [409, 'conflict'],
    [500, 'failed'],
  ] as const)('[CL4] [CL5] a %i is reported with its next step and exits as %s', async (status, ending) => {
    problem(status)
    expect(await run('events')).toEqual({
      code: EXIT[ending].code,
      stdout: '',
      stderr: 'millrace: It is refused: because.\nDo that.\n',
    })
  })

  test('[CL5] faults are shown at their fields, findings at their lines', async () => {
    const fields = [
      { path: '/name', message: 'is missing' },
      { path: '/role', message: 'is not known' },
    ]
    problem(400, { details: { fields } })
    expect((await run('keys create x')).stderr).toContain(
      '\n  /name: is missing\n  /role: is not known\nDo that.',
    )
    const finding = {
      severity: 'error',
      rule: 'F10',
      message: 'bad name',
      file: 'a.yaml',
      line: 2,
      column: 7,
    }
    problem(422, { details: { findings: [finding] } })
    expect(await run('rollback 2')).toMatchObject({
      code: EXIT.findings.code,
      stderr: expect.stringContaining('  a.yaml:2:7 error F10: bad name\n'),
    })
  })

  test('a server that is not a node is reported as such', async () => {
    answer = () => ({ status: 200, body: '<html>' })
    expect((await run('events')).stderr).toContain('did not respond with JSON')
    answer = () => ({ status: 502, body: '<html>' })
    expect((await run('events')).stderr).toContain('responded 502 without an error document')
  })
})

describe('the node and the key', () => {
  test('[CL6] come from options, then the environment, then the data folder', async () => {
    answer = () => ({ status: 200, body: '{"items":[],"nextCursor":null}' })
    const data = mkdtempSync(join(tmpdir(), 'millrace-cli-'))
    writeFileSync(join(data, 'admin.key'), 'from-file\n')
    const keyOf = async (args: string, env: Record<string, string>) => {
      await run(args, { env: { MILLRACE_KEY: '', ...env } })
      return asked.at(-1)?.key
    }
    const all = { MILLRACE_KEY: 'from-env', MILLRACE_ADMIN_KEY: 'from-admin', MILLRACE_DATA: data }
    expect(await keyOf('events --key given', all)).toBe('Bearer given')
    expect(await keyOf('events', all)).toBe('Bearer from-env')
    expect(await keyOf('events', { ...all, MILLRACE_KEY: ' ' })).toBe('Bearer from-admin')
    expect(await keyOf('events', { MILLRACE_DATA: data })).toBe('Bearer from-file')
    expect(await keyOf('events', { MILLRACE_DATA: join(data, 'nowhere') })).toBeUndefined()
    rmSync(data, { recursive: true })
  })

  test('[CL6] an address may omit its obvious parts', () => {
    expect(resolveUrl({}, {})).toBe('http://127.0.0.1:4400')
    expect(resolveUrl({}, { MILLRACE_PORT: '80' })).toBe('http://127.0.0.1:80')
    expect(resolveUrl({ url: 'mill.example:4400/' }, { MILLRACE_URL: 'x' })).toBe('http://mill.example:4400')
    expect(resolveUrl({}, { MILLRACE_URL: 'https://mill.example' })).toBe('https://mill.example')
    expect(() => resolveUrl({ url: 'ftp://x' }, {})).toThrow('is not the address of a node')
  })
})

describe('what is sent and shown', () => {
  test('[CL2] digits survive the way to the node and back', async () => {
    answer = () => ({ status: 200, body: '{"id":"dlq_1","state":"ready_to_replay","n":9007199254740993}' })
    const stdin = '{"id":12345678901234567890}'
    const { stdout } = await run('dead-letters edit dlq_1 --data - --reason x --json', { stdin })
    expect(asked.at(-1)).toMatchObject({ url: '/v1/dead-letters/dlq_1/edit' })
    expect(asked.at(-1)?.body).toBe('{"data":{"id":12345678901234567890},"reason":"x"}')
    expect(stdout).toContain('9007199254740993')
  })

  test('[CL13] a secret goes into the body and nowhere else', async () => {
    answer = () => ({ status: 201, body: '{"name":"a","version":3}' })
    const { stdout, stderr } = await run('secrets set a', { stdin: 'hidden\n' })
    expect(JSON.parse(String(asked.at(-1)?.body))).toEqual({ name: 'a', value: 'hidden' })
    expect(stdout + stderr + asked.at(-1)?.url).not.toContain('hidden')
  })

  test('[VA15] re-encrypted secrets are counted, and those that do not decrypt are named with what to do', async () => {
    answer = () => ({ status: 200, body: '{"rewrapped":3,"unreadable":["crm"]}' })
    const { stdout } = await run('secrets rewrap')
    expect(asked.at(-1)).toMatchObject({ method: 'POST', url: '/v1/secrets/rewrap' })
    expect(stdout).toMatch(/^3 encrypted again.*\ncrm cannot be decrypted: .*MILLRACE_MASTER_KEYS_OLD/)
  })

  test('[VA5] a pending value waits, and is promoted by its name', async () => {
    answer = () => ({ status: 201, body: '{"name":"a","version":3}' })
    const { stdout } = await run('secrets set a --pending', { stdin: 'hidden' })
    expect(JSON.parse(String(asked.at(-1)?.body))).toEqual({ name: 'a', value: 'hidden', pending: true })
    expect(stdout).toContain('waits until it is verified or promoted')
    await run('secrets promote a --overlap 5m')
    expect(asked.at(-1)).toMatchObject({ url: '/v1/secrets/a/promote', body: '{"overlap":"5m"}' })
  })

  test('[CL3] [CL10] a list fits the terminal, and its content cannot control it', async () => {
    const items = [
      {
        id: 'evt_1',
        subject: `a.${'b'.repeat(200)}`,
        objectId: 'x\u001b[2J',
        receivedAt: '2026-03-02T08:00:00.000Z',
        consumers: [{ kind: 'route', name: 'r', state: 'done' }],
      },
    ]
    answer = () => ({ status: 200, body: JSON.stringify({ items, nextCursor: null }) })
    const { stdout } = await run('events', { columns: 80, env: { NO_COLOR: '1' } })
    for (const line of stdout.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(stdout).not.toContain('\u001b')
    expect((await run('events')).stdout).toContain('b'.repeat(200))
  })

  test('a list continues over pages until it has as many rows as requested', async () => {
    let page = 0
    answer = () => {
      page += 1
      const items = page === 2 ? [] : [{ name: `t${page}`, description: null, createdAt: '' }]
      return { status: 200, body: JSON.stringify({ items, nextCursor: page < 4 ? `c${page}` : null }) }
    }
    asked.length = 0
    const { stdout } = await run('ledger -n 2 --json')
    expect(asked.map((one) => one.url)).toEqual([
      '/v1/ledger?limit=2',
      '/v1/ledger?limit=1&cursor=c1',
      '/v1/ledger?limit=1&cursor=c2',
    ])
    expect(JSON.parse(stdout).items).toHaveLength(2)
  })

  test('a key that the ledger does not have shows nothing', async () => {
    answer = () => ({ status: 200, body: '{"items":[],"nextCursor":null}' })
    const { code, stdout, stderr } = await run('ledger BOOK:nope')
    expect([code, stdout]).toEqual([6, ''])
    expect(stderr).toContain('the ledger has no such key')
  })

  test('a list of jobs says why one was skipped, and what to do about unknown outcomes of dead ones', async () => {
    const item = { id: 'wrk_1', consumer: 'r', state: 'skipped', attempts: 0, dueAt: '', lastError: 'STALE' }
    answer = () => ({ status: 200, body: JSON.stringify({ items: [item], nextCursor: null }) })
    expect((await run('work')).stdout).toContain('STALE')
    const work = { id: 'wrk_1', state: 'dead', key: 'K:1' }
    const entry = { key: 'K:1', consumer: 'r', workId: 'wrk_1', createdAt: '', actions: ['done'], work }
    answer = () => ({ status: 200, body: JSON.stringify({ items: [entry], nextCursor: null }) })
    expect((await run('unknowns')).stdout).toContain('work resolve --as done, dead-letters --with-key K:1')
  })

  test('unknown outcomes that settle by themselves are listed apart', async () => {
    const entry = (key: string, state: string) => ({
      ...{ key, consumer: 'r', workId: `wrk_${key}`, createdAt: '', actions: [] },
      work: { id: `wrk_${key}`, state, key },
    })
    const items = [entry('A', 'leased'), entry('B', 'parked')]
    answer = () => ({ status: 200, body: JSON.stringify({ items, nextCursor: null }) })
    const [open, settling] = (await run('unknowns')).stdout.split('settle by themselves')
    expect([open?.includes('wrk_B'), open?.includes('wrk_A')]).toEqual([true, false])
    expect([settling?.includes('wrk_B'), settling?.includes('wrk_A')]).toEqual([false, true])
  })

  test('[CL21] --reason says why; its former filter is --with-reason, and the old use is refused helpfully', async () => {
    const before = asked.length
    for (const command of [
      'replay --reason cap_reached',
      'dead-letters --reason x',
      'rejections --reason x',
    ]) {
      const { code, stderr } = await run(command)
      expect([code, stderr]).toEqual([2, expect.stringContaining('--with-reason')])
    }
    expect(asked).toHaveLength(before)
    answer = () => ({ status: 200, body: '{"items":[],"totals":{},"calls":{},"cost":[],"matched":0}' })
    await run('replay --with-reason cap_reached --reason back --dry-run')
    expect(JSON.parse(asked.at(-1)?.body ?? '')).toMatchObject({
      filter: { reason: 'cap_reached' },
      reason: 'back',
    })
    await run('replay --all --because back --dry-run')
    expect(JSON.parse(asked.at(-1)?.body ?? '')).toMatchObject({ reason: 'back' })
  })

  test('if a reason is needed and no one can be asked, the error names the option', async () => {
    const preview = {
      items: [{ id: 'dlq_1', verdict: 'would-call', reason: '' }],
      totals: {},
      calls: {},
      cost: [],
    }
    answer = () =>
      (asked.at(-1)?.body ?? '').includes('dryRun')
        ? { status: 200, body: JSON.stringify({ ...preview, matched: 1, isCapped: false }) }
        : {
            status: 400,
            body: '{"title":"A reason is needed","code":"reason_required","next":"In `reason`."}',
          }
    const many = await run('replay dlq_1 -y')
    expect([many.code, many.stderr]).toEqual([1, expect.stringContaining('Give a reason with --reason')])
    const one = await run('dead-letters replay dlq_1')
    expect([one.code, one.stderr]).toEqual([1, expect.stringContaining('Give a reason with --reason')])
  })

  test('a source’s consumer is named as --consumer takes it', async () => {
    const letter = { id: 'dlq_1', createdAt: '', state: 'open', class: 'config', reason: 'r', lastError: '' }
    const items = [{ ...letter, consumer: { kind: 'source', name: 'shop' } }]
    answer = () => ({ status: 200, body: JSON.stringify({ items, nextCursor: null }) })
    expect((await run('dead-letters')).stdout).toContain('source:shop')
  })

  test('a host with an open circuit is named with the time', async () => {
    const host = { name: 'erp.example', closedUntil: '2026-01-01T00:00:00.000Z' }
    const pace = {
      route: 'r',
      circuit: { state: 'closed', tryAt: null },
      host,
      rate: null,
      drain: null,
      limit: null,
    }
    const groups = [
      { count: 2, consumer: { kind: 'route', name: pace.route } },
      { count: 1, consumer: { kind: 'route', name: pace.route } },
      { count: 9, consumer: { kind: 'route', name: 'another' } },
    ]
    answer = () => {
      const isGroups = asked.at(-1)?.url.startsWith('/v1/dead-letters/groups') === true
      return {
        status: 200,
        body: JSON.stringify(isGroups ? { items: groups, isCapped: false } : { items: [pace] }),
      }
    }
    const { stdout } = await run('pace')
    expect(stdout).toContain('erp.example, closed until 2026-01-01')
    // An open circuit does not show permanent failures.
    expect(stdout).toContain('DEAD LETTERS')
    expect(stdout).toMatch(/ 3 /)
  })

  test('[CL11] an interrupted command ends silently', async () => {
    const stop = new AbortController()
    answer = () => {
      stop.abort()
      return { status: 200, body: '{}' }
    }
    expect(await run('events', { signal: stop.signal })).toEqual({ code: 130, stdout: '', stderr: '' })
  })
})

describe('[CL9] each of many has its own id', () => {
  const change = (body: string, expression: string | null) =>
    Buffer.from(withOtherId(Buffer.from(body), expression, 2)).toString()

  test.each([
    ['{"id":"e-1","n":1}', 'payload.id', '{"id":"e-1-3","n":1}'],
    ['{"id":9007199254740993}', 'payload.id', '{"id":9007199254740995}'],
    ['{"order":{"id":"x"}}', 'payload.order.id', '{"order":{"id":"x-3"}}'],
    ['{"a":null,"b":"x"}', 'coalesce(payload.a, payload.b)', '{"a":null,"b":"x-3"}'],
    ['{"run":"r","time":1}', 'hash(payload.run, payload.time)', '{"run":"r-3","time":1}'],
    ['{"order":7}', 'payload.order.id', '{"order":7}'],
    ['{"id":"e-1"}', null, '{"id":"e-1"}'],
    ['{"id":"e-1"}', 'header.x-id', '{"id":"e-1"}'],
  ])('%s by %s', (body, expression, expected) => {
    expect(change(body, expression)).toBe(expected)
  })
})
