// Workflows and instances over the API: a real engine, and every answer compared with the document.

import { afterEach, describe, expect, test } from 'vitest'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { SEALED, SECRET, TRIAGE } from '../engine/workflows/operator-actions/instance-actions.fixture.ts'
import { place, transition } from '../engine/workflows/saga.fixture.ts'
import { answering, makeWorkflowServer } from './workflows.fixture.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function start(options: Parameters<typeof makeWorkflowServer>[0] = {}) {
  const server = await makeWorkflowServer(options)
  closers.push(server.close)
  return server
}

describe('workflows', () => {
  test('are listed with what is active, and shown with their net', async () => {
    const { get, open } = await start()
    await open()
    await open()
    const { definition } = (await get('/workflows')).body.items[0]
    expect((await get('/workflows')).body.items).toMatchObject([
      {
        name: 'triage',
        version: '1.0.0',
        status: 'active',
        counts: { active: 2, attention: 0 },
        versions: [{ definition, version: '1.0.0', count: 2 }],
      },
    ])
    const { body } = await get('/workflows/triage')
    expect(body.net).toMatchObject({
      start: 'incoming',
      places: expect.arrayContaining([
        expect.objectContaining({ name: 'review', type: 'review', tokens: 2, timeout: null }),
      ]),
      transitions: expect.arrayContaining([
        expect.objectContaining({
          name: 'approve',
          from: ['review'],
          fromAny: [],
          to: ['closed'],
          on: 'manual',
          action: null,
          undo: false,
          permission: 'triage.approve',
        }),
      ]),
    })
    expect(body.triggers[1]).toMatchObject({ id: '1', manual: true, permission: 'triage.start' })
    const missing = await get('/workflows/triag')
    expect(missing.body).toMatchObject({
      status: 404,
      detail: expect.stringContaining('did you mean ‘triage’'),
    })
  })

  test('their instances are filtered, and a filter that is not known is refused', async () => {
    const { get, post, open } = await start()
    const [first, second] = [await open(), await open()]
    await post(`/instances/${first}/fire`, { transition: 'reject' })
    const ids = async (query: string) =>
      (await get(`/workflows/triage/instances${query}`)).body.items.map(({ id }: { id: string }) => id)
    expect(await ids('')).toEqual([second, first])
    expect(await ids('?state=failed')).toEqual([first])
    expect(await ids('?place=review')).toEqual([second])
    expect(await ids('?attention=any')).toEqual([])
    expect((await get('/workflows/triage/instances?state=open')).status).toBe(400)
    expect((await get('/workflows/triage/instances?stat=failed')).status).toBe(400)
    expect((await get('/workflows/nobody/instances')).status).toBe(404)
  })

  test('[HD3] start an instance manually, for a caller with the permission', async () => {
    const { get, post, key } = await start()
    const body = { input: { order: 'o7' }, metadata: { requestedBy: 'ann' } }
    const operator = await key('operator')
    expect((await post('/workflows/triage/instances', body, operator)).body).toMatchObject({
      status: 403,
      code: 'permission_needed',
      details: { needed: 'triage.start' },
    })
    const viewer = await key('viewer', ['triage.start'])
    expect((await post('/workflows/triage/instances', body, viewer)).body.code).toBe('not_allowed')
    const starter = await key('operator', ['triage.start'])
    const started = await post('/workflows/triage/instances', body, starter)
    expect(started.status).toBe(201)
    expect((await get(`/instances/${started.body.instanceId}`)).body).toMatchObject({
      workflow: 'triage',
      data: { order: 'o7' },
      metadata: { requestedBy: 'ann' },
      eventId: started.body.eventId,
    })
    for (const [bad, code] of [
      [{ input: { order: 'o8' }, trigger: '9' }, 'invalid_request'],
      [{ input: {} }, 'invalid_input'],
      [{ metadata: 'x' }, 'invalid_request'],
    ] as const)
      expect((await post('/workflows/triage/instances', bad, starter)).body.code).toBe(code)
  })
})

describe('an instance', () => {
  test('is shown whole, with its history, its work and its past', async () => {
    const { get, post, open } = await start()
    const id = await open()
    const { body } = await get(`/instances/${id}`)
    expect(body).toMatchObject({
      id,
      workflow: 'triage',
      state: 'active',
      attention: null,
      marking: { review: 1 },
      data: { order: 'o1', priority: 'v1' },
      metadata: { requestedBy: 'jo' },
      correlations: [{ name: 'order', value: 'o1' }],
      firings: [],
      steps: [{ number: 1, name: 'prioritise', undone: false }],
      failure: null,
      children: [],
    })
    expect(body.history.map(({ type }: { type: string }) => type)).toEqual(['created', 'began', 'ended'])
    const page = (await get(`/instances/${id}/history?limit=1&after=1`)).body
    expect(page).toMatchObject({ items: [{ sequence: 2, type: 'began' }], nextAfter: 2 })
    expect((await get(`/instances/${id}/history?after=3`)).body).toEqual({ items: [], nextAfter: null })
    expect((await get(`/instances/${id}/work`)).body.items).toMatchObject([{ kind: 'step', state: 'done' }])
    await post(`/instances/${id}/edit`, { changes: [{ path: 'data.order', value: 'o2' }], reason: 'typo' })
    expect((await get(`/instances/${id}?at=1`)).body).toMatchObject({
      marking: { incoming: 1 },
      data: { order: 'o1' },
      steps: [],
      at: { sequence: 1, isWhole: true },
    })
    expect((await get(`/instances/${id}?at=2`)).body.firings).toMatchObject([
      { number: 1, name: 'prioritise', state: 'running' },
    ])
    expect((await get(`/instances/${id}?at=2999-01-01T00:00:00Z`)).body.data.order).toBe('o2')
    expect((await get(`/instances/${id}?at=2001-01-01T00:00:00Z`)).status).toBe(404)
    for (const at of ['yesterday', '2026-11-16', '-1', '1.5', '2026-11-16T09:30:00'])
      expect((await get(`/instances/${id}?at=${at}`)).body).toMatchObject({
        status: 400,
        code: 'invalid_request',
      })
    expect((await get('/instances/ins_nobody')).status).toBe(404)
  })

  test('keeps whole numbers to the last digit, and data of any name', async () => {
    const { get, post, open } = await start()
    const id = await open()
    await post(`/instances/${id}/edit`, '{"changes":[{"path":"data.big","value":12345678901234567890}]}')
    await post(`/instances/${id}/edit`, { changes: [{ path: 'data.odd', value: { 'a b': [1] } }] })
    const { text, body } = await get(`/instances/${id}`)
    expect(text).toContain('"big":12345678901234567890')
    expect(body.data.odd).toEqual({ 'a b': [1] })
  })

  test('[HD3] [HD11] is fired manually, or refused with the reason', async () => {
    const { get, post, key, open } = await start()
    const id = await open()
    const operator = await key('operator')
    const input = { note: 'fine' }
    expect(
      (await post(`/instances/${id}/fire`, { transition: 'approve', input }, operator)).body,
    ).toMatchObject({
      status: 403,
      code: 'permission_needed',
      details: { needed: 'triage.approve' },
    })
    expect((await get(`/instances/${id}/why?transition=approve`, operator)).body.transitions).toMatchObject([
      { name: 'approve', canFire: false },
    ])
    const reviewer = await key('operator', ['triage.approve'])
    const bad = [
      [{ transition: 'aprove', input }, 400, 'unknown_transition'],
      [{ transition: 'approve', input: { note: 1 } }, 422, 'invalid_input'],
      [{ transition: 'expedite' }, 409, 'cannot_fire'],
      [{ transition: 7 }, 400, 'invalid_request'],
      [{}, 400, 'invalid_request'],
      [{ transition: 'approve', input, by: 'me' }, 400, 'invalid_request'],
    ] as const
    for (const [body, status, code] of bad)
      expect((await post(`/instances/${id}/fire`, body, reviewer)).body, code).toMatchObject({ status, code })
    const fired = await post(
      `/instances/${id}/fire`,
      { transition: 'approve', input, comment: 'ok' },
      reviewer,
    )
    expect(fired.body).toMatchObject({ state: 'completed', marking: { closed: 1 }, data: { note: 'fine' } })
    expect((await post(`/instances/${id}/fire`, { transition: 'reject' }, reviewer)).body).toMatchObject({
      status: 409,
      code: 'instance_ended',
    })
    expect((await get(`/instances/${id}/why?transition=nobody`)).body.code).toBe('unknown_transition')
  })

  test('has its tokens moved: by name, by list and by number', async () => {
    const { post, open } = await start()
    const id = await open()
    const move = (from: unknown, to: unknown) => post(`/instances/${id}/move`, { from, to, reason: 'x' })
    expect((await move('review', ['incoming', 'review'])).body.marking.review).toBeGreaterThanOrEqual(1)
    const bad = [
      ['review', 'revew', 'unknown_place'],
      ['closed', 'review', 'cannot_fire'],
      [{ review: 0 }, 'closed', 'invalid_request'],
      [7, 'closed', 'invalid_request'],
      [[], 'closed', 'invalid_request'],
    ] as const
    for (const [from, to, code] of bad) expect((await move(from, to)).body, code).toMatchObject({ code })
  })

  test('[HD5] takes data as large as an event may be', async () => {
    const { post, open } = await start()
    const id = await open()
    const changes = [{ path: 'data.text', value: 'x'.repeat(50_000) }]
    const edited = await post(`/instances/${id}/edit`, { changes, reason: 'a letter', dryRun: true })
    expect(edited.status).toBe(200)
  })

  test('[HD5] is edited after the difference was shown', async () => {
    const { get, post, open } = await start()
    const id = await open()
    const body = { changes: [{ path: 'data.urgent', value: true }], reason: 'called' }
    const planned = await post(`/instances/${id}/edit`, { ...body, dryRun: true })
    expect(planned.body).toEqual({
      dryRun: true,
      changes: [{ path: 'data.urgent', after: true }],
      fires: ['expedite'],
    })
    expect((await get(`/instances/${id}`)).body.data.urgent).toBeUndefined()
    const edited = await post(`/instances/${id}/edit`, body)
    expect(edited.body).toMatchObject({
      dryRun: false,
      instance: { state: 'completed', data: { urgent: true } },
    })
    for (const bad of [{ changes: [] }, { changes: [{ value: 1 }] }, { changes: [{ path: 7 }] }])
      expect((await post(`/instances/${id}/edit`, bad)).status).toBe(400)
    expect((await post(`/instances/${id}/edit`, body)).body.code).toBe('instance_ended')
  })

  test('[HD8] is tried again where it failed, and only there', async () => {
    const { get, post, open, vendor, seen } = await start({ status: 422 })
    const id = await open('step_failed')
    expect((await get('/workflows/triage/instances?attention=step_failed')).body.items).toHaveLength(1)
    expect((await post(`/instances/${id}/retry`, { firing: 7 })).body.code).toBe('firing_gone')
    vendor.outcome = answering(201)
    const retried = await post(`/instances/${id}/retry`, { reason: 'mended' })
    expect(retried).toMatchObject({ status: 202, body: { firing: 1 } })
    await seen((change) => change.id === id && change.marking.review === 1)
    expect((await post(`/instances/${id}/retry`, {})).body).toMatchObject({
      status: 409,
      code: 'firing_gone',
    })
  })

  test('[HD6] is cancelled, unless one of its outcomes is unknown', async () => {
    const { post, open, vendor } = await start()
    const id = await open()
    expect((await post(`/instances/${id}/cancel`, { reason: 'gone' })).body.state).toBe('cancelled')
    expect((await post(`/instances/${id}/cancel`, {})).body.code).toBe('instance_ended')
    vendor.outcome = { kind: 'failed', sent: 'maybe', code: 'timeout', message: 'no answer', durationMs: 1 }
    const parked = await open('step_parked')
    expect((await post(`/instances/${parked}/cancel`, {})).body).toMatchObject({
      status: 409,
      code: 'in_doubt',
    })
  })

  test('[HD9] in PROD every change needs a reason', async () => {
    const { post, open } = await start({ environment: 'PROD' })
    const id = await open()
    const acts = [
      ['move', { from: 'review', to: 'closed' }],
      ['edit', { changes: [{ path: 'data.x', value: 1 }] }],
      ['retry', {}],
      ['cancel', {}],
      ['migrate', {}],
    ] as const
    for (const [verb, body] of acts)
      expect((await post(`/instances/${id}/${verb}`, body)).body, verb).toMatchObject({
        status: 400,
        code: 'reason_required',
      })
    expect((await post('/workflows/triage/migrate', {})).body.code).toBe('reason_required')
    const dry = { changes: [{ path: 'data.x', value: 1 }], dryRun: true }
    expect((await post(`/instances/${id}/edit`, dry)).status).toBe(200)
  })

  test('[HD2] [FA7] events about instances are hidden with them: in lists, by id, and from replays', async () => {
    const required = ['triage.see']
    const security = { permissions: required, required, encrypt: [], audit: 'full' } as const
    const { get, key, open, engine } = await start({ workflow: { ...TRIAGE, security } })
    await open()
    const [viewer, seer] = [await key('viewer'), await key('viewer', required)]
    const about = async (by?: string) =>
      (await get('/events?system=true&limit=200', by)).body.items.filter(({ subject }: { subject: string }) =>
        subject.startsWith('workflow.triage.'),
      )
    const [fact] = await about()
    expect((await about(seer)).length).toBe((await about()).length)
    expect(await about(viewer)).toEqual([])
    expect((await get('/events?system=true&limit=200', viewer)).body.items).not.toEqual([])
    expect((await get(`/events/${fact.id}`, seer)).status).toBe(200)
    for (const path of [fact.id, `${fact.id}/body`])
      expect((await get(`/events/${path}`, path === fact.id ? viewer : await key('operator'))).status).toBe(
        404,
      )

    const [tenant, ids, none] = ['default' as TenantId, [fact.id], () => false]
    const { previewEvents, beginEvents } = engine.replays
    expect(await previewEvents(tenant, { ids })).toMatchObject({ items: [{ subject: fact.subject }] })
    expect(await previewEvents(tenant, { ids }, none)).toMatchObject({ items: [{ subject: null }] })
    const filter = { subject: fact.subject, system: true }
    expect(await previewEvents(tenant, filter, none)).toMatchObject({ items: [], matched: 0 })
    for (const asked of [{ ids }, filter])
      await expect(beginEvents(tenant, asked, { reason: 'r' }, none)).rejects.toThrow('no event fits')
  })

  test('[HD2] of a workflow with a required permission is hidden from all others', async () => {
    const security = {
      permissions: ['triage.see'],
      required: ['triage.see'],
      encrypt: [],
      audit: 'full',
    } as const
    const { get, post, key, open } = await start({ workflow: { ...TRIAGE, security } })
    const id = await open()
    const operator = await key('operator')
    expect((await get('/workflows', operator)).body.items).toEqual([])
    for (const path of ['', '/history', '/why', '/work', '?at=1'])
      expect((await get(`/instances/${id}${path}`, operator)).body, path).toMatchObject({
        status: 403,
        code: 'permission_needed',
      })
    expect((await get('/workflows/triage/instances', operator)).body.code).toBe('permission_needed')
    expect((await post(`/instances/${id}/cancel`, {}, operator)).body.code).toBe('permission_needed')
    const seer = await key('viewer', ['triage.see'])
    expect((await get(`/instances/${id}`, seer)).status).toBe(200)
    expect((await get('/workflows/triage/instances', seer)).body.items).toHaveLength(1)
  })

  test('[HD7] shows viewers `[hidden]` where it is encrypted', async () => {
    const { get, key, open, store } = await start({ workflow: SEALED })
    const id = await open()
    const viewer = await key('viewer')
    for (const path of ['', '/history', '?at=1', '/why']) {
      const answer = await get(`/instances/${id}${path}`, viewer)
      expect(answer.status).toBe(200)
      expect(answer.text, path).not.toContain(SECRET)
    }
    expect((await get(`/instances/${id}`, viewer)).body).toMatchObject({
      data: { email: '[hidden]', order: 'o1' },
      encrypted: ['data.email'],
    })
    expect((await get(`/instances/${id}`)).body.data.email).toBe(SECRET)
    const kept = await store.system('verification').dump()
    expect(JSON.stringify([kept.instances, kept.history])).not.toContain(SECRET)
  })

  test('of another tenant is not there', async () => {
    const { get, post, key, open } = await start()
    const id = await open()
    await post('/tenants', { name: 'acme' })
    const stranger = await key('admin', [], 'acme')
    expect((await get(`/instances/${id}`, stranger)).status).toBe(404)
    expect((await post(`/instances/${id}/cancel`, {}, stranger)).status).toBe(404)
  })
})

describe('migrating', () => {
  const NEXT = {
    ...TRIAGE,
    version: '2.0.0',
    places: [place('board', { type: 'review' }), place('closed', { type: 'final' })],
    start: 'board',
    transitions: [transition('close', 'board', 'closed', { on: 'manual' })],
    migrations: [{ from: '1.0.0', to: '2.0.0', strategy: 'inPlace', places: { review: 'board' }, data: [] }],
  } as const

  test('[MG5] [MG7] one and many, seen before it is done', async () => {
    const { get, post, key, open, apply } = await start()
    const [first, second] = [await open(), await open()]
    await apply(NEXT)
    expect((await get('/workflows/triage')).body.versions).toMatchObject([{ version: '1.0.0', count: 2 }])
    const dry = await post(`/instances/${first}/migrate`, { dryRun: true })
    expect(dry.body).toMatchObject({ ok: true, from: '1.0.0', to: '2.0.0', after: { board: 1 } })
    expect((await post(`/instances/${first}/migrate`, { reason: 'go' })).body.ok).toBe(true)
    expect((await post(`/instances/${first}/migrate`, {})).body).toMatchObject({
      status: 409,
      code: 'cannot_migrate',
    })
    const operator = await key('operator')
    expect((await post('/workflows/triage/migrate', {}, operator)).body.code).toBe('not_allowed')
    expect((await post('/workflows/triage/migrate', { dryRun: true })).body).toMatchObject({
      items: [{ id: second, ok: true }],
      migrated: 0,
      left: 1,
      nextCursor: null,
    })
    expect((await post('/workflows/triage/migrate', { from: '1.0.0' })).body).toMatchObject({
      migrated: 1,
      refused: 0,
      left: 0,
    })
    expect((await post('/workflows/nobody/migrate', {})).status).toBe(404)
    expect((await post('/workflows/triage/migrate', { cursor: 'x' })).body.code).toBe('invalid_cursor')
  })
})
