// What stops a run of a function, and which of several obstacles decides: plain data, and one pure decision.

import type { DeadLetterReason } from '../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Guard, Write } from '../../ports/store.ts'

/** Why a run cannot end as its function says, and what to do instead. Their writes go into one commit with the job. */
export interface Obstacle {
  /** `stale`: another node owns the job, and nothing is written. */
  readonly step: 'again' | 'park' | 'dead' | 'stale'
  readonly delayMs: number
  /** What it uses up. */
  readonly counts: 'attempt' | 'wait' | 'nothing'
  /** Of the effect that it is about. */
  readonly key: string
  readonly class: FailureClass
  readonly reason: DeadLetterReason
  readonly error: string
  /** The effect may have happened, and repeating it is not harmless: the job must not be dead-lettered because of it. */
  readonly outcomeUnknown: boolean
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

export function makeObstacle(
  key: string,
  known: Partial<Obstacle> & Pick<Obstacle, 'step' | 'error'>,
): Obstacle {
  return {
    delayMs: 0,
    counts: 'attempt',
    key,
    class: 'transient',
    reason: 'rejected',
    outcomeUnknown: false,
    guards: [],
    writes: [],
    ...known,
  }
}

/**
 * The job waits, which uses no attempt. A job that would expire by then ends instead: parked if its effect may have happened.
 */
export function makeWait(
  key: string,
  work: Pick<WorkRow, 'expiresAt' | 'class'>,
  now: Instant,
  {
    delayMs,
    error,
    outcomeUnknown = false,
  }: Pick<Obstacle, 'delayMs' | 'error'> & { readonly outcomeUnknown?: boolean },
): Obstacle {
  const isLate = now + delayMs >= work.expiresAt
  return makeObstacle(key, {
    step: !isLate ? 'again' : outcomeUnknown ? 'park' : 'dead',
    delayMs,
    counts: isLate ? 'nothing' : 'wait',
    class: outcomeUnknown ? 'unknown' : (work.class ?? 'transient'),
    reason: 'expired',
    error,
    outcomeUnknown,
  })
}

/** What happens to the job: the first obstacle that needs a user, else the worst; null: there is none. */
export function decideStop(obstacles: readonly Obstacle[]): Obstacle | null {
  const [first] = obstacles
  if (first === undefined) return null
  const parks = obstacles.find(({ step }) => step === 'park')
  if (parks !== undefined) return parks
  const unknownOutcome = obstacles.find(({ outcomeUnknown }) => outcomeUnknown)
  const dies = obstacles.find(({ step }) => step === 'dead')
  // It would be dead-lettered, and an effect may have happened: a user must know.
  if (dies !== undefined)
    return unknownOutcome === undefined ? dies : { ...unknownOutcome, step: 'park', class: 'unknown' }
  return unknownOutcome ?? obstacles.reduce((a, b) => (b.delayMs > a.delayMs ? b : a))
}
