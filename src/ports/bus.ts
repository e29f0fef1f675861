// The bus: carries messages between this system and others, and between its nodes. It is never the truth: whatever goes
// missing on it may delay something, and loses nothing. docs/spec/bus.md has the rules.
//
// Out: messages that the outbox holds are published until the bus says that it has them; each has an id by which the bus passes
// over one that it has already. In: durable consumers bring each message at least once, until it is acknowledged; whoever takes
// one acknowledges it after the commit that keeps it. There is no limit of deliveries: what cannot be read becomes a dead letter
// of ours, and is acknowledged.

import type { Instant } from '../core/foundation/time/index.ts'
import type { Wakes } from './wakes.ts'

export interface OutgoingMessage {
  /** By which the bus tells a repetition, for as long as it remembers. */
  readonly id: string
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  /** Empty: what the subject held is gone. */
  readonly body: Uint8Array
}

export interface IncomingMessage {
  readonly subject: string
  /** As its publisher named it; null: not at all. */
  readonly id: string | null
  /** Its own in the bus, the same each time it is brought, and another one after its stream was made anew. */
  readonly place: string
  /** Names as they were sent; of several values the last one. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** When the bus took it. */
  readonly at: Instant
  /** How often it was brought, this time included. */
  readonly deliveries: number
}

/** What becomes of a message: it is kept elsewhere by now, or is brought again after a while. */
export type Handled = { readonly is: 'kept' } | { readonly is: 'again'; readonly afterMs: number }

export interface ConsumerSpec {
  /** null: the stream that has the subjects. */
  readonly stream: string | null
  /** Patterns of NATS: `*` is one token, `>` all that follow. */
  readonly subjects: readonly string[]
  /** All nodes that name it share the messages, and it goes on where it was. */
  readonly durable: string
  /** Whose the durable is; another's is not taken. Left out: nobody's. */
  readonly owner?: string
  /** Which streams it may read; of others it says nothing but that they may not be read. Left out: all. */
  mayRead?(stream: string): boolean
  /** For how long a repetition is known. One that was lost and is made anew begins no earlier than that. Left out: at the beginning. */
  readonly knownForMs?: number
  /** How many may be under way at once on this node. */
  readonly maxInFlight: number
  /**
   * How many bytes of messages may be under way at once on this node, asked for whenever there may be room. One message may pass it, so
   * that none is too large; a bus may hold two of its largest messages for each subject. Left out: no bound.
   */
  maxBytes?(): number
  /** Never rejects. */
  handle(message: IncomingMessage): Promise<Handled>
  /** The consumer began, cannot begin, or ended and begins anew: in words for the log and for people. */
  onState(state: ConsumerState): void
}

export type ConsumerState =
  | { readonly is: 'consuming' }
  /** It is tried again by itself. */
  | { readonly is: 'waiting'; readonly why: string }

export interface Consumer {
  /** Takes no more, lets what is under way end, and leaves the rest to the others. */
  close(): Promise<void>
}

export interface BusStatus {
  readonly isConnected: boolean
  /** Of the server; null: not known yet. */
  readonly version: string | null
  /** Whether a message that it acknowledged is on its disk; null: it does not say. */
  readonly isSynced: boolean | null
  /** Which stream has the tokens: another one after it was made anew, empty. null: not known, or there is none. */
  readonly tokensBirth: string | null
  /** What people should know: settings that the server did not take, for example. */
  readonly warnings: readonly string[]
}

export interface Bus extends AsyncDisposable {
  /**
   * Answers for each, in order, whether the bus has it. Messages of one subject arrive in the order given. Throws `BusError` when
   * it is not known of any.
   */
  publish(messages: readonly OutgoingMessage[]): Promise<readonly boolean[]>
  consume(spec: ConsumerSpec): Consumer
  readonly wakes: Wakes
  status(): BusStatus
  /** The state changed, connected or not, or there is something new to warn of. Answers how to stop. */
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
