// Shopify's subjects: its topics, `orders/create` as `orders.create`.

import type { CatalogEntry } from '../catalog-entry.ts'
import { object, text, whole } from './schema-helpers.ts'

const TOPICS: Readonly<Record<string, string>> = {
  app: 'uninstalled scopes_update',
  app_subscriptions: 'approaching_capped_amount update',
  bulk_operations: 'finish',
  carts: 'create update',
  checkouts: 'create delete update',
  collection_listings: 'add remove update',
  collections: 'create delete update',
  companies: 'create delete update',
  customer_payment_methods: 'create revoke update',
  customers: 'create data_request delete disable enable merge redact update',
  discounts: 'create delete update',
  disputes: 'create update',
  domains: 'create destroy update',
  draft_orders: 'create delete update',
  fulfillment_events: 'create delete',
  fulfillments: 'create update',
  inventory_items: 'create delete update',
  inventory_levels: 'connect disconnect update',
  locations: 'activate create deactivate delete update',
  metaobjects: 'create delete update',
  order_transactions: 'create',
  orders: 'cancelled create delete edited fulfilled paid partially_fulfilled risk_assessment_changed updated',
  payment_terms: 'create delete update',
  product_listings: 'add remove update',
  products: 'create delete update',
  refunds: 'create',
  returns: 'approve cancel close decline reopen request update',
  shop: 'redact update',
  subscription_billing_attempts: 'challenged failure success',
  subscription_contracts: 'activate cancel create expire fail pause update',
  tender_transactions: 'create',
  themes: 'create delete publish update',
}

export function shopifyEntries(): readonly CatalogEntry[] {
  return Object.entries(TOPICS).flatMap(([of, ends]) =>
    ends.split(' ').map((end) => ({
      subject: `shopify.events.${of}.${end}`,
      description: `Of ${of.replaceAll('_', ' ')}: ${end.replaceAll('_', ' ')}.`,
      // Its fields depend on the version of the API and on the subscribed fields.
      schema: object(
        {},
        { id: { type: ['integer', 'string', 'null'] }, admin_graphql_api_id: text, shop_id: whole },
      ),
      example: {
        id: 1001,
        admin_graphql_api_id: `gid://shopify/Sample/1001`,
        updated_at: '2024-01-02T03:04:05Z',
      },
    })),
  )
}
