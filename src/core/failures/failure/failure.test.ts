import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EventId, WorkId } from '../../foundation/ids/index.ts'
import {
  FAILURE_STATES,
  type FailedTry,
  type FailureEvent,
  type FailureState,
  failureId,
  type NewFailure,
  stepFailure,
} from './index.ts'

const WORK = 'wrk_1' as WorkId
const TRIED: FailedTry = {
  workId: 'wrk_2' as WorkId,
  eventId: 'evt_2' as EventId,
  class: 'transient',
  key: 'K',
  attempts: 2,
  lastError: 'answered 503',
}
const rowOf = (state: FailureState): NewFailure => ({
  id: failureId(WORK),
  state,
  workId: WORK,
  consumer: 'route:book',
  eventId: 'evt_1' as EventId,
  class: 'unknown',
  reason: null,
  key: null,
  attempts: 1,
  lastError: 'no answer',
  retryInMs: 5,
  correlationId: 'c',
  severity: 'high',
  cause: null,
})

const EVENTS: readonly FailureEvent[] = [
  { type: 'failed', tried: TRIED, retryInMs: 1_000 },
  { type: 'ended', tried: TRIED, reason: 'cap_reached', cause: 'sha256:1' },
  { type: 'lingered', cause: 'sha256:2', retryInMs: 7 },
  { type: 'succeeded' },
  { type: 'closed', reason: 'cancelled' },
]
const TABLE: Readonly<Record<FailureState, readonly (FailureState | null)[]>> = {
  open: ['open', 'escalated', 'escalated', 'resolved', 'resolved'],
  escalated: ['escalated', 'escalated', null, 'resolved', 'resolved'],
  resolved: [null, null, null, null, null],
}

describe.each(FAILURE_STATES)('a failure that is %s', (state) => {
  test.each(EVENTS)('[FL1] [FL2] [FL3] on $type', (event) => {
    expect(stepFailure(rowOf(state), event)?.state ?? null).toBe(TABLE[state][EVENTS.indexOf(event)])
  })
})

test('[FL1] the table of the specification is the table of the test', () => {
  const spec = readFileSync(
    new URL('../../../../docs/spec/failures-and-escalations.md', import.meta.url),
    'utf8',
  )
  const [, head = ''] = /^\| state +\|(.*)\|$/m.exec(spec) ?? []
  expect(head.split('|').map((cell) => /`(\w+)`/.exec(cell)?.[1])).toEqual(EVENTS.map(({ type }) => type))
  const rows = [...spec.matchAll(/^\| `(\w+)` *\|(.*)\|$/gm)].map((row) => [
    row[1],
    row[2]!.split('|').map((cell) => /`(\w+)`/.exec(cell)?.[1] ?? null),
  ])
  expect(Object.fromEntries(rows)).toEqual(TABLE)
})

test('[FL3] has the error of the last attempt, and why it is not retried any more', () => {
  const failed = stepFailure(rowOf('open'), EVENTS[0]!)
  expect(failed).toEqual({ ...rowOf('open'), ...TRIED, retryInMs: 1_000 })
  const ended = stepFailure(failed!, EVENTS[1]!)
  expect(ended).toEqual({
    ...failed,
    state: 'escalated',
    reason: 'cap_reached',
    cause: 'sha256:1',
    retryInMs: null,
  })
  expect(stepFailure(ended!, EVENTS[0]!)).toMatchObject({
    state: 'escalated',
    reason: null,
    retryInMs: 1_000,
  })
  expect(stepFailure(ended!, EVENTS[3]!)).toMatchObject({ state: 'resolved', reason: null })
  expect(stepFailure(ended!, EVENTS[4]!)).toMatchObject({ state: 'resolved', reason: 'cancelled' })
})

test('[FL1] [FL2] over any events: never back from resolved, never open again, always the same failure', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 12 }), (events) => {
      let row = rowOf('open')
      for (const event of events) {
        const next = stepFailure(row, event)
        if (next === null) continue
        expect(row.state).not.toBe('resolved')
        if (row.state === 'escalated') expect(next.state).not.toBe('open')
        const { id, consumer, correlationId, severity } = row
        expect(next).toMatchObject({ id, consumer, correlationId, severity })
        if (next.state === 'escalated') expect(next.cause).not.toBeNull()
        if (next.state === 'resolved') expect(next.retryInMs).toBeNull()
        row = next
      }
    }),
    { seed: 8, numRuns: 300 },
  )
})
