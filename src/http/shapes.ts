// Rows as clients see them: the names and forms that the API promises. Instants are ISO 8601; what is not known is left
// out where the promise says so, and null elsewhere.

import type { LedgerEntry } from '../core/effects/ledger/index.ts'
import type { DeadLetter, DeadLetterGroup } from '../core/failures/dead-letter/index.ts'
import { REPORTED_AS } from '../core/failures/failure/index.ts'
import type { Instant } from '../core/foundation/time/index.ts'
import type { Attempt, WorkRow } from '../core/queue/work/index.ts'
import type { BulkReplay, Change, ReplayFilter } from '../engine/index.ts'

export function iso(at: Instant): string {
  return new Date(at).toISOString()
}

export function isoOrNull(at: Instant | null): string | null {
  return at === null ? null : iso(at)
}

/** The members that are not null. */
export function present<Members extends Readonly<Record<string, unknown>>>(
  members: Members,
): Partial<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as Partial<Members>
}

/** `route:crm` as its kind and name. */
export function splitConsumer(consumer: string): { readonly kind: string; readonly name: string } {
  const colon = consumer.indexOf(':')
  return { kind: consumer.slice(0, colon), name: consumer.slice(colon + 1) }
}

export function showConsumers(work: readonly WorkRow[]) {
  return work.map((item) => ({
    ...splitConsumer(item.consumer),
    workId: item.id,
    state: item.state,
    attempts: item.attempts,
    ...present({ class: item.class }),
  }))
}

export function showWork(work: WorkRow) {
  return {
    id: work.id,
    kind: work.kind,
    consumer: splitConsumer(work.consumer).name,
    eventId: work.eventId,
    state: work.state,
    attempts: work.attempts,
    waits: work.waits,
    losses: work.losses,
    dueAt: iso(work.dueAt),
    createdAt: iso(work.createdAt),
    expiresAt: iso(work.expiresAt),
    definition: work.definition,
    ...present({
      class: work.class,
      key: work.key,
      processedAt: isoOrNull(work.processedAt),
      effectRef: work.effectRef,
      lastError: work.lastError,
      httpStatus: work.httpStatus,
      durationMs: work.durationMs,
      replayOf: work.replayOf,
      element: work.element,
      lane: work.lane,
      holdsLane: holdsLane(work) ? true : null,
      into: work.into,
      generation: work.generation > 1 ? work.generation : null,
      explanation: work.kind === 'intake' ? explainIntake(work) : null,
      instance: work.instance,
      step: work.step,
    }),
  }
}

/** Whether others wait because it is dead or parked. */
function holdsLane({ hasPlace, state }: WorkRow): boolean {
  return hasPlace && (state === 'dead' || state === 'parked')
}

/** What an item that only matches its event is about, in plain words. */
function explainIntake({ state, replayOf }: WorkRow): string {
  switch (state) {
    case 'ready':
    case 'waiting':
      return replayOf === null
        ? 'The event is kept, and matched when its source goes on.'
        : 'The event is to be matched again, by the definitions in force then.'
    case 'leased':
      return 'The event is being matched.'
    case 'dead':
      return 'The event could not be matched: nothing was done about it. Its dead letter says why, and what became of it.'
    case 'cancelled':
      return 'A user cancelled it before the event was matched. The event is stored and can be replayed.'
    default:
      return 'The event was matched by the definitions in force at that moment.'
  }
}

export function showAttempt(attempt: Attempt) {
  return {
    number: attempt.number,
    startedAt: iso(attempt.startedAt),
    durationMs: attempt.durationMs,
    outcome: attempt.outcome,
    ...present({ class: attempt.class, httpStatus: attempt.httpStatus, error: attempt.error }),
  }
}

/** Never the result: it may hold what the vendor answered. */
export function showLedgerEntry(entry: LedgerEntry) {
  return {
    key: entry.key,
    generation: entry.generation,
    state: entry.state,
    consumer: splitConsumer(entry.consumer).name,
    eventId: entry.eventId,
    workId: entry.work,
    objectId: entry.objectId,
    effectRef: entry.effectRef,
    payloadHash: entry.payloadHash,
    correlationId: entry.correlationId,
    createdAt: iso(entry.createdAt),
    ...present({ proof: entry.proof, settledAt: isoOrNull(entry.settledAt) }),
  }
}

export function showDeadLetter(letter: DeadLetter) {
  return {
    id: letter.id,
    state: letter.state,
    class: letter.class,
    reason: letter.reason,
    reportedAs: REPORTED_AS[letter.class],
    severity: letter.severity,
    consumer: splitConsumer(letter.consumer),
    eventId: letter.eventId,
    workId: letter.workId,
    attempts: letter.attempts,
    replays: letter.replays,
    lastError: letter.lastError,
    correlationId: letter.correlationId,
    payloadHash: letter.payloadHash,
    createdAt: iso(letter.createdAt),
    updatedAt: iso(letter.updatedAt),
    ...present({
      key: letter.key,
      runbook: letter.runbook,
      step: letter.step,
      failureId: letter.failureId,
    }),
  }
}

export function showChange(change: Change) {
  switch (change.type) {
    case 'event':
      return { ...change, receivedAt: iso(change.receivedAt) }
    case 'work':
      return { ...change, consumer: change.consumer === null ? null : splitConsumer(change.consumer).name }
    default:
      return change
  }
}

export function showDeadLetterGroup(group: DeadLetterGroup) {
  return {
    class: group.class,
    reason: group.reason,
    reportedAs: REPORTED_AS[group.class],
    consumer: splitConsumer(group.consumer),
    cause: group.cause,
    count: group.count,
    firstAt: iso(group.firstAt),
    latestAt: iso(group.latestAt),
    sampleId: group.sampleId,
  }
}

export function showReplay(replay: BulkReplay) {
  return {
    id: replay.id,
    of: replay.of,
    state: replay.state,
    total: replay.total,
    replayed: replay.replayed,
    refused: replay.refused,
    refusals: replay.refusals,
    filter: showFilter(replay),
    ...(replay.of === 'deliveries' ? { walk: showWalk(replay.walk) } : {}),
    force: replay.force,
    again: replay.again,
    perSecond: replay.perSecond,
    by: replay.by,
    reason: replay.reason,
    createdAt: iso(replay.createdAt),
    finishedAt: isoOrNull(replay.finishedAt),
  }
}

function showWalk({ at, walked, left }: Extract<BulkReplay, { of: 'deliveries' }>['walk']) {
  return { walked, walkedTo: isoOrNull(at), left }
}

function showFilter(replay: BulkReplay) {
  if (replay.of === 'deadLetters') return showDeadLetterFilter(replay.filter)
  if (replay.of === 'events') return withTimes(replay.filter)
  const { since, until, ...filter } = replay.filter
  return { ...filter, since: iso(since), until: iso(until) }
}

function showDeadLetterFilter({ consumer, ...filter }: ReplayFilter) {
  const shown = withTimes(filter)
  return consumer === undefined ? shown : { ...shown, consumer: splitConsumer(consumer).name }
}

function withTimes<Filter extends { readonly from?: Instant; readonly to?: Instant }>({
  from,
  to,
  ...filter
}: Filter) {
  return {
    ...filter,
    ...(from === undefined ? {} : { from: iso(from) }),
    ...(to === undefined ? {} : { to: iso(to) }),
  }
}

/** JSON with one more member whose text is JSON already: a payload goes out digit for digit as it came in. */
export function withJsonMember(value: object, name: string, json: string): string {
  return `${JSON.stringify(value).slice(0, -1)},${JSON.stringify(name)}:${json}}`
}
