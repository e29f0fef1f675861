// Many messages into one stream without waiting for each answer, and yet in their order: every message names the one before it as
// the last that the stream must have. Where one goes missing, the stream refuses all that follow, and nothing comes before its turn.
//
// Somebody else who publishes into the stream, or a message that is there already, breaks the chain too. That says nothing about the
// messages, so whoever asked sends those again, one after the other.

import type { Sent } from '../../core/store/outbox/index.ts'

/** `broken`: it is not there, because the one before it is not the last one. */
export type Linked = Sent | 'broken'

export interface LinkAnswer {
  readonly sent: Linked
  /** It was there already. */
  readonly isDuplicate: boolean
}

/** `send` is called for all of them at once, in their order; `after` is the id of the one before. */
export async function publishChained<Message extends { readonly id: string }>(
  messages: readonly Message[],
  send: (message: Message, after: string | null) => Promise<LinkAnswer>,
): Promise<readonly Linked[]> {
  const asked = messages.map((message, index) => send(message, messages[index - 1]?.id ?? null))
  const answers = await Promise.all(asked)
  const linked: Linked[] = answers.map(({ sent }) => sent)
  // Whoever was taken behind another proves that the other is there, also when its own answer went missing.
  for (let index = answers.length - 1; index > 0; index -= 1) {
    const isProof = linked[index] === 'taken' && answers[index]?.isDuplicate === false
    if (isProof && linked[index - 1] === 'unknown') linked[index - 1] = 'taken'
  }
  return linked
}
