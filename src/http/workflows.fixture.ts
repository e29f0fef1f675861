// A server over a real engine with the triage of instance-actions.fixture.ts, and a vendor that the test controls.

import { expect } from 'vitest'
import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeStaticCode } from '../adapters/code-static/index.ts'
import { makeCountingEncryption } from '../adapters/encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import type { WorkflowDocument } from '../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type NodeId, type TenantId } from '../core/foundation/ids/index.ts'
import { makeAccess } from '../engine/access/index.ts'
import { SOURCE } from '../engine/engine.fixture.ts'
import { type Change, ENGINE_DEFAULTS, makeEngine } from '../engine/index.ts'
import { makeMemoryVault } from '../engine/secrets/vault.fixture.ts'
import { SECRET, TRIAGE } from '../engine/workflows/operator-actions/instance-actions.fixture.ts'
import type { HttpOutcome } from '../ports/http-client.ts'
import { NO_WAKES } from '../ports/wakes.ts'
import { checkAnswers } from './answers.fixture.ts'
import type { HttpApi } from './api.ts'
import { makeHttpServer } from './server.ts'

export const KEY = 'test-key'

export const answering = (status: number): HttpOutcome => ({
  kind: 'response',
  status,
  headers: {},
  body: '{"id":"v1"}',
  durationMs: 1,
})

export async function makeWorkflowServer({
  workflow = TRIAGE as WorkflowDocument,
  environment = 'DEV',
  status = 201,
} = {}) {
  const [clock, random, log] = [makeSystemClock(), makeSystemRandom(), makeMemoryLog()]
  const store = makeMemoryStore({ now: () => clock.now(), defer: (callback) => clock.defer(callback) })
  const vendor = { outcome: answering(status) }
  const engine = makeEngine(
    {
      encryption: makeCountingEncryption(),
      store,
      clock,
      random,
      log,
      http: { send: async () => vendor.outcome, vet: async () => ({ ok: true }) },
      vault: { resolve: async () => [] },
      secrets: makeMemoryVault(() => 0),
      code: makeStaticCode({}),
      wakes: NO_WAKES,
      bus: null,
    },
    { ...ENGINE_DEFAULTS, node: 'one' as NodeId },
  )
  const apply = (document: WorkflowDocument) => engine.apply(DEFAULT_TENANT, [SOURCE, document])
  await apply(workflow)
  const changes: Change[] = []
  let look = () => {}
  engine.watch({
    changed(_tenant, change) {
      changes.push(change)
      look()
    },
    lost() {},
  })
  await engine.start()
  const access = makeAccess({ store, clock, random, log, adminKey: KEY })
  const api: Partial<HttpApi> = {
    reads: (tenant) => store.forTenant(tenant),
    vetSubscription: async () => ({ ok: true }),
    access,
    workflows: engine.workflows,
    orphans: engine.orphans,
    replays: engine.replays,
    definitions: engine.definitions as unknown as HttpApi['definitions'],
    about: { environment, version: '0', node: 'one', roles: [] },
  }
  let requests = 0
  const server = makeHttpServer(api as HttpApi, {
    bodyBytesMax: 100_000,
    closeMs: 1_000,
    requestId: () => `r-${requests++}`,
    log,
  })
  const { faults } = checkAnswers(server.app)
  const inject = async (method: 'GET' | 'POST', url: string, payload: unknown, key: string) => {
    const answer = await server.app.inject({
      method,
      url: `/v1${url}`,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(payload !== undefined && {
        payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      }),
    })
    return { status: answer.statusCode, text: answer.body, body: JSON.parse(answer.body || 'null') }
  }
  const seen = async (fits: (change: Extract<Change, { type: 'instance' }>) => boolean) => {
    for (;;) {
      const found = changes.find((change) => change.type === 'instance' && fits(change))
      if (found !== undefined) return found as Extract<Change, { type: 'instance' }>
      await new Promise<void>((resolve) => {
        look = resolve
      })
    }
  }
  let sent = 0
  return {
    store,
    engine,
    log,
    vendor,
    apply,
    seen,
    get: (url: string, key = KEY) => inject('GET', url, undefined, key),
    post: (url: string, payload: unknown = {}, key = KEY) => inject('POST', url, payload, key),
    async key(
      role: 'viewer' | 'operator' | 'admin',
      permissions: readonly string[] = [],
      tenant = 'default',
    ) {
      const asked = { name: `${role}’s`, role, permissions, expiresInMs: null }
      return (await access.keys.make(tenant as TenantId, asked, 'test')).key
    },
    /** An instance that reached this place, or needs a decision. */
    async open(place = 'review') {
      sent += 1
      const payload = { kind: 'paid', id: `d${sent}`, order: `o${sent}`, email: SECRET, by: 'jo' }
      const body = new TextEncoder().encode(JSON.stringify(payload))
      const { eventId } = await engine.accept({ tenant: 'default', source: 'shop', headers: {}, body })
      const items = async () =>
        (await store.forTenant(DEFAULT_TENANT).instances({ cursor: null, limit: 500 })).items
      const fits = async () =>
        (await items()).find(
          (row) => row.eventId === eventId && (row.marking[place] === 1 || row.attention === place),
        )
      for (let row = await fits(); ; row = await fits()) {
        if (row !== undefined) return row.id
        await new Promise<void>((resolve) => {
          look = resolve
        })
      }
    },
    /** For what speaks over a socket. */
    listen: async () => (await server.listen({ host: '127.0.0.1', port: 0 })).url,
    async close() {
      await server.close()
      await engine.drain(1_000)
      expect(faults).toEqual([])
    },
  }
}
