// The subscriptions of each tenant as this node knows them: read at the start, followed by the change counter, changed one at a
// time.
//
// Invariants: SU1 a change is one commit, guarded by the record that it was decided by. SU2 its cost does not grow with the
// number of subscriptions. SU3 what is deployed here is never older than what this node learned last.

import {
  HMAC_LANGUAGE,
  hashDocument,
  LANGUAGE,
  languageOf,
  type SubscriptionDocument,
} from '../../../core/definitions/documents/index.ts'
import { mayUseHmac } from '../../../core/expression/index.ts'
import { AppError, messageOf } from '../../../core/foundation/errors/index.ts'
import type { Ids, TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import {
  compileSubscription,
  effectiveStatus,
  type SubscriptionRecord,
  type SubscriptionState,
  type SubscriptionStatus,
} from '../../../core/webhooks/subscription/index.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import {
  type Commits,
  type EventPlan,
  isUnreadable,
  orConflict,
  RACES_MAX,
  retrying,
  type UnitOfWork,
} from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import { NEWER_LANGUAGE, putDocument, type Registry } from '../../definitions/index.ts'
import {
  beat,
  type ChangeCounter,
  changedSince,
  deleteSubscription,
  guardOf,
  NO_CHANGES,
  putSubscription,
  readChangeCounter,
  readSubscription,
  readSubscriptions,
  type StoredSubscription,
  trySubscription,
  UNREADABLE,
} from './subscription-records.ts'

/** The result of a change. */
export interface Step {
  /** null: it is removed. */
  readonly record: SubscriptionRecord | null
  readonly guards?: readonly Guard[]
  readonly writes?: readonly Write[]
  /** Events about it: stored in the same commit. */
  readonly plans?: readonly EventPlan[]
  /**
   * Called once it is durable, and before it is deployed here. If it throws, the change is reverted; only for changes without
   * plans.
   */
  onStored?(): Promise<void>
}

export interface Changed {
  readonly before: StoredSubscription | null
  readonly after: StoredSubscription | null
  readonly at: Instant
}

export interface SubscriptionStateCache {
  /** Reads the subscriptions of a tenant, unless they were read. */
  prepare(tenant: TenantId): Promise<void>
  /** Reads what other nodes changed since; one small read if nothing changed. */
  refresh(tenant: TenantId): Promise<void>
  /** The tenants that were read so far. */
  tenants(): readonly TenantId[]
  find(tenant: TenantId, name: string): StoredSubscription | null
  all(tenant: TenantId): ReadonlyMap<string, StoredSubscription>
  /**
   * Decided again, by the record stored then, if another node changed it at the same moment. `decide` returns null if there is
   * nothing to change. Throws what `decide` throws, and `conflict` after too many races.
   */
  change(
    tenant: TenantId,
    name: string,
    decide: (stored: StoredSubscription | null) => Step | null | Promise<Step | null>,
  ): Promise<Changed | null>
}

interface Tenant {
  changeCounter: ChangeCounter
  stored: Map<string, StoredSubscription>
  /** Names of those that cannot be decrypted here. */
  unreadable: Set<string>
  /** Names of those that call `hmac`, whose key is missing or cannot be decrypted here. */
  keyless: Set<string>
  isRead: boolean
  pending: Promise<unknown>
}

const SEALED =
  'what is stored of it is encrypted and cannot be read: it was altered, or its master key is not here'

export function makeSubscriptionStateCache(
  deps: Pick<EngineDeps, 'store' | 'log'> & {
    readonly registry: Registry
    readonly commits: Pick<Commits, 'once'>
    readonly ids: Pick<Ids, 'uuid'>
    readonly unitOfWork: Pick<UnitOfWork, 'once' | 'release'>
    /** Jobs of subscriptions may be due that were not claimed before. */
    wake(): void
  },
): SubscriptionStateCache {
  const { store, log, registry, commits, unitOfWork, ids } = deps
  const tenants = new Map<TenantId, Tenant>()

  const tenantOf = (name: TenantId): Tenant => {
    const known = tenants.get(name)
    if (known !== undefined) return known
    const made: Tenant = {
      changeCounter: NO_CHANGES,
      stored: new Map(),
      unreadable: new Set(),
      keyless: new Set(),
      isRead: false,
      pending: Promise.resolve(),
    }
    tenants.set(name, made)
    return made
  }

  /** One after the other: a read of the store must not undo a concurrent change. */
  const serialize = <Value>(tenant: Tenant, work: () => Promise<Value>): Promise<Value> => {
    const mine = tenant.pending.then(work)
    tenant.pending = mine.catch(() => {})
    return mine
  }

  const enforce = (
    tenant: TenantId,
    name: string,
    before: StoredSubscription | null,
    after: StoredSubscription | null,
  ) => {
    const wasOwn = before?.record.document != null
    const document = after?.record.document ?? null
    // Of definitions: applied again once they are deployed, by what they declare then.
    const declared = document ?? registry.subscription(tenant, name)?.document ?? null
    const state = after?.record.state ?? null
    registry.setSubscriptionStatus(tenant, name, saidStatus(declared, state))
    if (document === null) {
      if (wasOwn) {
        registry.dropSubscription(tenant, name)
        registry.setSubscriptionUsable(tenant, name, true)
      }
      return
    }
    if (wasOwn && before.record.document === document) return
    compileInto(tenant, document, after?.record.language ?? 1)
  }

  const compileInto = (tenant: TenantId, document: SubscriptionDocument, language: number) => {
    const { name } = document
    const { keyless } = tenantOf(tenant)
    keyless.delete(name)
    const giveUp = (error: string) => {
      registry.dropSubscription(tenant, name)
      registry.setSubscriptionUsable(tenant, name, false)
      log.error('subscription.unusable', { tenant, subscription: name, error })
    }
    if (language > LANGUAGE) return giveUp(NEWER_LANGUAGE)
    try {
      const known = registry.subscription(tenant, name)
      if (known?.hash !== hashDocument(document))
        registry.putSubscription(tenant, registry.compileSubscription(tenant, document, language))
      registry.setSubscriptionUsable(tenant, name, true)
    } catch (error) {
      if (isUnreadable(error)) keyless.add(name)
      giveUp(messageOf(error))
    }
  }

  /**
   * Subscriptions that call `hmac` are compiled with its key: it is loaded before the first of them. Those older than `hmac`
   * cannot call it.
   */
  const loadHmacKeyFor = async (
    tenant: TenantId,
    found: Iterable<StoredSubscription | typeof UNREADABLE | null>,
  ) => {
    if (registry.hmacKeys.known(tenant) !== null) return
    for (const stored of found) {
      if (stored === null || stored === UNREADABLE) continue
      const { document, language = 1 } = stored.record
      if (language < HMAC_LANGUAGE || !mayUseHmac(document)) continue
      await registry.hmacKeys.load(tenant)
      return
    }
  }

  /**
   * A key that was missing or could not be decrypted may be usable by now: another node encrypts it again with the current
   * master key.
   */
  const compileKeyless = async (tenant: TenantId, stateCache: Tenant) => {
    if (stateCache.keyless.size === 0 || (await registry.hmacKeys.load(tenant)) === null) return
    for (const name of [...stateCache.keyless]) {
      const record = stateCache.stored.get(name)?.record
      stateCache.keyless.delete(name)
      if (record?.document != null) compileInto(tenant, record.document, record.language ?? 1)
    }
    deps.wake()
  }

  const learn = (
    tenant: TenantId,
    stateCache: Tenant,
    name: string,
    after: StoredSubscription | typeof UNREADABLE | null,
  ) => {
    if (after === UNREADABLE) {
      if (stateCache.unreadable.has(name)) return
      stateCache.unreadable.add(name)
      stateCache.stored.delete(name)
      registry.dropSubscription(tenant, name)
      registry.setSubscriptionUsable(tenant, name, false)
      log.error('subscription.unusable', { tenant, subscription: name, error: SEALED })
      return
    }
    if (stateCache.unreadable.delete(name)) registry.setSubscriptionUsable(tenant, name, true)
    const before = stateCache.stored.get(name) ?? null
    if (before?.version === after?.version) return
    if (after === null) stateCache.stored.delete(name)
    else stateCache.stored.set(name, after)
    enforce(tenant, name, before, after)
  }

  /** Serialized with the changes of the tenant. */
  const follow = async (tenant: TenantId, stateCache: Tenant) => {
    const reads = store.forTenant(tenant)
    const changeCounter = await readChangeCounter(reads)
    await compileKeyless(tenant, stateCache)
    if (stateCache.isRead && changeCounter.version === stateCache.changeCounter.version) return
    const names = stateCache.isRead ? changedSince(stateCache.changeCounter, changeCounter) : null
    if (names === null) {
      const all = await readSubscriptions(reads, stateCache.stored)
      await loadHmacKeyFor(tenant, all.values())
      for (const name of [...stateCache.stored.keys(), ...stateCache.unreadable])
        if (!all.has(name)) learn(tenant, stateCache, name, null)
      for (const [name, stored] of all) learn(tenant, stateCache, name, stored)
    } else {
      for (const name of names) {
        const stored = await trySubscription(reads, name)
        await loadHmacKeyFor(tenant, [stored])
        learn(tenant, stateCache, name, stored)
      }
    }
    const isFirst = !stateCache.isRead
    stateCache.changeCounter = changeCounter
    stateCache.isRead = true
    if (!isFirst || stateCache.stored.size > 0) deps.wake()
  }

  /** A subscription that is removed and created again must not get a version that another node still guards or knows. */
  const nextVersion = (stored: StoredSubscription | null): number =>
    stored === null ? Number.parseInt(ids.uuid().slice(-6), 16) + 1 : stored.version + 1

  const takeBack = async (
    tenant: TenantId,
    stateCache: Tenant,
    name: string,
    before: StoredSubscription | null,
    after: StoredSubscription | null,
  ) => {
    const { changeCounter, guard, write } = beat(stateCache.changeCounter, name)
    const put =
      before === null
        ? deleteSubscription(name)
        : putSubscription(name, { record: before.record, version: (after?.version ?? before.version) + 1 })
    try {
      const result = await commits.once(tenant, [guardOf(name, after?.version ?? 0), guard], [put, write])
      if (result.ok) stateCache.changeCounter = changeCounter
    } catch (error) {
      log.error('subscription.not-taken-back', { tenant, subscription: name, error: messageOf(error) })
    }
    learn(tenant, stateCache, name, await readSubscription(store.forTenant(tenant), name))
  }

  const commitStep = async (
    tenant: TenantId,
    stateCache: Tenant,
    name: string,
    before: StoredSubscription | null,
    step: Step,
  ): Promise<Changed | null> => {
    const { guards = [], writes = [], plans = [] } = step
    const { changeCounter, guard, write } = beat(stateCache.changeCounter, name)
    const isNewDocument =
      step.record?.document != null &&
      (before?.record.document == null ||
        hashDocument(before.record.document) !== hashDocument(step.record.document))
    const record =
      step.record?.document != null && isNewDocument
        ? { ...step.record, language: languageOf(step.record.document) }
        : step.record
    const after = record === null ? null : { record, version: nextVersion(before) }
    try {
      if (isNewDocument && record?.document != null) {
        refuseUnusable(record.document)
        if (mayUseHmac(record.document)) await registry.hmacKeys.ensure(tenant)
      }
    } catch (error) {
      unitOfWork.release(plans)
      throw error
    }
    // Deployed first: jobs that start with the change find it in its current form.
    const ended = (isStored: boolean) => {
      if (isStored) learn(tenant, stateCache, name, after)
    }
    const result = await unitOfWork.once(tenant, {
      guards: [guardOf(name, before?.version ?? 0), guard, ...guards],
      writes: [
        after === null ? deleteSubscription(name) : putSubscription(name, after),
        // Jobs pinned to it find it by its hash, even after it is changed or removed.
        ...(isNewDocument && record?.document != null ? [putDocument(record.document)] : []),
        write,
        ...writes,
        ...plans.flatMap((plan) => plan.writes),
      ],
      plans: plans.length === 0 ? [] : [{ plans, ended }],
    })
    if (!result.ok) return null
    stateCache.changeCounter = changeCounter
    try {
      await step.onStored?.()
    } catch (error) {
      await takeBack(tenant, stateCache, name, before, after)
      throw error
    }
    if (plans.length === 0) learn(tenant, stateCache, name, after)
    deps.wake()
    return { before, after, at: result.at }
  }

  const change: SubscriptionStateCache['change'] = (tenant, name, decide) => {
    const stateCache = tenantOf(tenant)
    const changeOnce = async (retry: () => Promise<Changed | null>): Promise<Changed | null> => {
      if (!stateCache.isRead) await follow(tenant, stateCache)
      const stored = await readSubscription(store.forTenant(tenant), name)
      const step = await decide(stored)
      if (step === null) {
        await loadHmacKeyFor(tenant, [stored])
        // Perhaps another node's change, which this one has not read yet.
        learn(tenant, stateCache, name, stored)
        return null
      }
      const changed = await commitStep(tenant, stateCache, name, stored, step)
      if (changed !== null) return changed
      await follow(tenant, stateCache)
      return retry()
    }
    const unending = orConflict('this subscription keeps changing')
    return serialize(stateCache, () => retrying(RACES_MAX, changeOnce, unending))
  }

  return {
    async prepare(tenant) {
      const stateCache = tenantOf(tenant)
      if (!stateCache.isRead)
        await serialize(stateCache, () =>
          stateCache.isRead ? Promise.resolve() : follow(tenant, stateCache),
        )
    },
    refresh(tenant) {
      const stateCache = tenantOf(tenant)
      return serialize(stateCache, () => follow(tenant, stateCache))
    },
    tenants: () => [...tenants.keys()],
    find: (tenant, name) => tenants.get(tenant)?.stored.get(name) ?? null,
    all: (tenant) => tenants.get(tenant)?.stored ?? new Map(),
    change,
  }
}

/** Compiled before it is committed, whatever changed: an unusable document must not be stored. */
function refuseUnusable(document: SubscriptionDocument): void {
  try {
    compileSubscription(document)
  } catch (error) {
    throw new AppError('subscription_invalid', `it cannot be put in force: ${messageOf(error)}`)
  }
}

/** The state that overrides the document; null: the document alone counts. */
export function saidStatus(
  document: Pick<SubscriptionDocument, 'status'> | null,
  state: SubscriptionState | null,
): SubscriptionStatus | null {
  if (state === null) return null
  const status = document === null ? state.status : effectiveStatus(document, state)
  return status === document?.status ? null : status
}
