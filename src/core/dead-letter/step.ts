// The life of a dead letter.
//
// Invariants: D1 resolved and discarded are final. D2 three replays in vain need force. D3 one replay at a time.

import { unreachable } from '../errors/index.ts'
import type { FailureClass } from '../failure/index.ts'
import type { WorkId } from '../ids/index.ts'
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
    }
  | { readonly type: 'discard' }

export type DeadLetterRefusal = 'wrong_state' | 'replays_exhausted'

export const REPLAYS_MAX = 3

const ALLOWED: Readonly<Record<DeadLetterEvent['type'], readonly DeadLetterState[]>> = {
  ready: ['open'],
  replay: ['open', 'ready_to_replay'],
  succeeded: ['replaying'],
  failed: ['replaying'],
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
      const { class: failureClass, reason, lastError, attempts } = event
      return {
        ...row,
        state: 'open',
        class: failureClass,
        reason,
        lastError,
        attempts: row.attempts + attempts,
      }
    }
    case 'discard':
      return { ...row, state: 'discarded' }
    default:
      return unreachable(event)
  }
}
