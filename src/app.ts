// Puts the parts together: the only file that knows every adapter.

import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeSystemClock } from './adapters/clock-system/index.ts'
import { makeStaticCode, type StaticFunction } from './adapters/code-static/index.ts'
import { makeHttpClient } from './adapters/http-undici/index.ts'
import { makeLog, type OperatorLog } from './adapters/log-pino/index.ts'
import { makeSystemRandom } from './adapters/random-system/index.ts'
import { openSqliteStore } from './adapters/store-sqlite/index.ts'
import { makeEnvVault } from './adapters/vault-env/index.ts'
import type { Config } from './config/index.ts'
import { DEFAULT_TENANT, makeIds, type NodeId } from './core/ids/index.ts'
import { compileDefinitions, type DefinitionFile, type Finding, readFolder } from './definitions/index.ts'
import { ENGINE_DEFAULTS, type Engine, makeEngine } from './engine/index.ts'
import { type HttpApi, makeHttpServer } from './http/index.ts'
import type { Code } from './ports/code.ts'
import { type Store, StoreError } from './ports/store.ts'

export interface AppOptions {
  readonly config: Config
  /** Where secrets by `{ env: NAME }` come from. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Functions that routes may name. */
  readonly functions?: Readonly<Record<string, StaticFunction>>
}

export interface App extends AsyncDisposable {
  readonly url: string
  readonly adminKey: AdminKey
  readonly definitions: {
    readonly folder: string
    readonly demo: boolean
    readonly hash: string
    readonly count: number
  }
  readonly warnings: readonly Finding[]
  readonly store: Store
  readonly engine: Engine
  /** Finishes what runs and closes; answers how many items were left for the next start. */
  close(): Promise<{ readonly left: number }>
}

export interface AdminKey {
  readonly value: string
  /** The file it is kept in; null when it came from the environment. */
  readonly file: string | null
}

/** Definitions that cannot be put in force; nothing was started. */
export class DefinitionsError extends Error {
  override readonly name = 'DefinitionsError'
  readonly folder: string
  readonly findings: readonly Finding[]
  readonly files: readonly DefinitionFile[]
  constructor(folder: string, findings: readonly Finding[], files: readonly DefinitionFile[]) {
    super(`the definitions in ${folder} have ${findings.length} findings`)
    this.folder = folder
    this.findings = findings
    this.files = files
  }
}

/** In DEV a secret that the demo needs has a value that everybody knows. */
const DEV_SECRETS = { GITHUB_WEBHOOK_SECRET: 'dev-secret' }

export function demoFolder(): string {
  return fileURLToPath(new URL('../examples/demo', import.meta.url))
}

export async function startApp(options: AppOptions): Promise<App> {
  const { config } = options
  const code = makeStaticCode(options.functions ?? {})
  const definitions = await loadDefinitions(config, code)
  await mkdir(config.dataFolder, { recursive: true })
  const store = await openStore(config)
  const clock = makeSystemClock()
  const log = makeLog({
    destination: config.log,
    env: config.environment,
    level: config.logLevel,
    now: () => clock.now(),
  })
  const http = makeHttpClient({ allowPrivate: config.outboundAllow })
  try {
    const random = makeSystemRandom()
    const ids = makeIds({ now: () => clock.now(), bytes: (length) => random.bytes(length) })
    let url = ''
    const vars = {
      /** This node's own address, for definitions that talk to it. */
      get self() {
        return url
      },
    }
    const defaults = config.environment === 'DEV' ? DEV_SECRETS : {}
    const engine = makeEngine(
      { store, clock, random, http, vault: makeEnvVault({ env: options.env, defaults }), log, code },
      {
        ...ENGINE_DEFAULTS,
        vars,
        node: config.node as NodeId,
        leaseMs: config.leaseMs,
        concurrency: config.concurrency,
      },
    )
    const { hash } = await engine.apply(DEFAULT_TENANT, definitions.documents)
    log.setConfigHash(hash)
    const adminKey = await resolveAdminKey(config)
    const server = makeHttpServer(makeApi(engine, store), {
      adminKey: adminKey.value,
      bodyBytesMax: config.bodyBytesMax,
      closeMs: config.shutdownMs,
      requestId: () => ids.uuid(),
      log,
    })
    await engine.start()
    const listening = await server.listen({ host: config.host, port: config.port })
    url = listening.url
    log.info('node.started', { url, node: config.node, definitions: definitions.documents.length })

    let closing: Promise<{ left: number }> | null = null
    const close = async () => {
      await server.close()
      const drained = await engine.drain(config.shutdownMs)
      await http[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      log.info('node.stopped', drained)
      await log[Symbol.asyncDispose]()
      return drained
    }
    return {
      url,
      adminKey,
      definitions: {
        folder: definitions.folder,
        demo: config.flowsFolder === null,
        hash,
        count: definitions.documents.length,
      },
      warnings: definitions.warnings,
      store,
      engine,
      close: () => (closing ??= close()),
      async [Symbol.asyncDispose]() {
        closing ??= close()
        await closing
      },
    }
  } catch (error) {
    await closeQuietly(http, store, log)
    throw error
  }
}

async function closeQuietly(http: AsyncDisposable, store: Store, log: OperatorLog): Promise<void> {
  for (const part of [http, store, log]) {
    try {
      await part[Symbol.asyncDispose]()
    } catch {
      // The first error is the one to tell.
    }
  }
}

async function loadDefinitions(config: Config, code: Code) {
  const folder = config.flowsFolder ?? demoFolder()
  const files = await readFolder(folder)
  const { documents, findings } = compileDefinitions(files, { functions: (name) => code.find(name) })
  if (findings.some((finding) => finding.severity === 'error'))
    throw new DefinitionsError(folder, findings, files)
  return { folder, documents, warnings: findings }
}

async function openStore(config: Config): Promise<Store> {
  if (config.store.kind === 'sqlite') return openSqliteStore({ file: config.store.file })
  // Loaded only when it is configured: most nodes have no use for the driver.
  const { openPostgresStore } = await import('./adapters/store-postgres/index.ts')
  return openPostgresStore({ connection: config.store.url })
}

function makeApi(engine: Engine, store: Store): HttpApi {
  return {
    accept: (request) => engine.accept(request),
    reads: (tenant) => store.forTenant(tenant),
    replayDeadLetter: (tenant, id, { force }) => engine.replay(tenant, id, { force }),
    resolveWork: (tenant, id, { as, reason }) => engine.resolve(tenant, id, { as, reason }),
    async health() {
      const reasons: string[] = []
      const { open, alive } = engine.health()
      if (!open) reasons.push('the node is shutting down')
      if (!alive) reasons.push('the node has no lease in the store')
      try {
        await store.system('health').workCounts()
      } catch (error) {
        reasons.push(error instanceof StoreError ? error.message : 'the store does not answer')
      }
      return { ready: reasons.length === 0, reasons }
    },
  }
}

/** From the environment, or made at the first start and kept beside the data, readable by its owner only. */
async function resolveAdminKey(config: Config): Promise<AdminKey> {
  if (config.adminKey !== null) return { value: config.adminKey, file: null }
  const file = join(config.dataFolder, 'admin.key')
  try {
    return { value: (await readFile(file, 'utf8')).trim(), file }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const value = `mrk_${randomBytes(24).toString('base64url')}`
  await writeFile(file, `${value}\n`, { mode: 0o600, flag: 'wx' })
  return { value, file }
}
