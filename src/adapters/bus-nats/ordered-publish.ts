// Publishes many messages into one stream without waiting for each response, and yet in order: every message names its
// predecessor as the last one that the stream must have. If one is lost, the stream refuses all that follow, so nothing
// is stored out of order.
//
// Another publisher in the stream, or a message that is already there, breaks the chain too. That says nothing about
// the messages, so the caller sends those again, one after the other.

import type { Sent } from '../../core/store/outbox/index.ts'

/** `broken`: it is not stored, because the message before it is not the last one of the stream. */
export type Linked = Sent | 'broken'

export interface LinkAnswer {
  readonly sent: Linked
  /** It was already stored. */
  readonly isDuplicate: boolean
}

/** `send` is called for all of them at once, in order; `after` is the id of the message before. */
export async function publishChained<Message extends { readonly id: string }>(
  messages: readonly Message[],
  send: (message: Message, after: string | null) => Promise<LinkAnswer>,
): Promise<readonly Linked[]> {
  const asked = messages.map((message, index) => send(message, messages[index - 1]?.id ?? null))
  const answers = await Promise.all(asked)
  const linked: Linked[] = answers.map(({ sent }) => sent)
  // A stored message proves that its predecessor is stored, even if the predecessor's response was lost.
  for (let index = answers.length - 1; index > 0; index -= 1) {
    const isProof = linked[index] === 'taken' && answers[index]?.isDuplicate === false
    if (isProof && linked[index - 1] === 'unknown') linked[index - 1] = 'taken'
  }
  return linked
}
