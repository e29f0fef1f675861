// Requests messages from a consumer on the server, never more than there is room for by count and by bytes, and notices
// when the server has lost it.
//
// The driver's own loop requests by what arrived, not by what was handled, and buffers messages without reporting them
// in progress. So the few lines of the protocol are here.

import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../ports/clock.ts'
import type { Binding } from './binding.ts'
import type { Seat } from './byte-pool.ts'

const NANOS_PER_MS = 1_000_000
const ASK_MS = 30_000
const HEARTBEAT_MS = 5_000
const DRAIN_MS = 1_000
/** How long a request stays open where others wait for its bytes. */
const TURN_MS = 1_000

/** Of the status that the server sends instead of a message. */
const HEARTBEAT = 100
const NO_MESSAGES = 404
const ASKED_TOO_LONG_AGO = 408
const ENDED = 409
/** The reasons for `409` that end one request: the next message exceeds the bytes left, or the request is complete. */
const QUESTION_OVER = /message size exceeds|batch completed/i
/** Besides the payload and its headers, which `max_payload` bounds: subject and reply. */
const LINE_BYTES = 8_192
const PAYLOAD_BYTES = 1_048_576

/** The maximum size of one message. */
function largestBytes(nats: Pick<NatsConnection, 'info'>): number {
  return (nats.info?.max_payload ?? PAYLOAD_BYTES) + LINE_BYTES
}

/** As the server counts it: subject, reply, headers and payload. */
export function bytesOf(message: Msg & { size?(): number }): number {
  return message.size?.() ?? message.data.byteLength
}

export interface Pull {
  /** A message was answered: there is room again. */
  released(): void
  /** Requests no more; messages on their way still arrive. Resolves when all of them did. */
  stop(): Promise<void>
}

export function startPull(options: {
  readonly nats: NatsConnection
  readonly binding: Binding
  readonly clock: Clock
  /** How many messages may be here or on their way. */
  readonly max: number
  /** How many are here. */
  readonly held: () => number
  /** How many bytes may be here or on their way; read again for each request. Omitted: no bound. */
  readonly maxBytes: (() => number) | undefined
  readonly heldBytes: () => number
  /** Its place among the subjects that share bytes; null: no bound. */
  readonly seat: Seat | null
  readonly onMessage: (message: Msg) => void
  /** It delivers no more: the server has lost it, or does not respond. */
  readonly onLost: (why: string) => void
}): Pull {
  const { nats, binding, clock, seat } = options
  const inbox = createInbox()
  const askMs = Math.min(ASK_MS, binding.askMsMax ?? ASK_MS)
  let asked = 0
  /**
   * What the open requests may still bring; the rest of a request that ended by its count stays here until none is
   * open.
   */
  let askedBytes = 0
  let isOver = false
  let heardAt = clock.monotonic()
  let cancelWatch = () => {}

  const lose = (why: string) => {
    if (isOver) return
    isOver = true
    cancelWatch()
    subscription.unsubscribe()
    options.onLost(why)
  }

  const answered = (messages: number, bytes: number) => {
    asked = Math.max(0, asked - messages)
    askedBytes = asked === 0 ? 0 : Math.max(0, askedBytes - bytes)
  }

  const noteUsed = () => seat?.note(options.heldBytes() + askedBytes)

  /**
   * For a request of this many messages: the same share of all bytes as they are of all messages, so that the next
   * request finds room too. null: no bound. 0: a message of maximum size might not fit, and the server would end the
   * request with nothing.
   */
  const bytesFor = (messages: number): number | null => {
    if (options.maxBytes === undefined) return null
    const largest = largestBytes(nats)
    const max = Math.max(2 * largest, Math.floor(options.maxBytes()))
    const room = max - options.heldBytes() - askedBytes
    if (room < largest) return 0
    // A share that is too small for two messages is used together with the others of that kind.
    if (options.maxBytes() < 2 * largest) return seat?.take(largest, ask) === false ? 0 : largest
    return Math.min(room, Math.max(largest, Math.floor((max * messages) / options.max)))
  }

  const hear = (message: Msg) => {
    heardAt = clock.monotonic()
    const code = message.headers?.code ?? 0
    if (message.subject !== inbox || code === 0) {
      answered(1, bytesOf(message))
      options.onMessage(message)
      // Only now: between the two it would count as neither asked for nor held.
      noteUsed()
      if (asked === 0) ask()
      return
    }
    if (code === HEARTBEAT) return
    const isOneOver = code === ENDED && QUESTION_OVER.test(message.headers?.description ?? '')
    if (code === NO_MESSAGES || code === ASKED_TOO_LONG_AGO || isOneOver) {
      const left = Number(message.headers?.get('Nats-Pending-Messages') || asked)
      answered(left, Number(message.headers?.get('Nats-Pending-Bytes') || 0))
      noteUsed()
      ask()
      return
    }
    lose(`the server says ${code} ${message.headers?.description ?? ''}`.trim())
  }

  const subscription = nats.subscribe(inbox, {
    callback: (error, message) => (error === null ? hear(message) : lose(error.message)),
  })

  const ask = () => {
    const room = options.max - options.held() - asked
    // A consumer that accepts no request for as many bytes as one message may have is asked for one message at a time.
    const { askBytesMax } = binding
    const isSmall = options.maxBytes !== undefined && askBytesMax !== null && askBytesMax < largestBytes(nats)
    const batchMax = isSmall ? 1 : binding.batchMax
    const more = Math.min(room, batchMax ?? room)
    // A quarter of the room at a time: one request for each message would cost more than the message. If requests are
    // limited there is one at a time.
    if (isOver || more <= 0 || (asked > 0 && (batchMax !== null || room * 4 < options.max))) return
    const bytes = bytesFor(more)
    if (bytes === 0) return
    if (asked === 0) heardAt = clock.monotonic()
    asked += more
    askedBytes += bytes ?? 0
    noteUsed()
    const openMs = bytes !== null && seat?.isTight(largestBytes(nats)) ? Math.min(TURN_MS, askMs) : askMs
    const question = {
      batch: more,
      ...(bytes !== null && !isSmall && { max_bytes: Math.min(bytes, askBytesMax ?? bytes) }),
      expires: openMs * NANOS_PER_MS,
      // The server refuses a heartbeat longer than half of the wait.
      idle_heartbeat: Math.floor(Math.min(HEARTBEAT_MS, openMs / 2.5) * NANOS_PER_MS),
    }
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${binding.stream}.${binding.consumer}`
    if (!nats.isClosed()) nats.publish(subject, JSON.stringify(question), { reply: inbox })
  }

  const watch = () => {
    cancelWatch = clock.after(HEARTBEAT_MS, () => {
      if (asked > 0 && clock.monotonic() - heardAt > 3 * HEARTBEAT_MS)
        lose('the server says nothing any more')
      else if (!isOver) watch()
    })
  }
  watch()
  ask()

  return {
    released() {
      noteUsed()
      ask()
    },
    async stop() {
      if (isOver) return
      isOver = true
      cancelWatch()
      // An unreachable server does not say that nothing more will come.
      let cancel = () => {}
      const isLate = new Promise<void>((resolve) => {
        cancel = clock.after(DRAIN_MS, resolve)
      })
      await Promise.race([subscription.drain().catch(() => {}), isLate])
      cancel()
    },
  }
}
