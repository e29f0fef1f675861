// Publishes to streams. Each message has its id, by which the stream ignores one that it has.
//
// Messages for our own streams go there as a chain, without waiting for each other. Those whose fate a chain could not
// determine, and everything else, go one after the other for each subject.

import { JetStreamApiError, jetstream } from '@nats-io/jetstream'
import {
  headers,
  InvalidArgumentError,
  InvalidSubjectError,
  type NatsConnection,
} from '@nats-io/transport-node'
import { publishInOrder, type Sent } from '../../core/store/outbox/index.ts'
import { BusError, type OutgoingMessage } from '../../ports/bus.ts'
import { type LinkAnswer, publishChained } from './ordered-publish.ts'

const MESSAGE_TOO_LARGE = 10_054
const ANOTHER_IS_LAST = 10_070
/** Besides the body a message carries its headers, which count. */
const HEADERS_BYTES = 4_096

interface Options {
  readonly answerMs: number
  /** Which of our streams has the subject; null: none. */
  readonly streamOf: (subject: string) => string | null
  /** No stream stored a message. */
  readonly onMissing: () => void
}

export async function publishAll(
  nats: NatsConnection,
  messages: readonly OutgoingMessage[],
  options: Options,
): Promise<readonly boolean[]> {
  if (messages.length === 0) return []
  const bytesMax = (nats.info?.max_payload ?? 1_048_576) - HEADERS_BYTES
  let problem: unknown
  const send = makeSend(nats, bytesMax, options.answerMs, (error) => {
    problem ??= error
  })
  const answers = await sendAll(messages, send, options)
  if (answers.includes('unknown')) options.onMissing()
  if (answers.includes('taken')) return answers.map((sent) => sent === 'taken')
  const said = problem instanceof Error ? problem.message : String(problem)
  if (answers.every((sent) => sent === 'refused')) {
    throw new BusError('refused', `NATS takes at most ${bytesMax} bytes in a message; send less`, {
      cause: problem,
    })
  }
  throw new BusError('unavailable', `NATS did not take any message (${said}); publish them again`, {
    cause: problem,
  })
}

type Send = (message: OutgoingMessage, after: string | null) => Promise<LinkAnswer>

function makeSend(
  nats: NatsConnection,
  bytesMax: number,
  answerMs: number,
  onProblem: (error: unknown) => void,
): Send {
  const client = jetstream(nats)
  const answer = (sent: LinkAnswer['sent']): LinkAnswer => ({ sent, isDuplicate: false })
  return async (message, after) => {
    if (message.body.byteLength > bytesMax) return answer('refused')
    try {
      const { duplicate } = await client.publish(message.subject, message.body, {
        msgID: message.id,
        headers: headersOf(message),
        timeout: answerMs,
        ...(after !== null && { expect: { lastMsgID: after } }),
      })
      return { sent: 'taken', isDuplicate: duplicate }
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === ANOTHER_IS_LAST) return answer('broken')
      onProblem(error)
      return answer(isForGood(error) ? 'refused' : 'unknown')
    }
  }
}

async function sendAll(
  messages: readonly OutgoingMessage[],
  send: Send,
  { streamOf }: Options,
): Promise<readonly Sent[]> {
  const answers = new Map<OutgoingMessage, Sent>()
  const chains = new Map<string | null, OutgoingMessage[]>()
  for (const message of messages) {
    const stream = streamOf(message.subject)
    const chain = chains.get(stream)
    if (chain === undefined) chains.set(stream, [message])
    else chain.push(message)
  }
  const sendOneByOne = async (list: readonly OutgoingMessage[]) => {
    const sent = await publishInOrder(list, async (message) => {
      const one = await send(message, null)
      return one.sent === 'broken' ? 'unknown' : one.sent
    })
    for (const [index, message] of list.entries()) answers.set(message, sent[index] ?? 'unknown')
  }
  const sendChain = async (list: readonly OutgoingMessage[]) => {
    const linked = await publishChained(list, send)
    const broken: OutgoingMessage[] = []
    const held = new Set<string>()
    for (const [index, message] of list.entries()) {
      const sent = linked[index] ?? 'unknown'
      // After a message with an unknown outcome no other of its subject may be sent; other subjects do not wait for it.
      if (sent === 'unknown') held.add(message.subject)
      if (sent === 'broken' && !held.has(message.subject)) broken.push(message)
      answers.set(message, sent === 'broken' ? 'unknown' : sent)
    }
    await sendOneByOne(broken)
  }
  await Promise.all(
    [...chains].map(([stream, list]) => (stream === null ? sendOneByOne(list) : sendChain(list))),
  )
  return messages.map((message) => answers.get(message) ?? 'unknown')
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
