// Subscriptions in a tenant's definitions: the state of each is a record beside its document, which exists before the document
// is deployed, and outlives it.
//
// Invariants: SU5 a name belongs to one subscription, of the definitions or of the API. SU6 the state of a definition's
// subscription survives when it is applied again, or removed and added again. SU11 its generated secret exists before it is
// deployed, and is made once.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { AppError, messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { type Instant, MINUTE } from '../../../core/foundation/time/index.ts'
import { parseSecret } from '../../../core/webhooks/signing/index.ts'
import type { Log } from '../../../ports/log.ts'
import type { Guard, Store } from '../../../ports/store.ts'
import { isUnreadable } from '../../commit/index.ts'
import type { DefinedSubscriptions, Registry } from '../../definitions/index.ts'
import type { SigningSecrets } from './signing-secrets.ts'
import { freshRecord, guardOf, readSubscription } from './subscription-records.ts'
import { type SubscriptionStateCache, saidStatus } from './subscription-state-cache.ts'

/** The node that made a record without its secret may be about to make it. */
const GRACE_MS = 1 * MINUTE
const FOLDER = 'its definition'

export function makeDefinedSubscriptions(deps: {
  readonly store: Store
  readonly log: Log
  readonly stateCache: SubscriptionStateCache
  readonly signing: SigningSecrets
  now(): Instant
  setStatus: Registry['setSubscriptionStatus']
  /** A subscription is no longer defined. */
  gone(tenant: TenantId, name: string): void
}): DefinedSubscriptions & {
  /** Those that have a record but no document any more. */
  left(tenant: TenantId): readonly string[]
  isDefined(tenant: TenantId, name: string): boolean
} {
  const { store, log, stateCache, signing } = deps
  /** Those deployed by definitions. */
  const defined = new Map<TenantId, ReadonlySet<string>>()
  /** Whose secret was checked, and the signing method that it was valid for. */
  const looked = new Map<string, string>()

  /** Whether this node made its record. */
  const ensureRecord = async (tenant: TenantId, { name, secret }: SubscriptionDocument): Promise<boolean> => {
    if (stateCache.find(tenant, name) !== null) return false
    const made = await stateCache.change(tenant, name, (stored) =>
      stored === null
        ? { record: freshRecord(deps.now(), FOLDER, { isSecretUnseen: secret === null }) }
        : null,
    )
    return made !== null
  }

  const markUnseen = (tenant: TenantId, name: string) =>
    stateCache.change(tenant, name, (stored) => {
      if (stored === null || stored.record.state.isSecretUnseen) return null
      const { record } = stored
      return { record: { ...record, state: { ...record.state, isSecretUnseen: true } } }
    })

  /** Whether the secret exists. */
  const ensureSecret = async (
    tenant: TenantId,
    document: SubscriptionDocument,
    isMine: boolean,
  ): Promise<boolean> => {
    const { name } = document
    const current = await signing.current(tenant, document)
    if (current !== null && parseSecret(document.signing, current.secret).ok) return true
    const record = stateCache.find(tenant, name)?.record
    if (current === null && !isMine && deps.now() - (record?.createdAt ?? 0) < GRACE_MS) return false
    if (current === null) await signing.generate(tenant, document, FOLDER)
    // Its signing method changed, and receivers may need a while to follow.
    else await signing.rotate(tenant, document, {}, FOLDER)
    await markUnseen(tenant, name)
    log.info('subscription.secret-generated', { tenant, subscription: name, by: FOLDER })
    return true
  }

  return {
    async claim(tenant, names) {
      const guards: Guard[] = []
      const taken: string[] = []
      for (const name of names) {
        const stored = await readSubscription(store.forTenant(tenant), name)
        if (stored?.record.document != null) taken.push(name)
        guards.push(guardOf(name, stored?.version ?? 0))
      }
      if (taken.length === 0) return guards
      const others = taken.length > 1 ? ` and ${taken.length - 1} more` : ''
      throw new AppError('name_taken', `the API has made a subscription ${taken[0]}${others}`, {
        details: { subscriptions: taken },
      })
    },
    async prepare(tenant, documents) {
      await stateCache.prepare(tenant)
      for (const document of documents) {
        const place = `${tenant}/${document.name}`
        const isMine = await ensureRecord(tenant, document).catch((error: unknown) => {
          // The state cache has logged it; the rest of the definitions must not wait for it.
          if (isUnreadable(error)) return null
          throw error
        })
        if (isMine === null) continue
        if (document.secret !== null || looked.get(place) === document.signing) continue
        try {
          if (await ensureSecret(tenant, document, isMine)) looked.set(place, document.signing)
        } catch (error) {
          // It cannot sign then, and its deliveries fail for it; the rest of the definitions must not wait for it.
          log.warn('subscription.secret-not-generated', {
            tenant,
            subscription: document.name,
            error: messageOf(error),
          })
        }
      }
    },
    put(tenant, documents) {
      const before = defined.get(tenant)
      const names = new Set(documents.map(({ name }) => name))
      defined.set(tenant, names)
      for (const document of documents) {
        const state = stateCache.find(tenant, document.name)?.record.state ?? null
        deps.setStatus(tenant, document.name, saidStatus(document, state))
      }
      for (const name of before ?? []) {
        if (names.has(name)) continue
        looked.delete(`${tenant}/${name}`)
        deps.gone(tenant, name)
      }
    },
    isDefined: (tenant, name) => defined.get(tenant)?.has(name) === true,
    left: (tenant) =>
      [...stateCache.all(tenant)].flatMap(([name, { record }]) =>
        record.document === null && defined.get(tenant)?.has(name) !== true ? [name] : [],
      ),
  }
}
