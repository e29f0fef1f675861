// Copies of events that people mend: their dedup key names the dead letter that they were made for.

import type { DeadLetterId } from '../ids/index.ts'

const EDIT = /^edit:(dlq_[^:]+):\d+$/

export function editKey(letter: { readonly id: DeadLetterId; readonly version: number }): string {
  return `edit:${letter.id}:${letter.version}`
}

/** null: it is no such copy. A sender's own key may look like one, so ask the letter itself. */
export function letterOfEdit(dedupKey: string): DeadLetterId | null {
  return (EDIT.exec(dedupKey)?.[1] as DeadLetterId | undefined) ?? null
}
