import { describe, expect, test } from 'vitest'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import { type FailureClass, failureId } from '../../core/failures/failure/index.ts'
import { makeIds } from '../../core/foundation/ids/index.ts'
import type { Write } from '../../ports/store.ts'
import { makeDeadLetterEnd } from './dead-letter-end.ts'
import { again, cancelled, type Decision, dead, done, parked, skipped } from './job-decision.ts'
import type { RowPart } from './participants.ts'
import { DEAD_LETTER_ID, DECISION_INPUT, LETTER, makeLeased, PLAIN_ROUTE } from './settlement.fixture.ts'

const ids = makeIds({ now: () => 0, bytes: (length) => new Uint8Array(length) })
const WHY = { class: 'validation' as FailureClass, reason: 'rejected', error: 'answered 422' } as const
const TRIED = {
  counters: { attempts: 2, waits: 0, losses: 0 },
  note: { ...DECISION_INPUT.note, key: 'BOOK:o1' },
}
const MERGED: Decision = { ...done(DECISION_INPUT), to: 'merged' }

const end = (decision: Decision, letter: DeadLetter | null) => {
  const held = makeLeased(letter === null ? {} : { replayOf: DEAD_LETTER_ID })
  return makeDeadLetterEnd({ ids })(decision, {
    held,
    route: PLAIN_ROUTE,
    deadLetter: letter,
  }) as RowPart | null
}
const rowOf = (part: RowPart | null) => (part!.writes![0] as Extract<Write, { w: 'deadLetter.put' }>).row

describe('a job that replays nothing', () => {
  test('gets an unguarded dead letter where it dies', () => {
    const part = end(dead(WHY, TRIED), null)
    expect(part?.guards).toBeUndefined()
    expect(part?.writes).toHaveLength(1)
    expect(rowOf(part)).toMatchObject({
      ...{ version: 1, state: 'open', class: 'validation', reason: 'rejected', lastError: 'answered 422' },
      ...{ attempts: 2, key: 'BOOK:o1', step: 'call', workId: 'wrk_1', replays: 0, severity: 'high' },
      failureId: failureId(makeLeased().work.id),
    })
  })

  test('has it say how far it came, where the decision knows', () => {
    expect(rowOf(end(dead({ ...WHY, step: 'effect book' }, TRIED), null))).toMatchObject({
      step: 'effect book',
    })
  })

  test.each([
    done(DECISION_INPUT),
    skipped(DECISION_INPUT),
    cancelled(DECISION_INPUT),
    parked(DECISION_INPUT),
    again(1, DECISION_INPUT),
    MERGED,
  ])('gets none where it is $to', (decision) => {
    expect(end(decision, null)).toBeNull()
  })
})

describe('a replay', () => {
  test.each([
    [done(DECISION_INPUT), { state: 'resolved', attempts: 3 }],
    [skipped(DECISION_INPUT), { state: 'resolved', attempts: 3 }],
    [MERGED, { state: 'resolved', attempts: 3 }],
    [cancelled(TRIED), { state: 'open', lastError: 'answered 503', step: 'call' }],
    [dead(WHY, TRIED), { state: 'open', class: 'validation', lastError: 'answered 422', step: 'call' }],
  ])(
    'that is $to steps its dead letter, guarded by its version, and makes no second one',
    (decision, row) => {
      const part = end(decision, LETTER)
      expect(part?.guards).toEqual([{ g: 'version', of: 'deadLetter', key: DEAD_LETTER_ID, version: 4 }])
      expect(part?.writes).toHaveLength(1)
      expect(rowOf(part)).toMatchObject({ id: DEAD_LETTER_ID, version: 5, failureId: 'fail_0', ...row })
      expect(rowOf(part)).not.toHaveProperty('updatedAt')
    },
  )

  test('of a dead letter from before failures were stored names the failure of the replay that fails', () => {
    const old = { ...LETTER, failureId: null }
    expect(rowOf(end(dead(WHY, TRIED), old)).failureId).toBe(failureId(makeLeased().work.id))
    expect(rowOf(end(done(DECISION_INPUT), old)).failureId).toBeNull()
  })

  test.each(['open', 'ready_to_replay', 'resolved', 'discarded'] as const)(
    'whose dead letter is %s by now leaves it alone, and gets none of its own',
    (state) => {
      expect(end(dead(WHY, TRIED), { ...LETTER, state })).toBeNull()
    },
  )
})
