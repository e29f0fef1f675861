import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sign } from '../../sdk/client/index.ts'
import { stubNodeForTests } from '../stub-node.fixture.ts'

const node = stubNodeForTests()
const { folder, run } = node

const base = '/v1/webhooks/subscriptions'
const SUBSCRIPTION = {
  name: 'crm',
  description: null,
  url: 'https://crm.example.com/hooks',
  on: ['shop.order.paid'],
  status: 'failing',
  because: null,
  reason: null,
  since: '2026-01-02T03:04:05.000Z',
  failingSince: '2026-01-02T03:04:05.000Z',
  disableAt: '2026-01-07T03:04:05.000Z',
  managedBy: 'api',
  signing: 'standard',
  metadata: { team: 'sales' },
  createdAt: null,
  updatedAt: null,
  health: {
    lastDeliveredAt: '2026-01-01T00:00:00.000Z',
    lastFailedAt: '2026-01-02T04:00:00.000Z',
    recent: { delivered: 3, failed: 4 },
    waiting: 1_000,
    isCapped: true,
  },
}

describe('millrace subscriptions', () => {
  test('[WH13] a list shows the health of each endpoint', async () => {
    node.answers = { [`GET ${base}?limit=25`]: { body: { items: [SUBSCRIPTION], nextCursor: null } } }
    const { code, stdout } = await run(['subscriptions'])
    expect(code).toBe(0)
    expect(stdout.split('\n')[1]).toBe(
      'crm   failing  https://crm.example.com/hooks  shop.order.paid    1000+  2026-01-02T03:04:05.000Z  failed 2026-01-02T04:00:00.000Z',
    )
  })

  test('[WH13] pausing one as a route is paused says how to write it', async () => {
    const item = { kind: 'Subscription', name: 'crm', status: 'active', managedBy: 'folder' }
    node.answers = { 'GET /v1/definitions': { body: { items: [item] } } }
    const { code, stderr } = await run(['pause', 'crm'])
    expect(code).toBe(2)
    expect(stderr).toContain('millrace subscriptions pause crm')
  })

  test('[WH13] one that is paused is resumed or enabled', async () => {
    node.answers = { [`POST ${base}/crm/enable`]: { body: { ...SUBSCRIPTION, status: 'active' } } }
    for (const verb of ['enable', 'resume']) {
      expect(await run(['subscriptions', verb, 'crm'])).toMatchObject({ code: 0, stdout: 'crm is active\n' })
    }
  })

  test('[WH13] create sends the given fields, and prints only the secret to stdout', async () => {
    const made = { ...SUBSCRIPTION, secret: 'whsec_x', warnings: [] }
    node.answers = { [`POST ${base}`]: { status: 201, body: made } }
    const fields = ['--on', 'a.b', '--on', 'c.>', '-H', 'X-Team: crm', '--meta', 'team=sales']
    const { stdout, stderr } = await run([
      ...['subscriptions', 'create', 'crm', '--endpoint', SUBSCRIPTION.url],
      ...fields,
    ])
    expect(node.asked.at(-1)?.body).toEqual({
      name: 'crm',
      url: SUBSCRIPTION.url,
      on: ['a.b', 'c.>'],
      headers: { 'x-team': 'crm' },
      metadata: { team: 'sales' },
    })
    expect(stdout).toBe('whsec_x\n')
    expect(stderr).toContain('not shown again')
    expect(await run(['subscriptions', 'create', '--on', 'a.b'])).toMatchObject({ code: 2 })
  })

  test('[WH13] a failed test exits with its code, and shows the response', async () => {
    const tested = {
      ...{ ok: false, status: 503, durationMs: 12, class: 'transient', error: 'answered 503' },
      response: { headers: { 'retry-after': '9' }, body: 'away\u001b[2J', isCut: false },
      request: { url: SUBSCRIPTION.url, headers: {} },
    }
    node.answers = { [`POST ${base}/crm/test`]: { body: tested } }
    const { code, stdout } = await run(['subscriptions', 'test', 'crm'])
    expect(code).toBe(1)
    expect(stdout).toContain('answered 503')
    expect(stdout).toContain('retry-after: 9')
    expect(stdout).not.toContain('\u001b')
  })

  test('[WH13] patch sends only the changes, with null for removed fields', async () => {
    const changed = { ...SUBSCRIPTION, secret: null, warnings: [] }
    node.answers = { [`PATCH ${base}/crm`]: { body: changed } }
    const { stdout } = await run(['subscriptions', 'patch', 'crm', '--on', 'x.y', '--unset', 'where'])
    expect(node.asked.at(-1)?.body).toEqual({ on: ['x.y'], where: null })
    expect(stdout).toBe('crm is changed\n')
  })

  test('[WH13] recover shows what would be sent, sends it when confirmed, and waits for its end', async () => {
    const totals = { failed: 1, missing: 2, delivered: 7, 'under-way': 0, 'given-up': 0, unmatched: 0 }
    const preview = {
      ...{ totals, recovered: 3, items: [], walked: 10, walkedTo: null },
      ...{ isComplete: true, oldestEventAt: null },
    }
    node.answers = { [`POST ${base}/crm/recover`]: { body: preview } }
    const since = ['subscriptions', 'recover', 'crm', '--since', '2026-01-01T00:00Z']
    const looked = await run([...since, '--dry-run'])
    expect(looked).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 failed, 2 missing, 7 delivered'),
    })
    expect(node.asked.at(-1)?.body).toEqual({ since: '2026-01-01T00:00:00.000Z', what: 'all', dryRun: true })
    // A pipe cannot answer a question.
    expect(await run(since)).toMatchObject({ code: 2 })
    const replay = {
      ...{ id: 'rpl_1', of: 'deliveries', state: 'done', total: 3, replayed: 3, refused: 0 },
      ...{ by: 'key:a', reason: null, perSecond: null, createdAt: 'x', finishedAt: 'y' },
      walk: { walked: 10, walkedTo: null, left: 7 },
    }
    node.answers = {
      [`POST ${base}/crm/recover`]: { body: { ...preview, replayId: 'rpl_1' } },
      'GET /v1/replays/rpl_1': { body: replay },
    }
    const done = await run([...since, '--yes'])
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('3 of 3') })
  })
})

describe('millrace deliveries', () => {
  test('[WH13] one is shown with every attempt and the start of each response', async () => {
    const delivery = {
      ...{ id: 'wrk_1', subscription: 'crm', eventId: 'evt_1', subject: 'shop.order.paid' },
      ...{
        state: 'retrying',
        attempts: 1,
        dueAt: '2026-01-02T03:04:05.000Z',
        createdAt: 'x',
        httpStatus: 500,
      },
      history: [
        {
          ...{ number: 1, startedAt: 'x', durationMs: 5, outcome: 'again', class: 'transient' },
          ...{
            httpStatus: 500,
            error: 'answered 500, saying: \u001b]0;pwned\u0007',
            response: '500\ncontent-type: text/plain\n\noops',
          },
        },
      ],
      request: null,
      requestError: 'the subscription is gone',
    }
    node.answers = { 'GET /v1/webhooks/deliveries/wrk_1': { body: delivery } }
    const { stdout } = await run(['deliveries', 'wrk_1'])
    expect(stdout).toContain('#1  x  5 ms  again  transient  500  answered 500, saying: \ufffd]0;pwned')
    expect(stdout).toContain('│  oops')
    expect(stdout).toContain('the subscription is gone')
  })

  test('[WH13] retry is of one, or of the dead ones of a subscription', async () => {
    node.answers = {
      'POST /v1/webhooks/deliveries/wrk_1/retry': {
        status: 202,
        body: { how: 'resent', deliveryId: 'wrk_2' },
      },
    }
    const one = await run(['deliveries', 'retry', 'wrk_1', '--because', 'they lost it'])
    expect(one.stdout).toBe('wrk_1 is sent again as wrk_2\n')
    expect(node.asked.at(-1)?.body).toEqual({ reason: 'they lost it' })
    expect(await run(['deliveries', 'retry'])).toMatchObject({ code: 2 })
    expect(await run(['deliveries', 'retry', 'wrk_1', '--subscription', 'crm'])).toMatchObject({ code: 2 })
  })
})

describe('millrace verify', () => {
  const secret = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='
  const sent = '{"id":"evt_1","type":"shop.order.paid","data":{"total":1.50}}'
  const check = (change: {
    readonly body?: string
    readonly secret?: string
    readonly now?: number
    readonly args?: readonly string[]
    readonly asJson?: boolean
  }) => {
    const signed = sign(sent, secret, change.now === undefined ? {} : { now: change.now })
    const lines = Object.entries(signed).map(([name, value]) => `${name}: ${value}`)
    const headers = change.asJson ? JSON.stringify(signed) : ['POST /hooks HTTP/1.1', ...lines].join('\r\n')
    const [secretFile, headersFile] = [join(folder, 'secret'), join(folder, 'headers')]
    writeFileSync(secretFile, `${change.secret ?? secret}\n`)
    writeFileSync(headersFile, headers)
    const files = ['--secret-file', secretFile, '--headers', headersFile, '--body', '-']
    return run(['verify', ...files, ...(change.args ?? [])], { stdin: change.body ?? sent })
  }
  const HOUR = 3_600_000

  test('[WH14] a valid signature exits with success, with headers as lines or as JSON', async () => {
    for (const asJson of [false, true]) {
      expect(await check({ asJson })).toMatchObject({ code: 0, stdout: 'The signature is right.\n' })
    }
  })

  test.each([
    ['a line break at the end', { body: `${sent}\n` }, 'a line break that was not sent'],
    [
      'JSON with spaces',
      { body: '{ "id": "evt_1", "type":"shop.order.paid","data":{"total": 1.50} }' },
      'parsed and written again',
    ],
    ['a secret in quotes', { secret: `"${secret}"` }, 'quotes around the secret'],
    ['a secret without its beginning', { secret: secret.slice(6) }, 'lacks its prefix ‘whsec_’'],
    ['another secret', { secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` }, 'another subscription'],
    ['something else', { secret: 'hello' }, 'signed by Standard Webhooks: their secrets begin with ‘whsec_’'],
    ['an old one', { now: Date.now() - HOUR }, 'the signature is right, but it was sent 36'],
  ])('[WH14] %s is named', async (_what, change, said) => {
    const { code, stdout } = await check(change)
    expect(code).toBe(1)
    expect(stdout).toContain(said)
  })

  test('[WH14] of any age, if that is requested', async () => {
    expect(await check({ now: Date.now() - HOUR, args: ['--any-time'] })).toMatchObject({ code: 0 })
    expect(await check({ now: Date.now() - HOUR, args: ['--tolerance', '2h'] })).toMatchObject({ code: 0 })
  })
})
