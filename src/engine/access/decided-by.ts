// Who decided something, and why: for the log and for the note of the job.

export interface Decided {
  readonly actor?: string
  readonly reason?: string | null
}

/** The actor if the engine is used without the API. */
export const ENGINE_OWNER = 'the engine’s owner'

export function decidedText({ actor = ENGINE_OWNER, reason }: Decided): string {
  return reason == null ? `by ${actor}` : `by ${actor}: ${reason}`
}
