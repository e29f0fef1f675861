// An event's envelope as clients and other systems see it. Instants are ISO 8601.

import type { Instant } from '../../foundation/time/index.ts'
import { editedFrom } from './edited-copy.ts'
import type { EventSummary } from './event.ts'

/** `editedFrom` is present for edited copies alone: their content did not come from the source. */
export function showEnvelope(event: EventSummary) {
  const original = editedFrom(event)
  return {
    id: event.id,
    tenant: event.tenant,
    source: event.source,
    subject: event.subject,
    objectType: event.objectType,
    objectId: event.objectId,
    occurredAt: isoOrNull(event.occurredAt),
    receivedAt: isoOrNull(event.receivedAt),
    correlationId: event.correlationId,
    causationId: event.causationId,
    traceId: event.traceId,
    dedupKey: event.dedupKey,
    payloadHash: event.payloadHash,
    matched: event.matched,
    duplicates: event.duplicates,
    lastDuplicateAt: isoOrNull(event.lastDuplicateAt),
    ...(original !== null && { editedFrom: original }),
  }
}

function isoOrNull(at: Instant | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
