// What conditions, transforms and headers of a subscription see of an event: values that its source declares as sensitive are
// included only if the subscription says so.

import type { SubscriptionDocument } from '../../core/definitions/documents/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import { redact, redactHeader } from '../../core/events/sensitive/index.ts'
import type { Scope } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'

/** Whether some of the event is hidden from the subscription; null: the subscription is unknown. */
export function isHiding(
  { sensitive }: Pick<NewEvent, 'sensitive'>,
  document: Pick<SubscriptionDocument, 'sensitive'> | null,
): boolean {
  return sensitive.length > 0 && document?.sensitive !== 'send'
}

/** `scope`: of a route that sees everything. */
export function hidingScope({ sensitive }: Pick<NewEvent, 'sensitive'>, scope: Scope): Scope {
  return {
    ...scope,
    payload: redact(scope.payload as JsonValue, sensitive),
    header: redactHeader(scope.header as JsonValue, sensitive),
  }
}
