// The bus: carries messages between this system and others, and between its nodes. It is never the truth: a lost message may
// delay something, and loses nothing. docs/spec/bus.md has the rules.
//
// Out: messages of the outbox are published until the bus confirms them; each has an id by which the bus deduplicates it. In:
// durable consumers deliver each message at least once, until it is acknowledged; the receiver acknowledges it after the commit
// that stores it. There is no limit of deliveries: a message that cannot be read becomes a dead letter of ours, and is
// acknowledged.

import type { Instant } from '../core/foundation/time/index.ts'
import type { Wakes } from './wakes.ts'

export interface OutgoingMessage {
  /** By which the bus recognizes a repetition, for as long as it remembers. */
  readonly id: string
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  /** Empty: the subject holds nothing any more. */
  readonly body: Uint8Array
}

export interface IncomingMessage {
  readonly subject: string
  /** The publisher's id; null: none. */
  readonly id: string | null
  /** Its own in the bus, the same for every delivery, and a different one after its stream was recreated. */
  readonly place: string
  /** Names as they were sent; of several values the last one. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** When the bus accepted it. */
  readonly at: Instant
  /** How often it was delivered, this time included. */
  readonly deliveries: number
}

/** The result for a message: it is stored elsewhere by now, or is delivered again after a while. */
export type Handled = { readonly is: 'kept' } | { readonly is: 'again'; readonly afterMs: number }

export interface ConsumerSpec {
  /** null: the stream that has the subjects. */
  readonly stream: string | null
  /** Patterns of NATS: `*` is one token, `>` all that follow. */
  readonly subjects: readonly string[]
  /** All nodes that name it share the messages, and it continues where it was. */
  readonly durable: string
  /** The owner of the durable; another owner's is not used. Omitted: none. */
  readonly owner?: string
  /** Which streams it may read; about others it says only that they may not be read. Omitted: all. */
  mayRead?(stream: string): boolean
  /**
   * For how long a repetition is recognized. A lost consumer that is recreated starts no earlier than that. Omitted: at the
   * beginning.
   */
  readonly knownForMs?: number
  /** How many may be in flight at once on this node. */
  readonly maxInFlight: number
  /**
   * How many bytes of messages may be in flight at once on this node, read whenever there may be room. One message may exceed
   * it, so that none is too large; consumers whose limits are too small for that take turns. Omitted: no limit.
   */
  maxBytes?(): number
  /** Never rejects. */
  handle(message: IncomingMessage): Promise<Handled>
  /** The consumer started, cannot start, or ended and starts again: in words for the log and for users. */
  onState(state: ConsumerState): void
}

export type ConsumerState =
  | { readonly is: 'consuming' }
  /** It is retried by itself. */
  | { readonly is: 'waiting'; readonly why: string }

export interface Consumer {
  /** Accepts no more, lets messages in flight end, and leaves the rest to the others. */
  close(): Promise<void>
}

export interface BusStatus {
  readonly isConnected: boolean
  /** Of the server; null: not known yet. */
  readonly version: string | null
  /** Whether a message that it acknowledged is on its disk; null: it does not say. */
  readonly isSynced: boolean | null
  /** Which stream has the tokens: a different one after it was recreated, empty. null: not known, or there is none. */
  readonly tokensBirth: string | null
  /** Warnings for operators: settings that the server did not accept, for example. */
  readonly warnings: readonly string[]
}

export interface Bus extends AsyncDisposable {
  /**
   * Returns for each, in order, whether the bus has it. Messages of one subject arrive in the order given. Throws `BusError` if
   * it is not known of any.
   */
  publish(messages: readonly OutgoingMessage[]): Promise<readonly boolean[]>
  consume(spec: ConsumerSpec): Consumer
  readonly wakes: Wakes
  status(): BusStatus
  /** The state changed, connected or not, or there is a new warning. Returns how to stop. */
  watch(listener: (status: BusStatus) => void): () => void
}

export class BusError extends Error {
  override readonly name = 'BusError'
  readonly code: 'unavailable' | 'refused' | 'closed'
  constructor(code: BusError['code'], message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
  }
}
