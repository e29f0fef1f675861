// Copies of events whose payload a user edited: their dedup key names the dead letter that they were made for, and their cause
// is the event that was copied.

import type { DeadLetterId, EventId } from '../../foundation/ids/index.ts'
import type { Envelope } from './event.ts'

const EDIT = /^edit:(dlq_[^:]+):\d+$/

export function editKey(deadLetter: { readonly id: DeadLetterId; readonly version: number }): string {
  return `edit:${deadLetter.id}:${deadLetter.version}`
}

/** null: not such a copy. A sender's own key may look like one, so check the dead letter itself. */
export function deadLetterOfEdit(dedupKey: string): DeadLetterId | null {
  return (EDIT.exec(dedupKey)?.[1] as DeadLetterId | undefined) ?? null
}

/**
 * The event that this one is an edited copy of, or null. A sender may choose a key that looks like one, but cannot set the
 * cause.
 */
export function editedFrom({
  dedupKey,
  causationId,
}: Pick<Envelope, 'dedupKey' | 'causationId'>): EventId | null {
  return causationId !== null && deadLetterOfEdit(dedupKey) !== null ? causationId : null
}

/** Who edited a copy, why, and which fields: stored beside the copy, under its id. */
export interface Edit {
  readonly by: string
  readonly reason: string
  /** Paths in the payload; '' is all of it. Below a sensitive path only that path is named. */
  readonly changed: readonly string[]
  /** Whether more fields changed than `changed` names. */
  readonly hasMore: boolean
  readonly payloadHashBefore: string
}
