// A consumer on one node of the local bus: one share in a queue per pattern, a limit of messages in flight, and
// progress acknowledgements for messages that are still being handled.

import type { ConsumerSpec, ConsumerState, IncomingMessage } from '../../ports/bus.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Brought } from './durable.ts'
import type { Queue, Queues } from './queue.ts'
import type { Stream } from './stream.ts'

export interface LocalConsumer {
  /** Looks up its streams again. */
  bind(): void
  close(): Promise<void>
  /** Takes no more messages, and answers nothing for those in flight. */
  cut(): void
}

export interface ConsumerWorld {
  readonly spec: ConsumerSpec
  /** The hub's clock. */
  readonly clock: Clock
  /** The node's clock. */
  readonly ownClock: Clock
  readonly ackWaitMs: number
  readonly queues: Queues
  /** The stream with the pattern, or the reason why there is none. */
  find(pattern: string): Stream | string
  carry(what: 'deliver' | 'acknowledge', subject: string, arrive: () => void): void
}

export function attachConsumer(world: ConsumerWorld): LocalConsumer {
  const { spec, clock, ownClock, ackWaitMs, queues } = world
  let leaves: (() => void)[] = []
  let reported: string | null = null
  let isOpen = true
  let isCut = false
  let inFlight = 0
  let bytesInFlight = 0
  let handling = 0
  let onIdle = () => {}

  const reportState = (state: ConsumerState) => {
    const text = state.is === 'waiting' ? state.why : ''
    if (reported === text) return
    reported = text
    ownClock.defer(() => isOpen && spec.onState(state))
  }

  const leave = () => {
    for (const one of leaves) one()
    leaves = []
  }

  const handle = async (queue: Queue, { message, deliveries }: Brought) => {
    handling += 1
    let cancel = () => {}
    const sayWorking = () => {
      cancel = ownClock.after(ackWaitMs / 3, () => {
        if (isCut) return
        queue.durable.putOff(message.number, clock.now() + ackWaitMs)
        sayWorking()
      })
    }
    sayWorking()
    const handled = await spec.handle(toIncoming(queue.durable.stream, { message, deliveries }))
    cancel()
    handling -= 1
    if (isCut) return
    world.carry('acknowledge', message.subject, () => {
      if (handled.is === 'kept') queue.durable.acknowledge(message.number)
      else queue.durable.putOff(message.number, clock.now() + handled.afterMs)
      queue.pump()
    })
    if (handling === 0) onIdle()
  }

  const bring = (queue: Queue, brought: Brought) => {
    const bytes = brought.message.body.byteLength
    inFlight += 1
    bytesInFlight += bytes
    let isFree = false
    const free = () => {
      if (!isFree) {
        inFlight -= 1
        bytesInFlight -= bytes
      }
      isFree = true
      queue.pump()
    }
    // A message that never arrives takes room until the node asks again, which it cannot do while it is paused.
    const cancel = ownClock.after(ackWaitMs, free)
    world.carry('deliver', brought.message.subject, () =>
      ownClock.defer(async () => {
        if (isCut) return
        cancel()
        if (isOpen) await handle(queue, brought)
        else queue.durable.putOff(brought.message.number, clock.now())
        free()
      }),
    )
  }

  const hasRoom = () =>
    inFlight < spec.maxInFlight &&
    (inFlight === 0 || spec.maxBytes === undefined || bytesInFlight < spec.maxBytes())

  return {
    bind() {
      leave()
      if (!isOpen) return
      let why: string | null = null
      for (const pattern of spec.subjects) {
        const stream = world.find(pattern)
        if (typeof stream === 'string') {
          why ??= stream
          continue
        }
        const name = spec.subjects.length === 1 ? spec.durable : `${spec.durable} ${pattern}`
        const queue = queues.find(stream, name, pattern)
        leaves.push(queue.join({ hasRoom, bring: (one) => bring(queue, one) }))
      }
      reportState(why === null ? { is: 'consuming' } : { is: 'waiting', why })
    },
    async close() {
      leave()
      isOpen = false
      if (handling > 0 && !isCut) await new Promise<void>((resolve) => (onIdle = resolve))
    },
    cut() {
      leave()
      isOpen = false
      isCut = true
      onIdle()
    },
  }
}

function toIncoming(stream: Stream, { message, deliveries }: Brought): IncomingMessage {
  return {
    subject: message.subject,
    id: message.id,
    place: `${stream.name}@${stream.birth}:${message.number}`,
    headers: message.headers,
    body: message.body,
    at: message.at,
    deliveries,
  }
}
