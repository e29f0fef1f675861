// The life of a dead letter.
//
// Invariants: D1 resolved and discarded are final. D2 after three failed replays the next needs force. D3 one replay at a time.

import { unreachable } from '../../foundation/errors/index.ts'
import type { EventId, WorkId } from '../../foundation/ids/index.ts'
import type { FailureClass } from '../failure/index.ts'
import type { DeadLetterReason, DeadLetterState, NewDeadLetter } from './dead-letter.ts'

export type DeadLetterEvent =
  | { readonly type: 'ready' }
  | { readonly type: 'replay'; readonly work: WorkId; readonly force: boolean }
  | { readonly type: 'succeeded' }
  | {
      readonly type: 'failed'
      readonly class: FailureClass
      readonly reason: DeadLetterReason
      readonly lastError: string
      readonly attempts: number
      readonly step: string | null
    }
  /** Its replay was cancelled before it ended. */
  | { readonly type: 'cancelled'; readonly attempts: number }
  /** An operator fixed a copy of its event: replays use the copy from now on. */
  | { readonly type: 'edit'; readonly eventId: EventId; readonly payloadHash: string }
  | { readonly type: 'discard' }

export type DeadLetterRefusal = 'wrong_state' | 'replays_exhausted'

export const REPLAYS_MAX = 3

const ALLOWED: Readonly<Record<DeadLetterEvent['type'], readonly DeadLetterState[]>> = {
  ready: ['open'],
  replay: ['open', 'ready_to_replay'],
  succeeded: ['replaying'],
  failed: ['replaying'],
  cancelled: ['replaying'],
  edit: ['open', 'ready_to_replay'],
  discard: ['open', 'ready_to_replay'],
}

export function stepDeadLetter(
  row: NewDeadLetter,
  event: DeadLetterEvent,
):
  | { readonly ok: true; readonly row: NewDeadLetter }
  | { readonly ok: false; readonly refusal: DeadLetterRefusal } {
  if (!ALLOWED[event.type].includes(row.state)) return { ok: false, refusal: 'wrong_state' }
  if (event.type === 'replay' && row.replays >= REPLAYS_MAX && !event.force) {
    return { ok: false, refusal: 'replays_exhausted' }
  }
  return { ok: true, row: { ...apply(row, event), version: row.version + 1 } }
}

function apply(row: NewDeadLetter, event: DeadLetterEvent): NewDeadLetter {
  switch (event.type) {
    case 'ready':
      return { ...row, state: 'ready_to_replay' }
    case 'replay':
      return { ...row, state: 'replaying', workId: event.work, replays: row.replays + 1 }
    case 'succeeded':
      return { ...row, state: 'resolved' }
    case 'failed': {
      const { class: failureClass, reason, lastError, attempts, step } = event
      return {
        ...row,
        state: 'open',
        class: failureClass,
        reason,
        lastError,
        step,
        attempts: row.attempts + attempts,
      }
    }
    case 'cancelled':
      return { ...row, state: 'open', attempts: row.attempts + event.attempts }
    case 'edit':
      return {
        ...row,
        state: 'ready_to_replay',
        eventId: event.eventId,
        payloadHash: event.payloadHash,
      }
    case 'discard':
      return { ...row, state: 'discarded' }
    default:
      return unreachable(event)
  }
}
