// The events about subscriptions, which can be routed and subscribed to: stored in the commit of the change.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { SUBSCRIPTION_PREFIX, type SubscriptionNotice } from '../../../core/webhooks/subscription/index.ts'
import type { EngineBase, EventPlan } from '../../commit/index.ts'
import { canonicalEvent } from '../../events/index.ts'

export type NoticeDeps = Pick<EngineBase, 'ids' | 'plan'>

export interface About {
  readonly tenant: TenantId
  readonly document: SubscriptionDocument
  /** Identifies the change. */
  readonly change: string
}

export function subscriptionEvents(deps: NoticeDeps, about: About, told: SubscriptionNotice): EventPlan {
  switch (told.notice) {
    case 'failing': {
      const { failingSince, disableAt, warning, error } = told
      const data = { failingSince: iso(failingSince), disableAt: iso(disableAt), warning, error }
      return planNotice(deps, about, 'webhook.subscription.failing', data)
    }
    case 'recovered':
      return planNotice(deps, about, 'webhook.subscription.recovered', {
        failingSince: iso(told.failingSince),
      })
    case 'disabled': {
      const { because, reason, by } = told
      return planNotice(deps, about, 'webhook.subscription.disabled', { because, reason, by })
    }
    case 'enabled':
      return planNotice(deps, about, 'webhook.subscription.enabled', { by: told.by, reason: told.reason })
  }
}

export function rotatedEvent(
  deps: NoticeDeps,
  about: About,
  rotated: { readonly version: number; readonly oldUntil: Instant | null; readonly by: string },
): EventPlan {
  const { version, oldUntil, by } = rotated
  return planNotice(deps, about, 'webhook.secret.rotated', { version, oldUntil: iso(oldUntil), by })
}

/** `deps.plan` plans it for this subscription alone. */
export function testEvent(deps: NoticeDeps, about: About): EventPlan {
  return planNotice(deps, about, 'webhook.test', { message: TEST_MESSAGE })
}

export const TEST_MESSAGE = 'This is a test. Nothing happened.'

function planNotice(
  deps: NoticeDeps,
  { tenant, document, change }: About,
  subject: Parameters<typeof canonicalEvent>[1]['subject'],
  data: { readonly [name: string]: JsonValue },
): EventPlan {
  return canonicalEvent(deps, {
    tenant,
    subject,
    data: { ...aboutData(document), ...data },
    key: change,
    parent: null,
    object: { type: 'subscription', id: document.name },
  })
}

/**
 * The data that all these events have in common. Of the address only its origin: other subscribers may be other customers of
 * the user, and paths and queries of endpoints often contain credentials.
 */
export function aboutData({ name, url }: Pick<SubscriptionDocument, 'name' | 'url'>) {
  const [origin] = /^(?:[a-z]+:\/\/)?[^/?#]*/i.exec(url) ?? ['']
  return { subscription: name, consumer: `${SUBSCRIPTION_PREFIX}${name}`, url: origin }
}

function iso(at: Instant | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
