// A node with two tenants, one of which has one of everything, and a request to each operation of the API with the ids of that
// tenant. An operation without a recipe here fails `test/tenants.test.ts`.

import { expect } from 'vitest'
import { type ApiNode, startApiNode } from './api-node.ts'

export const VICTIM = 'acme'
export const STRANGER = 'stranger'
/** Part of everything of the victim's that could leak: payloads, names, descriptions. */
export const MARK = 'acmesown'

interface Rows {
  readonly event: string
  readonly done: string
  readonly parked: string
  readonly dead: string
  readonly letter: string
  readonly key: string
  readonly replay: string
  readonly failure: string
  readonly escalation: string
  readonly instance: string
  readonly orphan: string
  readonly delivery: string
  readonly run: string
  readonly version: number
}

export let node: ApiNode
export let rows: Rows
export const keys: Record<string, string> = {}

const definitions = (name: string, vendor: string) => `
kind: Source
name: ${name}_shop
description: of ${name}
verify: { scheme: none }
subject: "shop.events.{{ payload.kind }}"
event: { id: payload.id, objectId: payload.id }
catalog: { subjects: [{ subject: shop.events.paid }, { subject: ${name}.events.told, description: of ${name} }] }
---
kind: Vars
name: ${name}_values
values: { ${name}_limit: 1 }
---
kind: Route
name: ${name}_book
description: of ${name}
on: [shop.events.paid]
key: "'${name}:' + payload.id"
retry: { attempts: 1 }
do:
  http: { method: POST, url: "${vendor}/{{ payload.status }}", body: { note: "{{ payload.note }}" } }
---
kind: Workflow
name: ${name}_case
description: of ${name}
version: 1.0.0
start: open
triggers:
  - { manual: {}, map: { note: payload.note } }
  - { on: [shop.events.changed], action: update, correlate: payload.id, map: { note: payload.note } }
places:
  open: { type: review }
  closed: { final: true }
transitions:
  close: { from: open, to: closed, on: manual }
`

const provider = (name: string, vendor: string) => ({
  name: `${name}_api`,
  description: `of ${name}`,
  baseUrl: vendor,
  auth: ['bearer'],
  probe: { path: '/200' },
  operations: { book: { method: 'POST', path: '/201' } },
})

export const send = (tenant: string, name: string, id: string, kind: string, status: number) =>
  node.call('POST', '/in/{tenant}/{source}', {
    params: { tenant, source: `${name}_shop` },
    body: { id: `${name}-${id}`, kind, status, note: `${name} note` },
  })

async function ask(method: string, path: string, key: string, options: Parameters<ApiNode['call']>[2] = {}) {
  const answer = await node.call(method, path, { ...options, key: keys[key] ?? key })
  expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(300)
  return answer.body
}

/** Two tenants; the victim has one of everything. */
export async function openAccounts(): Promise<void> {
  node = await startApiNode({ MILLRACE_TRUSTED_PROXIES: '127.0.0.1, ::1' })
  const { app, vendorUrl, seen } = node
  keys.node = app.adminKey.value
  for (const tenant of [VICTIM, STRANGER]) {
    await ask('POST', '/v1/tenants', 'node', { body: { name: tenant } })
    for (const role of ['viewer', 'operator', 'admin']) {
      const made = await ask('POST', '/v1/keys', 'node', {
        body: { name: `${tenant} ${role}`, role, tenant },
      })
      keys[`${tenant} ${role}`] = made.key
    }
  }
  const owner = `${VICTIM} admin`
  const files = [{ path: 'a.yaml', text: definitions(MARK, vendorUrl) }]
  const applied = await ask('POST', '/v1/definitions/apply', owner, { body: { files } })
  for (const name of ['TOKEN', 'HELD']) {
    await ask('POST', '/v1/secrets', owner, {
      body: { name, value: `${MARK} value`, pending: name === 'HELD' },
    })
  }
  const made = await ask('POST', '/v1/keys', owner, { body: { name: `${MARK} key`, role: 'viewer' } })
  // In DEV the addresses of this machine may be called.
  const subscription = { name: `${MARK}_hook`, description: `of ${MARK}`, on: ['shop.events.hooked'] }
  await ask('POST', '/v1/webhooks/subscriptions', owner, {
    body: { ...subscription, url: `${vendorUrl}/200`, metadata: { of: MARK } },
  })
  await ask('POST', '/v1/integrations/providers', owner, { body: provider(MARK, vendorUrl) })
  await ask('POST', '/v1/integrations/credentials', owner, {
    body: { name: `${MARK}_key`, provider: `${MARK}_api`, auth: 'bearer', secret: { ref: 'TOKEN' } },
  })
  await ask('POST', '/v1/integrations/connections', owner, {
    // Without probes: a scheduled write has no actor.
    body: { name: `${MARK}_account`, provider: `${MARK}_api`, credential: `${MARK}_key`, probe: 'none' },
  })
  const tested = await ask('POST', '/v1/integrations/connections/{id}/test', owner, {
    params: { id: `${MARK}_account` },
    body: {},
  })
  expect(tested.ok).toBe(true)
  await send(VICTIM, MARK, 'hooked', 'hooked', 200)
  const delivered = (await seen(
    (one) => one.type === 'work' && one.consumer === `subscription:${MARK}_hook` && one.state === 'done',
  )) as { id: string }
  const ended = async (id: string, status: number, state: string) => {
    const { body } = await send(VICTIM, MARK, id, 'paid', status)
    const change = await seen(
      (one) => one.type === 'work' && one.eventId === body.eventId && one.state === state,
    )
    return { event: body.eventId as string, work: (change as { id: string }).id }
  }
  await send(VICTIM, MARK, 'nobody', 'unheard', 200)
  // Two that are refused: of an existing source, and of a missing one.
  await send(VICTIM, `${MARK}_no`, 'nobody', 'unheard', 200)
  await send(VICTIM, MARK, 'nobody', 'a b', 200)
  expect((await ask('GET', '/v1/rejections', owner)).items).toHaveLength(2)
  const [done, parked, dead, again] = [
    await ended('done', 201, 'done'),
    await ended('parked', 0, 'parked'),
    await ended('dead', 422, 'dead'),
    await ended('again', 422, 'dead'),
  ]
  const letters = await ask('GET', '/v1/dead-letters', owner)
  const deadLetterOf = (work: string) =>
    letters.items.find(({ workId }: { workId: string }) => workId === work).id
  const filter = { ids: [deadLetterOf(again.work)] }
  const { replayId } = await ask('POST', '/v1/dead-letters/replay', owner, { body: { filter } })
  // The replay dies as the first attempt did.
  await seen(
    (one) => one.type === 'deadLetter' && one.id === deadLetterOf(again.work) && one.state === 'replaying',
  )
  for (let state = 'running'; state === 'running'; ) {
    state = (await ask('GET', '/v1/replays/{id}', owner, { params: { id: replayId } })).state
  }
  const work = async () => (await ask('GET', '/v1/work', owner)).items
  while ((await work()).some(({ state }: { state: string }) => state === 'ready' || state === 'leased'));
  // Publishing them creates events, some time later.
  const escalations = async () => (await ask('GET', '/v1/escalations', owner)).items
  while ((await escalations()).some(({ isAnnounced }: { isAnnounced: boolean }) => !isAnnounced));
  const { instanceId } = await ask('POST', '/v1/workflows/{name}/instances', owner, {
    params: { name: `${MARK}_case` },
    body: { input: { note: `${MARK} note` } },
  })
  // It changes an instance that was never started.
  await send(VICTIM, MARK, 'unborn', 'changed', 200)
  const orphans = async () => (await ask('GET', '/v1/orphans', owner)).items
  await seen((one, tenant) => tenant === VICTIM && one.type === 'orphan')
  rows = {
    delivery: delivered.id,
    run: tested.run.id,
    instance: instanceId,
    orphan: (await orphans())[0].id,
    event: done.event,
    done: done.work,
    parked: parked.work,
    dead: dead.work,
    letter: deadLetterOf(dead.work),
    key: made.id,
    replay: replayId,
    failure: (await ask('GET', '/v1/failures', owner)).items[0].id,
    escalation: (await escalations())[0].id,
    version: applied.version,
  }
}

export async function closeAccounts(): Promise<void> {
  await node[Symbol.asyncDispose]()
}

export interface Recipe {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** What the stranger, an admin of its own tenant, gets. */
  readonly status: number
}

const route = () => ({ kind: 'Route', name: `${MARK}_book` })
const flow = () => ({ name: `${MARK}_case` })
const ofInstance = () => ({ id: rows.instance })
const ofOrphan = () => ({ id: rows.orphan })
const hook = () => ({ name: `${MARK}_hook` })
const ofDelivery = () => ({ id: rows.delivery })
const vendorOf = () => ({ id: `${MARK}_api` })
const account = () => ({ id: `${MARK}_account` })
const keyOf = () => ({ id: `${MARK}_key` })
const since = '2026-01-01T00:00:00Z'
const reason = 'because'

/** A stranger's request to each operation, with the victim's own ids wherever it takes one. */
export const RECIPES: Readonly<Record<string, () => Recipe | readonly Recipe[]>> = {
  getMe: () => ({ status: 200 }),
  signOut: () => ({ status: 400 }),
  makeSignInLink: () => ({ status: 201, body: {} }),
  listKeys: () => ({ status: 200 }),
  createKey: () => [
    { status: 403, body: { name: 'mine', role: 'viewer', tenant: VICTIM } },
    { status: 201, body: { name: 'mine', role: 'viewer' } },
  ],
  revokeKey: () => ({ status: 404, params: { id: rows.key } }),
  listTenants: () => ({ status: 403 }),
  createTenant: () => ({ status: 403, body: { name: 'third' } }),
  confirmCopy: () => ({ status: 403, body: { code: '0a1b2c3d' } }),
  listRefusedCode: () => ({ status: 403 }),
  getRefusedCode: () => ({ status: 403, params: { id: 'ab'.repeat(32) } }),
  signRefusedCode: () => ({ status: 403, params: { id: 'ab'.repeat(32) }, body: { reason } }),
  listVars: () => ({ status: 200 }),
  getVar: () => ({ status: 404, params: { name: `${MARK}_limit` } }),
  setVars: () => ({ status: 200, body: { values: { mine: 1 } } }),
  setVar: () => ({ status: 200, params: { name: 'mine' }, body: { value: 2 } }),
  listSecrets: () => ({ status: 200 }),
  setSecret: () => ({ status: 201, body: { name: 'TOKEN', value: 'the stranger’s' } }),
  promoteSecret: () => ({ status: 404, params: { name: 'HELD' } }),
  rewrapSecrets: () => ({ status: 200, body: {} }),
  removeSecret: () => ({ status: 404, params: { name: 'HELD' } }),
  listEvents: () => [
    { status: 200 },
    { status: 200, query: `?q=${MARK}` },
    { status: 200, query: `?q=${rows.event}` },
  ],
  publishEvents: () => [
    {
      status: 202,
      body: { specversion: '1.0', id: `${VICTIM}-done`, source: `${VICTIM}_shop`, type: 'shop.events.paid' },
      headers: { 'content-type': 'application/cloudevents+json' },
    },
    { status: 415, body: {} },
  ],
  listUnmatched: () => ({ status: 200 }),
  listRejections: () => [{ status: 200 }, { status: 200, query: `?source=${MARK}_shop` }],
  listPace: () => ({ status: 200 }),
  getPace: () => ({ status: 404, params: { route: `${MARK}_book` } }),
  closeCircuit: () => ({ status: 404, params: { route: `${MARK}_book` }, body: { reason } }),
  closeWorkflowCircuit: () => ({
    status: 404,
    params: { workflow: `${MARK}_case` },
    body: { part: 'trigger/0', reason },
  }),
  getEvent: () => ({ status: 404, params: { id: rows.event } }),
  getEventBody: () => ({ status: 404, params: { id: rows.event } }),
  replayEvents: () => [
    { status: 200, body: { ids: [rows.event], dryRun: true } },
    { status: 202, body: { ids: [rows.event] } },
    { status: 404, body: { filter: { source: 'nobody' } } },
  ],
  explainEvent: () => ({ status: 404, params: { id: rows.event } }),
  listWork: () => [{ status: 200 }, { status: 200, query: `?consumer=${MARK}_book` }],
  getWork: () => ({ status: 404, params: { id: rows.done } }),
  resolveWork: () => ({ status: 404, params: { id: rows.parked }, body: { as: 'done', reason } }),
  probeWork: () => ({ status: 404, params: { id: rows.parked }, body: { reason } }),
  retryWork: () => ({ status: 404, params: { id: rows.parked }, body: { reason } }),
  listHeldLanes: () => ({ status: 200 }),
  leaveLane: () => ({ status: 404, params: { id: rows.parked }, body: { reason } }),
  cancelWork: () => ({ status: 404, params: { id: rows.parked }, body: { reason } }),
  listLedgerHistory: () => [{ status: 200, query: `?key=${MARK}:${MARK}-done` }],
  listLedger: () => [{ status: 200 }, { status: 200, query: `?key=${MARK}:${MARK}-done` }],
  listDeadLetters: () => ({ status: 200 }),
  listDeadLetterGroups: () => ({ status: 200 }),
  getDeadLetter: () => ({ status: 404, params: { id: rows.letter } }),
  replayDeadLetter: () => ({ status: 404, params: { id: rows.letter }, body: {} }),
  readyDeadLetter: () => ({ status: 404, params: { id: rows.letter }, body: {} }),
  editDeadLetter: () => ({ status: 404, params: { id: rows.letter }, body: { data: {}, reason } }),
  discardDeadLetter: () => ({ status: 404, params: { id: rows.letter }, body: { reason } }),
  replayDeadLetters: () => [
    { status: 200, body: { filter: { ids: [rows.letter] }, dryRun: true } },
    { status: 202, body: { filter: { ids: [rows.letter] } } },
    { status: 404, body: { filter: { state: 'open' } } },
  ],
  listFailures: () => [{ status: 200 }, { status: 200, query: `?consumer=${MARK}_book` }],
  getFailure: () => ({ status: 404, params: { id: rows.failure } }),
  listEscalations: () => ({ status: 200 }),
  getEscalation: () => ({ status: 404, params: { id: rows.escalation } }),
  acknowledgeEscalation: () => ({ status: 404, params: { id: rows.escalation }, body: { note: 'mine' } }),
  listWorkflows: () => ({ status: 200 }),
  getWorkflow: () => ({ status: 404, params: flow() }),
  listInstances: () => ({ status: 404, params: flow() }),
  startInstance: () => ({ status: 404, params: flow(), body: { input: {} } }),
  migrateInstances: () => ({ status: 404, params: flow(), body: { dryRun: true } }),
  getInstance: () => [
    { status: 404, params: ofInstance() },
    { status: 404, params: ofInstance(), query: '?at=1' },
  ],
  listInstanceHistory: () => ({ status: 404, params: ofInstance() }),
  explainInstance: () => ({ status: 404, params: ofInstance() }),
  listInstanceWork: () => ({ status: 404, params: ofInstance() }),
  fireTransition: () => ({ status: 404, params: ofInstance(), body: { transition: 'close' } }),
  moveTokens: () => ({ status: 404, params: ofInstance(), body: { from: 'open', to: 'closed' } }),
  editInstance: () => ({
    status: 404,
    params: ofInstance(),
    body: { changes: [{ path: 'data.note', value: 'mine' }] },
  }),
  retryInstance: () => ({ status: 404, params: ofInstance(), body: {} }),
  cancelInstance: () => ({ status: 404, params: ofInstance(), body: {} }),
  migrateInstance: () => ({ status: 404, params: ofInstance(), body: { dryRun: true } }),
  listOrphans: () => [{ status: 200 }, { status: 200, query: `?workflow=${MARK}_case` }],
  getOrphan: () => ({ status: 404, params: ofOrphan() }),
  correlateOrphan: () => ({ status: 404, params: ofOrphan(), body: { instance: rows.instance } }),
  discardOrphan: () => ({ status: 404, params: ofOrphan(), body: {} }),
  retryOrphans: () => ({ status: 404, body: { workflow: `${MARK}_case` } }),
  listSubscriptions: () => [{ status: 200 }, { status: 200, query: `?q=${MARK}` }],
  getSubscription: () => ({ status: 404, params: hook() }),
  createSubscription: () => ({
    status: 201,
    body: { name: 'mine_hook', url: `${node.vendorUrl}/200`, on: ['shop.events.hooked'] },
  }),
  patchSubscription: () => ({ status: 404, params: hook(), body: { description: 'mine' } }),
  enableSubscription: () => ({ status: 404, params: hook(), body: {} }),
  disableSubscription: () => ({ status: 404, params: hook(), body: {} }),
  pauseSubscription: () => ({ status: 404, params: hook(), body: {} }),
  testSubscription: () => ({ status: 404, params: hook(), body: {} }),
  rotateSubscriptionSecret: () => ({ status: 404, params: hook(), body: {} }),
  revealSubscriptionSecret: () => ({ status: 404, params: hook(), body: {} }),
  recoverSubscription: () => [
    { status: 404, params: hook(), body: { since, dryRun: true } },
    { status: 404, params: hook(), body: { since } },
  ],
  deleteSubscription: () => ({ status: 404, params: hook() }),
  listDeliveries: () => [
    { status: 200 },
    { status: 200, query: `?subscription=${MARK}_hook` },
    { status: 200, query: `?eventId=${rows.event}` },
  ],
  getDelivery: () => ({ status: 404, params: ofDelivery() }),
  retryDelivery: () => ({ status: 404, params: ofDelivery(), body: { reason } }),
  cancelDelivery: () => ({ status: 404, params: ofDelivery(), body: { reason } }),
  retryDeliveries: () => [
    { status: 404, body: { filter: { subscription: `${MARK}_hook` }, dryRun: true } },
    { status: 404, body: { filter: { subscription: `${MARK}_hook` } } },
  ],
  listProviders: () => ({ status: 200 }),
  getProvider: () => ({ status: 404, params: vendorOf() }),
  putProvider: () => ({ status: 201, body: provider('mine', node.vendorUrl) }),
  listConnections: () => ({ status: 200 }),
  getConnection: () => ({ status: 404, params: account() }),
  listConnectionHealth: () => ({ status: 404, params: account() }),
  putConnection: () => [
    { status: 422, body: { name: 'mine_account', provider: `${MARK}_api` } },
    { status: 422, body: { name: 'mine_account', provider: 'stripe', credential: `${MARK}_key` } },
  ],
  testConnection: () => ({ status: 404, params: account(), body: {} }),
  retireConnection: () => ({ status: 404, params: account(), body: { reason } }),
  switchConnectionCircuit: () => ({ status: 404, params: account(), body: { is: 'open', reason } }),
  listCredentials: () => ({ status: 200 }),
  getCredential: () => ({ status: 404, params: keyOf() }),
  putCredential: () => ({
    status: 201,
    body: { name: 'mine_key', provider: 'stripe', auth: 'bearer', secret: { ref: 'TOKEN' } },
  }),
  rotateCredential: () => ({ status: 404, body: { credentialId: `${MARK}_key` } }),
  authorizeCredential: () => ({ status: 404, params: keyOf(), body: {} }),
  finishAuthorization: () => ({ status: 400, query: '?state=none&code=none' }),
  listRuns: () => [{ status: 200 }, { status: 200, query: `?connection=${MARK}_account` }],
  getRun: () => ({ status: 404, params: { id: rows.run } }),
  listReplays: () => ({ status: 200 }),
  getReplay: () => ({ status: 404, params: { id: rows.replay } }),
  cancelReplay: () => ({ status: 404, params: { id: rows.replay }, body: {} }),
  getOverview: () => ({ status: 200 }),
  getStats: () => ({ status: 200 }),
  getDemo: () => ({ status: 200 }),
  sendDemo: () => ({ status: 409, body: { count: 1 } }),
  stopDemo: () => ({ status: 200, body: {} }),
  listDefinitions: () => ({ status: 200 }),
  listDefinitionVersions: () => ({ status: 200 }),
  getDefinition: () => ({ status: 404, params: route() }),
  checkDefinitions: () => ({ status: 200, body: { files: [] } }),
  planDefinitions: () => ({ status: 200, body: { files: [], prune: true } }),
  applyDefinitions: () => ({
    status: 200,
    body: { files: [{ path: 'a.yaml', text: definitions('mine', node.vendorUrl) }], prune: true },
  }),
  rollbackDefinitions: () => ({ status: 404, body: { to: rows.version + 1 } }),
  pauseDefinition: () => ({ status: 404, params: route(), body: {} }),
  resumeDefinition: () => ({ status: 404, params: route(), body: {} }),
  disableDefinition: () => ({ status: 404, params: route(), body: {} }),
  listCatalog: () => [{ status: 200 }, { status: 200, query: `?source=${MARK}_shop` }],
  getSubject: () => ({ status: 404, params: { subject: `${MARK}.events.told` } }),
  tryRoute: () => [
    { status: 404, body: { route: `${MARK}_book`, event: { subject: 'a.b', data: {} } } },
    { status: 404, body: { yaml: definitions('mine', node.vendorUrl), event: rows.event } },
  ],
  tryExpression: () => ({ status: 404, body: { expression: 'payload', as: 'pick', event: rows.event } }),
}
