// A message as JetStream delivers it: what its reply subject says about it, and how it is answered.

import type { Msg } from '@nats-io/transport-node'
import type { Handled, IncomingMessage } from '../../ports/bus.ts'

const MESSAGE_ID = 'nats-msg-id'
const encoder = new TextEncoder()
const KEPT = encoder.encode('+ACK')
const WORKING = encoder.encode('+WPI')
const NANOS_PER_MS = 1_000_000

/**
 * null: it is not a message of a stream. Its place is its number and the time at which the stream stored it, to the
 * nanosecond: a recreated stream counts from 1 again, at another time.
 */
export function readMessage(message: Msg): IncomingMessage | null {
  const tokens = (message.reply ?? '').split('.')
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return null
  // `$JS.ACK.stream.consumer.deliveries.number.number-of-consumer.time.left`, with domain and account before since version 2.10.
  const [stream, , deliveries, number, , nanos] = tokens.slice(tokens.length === 9 ? 2 : 4)
  if (stream === undefined || number === undefined || nanos === undefined) return null
  const headers: Record<string, string> = {}
  for (const [name, values] of message.headers ?? []) headers[name] = values.at(-1) ?? ''
  const idName = Object.keys(headers).find((name) => name.toLowerCase() === MESSAGE_ID)
  return {
    subject: message.subject,
    id: (idName === undefined ? undefined : headers[idName]) || null,
    place: `${stream}:${number}:${nanos}`,
    headers,
    body: message.data,
    at: Number(BigInt(nanos) / BigInt(NANOS_PER_MS)),
    deliveries: Number(deliveries),
  }
}

/**
 * Not confirmed by the server: if an acknowledgement is lost, the message is redelivered, and the consumer recognises
 * it. Waiting for the confirmation would cost a round trip and remove no uncertainty, because the node may die before
 * it arrives.
 */
export function answer(message: Msg, handled: Handled): void {
  if (handled.is === 'kept') respond(message, KEPT)
  else respond(message, encoder.encode(`-NAK {"delay": ${Math.ceil(handled.afterMs) * NANOS_PER_MS}}`))
}

export function sayWorking(message: Msg): void {
  respond(message, WORKING)
}

function respond(message: Msg, bytes: Uint8Array): void {
  try {
    message.respond(bytes)
  } catch {
    // The connection is closed: the message is redelivered.
  }
}
