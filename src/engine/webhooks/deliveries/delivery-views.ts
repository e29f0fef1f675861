// What would be sent now, and how this node sends to an endpoint: for users who inspect a delivery.

import { parsePayload } from '../../../core/events/sensitive/index.ts'
import { describeError as describe, ExpressionError } from '../../../core/expression/index.ts'
import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import { SUBSCRIPTION_PREFIX } from '../../../core/webhooks/subscription/index.ts'
import type { EngineDeps, RunningConfig } from '../../config.ts'
import { type Registry, subscriptionOf } from '../../definitions/index.ts'
import type { EndpointConcurrency, EndpointConcurrencyView } from '../../flow-control/index.ts'
import { renderDelivery } from './delivery-request.ts'

/** What would be sent now, by the deployed subscription. It is signed only when it is sent, and contains no secret. */
export type DeliveryRequest =
  | {
      readonly ok: true
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** Why it cannot be rendered: the event or the subscription is gone, or a template fails. */
  | { readonly ok: false; readonly error: string }

export interface DeliveryViews {
  request(tenant: TenantId, id: WorkId): Promise<DeliveryRequest>
  /** null: this node has not sent anything to it so far. */
  window(tenant: TenantId, subscription: string): EndpointConcurrencyView | null
}

export function makeDeliveryViews(
  deps: Pick<EngineDeps, 'store'> & {
    readonly registry: Pick<Registry, 'subscription'>
    readonly endpointConcurrency: Pick<EndpointConcurrency, 'view'>
  },
  config: Pick<RunningConfig, 'vars' | 'version'>,
): DeliveryViews {
  const { store, registry, endpointConcurrency } = deps
  return {
    async request(tenant, id) {
      const work = await store.forTenant(tenant).work(id)
      const name = work === null ? null : subscriptionOf(work.consumer)
      if (work === null || name === null) return { ok: false, error: 'there is no such delivery' }
      const event = await store.forTenant(tenant).event(work.eventId)
      if (event === null) return { ok: false, error: 'its event is gone' }
      const subscription = registry.subscription(tenant, name)
      if (subscription === null) return { ok: false, error: `there is no subscription ${name} any more` }
      try {
        const toRender = {
          work,
          event,
          payload: () => parsePayload(event.data),
          header: () => parsePayload(event.headers),
        }
        return { ok: true, ...renderDelivery(subscription, toRender, config) }
      } catch (error) {
        if (error instanceof ExpressionError) return { ok: false, error: describe(error) }
        if (error instanceof JsonError) return { ok: false, error: error.message }
        throw error
      }
    },
    window: (tenant, name) => endpointConcurrency.view(tenant, SUBSCRIPTION_PREFIX + name),
  }
}
