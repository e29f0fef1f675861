// A node and its lives. A life is one process: an engine over ports that stop working when it dies. Code of a dead life
// may still be in memory, but nothing that it asks for is ever answered and nothing that it does has any effect.
//
// A pause is a stopped process (SIGSTOP, a long swap, a migrated machine): timers and answers wait, and come all at once.

import { makeStaticCode, type StaticFunction } from '../src/adapters/code-static/index.ts'
import { makeCountingEncryption } from '../src/adapters/encryption-local/encryption.fixture.ts'
import type { DefinitionDocument } from '../src/core/definitions/documents/index.ts'
import { AppError } from '../src/core/foundation/errors/index.ts'
import {
  DEFAULT_TENANT,
  type Incarnation,
  type NodeId,
  type TenantId,
} from '../src/core/foundation/ids/index.ts'
import type { Role } from '../src/core/queue/node-role/index.ts'
import {
  type Decisions,
  ENGINE_DEFAULTS,
  type Engine,
  type EngineConfig,
  type EngineDeps,
  type EngineSecrets,
  makeEngine,
} from '../src/engine/index.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Code, FunctionContext } from '../src/ports/code.ts'
import type { HttpClient } from '../src/ports/http-client.ts'
import type { Log } from '../src/ports/log.ts'
import type { Store } from '../src/ports/store.ts'
import type { Vault } from '../src/ports/vault.ts'
import { RetryableError, TerminalError } from '../src/sdk/errors.ts'
import type { Gate, MachineClock, VirtualTime } from './clock.ts'
import type { Faults, Profile } from './faults.ts'
import { makeFunctions } from './functions.ts'
import type { Rng } from './random.ts'
import { CLOCKWORK, CODE_HASH, type ScenarioRoute, sourcesWith } from './scenario.ts'

export type SimVault = Vault & EngineSecrets

export interface Life extends Gate {
  /** `n1.3`: the third life of node n1. */
  readonly name: string
  readonly node: NodeId
  readonly roles: ReadonlySet<Role>
  isDead(): boolean
  isPaused(): boolean
  crash(why: string): void
  pause(): void
  resume(): void
  /** Incarnations that the store gave to this life. */
  readonly owners: Set<Incarnation>
  /** Takes events; null before the start is over and after the end. */
  engine(): Engine | null
  /** Puts definitions in force; settles when it is done, never if the life ends first. */
  apply(routes: readonly ScenarioRoute[]): Promise<void>
}

export interface NodeDeps {
  readonly node: NodeId
  readonly roles: ReadonlySet<Role>
  /** Others use the store too. */
  readonly isShared: boolean
  /** What happens is told to the bus. */
  readonly hasOutbox: boolean
  readonly time: VirtualTime
  readonly machine: MachineClock
  readonly rng: Rng
  readonly faults: Faults
  readonly config: Pick<EngineConfig, 'leaseMs' | 'concurrency' | 'pollMs'> & Pick<Profile, 'keepMs'>
  readonly decisions: Decisions
  clock(clock: Clock): Clock
  store(life: Life, clock: Clock): Store
  http(life: Life): HttpClient
  context(context: FunctionContext): FunctionContext
  /** Some life puts these in force, and every other one follows. */
  onApply(life: Life, routes: readonly ScenarioRoute[], applied: Promise<void>): void
  /** Workflows and subscriptions that are defined beside these routes. */
  definedBeside(routes: readonly ScenarioRoute[]): readonly DefinitionDocument[]
  /** Those of other tenants. */
  readonly others: readonly { readonly tenant: TenantId; readonly documents: readonly DefinitionDocument[] }[]
  vault(life: Life): SimVault
  connect(life: Life, clock: Clock): Pick<EngineDeps, 'bus' | 'wakes'>
  settings(config: EngineConfig): EngineConfig
  /** A line of the log, with all that is in it. */
  onLog(line: unknown): void
  /** What the definitions folder says now. */
  routes(): readonly ScenarioRoute[]
  onCrash(life: Life, why: string): void
  /** The log says that something must not be. */
  onError(life: Life, name: string, message: string): void
  onRun(life: Life, name: string, attempt: number, event: string): void
  trace(who: string, what: () => string): void
}

/** Often, beside the rest: walks meet everything that can be under way. */
const RETENTION_EVERY_MS = 2_000

export function startLife(deps: NodeDeps, name: string): Life {
  const { time, rng, faults, trace } = deps
  const { leaseMs, concurrency, pollMs, keepMs } = deps.config
  const retention =
    keepMs === 0 ? { retentionEveryMs: 0 } : { retentionEveryMs: RETENTION_EVERY_MS, retentionMs: keepMs }
  let isDead = false
  let isPaused = false
  let waiting: (() => void)[] = []
  let started: Engine | null = null
  let applying = Promise.resolve()

  const life: Life = {
    name,
    node: deps.node,
    roles: deps.roles,
    owners: new Set(),
    isDead: () => isDead,
    isPaused: () => isPaused,
    pass(callback) {
      if (isDead) return
      if (isPaused) waiting.push(callback)
      else callback()
    },
    crash(why) {
      if (isDead) return
      isDead = true
      waiting = []
      trace(name, () => `crashes ${why}`)
      deps.onCrash(life, why)
    },
    pause() {
      if (isDead || isPaused) return
      isPaused = true
      trace(name, () => 'is stopped')
    },
    resume() {
      if (isDead || !isPaused) return
      isPaused = false
      trace(name, () => `goes on with ${waiting.length} waiting`)
      const woken = waiting
      waiting = []
      // One turn each, in the order in which they came.
      for (const callback of woken) time.after(0, () => life.pass(callback))
    },
    engine: () => (isDead ? null : started),
    apply(routes) {
      const applied = applyNow(routes)
      deps.onApply(life, routes, applied)
      return applied
    },
  }

  const applyNow = async (routes: readonly ScenarioRoute[]) => {
    // One after the other, as whoever applies would.
    const before = applying
    let done = () => {}
    applying = new Promise<void>((resolve) => {
      done = resolve
    })
    await before
    try {
      await engine.apply(DEFAULT_TENANT, [
        ...sourcesWith(routes),
        CLOCKWORK,
        ...routes.map(({ document }) => document),
        ...deps.definedBeside(routes),
      ])
      for (const { tenant, documents } of deps.others) await engine.apply(tenant, documents)
    } finally {
      done()
    }
  }

  const clock = deps.clock(deps.machine.clockFor(life))
  const http = deps.http(life)
  const vault = deps.vault(life)
  const engine = makeEngine(
    {
      store: deps.store(life, clock),
      encryption: makeCountingEncryption(),
      clock,
      random: rng.fork(name),
      http,
      vault,
      secrets: vault,
      log: makeLog(life, deps),
      code: makeCode(life, http, time, faults, deps),
      ...deps.connect(life, clock),
    },
    deps.settings({
      ...ENGINE_DEFAULTS,
      ...retention,
      leaseMs,
      concurrency,
      pollMs,
      node: deps.node,
      roles: deps.roles,
      isShared: deps.isShared,
      hasOutbox: deps.hasOutbox,
    }),
    deps.decisions,
  )

  /** Nodes that start together apply the same: who comes second looks again. */
  const applyFirst = async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await life.apply(deps.routes())
      } catch (error) {
        const isLost = error instanceof AppError && error.code === 'conflict'
        if (!isLost || tries >= 5) throw error
      }
    }
  }

  const start = async () => {
    trace(name, () => 'starts')
    try {
      await applyFirst()
      await engine.start()
      started = engine
    } catch {
      // As the process would: it ends, and its supervisor starts it again.
      life.crash('at start')
    }
  }
  void start()
  return life
}

function makeLog(life: Life, deps: NodeDeps): Log {
  return {
    control(line) {
      if (life.isDead()) return
      deps.onLog(line)
      deps.trace(
        life.name,
        () =>
          `${line.point} ${line.action} ${line.routeName ?? line.scenarioName} ${short(line.runId ?? line.eventId)}`,
      )
    },
    info(name, fields) {
      if (life.isDead()) return
      deps.onLog(fields)
      deps.trace(life.name, () => name)
    },
    warn(name, fields) {
      if (life.isDead()) return
      deps.onLog(fields)
      deps.trace(life.name, () => name)
    },
    error(name, fields) {
      if (life.isDead()) return
      deps.trace(life.name, () => name)
      deps.onError(life, name, String(fields?.error ?? ''))
    },
  }
}

/** The end of an id: its random part. */
export function short(id: string | null): string {
  return id === null ? '-' : id.slice(0, 4) + id.slice(-6)
}

/** Functions that do as the seed says. Their hash is fixed: their text differs between the tools that load it. */
function makeCode(life: Life, http: HttpClient, time: VirtualTime, faults: Faults, deps: NodeDeps): Code {
  const wait = (delayMs: number) =>
    new Promise<void>((resolve) => {
      time.after(delayMs, () => life.pass(resolve))
    })
  const drawn: StaticFunction = async () => {
    await wait(5)
    switch (faults.code()) {
      case 'ok':
        return { fine: true }
      case 'throws':
        throw new Error('simulated')
      case 'again':
        throw new RetryableError('simulated', { after: '3s' })
      case 'terminal':
        throw new TerminalError('simulated')
      case 'slow':
        await wait(4_000)
        return { fine: 'late' }
    }
  }
  const inner = makeStaticCode({
    ...makeFunctions({ http, fate: () => faults.code(), wait }),
    audit: drawn,
    note: drawn,
    told: drawn,
    bomb: () => {
      life.crash('by a poisonous function')
      return new Promise(() => {})
    },
  })
  const [hash] = inner.hashes() as [string]
  return {
    hashes: () => [CODE_HASH],
    has: (codeHash) => codeHash === CODE_HASH,
    prepare: async (codeHash) => codeHash === CODE_HASH,
    find: (name, tenant) => (inner.find(name, tenant) === null ? null : CODE_HASH),
    isOpen: (_codeHash, name, tenant) => inner.isOpen(hash, name, tenant),
    run(_codeHash, name, input, context) {
      if (life.isDead()) return new Promise(() => {})
      deps.onRun(life, name, context.attempt, context.event.id)
      return inner.run(hash, name, input, deps.context(context))
    },
  }
}
