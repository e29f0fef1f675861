// The operator API of subscriptions: created, changed, removed, paused, disabled and enabled, their secrets rotated.
//
// Invariants: SU4 a subscription of the API is deployed with its commit, here at once and on other nodes by their next check.
// SU5 a name belongs to one subscription. SU14 enabling a disabled one puts a test event before all waiting deliveries, in the
// same commit.

import { holdToLimit, type TenantLimits } from '../../../core/access/callers/index.ts'
import { hashDocument, type SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import {
  effectiveStatus,
  FRESH_SUBSCRIPTION,
  SUBSCRIPTION_PREFIX,
  type Subscription,
  type SubscriptionRecord,
  type SubscriptionState,
  stepSubscription,
  withStatus,
} from '../../../core/webhooks/subscription/index.ts'
import type { Log } from '../../../ports/log.ts'
import type { Store } from '../../../ports/store.ts'
import type { Decided } from '../../access/index.ts'
import { type EventPlan, orConflict, RACES_MAX, retrying } from '../../commit/index.ts'
import { type Registry, readChangeCounter as readDefinitionsCounter } from '../../definitions/index.ts'
import type { Removals } from './removed-subscriptions.ts'
import type { SigningSecrets } from './signing-secrets.ts'
import { type About, type NoticeDeps, rotatedEvent, subscriptionEvents } from './subscription-events.ts'
import { readHealth } from './subscription-health.ts'
import {
  freshRecord,
  putRemoval,
  readRemoval,
  removalGuard,
  type StoredSubscription,
} from './subscription-records.ts'
import type { Step, SubscriptionStateCache } from './subscription-state-cache.ts'
import type {
  SubscriptionItem,
  SubscriptionQuery,
  Subscriptions,
  SubscriptionTest,
  SubscriptionView,
} from './subscription-types.ts'

interface SubscriptionsDeps extends NoticeDeps {
  readonly store: Store
  readonly log: Log
  readonly registry: Registry
  readonly stateCache: SubscriptionStateCache
  readonly signing: SigningSecrets
  readonly removals: Pick<Removals, 'begin'>
  now(): Instant
  isDefined(tenant: TenantId, name: string): boolean
  /** The limits of a tenant. */
  readonly limits: TenantLimits
  refreshDefinitions(tenant: TenantId): Promise<void>
  /** A test event with its delivery to this subscription alone. */
  planTest(about: About, subscription: Subscription): EventPlan
  test(tenant: TenantId, subscription: Subscription): Promise<SubscriptionTest>
}

type Verb = 'pause' | 'resume' | 'disable' | 'enable'

/** Definitions were applied while one was created: whether they have its name must be checked again. */
class Overtaken extends Error {}

export function makeSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  const { store, log, registry, stateCache, signing } = deps

  const found = (tenant: TenantId, name: string): Subscription => {
    const subscription = registry.subscription(tenant, name)
    if (subscription === null)
      throw new AppError('unknown_subscription', `there is no subscription ${name} in force`)
    return subscription
  }

  const itemOf = (tenant: TenantId, { document, hash }: Subscription): SubscriptionItem => {
    const { name } = document
    const stored = stateCache.find(tenant, name)
    const record = stored?.record ?? null
    const state = record?.state ?? FRESH_SUBSCRIPTION
    const status = effectiveStatus(document, state)
    const { failingSince } = state
    const willDisable = status === 'failing' && failingSince !== null && document.disableAfterMs !== null
    return {
      name,
      document,
      hash,
      written: record?.written ?? null,
      managedBy: record?.document == null ? 'folder' : 'api',
      status,
      state,
      disableAt: willDisable ? failingSince + (document.disableAfterMs ?? 0) : null,
      version: stored?.version ?? 0,
      createdAt: record?.createdAt ?? null,
      createdBy: record?.createdBy ?? null,
      updatedAt: record?.updatedAt ?? null,
      updatedBy: record?.updatedBy ?? null,
    }
  }

  const viewOf = async (tenant: TenantId, name: string): Promise<SubscriptionView> => {
    const item = itemOf(tenant, found(tenant, name))
    const [health] = await readHealth(store, tenant, [name])
    return { ...item, health: health as SubscriptionView['health'] }
  }

  /** A change by another node a moment ago counts too. */
  const refresh = async (tenant: TenantId) => {
    await deps.refreshDefinitions(tenant)
    await stateCache.refresh(tenant)
  }

  /** One of the API; throws otherwise. */
  const ownOf = (
    tenant: TenantId,
    name: string,
    stored: StoredSubscription | null,
  ): StoredSubscription & { record: Own } => {
    if (stored?.record.document != null) return stored as StoredSubscription & { record: Own }
    found(tenant, name)
    const detail = `${name} stands in the tenant’s definitions: change it there and apply them`
    throw new AppError('managed_by_folder', detail, { details: { definitions: [`Subscription/${name}`] } })
  }

  const refuseTaken = async (tenant: TenantId, name: string, stored: StoredSubscription | null) => {
    if (stored?.record.document != null || deps.isDefined(tenant, name))
      throw new AppError('name_taken', `there is a subscription ${name} already`)
    const reads = store.forTenant(tenant)
    const [open] = await reads.openCounts([`${SUBSCRIPTION_PREFIX}${name}`], 1)
    const isOpen = open !== undefined && open.ready + open.waiting + open.leased > 0
    if (isOpen || (await readRemoval(reads, name)))
      throw new AppError(
        'name_taken',
        `deliveries of a former subscription ${name} are still being cancelled: try again in a moment, or choose another name`,
      )
  }

  const createOnce: Subscriptions['create'] = async (tenant, { document, written }, decided) => {
    const { name } = document
    const reads = store.forTenant(tenant)
    const changeCounter = await readDefinitionsCounter(reads)
    await refresh(tenant)
    let secret: string | null = null
    const by = byOf(decided)
    await stateCache.change(tenant, name, async (stored): Promise<Step> => {
      await refuseTaken(tenant, name, stored)
      holdToLimit('subscriptions', registry.subscriptions(tenant).length + 1, deps.limits)
      if ((await readDefinitionsCounter(reads)) !== changeCounter) throw new Overtaken()
      const now = deps.now()
      return {
        record: { ...freshRecord(now, by), document, written },
        guards: [removalGuard(name), { g: 'version', of: 'bundle', key: 'pulse', version: changeCounter }],
        async onStored() {
          if (document.secret === null) secret = (await signing.generate(tenant, document, by)).secret
        },
      }
    })
    log.info('subscription.created', { tenant, subscription: name, ...saidOf(decided) })
    return { item: await viewOf(tenant, name), secret }
  }

  /** What a changed document means for its generated secret; returns the new one to be shown. */
  const secretAfter = async (
    tenant: TenantId,
    before: SubscriptionDocument,
    after: SubscriptionDocument,
    by: string,
  ): Promise<string | null> => {
    if (after.secret !== null) {
      if (before.secret === null) await signing.forget(tenant, after.name, by)
      return null
    }
    if (before.secret !== null) return (await signing.generate(tenant, after, by)).secret
    // Receivers may need a while to follow a changed signing method.
    if (before.signing !== after.signing) return (await signing.rotate(tenant, after, {}, by)).secret
    return null
  }

  const control = async (
    tenant: TenantId,
    name: string,
    verb: Verb,
    decided: Decided,
  ): Promise<SubscriptionView> => {
    await refresh(tenant)
    const by = byOf(decided)
    const changed = await stateCache.change(tenant, name, (stored) => {
      const subscription = found(tenant, name)
      const { document } = subscription
      const at = deps.now()
      const record = stored?.record ?? freshRecord(at, by)
      const type = spoken(verb, effectiveStatus(document, record.state))
      const input = { type, at, by, reason: decided.reason ?? null }
      const { state, notices } = stepSubscription(record.state, input, document)
      if (state === record.state) return null
      const about = { tenant, document, change: `${name}:${(stored?.version ?? 0) + 1}` }
      const isEnabled = notices.some(({ notice }) => notice === 'enabled')
      return {
        record: { ...record, state, updatedAt: at, updatedBy: by },
        plans: [
          // First, so that it is created before anything else in the commit.
          ...(isEnabled ? [deps.planTest(about, withStatus(subscription, 'active'))] : []),
          ...notices.map((told) => subscriptionEvents(deps, about, told)),
        ],
      }
    })
    if (changed !== null) {
      const status = registry.subscription(tenant, name)?.status
      log.info('subscription.controlled', { tenant, subscription: name, status, ...saidOf(decided) })
    }
    return viewOf(tenant, name)
  }

  const pageOf = (tenant: TenantId, { status, q, cursor, limit }: SubscriptionQuery) => {
    const word = q?.toLowerCase()
    const names = registry
      .subscriptions(tenant)
      .filter(
        (one) =>
          (status === undefined || one.status === status) &&
          (word === undefined || isAbout(one.document, word)),
      )
      .map(({ document }) => document.name)
      .filter((name) => cursor === null || name > cursor)
      .sort()
    return { names: names.slice(0, limit), hasMore: names.length > limit }
  }

  return {
    async counts(tenant) {
      const counts = { active: 0, failing: 0, paused: 0, disabled: 0 }
      for (const { status } of registry.subscriptions(tenant)) counts[status] += 1
      return counts
    },
    async list(tenant, query) {
      await refresh(tenant)
      const { names, hasMore } = pageOf(tenant, query)
      const healths = await readHealth(store, tenant, names)
      const items = names.flatMap((name, index) => {
        const subscription = registry.subscription(tenant, name)
        const health = healths[index]
        return subscription === null || health === undefined
          ? []
          : [{ ...itemOf(tenant, subscription), health }]
      })
      return { items, nextCursor: hasMore ? (names.at(-1) ?? null) : null }
    },
    async find(tenant, name) {
      await refresh(tenant)
      const view = await viewOf(tenant, name)
      return { ...view, secret: await signing.show(tenant, view.document, view.state.isSecretUnseen) }
    },
    create(tenant, given, decided) {
      type Created = Awaited<ReturnType<typeof createOnce>>
      const create = async (retry: () => Promise<Created>): Promise<Created> => {
        try {
          return await createOnce(tenant, given, decided)
        } catch (error) {
          if (error instanceof Overtaken) return retry()
          throw error
        }
      }
      return retrying(RACES_MAX, create, orConflict('the definitions keep changing'))
    },
    async patch(tenant, name, { document, written, base }, decided) {
      if (document.name !== name)
        throw new AppError('invalid_request', 'a subscription keeps its name: make another and remove this')
      await refresh(tenant)
      const by = byOf(decided)
      let secret: string | null = null
      const changed = await stateCache.change(tenant, name, (stored): Step | null => {
        const { record } = ownOf(tenant, name, stored)
        const hash = hashDocument(record.document)
        if (base !== undefined && base !== hash)
          throw new AppError('conflict', 'another user changed it: read it again')
        if (hash === hashDocument(document) && record.written === written) return null
        const now = deps.now()
        const stays = record.document.url === document.url ? record.state : moved(record.state, now, by)
        const isDeclared = record.document.status !== document.status
        const state = isDeclared ? newlyDeclared(record.state, now, by, decided) : stays
        return {
          record: { ...record, document, written, state, updatedAt: now, updatedBy: by },
          async onStored() {
            secret = await secretAfter(tenant, record.document, document, by)
          },
        }
      })
      if (changed !== null)
        log.info('subscription.patched', { tenant, subscription: name, ...saidOf(decided) })
      return { item: await viewOf(tenant, name), secret }
    },
    async remove(tenant, name, decided) {
      await refresh(tenant)
      await stateCache.change(tenant, name, (stored) => {
        ownOf(tenant, name, stored)
        const version = Number.parseInt(deps.ids.uuid().slice(-6), 16) + 1
        return { record: null, writes: [putRemoval(name, { version, at: deps.now() })] }
      })
      log.info('subscription.removed', { tenant, subscription: name, ...saidOf(decided) })
      deps.removals.begin(tenant, name, true)
    },
    pause: (tenant, name, decided) => control(tenant, name, 'pause', decided),
    disable: (tenant, name, decided) => control(tenant, name, 'disable', decided),
    enable: (tenant, name, decided) => control(tenant, name, 'enable', decided),
    resume: (tenant, name, decided) => control(tenant, name, 'resume', decided),
    async rotateSecret(tenant, name, request, decided) {
      await refresh(tenant)
      const { document } = found(tenant, name)
      const by = byOf(decided)
      const { secret, overlapMs } = signing.plan(document, request)
      const { version: from } = await signing.show(tenant, document, false)
      const at = deps.now()
      const mark = { from, overlapMs, by, at }
      // Noted first: after a crash between here and the end, the next node emits the event, and can show the secret.
      await stateCache.change(tenant, name, (stored) => ({ record: rotatingRecord(stored, mark) }))
      const { version } = await signing
        .rotate(tenant, document, { secret, overlapMs }, by)
        .catch(async (error) => {
          await stateCache.change(tenant, name, (stored) =>
            stored === null ? null : { record: notRotating(stored) },
          )
          throw error
        })
      const oldUntil = from === null || overlapMs === 0 ? null : at + overlapMs
      await stateCache.change(tenant, name, (stored) => {
        const { rotating: _, ...state } = stored?.record.state ?? FRESH_SUBSCRIPTION
        const record = stored?.record ?? freshRecord(at, by)
        const about = { tenant, document, change: `${name}:secret:${version}` }
        return {
          record: { ...record, state: { ...state, isSecretUnseen: false }, updatedAt: at, updatedBy: by },
          plans: [rotatedEvent(deps, about, { version, oldUntil, by })],
        }
      })
      log.info('subscription.secret-rotated', { tenant, subscription: name, version, ...saidOf(decided) })
      return { secret, version, oldUntil }
    },
    async revealSecret(tenant, name, decided) {
      await refresh(tenant)
      const { document } = found(tenant, name)
      const by = byOf(decided)
      const current = document.secret === null ? await signing.current(tenant, document) : null
      await stateCache.change(tenant, name, (stored) => {
        if (stored === null || current === null || !stored.record.state.isSecretUnseen)
          throw new AppError('secret_shown', 'its secret was already shown')
        const { record } = stored
        const state = { ...record.state, isSecretUnseen: false }
        return { record: { ...record, state, updatedAt: deps.now(), updatedBy: by } }
      })
      log.info('subscription.secret-revealed', { tenant, subscription: name, ...saidOf(decided) })
      return current as NonNullable<typeof current>
    },
    async publicKeys(tenant, name) {
      const subscription = registry.subscription(tenant, name)
      return subscription === null ? null : signing.publicKeys(tenant, subscription.document)
    },
    async test(tenant, name, decided) {
      await refresh(tenant)
      const tested = await deps.test(tenant, found(tenant, name))
      const { ok, status, durationMs } = tested
      log.info('subscription.tested', {
        tenant,
        subscription: name,
        ok,
        status,
        durationMs,
        class: tested.class,
        ...saidOf(decided),
      })
      return tested
    },
    refresh,
  }
}

type Own = SubscriptionRecord & { readonly document: SubscriptionDocument }

/** Enabling a paused one means resuming it, and the other way round. */
function spoken(verb: Verb, status: SubscriptionItem['status']): Verb {
  if (verb !== 'enable' && verb !== 'resume') return verb
  return status === 'paused' ? 'resume' : 'enable'
}

/** The stored status ends if the document itself declares a new one. */
function newlyDeclared(
  state: SubscriptionState,
  since: Instant,
  by: string,
  { reason = null }: Decided,
): SubscriptionState {
  return { ...state, status: null, because: null, reason, by, since, failingSince: null, warnings: 0 }
}

/** Failures of another address say nothing about this one. */
function moved(state: SubscriptionState, since: Instant, by: string): SubscriptionState {
  if (state.failingSince === null || state.status === 'disabled') return state
  const status = state.status === 'failing' ? null : state.status
  return { ...state, status, reason: null, by, since, failingSince: null, warnings: 0 }
}

/** Not by the query of its address: it may contain a token, and a user who may not see it must not guess it piece by piece. */
function isAbout({ name, description, url, on, metadata }: SubscriptionDocument, word: string): boolean {
  const [place = ''] = url.split('?', 1)
  return [name, description ?? '', place, ...on, ...Object.entries(metadata).flat()].some((text) =>
    text.toLowerCase().includes(word),
  )
}

function byOf({ actor = 'the engine’s owner' }: Decided): string {
  return actor
}

function saidOf(decided: Decided) {
  return { by: byOf(decided), reason: decided.reason ?? null }
}

type RotatingMark = Omit<NonNullable<SubscriptionState['rotating']>, 'wasUnseen'>

function rotatingRecord(stored: StoredSubscription | null, mark: RotatingMark): SubscriptionRecord {
  const record = stored?.record ?? freshRecord(mark.at, mark.by)
  const wasUnseen = record.state.rotating?.wasUnseen ?? record.state.isSecretUnseen
  const state = { ...record.state, isSecretUnseen: true, rotating: { ...mark, wasUnseen } }
  return { ...record, state, updatedAt: mark.at, updatedBy: mark.by }
}

/** The rotation did not happen. */
function notRotating({ record }: StoredSubscription): SubscriptionRecord {
  const { rotating, ...state } = record.state
  return { ...record, state: { ...state, isSecretUnseen: rotating?.wasUnseen ?? state.isSecretUnseen } }
}
