// Puts the parts together: the only file that knows every adapter.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getHeapStatistics } from 'node:v8'
import { makeSystemClock } from './adapters/clock-system/index.ts'
import { type BundleCode, makeBundleCode } from './adapters/code-bundle/index.ts'
import { makeStaticCode, type StaticFunction } from './adapters/code-static/index.ts'
import { makeHttpClient } from './adapters/http-undici/index.ts'
import { makeLog, type OperatorLog } from './adapters/log-pino/index.ts'
import { makeMailClient } from './adapters/mail-smtp/index.ts'
import { makeSystemRandom } from './adapters/random-system/index.ts'
import { makeLocalSeal } from './adapters/seal-local/index.ts'
import type { PostgresStore } from './adapters/store-postgres/index.ts'
import { openSqliteArchive, openSqliteStore, type SqliteStore } from './adapters/store-sqlite/index.ts'
import { makeEnvVault } from './adapters/vault-env/index.ts'
import { findOwnFiles, makeFileVault } from './adapters/vault-file/index.ts'
import { makeHashicorpVault } from './adapters/vault-hashicorp/index.ts'
import { makeLocalVault } from './adapters/vault-local/index.ts'
import { makeCheckThread } from './app/check-thread.ts'
import { findPause, type Pause } from './app/data-owner.ts'
import { watchWrites } from './app/failed-writes.ts'
import {
  applyFolder,
  type FolderDeps,
  findObjections,
  followFolder,
  goneLines,
  putBackLines,
} from './app/folder.ts'
import { runningBytesOf } from './app/heap-share.ts'
import { checkFolder, makeFolder } from './app/make-folder.ts'
import { type Figures, noteFigures } from './app/metric-gauges.ts'
import { type MoveOptions, type MoveReport, moveStore } from './app/move-store.ts'
import { combineClients, makeOutbound, outboundPolicyOf } from './app/outbound.ts'
import { noteQueueAges } from './app/queue-ages.ts'
import { makeReadiness } from './app/readiness.ts'
import { openSignedCode } from './app/signed-code.ts'
import { openTransport } from './app/transport.ts'
import { type Config, ownFilesOf } from './config/index.ts'
import { BUILT_IN_PROVIDERS } from './connectors/index.ts'
import type { RefusedName } from './core/access/network/index.ts'
import type { SubscriptionDocument } from './core/definitions/documents/index.ts'
import { EMPTY_CODE_FOLDER } from './core/effects/function/index.ts'
import { AppError, messageOf } from './core/foundation/errors/index.ts'
import { DEFAULT_TENANT, makeIds, type NodeId, type TenantId } from './core/foundation/ids/index.ts'
import type { StreamList } from './core/ingest/bus-message/index.ts'
import {
  type EnvNames,
  isEnvReadable,
  isSimpleMasterKey,
  type MasterKeys,
  makeMasterKeys,
  parseMasterKey,
  weaknessOf,
} from './core/secrets/index.ts'
import { compileAddress } from './core/webhooks/subscription/index.ts'
import {
  type DefinitionFile,
  type Finding,
  hasErrors,
  type LoadDeps,
  type LoadedFolder,
  loadFolder,
  streamsOf,
} from './definitions/index.ts'
import { type Demo, makeDemoApi, startDemo } from './demo/index.ts'
import { makeAccess, makeIdempotency } from './engine/access/index.ts'
import { makeSealStore, rewrapRecords } from './engine/commit/index.ts'
import { ENGINE_DEFAULTS, type Engine, type EngineConfig, LENT_MAX, makeEngine } from './engine/index.ts'
import {
  combineVaults,
  isVaultTrouble,
  limitSecrets,
  missingSecrets,
  placeOfSecret,
  unsetSecrets,
} from './engine/secrets/index.ts'
import { heldByApi } from './engine/webhooks/index.ts'
import { type HttpApi, makeHttpServer, pauseSentences, signInUrl } from './http/index.ts'
import type { Code } from './ports/code.ts'
import type { HttpClient, Vetted } from './ports/http-client.ts'
import type { Log } from './ports/log.ts'
import type { Store } from './ports/store.ts'
import type { SecretVault, Vault } from './ports/vault.ts'
import * as sdk from './sdk/index.ts'

export interface AppOptions {
  readonly config: Config
  /** Where secrets by `{ env: NAME }` come from. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Functions that routes may name. */
  readonly functions?: Readonly<Record<string, StaticFunction>>
  /** The node cannot go on and must be started anew; nothing that was acknowledged is lost. */
  onFatal?(message: string): void
  /** Lines for whoever watches the terminal: what became of a change in the definitions folder. In DEV only. */
  onNotice?(text: string): void
}

export type { Pause } from './app/data-owner.ts'

export interface App extends AsyncDisposable {
  readonly url: string
  readonly adminKey: AdminKey
  readonly definitions: {
    /** null: there is none, and no definitions but those that come over the API. */
    readonly folder: string | null
    readonly demo: boolean
    readonly hash: string
    readonly count: number
    /** What is in force and no longer in the folder, in words. */
    readonly gone: readonly string[]
    /** What was rolled back and is what the folder says again, in words. */
    readonly putBack: readonly string[]
    /** Secrets that definitions name and that are not set, with those that need them, in words. */
    readonly missing: readonly string[]
  }
  readonly warnings: readonly Finding[]
  /** Why the node does nothing until the operator decides; null: it runs. */
  readonly pause: Pause | null
  readonly store: Store
  readonly engine: Engine
  /** The address of a page that signs its first visitor in as the node's admin, within the hour. */
  makeSignInLink(): Promise<string>
  /** Somebody's promise was rejected, and nobody waited for it: it is told in the log, and the node goes on. */
  tellStray(error: unknown): void
  /** Finishes what runs and closes; answers how many items were left for the next start. */
  close(): Promise<{ readonly left: number }>
}

export interface AdminKey {
  readonly value: string
  /** The file it is kept in; null when it came from the environment. */
  readonly file: string | null
}

/** What a node that is not paused has beside the rest. */
interface Running {
  readonly definitions: App['definitions']
  close(): Promise<{ readonly left: number }>
}

const NOTHING_APPLIED: App['definitions'] = {
  folder: null,
  demo: false,
  hash: '',
  count: 0,
  gone: [],
  putBack: [],
  missing: [],
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

/** A setting that is well written and that this machine cannot follow. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
  readonly setting: string
  constructor(setting: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.setting = setting
  }
}

/** Of the trace of an error, in the log. */
const STACK_LENGTH_MAX = 2_000

/** In DEV a secret that the demo needs has a value that everybody knows. */
const DEV_SECRETS = { GITHUB_WEBHOOK_SECRET: 'dev-secret' }

export function demoFolder(): string {
  return fileURLToPath(new URL('../examples/demo', import.meta.url))
}

/** Built beside this file; when the sources run themselves, in `dist`. */
function consoleFolder(): string {
  const own = fileURLToPath(import.meta.url)
  return fileURLToPath(new URL(own.endsWith('.ts') ? '../dist/console' : './console', import.meta.url))
}

export async function startApp(options: AppOptions): Promise<App> {
  const { config } = options
  const builtIn = makeStaticCode(options.functions ?? {})
  // Before all else: what is written there first, and by whom, must not decide what the operator reads.
  await follow('MILLRACE_DATA', config.dataFolder, () => checkFolder(config.dataFolder))
  const ownFiles = ownFilesOf(config, options.env)
  await refuseOwnFiles(config, ownFiles)
  // With a dot, because the data folder may lie in the folder of definitions, where copies would be read as such.
  const code = makeBundleCode({ sdk, copies: join(config.dataFolder, '.code'), builtIn })
  const load = () => loadDefinitions(config, options.env, builtIn, code)
  const loadedFirst = await load()
  refuseErrors(loadedFirst)
  // Not before: definitions that cannot be used leave nothing behind.
  await makeFolders(config)
  const opened = await openStore(config)
  const { store: behind, writes } = watchWrites(opened)
  /** What is to be closed when starting fails, the latest first. */
  const parts: AsyncDisposable[] = [behind]
  try {
    const clock = makeSystemClock()
    const log = await follow('MILLRACE_LOG', config.log, () =>
      makeLog({
        destination: config.log,
        env: config.environment,
        level: config.logLevel,
        rotation: { bytesMax: config.logBytesMax, files: config.logFiles },
        now: () => clock.now(),
      }),
    )
    parts.push(log)
    followStore(opened, log, options.onFatal)
    await warnOfOpenDoors(config, options, log)
    // The only place that says where a name leads: what callers learn is the same for names that do not exist.
    const onRefusedName = ({ host, rule, addresses }: RefusedName) =>
      log.warn('outbound.refused', { host, rule, addresses: addresses.join(', ') })
    const outbound = makeOutbound(config, (guard) => {
      const web = makeHttpClient({
        ...guard,
        onRefusedName,
        // As many as may be under way, those that lent their slot too: a call that queued for a connection would spend its time there,
        // and end in doubt. Many subscriptions may have one host, and some of their endpoints hang.
        connectionsPerOrigin: config.concurrency + LENT_MAX,
      })
      return {
        ...combineClients(web, makeMailClient({ ...guard, onRefusedName })),
        [Symbol.asyncDispose]: () => web[Symbol.asyncDispose](),
      }
    })
    parts.push(outbound)
    const { http } = outbound
    const random = makeSystemRandom()
    const ids = makeIds({ now: () => clock.now(), bytes: (length) => random.bytes(length) })
    let url = ''
    const vars = {
      /** This node's own address, for definitions that talk to it. */
      get self() {
        return url
      },
      /** The demo's vendor; there is none without the demo. */
      get vendor() {
        return demo?.vendorUrl ?? null
      },
    }
    const defaults = config.environment === 'DEV' ? DEV_SECRETS : {}
    const demo = isDemo(config)
      ? await startDemo({
          url: () => url,
          secret: options.env.GITHUB_WEBHOOK_SECRET || DEV_SECRETS.GITHUB_WEBHOOK_SECRET,
          now: () => clock.now(),
          uuid: () => ids.uuid(),
        })
      : null
    if (demo !== null) parts.push(demo)
    const keys = makeMasterKeys(await resolveMasterKey(config, log), config.masterKeysOld)
    const seal = makeLocalSeal({ keys, random })
    // Nobody but this line knows the store behind: whatever is sensitive passes the seal.
    const store = makeSealStore(behind, { seal, log })
    let pause = await checkOwner(config, { store, keys, log }, config.confirmCopy)
    const hashicorp = config.vault === null ? null : makeHashicorpVault(config.vault, { clock, log })
    if (hashicorp !== null) parts.push(hashicorp)
    const ownSecrets = hashicorp ?? makeLocalVault({ store, clock, random, log, keys })
    const secrets: typeof ownSecrets = {
      ...ownSecrets,
      // Definitions with a credential in clear text and keys of `hmac` are encrypted again, too, and code is signed again.
      async rewrap(tenants) {
        const wrapped = await ownSecrets.rewrap(tenants)
        // Without an earlier key there is none that could open what the current one does not.
        if (config.masterKeysOld.length === 0) return wrapped
        const keyId = keys.current.id
        const resealed = await rewrapRecords(behind, { seal, log, keyId }, tenants)
        if (resealed.rewrapped > 0) log.info('seal.rewrapped', { count: resealed.rewrapped, keyId })
        const renewed = await code.renew()
        if (renewed > 0) log.info('code.renewed', { count: renewed, keyId })
        return {
          rewrapped: wrapped.rewrapped + resealed.rewrapped,
          unreadable: [...wrapped.unreadable, ...resealed.unreadable],
        }
      },
    }
    const vault = combineVaults({
      env: makeEnvVault({ env: options.env, defaults, names: config.secretEnv, log }),
      file: makeFileVault({ folder: config.secretsFolder, ownFiles, clock, log }),
      ref: secrets,
    })
    const node = nodeName(config, options.env)
    const transport = await openTransport(config, { node, clock, log })
    parts.push(transport)
    const { bus, wakes } = transport
    const engine = makeEngine(
      { store, clock, random, http, vault, secrets, seal, log, code, wakes, bus },
      {
        ...ENGINE_DEFAULTS,
        providers: BUILT_IN_PROVIDERS,
        version: packageVersion(),
        vars,
        node: node as NodeId,
        roles: new Set(config.roles),
        isShared: config.store.kind === 'postgres',
        isMirrored: bus !== null,
        busPrefix: config.nats?.prefix ?? ENGINE_DEFAULTS.busPrefix,
        keptHeaders: config.keptHeaders,
        natsStreams: config.nats?.streams ?? ENGINE_DEFAULTS.natsStreams,
        messageBytesMax: config.heldBytesMax,
        limits: config.limits,
        openJobsMax: config.openJobsMax,
        leaseMs: config.leaseMs,
        concurrency: config.concurrency,
        runningBytesMax:
          config.runningBytes === 'auto'
            ? runningBytesOf(getHeapStatistics().heap_size_limit)
            : config.runningBytes,
        escalateAfterMs: config.escalateAfterMs,
        canonicalRetentionMs: config.canonicalRetentionMs,
        ledgerRetentionMs: config.ledgerRetentionMs,
        replayReadyPerMinute: config.replayReadyPerMinute,
      },
    )
    const adminKey = await resolveAdminKey(config)
    const gate = makeGate(engine)
    const access = makeAccess({
      store,
      clock,
      random,
      log,
      adminKey: adminKey.value,
      limits: config.limits,
    })
    const idempotency = makeIdempotency({
      store,
      clock,
      log,
      life: ids.uuid(),
      tenants: () => access.tenants.all(),
    })
    const about = { environment: config.environment, version: packageVersion(), node, roles: config.roles }
    const readiness = makeReadiness({
      clock,
      isStarted: () => gate.isOpen,
      engine: () => engine.health(),
      // One small row: probes come every few seconds, whatever the size of the store.
      look: () => store.forTenant(DEFAULT_TENANT).record('bundle', 'current'),
      writes,
      pauses: () => (pause === null ? [] : pauseSentences(pause)),
      bus,
      refusesCode: () => code.refused().size > 0,
    })
    const checks = makeCheckThread({ timeoutMs: config.checkTimeoutMs })
    parts.push(checks)
    let figures: Figures | null = null
    const server = makeHttpServer(
      makeApi(gate, engine, code, store, {
        access,
        secrets: {
          ...limitSecrets(secrets, config.limits),
          onPending: (tenant, name, by) => engine.integrations.supplied(tenant, name, by),
        },
        about,
        runCheck: checks.run,
        variableNames: variableNames(options.env, config.environment),
        outbound: (tenant) => outboundPolicyOf(config, tenant),
        busPrefix: config.nats?.prefix,
        natsStreams: config.nats?.streams,
        secretEnv: config.secretEnv,
        demo,
        idempotency,
        vetSubscription: (tenant, document) => vetSubscription(http, vars, tenant, document),
        now: () => clock.now(),
        health: () => readiness.ask(),
        confirmCopy: (code, by) => confirmCopy(code, by),
        gauges: () => figures?.gauges() ?? [],
      }),
      {
        roles: new Set(config.roles),
        pause: () => pause,
        consoleFolder: consoleFolder(),
        bodyBytesMax: config.bodyBytesMax,
        heldBytesMax: config.heldBytesMax,
        connectionsPerAddressMax: config.connectionsPerAddressMax,
        trustedProxies: config.trustedProxies,
        publicUrl: config.publicUrl,
        closeMs: config.shutdownMs,
        requestId: () => ids.uuid(),
        log,
      },
    )
    parts.push(server)
    // The address first: a node that cannot have it must not have touched any work, and work that a crash left may
    // need to know it.
    url = (await follow('MILLRACE_HOST', config.host, () => server.listen(config))).url
    const tellStray: App['tellStray'] = (error) => {
      const stack = error instanceof Error ? (error.stack?.slice(0, STACK_LENGTH_MAX) ?? null) : null
      log.error('process.stray-rejection', { error: messageOf(error), stack })
    }
    const run = async (definitions: typeof loadedFirst): Promise<Running> => {
      // What older work is pinned to can be run before anything is claimed, and new code is kept before it is named.
      const isKeyShared = config.store.kind !== 'postgres' || config.masterKey !== null
      await openSignedCode(code, { store, keys: isKeyShared ? keys : null, log })
      engine.definitions.onChange(({ tenant, hash, codeHashes }) => {
        if (tenant === DEFAULT_TENANT) log.setConfigHash(hash)
        code.learn(codeHashes).catch((error) => log.warn('code.not-learned', { error: messageOf(error) }))
      })
      await engine.definitions.load()
      const folder: FolderDeps = {
        // Without a folder there is nothing but the demo that could have been left behind.
        owner: config.flowsFolder === null ? 'demo' : 'folder',
        isAlone: config.store.kind === 'sqlite',
        ownFolders: [config.dataFolder],
        definitions: engine.definitions,
        load,
        keepCode: (loaded) => code.keep(loaded),
        heldByApi: (names) => heldByApi(store.forTenant(DEFAULT_TENANT), names),
        vet: (document) => vetSubscription(http, vars, DEFAULT_TENANT, document),
        refusesLiterals: config.environment === 'PROD',
      }
      const objections = await findObjections(folder, definitions)
      refuseErrors({ ...definitions, findings: objections })
      for (const { message, file, line } of objections)
        log.warn('definitions.doubtful', { tenant: DEFAULT_TENANT, file, line, error: message })
      const { hash, version, putBack } = await applyFolder(folder, definitions)
      await access.start()
      const tenants = await access.tenants.all()
      await secrets.rewrap(tenants)
      const missing = await warnOfUnsetSecrets({
        tenants,
        definitions: engine.definitions,
        secrets,
        vault,
        log,
      })
      await engine.start()
      gate.open()
      const isKeeper = config.roles.includes('schedule')
      if (isKeeper) idempotency.start()
      const { length: count } = definitions.definitions
      log.info('node.started', { url, node, roles: config.roles.join(','), definitions: count })

      const say = options.onNotice
      const watch =
        config.environment === 'DEV' && say !== undefined && definitions.folder !== null
          ? followFolder(
              folder,
              definitions.folder,
              { version, loaded: definitions, loadedAt: definitions.loadedAt },
              (text) => say(text),
            )
          : null

      // The charts that people see are of the node that shows them.
      const queueAges =
        isKeeper || config.roles.includes('api')
          ? noteQueueAges({
              store,
              meter: engine.meter,
              now: () => clock.now(),
              tenants: () => access.tenants.all(),
            })
          : null
      if (queueAges !== null)
        figures = noteFigures({ backlog: engine.backlog, relay: engine.relay, now: () => clock.now() })

      const close = async () => {
        // Whoever sends us requests hears of it first; until then they are taken as ever.
        readiness.leave()
        log.info('node.draining', { delayMs: config.drainDelayMs })
        if (config.drainDelayMs > 0)
          await new Promise<void>((resolve) => clock.after(config.drainDelayMs, resolve))
        queueAges?.close()
        figures?.close()
        // Requests under way and work share one deadline.
        const endAt = clock.monotonic() + config.shutdownMs
        let drained = { left: 0 }
        // A step that fails is told, and keeps none of the others from being done.
        await closeAll(
          [
            () => watch?.close(),
            () => demo?.stop(),
            () => server.close(),
            () => checks[Symbol.asyncDispose](),
            () => idempotency.stop(),
            async () => {
              drained = await engine.drain(Math.max(0, endAt - clock.monotonic()))
            },
            () => transport[Symbol.asyncDispose](),
            () => outbound[Symbol.asyncDispose](),
            () => hashicorp?.[Symbol.asyncDispose](),
            () => demo?.[Symbol.asyncDispose](),
            () => store[Symbol.asyncDispose](),
          ],
          (error) => log.error('node.close-failed', { error }),
        )
        log.info('node.stopped', drained)
        await log[Symbol.asyncDispose]()
        return drained
      }
      return {
        definitions: {
          folder: definitions.folder,
          demo: isDemo(config),
          hash,
          count,
          gone: goneLines(folder),
          putBack: putBackLines({ putBack }),
          missing,
        },
        close,
      }
    }

    let running: Running | null = null
    /** The start after a confirmed pause. */
    let resuming: Promise<Running> | null = null
    const confirmCopy: HttpApi['confirmCopy'] = async (code, by) => {
      if (pause !== null) {
        const still = await checkOwner(config, { store, keys, log }, code, by)
        if (still !== null)
          throw new AppError('conflict', `${code} is not the code of this pause, which is ${still.confirm}`)
        pause = null
        // The folder may have changed since the node paused.
        resuming ??= load().then((definitions) => {
          refuseErrors(definitions)
          return run(definitions)
        })
      }
      if (resuming === null) return
      try {
        running = await resuming
      } catch (error) {
        // The copy is confirmed: the next start runs, or says what keeps it from that.
        log.error('node.resume-failed', { error })
        await log.flush()
        options.onFatal?.(`the node could not start after its pause: ${messageOf(error)}`)
        throw error
      }
    }
    if (pause === null) running = await run(loadedFirst)
    else log.error('node.paused', { url, reasons: pause.reasons, confirm: pause.confirm })

    let closing: Promise<{ left: number }> | null = null
    const close = async () => {
      const last = running ?? (await resuming?.catch(() => null)) ?? null
      if (last !== null) return last.close()
      readiness.leave()
      await closeQuietly(parts.reverse())
      return { left: 0 }
    }
    return {
      url,
      adminKey,
      get definitions() {
        return running?.definitions ?? { ...NOTHING_APPLIED, folder: loadedFirst.folder }
      },
      warnings: loadedFirst.findings,
      get pause() {
        return pause
      },
      store,
      engine,
      makeSignInLink: async () => {
        if (running === null) throw new Error('the node is paused')
        return signInUrl(url, (await access.makeNodeLink()).token)
      },
      tellStray,
      close: () => (closing ??= close()),
      async [Symbol.asyncDispose]() {
        closing ??= close()
        await closing
      },
    }
  } catch (error) {
    await closeQuietly(parts.reverse())
    throw error
  }
}

/** Every step is taken, in order, whatever became of the ones before. */
export async function closeAll(
  steps: readonly (() => unknown)[],
  onFailure: (error: unknown) => void,
): Promise<void> {
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      onFailure(error)
    }
  }
}

async function closeQuietly(parts: readonly AsyncDisposable[]): Promise<void> {
  for (const part of parts) {
    try {
      await part[Symbol.asyncDispose]()
    } catch {
      // The first error is the one to tell.
    }
  }
}

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|::1)$/

async function warnOfOpenDoors(config: Config, options: AppOptions, log: Log): Promise<void> {
  if (config.environment !== 'DEV' && ((await stat(config.dataFolder)).mode & 0o007) !== 0) {
    const message = 'Every user of this machine can look into the data folder: `chmod 700` closes it.'
    log.warn('node.data-folder-open', { folder: config.dataFolder, message })
  }
  if (!isDemo(config) || LOOPBACK_HOST.test(config.host) || options.env.GITHUB_WEBHOOK_SECRET) return
  const secret = DEV_SECRETS.GITHUB_WEBHOOK_SECRET
  const message = `Others can reach this node, and the demo’s GITHUB_WEBHOOK_SECRET is ‘${secret}’, which everybody knows: set it, or MILLRACE_FLOWS.`
  log.warn('demo.known-secret', { host: config.host, message })
  options.onNotice?.(`Warning: ${message}\n`)
}

/** Whoever may write definitions could read them by `{ file: name }`. */
async function refuseOwnFiles({ secretsFolder }: Config, ownFiles: readonly string[]): Promise<void> {
  if (secretsFolder === null) return
  const inside = await findOwnFiles(secretsFolder, ownFiles)
  if (inside.length === 0) return
  const message = `${secretsFolder} holds keys of the node itself (${inside.join(', ')}), which definitions could read. Move them to a folder of their own, and leave in ${secretsFolder} what definitions may read.`
  throw new SettingError('MILLRACE_SECRETS_DIR', message)
}

/** Also of what has settings of its own: adapters would try for ever where no folder can be made. */
async function makeFolders(config: Config): Promise<void> {
  await follow('MILLRACE_DATA', config.dataFolder, () => makeFolder(config.dataFolder))
  if (config.store.kind === 'sqlite') {
    const folder = dirname(config.store.file)
    await follow('MILLRACE_STORE', folder, () => makeFolder(folder))
  }
  if (config.log === 'stdout' || config.log === 'stderr') return
  const folder = dirname(config.log)
  await follow('MILLRACE_LOG', folder, () => makeFolder(folder))
}

/** Says what was found in the file, and ends the node when the store takes nothing any more. */
function followStore(
  store: SqliteStore | PostgresStore,
  log: OperatorLog,
  onFatal: AppOptions['onFatal'],
): void {
  if (!('broken' in store)) {
    const { fsync, fullPageWrites } = store.settings
    if (fsync === 'off' || fullPageWrites === 'off')
      log.warn('store.flush-off', {
        fsync,
        fullPageWrites,
        message:
          'PostgreSQL does not flush what it confirms: a power cut loses acknowledged events. Set both to on.',
      })
    return
  }
  const { file, opening } = store
  if (opening.loss !== null) log.error('store.loss-accepted', { ...opening.loss })
  if (opening.wasUnclean && !opening.isChecked)
    log.warn('store.not-checked', {
      file,
      message: 'The last stop was not clean, and the file is too large to be checked at the start.',
    })
  void store.broken.then(async (reason) => {
    log.error('store.stopped', { file, reason })
    await log.flush()
    onFatal?.(reason)
  })
}

/** Nodes that share a store and made their keys themselves have different ones: they are warned of elsewhere. */
async function checkOwner(
  config: Config,
  { store, keys, log }: { readonly store: Store; readonly keys: MasterKeys; readonly log: Log },
  confirm: string | null,
  by?: string,
): Promise<Pause | null> {
  const { store: where } = config
  if (where.kind === 'postgres' && config.masterKey === null) return null
  const file = where.kind === 'sqlite' ? where.file : null
  const pause = await findPause({ store, keys, file, confirm })
  if (pause === null || !pause.isConfirmed) return pause
  log.warn('node.copy-confirmed', {
    reasons: pause.reasons,
    confirm: pause.confirm,
    ...(by !== undefined && { by }),
  })
  return null
}

/** What the system says about a path or an address, in words. */
const MACHINE_ANSWERS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist.',
  EEXIST: 'is not a folder.',
  ENOTDIR: 'is not a folder.',
  EISDIR: 'is a folder.',
  EACCES: 'is not open to the user that this runs as.',
  EPERM: 'is not open to the user that this runs as.',
  EROFS: 'is on a file system that cannot be written.',
  ENOSPC: 'is on a file system without space.',
  ENOTSUP: 'cannot be made: its file system takes no folders there.',
  EMFILE: 'cannot be opened: too many files are open. Raise the limit (`ulimit -n`) to 1024 or more.',
  ENFILE: 'cannot be opened: too many files are open on this machine.',
  EADDRNOTAVAIL: 'is not an address of this machine.',
  ENOTFOUND: 'is not a name of this machine.',
}

/** Does what a setting asks for; when the machine cannot, says which setting it was. */
async function follow<Value>(
  setting: string,
  value: string,
  work: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    const answer = MACHINE_ANSWERS[code ?? '']
    if (answer === undefined) throw error
    throw new SettingError(setting, `${path ?? value} ${answer}`, { cause: error })
  }
}

/** Where nobody said what to do, DEV has something to look at; elsewhere nothing comes in that nobody asked for. */
function isDemo(config: Config): boolean {
  return config.flowsFolder === null && config.environment === 'DEV'
}

/** People may put other definitions in its place while the node runs. */
async function isDemoInForce(engine: Engine): Promise<boolean> {
  const items = await engine.definitions.list(DEFAULT_TENANT)
  return items.some(({ document, managedBy }) => document.kind === 'Source' && managedBy === 'demo')
}

/** Of the environment, and of what DEV has instead. */
function variableNames(env: AppOptions['env'], environment: Config['environment']): ReadonlySet<string> {
  const own = Object.keys(env).filter((name) => env[name] && !/^MILLRACE_/i.test(name))
  return new Set([...own, ...(environment === 'DEV' ? Object.keys(DEV_SECRETS) : [])])
}

function hasVariable(env: AppOptions['env'], environment: Config['environment']): (name: string) => boolean {
  const names = variableNames(env, environment)
  return (name) => names.has(name)
}

/** A vault that is away keeps no node from starting: what needs its secrets waits for it. */
async function warnOfUnsetSecrets(deps: {
  readonly tenants: readonly TenantId[]
  readonly definitions: Pick<Engine['definitions'], 'list'>
  readonly secrets: Pick<SecretVault, 'names'>
  readonly vault: Vault
  readonly log: Log
}): Promise<readonly string[]> {
  const lines: string[] = []
  try {
    for (const tenant of deps.tenants) {
      const documents = (await deps.definitions.list(tenant)).map(({ document }) => document)
      for (const { of, definition, name } of unsetSecrets(documents, await deps.secrets.names(tenant)))
        deps.log.warn(UNSET[of], { tenant, [of]: definition, name })
      for (const { ref, definitions } of await missingSecrets(documents, (one) =>
        deps.vault.resolve(tenant, [one]),
      )) {
        const place = placeOfSecret(ref)
        const message = `${place} is not set, and ${definitions.join(', ')} needs it`
        deps.log.warn('secret.not-set', { tenant, ...ref, definitions: definitions.join(', '), message })
        lines.push(tenant === DEFAULT_TENANT ? message : `${tenant}: ${message}`)
      }
    }
  } catch (error) {
    if (!isVaultTrouble(error)) throw error
    deps.log.warn('vault.not-checked', { code: error.code, message: error.message })
  }
  return lines
}

const UNSET = {
  source: 'source.secret-not-set',
  subscription: 'subscription.secret-not-set',
  credential: 'credential.secret-not-set',
} as const

const NOTHING_LOADED: LoadedFolder = {
  definitions: [],
  findings: [],
  proofs: [],
  files: [],
  code: EMPTY_CODE_FOLDER,
  functions: new Map(),
  changedKeys: () => [],
  freshLiterals: () => [],
  heldNames: () => [],
  endpoints: () => [],
}

async function loadDefinitions(config: Config, env: AppOptions['env'], builtIn: Code, code: BundleCode) {
  const folder = config.flowsFolder ?? (isDemo(config) ? demoFolder() : null)
  const loadedAt = Date.now()
  if (folder === null) {
    return { folder, loadedAt, ...NOTHING_LOADED }
  }
  const deps: LoadDeps = {
    functions: (name) => builtIn.find(name, DEFAULT_TENANT),
    readCode: (path, files) => code.read(path, files),
    variables: hasVariable(env, config.environment),
    outbound: outboundPolicyOf(config, DEFAULT_TENANT),
    isProduction: config.environment === 'PROD',
    environment: config.environment,
    busPrefix: config.nats?.prefix,
    streams: streamsOf(DEFAULT_TENANT, config.nats?.streams),
    isEnvReadable: (name) => isEnvReadable(name, config.secretEnv),
  }
  const loaded = await follow('MILLRACE_FLOWS', folder, () => loadFolder(folder, deps))
  return { folder, loadedAt, ...loaded }
}

function refuseErrors({ folder, findings, files }: Awaited<ReturnType<typeof loadDefinitions>>): void {
  if (hasErrors(findings)) throw new DefinitionsError(folder ?? '', findings, files)
}

/** For commands that look at a folder without a node: its code is bundled and loaded, and nothing is kept. */
export function makeCheckDeps(
  environment: Config['environment'],
  busPrefix: string | undefined,
  env: AppOptions['env'],
  /** As a node with this environment has them. `streams` left out: not known. */
  allowed: { readonly secretEnv: EnvNames; readonly streams: StreamList | undefined },
): LoadDeps {
  const code = makeBundleCode({ sdk, copies: null })
  return {
    functions: () => null,
    readCode: (path, files) => code.read(path, files),
    environment,
    busPrefix,
    streams: streamsOf(DEFAULT_TENANT, allowed.streams),
    isEnvReadable: (name) => isEnvReadable(name, allowed.secretEnv),
    variables: hasVariable(env, environment),
    refusesLiterals: environment === 'PROD',
  }
}

async function openStore(config: Config): Promise<SqliteStore | PostgresStore> {
  if (config.store.kind === 'sqlite')
    return openSqliteStore({ file: config.store.file, acceptLoss: config.acceptLoss })
  // Loaded only when it is configured: most nodes have no use for the driver.
  const { openPostgresStore } = await import('./adapters/store-postgres/index.ts')
  return openPostgresStore({ connection: config.store.url })
}

/** Opens both stores, moves, and closes them. Refused before a change: a file that is in use, a database that has rows. */
export async function openMove(
  file: string,
  url: string,
  options: Omit<MoveOptions, 'source' | 'target'>,
): Promise<MoveReport> {
  const { openPostgresArchive } = await import('./adapters/store-postgres/index.ts')
  const source = await openSqliteArchive(file)
  try {
    const target = await openPostgresArchive({ connection: url })
    try {
      return await moveStore({ source, target, ...options })
    } finally {
      await target[Symbol.asyncDispose]()
    }
  } finally {
    await source[Symbol.asyncDispose]()
  }
}

interface Gate {
  bodyBytesMax: HttpApi['sourceBodyMax']
  receive: Engine['receive']
  readonly opened: Promise<void>
  readonly isOpen: boolean
  open(): void
}

/** Requests that come between binding the port and the engine's start wait for it; later ones pass without a wait. */
function makeGate(engine: Engine): Gate {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const gate: Gate & { isOpen: boolean } = {
    bodyBytesMax: (request) => opened.then(() => engine.bodyBytesMax(request)),
    receive: (request: Parameters<Engine['receive']>[0]) => opened.then(() => engine.receive(request)),
    opened,
    isOpen: false,
    open() {
      gate.bodyBytesMax = (request) => engine.bodyBytesMax(request)
      gate.receive = (request) => engine.receive(request)
      gate.isOpen = true
      open()
    },
  }
  return gate
}

type AsyncPart = Readonly<Record<string, (...args: never[]) => unknown>>

/** The same, but what is asked before the engine's start waits for it. */
function behind<Part>(gate: Gate, part: Part): Part {
  const waiting = Object.entries(part as AsyncPart).map(([name, ask]) => [
    name,
    async (...args: never[]) => {
      await gate.opened
      return ask(...args)
    },
  ])
  return Object.fromEntries(waiting) as Part
}

/** Whether a subscription's endpoint may be called, by the rules of every call that leaves. */
async function vetSubscription(
  http: Pick<HttpClient, 'vet'>,
  vars: EngineConfig['vars'],
  tenant: TenantId,
  document: SubscriptionDocument,
): Promise<Vetted> {
  let address: string
  try {
    address = compileAddress(document.url)({ vars })
  } catch (error) {
    return { ok: false, rule: 'url', message: `the address cannot be made: ${messageOf(error)}` }
  }
  return http.vet(address, tenant)
}

function peopleBehind(gate: Gate, people: Engine['workflows']): Engine['workflows'] {
  const { list, one, reading, hands, migrations } = people
  const { maySee, hide } = reading
  return {
    list,
    one,
    ...behind(gate, pick(people, ['start'])),
    hands: behind(gate, hands),
    migrations: behind(gate, migrations),
    reading: { maySee, hide, ...behind(gate, pick(reading, ['one', 'history', 'at', 'list'])) },
  }
}

/** Providers are known from the beginning. */
function integrationsBehind(gate: Gate, integrations: Engine['integrations']): HttpApi['integrations'] {
  const { providers, provider, ...asked } = integrations
  return { providers, provider, ...behind(gate, asked) }
}

function pick<From, Name extends keyof From>(from: From, names: readonly Name[]): Pick<From, Name> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<From, Name>
}

function packageVersion(): string {
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** What nodes are called that nobody named. */
const UNNAMED = 'node-1'

/** On a shared database two nodes of one name would fence each other for ever: the machine tells them apart. */
function nodeName(config: Config, env: AppOptions['env']): string {
  // Whoever starts a node in their own process may name it in the configuration alone.
  const isNamed = (env.MILLRACE_NODE ?? '').trim() !== '' || config.node !== UNNAMED
  return config.store.kind === 'postgres' && !isNamed ? hostname() : config.node
}

function makeApi(
  gate: Gate,
  engine: Engine,
  code: Pick<BundleCode, 'find' | 'timeoutMs' | 'emits'>,
  store: Store,
  {
    demo,
    ...rest
  }: Pick<
    HttpApi,
    | 'access'
    | 'secrets'
    | 'about'
    | 'health'
    | 'gauges'
    | 'idempotency'
    | 'now'
    | 'vetSubscription'
    | 'outbound'
    | 'busPrefix'
    | 'natsStreams'
    | 'secretEnv'
    | 'runCheck'
    | 'variableNames'
    | 'confirmCopy'
  > & {
    readonly demo: Demo | null
  },
): HttpApi {
  return {
    ...rest,
    demo: makeDemoApi(demo, () => isDemoInForce(engine)),
    sourceBodyMax: (request) => gate.bodyBytesMax(request),
    receive: (request) => gate.receive(request),
    refused: (request, error) => engine.refused(request, error),
    rejections: behind(gate, pick(engine.rejections, ['list'])),
    lanes: behind(gate, engine.lanes),
    pace: { list: engine.pace.list, ...behind(gate, pick(engine.pace, ['one', 'closeCircuit'])) },
    workflows: peopleBehind(gate, engine.workflows),
    orphans: behind(gate, pick(engine.orphans, ['correlate', 'discard', 'retry'])),
    subscriptions: behind(gate, engine.subscriptions),
    integrations: integrationsBehind(gate, engine.integrations),
    deliveries: {
      ...behind(gate, pick(engine.deliveries, ['find', 'list', 'retry', 'cancel', 'request'])),
      window: (tenant, name) => engine.deliveries.window(tenant, name),
    },
    definitions: {
      ...behind(gate, engine.definitions),
      fires: (tenant, name) => engine.schedules.state(tenant, name),
      consumes: (tenant, name) => engine.inlets.state(tenant, name),
      functionHash: (tenant, name) => code.find(name, tenant),
      functionTimeoutMs: (tenant, name) => code.timeoutMs(name, tenant),
      functionEmits: (tenant) => code.emits(tenant),
    },
    inspect: behind(gate, engine.inspect),
    watch: (watcher) => engine.watch(watcher),
    ...behind(gate, pick(engine, ['publish'])),
    meter: engine.meter,
    reads: (tenant) => store.forTenant(tenant),
    deadLetters: behind(gate, pick(engine, ['ready', 'discard', 'edit', 'replay'])),
    work: behind(gate, pick(engine, ['resolve', 'probe', 'retry', 'cancel', 'allowed'])),
    replays: behind(gate, engine.replays),
    escalations: behind(gate, engine.escalations),
  }
}

async function resolveAdminKey(config: Config): Promise<AdminKey> {
  if (config.adminKey !== null) return { value: config.adminKey, file: null }
  const file = join(config.dataFolder, 'admin.key')
  const value = await keepKey(file, () => `mrk_${randomBytes(24).toString('base64url')}`)
  const weakness = config.environment === 'PROD' ? weaknessOf(value) : null
  if (weakness !== null)
    throw new SettingError(
      'MILLRACE_ADMIN_KEY',
      `${file} holds a key that can be guessed: ${weakness}. Remove the file, and the node makes a good one.`,
    )
  return { value, file }
}

async function resolveMasterKey(config: Config, log: Log): Promise<Uint8Array> {
  if (config.masterKey !== null) return config.masterKey
  const file = join(config.dataFolder, 'master.key')
  const key = parseMasterKey(await keepKey(file, () => randomBytes(32).toString('base64')))
  if (key === null)
    throw new SettingError('MILLRACE_MASTER_KEY', `${file} does not hold 32 bytes as base64 or hexadecimal.`)
  if (config.environment === 'PROD' && isSimpleMasterKey(key))
    throw new SettingError(
      'MILLRACE_MASTER_KEY',
      `${file} holds a key that was not made by chance; \`openssl rand -base64 32\` makes one. Name the simple one in MILLRACE_MASTER_KEYS_OLD if it sealed something.`,
    )
  if (config.store.kind === 'postgres')
    log.warn('vault.key-of-this-node', {
      file,
      message: 'Nodes that share a store need the same MILLRACE_MASTER_KEY; this one made its own.',
    })
  else if (config.environment === 'PROD')
    log.warn('vault.key-beside-data', {
      file,
      message:
        'Whoever copies the data folder has the secrets and their key: set MILLRACE_MASTER_KEY instead.',
    })
  return key
}

/** Made at the first start and kept beside the data, readable by its owner only. */
async function keepKey(file: string, make: () => string): Promise<string> {
  try {
    const kept = (await readFile(file, 'utf8')).trim()
    if (kept !== '') return kept
    // Whoever made it died before writing: nobody could ever have used it.
    await rm(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const value = make()
  await writeFile(file, `${value}\n`, { mode: 0o600, flag: 'wx' })
  return value
}
