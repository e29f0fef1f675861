// Finds or creates the consumer on the server that delivers the messages of one subject pattern.
//
// A server of version 2.9 has one filter per consumer. A single pattern has the durable's own name. Of several patterns
// each has the name with a hash of the pattern appended, except the one that the durable itself already filters: adding
// a second pattern must not redeliver the messages of the first. A pattern that replaced another one has its hash, too.
//
// Invariant: a consumer that Millrace creates says so, and for which owner, and Millrace reads with no other: reading
// with another system's consumer takes its messages. A stream that the source may not read is neither read nor named.

import { createHash } from 'node:crypto'
import {
  type ConsumerConfig,
  type ConsumerInfo,
  JetStreamApiCodes,
  type JetStreamManager,
} from '@nats-io/jetstream'
import type { Instant } from '../../core/foundation/time/index.ts'
import { isCode } from './streams.ts'

const NANOS_PER_MS = 1_000_000
/** Over all nodes: delivered and not acknowledged, including those that wait for redelivery. */
const UNACKNOWLEDGED_MAX = 10_000

export interface Binding {
  readonly stream: string
  readonly consumer: string
  /** A message without any response for this long is redelivered. */
  readonly ackWaitMs: number
  /** Per pull request, if the consumer has such a limit: the server refuses more. */
  readonly batchMax: number | null
  readonly askMsMax: number | null
  readonly askBytesMax: number | null
  /** Whether the server stores its messages in memory only. */
  readonly isInMemory: boolean
}

/** Why there is no consumer, as a sentence that says what to do. */
export class Unbound extends Error {
  override readonly name = 'Unbound'
}

export interface Wish {
  readonly stream: string | null
  readonly durable: string
  readonly pattern: string
  /** The owner that it was created for; null: none. */
  readonly owner: string | null
  /** Which streams may be read. */
  mayRead(stream: string): boolean
  /** The durable has several patterns. */
  readonly isOneOfSeveral: boolean
  readonly ackWaitMs: number
  /** A new consumer starts there; null: at the beginning. */
  readonly since: Instant | null
}

export async function bind(manager: JetStreamManager, wish: Wish): Promise<Binding> {
  if (wish.stream !== null && !wish.mayRead(wish.stream)) throw new Unbound(mayNotRead(wish.stream))
  const stream = wish.stream ?? (await findStream(manager, wish))
  const info = await findOrMake(manager, stream, wish)
  const { config } = info
  if (config.deliver_subject !== undefined || config.ack_policy !== 'explicit') {
    throw new Unbound(
      `the consumer ${info.name} of the stream ${stream} is not a pull consumer with explicit acknowledgement; name another durable, or remove it`,
    )
  }
  return {
    stream,
    consumer: info.name,
    ackWaitMs: (config.ack_wait ?? 0) / NANOS_PER_MS || wish.ackWaitMs,
    batchMax: config.max_batch || null,
    askMsMax: (config.max_expires ?? 0) / NANOS_PER_MS || null,
    askBytesMax: config.max_bytes || null,
    isInMemory: await isInMemory(manager, stream),
  }
}

/** Does not name streams that may not be read. */
async function findStream(
  manager: JetStreamManager,
  { pattern, mayRead }: Pick<Wish, 'pattern' | 'mayRead'>,
): Promise<string> {
  const names: string[] = []
  for (const name of await manager.streams.names(pattern).next()) if (mayRead(name)) names.push(name)
  const [first] = names
  if (first === undefined) throw new Unbound(`no stream has the subjects ${pattern}; make one that has them`)
  if (names.length > 1) {
    throw new Unbound(`several streams have subjects of ${pattern}: ${names.join(', ')}; name one of them`)
  }
  return first
}

function mayNotRead(stream: string): string {
  return `its tenant may not read the stream ${stream}; the operator allows it with MILLRACE_NATS_STREAMS`
}

/** False for a user who lacks the permission to ask. */
async function isInMemory(manager: JetStreamManager, stream: string): Promise<boolean> {
  try {
    return (await manager.streams.info(stream)).config.storage === 'memory'
  } catch {
    return false
  }
}

export function consumerName(durable: string, pattern: string): string {
  return `${durable}-${createHash('sha256').update(pattern).digest('hex').slice(0, 8)}`
}

async function findOrMake(manager: JetStreamManager, stream: string, wish: Wish): Promise<ConsumerInfo> {
  const { durable, pattern } = wish
  const plain = await find(manager, stream, durable)
  if (plain !== null && (plain.config.filter_subject === pattern || !isMade(plain)))
    return keepFor(manager, stream, plain, wish)
  const own = consumerName(durable, pattern)
  const found = await find(manager, stream, own)
  if (found !== null) return keepFor(manager, stream, found, wish)
  return make(manager, stream, wish, plain !== null || wish.isOneOfSeveral ? own : durable)
}

async function find(manager: JetStreamManager, stream: string, name: string): Promise<ConsumerInfo | null> {
  try {
    return await manager.consumers.info(stream, name)
  } catch (error) {
    if (isCode(error, JetStreamApiCodes.ConsumerNotFound)) return null
    if (isCode(error, JetStreamApiCodes.StreamNotFound)) {
      throw new Unbound(`there is no stream ${stream}; make it, or name another one`)
    }
    throw error
  }
}

const MADE = 'made by Millrace for '

function isMade({ config }: ConsumerInfo): boolean {
  return config.description?.startsWith(MADE) ?? false
}

/** A limit on deliveries would lose messages that take longer. */
async function keepFor(
  manager: JetStreamManager,
  stream: string,
  info: ConsumerInfo,
  { pattern, owner, durable }: Wish,
): Promise<ConsumerInfo> {
  const { filter_subject = '>', max_deliver = -1, description } = info.config
  const refuse = (why: string): never => {
    throw new Unbound(`the consumer ${info.name} of the stream ${stream} ${why}`)
  }
  // Reading with it would take messages from the system it was made for.
  if (!isMade(info)) refuse('was not made by Millrace; name another durable, or leave `durable` out')
  if (description !== markOf(owner, durable)) refuse('is of another source; name another durable')
  if (filter_subject !== pattern)
    refuse(`was changed and reads ${filter_subject}, not ${pattern}; name another durable, or remove it`)
  if (max_deliver <= 0) return info
  return manager.consumers.update(stream, info.name, { ...info.config, max_deliver: -1 })
}

function markOf(owner: string | null, durable: string): string {
  return MADE + (owner ?? durable)
}

function make(manager: JetStreamManager, stream: string, wish: Wish, name: string): Promise<ConsumerInfo> {
  const from: Partial<ConsumerConfig> =
    wish.since === null
      ? { deliver_policy: 'all' }
      : { deliver_policy: 'by_start_time', opt_start_time: new Date(wish.since).toISOString() }
  const config: Partial<ConsumerConfig> = {
    ...from,
    durable_name: name,
    description: markOf(wish.owner, wish.durable),
    ack_policy: 'explicit',
    filter_subject: wish.pattern,
    ack_wait: wish.ackWaitMs * NANOS_PER_MS,
    max_deliver: -1,
    max_ack_pending: UNACKNOWLEDGED_MAX,
  }
  return manager.consumers.add(stream, config)
}
