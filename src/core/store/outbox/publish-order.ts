// The order in which messages are sent to a bus. Messages of different subjects are sent concurrently. Within one subject each
// waits for the one before: if the bus did not accept or confirm it, the later ones stay here; otherwise its repetition would
// arrive after them and the subject's last value would be wrong.

/** The bus has it; unknown; or it will never accept it. */
export type Sent = 'taken' | 'unknown' | 'refused'

/** Returns a result for each message, in the order given. `send` never rejects. */
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
