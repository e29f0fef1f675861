// Stripe: the type is a dotted name already.

import type { Mapping } from './mapping.ts'

export const stripe: Mapping = {
  title: 'Stripe',
  subject: "stripe.events.{{ coalesce(token(payload.type, '.'), 'unknown') }}",
  event: {
    id: 'payload.id',
    objectType: '{{ coalesce(payload.data.object.object, payload.related_object.type) }}',
    objectId: 'coalesce(payload.data.object.id, payload.related_object.id)',
    occurredAt: 'payload.created',
  },
}
