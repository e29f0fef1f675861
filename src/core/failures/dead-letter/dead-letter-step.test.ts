import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DeadLetterId, EventId, WorkId } from '../../foundation/ids/index.ts'
import {
  DEAD_LETTER_STATES,
  type DeadLetterEvent,
  type DeadLetterState,
  type NewDeadLetter,
  REPLAYS_MAX,
  stepDeadLetter,
} from './index.ts'

const rowOf = (known: Partial<NewDeadLetter>): NewDeadLetter => ({
  id: 'dlq_1' as DeadLetterId,
  version: 1,
  state: 'open',
  class: 'transient',
  reason: 'cap_reached',
  consumer: 'route:book',
  eventId: 'evt_1' as EventId,
  workId: 'wrk_1' as WorkId,
  attempts: 6,
  replays: 0,
  lastError: 'answered 503',
  key: 'K',
  correlationId: 'c',
  payloadHash: 'sha256:0',
  runbook: null,
  severity: 'high',
  step: null,
  failureId: null,
  ...known,
})

const REPLAY = { type: 'replay', work: 'wrk_2' as WorkId, force: false } as const
const EVENTS: readonly DeadLetterEvent[] = [
  { type: 'ready' },
  { type: 'edit', eventId: 'evt_2' as EventId, payloadHash: 'sha256:1' },
  REPLAY,
  { type: 'succeeded' },
  {
    type: 'failed',
    class: 'validation',
    reason: 'rejected',
    lastError: 'answered 422',
    attempts: 2,
    step: 'call',
  },
  { type: 'cancelled', attempts: 1 },
  { type: 'discard' },
]
const TABLE: Readonly<Record<DeadLetterState, readonly (DeadLetterState | null)[]>> = {
  open: ['ready_to_replay', 'ready_to_replay', 'replaying', null, null, null, 'discarded'],
  ready_to_replay: [null, 'ready_to_replay', 'replaying', null, null, null, 'discarded'],
  replaying: [null, null, null, 'resolved', 'open', 'open', null],
  resolved: [null, null, null, null, null, null, null],
  discarded: [null, null, null, null, null, null, null],
}

describe.each(DEAD_LETTER_STATES)('a dead letter that is %s', (state) => {
  test.each(EVENTS)('[D1] [D3] [D4] on $type', (event) => {
    const next = TABLE[state][EVENTS.indexOf(event)]
    const step = stepDeadLetter(rowOf({ state }), event)
    if (next === null) expect(step).toEqual({ ok: false, refusal: 'wrong_state' })
    else expect(step).toMatchObject({ ok: true, row: { state: next, version: 2 } })
  })
})

test('[D4] the table of the specification is the table of the test', () => {
  const spec = readFileSync(new URL('../../../../docs/spec/dead-letters.md', import.meta.url), 'utf8')
  const rows = [...spec.matchAll(/^\| `(\w+)` *\|(.*)\|$/gm)].map((row) => [
    row[1],
    row[2]!.split('|').map((cell) => /`(\w+)`/.exec(cell)?.[1] ?? null),
  ])
  expect(Object.fromEntries(rows)).toEqual(TABLE)
})

describe('replaying', () => {
  test.each(['open', 'ready_to_replay'] as const)('[D6] from %s names the job and is counted', (state) => {
    expect(stepDeadLetter(rowOf({ state }), REPLAY)).toEqual({
      ok: true,
      row: rowOf({ state: 'replaying', version: 2, workId: 'wrk_2' as WorkId, replays: 1 }),
    })
  })

  test.each([
    [2, false, true],
    [3, false, false],
    [3, true, true],
    [7, false, false],
    [7, true, true],
  ])('[D2] after %i replays, force %s: allowed %s', (replays, force, ok) => {
    const step = stepDeadLetter(rowOf({ replays }), { ...REPLAY, force })
    expect(step).toMatchObject(
      ok ? { ok, row: { replays: replays + 1 } } : { ok, refusal: 'replays_exhausted' },
    )
    expect(REPLAYS_MAX).toBe(3)
  })

  test('[D2] force neither starts a second replay beside the first nor reopens a final state', () => {
    for (const state of ['replaying', 'resolved', 'discarded'] as const) {
      expect(stepDeadLetter(rowOf({ state }), { ...REPLAY, force: true })).toEqual({
        ok: false,
        refusal: 'wrong_state',
      })
    }
  })

  test('[D7] that fails reopens it with the latest error', () => {
    const event = {
      type: 'failed',
      class: 'validation',
      reason: 'rejected',
      lastError: 'answered 422',
      attempts: 2,
      step: 'probe',
    } as const
    expect(stepDeadLetter(rowOf({ state: 'replaying', version: 4, replays: 1 }), event)).toEqual({
      ok: true,
      row: rowOf({
        state: 'open',
        version: 5,
        replays: 1,
        class: 'validation',
        reason: 'rejected',
        lastError: 'answered 422',
        step: 'probe',
        attempts: 8,
      }),
    })
  })

  test('[D7] that is cancelled reopens it as it was, with the attempts made', () => {
    expect(
      stepDeadLetter(rowOf({ state: 'replaying', replays: 1 }), { type: 'cancelled', attempts: 1 }),
    ).toEqual({
      ok: true,
      row: rowOf({ state: 'open', version: 2, replays: 1, attempts: 7 }),
    })
  })

  test('[D7] that succeeds resolves it and keeps the reason of its failure', () => {
    expect(stepDeadLetter(rowOf({ state: 'replaying' }), { type: 'succeeded' })).toEqual({
      ok: true,
      row: rowOf({ state: 'resolved', version: 2 }),
    })
  })
})

test('[D1] [D2] [D5] [D8] over any sequence of events', () => {
  const event: fc.Arbitrary<DeadLetterEvent> = fc.oneof(
    fc.constantFrom(...EVENTS),
    fc.boolean().map((force) => ({ ...REPLAY, force })),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      let row = rowOf({})
      let unforced = 0
      for (const next of events) {
        const before = JSON.stringify(row)
        const step = stepDeadLetter(row, next)
        expect(JSON.stringify(row)).toBe(before)
        if (!step.ok) continue
        expect(['resolved', 'discarded']).not.toContain(row.state)
        expect(step.row.version).toBe(row.version + 1)
        if (next.type === 'replay' && !next.force) unforced += 1
        const { id, consumer, key, correlationId, severity, runbook } = row
        expect(step.row).toMatchObject({ id, consumer, key, correlationId, severity, runbook })
        const { eventId, payloadHash } = next.type === 'edit' ? next : row
        expect(step.row).toMatchObject({ eventId, payloadHash })
        expect(step.row.attempts).toBeGreaterThanOrEqual(row.attempts)
        row = step.row
      }
      expect(unforced).toBeLessThanOrEqual(REPLAYS_MAX)
    }),
    { seed: 60, numRuns: 300 },
  )
})
