// Credentials on a memory store and a memory vault, with a vendor that the test scripts, a minimal outbound client, and nodes
// that stop after any commit.

import { makeMemoryLog } from '../../../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../../../adapters/store-memory/index.ts'
import type { CredentialState } from '../../../core/connections/credential/index.ts'
import type {
  ConnectionDocument,
  CredentialDocument,
  OperationDocument,
  ProviderDocument,
} from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, makeIds, type NodeId, type TenantId } from '../../../core/foundation/ids/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import type { Commit, Store } from '../../../ports/store.ts'
import { makeCommits } from '../../commit/commits.ts'
import type { EventPlan, PlanEvent } from '../../commit/event-plan.ts'
import { makeStoreTime } from '../../commit/store-time.ts'
import { makeUnitOfWork } from '../../commit/unit-of-work.ts'
import { ENGINE_DEFAULTS } from '../../config.ts'
import { makeManualTime, makeRandom } from '../../engine.fixture.ts'
import { makeItem } from '../../leases/leased-job.ts'
import { makeMemoryVault } from '../../secrets/vault.fixture.ts'
import { DECISIONS } from '../../settlement/decision-functions.ts'
import { makeFailures } from '../../settlement/index.ts'
import { makePlanEnd } from '../../settlement/job-end.ts'
import { noParticipants } from '../../settlement/participants.ts'
import { makeSettler } from '../../settlement/settle.ts'
import type { OutboundRequest, OutboundResponse } from '../connection-types.ts'
import { type ComposedCredentials, makeCredentials } from './compose.ts'

export const TENANT = DEFAULT_TENANT
const CONSUMER = 'credential:crm'

const CREATE_KEY: OperationDocument = {
  name: 'createKey',
  description: null,
  method: 'POST',
  path: '/keys',
  query: {},
  headers: {},
  body: { name: '{{ input.rotation }}' },
  encoding: 'json',
  endpoint: null,
  input: null,
  output: null,
  idempotency: 'none',
  keyTtlMs: null,
  keyHeader: null,
  lookup: null,
  result: null,
  ref: 'result.body.id',
  classify: {},
  refine: [],
  timeoutMs: 5_000,
  buckets: [],
  scopes: [],
  deprecated: null,
}

export const PROVIDER: ProviderDocument = {
  kind: 'Provider',
  name: 'crm',
  title: 'CRM',
  description: null,
  category: 'crm',
  auth: ['apiKey', 'oauth2'],
  authentication: { header: 'x-key', prefix: '', query: null },
  oauth2: {
    authorizeUrl: 'https://crm.example/authorize',
    tokenUrl: 'https://crm.example/token',
    scopes: ['read'],
    parameters: {},
    clientAuth: 'body',
  },
  baseUrl: 'https://crm.example',
  endpoints: {},
  config: null,
  capabilities: [],
  buckets: {},
  probe: { method: 'GET', path: '/me', query: {}, headers: {}, timeoutMs: 5_000 },
  classify: {},
  refine: [],
  operations: {
    createKey: CREATE_KEY,
    deleteKey: {
      ...CREATE_KEY,
      name: 'deleteKey',
      method: 'DELETE',
      path: '/keys/{{ input.ref }}',
      body: null,
      ref: null,
    },
  },
  rotation: null,
  inbound: null,
  deprecated: null,
}

export const CONNECTION: ConnectionDocument = {
  kind: 'Connection',
  name: 'crm-main',
  description: null,
  provider: 'crm',
  credential: 'crm',
  config: {},
  endpoints: {},
  status: 'active',
  probe: { everyMs: 60_000, timeoutMs: 5_000 },
  buckets: {},
  circuit: null,
}

export const CREDENTIAL: CredentialDocument = {
  kind: 'Credential',
  name: 'crm',
  description: null,
  provider: 'crm',
  auth: 'apiKey',
  secret: { ref: 'crm-key' },
  username: null,
  oauth2: null,
  githubApp: null,
  serviceAccount: null,
  hmac: null,
  rotation: { everyMs: null, coolDownMs: 600_000, overlapMs: 60_000 },
}

export const CLIENT: CredentialDocument = {
  ...CREDENTIAL,
  auth: 'oauth2',
  oauth2: { grant: 'clientCredentials', clientId: 'me', scopes: null, audience: null },
}

export function answered(status: number, body: unknown = null): HttpOutcome {
  const text = body === null ? '' : JSON.stringify(body)
  return { kind: 'response', status, headers: {}, body: text, durationMs: 1 }
}

export type Script = (request: HttpRequest) => HttpOutcome | Promise<HttpOutcome>

export interface KeepingNode {
  readonly keeping: ComposedCredentials
  readonly log: ReturnType<typeof makeMemoryLog>
  /** A call of the connection, as the outbound client makes it. */
  call(path?: string): Promise<OutboundResponse>
  /** Claims and runs what is due. */
  work(): Promise<number>
  /** From its n-th commit from now on, nothing of it takes effect. `isBefore`: nor does that commit. */
  stopAt(commit: number, isBefore: boolean): void
  isStopped(): boolean
}

export interface KeepingWorld {
  readonly store: Store
  readonly vault: ReturnType<typeof makeMemoryVault>
  readonly sent: HttpRequest[]
  readonly commits: Commit[]
  script: Script
  credential: CredentialDocument
  provider: ProviderDocument
  node(name?: string): Promise<KeepingNode>
  now(): number
  /** Awaits the promise, while time passes. */
  run<Value>(promise: Promise<Value>, ms?: number): Promise<Value>
  /** Lets a node run due jobs, while time passes. */
  pass(node: KeepingNode, ms?: number): Promise<void>
  state(tenant?: TenantId): Promise<CredentialState>
}

const STEP_MS = 250
/** Longer than any test: it is not renewed. */
const LEASE_MS = 30 * 24 * 3_600_000

export function makeKeepingWorld(script: Script, known: Partial<KeepingWorld> = {}): KeepingWorld {
  const time = makeManualTime()
  const kept = makeMemoryStore({ now: time.now, defer: (callback) => time.defer(callback, () => true) })
  const vault = makeMemoryVault(time.now)
  const sent: HttpRequest[] = []
  const commits: Commit[] = []
  let lives = 0

  const run: KeepingWorld['run'] = async (promise, ms = 0) => {
    let isOver = false
    const watched = promise.finally(() => {
      isOver = true
    })
    watched.catch(() => {})
    await time.pass(ms)
    for (let turn = 0; turn < 400 && !isOver; turn += 1) await time.pass(STEP_MS)
    if (!isOver) throw new Error('it never ends')
    return watched
  }

  const world: KeepingWorld = {
    store: kept,
    vault,
    sent,
    commits,
    script,
    credential: CREDENTIAL,
    provider: PROVIDER,
    now: time.now,
    run,
    async node(name = 'one') {
      lives += 1
      let stopIn = Number.POSITIVE_INFINITY
      let isBefore = false
      let isAlive = true
      const NEVER = new Promise<never>(() => {})
      const unlessDead = <Value>(ask: () => Promise<Value>): Promise<Value> => {
        if (!isAlive) return NEVER
        return ask().then((value) => (isAlive ? value : NEVER))
      }
      const store: Store = {
        ...kept,
        commit(commit) {
          if (!isAlive) return NEVER
          stopIn -= 1
          if (stopIn <= 0 && isBefore) {
            isAlive = false
            return NEVER
          }
          commits.push(commit)
          return kept.commit(commit).then((result) => {
            if (stopIn <= 0) isAlive = false
            return isAlive ? result : NEVER
          })
        },
      }
      const clock = time.clockFor(() => isAlive)
      const log = makeMemoryLog()
      const random = makeRandom(lives)
      const ids = makeIds({ now: time.now, bytes: (length) => random.bytes(length) })
      const storeTime = makeStoreTime(clock)
      const doing = makeCommits({ store, clock, time: storeTime, log, onLost: () => {}, onApplied: () => {} })
      const plan: PlanEvent = (draft, payload, header, dedupForMs): EventPlan => {
        const event = { ...draft, matched: 1 }
        return {
          event,
          stored: null,
          payload,
          header,
          writes: [{ w: 'event.append', event, dedupForMs }],
          adds: 0,
          leasedOnInsert: [],
          owner: null,
          deadLetter: null,
          disabled: [],
        }
      }
      const failures = makeFailures({ store, commits: doing, ids, now: time.now, plan })
      const lanes = { ids, plan, vars: () => ({}), decisions: DECISIONS }
      const unitOfWork = makeUnitOfWork({ commits: doing, leasedOnInsert: { end: () => {} } })
      const settler = makeSettler({
        planEnd: makePlanEnd({ store, commits: doing, ids, failures, lanes }),
        participantsOf: noParticipants,
        unitOfWork,
        onSettling: () => {},
        wake: () => {},
      })
      const http = {
        send(request: HttpRequest) {
          return unlessDead(async () => {
            sent.push(request)
            return world.script(request)
          })
        },
        vet: async () => ({ ok: true }) as const,
      }
      const send = async (request: OutboundRequest): Promise<OutboundResponse> => {
        const url = `https://crm.example${request.target}`
        const allowed = await keeping.credentials.authorize({
          tenant: request.tenant,
          provider: world.provider,
          credential: world.credential,
          request: { method: request.method, url, body: request.body },
          config: {},
          secret: request.secret ?? 'current',
        })
        const heads = { requestHead: `${request.method} ${request.target}`, responseHead: null }
        const limits = { isLimited: false, retryAfterMs: null }
        if (!allowed.ok) {
          const problem = { class: allowed.class, error: `${allowed.code}: ${allowed.error}` }
          const outcome = { kind: 'failed', sent: 'no', code: 'blocked', message: '', durationMs: 0 } as const
          return { outcome, problem, credentialVersion: null, ...limits, ...heads }
        }
        if (request.sendBy !== undefined && clock.monotonic() > request.sendBy) {
          const problem = { class: 'transient', error: 'too late' } as const
          const outcome = { kind: 'failed', sent: 'no', code: 'blocked', message: '', durationMs: 0 } as const
          return { outcome, problem, credentialVersion: null, ...limits, ...heads }
        }
        const outcome = await http.send({
          method: request.method,
          url,
          headers: { ...request.headers, ...allowed.headers },
          body: request.body,
          timeoutMs: request.timeoutMs,
          maxResponseBytes: request.maxResponseBytes,
        })
        return { outcome, problem: null, credentialVersion: allowed.version, ...limits, ...heads }
      }
      const only = <Document extends { readonly name: string }>(document: () => Document) => ({
        find: (tenant: TenantId, one: string) =>
          tenant === TENANT && one === document().name ? { document: document(), hash: 'sha256:0' } : null,
        list: (tenant: TenantId) => (tenant === TENANT ? [{ document: document(), hash: 'sha256:0' }] : []),
      })
      const credentials = only(() => world.credential)
      const keeping = makeCredentials(
        {
          store,
          clock,
          random,
          http,
          vault: {
            resolve: (tenant, refs) => unlessDead(() => vault.resolve(tenant, refs)),
          },
          secrets: {
            ...vault,
            set: (...args) => unlessDead(() => vault.set(...args)),
            promote: (...args) => unlessDead(() => vault.promote(...args)),
          },
          encryption: {
            encrypt: (_place, text) => `sealed:${Buffer.from(text).toString('hex')}`,
            open: openEncrypted,
          },
          log,
          time: storeTime,
          ids,
          commits: doing,
          registry: {
            credential: credentials.find,
            credentials: credentials.list,
            provider: only(() => world.provider).find,
            connections: only(() => CONNECTION).list,
            tenants: () => [TENANT],
          },
          settler,
          decisions: DECISIONS,
          lease: { covers: async () => isAlive, holds: () => isAlive },
          vars: () => ({}),
          plan,
          outboundClient: { send },
          unitOfWork,
          wake: () => {},
          managedBy: () => 'folder',
        },
        { ...ENGINE_DEFAULTS, node: name as NodeId },
      )
      const joining = kept.join(name as NodeId, LEASE_MS)
      const { owner } = await run(joining)
      return {
        keeping,
        log,
        call: (path = '/x') =>
          send({
            tenant: TENANT,
            connection: CONNECTION.name,
            endpoint: null,
            method: 'GET',
            target: path,
            headers: {},
            body: null,
            timeoutMs: 1_000,
            maxResponseBytes: 1_000,
            buckets: [],
            traceparent: '',
          }),
        async work() {
          if (!isAlive) return 0
          const claimed = await kept.claim({
            owner,
            slots: [{ tenant: TENANT, consumer: CONSUMER, max: 4 }],
            max: 4,
            maxIsolated: 4,
            codeHashes: [],
          })
          await Promise.all(
            claimed.items.map(({ work, event }) => keeping.rotations.run(makeItem(owner, work, event))),
          )
          return claimed.items.length
        },
        stopAt(commit, before) {
          stopIn = commit
          isBefore = before
        },
        isStopped: () => !isAlive,
      }
    },
    async pass(node, ms = 0) {
      for (let at = 0; at <= ms; at += STEP_MS) {
        const working = node.work()
        working.catch(() => {})
        await time.pass(at === 0 ? 0 : STEP_MS)
      }
    },
    async state(tenant = TENANT) {
      const found = await kept.forTenant(tenant).record('credential', 'crm')
      if (found === null) throw new Error('nothing is known of it')
      return JSON.parse(found.body) as CredentialState
    },
    ...known,
  }
  return world
}

function openEncrypted(_place: unknown, encrypted: string) {
  return { text: Buffer.from(encrypted.slice('sealed:'.length), 'hex').toString(), paths: [] }
}
