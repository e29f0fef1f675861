// A durable consumer's position in a stream: the messages it has seen, and those it delivered that are not
// acknowledged. Time arrives as an argument; consumer.ts handles the messages.

import { matchesPattern } from '../../core/events/subject/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { StoredMessage, Stream } from './stream.ts'

export interface Brought {
  readonly message: StoredMessage
  readonly deliveries: number
}

export interface Durable {
  readonly stream: Stream
  /** Which messages it delivers from now on; its position stays. */
  setPattern(pattern: string): void
  /** The next message to deliver, in flight until `due` from then on; null: none now. */
  take(now: Instant, due: Instant): Brought | null
  acknowledge(number: number): void
  /** It is redelivered then, unless it was acknowledged. */
  putOff(number: number, due: Instant): void
  /** When the next message in flight is redelivered; null: none is in flight. */
  nextDue(): Instant | null
}

export function makeDurable(stream: Stream): Durable {
  let pattern = '>'
  let position = 0
  const underWay = new Map<number, { deliveries: number; due: Instant }>()

  const takeAgain = (now: Instant, due: Instant): Brought | null => {
    for (const [number, row] of [...underWay].sort(([a], [b]) => a - b)) {
      if (row.due > now) continue
      const message = stream.get(number)
      if (message === undefined) {
        underWay.delete(number)
        continue
      }
      row.deliveries += 1
      row.due = due
      return { message, deliveries: row.deliveries }
    }
    return null
  }

  return {
    stream,
    setPattern(next) {
      pattern = next
    },
    take(now, due) {
      const again = takeAgain(now, due)
      if (again !== null) return again
      while (position < stream.last()) {
        position += 1
        const message = stream.get(position)
        if (message === undefined || !matchesPattern(pattern, message.subject)) continue
        underWay.set(position, { deliveries: 1, due })
        return { message, deliveries: 1 }
      }
      return null
    },
    acknowledge(number) {
      underWay.delete(number)
    },
    putOff(number, due) {
      const row = underWay.get(number)
      if (row !== undefined) row.due = due
    },
    nextDue() {
      let next: Instant | null = null
      for (const { due } of underWay.values()) if (next === null || due < next) next = due
      return next
    },
  }
}
