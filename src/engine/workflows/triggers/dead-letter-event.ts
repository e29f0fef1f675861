// The event about a dead letter of a trigger, under the subject that the trigger names: what failed, why, and the payload.
// It is stored in the commit that writes the dead letter.

import { isCanonical } from '../../../core/events/canonical/index.ts'
import { JsonError, type JsonValue } from '../../../core/foundation/json/index.ts'
import type { Trigger, Workflow } from '../../../core/workflows/machine/index.ts'
import type { EngineBase, EventPlan } from '../../commit/index.ts'
import { findEmitFault, makeEmitted, planEmitted } from '../../events/index.ts'
import type { Item } from '../../leases/index.ts'

/** null: the trigger names no subject, the job is about a canonical event, or the event caused itself too often. */
export function deadLetterEvent(
  deps: Pick<EngineBase, 'ids' | 'plan' | 'log'>,
  item: Item,
  workflow: Workflow | null,
  trigger: Trigger | null,
  died: {
    readonly class: string
    readonly reason: string
    readonly error: string
    readonly attempts: number
  },
): EventPlan | null {
  const subject = trigger?.document.deadLetter?.subject
  if (workflow === null || trigger === null || subject === undefined || isCanonical(item.event)) return null
  const fault = findEmitFault(item, subject)
  if (fault !== null) {
    const { tenant, id: work } = item.work
    deps.log.warn('trigger.dead-letter-not-emitted', { tenant, work, subject, error: fault.error })
    return null
  }
  const { event, work } = item
  const data = {
    workId: work.id,
    workflow: workflow.document.name,
    trigger: trigger.document.id,
    class: died.class,
    reason: died.reason,
    error:
      event.sensitive.length === 0 ? died.error : 'the text is with the dead letter: its event is sensitive',
    attempts: died.attempts,
    event: {
      id: event.id,
      source: event.source,
      subject: event.subject,
      objectType: event.objectType,
      objectId: event.objectId,
    },
    payload: payloadOf(item),
  }
  return planEmitted(deps, item, makeEmitted(subject, data), `dead-letter:${work.id}`)
}

/** null where it cannot be read: the event named has it. */
function payloadOf(item: Item): JsonValue {
  try {
    return item.payload()
  } catch (error) {
    if (error instanceof JsonError) return null
    throw error
  }
}
