// A stream of the local bus: its messages, and the ids it remembers. Time arrives as an argument.

import { matchesPattern } from '../../core/events/subject/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'

export interface StreamSpec {
  readonly name: string
  readonly subjects: readonly string[]
  /** Only the last messages of one subject are stored; null: all. */
  readonly maxPerSubject?: number | null
}

/** A message as any system may send it; Millrace's bus always gives an id. */
export interface SentMessage {
  readonly id: string | null
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface StoredMessage extends SentMessage {
  readonly number: number
  readonly at: Instant
}

export interface Stream {
  readonly name: string
  readonly subjects: readonly string[]
  /** Different for each stream, also for one of the same name. */
  readonly birth: number
  /** Returns whether it was new. */
  put(message: SentMessage, now: Instant): boolean
  get(number: number): StoredMessage | undefined
  last(): number
  /** Oldest first. */
  list(): readonly StoredMessage[]
}

export function makeStream(spec: StreamSpec, birth: number, duplicateWindowMs: number): Stream {
  const messages = new Map<number, StoredMessage>()
  const bySubject = new Map<string, number[]>()
  const seenAt = new Map<string, Instant>()
  const max = spec.maxPerSubject ?? Number.POSITIVE_INFINITY
  let last = 0

  const forget = (now: Instant) => {
    for (const [id, at] of seenAt) {
      if (at + duplicateWindowMs > now) return
      seenAt.delete(id)
    }
  }

  return {
    name: spec.name,
    subjects: spec.subjects,
    birth,
    put(message, now) {
      forget(now)
      if (message.id !== null) {
        if (seenAt.has(message.id)) return false
        seenAt.set(message.id, now)
      }
      last += 1
      messages.set(last, { ...message, number: last, at: now })
      const numbers = bySubject.get(message.subject) ?? []
      bySubject.set(message.subject, numbers)
      numbers.push(last)
      for (const old of numbers.splice(0, Math.max(0, numbers.length - max))) messages.delete(old)
      return true
    },
    get: (number) => messages.get(number),
    last: () => last,
    list: () => [...messages.values()],
  }
}

export function streamHas(stream: Stream, subject: string): boolean {
  return stream.subjects.some((pattern) => matchesPattern(pattern, subject))
}
