// What conditions, transforms and headers of a subscription see of an event: values that its source declares as sensitive are
// included only if the subscription says so, and restricted ones never.

import type { SubscriptionDocument } from '../../core/definitions/documents/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import { hiddenFromEndpoint, redact, redactHeader } from '../../core/events/sensitive/index.ts'
import type { Scope } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'

type Document = Pick<SubscriptionDocument, 'sensitive'> | null

/** Whether some of the event is hidden from the subscription; null: the subscription is unknown. */
export function isHiding({ sensitive }: Pick<NewEvent, 'sensitive'>, document: Document): boolean {
  return hiddenFromEndpoint(sensitive, document?.sensitive).length > 0
}

/** `scope`: of a route that sees everything. */
export function hidingScope(
  { sensitive }: Pick<NewEvent, 'sensitive'>,
  document: Document,
  scope: Scope,
): Scope {
  const hidden = hiddenFromEndpoint(sensitive, document?.sensitive)
  return {
    ...scope,
    payload: redact(scope.payload as JsonValue, hidden),
    header: redactHeader(scope.header as JsonValue, hidden),
  }
}
