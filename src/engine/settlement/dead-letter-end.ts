// What the end of a job means for its dead letter: a job that dies gets one, and a replay ends the one that it replays. This is the
// part of the participant `deadLetter`.

import {
  type DeadLetter,
  type DeadLetterEvent,
  type NewDeadLetter,
  stepDeadLetter,
} from '../../core/failures/dead-letter/index.ts'
import { failureId } from '../../core/failures/failure/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import { newDeadLetter, stepReached } from './dead-letter-row.ts'
import type { Decision, Held } from './job-decision.ts'
import type { RowPart, RowParticipant } from './participants.ts'

export function makeDeadLetterEnd({ ids }: { readonly ids: Ids }): RowParticipant {
  return (decision, { held, route, deadLetter }) => {
    if (deadLetter !== null) return stepReplayed(deadLetter, held.work, route, decision)
    if (decision.to !== 'dead') return null
    const { class: failureClass, reason, error, counters, note } = decision
    const died = {
      class: failureClass,
      reason,
      error,
      attempts: counters.attempts,
      key: note.key,
      step: stepOf(held.work, route, decision),
    }
    const row = newDeadLetter(ids, held.work, held.event, route, died)
    return { writes: [{ w: 'deadLetter.put', row }] }
  }
}

function stepOf(
  work: Held['work'],
  route: Route | null,
  decision: Extract<Decision, { to: 'dead' }>,
): string {
  const { reason, class: failureClass, note, counters, step } = decision
  if (step !== undefined) return step
  return stepReached(work, route, { reason, class: failureClass, key: note.key, attempts: counters.attempts })
}

/** A replay ends its dead letter, or opens it again: it never makes a second one. */
function stepReplayed(
  deadLetter: DeadLetter,
  work: Held['work'],
  route: Route | null,
  decision: Decision,
): RowPart | null {
  if (deadLetter.state !== 'replaying') return null
  const event: DeadLetterEvent =
    decision.to === 'dead'
      ? {
          type: 'failed',
          class: decision.class,
          reason: decision.reason,
          lastError: decision.error,
          attempts: decision.counters.attempts,
          step: stepOf(work, route, decision),
        }
      : decision.to === 'cancelled'
        ? { type: 'cancelled', attempts: decision.counters.attempts }
        : { type: 'succeeded' }
  const { tenant: _tenant, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = deadLetter
  const step = stepDeadLetter(row, event)
  assert(step.ok, 'a replaying dead letter can end')
  return {
    guards: [{ g: 'version', of: 'deadLetter', key: deadLetter.id, version: deadLetter.version }],
    // A dead letter from before failures were stored gets that of its first replay that fails.
    writes: [
      {
        w: 'deadLetter.put',
        row: { ...step.row, failureId: deadLetter.failureId ?? failureOf(work, decision) },
      },
    ],
  }
}

function failureOf(work: Held['work'], { to }: Decision): NewDeadLetter['failureId'] {
  return to === 'dead' ? failureId(work.id) : null
}
