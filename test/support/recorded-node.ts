// A whole node that does the same in every run: virtual time, seeded randomness, a store in memory and vendors that do what the
// address says. Time stands still while a request is served and moves on between requests.

import { makeMachineClock, makeVirtualTime } from '../../sim/clock.ts'
import { makeRng } from '../../sim/random.ts'
import { makeStaticCode } from '../../src/adapters/code-static/index.ts'
import { makeCountingEncryption } from '../../src/adapters/encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../../src/adapters/log-memory/index.ts'
import { makeMemoryStore } from '../../src/adapters/store-memory/index.ts'
import { makeLocalVault } from '../../src/adapters/vault-local/index.ts'
import { makeApi } from '../../src/app/node-api.ts'
import { makeGate } from '../../src/app/start-gate.ts'
import { BUILT_IN_PROVIDERS } from '../../src/connectors/index.ts'
import { makeIds, type NodeId } from '../../src/core/foundation/ids/index.ts'
import { ROLES } from '../../src/core/queue/node-role/index.ts'
import { makeMasterKeys } from '../../src/core/secrets/index.ts'
import { makeAccess, makeIdempotency } from '../../src/engine/access/index.ts'
import { ENGINE_DEFAULTS, makeEngine } from '../../src/engine/index.ts'
import type { RefusedBundle } from '../../src/http/api.ts'
import { makeHttpServer } from '../../src/http/server.ts'
import { NO_WAKES } from '../../src/ports/wakes.ts'
// Loaded with the first check otherwise: the clock of this node would go on meanwhile.
import '../../src/definitions/language.ts'

export const ADMIN = 'recorded-admin-key'
const STARTED_AT = Date.UTC(2026, 10, 15, 12)
/** Turns of the event loop without an answer after which time moves on. */
const PATIENCE = 40
const STEP_MS = 500
/** Between two requests. */
const SETTLE_MS = 10_000

const REFUSED: RefusedBundle & { readonly text: string } = {
  codeHash: 'ab'.repeat(32),
  file: 'functions.mjs',
  bytes: 19,
  why: 'it is not signed',
  usedBy: ['default/Route/book'],
  text: 'export default {}\n',
}

export interface RecordedRequest {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** A text is sent as it is. */
  readonly body?: unknown
  readonly key?: string | null
}

export interface RecordedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const waitTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

export async function startRecordedNode({
  onRequest,
}: {
  onRequest?(method: string, url: string, body: string | undefined): void
} = {}) {
  const time = makeVirtualTime(STARTED_AT)
  const clock = makeMachineClock(time, 0).clockFor({ pass: (callback) => callback() })
  const now = () => clock.now()
  const random = makeRng('recorded')
  const ids = makeIds({ now, bytes: (length) => random.bytes(length) })
  const log = makeMemoryLog()
  const store = makeMemoryStore({ now, defer: (callback) => clock.defer(callback) })
  const keys = makeMasterKeys(new Uint8Array(32))
  const secrets = makeLocalVault({ store, clock, random, log, keys })
  const staticCode = makeStaticCode({ greet: () => ({ hello: 'world' }) })
  const engine = makeEngine(
    {
      store,
      clock,
      random,
      log,
      wakes: NO_WAKES,
      bus: null,
      secrets,
      vault: secrets,
      encryption: makeCountingEncryption(),
      code: staticCode,
      http: {
        vet: async () => ({ ok: true }),
        send: async ({ url }) => {
          const status = Number(new URL(url).pathname.slice(1))
          if (status === 0) {
            return {
              kind: 'failed',
              sent: 'maybe',
              code: 'reset',
              message: 'the connection was reset',
              durationMs: 5,
            }
          }
          const headers = { 'content-type': 'application/json' }
          return { kind: 'response', status, headers, body: '{"id":"v1"}', durationMs: 5 }
        },
      },
    } as Parameters<typeof makeEngine>[0],
    {
      ...ENGINE_DEFAULTS,
      node: 'node-1' as NodeId,
      providers: BUILT_IN_PROVIDERS,
      vars: { self: 'http://node.example', vendor: 'http://vendor.example' },
    },
  )
  const gate = makeGate(engine)
  const access = makeAccess({ store, clock, random, log, adminKey: ADMIN })
  const tenants = () => access.tenants.all()
  const code = { find: staticCode.find, timeoutMs: () => null, emits: () => [] }
  const api = makeApi(gate, engine, code, store, {
    access,
    secrets,
    demo: null,
    about: { environment: 'DEV', version: '0.0.0', node: 'node-1', roles: [...ROLES] },
    idempotency: makeIdempotency({ store, clock, log, life: 'life', tenants }),
    now,
    vetSubscription: async () => ({ ok: true }),
    health: async () => ({ ready: true, reasons: [], checks: { store: 'ok', lease: 'held', bus: 'none' } }),
    gauges: () => [{ name: 'millrace_outbox_rows', value: 3 }],
    confirmCopy: async () => {},
    refusedCode: {
      list: async () => [REFUSED],
      one: async (hash) => (hash === REFUSED.codeHash ? REFUSED : null),
      sign: async () => {},
    },
  })
  const server = makeHttpServer(api, {
    bodyBytesMax: 1_048_576,
    closeMs: 1_000,
    requestId: () => ids.uuid(),
    log,
  })

  if (onRequest !== undefined) {
    server.app.addHook('preValidation', async ({ method, url, body }) =>
      onRequest(method, url, method === 'GET' || method === 'DELETE' ? undefined : JSON.stringify(body)),
    )
  }

  /** Waits for something; time moves only if it does not come otherwise. */
  const wait = async <Value>(promise: Promise<Value>): Promise<Value> => {
    let isOver = false
    const end = () => {
      isOver = true
    }
    promise.then(end, end)
    for (let turns = 1; !isOver; turns += 1) {
      await waitTurn()
      await time.run(time.now() + (turns % PATIENCE === 0 ? STEP_MS : 0), () => isOver)
    }
    return promise
  }
  const settle = (ms = SETTLE_MS) => time.run(time.now() + ms, () => false)

  await wait(engine.start())
  gate.open()
  await wait(Promise.resolve(server.app.ready()))

  return {
    server,
    now,
    wait,
    settle,
    /** An event as a source gets it. */
    async send(payload: unknown, tenant = 'default', source = 'shop') {
      const body = new TextEncoder().encode(JSON.stringify(payload))
      const { eventId } = await wait(engine.accept({ tenant, source, headers: {}, body }))
      await settle()
      return eventId as string
    },
    async call({ method, url, headers = {}, body, key = ADMIN }: RecordedRequest): Promise<RecordedAnswer> {
      const answer = await wait(
        server.app.inject({
          method: method as 'GET',
          url,
          headers: {
            ...(key !== null && { authorization: `Bearer ${key}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      )
      await settle()
      const kept = Object.entries(answer.headers).filter(
        ([name]) => !/^(date|connection|keep-alive)$/.test(name),
      )
      return {
        status: answer.statusCode,
        headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
        text: answer.body,
      }
    },
    async close() {
      await wait(server.close())
      await wait(engine.drain(1_000))
    },
  }
}

export type RecordedNode = Awaited<ReturnType<typeof startRecordedNode>>
