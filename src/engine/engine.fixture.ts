// A world for tests of the engine: one memory store, any number of nodes, time that moves only by hand, and calls that
// the test answers itself. Nothing here waits for anything real.

import { makeStaticCode, type StaticFunction } from '../adapters/code-static/index.ts'
import { makeCountingEncryption } from '../adapters/encryption-local/encryption.fixture.ts'
import { type MemoryLog, makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import type {
  DefinitionDocument,
  HttpActionDocument,
  RouteDocument,
  SourceDocument,
} from '../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId, type NodeId, type TenantId } from '../core/foundation/ids/index.ts'
import type { WorkRow } from '../core/queue/work/index.ts'
import type { Bus } from '../ports/bus.ts'
import type { Clock } from '../ports/clock.ts'
import type { Encryption } from '../ports/encryption.ts'
import type { HttpOutcome, HttpRequest } from '../ports/http-client.ts'
import type { Random } from '../ports/random.ts'
import type { Commit, Store, TenantReads } from '../ports/store.ts'
import type { SecretVault } from '../ports/vault.ts'
import { NO_WAKES, type Wakes } from '../ports/wakes.ts'
import { makeEncryptedStore } from './commit/encrypted-store.ts'
import type { Credentials } from './connections/index.ts'
import { type Accepted, ENGINE_DEFAULTS, type Engine, type EngineConfig, makeEngine } from './index.ts'
import { makeMemoryVault } from './secrets/vault.fixture.ts'

export const SOURCE: SourceDocument = {
  kind: 'Source',
  name: 'shop',
  description: null,
  verify: { scheme: 'none' },
  subject: 'shop.events.{{ payload.kind }}',
  event: { id: 'payload.id', objectType: 'order', objectId: 'payload.order', occurredAt: null },
  dedup: { by: null, windowMs: 60_000 },
  limits: { bodyBytes: 65_536, depth: 16 },
  status: 'active',
}

export const HTTP: HttpActionDocument = {
  type: 'http',
  method: 'POST',
  url: 'https://vendor.example/orders/{{ payload.order }}',
  headers: {},
  body: { id: '{{ payload.id }}' },
  idempotent: false,
  keyTtlMs: null,
  probe: null,
  timeoutMs: 10_000,
  classify: {},
}

export const ROUTE: RouteDocument = {
  kind: 'Route',
  name: 'book',
  description: null,
  on: ['shop.events.paid'],
  where: null,
  status: 'active',
  key: "'BOOK:' + payload.order",
  uniqueness: 'operation',
  retry: { profile: null, attempts: 3, delaysMs: [1_000, 1_000] },
  maxWaitMs: 600_000,
  deadLetter: { severity: 'high', runbook: null },
  do: HTTP,
}

export const PAID = { kind: 'paid', id: 'd1', order: 'o1' }

export const CREATED: HttpOutcome = {
  kind: 'response',
  status: 201,
  headers: {},
  body: '{"id":"v1"}',
  durationMs: 3,
}

export function answered(status: number, headers: Readonly<Record<string, string>> = {}): HttpOutcome {
  return { kind: 'response', status, headers, body: '', durationMs: 1 }
}

export const LOST: HttpOutcome = {
  kind: 'failed',
  sent: 'maybe',
  code: 'timeout',
  message: 'no answer',
  durationMs: 10_000,
}

/** A promise that the test settles. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>
  give(value: Value): void
}

export function makeDeferred<Value>(): Deferred<Value> {
  let give: (value: Value) => void = () => {}
  const promise = new Promise<Value>((resolve) => {
    give = resolve
  })
  return { promise, give }
}

/** A call under way: nobody answers it but the test. */
export interface OpenCall {
  readonly node: string
  readonly request: HttpRequest
  answer(outcome: HttpOutcome): void
}

/** What a test does to a node's dealings with the store; each passes on unless told otherwise. */
export interface StoreFaults {
  commit(commit: Commit, pass: () => ReturnType<Store['commit']>): ReturnType<Store['commit']>
  renew(pass: () => ReturnType<Store['renew']>): ReturnType<Store['renew']>
  claim(pass: () => ReturnType<Store['claim']>): ReturnType<Store['claim']>
  leave(pass: () => ReturnType<Store['leave']>): ReturnType<Store['leave']>
  ledger(pass: () => ReturnType<TenantReads['ledger']>): ReturnType<TenantReads['ledger']>
  correlation(pass: () => ReturnType<TenantReads['correlation']>): ReturnType<TenantReads['correlation']>
}

export interface Node {
  readonly engine: Engine
  readonly log: MemoryLog
  readonly faults: StoreFaults
  send(payload: object): Promise<Accepted>
  /** From now on nothing of it reaches the world, and nothing of the world reaches it. */
  crash(): void
}

export interface NodeOptions {
  readonly name?: string
  readonly documents?: readonly DefinitionDocument[]
  readonly config?: Partial<EngineConfig>
  readonly functions?: Readonly<Record<string, StaticFunction>>
  readonly faults?: Partial<StoreFaults>
  /** Another than the world's own: a node that was given other keys. */
  readonly encryption?: Encryption
  /** To nodes that share the world's store; left out: none are told of anything. */
  readonly wakes?: Wakes
  readonly bus?: Bus
  /** How accounts of others are opened. */
  readonly credentials?: Credentials
}

export interface World {
  readonly store: Store
  /** The store behind the seals: what is really there. */
  readonly kept: Store
  readonly reads: TenantReads
  /** Of all nodes. */
  readonly vault: SecretVault
  /** Calls that were ever made, in their order. */
  readonly calls: OpenCall[]
  node(options?: NodeOptions): Promise<Node>
  /** Lets everything happen that can, and then time pass, timer by timer. */
  pass(ms?: number): Promise<void>
  now(): number
  /** Of what stands beside the nodes: a bus, for example. */
  readonly clock: Clock
}

/** Sends an event and lets happen what can happen at once. */
export async function accept(world: World, node: Node, payload: object = PAID): Promise<EventId> {
  const accepted = node.send(payload)
  await world.pass()
  return (await accepted).eventId
}

/** The one item of an event. */
export async function workOf(world: World, eventId: EventId): Promise<WorkRow> {
  const [work] = await world.reads.workOfEvent(eventId)
  if (work === undefined) throw new Error('the event has no work')
  return work
}

const START_AT = 1_700_000_000_000

/** `answer` gives the outcome of a call at once; left out, or null, the test answers by hand. `secrets` are what any name stands for. */
export function makeWorld(
  answer: (request: HttpRequest, call: number) => HttpOutcome | null = () => null,
  secrets: readonly string[] = [],
): World {
  const time = makeManualTime()
  const kept = makeMemoryStore({ now: time.now, defer: (callback) => time.defer(callback, () => true) })
  const encryption = makeCountingEncryption()
  const vault = makeMemoryVault(time.now, secrets)
  const encrypting = { encryption, log: makeMemoryLog() }
  const store = makeEncryptedStore(kept, encrypting)
  const calls: OpenCall[] = []
  let lives = 0

  const node: World['node'] = async (options = {}) => {
    const name = options.name ?? 'one'
    lives += 1
    let isAlive = true
    const alive = () => isAlive
    const faults: StoreFaults = { ...NO_FAULTS, ...options.faults }
    const log = makeMemoryLog()
    const code = makeStaticCode(options.functions ?? {})
    const engine = makeEngine(
      {
        store: makeEncryptedStore(throughFaults(kept, faults, alive), {
          encryption: options.encryption ?? encryption,
          log,
        }),
        encryption: options.encryption ?? encryption,
        clock: time.clockFor(alive),
        random: makeRandom(lives),
        http: {
          send(request) {
            if (!isAlive) return NEVER
            const hand = makeDeferred<HttpOutcome>()
            calls.push({ node: name, request, answer: hand.give })
            const outcome = answer(request, calls.length)
            if (outcome !== null) hand.give(outcome)
            return unlessDead(hand.promise, alive)
          },
          vet: async () => ({ ok: true }),
        },
        vault,
        secrets: vault,
        log,
        code,
        wakes: options.wakes ?? NO_WAKES,
        bus: options.bus ?? null,
        ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
      },
      { ...ENGINE_DEFAULTS, retentionEveryMs: 0, sweepEveryMs: 0, node: name as NodeId, ...options.config },
    )
    const documents = (options.documents ?? [SOURCE, ROUTE]).map((document) =>
      document.kind === 'Route' && document.do.type === 'function' && document.do.codeHash === ''
        ? { ...document, do: { ...document.do, codeHash: code.find(document.do.name, DEFAULT_TENANT) ?? '' } }
        : document,
    )
    const applied = engine.apply(DEFAULT_TENANT, documents)
    await time.pass(0)
    await applied
    const started = engine.start()
    await time.pass(0)
    await started
    return {
      engine,
      log,
      faults,
      crash() {
        isAlive = false
      },
      send: (payload) =>
        engine.accept({
          tenant: 'default',
          source: 'shop',
          headers: { 'content-type': 'application/json' },
          body: new TextEncoder().encode(JSON.stringify(payload)),
        }),
    }
  }

  return {
    store,
    kept,
    reads: store.forTenant(DEFAULT_TENANT),
    vault,
    calls,
    node,
    pass: (ms = 0) => time.pass(ms),
    now: time.now,
    clock: time.clockFor(() => true),
  }
}

const NEVER = new Promise<never>(() => {})

async function unlessDead<Value>(promise: Promise<Value>, alive: () => boolean): Promise<Value> {
  try {
    const value = await promise
    return alive() ? value : await NEVER
  } catch (error) {
    if (!alive()) return NEVER
    throw error
  }
}

const NO_FAULTS: StoreFaults = {
  commit: (_commit, pass) => pass(),
  renew: (pass) => pass(),
  claim: (pass) => pass(),
  leave: (pass) => pass(),
  ledger: (pass) => pass(),
  correlation: (pass) => pass(),
}

function throughFaults(store: Store, faults: StoreFaults, alive: () => boolean): Store {
  const gated = <Value>(ask: () => Promise<Value>): Promise<Value> =>
    alive() ? unlessDead(ask(), alive) : NEVER
  return {
    commit: (commit) => gated(() => faults.commit(commit, () => store.commit(commit))),
    claim: (request) => gated(() => faults.claim(() => store.claim(request))),
    join: (node, ttlMs) => gated(() => store.join(node, ttlMs)),
    renew: (owner, ttlMs) => gated(() => faults.renew(() => store.renew(owner, ttlMs))),
    reclaim: (limit) => gated(() => store.reclaim(limit)),
    leave: (owner) => gated(() => faults.leave(() => store.leave(owner))),
    prune: (request) => gated(() => store.prune(request)),
    forTenant(tenant: TenantId) {
      const reads = store.forTenant(tenant)
      return {
        ...reads,
        ledger: (key) => gated(() => faults.ledger(() => reads.ledger(key))),
        correlation: (key) => gated(() => faults.correlation(() => reads.correlation(key))),
      }
    },
    system: (reason) => store.system(reason),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

/** The same chance in every run; lives of nodes differ by their number. */
export function makeRandom(life: number): Random {
  let state = Math.imul(life, 0x9e37_79b1) >>> 0
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  }
  return { bytes: (length) => Uint8Array.from({ length }, next), unit: () => 0.5 }
}

export interface ManualTime {
  now(): number
  defer(callback: () => void, alive: () => boolean): void
  clockFor(alive: () => boolean): Clock
  pass(ms: number): Promise<void>
}

export function makeManualTime(): ManualTime {
  let now = START_AT
  let deferred: (() => void)[] = []
  let timers: { readonly at: number; readonly fire: () => void }[] = []

  /** One turn of the real loop runs every promise that is settled. */
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

  const calm = async () => {
    await turn()
    while (deferred.length > 0) {
      const callbacks = deferred
      deferred = []
      for (const callback of callbacks) callback()
      await turn()
    }
  }

  const defer = (callback: () => void, alive: () => boolean) => {
    deferred.push(() => {
      if (alive()) callback()
    })
  }

  return {
    now: () => now,
    defer,
    clockFor: (alive) => ({
      now: () => now,
      monotonic: () => now - START_AT,
      after(delayMs, callback) {
        const timer = { at: now + delayMs, fire: () => (alive() ? callback() : undefined) }
        timers.push(timer)
        return () => {
          timers = timers.filter((other) => other !== timer)
        }
      },
      defer: (callback) => defer(callback, alive),
    }),
    async pass(ms) {
      const end = now + ms
      for (;;) {
        await calm()
        const due = timers.filter(({ at }) => at <= end)
        const next = due.reduce<(typeof due)[number] | null>(
          (first, timer) => (first === null || timer.at < first.at ? timer : first),
          null,
        )
        if (next === null) break
        timers = timers.filter((timer) => timer !== next)
        now = Math.max(now, next.at)
        next.fire()
      }
      now = end
    },
  }
}
