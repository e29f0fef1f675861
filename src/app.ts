// Composes the parts of a node and starts it. With src/app it is the only place that knows every adapter.

import { join } from 'node:path'
import { makeBundleCode } from './adapters/code-bundle/index.ts'
import { makeStaticCode, type StaticFunction } from './adapters/code-static/index.ts'
import { makeCheckThread } from './app/check-thread.ts'
import { closeQuietly } from './app/close-all.ts'
import { checkFolder } from './app/create-directories.ts'
import { checkOwner, type Pause } from './app/data-owner.ts'
import type { Env } from './app/demo-in-dev.ts'
import { engineConfigOf, nodeName } from './app/engine-config.ts'
import { watchWrites } from './app/failed-writes.ts'
import { type DeployedVars, loadDefinitions, refuseOwnErrors } from './app/load-definitions.ts'
import { makeFolders, refuseOwnFiles } from './app/machine-checks.ts'
import { type AdminKey, resolveAdminKey } from './app/node-keys.ts'
import { makeNodeServer } from './app/node-server.ts'
import { makeNodeStart } from './app/node-start.ts'
import { openNode } from './app/open-node.ts'
import { openStore } from './app/open-store.ts'
import { makeReadiness } from './app/readiness.ts'
import { type FolderState, type NodeParts, runNode } from './app/run-node.ts'
import { followSetting } from './app/setting-error.ts'
import { makeSignedCode } from './app/signed-code.ts'
import { makeGate } from './app/start-gate.ts'
import { openTransport } from './app/transport.ts'
import { openVaults } from './app/vaults.ts'
import { type Config, ownFilesOf } from './config/index.ts'
import { messageOf } from './core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from './core/foundation/ids/index.ts'
import type { Finding } from './definitions/index.ts'
import { makeAccess, makeIdempotency } from './engine/access/index.ts'
import { type Engine, makeEngine } from './engine/index.ts'
import { pauseSentences, signInUrl } from './http/index.ts'
import type { Store } from './ports/store.ts'
import * as sdk from './sdk/index.ts'

export type { Pause } from './app/data-owner.ts'
export { DefinitionsError, makeCheckDeps } from './app/load-definitions.ts'
export { openMove } from './app/open-store.ts'
export { SettingError } from './app/setting-error.ts'

export interface AppOptions {
  readonly config: Config
  /** Where secrets by `{ env: NAME }` come from. */
  readonly env: Env
  /** Functions that routes may name. */
  readonly functions?: Readonly<Record<string, StaticFunction>>
  /** The node cannot continue and must be restarted; nothing that was acknowledged is lost. */
  onFatal?(message: string): void
  /** Lines for the terminal: the result of a change in the definitions folder. In DEV only. */
  onNotice?(text: string): void
}

export interface App extends AsyncDisposable {
  readonly url: string
  readonly adminKey: AdminKey
  readonly definitions: FolderState
  readonly warnings: readonly Finding[]
  /** Why the node does nothing until the operator decides; null: it runs. */
  readonly pause: Pause | null
  readonly store: Store
  readonly engine: Engine
  /** The address of a page that signs its first visitor in as the node's admin, within the hour. */
  makeSignInLink(): Promise<string>
  /** A promise was rejected without a handler: it is logged, and the node continues. */
  logUnhandledRejection(error: unknown): void
  /** Finishes what runs and closes; returns how many jobs were left for the next start. */
  close(): Promise<{ readonly left: number }>
}

const NOTHING_APPLIED: FolderState = {
  folder: null,
  demo: false,
  hash: '',
  count: 0,
  gone: [],
  putBack: [],
  missing: [],
}

/** For the stack of an error, in the log. */
const STACK_LENGTH_MAX = 2_000

export async function startApp(options: AppOptions): Promise<App> {
  const { config, env, onFatal, onNotice } = options
  const builtIn = makeStaticCode(options.functions ?? {})
  // Before all else: whatever is written there first must not decide which error the operator reads.
  await followSetting('MILLRACE_DATA', config.dataFolder, () => checkFolder(config.dataFolder))
  const ownFiles = ownFilesOf(config, env)
  await refuseOwnFiles(config, ownFiles)
  // With a dot, because the data folder may be inside the folder of definitions, where copies would be read as
  // definitions.
  const code = makeBundleCode({ sdk, copies: join(config.dataFolder, '.code'), builtIn })
  const load = (beside?: DeployedVars) => loadDefinitions(config, env, builtIn, code, beside)
  const loadedFirst = await load()
  refuseOwnErrors(loadedFirst)
  // Not earlier: invalid definitions leave nothing behind.
  await makeFolders(config)
  const opened = await openStore(config)
  const { store: behind, writes } = watchWrites(opened)
  /** What is closed if starting fails, the latest first. */
  const parts: AsyncDisposable[] = [behind]
  const closing = <Part extends AsyncDisposable>(part: Part): Part => {
    parts.push(part)
    return part
  }
  try {
    /** Known when the server listens. */
    let url = ''
    const open = await openNode(options, { opened, behind }, () => url, closing)
    const { clock, log, outbound, random, ids, demo, vars, keys, encryption, store } = open
    const { http } = outbound
    const check = (confirm: string | null, by?: string) =>
      checkOwner(config, { store, keys, log }, confirm, by)
    const start = makeNodeStart(await check(config.confirmCopy), { log, check, load, onFatal })
    const vaults = closing(
      openVaults(config, { env, store, behind, clock, random, log, keys, encryption, code, ownFiles }),
    )
    const { secrets, vault } = vaults
    const node = nodeName(config, env)
    const transport = closing(await openTransport(config, { node, clock, log }))
    const { bus, wakes } = transport
    const engine = makeEngine(
      { store, clock, random, http, vault, secrets, encryption, log, code, wakes, bus },
      engineConfigOf(config, { node, hasBus: bus !== null, vars }),
    )
    const adminKey = await resolveAdminKey(config)
    const gate = makeGate(engine)
    const { limits } = config
    const access = makeAccess({ store, clock, random, log, adminKey: adminKey.value, limits })
    const tenants = () => access.tenants.all()
    const idempotency = makeIdempotency({ store, clock, log, life: ids.uuid(), tenants })
    const isKeyShared = config.store.kind !== 'postgres' || config.masterKey !== null
    const signedCode = makeSignedCode(code, { store, keys: isKeyShared ? keys : null, log })
    const readiness = makeReadiness({
      clock,
      isStarted: () => gate.isOpen,
      engine: () => engine.health(),
      // One small row: probes come every few seconds, whatever the size of the store.
      look: () => store.forTenant(DEFAULT_TENANT).record('bundle', 'current'),
      writes,
      pauses: () => {
        const pause = start.pause()
        return pause === null ? [] : pauseSentences(pause)
      },
      bus,
      refusedCode: signedCode.refusedInUse,
    })
    const checks = closing(makeCheckThread({ timeoutMs: config.checkTimeoutMs }))
    const shared = {
      clock,
      log,
      store,
      code,
      signedCode,
      node,
      engine,
      gate,
      access,
      idempotency,
      readiness,
      demo,
    }
    const server = closing(
      makeNodeServer(config, { ...shared, env, ids, http, secrets, start, runCheck: checks.run }),
    )
    // The address first: a node that cannot bind it must not have touched any job, and jobs left by a crash may need
    // it.
    url = (await followSetting('MILLRACE_HOST', config.host, () => server.listen(config))).url
    const all: NodeParts = {
      ...shared,
      config,
      url,
      server,
      checks,
      transport,
      outbound,
      vaults,
      load,
      onNotice,
    }
    await start.begin((definitions) => runNode(all, definitions), loadedFirst)
    const pause = start.pause()
    if (pause !== null) log.error('node.paused', { url, reasons: pause.reasons, confirm: pause.confirm })

    let closed: Promise<{ left: number }> | null = null
    const close = async () => {
      const running = start.running() ?? (await start.resumed())
      if (running !== null) return running.close()
      readiness.leave()
      await closeQuietly(parts.reverse())
      return { left: 0 }
    }
    return {
      url,
      adminKey,
      get definitions() {
        return start.running()?.definitions ?? { ...NOTHING_APPLIED, folder: loadedFirst.folder }
      },
      warnings: loadedFirst.findings,
      get pause() {
        return start.pause()
      },
      store,
      engine,
      makeSignInLink: async () => {
        if (start.running() === null) throw new Error('the node is paused')
        return signInUrl(url, (await access.makeNodeLink()).token)
      },
      logUnhandledRejection(error) {
        const stack = error instanceof Error ? (error.stack?.slice(0, STACK_LENGTH_MAX) ?? null) : null
        log.error('process.stray-rejection', { error: messageOf(error), stack })
      },
      close: () => (closed ??= close()),
      async [Symbol.asyncDispose]() {
        closed ??= close()
        await closed
      },
    }
  } catch (error) {
    await closeQuietly(parts.reverse())
    throw error
  }
}
