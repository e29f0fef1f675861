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
  changedSince,
  deleteSubscription,
  guardOf,
  type Kept,
  NO_PULSE,
  type Pulse,
  putSubscription,
  readPulse,
  readSubscription,
  readSubscriptions,
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
  kept?(): Promise<void>
}

export interface Changed {
  readonly before: Kept | null
  readonly after: Kept | null
  readonly at: Instant
}

export interface Book {
  /** Reads the subscriptions of a tenant, unless they were read. */
  prepare(tenant: TenantId): Promise<void>
  /** Reads what other nodes changed since; one small read if nothing changed. */
  refresh(tenant: TenantId): Promise<void>
  /** The tenants that were read so far. */
  tenants(): readonly TenantId[]
  find(tenant: TenantId, name: string): Kept | null
  all(tenant: TenantId): ReadonlyMap<string, Kept>
  /**
   * Decided again, by the record stored then, if another node changed it at the same moment. `decide` returns null if there is
   * nothing to change. Throws what `decide` throws, and `conflict` after too many races.
   */
  change(
    tenant: TenantId,
    name: string,
    decide: (kept: Kept | null) => Step | null | Promise<Step | null>,
  ): Promise<Changed | null>
}

interface Tenant {
  pulse: Pulse
  kept: Map<string, Kept>
  /** Names of those that cannot be decrypted here. */
  unreadable: Set<string>
  /** Names of those that call `hmac`, whose key is missing or cannot be decrypted here. */
  keyless: Set<string>
  isRead: boolean
  pending: Promise<unknown>
}

const SEALED =
  'what is stored of it is encrypted and cannot be read: it was altered, or its master key is not here'

export function makeBook(
  deps: Pick<EngineDeps, 'store' | 'log'> & {
    readonly registry: Registry
    readonly commits: Pick<Commits, 'once'>
    readonly ids: Pick<Ids, 'uuid'>
    readonly unitOfWork: Pick<UnitOfWork, 'once' | 'release'>
    /** Jobs of subscriptions may be due that were not claimed before. */
    wake(): void
  },
): Book {
  const { store, log, registry, commits, unitOfWork, ids } = deps
  const tenants = new Map<TenantId, Tenant>()

  const tenantOf = (name: TenantId): Tenant => {
    const known = tenants.get(name)
    if (known !== undefined) return known
    const made: Tenant = {
      pulse: NO_PULSE,
      kept: new Map(),
      unreadable: new Set(),
      keyless: new Set(),
      isRead: false,
      pending: Promise.resolve(),
    }
    tenants.set(name, made)
    return made
  }

  /** One after the other: a read of the store must not undo a concurrent change. */
  const inTurn = <Value>(tenant: Tenant, work: () => Promise<Value>): Promise<Value> => {
    const mine = tenant.pending.then(work)
    tenant.pending = mine.catch(() => {})
    return mine
  }

  const enforce = (tenant: TenantId, name: string, before: Kept | null, after: Kept | null) => {
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
  const loadHmacKeyFor = async (tenant: TenantId, found: Iterable<Kept | typeof UNREADABLE | null>) => {
    if (registry.hmacKeys.known(tenant) !== null) return
    for (const kept of found) {
      if (kept === null || kept === UNREADABLE) continue
      const { document, language = 1 } = kept.record
      if (language < HMAC_LANGUAGE || !mayUseHmac(document)) continue
      await registry.hmacKeys.load(tenant)
      return
    }
  }

  /**
   * A key that was missing or could not be decrypted may be usable by now: another node encrypts it again with the current
   * master key.
   */
  const compileKeyless = async (tenant: TenantId, book: Tenant) => {
    if (book.keyless.size === 0 || (await registry.hmacKeys.load(tenant)) === null) return
    for (const name of [...book.keyless]) {
      const record = book.kept.get(name)?.record
      book.keyless.delete(name)
      if (record?.document != null) compileInto(tenant, record.document, record.language ?? 1)
    }
    deps.wake()
  }

  const learn = (tenant: TenantId, book: Tenant, name: string, after: Kept | typeof UNREADABLE | null) => {
    if (after === UNREADABLE) {
      if (book.unreadable.has(name)) return
      book.unreadable.add(name)
      book.kept.delete(name)
      registry.dropSubscription(tenant, name)
      registry.setSubscriptionUsable(tenant, name, false)
      log.error('subscription.unusable', { tenant, subscription: name, error: SEALED })
      return
    }
    if (book.unreadable.delete(name)) registry.setSubscriptionUsable(tenant, name, true)
    const before = book.kept.get(name) ?? null
    if (before?.version === after?.version) return
    if (after === null) book.kept.delete(name)
    else book.kept.set(name, after)
    enforce(tenant, name, before, after)
  }

  /** Serialized with the changes of the tenant. */
  const follow = async (tenant: TenantId, book: Tenant) => {
    const reads = store.forTenant(tenant)
    const pulse = await readPulse(reads)
    await compileKeyless(tenant, book)
    if (book.isRead && pulse.version === book.pulse.version) return
    const names = book.isRead ? changedSince(book.pulse, pulse) : null
    if (names === null) {
      const all = await readSubscriptions(reads, book.kept)
      await loadHmacKeyFor(tenant, all.values())
      for (const name of [...book.kept.keys(), ...book.unreadable])
        if (!all.has(name)) learn(tenant, book, name, null)
      for (const [name, kept] of all) learn(tenant, book, name, kept)
    } else {
      for (const name of names) {
        const kept = await trySubscription(reads, name)
        await loadHmacKeyFor(tenant, [kept])
        learn(tenant, book, name, kept)
      }
    }
    const isFirst = !book.isRead
    book.pulse = pulse
    book.isRead = true
    if (!isFirst || book.kept.size > 0) deps.wake()
  }

  /** A subscription that is removed and created again must not get a version that another node still guards or knows. */
  const nextVersion = (kept: Kept | null): number =>
    kept === null ? Number.parseInt(ids.uuid().slice(-6), 16) + 1 : kept.version + 1

  const takeBack = async (
    tenant: TenantId,
    book: Tenant,
    name: string,
    before: Kept | null,
    after: Kept | null,
  ) => {
    const { pulse, guard, write } = beat(book.pulse, name)
    const put =
      before === null
        ? deleteSubscription(name)
        : putSubscription(name, { record: before.record, version: (after?.version ?? before.version) + 1 })
    try {
      const result = await commits.once(tenant, [guardOf(name, after?.version ?? 0), guard], [put, write])
      if (result.ok) book.pulse = pulse
    } catch (error) {
      log.error('subscription.not-taken-back', { tenant, subscription: name, error: messageOf(error) })
    }
    learn(tenant, book, name, await readSubscription(store.forTenant(tenant), name))
  }

  const commitStep = async (
    tenant: TenantId,
    book: Tenant,
    name: string,
    before: Kept | null,
    step: Step,
  ): Promise<Changed | null> => {
    const { guards = [], writes = [], plans = [] } = step
    const { pulse, guard, write } = beat(book.pulse, name)
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
      if (isStored) learn(tenant, book, name, after)
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
    book.pulse = pulse
    try {
      await step.kept?.()
    } catch (error) {
      await takeBack(tenant, book, name, before, after)
      throw error
    }
    if (plans.length === 0) learn(tenant, book, name, after)
    deps.wake()
    return { before, after, at: result.at }
  }

  const change: Book['change'] = (tenant, name, decide) => {
    const book = tenantOf(tenant)
    const changeOnce = async (retry: () => Promise<Changed | null>): Promise<Changed | null> => {
      if (!book.isRead) await follow(tenant, book)
      const kept = await readSubscription(store.forTenant(tenant), name)
      const step = await decide(kept)
      if (step === null) {
        await loadHmacKeyFor(tenant, [kept])
        // Perhaps another node's change, which this one has not read yet.
        learn(tenant, book, name, kept)
        return null
      }
      const changed = await commitStep(tenant, book, name, kept, step)
      if (changed !== null) return changed
      await follow(tenant, book)
      return retry()
    }
    const unending = orConflict('this subscription keeps changing')
    return inTurn(book, () => retrying(RACES_MAX, changeOnce, unending))
  }

  return {
    async prepare(tenant) {
      const book = tenantOf(tenant)
      if (!book.isRead) await inTurn(book, () => (book.isRead ? Promise.resolve() : follow(tenant, book)))
    },
    refresh(tenant) {
      const book = tenantOf(tenant)
      return inTurn(book, () => follow(tenant, book))
    },
    tenants: () => [...tenants.keys()],
    find: (tenant, name) => tenants.get(tenant)?.kept.get(name) ?? null,
    all: (tenant) => tenants.get(tenant)?.kept ?? new Map(),
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
