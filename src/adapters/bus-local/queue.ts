// Distributes the messages of a durable consumer among the nodes that share it, round robin to those that have room.

import type { Clock } from '../../ports/clock.ts'
import { type Brought, type Durable, makeDurable } from './durable.ts'
import type { Stream } from './stream.ts'

export interface Member {
  hasRoom(): boolean
  bring(brought: Brought): void
}

export interface Queue {
  readonly durable: Durable
  /** Returns a function that leaves. */
  join(member: Member): () => void
  /** Delivers what can be delivered now, and schedules the next time. */
  pump(): void
}

export interface Queues {
  /** The queue of that name in the stream; it is created if missing, and otherwise takes this pattern from now on. */
  find(stream: Stream, name: string, pattern: string): Queue
  pumpStream(stream: Stream): void
}

export function makeQueues(options: { clock: Clock; ackWaitMs: number }): Queues {
  const byStream = new WeakMap<Stream, Map<string, Queue>>()
  const queuesOf = (stream: Stream) => {
    const queues = byStream.get(stream) ?? new Map<string, Queue>()
    byStream.set(stream, queues)
    return queues
  }
  return {
    find(stream, name, pattern) {
      const queues = queuesOf(stream)
      const queue = queues.get(name) ?? makeQueue(makeDurable(stream), options)
      queue.durable.setPattern(pattern)
      queues.set(name, queue)
      return queue
    },
    pumpStream(stream) {
      for (const queue of queuesOf(stream).values()) queue.pump()
    },
  }
}

function makeQueue(durable: Durable, { clock, ackWaitMs }: { clock: Clock; ackWaitMs: number }): Queue {
  const members: Member[] = []
  let cancel = () => {}

  const pump = () => {
    cancel()
    for (let asked = 0; asked < members.length; ) {
      const member = members.shift()
      if (member === undefined) break
      members.push(member)
      const now = clock.now()
      const brought = member.hasRoom() ? durable.take(now, now + ackWaitMs) : null
      asked = brought === null ? asked + 1 : 0
      if (brought !== null) member.bring(brought)
    }
    const due = members.length === 0 ? null : durable.nextDue()
    // A member with room asks at once; an overdue message waits for room, not for time.
    const now = clock.now()
    cancel = due === null || due <= now ? () => {} : clock.after(due - now, pump)
  }

  return {
    durable,
    pump,
    join(member) {
      members.push(member)
      clock.defer(pump)
      return () => {
        const index = members.indexOf(member)
        if (index >= 0) members.splice(index, 1)
      }
    },
  }
}
