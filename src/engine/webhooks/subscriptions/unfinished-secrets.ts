// Finishes what a node left half done about the secrets of subscriptions: a subscription without its secret, one whose secret
// does not fit its signing method, and a rotation without its event. Record and vault are two places, and a node may crash
// between them.
//
// Each subscription is checked once, a while after its last change: the node that changed it may be about to make its secret.
//
// Invariants: SU24 a subscription of the API that names no secret gets one that it can sign with, whenever its node crashed.
// SU26 a rotation that took effect emits its event, and a generated secret that no response has shown can be revealed.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { type Instant, MINUTE } from '../../../core/foundation/time/index.ts'
import { parseSecret } from '../../../core/webhooks/signing/index.ts'
import type { SubscriptionRecord } from '../../../core/webhooks/subscription/index.ts'
import type { Log } from '../../../ports/log.ts'
import type { Registry } from '../../definitions/index.ts'
import type { SigningSecrets } from './signing-secrets.ts'
import { type NoticeDeps, rotatedEvent } from './subscription-events.ts'
import type { SubscriptionStateCache } from './subscription-state-cache.ts'

export interface UnfinishedSecrets {
  /** Those that were changed since the last check, and not within the last minute. */
  look(tenant: TenantId): Promise<void>
}

/** The node that changed it may be about to make its secret. */
const GRACE_MS = 1 * MINUTE
const FINISHED_BY = 'the start of a node'

export function makeUnfinishedSecrets(
  deps: NoticeDeps & {
    readonly log: Log
    readonly stateCache: SubscriptionStateCache
    readonly signing: SigningSecrets
    readonly registry: Pick<Registry, 'subscription'>
    now(): Instant
  },
): UnfinishedSecrets {
  const { log, stateCache, signing, registry } = deps
  /** Until when the changes of each tenant were checked. */
  const looked = new Map<TenantId, Instant>()

  const markUnseen = (tenant: TenantId, name: string) =>
    stateCache.change(tenant, name, (stored) =>
      stored?.record.document == null
        ? null
        : { record: { ...stored.record, state: { ...stored.record.state, isSecretUnseen: true } } },
    )

  /** No user has seen a secret that is made here: it is to be revealed. */
  const ensureSecret = async (tenant: TenantId, { document }: SubscriptionRecord): Promise<void> => {
    if (document?.secret !== null) return
    const current = await signing.current(tenant, document)
    if (current !== null && parseSecret(document.signing, current.secret).ok) return
    if (current === null) await signing.generate(tenant, document, FINISHED_BY)
    else await signing.rotate(tenant, document, {}, FINISHED_BY)
    await markUnseen(tenant, document.name)
    log.info('subscription.secret-generated', { tenant, subscription: document.name, by: FINISHED_BY })
  }

  const endRotation = async (tenant: TenantId, name: string): Promise<void> => {
    const document = registry.subscription(tenant, name)?.document
    if (document === undefined) return
    const { version } = await signing.show(tenant, document, false)
    await stateCache.change(tenant, name, (stored) => {
      const rotating = stored?.record.state.rotating
      if (stored === null || rotating === undefined) return null
      const { rotating: _, ...state } = stored.record.state
      const isDone = version !== null && version !== rotating.from
      if (!isDone)
        return { record: { ...stored.record, state: { ...state, isSecretUnseen: rotating.wasUnseen } } }
      const { by, at, overlapMs, from } = rotating
      const oldUntil = from === null || overlapMs === 0 ? null : at + overlapMs
      const about = { tenant, document, change: `${name}:secret:${version}` }
      return {
        record: { ...stored.record, state },
        plans: [rotatedEvent(deps, about, { version, oldUntil, by })],
      }
    })
    log.info('subscription.rotation-ended', { tenant, subscription: name, version })
  }

  return {
    async look(tenant) {
      const from = looked.get(tenant) ?? Number.NEGATIVE_INFINITY
      const until = deps.now() - GRACE_MS
      for (const [name, { record }] of stateCache.all(tenant)) {
        if (record.updatedAt <= from || record.updatedAt > until) continue
        if (record.state.rotating !== undefined) await endRotation(tenant, name)
        await ensureSecret(tenant, record)
      }
      looked.set(tenant, Math.max(from, until))
    },
  }
}
