// A bus in this process: it stands in for NATS JetStream in tests and in the simulator. Several nodes connect to one
// hub. It has no time of its own and causes no faults by itself: clock and faults are given.
//
// Everything that reaches a node goes through that node's clock, so that a paused node receives nothing until it
// resumes.

import { matchesPattern, patternsMeet } from '../../core/events/subject/index.ts'
import { publishInOrder, type Sent } from '../../core/store/outbox/index.ts'
import {
  type Bus,
  BusError,
  type BusStatus,
  type ConsumerSpec,
  type OutgoingMessage,
} from '../../ports/bus.ts'
import type { Clock } from '../../ports/clock.ts'
import { MISSED, WAKE_BYTES_MAX, type Wake } from '../../ports/wakes.ts'
import { attachConsumer, type LocalConsumer } from './consumer.ts'
import { makeQueues } from './queue.ts'
import {
  makeStream,
  type SentMessage,
  type StoredMessage,
  type Stream,
  type StreamSpec,
  streamHas,
} from './stream.ts'

/** A step where a fault can happen. */
export interface Moment {
  /** A published message, the response to it, a message on its way to a consumer, its acknowledgement, a wake-up. */
  readonly what: 'publish' | 'answer' | 'deliver' | 'acknowledge' | 'wake'
  readonly node: string
  readonly subject: string
}

export interface Fate {
  readonly isLost?: boolean
  readonly isTwice?: boolean
  readonly delayMs?: number
}

export interface LocalHubOptions {
  readonly clock: Clock
  /** First token of the subjects of Millrace's own streams. */
  readonly prefix?: string
  /** How long an id is remembered. */
  readonly duplicateWindowMs?: number
  /** A message that is neither acknowledged nor reported in progress for this long is redelivered. */
  readonly ackWaitMs?: number
  /** How long a publisher waits for a response. */
  readonly answerMs?: number
  readonly maxBytes?: number
  readonly fate?: (moment: Moment) => Fate
}

export interface LocalBus extends Bus {
  /** The node disappears without notice: its messages are redelivered to others when their time is over. */
  cut(): void
}

export interface LocalHub {
  /** The clock is the node's own; omitted: the hub's. */
  connect(node: string, clock?: Clock): LocalBus
  /** Creates a stream of another system. */
  addStream(spec: StreamSpec): void
  removeStream(name: string): void
  /** Publishes a message as another system would; false: no stream has its subject. */
  send(message: SentMessage): boolean
  /** The stored messages whose subject matches, oldest first in each stream. */
  stored(pattern: string): readonly StoredMessage[]
  setReachable(isReachable: boolean): void
  /**
   * Removes other systems' streams; our own are recreated empty and remember no ids. Messages on their way in never
   * arrive.
   */
  loseState(): void
}

export function makeLocalHub(options: LocalHubOptions): LocalHub {
  const { clock, prefix = 'millrace', answerMs = 5_000, maxBytes = 1_048_576 } = options
  const fate = options.fate ?? ((): Fate => ({}))
  const ackWaitMs = options.ackWaitMs ?? 30_000
  const duplicateWindowMs = options.duplicateWindowMs ?? 120_000
  const streams = new Map<string, Stream>()
  const nodes = new Set<LocalNode>()
  const queues = makeQueues({ clock, ackWaitMs })
  let births = 0
  let losses = 0
  let isReachable = true

  const addStream = (spec: StreamSpec) => {
    births += 1
    streams.set(spec.name, makeStream(spec, births, duplicateWindowMs))
  }
  const name = prefix.toUpperCase().replaceAll('.', '_')
  const tokens = `${name}_TOKENS`
  const addOwn = () => {
    addStream({ name: `${name}_EVENTS`, subjects: [`${prefix}.*.events.>`] })
    addStream({ name: tokens, subjects: [`${prefix}.*.workflows.>`], maxPerSubject: 1 })
  }
  addOwn()

  const send = (message: SentMessage): boolean => {
    const stream = [...streams.values()].find((one) => streamHas(one, message.subject))
    if (stream === undefined) return false
    if (stream.put(message, clock.now())) queues.pumpStream(stream)
    return true
  }
  const refresh = () => {
    for (const node of [...nodes]) node.refresh()
  }

  interface LocalNode {
    hear(wake: Wake): void
    refresh(): void
  }

  /** Calls back when the message arrives: after its delay, twice or never. */
  const carry = (moment: Moment, arrive: () => void) => {
    const { isLost = false, isTwice = false, delayMs = 0 } = fate(moment)
    if (isLost) return
    clock.after(delayMs, arrive)
    if (isTwice) clock.after(delayMs, arrive)
  }

  const connect = (name: string, ownClock: Clock = clock): LocalBus => {
    const consumers = new Set<LocalConsumer>()
    const listeners = new Set<(wake: Wake) => void>()
    const watchers = new Set<(status: BusStatus) => void>()
    let isOpen = true

    const status = (): BusStatus => ({
      isConnected: isReachable && isOpen,
      version: 'local',
      isSynced: null,
      tokensBirth: isReachable ? (streams.get(tokens)?.birth.toString() ?? null) : null,
      warnings: [],
    })

    const publishOne = (message: OutgoingMessage) =>
      new Promise<Sent>((resolve) => {
        const answer = (isThere: boolean) => ownClock.defer(() => resolve(isThere ? 'taken' : 'unknown'))
        const cancel = clock.after(answerMs, () => answer(false))
        const about = { node: name, subject: message.subject }
        const sentAfter = losses
        carry({ what: 'publish', ...about }, () => {
          // A server that lost its state is another process: messages sent to the one before do not reach it.
          if (!isReachable || !isOpen || losses !== sentAfter) return
          const isThere = send(message)
          carry({ what: 'answer', ...about }, () => {
            cancel()
            answer(isThere)
          })
        })
      })

    const publish: Bus['publish'] = async (messages) => {
      if (!isOpen) throw new BusError('closed', 'the bus is closed')
      if (!isReachable) throw new BusError('unavailable', 'the bus cannot be reached; it is tried again')
      const answers = await publishInOrder(messages, async (message) =>
        message.body.byteLength > maxBytes ? 'refused' : publishOne(message),
      )
      if (answers.length > 0 && answers.every((sent) => sent === 'refused')) {
        throw new BusError('refused', `a message has at most ${maxBytes} bytes on this bus; send less`)
      }
      if (answers.length > 0 && !answers.includes('taken')) {
        throw new BusError('unavailable', 'the bus did not answer for any message; publish them again')
      }
      return answers.map((sent) => sent === 'taken')
    }

    const node: LocalNode = {
      hear: (wake) => {
        ownClock.defer(() => {
          if (isOpen) for (const listener of [...listeners]) listener(wake)
        })
      },
      refresh: () => {
        for (const consumer of consumers) consumer.bind()
        const now = status()
        ownClock.defer(() => {
          if (isOpen) for (const watcher of [...watchers]) watcher(now)
        })
      },
    }
    nodes.add(node)

    const leave = () => {
      isOpen = false
      nodes.delete(node)
      for (const consumer of consumers) consumer.cut()
    }

    return {
      publish,
      consume(spec) {
        const consumer = attachConsumer({
          spec,
          clock,
          ownClock,
          ackWaitMs,
          queues,
          find: (pattern) => (isReachable ? findStream(streams, spec, pattern) : AWAY),
          carry: (what, subject, arrive) =>
            carry({ what, node: name, subject }, () => isReachable && arrive()),
        })
        consumers.add(consumer)
        consumer.bind()
        return {
          close: async () => {
            await consumer.close()
            consumers.delete(consumer)
          },
        }
      },
      wakes: {
        send: (wake) => {
          if (!isReachable || !isOpen) return
          const told = shorten(wake)
          for (const other of nodes) {
            if (other !== node)
              carry({ what: 'wake', node: name, subject: wake.wake }, () => other.hear(told))
          }
        },
        listen: (listener) => {
          listeners.add(listener)
          return () => void listeners.delete(listener)
        },
      },
      status,
      watch: (listener) => {
        watchers.add(listener)
        return () => void watchers.delete(listener)
      },
      cut: leave,
      async [Symbol.asyncDispose]() {
        await Promise.all([...consumers].map((consumer) => consumer.close()))
        leave()
      },
    }
  }

  return {
    connect,
    addStream(spec) {
      addStream(spec)
      refresh()
    },
    removeStream(name) {
      streams.delete(name)
      refresh()
    },
    send,
    stored: (pattern) =>
      [...streams.values()]
        .flatMap((stream) => stream.list())
        .filter(({ subject }) => matchesPattern(pattern, subject)),
    setReachable(reachable) {
      const isBack = reachable && !isReachable
      isReachable = reachable
      refresh()
      if (isBack) for (const node of [...nodes]) for (const wake of MISSED) node.hear(wake)
    },
    loseState() {
      losses += 1
      streams.clear()
      addOwn()
      refresh()
    },
  }
}

/** A body that is too large is replaced by one that says only that there is more. */
function shorten(wake: Wake): Wake {
  if (wake.wake !== 'changes' || wake.body === null) return wake
  return new TextEncoder().encode(wake.body).byteLength > WAKE_BYTES_MAX ? { ...wake, body: null } : wake
}

const AWAY = 'the bus cannot be reached; it is tried again'

function findStream(
  streams: ReadonlyMap<string, Stream>,
  { stream: name, mayRead = () => true }: Pick<ConsumerSpec, 'stream' | 'mayRead'>,
  pattern: string,
): Stream | string {
  if (name !== null) {
    if (!mayRead(name))
      return `its tenant may not read the stream ${name}; the operator allows it with MILLRACE_NATS_STREAMS`
    return streams.get(name) ?? `there is no stream ${name}; make it, or name another one`
  }
  const found = [...streams.values()].filter(
    ({ name, subjects }) => mayRead(name) && subjects.some((one) => patternsMeet(one, pattern)),
  )
  const [first] = found
  if (first === undefined) return `no stream has the subjects ${pattern}; make one that has them`
  if (found.length === 1) return first
  return `several streams have subjects of ${pattern}: ${found.map((one) => one.name).join(', ')}; name one of them`
}
