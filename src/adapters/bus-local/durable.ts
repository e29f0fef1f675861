// A durable consumer's place in a stream: what it has seen, and what it brought that is not acknowledged. Time arrives as an
// argument; who takes the messages is consumer.ts.

import { matchesPattern } from '../../core/events/subject/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { StoredMessage, Stream } from './stream.ts'

export interface Brought {
  readonly message: StoredMessage
  readonly deliveries: number
}

export interface Durable {
  readonly stream: Stream
  /** Which messages it brings from now on; its place stays. */
  setPattern(pattern: string): void
  /** The next to bring, which is from then on under way until `due`; null: nothing now. */
  take(now: Instant, due: Instant): Brought | null
  acknowledge(number: number): void
  /** It is brought again then, unless it is acknowledged by now. */
  putOff(number: number, due: Instant): void
  /** When the next one comes that is under way now; null: none is. */
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
