// Shopify: the topic is in a header, `orders/create`.

import type { Mapping } from './mapping.ts'

const topic = "token(header.x-shopify-topic, '/')"

export const shopify: Mapping = {
  title: 'Shopify',
  subject: `shopify.events.{{ coalesce(${topic}, 'unknown') }}`,
  event: {
    id: 'header.x-shopify-webhook-id',
    objectType: `{{ ${topic}.split('.')[0] }}`,
    objectId: 'coalesce(payload.id, payload.admin_graphql_api_id)',
    occurredAt: 'coalesce(header.x-shopify-triggered-at, payload.updated_at)',
  },
}
