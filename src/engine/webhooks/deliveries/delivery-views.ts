// Views beside a delivery: what would be sent now, and how a node sends to an endpoint.

import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { EndpointConcurrencyView } from '../../flow-control/index.ts'

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
