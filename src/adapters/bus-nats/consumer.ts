// A consumer on this node: for each of its patterns one consumer of the server, found or created, pulled from, and
// found or created again when it is lost. Messages being handled are reported in progress until they are answered.

import { jetstreamManager } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { Consumer, ConsumerSpec, ConsumerState } from '../../ports/bus.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Binding, bind, Unbound } from './binding.ts'
import type { Connection } from './connection.ts'
import { type HeldMessages, makeHeldMessages } from './held-messages.ts'
import { answer } from './message.ts'
import { bytesOf, type Pull, startPull } from './pull.ts'
import { describeSource } from './server-durability.ts'
import type { Warnings } from './warnings.ts'

const RETRY_MS = 1_000
const AWAY = 'NATS cannot be reached; it is tried again'

export interface ConsumerWorld {
  readonly connection: Connection
  readonly clock: Clock
  readonly spec: ConsumerSpec
  readonly ackWaitMs: number
  readonly warnings: Warnings
  /** How long to wait for a stream that does not exist. */
  readonly retryMs?: number
}

export function startConsumer(world: ConsumerWorld): Consumer {
  const { spec } = world
  const heldMessages = makeHeldMessages(world)
  const reasons = new Map<string, string | null>()
  let reported: string | null = null

  /** One reason for all patterns: why the first of them waits. */
  const reportState = (pattern: string, why: string | null) => {
    reasons.set(pattern, why)
    if (reasons.size < spec.subjects.length) return
    const first = [...reasons.values()].find((one) => one !== null) ?? null
    const state: ConsumerState = first === null ? { is: 'consuming' } : { is: 'waiting', why: first }
    const text = first ?? ''
    if (reported === text) return
    reported = text
    spec.onState(state)
  }

  const subjectConsumers = spec.subjects.map((pattern) =>
    startSubjectConsumer({
      ...world,
      pattern,
      heldMessages,
      reportState: (why) => reportState(pattern, why),
    }),
  )
  return {
    async close() {
      await Promise.all(subjectConsumers.map((subjectConsumer) => subjectConsumer.stop()))
      await heldMessages.empty()
    },
  }
}

interface SubjectConsumer {
  stop(): Promise<void>
}

function startSubjectConsumer(
  world: ConsumerWorld & {
    readonly pattern: string
    readonly heldMessages: HeldMessages
    readonly reportState: (why: string | null) => void
  },
): SubjectConsumer {
  const { connection, clock, spec, heldMessages, pattern, reportState } = world
  const retryMs = world.retryMs ?? RETRY_MS
  /** Each pattern has its share of the room, and at least one message. */
  const max = Math.max(1, Math.floor(spec.maxInFlight / spec.subjects.length))
  const { maxBytes } = spec
  let pull: Pull | null = null
  let held = 0
  let heldBytes = 0
  let life = 0
  let isOpen = true
  let wasBound = false
  let cancelRetry = () => {}

  const take = (binding: Binding) => (message: Msg) => {
    if (!isOpen) return answer(message, { is: 'again', afterMs: 0 })
    const bytes = bytesOf(message)
    held += 1
    heldBytes += bytes
    heldMessages.take(message, binding.ackWaitMs, () => {
      held -= 1
      heldBytes -= bytes
      pull?.ask()
    })
  }

  const retry = (own: number) => (why: string) => {
    if (!isOpen || own !== life) return
    pull = null
    reportState(why)
    cancelRetry = clock.after(retryMs, () => {
      const nats = connection.current()
      if (nats !== null) void begin(nats)
    })
  }

  const begin = async (nats: NatsConnection) => {
    cancelRetry()
    life += 1
    const own = life
    const before = pull
    pull = null
    await before?.stop()
    const bound = await tryBind(nats, world, pattern, wasBound)
    if (!isOpen || own !== life) return
    if (typeof bound === 'string') return retry(own)(bound)
    wasBound = true
    world.warnings.set(`memory ${bound.stream}`, describeSource(bound.stream, bound.isInMemory))
    reportState(null)
    pull = startPull({
      nats,
      binding: bound,
      clock,
      max,
      held: () => held,
      maxBytes: maxBytes === undefined ? undefined : () => maxBytes() / spec.subjects.length,
      heldBytes: () => heldBytes,
      onMessage: take(bound),
      onLost: retry(own),
    })
  }

  if (connection.current() === null) reportState(AWAY)
  const stopListening = connection.onThere((nats) => void begin(nats))
  const stopWatching = connection.onGone(() => {
    life += 1
    reportState(AWAY)
  })

  return {
    async stop() {
      isOpen = false
      stopListening()
      stopWatching()
      cancelRetry()
      await pull?.stop()
    },
  }
}

async function tryBind(
  nats: NatsConnection,
  world: ConsumerWorld,
  pattern: string,
  wasBound: boolean,
): Promise<Binding | string> {
  const { spec, ackWaitMs, clock } = world
  const { owner = null, knownForMs } = spec
  try {
    const manager = await jetstreamManager(nats, { checkAPI: false })
    return await bind(manager, {
      stream: spec.stream,
      durable: spec.durable,
      pattern,
      owner,
      mayRead: spec.mayRead ?? (() => true),
      isOneOfSeveral: spec.subjects.length > 1,
      since: wasBound && knownForMs !== undefined ? clock.now() - knownForMs : null,
      ackWaitMs,
    })
  } catch (error) {
    if (error instanceof Unbound) return error.message
    const said = error instanceof Error ? error.message : String(error)
    return `NATS gives no consumer for ${pattern} (${said}); it is tried again`
  }
}
