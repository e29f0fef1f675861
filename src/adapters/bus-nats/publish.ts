// Publishing to streams. Each message has its id, by which the stream passes over one that it has.

import { JetStreamApiError, jetstream } from '@nats-io/jetstream'
import {
  headers,
  InvalidArgumentError,
  InvalidSubjectError,
  type NatsConnection,
} from '@nats-io/transport-node'
import { publishInOrder, type Sent } from '../../core/bus/index.ts'
import { BusError, type OutgoingMessage } from '../../ports/bus.ts'

const MESSAGE_TOO_LARGE = 10_054
/** Beside the body a message carries its headers, which count. */
const HEADERS_BYTES = 4_096

/** `onMissing` is called when no stream took a message. */
export async function publishAll(
  nats: NatsConnection,
  messages: readonly OutgoingMessage[],
  options: { readonly answerMs: number; readonly onMissing: () => void },
): Promise<readonly boolean[]> {
  if (messages.length === 0) return []
  const client = jetstream(nats)
  const bytesMax = (nats.info?.max_payload ?? 1_048_576) - HEADERS_BYTES
  let problem: unknown
  const send = async (message: OutgoingMessage): Promise<Sent> => {
    if (message.body.byteLength > bytesMax) return 'refused'
    try {
      await client.publish(message.subject, message.body, {
        msgID: message.id,
        headers: headersOf(message),
        timeout: options.answerMs,
      })
      return 'taken'
    } catch (error) {
      problem ??= error
      if (isForGood(error)) return 'refused'
      options.onMissing()
      return 'unknown'
    }
  }
  const answers = await publishInOrder(messages, send)
  if (answers.includes('taken')) return answers.map((sent) => sent === 'taken')
  if (answers.every((sent) => sent === 'refused')) {
    const said = problem instanceof Error ? ` (${problem.message})` : ''
    throw new BusError('refused', `NATS takes at most ${bytesMax} bytes in a message${said}; send less`, {
      cause: problem,
    })
  }
  const said = problem instanceof Error ? problem.message : String(problem)
  throw new BusError('unavailable', `NATS did not take any message (${said}); publish them again`, {
    cause: problem,
  })
}

function headersOf(message: OutgoingMessage) {
  const made = headers()
  for (const [name, value] of Object.entries(message.headers)) made.set(name, value.replace(/[\r\n]+/g, ' '))
  return made
}

function isForGood(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.code === MESSAGE_TOO_LARGE
  return error instanceof InvalidArgumentError || error instanceof InvalidSubjectError
}
