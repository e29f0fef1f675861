// One run of a node: deploys its definitions, starts the engine, and closes everything at the end.

import type { BundleCode } from '../adapters/code-bundle/index.ts'
import type { OperatorLog } from '../adapters/log-pino/index.ts'
import type { Config } from '../config/index.ts'
import {
  applyVarSettings,
  type DefinitionDocument,
  definitionId,
  filledVarsOf,
  valuesIn,
} from '../core/definitions/documents/index.ts'
import { messageOf } from '../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { varsReadBy } from '../definitions/index.ts'
import type { Demo } from '../demo/index.ts'
import type { Access, Idempotency } from '../engine/access/index.ts'
import type { Engine } from '../engine/index.ts'
import { heldByApi } from '../engine/webhooks/index.ts'
import type { Gauge, HttpServer } from '../http/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { closeAll } from './close-all.ts'
import {
  applyFolder,
  type FolderDeps,
  findObjections,
  followFolder,
  goneLines,
  putBackLines,
} from './definitions-folder.ts'
import { isDemo } from './demo-in-dev.ts'
import { type DeployedVars, type LoadedDefinitions, refuseErrors } from './load-definitions.ts'
import { noteFigures } from './metric-gauges.ts'
import { type Outbound, vetSubscription } from './outbound.ts'
import { noteQueueAges } from './queue-ages.ts'
import type { NodeReadiness } from './readiness.ts'
import { SettingError } from './setting-error.ts'
import type { SignedCode } from './signed-code.ts'
import type { Gate } from './start-gate.ts'
import { warnOfUnsetSecrets } from './unset-secrets.ts'
import { shareVarSettings } from './var-settings-of-nodes.ts'
import type { Vaults } from './vaults.ts'

/** What is deployed of the definitions folder. */
export interface FolderState {
  /** null: there is none, and no definitions except those of the API. */
  readonly folder: string | null
  readonly demo: boolean
  readonly hash: string
  readonly count: number
  /** What is deployed and no longer in the folder, as sentences. */
  readonly gone: readonly string[]
  /** What was rolled back and is what the folder says again, as sentences. */
  readonly putBack: readonly string[]
  /** Unset secrets that definitions name, with the definitions that need them, as sentences. */
  readonly missing: readonly string[]
}

/** What a node that is not paused has besides the rest. */
export interface RunningNode {
  readonly definitions: FolderState
  gauges(): readonly Gauge[]
  /** By name in capitals, the other nodes whose `MILLRACE_VAR_…` give another value. */
  differingVars(): Promise<ReadonlyMap<string, readonly string[]>>
  close(): Promise<{ readonly left: number }>
}

export interface NodeParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: OperatorLog
  readonly store: Store
  readonly code: BundleCode
  readonly signedCode: SignedCode
  readonly url: string
  readonly node: string
  readonly engine: Engine
  readonly gate: Gate
  readonly access: Access
  readonly idempotency: Idempotency
  readonly readiness: NodeReadiness
  readonly server: HttpServer
  readonly checks: AsyncDisposable
  readonly transport: AsyncDisposable
  readonly outbound: Outbound
  readonly vaults: Vaults
  readonly demo: Demo | null
  load(beside?: DeployedVars): Promise<LoadedDefinitions>
  readonly onNotice: ((text: string) => void) | undefined
}

export async function runNode(parts: NodeParts, loaded: LoadedDefinitions): Promise<RunningNode> {
  const { config, clock, log, store, signedCode, engine, access, idempotency, vaults } = parts
  // Code that older jobs are pinned to can be run before anything is claimed, and new code is stored before it is
  // named.
  await signedCode.open()
  engine.definitions.onChange(({ tenant, hash, codeHashes }) => {
    if (tenant === DEFAULT_TENANT) log.setConfigHash(hash)
    signedCode.learn(codeHashes).catch((error) => log.warn('code.not-learned', { error: messageOf(error) }))
  })
  await engine.definitions.load()
  const folder = folderOf(parts)
  const definitions = await withDeployedVars(parts, loaded)
  refuseErrors(definitions)
  const objections = await findObjections(folder, definitions)
  refuseErrors({ ...definitions, findings: objections })
  for (const { message, file, line } of objections)
    log.warn('definitions.doubtful', { tenant: DEFAULT_TENANT, file, line, error: message })
  const { hash, version, putBack } = await applyFolder(folder, definitions)
  await access.start()
  const tenants = await access.tenants.all()
  await vaults.secrets.rewrap(tenants)
  const missing = await warnOfUnsetSecrets({ tenants, definitions: engine.definitions, ...vaults, log })
  const shared =
    config.store.kind === 'postgres'
      ? await shareVarSettings({ store, clock, log }, parts.node, config.vars)
      : null
  await engine.start()
  parts.gate.open()
  const isKeeper = config.roles.includes('schedule')
  if (isKeeper) idempotency.start()
  const { length: count } = definitions.definitions
  log.info('node.started', {
    url: parts.url,
    node: parts.node,
    roles: config.roles.join(','),
    definitions: count,
  })

  const say = parts.onNotice
  const watch =
    config.environment === 'DEV' && say !== undefined && definitions.folder !== null
      ? followFolder(
          folder,
          definitions.folder,
          { version, loaded: definitions, loadedAt: definitions.loadedAt },
          (text) => say(text),
        )
      : null
  // A node's charts show that node.
  const hasCharts = isKeeper || config.roles.includes('api')
  const now = () => clock.now()
  const queueAges = hasCharts
    ? noteQueueAges({ store, meter: engine.meter, now, tenants: () => access.tenants.all() })
    : null
  const figures = hasCharts ? noteFigures({ backlog: engine.backlog, relay: engine.relay, now }) : null
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
    gauges: () => figures?.gauges() ?? [],
    differingVars: async () => (await shared?.differing()) ?? new Map(),
    close: () => closeNode(parts, { watch, charts: [queueAges, figures], shared }),
  }
}

/** The folder is read again with what deployed definitions know of `vars`, if they know anything that matters to it. */
async function withDeployedVars(parts: NodeParts, loaded: LoadedDefinitions): Promise<LoadedDefinitions> {
  const own = new Set(loaded.definitions.map(({ document }) => definitionId(document)))
  const beside = await deployedVars(parts.engine.definitions)
  const isAlone = beside.varsBeside.every((one) => own.has(definitionId(one)))
  const all = isAlone ? loaded : await parts.load(beside)
  const documents = [...beside.varsBeside, ...all.definitions.map(({ document }) => document)]
  refuseVarSettings(parts, documents)
  return all
}

/** Deployed documents that define or read `vars`, and those that they are filled into as they were written. */
async function deployedVars(definitions: Engine['definitions']): Promise<Required<DeployedVars>> {
  // The demo is removed when a folder comes.
  const items = (await definitions.list(DEFAULT_TENANT)).filter(({ managedBy }) => managedBy !== 'demo')
  const varsBeside = items
    .map(({ document }) => document)
    .filter((one) => one.kind === 'Vars' || varsReadBy(one).length > 0)
  const filled = varsBeside.filter((one) => Object.keys(filledVarsOf(one)).length > 0)
  const texts = await Promise.all(filled.map(({ kind, name }) => definitions.one(DEFAULT_TENANT, kind, name)))
  return { varsBeside, filledBeside: texts.flatMap(({ authored }) => authored ?? []) }
}

/** Later documents take precedence. */
function refuseVarSettings({ config, log }: NodeParts, documents: readonly DefinitionDocument[]): void {
  const vars = new Map(documents.flatMap((one) => (one.kind === 'Vars' ? [[one.name, one] as const] : [])))
  const values = valuesIn([...vars.values()], config.environment)
  for (const { setting, name, message } of applyVarSettings(values, config.vars).problems) {
    if (name !== null) throw new SettingError(setting, `cannot be used: ${message}.`)
    log.warn('vars.setting-unknown', { setting, todo: message })
  }
}

function folderOf(parts: NodeParts): FolderDeps {
  const { config, engine, code, store, outbound } = parts
  return {
    // Without a folder only the demo could have left definitions behind.
    owner: config.flowsFolder === null ? 'demo' : 'folder',
    isAlone: config.store.kind === 'sqlite',
    ownFolders: [config.dataFolder],
    definitions: engine.definitions,
    load: async () => parts.load(await deployedVars(engine.definitions)),
    keepCode: (loaded) => code.keep(loaded),
    heldByApi: (names) => heldByApi(store.forTenant(DEFAULT_TENANT), names),
    vet: (document, beside) =>
      vetSubscription(
        outbound.http,
        engine.definitions.vars(DEFAULT_TENANT, beside),
        DEFAULT_TENANT,
        document,
      ),
    refusesLiterals: config.environment === 'PROD',
  }
}

interface Closable {
  close(): unknown
}

async function closeNode(
  parts: NodeParts,
  {
    watch,
    charts,
    shared,
  }: {
    readonly watch: Closable | null
    readonly charts: readonly (Closable | null)[]
    readonly shared: Closable | null
  },
): Promise<{ readonly left: number }> {
  const { config, clock, log, engine, demo } = parts
  // Load balancers learn of it first; until then requests are accepted as usual.
  parts.readiness.leave()
  log.info('node.draining', { delayMs: config.drainDelayMs })
  if (config.drainDelayMs > 0) await new Promise<void>((resolve) => clock.after(config.drainDelayMs, resolve))
  for (const chart of charts) chart?.close()
  // Requests in progress and jobs share one deadline.
  const endAt = clock.monotonic() + config.shutdownMs
  let drained = { left: 0 }
  // A step that fails is reported, and the others run all the same.
  await closeAll(
    [
      () => watch?.close(),
      () => demo?.stop(),
      () => shared?.close(),
      () => parts.server.close(),
      () => parts.checks[Symbol.asyncDispose](),
      () => parts.idempotency.stop(),
      async () => {
        drained = await engine.drain(Math.max(0, endAt - clock.monotonic()))
      },
      () => parts.transport[Symbol.asyncDispose](),
      () => parts.outbound[Symbol.asyncDispose](),
      () => parts.vaults[Symbol.asyncDispose](),
      () => demo?.[Symbol.asyncDispose](),
      () => parts.store[Symbol.asyncDispose](),
    ],
    (error) => log.error('node.close-failed', { error }),
  )
  log.info('node.stopped', drained)
  await log[Symbol.asyncDispose]()
  return drained
}
