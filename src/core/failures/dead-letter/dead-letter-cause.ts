// Reduces errors to causes, without the parts that differ between events, so that a thousand dead letters of one outage are one
// line.

import type { DeadLetterId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { FailureClass } from '../failure/index.ts'
import type { DeadLetterReason } from './dead-letter.ts'

const CAUSE_LENGTH_MAX = 200
/** An error may quote a whole response; what distinguishes causes is at the beginning. */
const READ_LENGTH_MAX = 1_000

const QUOTED = /"[^"\n]*"|`[^`\n]*`|«[^»\n]*»|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}])/gu
const UUID = /(?<![0-9a-zA-Z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-zA-Z])/gi
const HEX = /(?<![\p{L}\p{N}])(?=[a-f]*\d)[0-9a-f]{8,}(?![\p{L}\p{N}])/giu
/** A status shows the kind of refusal, so it stays; any other number belongs to one event. */
const NUMBER = /\d+(?:[.,]\d+)*/g
const BEFORE_STATUS = /(?:HTTP|answered|status)(?: code)? $/i

/** The error with quoted values, ids and numbers replaced, on one line and bounded. */
export function causeOf(lastError: string): string {
  const text = lastError
    .slice(0, READ_LENGTH_MAX)
    .replace(QUOTED, '«…»')
    .replace(UUID, '…')
    .replace(HEX, '…')
    .replace(NUMBER, (number, offset: number, whole: string) =>
      isStatus(number, whole.slice(Math.max(0, offset - 16), offset)) ? number : '#',
    )
    .replace(/\s+/g, ' ')
    .trim()
  return text.length > CAUSE_LENGTH_MAX ? `${text.slice(0, CAUSE_LENGTH_MAX - 1)}…` : text
}

function isStatus(number: string, before: string): boolean {
  return /^[1-5]\d\d$/.test(number) && BEFORE_STATUS.test(before)
}

/** Dead letters with the very same error, counted. */
export interface LikeDeadLetters {
  readonly class: FailureClass
  readonly reason: DeadLetterReason
  readonly consumer: string
  readonly lastError: string
  readonly count: number
  readonly firstAt: Instant
  readonly latestAt: Instant
  /** The newest of them. */
  readonly sampleId: DeadLetterId
}

export interface DeadLetterGroup extends Omit<LikeDeadLetters, 'lastError'> {
  readonly cause: string
}

/** By class, reason, consumer and cause: the largest group first, then the one with the newest dead letter. */
export function groupByCause(deadLetters: Iterable<LikeDeadLetters>): DeadLetterGroup[] {
  const groups = new Map<string, DeadLetterGroup>()
  for (const { lastError, ...row } of deadLetters) {
    const group: DeadLetterGroup = { ...row, cause: causeOf(lastError) }
    const key = JSON.stringify([group.class, group.reason, group.consumer, group.cause])
    const known = groups.get(key)
    groups.set(key, known === undefined ? group : merge(known, group))
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || (a.sampleId < b.sampleId ? 1 : -1))
}

function merge(a: DeadLetterGroup, b: DeadLetterGroup): DeadLetterGroup {
  const newest = a.sampleId < b.sampleId ? b : a
  return {
    ...newest,
    count: a.count + b.count,
    firstAt: Math.min(a.firstAt, b.firstAt),
    latestAt: Math.max(a.latestAt, b.latestAt),
  }
}
