// The dead letter of a job that died, and its texts.

import type { NewEvent } from '../../core/events/event/index.ts'
import type { DeadLetterReason, NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import { type FailureClass, failureId } from '../../core/failures/failure/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { toStorable } from '../../core/foundation/json/index.ts'
import type { NewWork } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Item } from '../leases/index.ts'
import { scrubOf } from '../secrets/index.ts'

/** Ends a job as a dead letter. */
export type DeadLetterJob = (
  item: Item,
  failureClass: FailureClass,
  reason: DeadLetterReason,
  error: string,
) => Promise<void>

const ERROR_LENGTH_MAX = 2_000

export function storableError(about: Pick<NewEvent, 'sensitive' | 'data' | 'headers'>, text: string): string {
  return toStorable(scrubOf(about)(text), ERROR_LENGTH_MAX)
}

/** How far a job came, as far as its end shows; the caller that ends it may know better. */
export function stepReached(
  work: Pick<NewWork, 'kind'>,
  route: Route | null,
  {
    reason,
    class: failureClass,
    key,
    attempts,
  }: {
    readonly reason: DeadLetterReason
    readonly class: FailureClass
    readonly key: string | null
    readonly attempts: number
  },
): string {
  if (work.kind === 'intake') return 'match'
  if (work.kind === 'batch') return 'batch'
  if (reason === 'definition_missing' || route === null) return 'definition'
  if (reason === 'too_many_elements') return 'each'
  if (reason === 'unparseable') return 'read'
  if (key === null) return 'key'
  const { type } = route.action
  if (type !== 'http') return type
  if (attempts === 0) return reason === 'rejected' ? 'request' : 'wait'
  return failureClass === 'unknown' ? 'probe' : 'call'
}

/** The dead letter of a job that died. */
export function newDeadLetter(
  ids: Ids,
  work: Pick<NewWork, 'id' | 'consumer'>,
  event: Pick<NewEvent, 'id' | 'correlationId' | 'payloadHash'>,
  route: Route | null,
  died: {
    readonly class: FailureClass
    readonly reason: DeadLetterReason
    readonly error: string
    readonly attempts: number
    readonly key: string | null
    /** How far it came; omitted: it was never matched. */
    readonly step?: string
  },
): NewDeadLetter {
  return {
    id: ids.deadLetter(),
    version: 1,
    state: 'open',
    class: died.class,
    reason: died.reason,
    consumer: work.consumer,
    eventId: event.id,
    workId: work.id,
    attempts: died.attempts,
    replays: 0,
    lastError: died.error,
    key: died.key,
    correlationId: event.correlationId,
    payloadHash: event.payloadHash,
    runbook: route?.document.deadLetter.runbook ?? null,
    severity: route?.document.deadLetter.severity ?? 'medium',
    step: died.step ?? 'match',
    failureId: failureId(work.id),
  }
}
