// Shopify: the topic is in a header, `orders/create`. Newer webhooks have the same headers without `x-`.

import type { Mapping } from './mapping.ts'

const either = (name: string) => `coalesce(header.x-shopify-${name}, header.shopify-${name})`
const topic = `token(${either('topic')}, '/')`

export const shopify: Mapping = {
  title: 'Shopify',
  subject: `shopify.events.{{ coalesce(${topic}, 'unknown') }}`,
  event: {
    id: either('webhook-id'),
    objectType: `{{ ${topic}.split('.')[0] }}`,
    objectId: 'coalesce(payload.id, payload.admin_graphql_api_id)',
    occurredAt: `coalesce(${either('triggered-at')}, payload.updated_at)`,
  },
}
