// In which order messages go to a bus. Those of different subjects go at once. Of one subject each waits for the one before: when
// the bus did not take it, or did not say so, the later ones stay here, or a repetition of it would come behind them and what the
// subject held last would be wrong.

/** The bus has it; nobody knows; or it never will, as it is. */
export type Sent = 'taken' | 'unknown' | 'refused'

/** Answers for each message, in the order given. `send` never rejects. */
export async function publishInOrder<Message extends { readonly subject: string }>(
  messages: readonly Message[],
  send: (message: Message) => Promise<Sent>,
): Promise<readonly Sent[]> {
  const answers: Sent[] = messages.map(() => 'unknown')
  const bySubject = new Map<string, { index: number; message: Message }[]>()
  for (const [index, message] of messages.entries()) {
    const others = bySubject.get(message.subject)
    if (others === undefined) bySubject.set(message.subject, [{ index, message }])
    else others.push({ index, message })
  }
  const sendSubject = async (list: readonly { index: number; message: Message }[]) => {
    for (const { index, message } of list) {
      const sent = await send(message)
      answers[index] = sent
      if (sent === 'unknown') return
    }
  }
  await Promise.all([...bySubject.values()].map(sendSubject))
  return answers
}
