// What would be sent now, and how this node sends to an endpoint: for users who inspect a delivery.

import { parsePayload } from '../../../core/events/sensitive/index.ts'
import { describeError as describe, ExpressionError } from '../../../core/expression/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import { SUBSCRIPTION_PREFIX } from '../../../core/webhooks/subscription/index.ts'
import type { EngineConfig, EngineDeps } from '../../config.ts'
import { type Registry, subscriptionOf } from '../../definitions/index.ts'
import type { EndpointConcurrency } from '../../flow-control/index.ts'
import { renderDelivery } from './delivery-request.ts'
import type { DeliveryViews } from './delivery-views.ts'

export function makeDeliveryViews(
  deps: Pick<EngineDeps, 'store'> & {
    readonly registry: Pick<Registry, 'subscription'>
    readonly endpointConcurrency: Pick<EndpointConcurrency, 'view'>
  },
  config: Pick<EngineConfig, 'vars' | 'version'>,
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
