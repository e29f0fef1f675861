// The definitions of each tenant: applied, compared, rolled back, paused; stored, and deployed in this node.
//
// Invariants: DV1 versions only grow, and of two concurrent requests only one gets the same one. DV3 applying what is already
// deployed makes no version. Documents are stored before the bundle that names them. One change at a time per node: what is
// deployed here is never older than what this node learned last.

import { holdToLimit, TENANT_LIMITS, type TenantLimits } from '../../core/access/callers/index.ts'
import {
  type Change,
  type ControlVerb,
  codeHashesOf,
  compareEntries,
  controlDefinition,
  type DefinitionDocument,
  type DefinitionStatus,
  declaredStatus,
  definitionId,
  type Entry,
  hashDocument,
  hashEntries,
  mergeEntries,
  type SubscriptionDocument,
} from '../../core/definitions/documents/index.ts'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Code } from '../../ports/code.ts'
import type { Guard, TenantReads, Write } from '../../ports/store.ts'
import { type EngineBase, orConflict, RACES_MAX, retrying } from '../commit/index.ts'
import {
  type BundleEntry,
  type BundleRecord,
  type Control,
  putBundle,
  putChangeCounter,
  putControl,
  putCurrent,
  putDocument,
  readAuthored,
  readChangeCounter,
  readHead,
  readStoredDefinitions,
  readVersion,
  type StoredDefinitions,
  tryDocument,
} from './definition-records.ts'
import type {
  Applied,
  ApplyRequest,
  DefinedSubscriptions,
  DefinitionItem,
  Definitions,
  DefinitionsChange,
  HistoryItem,
  PlannedChange,
  Said,
  VersionItem,
} from './definition-types.ts'
import { authoredWrites, type NewDefinition, readMany, saveRecords } from './record-batches.ts'
import { mustCompile, type Registry, usesHmac } from './registry.ts'
import { judgeVersions, type VersionWarning } from './workflow-versions.ts'

/** What is deployed in this node. */
interface DeployedBundle {
  readonly changeCounter: number
  readonly version: number
  readonly hash: string
  readonly items: ReadonlyMap<string, DefinitionItem>
  /** Kind and name of the folder's definitions. */
  readonly folder: ReadonlySet<string>
  /** Some of them call `hmac`, and its key is missing or cannot be decrypted. */
  readonly lacksKey: boolean
}

const EMPTY: DeployedBundle = {
  changeCounter: 0,
  version: 0,
  hash: '',
  items: new Map(),
  folder: new Set(),
  lacksKey: false,
}
/** What is to be deployed. */
interface Next {
  readonly entries: readonly Entry[]
  readonly changes: readonly Change[]
  readonly folder: readonly string[]
  readonly rolledBack: readonly string[]
  readonly warnings: readonly VersionWarning[]
}

const mayUse = (document: DefinitionDocument | undefined) => document !== undefined && usesHmac(document)

/** How long documents are compiled before the node does other work. */
const COMPILE_MS_MAX = 20
const HISTORY_MAX = 50

export function makeDefinitions(
  deps: Pick<EngineBase, 'store' | 'log' | 'now'> & {
    readonly registry: Registry
    readonly code: Pick<Code, 'prepare'>
    readonly clock: Pick<Clock, 'monotonic' | 'defer'>
    /** The limits of a tenant; omitted: the defaults. */
    readonly limits?: TenantLimits
    /** This node changed what is deployed, and it is durable: for other nodes. */
    deployed?(tenant: TenantId): void
    /** Jobs of consumers may be due that were not claimed before. */
    wake(): void
  },
): Definitions & {
  /** Registers, once, where the state of subscriptions is stored beside their documents. It refreshes definitions itself. */
  storeSubscriptions(state: DefinedSubscriptions): void
} {
  const { store, registry, log, limits = TENANT_LIMITS } = deps
  const deployedBundles = new Map<TenantId, DeployedBundle>()
  const listeners = new Set<(change: DefinitionsChange) => void>()
  /** Hashes of documents that say more than this version understands. */
  const newer = new Set<string>()
  /** Why documents cannot be decrypted here, by tenant and hash. */
  const unreadable = new Map<string, string>()
  /** Whether it was logged already that a document cannot be used. */
  const logged = new Set<string>()
  let subscriptionState: DefinedSubscriptions | null = null
  let pending: Promise<unknown> = Promise.resolve()

  /** One after the other: a read of the store must not undo a concurrent change. */
  const serialize = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const mine = pending.then(work)
    pending = mine.catch(() => {})
    return mine
  }

  /** Documents that this node does not know yet come from the store. */
  const documentsOf = async (
    reads: TenantReads,
    tenant: TenantId,
    entries: readonly BundleEntry[],
    given: ReadonlyMap<string, DefinitionDocument>,
  ) => {
    const known = new Map(given)
    for (const hash of given.keys()) unreadable.delete(`${tenant} ${hash}`)
    for (const { hash, document } of deployedBundles.get(tenant)?.items.values() ?? [])
      known.set(hash, document)
    const missing = entries.filter(({ hash }) => !known.has(hash))
    const found = await readMany(missing, ({ hash }) => tryDocument(reads, hash))
    for (const [{ hash, kind, name }, stored] of found) {
      if (stored !== null && 'unreadable' in stored) {
        unreadable.set(`${tenant} ${hash}`, stored.unreadable)
        continue
      }
      unreadable.delete(`${tenant} ${hash}`)
      if (stored?.isNewer === true) newer.add(hash)
      if (stored !== null) known.set(hash, stored.document)
      else log.error('definitions.missing', { tenant, kind, name, hash })
    }
    return known
  }

  /**
   * Hashes of the documents that contain a text like a call of `hmac` and are older than it: they need no key. Empty if the key
   * exists.
   */
  const hashesBeforeHmac = async (
    tenant: TenantId,
    entries: readonly BundleEntry[],
    documents: ReadonlyMap<string, DefinitionDocument>,
  ): Promise<ReadonlySet<string>> => {
    if (registry.hmacKeys.known(tenant) !== null) return new Set()
    const reads = store.forTenant(tenant)
    const likely = entries.filter(({ hash }) => mayUse(documents.get(hash)))
    const found = await readMany(likely, ({ hash }) => tryDocument(reads, hash))
    return new Set(
      found.flatMap(([{ hash }, stored]) =>
        stored !== null && !('unreadable' in stored) && stored.isBeforeHmac ? [hash] : [],
      ),
    )
  }

  const deploy = async (
    tenant: TenantId,
    latest: StoredDefinitions,
    documents: ReadonlyMap<string, DefinitionDocument>,
  ) => {
    const subscriptions = latest.bundle.documents.flatMap(({ kind, hash }) =>
      kind === 'Subscription' ? ((documents.get(hash) as SubscriptionDocument | undefined) ?? []) : [],
    )
    await subscriptionState?.prepare(tenant, subscriptions)
    // A definition that needs the key of `hmac` and does not get it is unusable, and its jobs wait.
    const beforeHmac = await hashesBeforeHmac(tenant, latest.bundle.documents, documents)
    const needsKey = latest.bundle.documents.some(
      ({ hash }) => mayUse(documents.get(hash)) && !beforeHmac.has(hash),
    )
    const lacksKey = needsKey && (await registry.hmacKeys.load(tenant)) === null
    const items = new Map<string, DefinitionItem>()
    const overrides = new Map<string, DefinitionStatus>()
    for (const entry of latest.bundle.documents) {
      const document = documents.get(entry.hash)
      if (document === undefined) continue
      const id = definitionId(entry)
      const control = latest.controls.get(id) ?? null
      const declared = declaredStatus(document)
      if (control !== null) overrides.set(id, control.status)
      const status = declared === null ? null : (control?.status ?? declared)
      items.set(id, { ...entry, document, status, declaredStatus: declared, control })
    }
    const { changeCounter, version } = latest
    const { hash, folder } = latest.bundle
    const put = [...items.values()].map(({ document, hash }) => ({
      document,
      hash,
      isNewer: newer.has(hash),
      isBeforeHmac: beforeHmac.has(hash),
    }))
    const encrypted = latest.bundle.documents.flatMap(({ kind, name, hash }) => {
      const error = documents.has(hash) ? undefined : unreadable.get(`${tenant} ${hash}`)
      return error === undefined ? [] : [{ document: { kind, name }, hash, error }]
    })
    await compileAhead(put.flatMap(({ document, isNewer }) => (isNewer ? [] : [document])))
    const unusable = registry.put(tenant, put, overrides, encrypted)
    for (const { document, error } of unusable) {
      const definition = definitionId(document)
      const id = `${tenant}/${items.get(definition)?.hash ?? definition}`
      if (!logged.has(id)) log.error('definitions.unusable', { tenant, definition, error })
      logged.add(id)
    }
    for (const { setting, name, message } of registry.setVars(tenant).problems) {
      const id = `${tenant} ${setting} ${message}`
      if (name !== null && !logged.has(id))
        log.error('vars.setting-refused', { tenant, setting, error: message })
      logged.add(id)
    }
    deployedBundles.set(tenant, { changeCounter, version, hash, items, folder: new Set(folder), lacksKey })
    subscriptionState?.put(tenant, subscriptions)
    deps.wake()
    const codeHashes = [...new Set([...items.values()].flatMap(({ document }) => codeHashesOf(document)))]
    for (const listener of listeners) listener({ tenant, version, hash, codeHashes })
  }

  const loadTenant = async (tenant: TenantId): Promise<DeployedBundle> => {
    const reads = store.forTenant(tenant)
    const latest = await readStoredDefinitions(reads)
    await deploy(tenant, latest, await documentsOf(reads, tenant, latest.bundle.documents, new Map()))
    return deployedBundles.get(tenant) as DeployedBundle
  }

  /** Before the first definition that calls `hmac` is deployed, its key is in the store: no node finds the one without the other. */
  const ensureKey = async (tenant: TenantId, fresh: readonly DefinitionDocument[]) => {
    if (fresh.some(usesHmac)) await registry.hmacKeys.ensure(tenant)
  }

  const refresh = async (tenant: TenantId): Promise<DeployedBundle> => {
    const changeCounter = await readChangeCounter(store.forTenant(tenant))
    const known = deployedBundles.get(tenant)
    // A key that was missing or could not be decrypted may be usable by now: another node encrypts it again with the current
    // master key.
    const hasKeyAgain = known?.lacksKey === true && (await registry.hmacKeys.load(tenant)) !== null
    if (known !== undefined && known.changeCounter === changeCounter && !hasKeyAgain) return known
    if (known === undefined && changeCounter === 0) return EMPTY
    return serialize(() => loadTenant(tenant))
  }

  const guardsOf = ({ changeCounter, version }: StoredDefinitions): readonly Guard[] => [
    { g: 'version', of: 'bundle', key: 'pulse', version: changeCounter },
    { g: 'version', of: 'bundle', key: 'current', version },
  ]

  /** Stores the entries as the next version and deploys them. */
  const deployVersion = async (
    tenant: TenantId,
    latest: StoredDefinitions,
    { entries, changes, folder, rolledBack, warnings }: Next,
    given: ReadonlyMap<string, DefinitionDocument>,
    said: Said,
  ): Promise<Applied> => {
    const reads = store.forTenant(tenant)
    const version = latest.version + 1
    const appliedAt = deps.now()
    const old = new Map(latest.bundle.documents.map((entry) => [definitionId(entry), entry]))
    const documents = entries.map((entry): BundleEntry => {
      const { kind, name, hash, managedBy } = entry
      const before = old.get(definitionId(entry))
      return before?.hash === hash
        ? { ...before, managedBy }
        : { kind, name, hash, managedBy, version, at: appliedAt, by: said.by }
    })
    const known = await documentsOf(reads, tenant, [...latest.bundle.documents, ...documents], given)
    const controls = controlsAfter(latest, documents, known)
    const ended = [...latest.controls.keys()].filter((id) => !controls.has(id))
    const claimed = (await subscriptionState?.claim(tenant, newSubscriptions(changes))) ?? []
    const bundle: BundleRecord = {
      hash: hashEntries(documents),
      appliedAt,
      by: said.by,
      reason: said.reason,
      changes: changes.filter(({ change }) => change !== 'unchanged').length,
      documents,
      folder,
      rolledBack,
    }
    const result = await store.commit({
      tenant,
      guards: [...guardsOf(latest), ...claimed],
      writes: [
        putChangeCounter(latest.changeCounter + 1),
        ...putBundle(version, bundle),
        ...ended.map((key): Write => ({ w: 'record.delete', kind: 'control', key })),
      ],
    })
    if (!result.ok) throw overtaken()
    deps.deployed?.(tenant)
    await deploy(tenant, { changeCounter: latest.changeCounter + 1, version, bundle, controls }, known)
    log.info('definitions.applied', {
      tenant,
      version,
      hash: bundle.hash,
      changes: bundle.changes,
      by: said.by,
    })
    const changed = new Set(idsChanged(changes))
    const putBack = latest.bundle.rolledBack.filter((id) => changed.has(id) && !rolledBack.includes(id))
    return { version, hash: bundle.hash, changes, putBack, warnings }
  }

  /** Stores what the folder has now, if nothing else changes: no version of its own, but every node must know. */
  const deployFolder = async (
    tenant: TenantId,
    latest: StoredDefinitions,
    folder: readonly string[],
    given: ReadonlyMap<string, DefinitionDocument>,
  ) => {
    const next: StoredDefinitions = {
      ...latest,
      changeCounter: latest.changeCounter + 1,
      bundle: { ...latest.bundle, folder },
    }
    const known = await documentsOf(store.forTenant(tenant), tenant, latest.bundle.documents, given)
    const result = await store.commit({
      tenant,
      guards: guardsOf(latest),
      writes: [putChangeCounter(next.changeCounter), putCurrent(next.version, next.bundle)],
    })
    if (!result.ok) throw overtaken()
    deps.deployed?.(tenant)
    await deploy(tenant, next, known)
  }

  /** Lets the node do other work between two documents, if they take long. */
  const makeBreaks = () => {
    let since = deps.clock.monotonic()
    /** null: no pause is due. */
    return (): Promise<void> | null => {
      if (deps.clock.monotonic() - since < COMPILE_MS_MAX) return null
      return new Promise((resolve) =>
        deps.clock.defer(() => {
          since = deps.clock.monotonic()
          resolve()
        }),
      )
    }
  }

  /** Compiled documents are cached: the registry, which takes all of them at once, has nothing left to compile. */
  const compileAhead = async (documents: Iterable<DefinitionDocument>) => {
    const takeBreak = makeBreaks()
    for (const document of documents) {
      try {
        mustCompile(document)
      } catch {
        // The registry finds the same, and reports it.
      }
      const due = takeBreak()
      if (due !== null) await due
    }
  }

  /** Compiled before it is committed: a document that fails every load must not be deployed. */
  const refuseUnusable = async (documents: Iterable<DefinitionDocument>) => {
    const takeBreak = makeBreaks()
    for (const document of documents) {
      const due = takeBreak()
      if (due !== null) await due
      try {
        if (newer.has(hashDocument(document))) throw new Error('a newer version wrote it: upgrade this node')
        mustCompile(document)
      } catch (error) {
        const detail = `${definitionId(document)} cannot be put in force: ${messageOf(error)}`
        throw new AppError('definitions_invalid', detail, {
          details: { definitions: [definitionId(document)] },
        })
      }
    }
  }

  const refuseUnreadable = (tenant: TenantId, entries: readonly BundleEntry[]) => {
    for (const entry of entries) {
      const why = unreadable.get(`${tenant} ${entry.hash}`)
      if (why === undefined) continue
      const detail = `${definitionId(entry)} cannot be put in force: ${why}`
      throw new AppError('definitions_invalid', detail, { details: { definitions: [definitionId(entry)] } })
    }
  }

  const refuseBeyondLimits = (tenant: TenantId, entries: readonly Entry[], { bundle }: StoredDefinitions) => {
    if (entries.length > bundle.documents.length) holdToLimit('definitions', entries.length, limits)
    const countOf = (all: readonly { readonly kind: string }[]) =>
      all.filter(({ kind }) => kind === 'Subscription').length
    const added = countOf(entries) - countOf(bundle.documents)
    if (added > 0) holdToLimit('subscriptions', registry.subscriptions(tenant).length + added, limits)
  }

  const merge = (latest: StoredDefinitions, request: Omit<ApplyRequest, keyof Said>) => {
    const inFolder = new Set(latest.bundle.folder)
    const merged = mergeEntries(latest.bundle.documents, {
      documents: request.definitions.map(({ document }) => ({
        kind: document.kind,
        name: document.name,
        hash: hashDocument(document),
      })),
      managedBy: request.managedBy,
      prune: request.prune,
      isInFolder: (id) => inFolder.has(id),
    })
    if (merged.ok) return withRefilled(merged, request.refilled ?? [])
    const [first] = merged.held
    const others = merged.held.length > 1 ? ` and ${merged.held.length - 1} more` : ''
    throw new AppError('managed_by_folder', `${first}${others}: the folder of the node defines it`, {
      details: { definitions: merged.held },
    })
  }

  const apply = async (tenant: TenantId, request: ApplyRequest): Promise<Applied> => {
    const reads = store.forTenant(tenant)
    const latest = await readStoredDefinitions(reads)
    if (request.base !== undefined && request.base !== latest.version) {
      throw new AppError('conflict', `version ${latest.version} is in force, not ${request.base}`)
    }
    const { entries, changes } = merge(latest, request)
    refuseBeyondLimits(tenant, entries, latest)
    const folder = folderAfter(latest, request)
    const deployed = new Set(latest.bundle.documents.map(({ hash }) => hash))
    const definitions = [...request.definitions, ...(request.refilled ?? [])]
    const changed = definitions.flatMap(({ document }) =>
      deployed.has(hashDocument(document)) ? [] : [document],
    )
    await refuseUnusable(changed)
    const wanted = new Map(definitions.map(({ document }) => [definitionId(document), document]))
    // Before anything is written: a refusal must leave nothing behind.
    const warnings = await judgeVersions(reads, changes, (one) => wanted.get(definitionId(one)), {
      refuses: true,
    })
    await ensureKey(tenant, changed)
    await subscriptionState?.claim(tenant, newSubscriptions(changes))
    const given = new Map(definitions.map(({ document }) => [hashDocument(document), document]))
    // A document that cannot be decrypted is stored again.
    const isLost = (hash: string) => unreadable.has(`${tenant} ${hash}`)
    const isHealed = [...given.keys()].some(isLost)
    const stored = new Set(latest.bundle.documents.flatMap(({ hash }) => (isLost(hash) ? [] : [hash])))
    const fresh = [...given]
      .filter(([hash]) => !stored.has(hash))
      .map(([, document]) => putDocument(document))
    await saveRecords(store, tenant, [...fresh, ...(await authoredWrites(reads, definitions))])
    const isSame = changes.every(({ change }) => change === 'unchanged') && latest.version > 0
    const rolledBack = request.managedBy === 'folder' ? [] : latest.bundle.rolledBack
    if (!isSame)
      return deployVersion(tenant, latest, { entries, changes, folder, rolledBack, warnings }, given, request)
    if (isHealed || folder.join('\n') !== latest.bundle.folder.join('\n')) {
      await deployFolder(tenant, latest, folder, given)
    } else if (deployedBundles.get(tenant)?.changeCounter !== latest.changeCounter) {
      await deploy(tenant, latest, await documentsOf(reads, tenant, latest.bundle.documents, given))
    }
    return { version: latest.version, hash: latest.bundle.hash, changes, putBack: [], warnings }
  }

  /** Old code may be gone, or need something that this machine no longer has: better refused now than by every job. */
  const refuseLostCode = async (
    tenant: TenantId,
    entries: readonly BundleEntry[],
    changes: readonly Change[],
  ) => {
    const changed = new Set(idsChanged(changes))
    const wanted = entries.filter((entry) => changed.has(definitionId(entry)))
    const documents = await documentsOf(store.forTenant(tenant), tenant, wanted, new Map())
    const lost: string[] = []
    for (const entry of wanted) {
      const document = documents.get(entry.hash)
      const hashes = document === undefined ? [] : codeHashesOf(document)
      const isThere = await Promise.all(hashes.map((codeHash) => deps.code.prepare(codeHash)))
      if (isThere.includes(false)) lost.push(definitionId(entry))
    }
    const beforeHmac = await hashesBeforeHmac(tenant, wanted, documents)
    const needsKey = wanted.some(({ hash }) => mayUse(documents.get(hash)) && !beforeHmac.has(hash))
    if (needsKey && (await registry.hmacKeys.load(tenant)) === null)
      throw new AppError(
        'secret_unreadable',
        registry.hmacKeys.problem(tenant) ?? 'the key of `hmac` cannot be used',
      )
    if (lost.length === 0) return
    const detail = `the code that ${lost.join(', ')} had then cannot be loaded by this node`
    throw new AppError('conflict', detail, { details: { definitions: lost } })
  }

  const showBefore = async (reads: TenantReads, entry: BundleEntry): Promise<NewDefinition | null> => {
    const stored = await tryDocument(reads, entry.hash)
    return stored === null || 'unreadable' in stored
      ? null
      : { document: stored.document, authored: await readAuthored(reads, entry.hash) }
  }

  const controlOnce = async (
    tenant: TenantId,
    id: string,
    verb: ControlVerb,
    said: Said,
  ): Promise<DefinitionItem | null> => {
    const reads = store.forTenant(tenant)
    const latest = await readStoredDefinitions(reads)
    const entry = latest.bundle.documents.find((one) => definitionId(one) === id)
    const documents = await documentsOf(reads, tenant, latest.bundle.documents, new Map())
    const document = entry === undefined ? undefined : documents.get(entry.hash)
    if (document === undefined) throw new AppError('not_found', `there is no ${id} in force`)
    const step = controlDefinition(document, verb)
    if (!step.ok) throw new AppError('invalid_request', step.why)
    const before = latest.controls.get(id)
    if ((before?.status ?? declaredStatus(document)) !== step.status) {
      const controls = new Map(latest.controls)
      const control = { status: step.status, at: deps.now(), by: said.by, reason: said.reason }
      if (step.override === null) controls.delete(id)
      else controls.set(id, control)
      const changeCounter = latest.changeCounter + 1
      const write: Write =
        step.override === null ? { w: 'record.delete', kind: 'control', key: id } : putControl(id, control)
      const result = await store.commit({
        tenant,
        guards: guardsOf(latest),
        writes: [putChangeCounter(changeCounter), write],
      })
      if (!result.ok) return null
      deps.deployed?.(tenant)
      await deploy(tenant, { ...latest, changeCounter, controls }, documents)
      log.info('definitions.controlled', { tenant, definition: id, status: step.status, ...said })
    } else if (deployedBundles.get(tenant)?.changeCounter !== latest.changeCounter) {
      await deploy(tenant, latest, documents)
    }
    return deployedBundles.get(tenant)?.items.get(id) ?? null
  }

  /** The versions in which the definition changed, as far as they are still stored. */
  const historyOf = async (reads: TenantReads, item: DefinitionItem): Promise<readonly HistoryItem[]> => {
    const id = definitionId(item)
    const history: HistoryItem[] = []
    let entry: BundleEntry | undefined = item
    while (entry !== undefined && history.length < HISTORY_MAX) {
      history.push({ hash: entry.hash, version: entry.version, appliedAt: entry.at, by: entry.by })
      const older: BundleRecord | null = await readVersion(reads, entry.version - 1)
      entry = older?.documents.find((one) => definitionId(one) === id)
    }
    return history
  }

  return {
    apply: (tenant, request) => serialize(() => apply(tenant, request)),
    async plan(tenant, request) {
      const reads = store.forTenant(tenant)
      const latest = await readStoredDefinitions(reads)
      const { changes } = merge(latest, request)
      const entries = new Map(latest.bundle.documents.map((entry) => [definitionId(entry), entry]))
      const wanted = new Map(
        [...request.definitions, ...(request.refilled ?? [])].map((one) => [definitionId(one.document), one]),
      )
      const planned: PlannedChange[] = []
      for (const change of changes) {
        const entry = entries.get(definitionId(change))
        const isShown = change.change === 'update' || change.change === 'remove'
        planned.push({
          ...change,
          before: isShown && entry !== undefined ? await showBefore(reads, entry) : null,
          after: change.change === 'unchanged' ? null : (wanted.get(definitionId(change)) ?? null),
        })
      }
      const warnings = await judgeVersions(reads, changes, (one) => wanted.get(definitionId(one))?.document, {
        refuses: false,
      })
      return { base: latest.version, changes: planned, warnings }
    },
    rollback: (tenant, { to, ...said }) =>
      serialize(async () => {
        const reads = store.forTenant(tenant)
        const latest = await readStoredDefinitions(reads)
        const target = await readVersion(reads, to)
        if (target === null) throw new AppError('not_found', `there is no version ${to}`)
        const changes = compareEntries(latest.bundle.documents, target.documents)
        if (changes.every(({ change }) => change === 'unchanged')) {
          return {
            version: latest.version,
            hash: latest.bundle.hash,
            changes,
            putBack: [],
            warnings: [],
            untilFolder: [],
          }
        }
        await refuseLostCode(tenant, target.documents, changes)
        const documents = await documentsOf(reads, tenant, target.documents, new Map())
        const deployed = new Set(latest.bundle.documents.map(({ hash }) => hash))
        refuseUnreadable(
          tenant,
          target.documents.filter(({ hash }) => !deployed.has(hash)),
        )
        await refuseUnusable(
          target.documents.flatMap(({ hash }) => (deployed.has(hash) ? [] : (documents.get(hash) ?? []))),
        )
        const hashes = new Map(target.documents.map((entry) => [definitionId(entry), entry.hash]))
        const warnings = await judgeVersions(
          reads,
          changes,
          (one) => documents.get(hashes.get(definitionId(one)) ?? ''),
          { refuses: true },
        )
        // What the folder has does not depend on what is deployed.
        const { folder } = latest.bundle
        const inFolder = new Set(folder)
        const overridden = idsChanged(changes).filter((id) => inFolder.has(id))
        const rolledBack = [...new Set([...latest.bundle.rolledBack, ...overridden])]
        const next = { entries: target.documents, changes, folder, rolledBack, warnings }
        const applied = await deployVersion(tenant, latest, next, new Map(), said)
        const before = new Map(latest.bundle.documents.map((entry) => [definitionId(entry), entry.hash]))
        const paths = await readMany(overridden, async (id) => {
          const hash = before.get(id)
          return hash === undefined ? null : ((await readAuthored(reads, hash))?.path ?? null)
        })
        return { ...applied, untilFolder: paths.map(([id, path]) => ({ id, path })) }
      }),
    async versions(tenant, { cursor, limit }) {
      const reads = store.forTenant(tenant)
      const newest =
        cursor === null ? ((await reads.record('bundle', 'current'))?.version ?? 0) : Number(cursor)
      if (!Number.isSafeInteger(newest) || newest < 0) throw new AppError('invalid_cursor')
      const items: VersionItem[] = []
      // Numbers have no gaps, so that a page needs no index.
      const asked = Array.from({ length: Math.min(limit, newest) }, (_, index) => newest - index)
      for (const [version, head] of await readMany(asked, (one) => readHead(reads, one))) {
        if (head === null) return { items, nextCursor: null }
        items.push({ version, ...head })
      }
      const next = newest - items.length
      return { items, nextCursor: next > 0 ? String(next) : null }
    },
    list: async (tenant) => [...(await refresh(tenant)).items.values()],
    async versionOf(tenant, kind, name, hash) {
      const item = (await refresh(tenant)).items.get(definitionId({ kind, name }))
      if (item === undefined || item.hash === hash) return item?.version ?? null
      const history = await historyOf(store.forTenant(tenant), item)
      return history.find((one) => one.hash === hash)?.version ?? null
    },
    async one(tenant, kind, name) {
      const item = (await refresh(tenant)).items.get(definitionId({ kind, name }))
      if (item === undefined) throw new AppError('not_found', `there is no ${kind} ${name} in force`)
      const reads = store.forTenant(tenant)
      return {
        item,
        authored: await readAuthored(reads, item.hash),
        history: await historyOf(reads, item),
      }
    },
    control: (tenant, kind, name, verb, said) =>
      // A change of another definition is no reason to refuse: only the latest override of this one counts.
      retrying(
        RACES_MAX,
        async (retry) => {
          const item = await serialize(() => controlOnce(tenant, definitionId({ kind, name }), verb, said))
          return item ?? retry()
        },
        orConflict('the definitions keep changing'),
      ),
    vars: registry.varsWith,
    setVars: registry.setVars,
    goneFromFolder(tenant) {
      const { items, folder } = deployedBundles.get(tenant) ?? EMPTY
      return [...items.values()].filter(
        (item) => item.managedBy === 'folder' && !folder.has(definitionId(item)),
      )
    },
    async load() {
      for (const tenant of await store.system('definitions').tenants())
        await serialize(() => loadTenant(tenant))
    },
    async refresh(tenant) {
      await refresh(tenant)
    },
    owners: (tenant) =>
      new Map([...(deployedBundles.get(tenant)?.items ?? [])].map(([id, { managedBy }]) => [id, managedBy])),
    storeSubscriptions(state) {
      subscriptionState = state
    },
    onChange(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}

/** What was removed meanwhile, or by this request, stays removed. */
function withRefilled(
  { entries, changes }: { readonly entries: readonly Entry[]; readonly changes: readonly Change[] },
  refilled: readonly NewDefinition[],
) {
  const hashes = new Map(refilled.map(({ document }) => [definitionId(document), hashDocument(document)]))
  const isOther = (entry: Entry) => (hashes.get(definitionId(entry)) ?? entry.hash) !== entry.hash
  return {
    entries: entries.map((entry) =>
      isOther(entry) ? { ...entry, hash: hashes.get(definitionId(entry)) as string } : entry,
    ),
    changes: [
      ...changes,
      ...entries.filter(isOther).map(({ kind, name }): Change => ({ kind, name, change: 'update' })),
    ],
  }
}

function newSubscriptions(changes: readonly Change[]): readonly string[] {
  return changes.flatMap(({ kind, name, change }) =>
    kind === 'Subscription' && change === 'create' ? [name] : [],
  )
}

function idsChanged(changes: readonly Change[]): readonly string[] {
  return changes.filter(({ change }) => change !== 'unchanged').map((one) => definitionId(one))
}

const overtaken = () => new AppError('conflict', 'other definitions were applied meanwhile')

/** Kind and name of the folder's definitions, once this is applied. */
function folderAfter(latest: StoredDefinitions, request: ApplyRequest): readonly string[] {
  if (request.managedBy === 'folder') {
    return request.definitions.map(({ document }) => definitionId(document)).sort()
  }
  return request.isWithoutFolder === true ? [] : latest.bundle.folder
}

/** An operator's override ends with its definition, and when the document itself declares a new status. */
function controlsAfter(
  latest: StoredDefinitions,
  entries: readonly BundleEntry[],
  documents: ReadonlyMap<string, DefinitionDocument>,
): ReadonlyMap<string, Control> {
  const statusOf = (entry: BundleEntry | undefined) => {
    const document = entry === undefined ? undefined : documents.get(entry.hash)
    return document === undefined ? null : declaredStatus(document)
  }
  const before = new Map(latest.bundle.documents.map((entry) => [definitionId(entry), entry]))
  const after = new Map(entries.map((entry) => [definitionId(entry), entry]))
  return new Map(
    [...latest.controls].filter(([id]) => {
      const entry = after.get(id)
      return entry !== undefined && statusOf(entry) === statusOf(before.get(id))
    }),
  )
}
