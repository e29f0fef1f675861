// The messages that a consumer holds on this node: a limited number is handled at once, the others wait here, and all
// of them are reported to the server as in progress, so that slow handling causes no redelivery.

import type { Msg } from '@nats-io/transport-node'
import type { ConsumerSpec } from '../../ports/bus.ts'
import type { Clock } from '../../ports/clock.ts'
import { answer, readMessage, sayWorking } from './message.ts'

export interface HeldMessages {
  /** `done` is called when the message was answered. */
  take(message: Msg, ackWaitMs: number, done: () => void): void
  /** Leaves the waiting ones to other nodes. Resolves when nothing is being handled. */
  empty(): Promise<void>
}

interface Held {
  readonly message: Msg
  readonly done: () => void
  /** Reported at the next tick: it was already here at the one before. */
  isOld: boolean
}

export function makeHeldMessages({
  clock,
  spec,
}: {
  readonly clock: Clock
  readonly spec: ConsumerSpec
}): HeldMessages {
  const held = new Set<Held>()
  const waiting: Held[] = []
  let handling = 0
  let isOpen = true
  let isTicking = false
  let cancelTick = () => {}
  let onEmpty = () => {}

  const tick = (everyMs: number) => {
    isTicking = true
    cancelTick = clock.after(everyMs, () => {
      isTicking = false
      for (const one of held) {
        if (one.isOld) sayWorking(one.message)
        one.isOld = true
      }
      if (held.size > 0) tick(everyMs)
    })
  }

  const finish = (one: Held) => {
    held.delete(one)
    one.done()
    if (handling === 0 && !isOpen) onEmpty()
  }

  const handle = async (one: Held) => {
    const incoming = readMessage(one.message)
    handling += 1
    if (incoming !== null) answer(one.message, await spec.handle(incoming))
    handling -= 1
    finish(one)
    const next = isOpen && handling < spec.maxInFlight ? waiting.shift() : undefined
    if (next !== undefined) void handle(next)
  }

  return {
    take(message, ackWaitMs, done) {
      const one: Held = { message, done, isOld: false }
      held.add(one)
      if (!isTicking) tick(ackWaitMs / 3)
      if (handling < spec.maxInFlight) void handle(one)
      else waiting.push(one)
    },
    async empty() {
      isOpen = false
      for (const one of waiting.splice(0)) {
        answer(one.message, { is: 'again', afterMs: 0 })
        finish(one)
      }
      if (handling > 0) {
        await new Promise<void>((resolve) => {
          onEmpty = resolve
        })
      }
      cancelTick()
    },
  }
}
