// Who decided something, and why: for the log and for the note of the item.

export interface Decided {
  readonly actor?: string
  readonly reason?: string | null
}

export function decidedText({ actor = 'the engine’s owner', reason }: Decided): string {
  return reason == null ? `by ${actor}` : `by ${actor}: ${reason}`
}
