import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeOutboundPolicy } from '../core/access/network/index.ts'
import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { PATTERNS_MAX, patternSizeOf } from '../definitions/document-size.ts'
import { makeDefinitionWorld, ROUTE_YAML, SOURCE_YAML } from './definitions.fixture.ts'

let world: ReturnType<typeof makeDefinitionWorld>
beforeEach(async () => {
  world = makeDefinitionWorld()
  await world.folder(SOURCE_YAML)
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.server.close()
})

const files = (...texts: string[]) => texts.map((text, index) => ({ path: `f${index}.yaml`, text }))

describe('reading', () => {
  test('lists the deployed definitions, by kind if asked', async () => {
    await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
    const { body } = await world.get('/definitions')
    expect(body).toEqual({
      items: [
        {
          kind: 'Source',
          name: 'shop',
          description: 'The shop',
          status: 'active',
          declaredStatus: 'active',
          control: null,
          hash: expect.stringMatching(/^sha256:/),
          managedBy: 'folder',
          version: 1,
          updatedAt: '2026-11-15T12:00:00.000Z',
          subject: 'shop.events.{{ payload.kind }}',
        },
        expect.objectContaining({
          kind: 'Route',
          name: 'book',
          managedBy: 'api',
          on: ['shop.events.paid'],
          action: 'http',
          version: 2,
        }),
      ],
      nextCursor: null,
    })
    expect((await world.get('/definitions?kind=Route')).body.items).toHaveLength(1)
    expect((await world.get('/definitions?kind=Rout')).status).toBe(400)
  })

  test('[BU68] says of a source that takes from NATS whether it does', async () => {
    const text = 'kind: Source\nname: bus\nnats: { subjects: orders.> }\n'
    await world.post('/definitions/apply', { files: files(text) })
    const consumer = { state: 'waiting', why: 'there is no stream' }
    expect((await world.get('/definitions/Source/bus')).body).toMatchObject({ consumer })
    const { items } = (await world.get('/definitions?kind=Source')).body
    expect(items.map((one: object) => 'consumer' in one)).toEqual([false, true])
  })

  test('[DV8] shows one as it was written, with its history', async () => {
    await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
    await world.post('/definitions/apply', { files: files(`${ROUTE_YAML}status: paused\n`) })
    const { body } = await world.get('/definitions/Route/book')
    expect(body).toMatchObject({
      name: 'book',
      status: 'paused',
      yaml: `${ROUTE_YAML}status: paused\n`,
      path: 'f0.yaml',
      document: { maxWaitMs: 86_400_000 },
      history: [
        { version: 3, by: 'admin' },
        { version: 2, by: 'admin' },
      ],
    })
    expect((await world.get('/definitions/Route/nobody')).body).toMatchObject({ code: 'not_found' })
  })

  test('[WH10] of a subscription, values of the query and of headers are hidden from viewers', async () => {
    const world = makeDefinitionWorld()
    const hook = `kind: Subscription
name: crm
url: https://crm.example.com/hooks?token=t0k
on: shop.events.paid # because of h1dden
headers: { x-token: h1dden }
`
    expect((await world.post('/definitions/apply', { files: files(hook) })).status).toBe(200)
    const path = '/definitions/Subscription/crm'
    const seen = await world.get(path, await world.key('viewer'))
    expect(seen.text).toContain('https://crm.example.com/hooks?token=[hidden]')
    expect(seen.text).not.toMatch(/t0k|h1dden/)
    expect((await world.get(path, await world.key('operator'))).body.yaml).toBe(hook)
    expect(world.faults).toEqual([])
  })

  test('lists versions in pages, newest first', async () => {
    await world.post('/definitions/apply', { files: files(ROUTE_YAML), reason: 'first route' })
    const first = (await world.get('/definitions/versions?limit=1')).body
    expect(first.items).toEqual([
      {
        version: 2,
        hash: expect.any(String),
        appliedAt: '2026-11-15T12:00:00.000Z',
        by: 'admin',
        reason: 'first route',
        changes: 1,
      },
    ])
    const rest = await world.get(`/definitions/versions?cursor=${first.nextCursor}`)
    expect(rest.body).toMatchObject({ items: [{ version: 1 }], nextCursor: null })
    expect((await world.get('/definitions/versions?cursor=x')).body.code).toBe('invalid_cursor')
  })
})

describe('applying', () => {
  test('[DV17] a plan shows the lines and changes nothing', async () => {
    await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
    const next = ROUTE_YAML.replace('> 50', '> 70')
    const { body } = await world.post('/definitions/plan', {
      files: files(next, 'kind: Route\nname: new\non: a.b\ndo: { emit: c.d }\n'),
    })
    expect(body).toMatchObject({ ok: true, base: 2 })
    expect(
      body.changes.map(({ name, change }: { name: string; change: string }) => `${name} ${change}`),
    ).toEqual(['book update', 'new create'])
    const changed = body.changes[0].diff.filter(({ op }: { op: string }) => op !== ' ')
    expect(changed).toEqual([
      { op: '-', text: 'where: payload.amount > 50' },
      { op: '+', text: 'where: payload.amount > 70' },
    ])
    expect(body.changes[1].diff[0]).toEqual({ op: '+', text: 'kind: Route' })
    expect((await world.get('/definitions/versions')).body.items).toHaveLength(2)
  })

  test('[DV17] [DV18] check and plan report every finding; apply refuses the whole', async () => {
    const broken = files(ROUTE_YAML, 'kind: Route\nname: x\non: "a b"\ndo: { emt: c }\n')
    const checked = await world.post('/definitions/check', { files: broken })
    expect(checked.status).toBe(200)
    expect(checked.body.ok).toBe(false)
    expect(checked.body.findings.length).toBeGreaterThan(1)
    expect(checked.body.findings[0]).toMatchObject({ file: 'f1.yaml', line: 3, severity: 'error' })
    expect((await world.post('/definitions/plan', { files: broken })).body).toMatchObject({
      ok: false,
      changes: [],
    })
    const refused = await world.post('/definitions/apply', { files: broken })
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject({
      code: 'definitions_invalid',
      detail: expect.stringContaining('f1.yaml:3'),
      details: { findings: checked.body.findings },
    })
    expect((await world.get('/definitions')).body.items).toHaveLength(1)
    expect((await world.post('/definitions/check', { files: files(ROUTE_YAML) })).body).toEqual({
      ok: true,
      findings: [],
      proofs: [],
    })
  })

  test('[KY7] a changed key is refused by plan and apply until it says what it was', async () => {
    const keyed = (key: string, more = '') =>
      files(`kind: Route\nname: k\non: a.b\nkey: "'K:' + ${key}"\n${more}do: { emit: c.d }\n`)
    expect((await world.post('/definitions/apply', { files: keyed('payload.id') })).status).toBe(200)
    const changed = keyed('payload.number')
    expect((await world.post('/definitions/plan', { files: changed })).body).toMatchObject({
      ok: false,
      findings: [{ rule: 'CA16' }, { rule: 'KY7', severity: 'error' }],
    })
    const refused = await world.post('/definitions/apply', { files: changed })
    expect(refused.status).toBe(422)
    expect(refused.body.detail).toContain("was `'K:' + payload.id` and would be `'K:' + payload.number`")
    const said = keyed(
      'payload.number',
      `keyMigration: { from: "'K:' + payload.id", note: one is the other }\n`,
    )
    expect((await world.post('/definitions/apply', { files: said })).status).toBe(200)
  })

  test('[DV1] a base that is no longer deployed is a conflict', async () => {
    const first = await world.post('/definitions/apply', { files: files(ROUTE_YAML), base: 1 })
    expect(first.body).toMatchObject({ version: 2, changes: [{ name: 'book', change: 'create' }] })
    const second = await world.post('/definitions/apply', { files: files(ROUTE_YAML), base: 1 })
    expect(second).toMatchObject({ status: 409, body: { code: 'conflict' } })
  })

  test('[DV4] what the folder has is refused, and says what to do', async () => {
    const { status, body } = await world.post('/definitions/apply', {
      files: files(SOURCE_YAML.replace('The shop', 'Mine')),
    })
    expect([status, body.code]).toEqual([409, 'managed_by_folder'])
    expect(body).toMatchObject({
      next: expect.stringContaining('Change its file'),
      details: { definitions: ['Source/shop'] },
    })
    const plan = await world.post('/definitions/plan', {
      files: files(SOURCE_YAML.replace('The shop', 'Mine')),
    })
    // A plan changes nothing: it shows what the folder would change.
    expect(plan.body).toMatchObject({
      ok: true,
      managedBy: 'folder',
      changes: [{ kind: 'Source', name: 'shop', change: 'update' }],
    })
  })

  test('[DV5] pruning removes what the API applied and is not named', async () => {
    await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
    const { body } = await world.post('/definitions/apply', { files: [], prune: true })
    expect(body.changes).toEqual([{ kind: 'Route', name: 'book', change: 'remove' }])
    expect((await world.get('/definitions')).body.items).toMatchObject([{ name: 'shop' }])
  })

  test('[DV7] rolls back to a version, and says when there is none', async () => {
    await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
    const back = await world.post('/definitions/rollback', { to: 1, reason: 'too early' })
    expect(back.body).toMatchObject({ version: 3, findings: [] })
    expect((await world.get('/definitions')).body.items).toHaveLength(1)
    expect((await world.post('/definitions/rollback', { to: 9 })).status).toBe(404)
  })

  test('[DV28] warns of what the folder will put back', async () => {
    await world.folder(SOURCE_YAML.replace('The shop', 'Mine'))
    const { body } = await world.post('/definitions/rollback', { to: 1 })
    expect(body).toMatchObject({ version: 3, findings: [{ severity: 'warning', rule: 'DV28' }] })
    expect(body.findings[0].message).toContain('Source/shop is in the folder')
    expect(body).not.toHaveProperty('untilFolder')
    expect(world.faults).toEqual([])
  })

  test('[DV19] code is refused by name', async () => {
    const { status, body } = await world.post('/definitions/apply', {
      files: [...files(ROUTE_YAML), { path: 'score.ts', text: 'export const a = 1' }],
    })
    expect(status).toBe(400)
    expect(body).toMatchObject({
      code: 'invalid_request',
      detail: 'score.ts is code; functions come from the folder of the node',
      details: { fields: [{ path: '/files/1/path' }] },
    })
  })

  test('[AC18] what would take long to read is refused unread', async () => {
    const huge = files(`x: [${'1,'.repeat(400_000)}]`)
    const before = process.cpuUsage()
    const checked = await world.post('/definitions/check', { files: huge })
    expect(checked.body).toMatchObject({ ok: false, findings: [{ rule: 'F6', file: 'f0.yaml' }] })
    expect((await world.post('/definitions/apply', { files: huge })).status).toBe(422)
    // Reading it twice takes twenty seconds.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(4_000)
    const many = Array.from({ length: 201 }, (_, index) => ({ path: `${index}.yaml`, text: '' }))
    expect((await world.post('/definitions/check', { files: many })).status).toBe(400)
  })

  test('[AC18] patterns that would take long to compile are refused, and what is accepted has no more of them', async () => {
    const routeOf = (count: number) => {
      const patterns = Array.from({ length: count }, (_, index) => `re(payload.a, "(a|b|c|d){900}${index}")`)
      return `kind: Route\nname: heavy\non: shop.paid\nwhere: >-\n  ${patterns.join(' || ')}\ndo: { emit: shop.heavy }\n`
    }
    const refused = await world.post('/definitions/apply', { files: files(routeOf(20)) })
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject({
      code: 'definitions_invalid',
      details: {
        findings: expect.arrayContaining([
          expect.objectContaining({
            rule: 'F6',
            message: expect.stringContaining('the patterns of Route heavy'),
          }),
        ]),
      },
    })
    const accepted = await world.post('/definitions/apply', { files: files(routeOf(6)) })
    expect(accepted.status).toBe(200)
    const item = (await world.definitions.list(DEFAULT_TENANT)).find(({ name }) => name === 'heavy')
    // The work that the node itself has with it, counted.
    const size = patternSizeOf(item?.document as DefinitionDocument)
    expect(size).toBeGreaterThan(PATTERNS_MAX / 2)
    expect(size).toBeLessThanOrEqual(PATTERNS_MAX)
  })

  test('[AC19] of one tenant’s checks ten wait, and the next is refused with 429', async () => {
    const asked = Array.from({ length: 14 }, () => world.post('/definitions/check', { files: files('a: 1') }))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(11)
    expect(statuses.filter((status) => status === 429)).toHaveLength(3)
  })

  test('[VA10] a secret of the environment is for the tenant default alone', async () => {
    const text =
      'kind: Source\nname: hub\nverify: { scheme: github, secret: { env: HUB } }\nsubjects: github\n'
    const key = await world.key('admin', 'acme')
    const { body } = await world.post('/definitions/check', { files: files(text) }, key)
    expect(body).toMatchObject({ ok: false, findings: [{ rule: 'VA10', line: 3, column: 37 }] })
    expect((await world.post('/definitions/apply', { files: files(text) }, key)).status).toBe(422)
    expect((await world.post('/definitions/check', { files: files(text) })).body.ok).toBe(true)
  })

  test('[FN19] a function that is not open to the tenant is as unknown as one that is not there', async () => {
    const key = await world.key('admin', 'acme')
    const route = (name: string) => ({
      files: files(`kind: Route\nname: run\non: a.b\ndo: { function: ${name} }\n`),
    })
    const asked = async (path: string, name: string) => {
      const { status, body } = await world.post(path, route(name), key)
      const { instance: _, ...rest } = body
      return { status, text: JSON.stringify(rest).replaceAll(name, 'NAME') }
    }
    for (const path of ['/definitions/check', '/definitions/plan', '/definitions/apply']) {
      expect(await asked(path, 'known')).toEqual(await asked(path, 'other'))
    }
    expect((await asked('/definitions/check', 'known')).text).toContain('there is no function')
    expect((await world.post('/definitions/check', route('known'))).body.ok).toBe(true)
  })

  test('routes may name functions of the node and profiles that are deployed', async () => {
    await world.folder(
      `${SOURCE_YAML}---\nkind: Profile\nname: gentle\nretry: { attempts: 2, delays: [7s] }\n`,
    )
    const route = (name: string, profile: string) =>
      files(`kind: Route\nname: run\non: a.b\nretry: ${profile}\ndo: { function: ${name} }\n`)
    const fine = await world.post('/definitions/apply', { files: route('known', 'gentle') })
    expect(fine.status).toBe(200)
    expect((await world.get('/definitions/Route/run')).body.document).toMatchObject({
      retry: { attempts: 2, delaysMs: [7_000] },
      do: { codeHash: 'sha256:known' },
    })
    expect(
      (await world.post('/definitions/check', { files: route('unknown', 'rough') })).body.findings,
    ).toHaveLength(2)
  })
})

describe('pausing', () => {
  test('[DV12] pause, resume and disable answer the definition', async () => {
    await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
    const paused = await world.post('/definitions/Route/book/pause', { reason: 'vendor is down' })
    expect(paused.body).toMatchObject({
      status: 'paused',
      declaredStatus: 'active',
      control: { by: 'admin', at: '2026-11-15T12:00:00.000Z', reason: 'vendor is down' },
    })
    expect((await world.post('/definitions/Route/book/disable')).body).toMatchObject({ status: 'disabled' })
    expect((await world.post('/definitions/Route/book/resume')).body).toMatchObject({
      status: 'active',
      control: null,
    })
    expect((await world.post('/definitions/Source/shop/disable')).body).toMatchObject({ status: 'disabled' })
  })

  test('[DV16] what cannot be paused says what to do instead', async () => {
    const profile = 'kind: Profile\nname: slow\nretry: { attempts: 2, delays: [7s] }\n'
    await world.post('/definitions/apply', { files: files(profile) })
    const { status, body } = await world.post('/definitions/Profile/slow/pause')
    expect([status, body.detail]).toEqual([400, expect.stringContaining('routes')])
    expect((await world.post('/definitions/Route/nobody/pause')).status).toBe(404)
  })
})

test('[AC17] roles: a viewer reads, an operator checks, plans and pauses, an admin applies', async () => {
  await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
  const [viewer, operator, admin] = [
    await world.key('viewer'),
    await world.key('operator'),
    await world.key('admin'),
  ]
  const pause = (key: string) => world.post('/definitions/Route/book/pause', {}, key)
  const apply = (key: string) => world.post('/definitions/apply', { files: files(ROUTE_YAML) }, key)
  const rollback = (key: string) => world.post('/definitions/rollback', { to: 1 }, key)
  expect((await world.get('/definitions', viewer)).status).toBe(200)
  for (const path of ['/definitions/check', '/definitions/plan']) {
    expect((await world.post(path, { files: [] }, viewer)).status).toBe(403)
    expect((await world.post(path, { files: [] }, operator)).status).toBe(200)
  }
  expect([(await pause(viewer)).status, (await pause(operator)).status]).toEqual([403, 200])
  expect([(await apply(operator)).status, (await apply(admin)).status]).toEqual([403, 200])
  expect([(await rollback(operator)).status, (await rollback(admin)).status]).toEqual([403, 200])
})

test('[DV10] another tenant sees and touches nothing of it', async () => {
  await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
  const other = await world.key('admin', 'other')
  expect((await world.get('/definitions', other)).body.items).toEqual([])
  expect((await world.get('/definitions/Route/book', other)).status).toBe(404)
  expect((await world.get('/definitions/versions', other)).body.items).toEqual([])
  expect((await world.post('/definitions/Route/book/pause', {}, other)).status).toBe(404)
  expect((await world.post('/definitions/rollback', { to: 1 }, other)).status).toBe(404)
  expect((await world.post('/definitions/apply', { files: files(ROUTE_YAML) }, other)).body.version).toBe(1)
  expect((await world.get('/definitions')).body.items).toHaveLength(2)
})

test('bad requests name their fields', async () => {
  const { status, body } = await world.post('/definitions/apply', {
    files: [{ path: 'a.yaml' }],
    purne: true,
  })
  expect(status).toBe(400)
  expect(body.details.fields.length).toBe(2)
})

test('[FO7] a job shows the version that deployed its definition, also after the next version', async () => {
  await world.post('/definitions/apply', { files: files(ROUTE_YAML) })
  const { hash } = (await world.get('/definitions/Route/book')).body
  const [eventId, workId] = [
    'evt_00000000-0000-7000-8000-000000000001',
    'wrk_00000000-0000-7000-8000-000000000001',
  ]
  await world.keepWork(eventId, workId, 'route:book', hash)
  expect((await world.get(`/work/${workId}`)).body).toMatchObject({ definition: hash, definitionVersion: 2 })
  await world.post('/definitions/apply', { files: files(`${ROUTE_YAML}status: paused\n`) })
  expect((await world.get(`/work/${workId}`)).body).toMatchObject({ definition: hash, definitionVersion: 2 })
})

describe('subscriptions', () => {
  const SUBSCRIPTION =
    'kind: Subscription\nname: crm\nurl: https://crm.example.com/hooks\non: shop.events.paid\n'

  test('[SL17] are planned, applied, rolled back and pruned as other kinds, and paused elsewhere', async () => {
    const { body: plan } = await world.post('/definitions/plan', { files: files(SUBSCRIPTION) })
    expect(plan.changes).toMatchObject([{ kind: 'Subscription', name: 'crm', change: 'create' }])
    await world.post('/definitions/apply', { files: files(SUBSCRIPTION) })
    const { body } = await world.get('/definitions?kind=Subscription')
    expect(body.items).toMatchObject([
      { kind: 'Subscription', name: 'crm', on: ['shop.events.paid'], status: 'active', managedBy: 'api' },
    ])
    await world.post('/definitions/apply', { files: files(`${SUBSCRIPTION}timeout: 5s\n`) })
    expect((await world.get('/definitions/Subscription/crm')).body.document.timeoutMs).toBe(5_000)
    await world.post('/definitions/rollback', { to: 2, reason: 'too short' })
    expect((await world.get('/definitions/Subscription/crm')).body.document.timeoutMs).toBe(15_000)
    const paused = await world.post('/definitions/Subscription/crm/pause', { reason: 'r' })
    expect(paused.status).toBe(400)
    expect(paused.body.detail).toContain('/v1/webhooks/subscriptions/crm/pause')
    await world.post('/definitions/apply', { files: files(ROUTE_YAML), prune: true })
    expect((await world.get('/definitions?kind=Subscription')).body.items).toEqual([])
  })

  test('[SL6] [SL13] are refused where the node may not call, or where the API has the name', async () => {
    const rules = async (text: string) => {
      const { body } = await world.post('/definitions/apply', { files: files(text) })
      const { findings } = body.details ?? body
      return findings.map((one: { rule: string; line: number }) => `${one.rule} ${one.line}`)
    }
    await world.server.close()
    world = makeDefinitionWorld({ outbound: () => makeOutboundPolicy(['10.0.0.0/8']) })
    expect(await rules(SUBSCRIPTION.replace('crm.example.com', '192.168.0.1'))).toEqual(['SL6 3'])
    const body = JSON.stringify({ document: {} })
    const write = { w: 'record.put', kind: 'subscription', key: 'crm', version: 1, body } as const
    await world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [write] })
    expect(await rules(SUBSCRIPTION.replace('crm.example.com', '10.0.0.1'))).toEqual(['SL13 2'])
    expect(await rules(SUBSCRIPTION.replace('name: crm', 'name: other'))).toEqual([])
  })
})

describe('credentials in clear text', () => {
  const ROUTE = `kind: Route
name: r
on: shop.paid
do: { http: { method: POST, url: "https://a.example/x?token=abc123", keyTtl: 1h, headers: { authorization: Bearer def456 } } }
`
  const files = [{ path: 'r.yaml', text: ROUTE }]

  test('[SE50] viewers see neither them nor the text that holds them; operators do', async () => {
    const world = makeDefinitionWorld()
    expect((await world.post('/definitions/apply', { files })).status).toBe(200)
    const shown = await world.get('/definitions/Route/r', await world.key('viewer'))
    expect(shown.status).toBe(200)
    expect(shown.text).not.toMatch(/abc123|def456/)
    expect(shown.text).toContain('[hidden]')
    expect((await world.get('/definitions/Route/r', await world.key('operator'))).text).toContain('def456')
    const event = { subject: 'shop.paid', data: {} }
    const tried = await world.post('/try', { route: 'r', event }, await world.key('viewer'))
    expect(tried.body.action.request.headers.authorization).toBe('Bearer [hidden]')
    expect(tried.text).not.toMatch(/abc123|def456/)
    expect(world.faults).toEqual([])
  })

  test('[SE50] PROD refuses to apply them, and accepts those that are deployed', async () => {
    const about = { environment: 'PROD', version: '0.0.0', node: 'node-1', roles: [] } as const
    const world = makeDefinitionWorld({ about })
    const refused = await world.post('/definitions/apply', { files, reason: 'x' })
    expect(refused.body).toMatchObject({ code: 'definitions_invalid' })
    await world.folder(ROUTE)
    const applied = await world.post('/definitions/check', { files })
    expect(applied.body.ok).toBe(true)
  })
})
