// Connections over the API of a whole node: described, created, tested, switched, rotated and retired, and seen in
// runs.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiNode, startApiNode } from './support/api-node.ts'

const VALUE = 'planted-value-3141592653'
const NEXT_VALUE = 'planted-value-2718281828'

let node: ApiNode
let key: string
let viewer: string
/** The tokens that the vendor accepts. */
const good = new Set<string>([VALUE])
/** The vendor responds to nothing before this. */
let responds = Promise.resolve()
function holdResponses(): () => void {
  let respond = () => {}
  responds = new Promise((resolve) => {
    respond = resolve
  })
  return respond
}
const vendor = createServer(async (request, response) => {
  for await (const _ of request) {
  }
  await responds
  const token = String(request.headers.authorization).replace('Bearer ', '')
  const status = good.has(token) ? 200 : 401
  response.writeHead(status, { 'content-type': 'application/json' }).end('{"id":"o-1"}')
})
let url = ''

const base = '/v1/integrations'
const call = (method: string, path: string, body?: unknown, id = '') =>
  node.call(method, `${base}${path}`, { key, params: { id }, ...(body !== undefined && { body }) })
const act = (name: string, verb: string, body: object = {}) =>
  call('POST', `/connections/{id}/${verb}`, body, name)

const PROVIDER = () => ({
  name: 'depot',
  title: 'The depot',
  baseUrl: url,
  auth: ['bearer'],
  config: { type: 'object', properties: { site: { type: 'string' } }, required: ['site'] },
  probe: { path: '/me' },
  operations: {
    'order.book': { method: 'POST', path: '/orders/{{ input.order }}', idempotency: 'idempotent' },
  },
})
const CREDENTIAL = { name: 'depot-key', provider: 'depot', auth: 'bearer', secret: { ref: 'DEPOT' } }
const CONNECTION = {
  name: 'depot-main',
  provider: 'depot',
  credential: 'depot-key',
  config: { site: 'north' },
}

beforeAll(async () => {
  await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  node = await startApiNode()
  key = node.app.adminKey.value
  const made = await node.call('POST', '/v1/keys', { key, body: { name: 'looks', role: 'viewer' } })
  viewer = made.body.key
})
afterAll(async () => {
  expect(node.faults).toEqual([])
  await node[Symbol.asyncDispose]()
  vendor.closeAllConnections()
  await new Promise((resolve) => vendor.close(resolve))
})

describe('posted documents', () => {
  test('[IA1] [IA2] providers are built in, or described by the user who needs one', async () => {
    const made = await call('POST', '/providers', PROVIDER())
    expect(made).toMatchObject({ status: 201, body: { version: expect.any(Number), warnings: [] } })
    const { items } = (await call('GET', '/providers')).body
    const names = items.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(['github', 'http', 'stripe', 'depot']))
    const own = await call('GET', '/providers/{id}', undefined, 'depot')
    expect(own.body).toMatchObject({
      managedBy: 'api',
      canProbe: true,
      canRotate: false,
      auth: ['bearer'],
      operations: [{ name: 'order.book', idempotency: 'idempotent' }],
    })
    expect((await call('GET', '/providers/{id}', undefined, 'github')).body.managedBy).toBe('built-in')
    expect((await call('GET', '/providers/{id}', undefined, 'nobody')).status).toBe(404)
    const definition = await node.call('GET', '/v1/definitions/{kind}/{name}', {
      key,
      params: { kind: 'Provider', name: 'depot' },
    })
    expect(definition.body).toMatchObject({ managedBy: 'api', history: [{ version: made.body.version }] })
  })

  test('[IA3] a missing reference has its own code, and errors are reported by field', async () => {
    const unknown = await call('POST', '/connections', {
      ...CONNECTION,
      credential: null,
      provider: 'depots',
    })
    expect(unknown).toMatchObject({
      status: 422,
      body: { code: 'provider_unknown', details: { fields: [{ path: '/provider' }] } },
    })
    const credential = await call('POST', '/connections', { ...CONNECTION, credential: 'nobodys' })
    expect(credential).toMatchObject({ status: 422, body: { code: 'credential_unknown' } })
    const wrong = await call('POST', '/credentials', {
      ...CREDENTIAL,
      auth: 'magic',
      rotation: 7,
      colour: 'red',
    })
    expect(wrong).toMatchObject({ status: 422, body: { code: 'integration_invalid' } })
    const paths = wrong.body.details.fields.map(({ path }: { path: string }) => path)
    expect(paths).toEqual(expect.arrayContaining(['/auth', '/rotation', '/colour']))
    expect((await call('GET', '/connections')).body.items).toEqual([])
  })

  test('[IA6] a credential shows where its value is stored and its fingerprint, never the value', async () => {
    await node.call('POST', '/v1/secrets', { key, body: { name: 'DEPOT', value: VALUE } })
    const made = await call('POST', '/credentials', CREDENTIAL)
    expect(made).toMatchObject({
      status: 201,
      body: { item: { name: 'depot-key', status: 'active', version: 1, secret: { ref: 'DEPOT' } } },
    })
    const { fingerprint, versions } = made.body.item
    expect(versions).toMatchObject([{ version: 1, fingerprint, state: 'active' }])
    expect(VALUE).not.toContain(fingerprint)
    expect(made.text).not.toContain(VALUE)
  })
})

describe('a connection', () => {
  test('[IA4] is pending until it passes a test', async () => {
    // A node tests pending connections by itself: that test must end after the response below, and must not pass.
    good.clear()
    const respond = holdResponses()
    const made = await call('POST', '/connections', CONNECTION)
    expect(made).toMatchObject({ status: 201, body: { item: { status: 'pending', health: 'unknown' } } })
    respond()
    const failed = await act('depot-main', 'test')
    expect(failed).toMatchObject({
      status: 200,
      body: {
        ok: false,
        run: { purpose: 'test', class: 'auth', httpStatus: 401 },
        connection: { status: 'pending', lastTest: { ok: false, httpStatus: 401 } },
      },
    })
    good.add(VALUE)
    const passed = await act('depot-main', 'test')
    expect(passed).toMatchObject({
      status: 200,
      body: { ok: true, run: { state: 'completed', httpStatus: 200 }, connection: { status: 'active' } },
    })
    expect(passed.body.run.attempts[0].request).toContain('GET')
    expect(passed.text + failed.text).not.toContain(VALUE)
    const seen = (await call('GET', '/connections/{id}', undefined, 'depot-main')).body
    expect(seen).toMatchObject({ status: 'active', circuit: { state: 'closed', override: null } })
    const health = await call('GET', '/connections/{id}/health', undefined, 'depot-main')
    expect(health).toMatchObject({ status: 200, body: { nextCursor: null } })
  })

  test('[IA2] [IA4] is changed by posting it again, and is pending then', async () => {
    // Its value stays good: a probe of the active connection that was refused would start a rotation.
    const respond = holdResponses()
    const changed = await call('POST', '/connections', { ...CONNECTION, config: { site: 'south' } })
    expect(changed.body.item).toMatchObject({ status: 'pending', config: { site: 'south' } })
    respond()
    expect((await act('depot-main', 'test')).body.connection.status).toBe('active')
  })

  test('[IA2] one of a folder is changed there', async () => {
    await node.app.engine.definitions.apply('default' as never, {
      definitions: [
        {
          document: {
            ...((await node.app.engine.integrations.connection('default' as never, 'depot-main'))
              .document as object),
            name: 'of-folder',
          } as never,
          authored: { path: 'a.yaml', text: 'kind: Connection' },
        },
      ],
      managedBy: 'folder',
      prune: false,
      by: 'folder',
      reason: null,
    })
    const refused = await call('POST', '/connections', { ...CONNECTION, name: 'of-folder' })
    expect(refused).toMatchObject({ status: 409, body: { code: 'managed_by_folder' } })
  })

  test('[IA5] its circuit is switched with a reason and an end, and returned to automatic control', async () => {
    expect((await act('depot-main', 'circuit', { is: 'open' })).status).toBe(400)
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const opened = await act('depot-main', 'circuit', { is: 'open', reason: 'they move', until })
    expect(opened.body.circuit.override).toMatchObject({
      is: 'open',
      reason: 'they move',
      by: 'admin',
      until,
    })
    const past = await act('depot-main', 'circuit', {
      is: 'open',
      reason: 'x',
      until: '2020-01-01T00:00:00Z',
    })
    expect(past.status).toBe(400)
    const left = await act('depot-main', 'circuit', { is: 'auto', reason: 'they moved' })
    expect(left.body.circuit.override).toBeNull()
  })

  test('[IA7] its runs are listed by their properties, and heads are hidden from viewers', async () => {
    const list = (query: string, as = key) => node.call('GET', `${base}/runs`, { key: as, query })
    const all = (await list('?connection=depot-main&purpose=test')).body.items
    expect(all.length).toBeGreaterThanOrEqual(3)
    expect(all[0].attempts[0].request).toEqual(expect.stringContaining('/me'))
    expect((await list('?connection=nobody')).body.items).toEqual([])
    expect((await list('?purpose=work')).body.items).toEqual([])
    const shown = await node.call('GET', `${base}/runs/{id}`, { key: viewer, params: { id: all[0].id } })
    expect(shown.body.attempts[0]).toMatchObject({ request: null, response: null, number: 1 })
    expect((await list('?connection=depot-main', viewer)).body.items[0].attempts[0].request).toBeNull()
  })

  test('[IA6] a rotation responds at once, waits for its value, and uses it if it works', async () => {
    const begun = await call('POST', '/credentials/rotate', {
      credentialId: 'depot-key',
      reason: 'it is old',
    })
    expect(begun).toMatchObject({
      status: 202,
      body: { isNew: true, rotationId: expect.stringMatching(/^wrk_/) },
    })
    const again = await call('POST', '/credentials/rotate', { credentialId: 'depot-key' })
    expect(again).toMatchObject({ status: 202, body: { isNew: false, rotationId: begun.body.rotationId } })
    good.add(NEXT_VALUE)
    await node.call('POST', '/v1/secrets', { key, body: { name: 'DEPOT', value: NEXT_VALUE, pending: true } })
    await node.seen((one) => one.type === 'work' && one.id === begun.body.rotationId && one.state === 'done')
    const after = await call('GET', '/credentials/{id}', undefined, 'depot-key')
    expect(after.body).toMatchObject({ status: 'active', version: 2, rotation: { underWay: null } })
    expect(after.body.rotation.lastAt).not.toBeNull()
    expect(after.text).not.toContain(NEXT_VALUE)
    expect((await call('POST', '/credentials/rotate', { credentialId: 'nobody' })).status).toBe(404)
  })

  test('[IA5] a retired one runs nothing, and says who retired it and why', async () => {
    expect((await act('depot-main', 'retire')).status).toBe(400)
    const retired = await act('depot-main', 'retire', { reason: 'moved out' })
    expect(retired.body).toMatchObject({ status: 'retired', retired: { by: 'admin', reason: 'moved out' } })
    expect((await act('depot-main', 'test')).status).toBe(409)
  })
})

test('[IA8] where a vendor redirects users back, a foreign state is refused, in plain words', async () => {
  const asked = await node.call('GET', `${base}/oauth/callback`, { query: '?state=made-up&code=c' })
  expect(asked).toMatchObject({ status: 400, body: { code: 'oauth_state_invalid' } })
  const page = await fetch(`${node.app.url}${base}/oauth/callback?state=<b>&code=c`, {
    headers: { accept: 'text/html' },
  })
  expect([page.status, page.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
  expect(await page.text()).toContain('<h1>This consent was not requested')
  expect((await call('POST', '/credentials/{id}/authorize', {}, 'depot-key')).status).toBe(409)
})
