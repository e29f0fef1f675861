import { describe, expect, test } from 'vitest'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import { makeIds } from '../../core/foundation/ids/index.ts'
import type { Store, Write } from '../../ports/store.ts'
import type { EventPlan } from '../commit/index.ts'
import { DECISIONS } from './decision-functions.ts'
import { again, cancelled, type Decision, dead, done, type EndingRow, parked } from './job-decision.ts'
import { type JobEnd, makePlanEnd } from './job-end.ts'
import {
  DEAD_LETTER_ID,
  DECISION_INPUT,
  LETTER,
  makeLeased,
  ORDERED_ROUTE,
  PLAIN_ROUTE,
} from './settlement.fixture.ts'

const DEAD = dead({ class: 'validation', reason: 'rejected', error: 'answered 422' }, DECISION_INPUT)
const OWN: Write = { w: 'deadLetter.put', row: LETTER }
const FAILURE_PLAN = { writes: [] } as unknown as EventPlan
const ids = makeIds({ now: () => 0, bytes: (length) => new Uint8Array(length) })

/** `stored`: the dead letter as the store has it; each read is counted. */
function makeWorld(stored: DeadLetter | null = null) {
  const reads: string[] = []
  const rows: EndingRow[] = []
  const store = {
    forTenant: () => ({
      deadLetter: async (id: string) => {
        reads.push(id)
        return stored
      },
    }),
  } as unknown as Pick<Store, 'forTenant'>
  const planEnd = makePlanEnd({
    store,
    ids,
    commits: { retryUntilAvailable: (read) => read() },
    failures: {
      async change(_decision, row) {
        rows.push(row)
        return { writes: [{ w: 'failure.put', row: { id: 'fail_1' } as never }], plans: [FAILURE_PLAN] }
      },
    },
    lanes: {
      ids,
      vars: () => ({}),
      decisions: DECISIONS,
      plan: () => ({ ...FAILURE_PLAN, writes: [{ w: 'event.append' } as never] }),
    },
  })
  return { reads, rows, planEnd }
}

const kindsOf = ({ writes }: JobEnd) => writes.map(({ w }) => w)
const settledOf = ({ writes }: JobEnd) => writes[0] as Extract<Write, { w: 'work.settle' }>

describe('the end of a job', () => {
  test('that never failed is known at once, and is one write besides those of the decision', () => {
    const { planEnd, reads } = makeWorld()
    const end = planEnd(makeLeased(), PLAIN_ROUTE, done({ ...DECISION_INPUT, writes: [OWN] }), true)
    expect(end).toEqual({
      guards: [],
      writes: [{ w: 'work.settle', work: 'wrk_1', to: 'done', ...DECISION_INPUT }, OWN],
      plans: [],
    })
    expect(reads).toEqual([])
  })

  test('writes the row, its attempt, the decision’s own, the dead letter, the failure and the lane, in this order', async () => {
    const { planEnd } = makeWorld()
    const attempt = {
      number: 1,
      startedAt: 0,
      durationMs: 1,
      outcome: 'dead',
      class: 'validation',
      httpStatus: 422,
      error: 'answered 422',
    } as const
    const work = makeLeased({ lane: 'o1', hasPlace: true })
    const end = await planEnd(work, ORDERED_ROUTE, { ...DEAD, attempt, writes: [OWN] }, true)
    expect(kindsOf(end)).toEqual([
      'work.settle',
      'attempt.append',
      'deadLetter.put',
      'deadLetter.put',
      'failure.put',
      'escalation.raise',
      'event.append',
    ])
    expect(end.writes[2]).toBe(OWN)
    expect(settledOf(end)).toMatchObject({ to: 'dead', place: 'keep' })
    expect(end.plans[0]).toBe(FAILURE_PLAN)
    expect(end.plans).toHaveLength(2)
  })

  test('of an ordered route records its version in the lane, and a decision’s position wins over that of the lane', () => {
    const { planEnd } = makeWorld()
    const inLane = makeLeased({ lane: 'o1', hasPlace: true })
    const settled = (decision: Decision) =>
      settledOf(planEnd(inLane, ORDERED_ROUTE, decision, true) as JobEnd)
    expect(settled(done(DECISION_INPUT))).toMatchObject({ laneVersion: 'o1' })
    expect(settled(done({ ...DECISION_INPUT, place: 'keep' }))).toMatchObject({
      laneVersion: 'o1',
      place: 'keep',
    })
  })

  test('keeps the class of an earlier failure where the job goes on, and only there', async () => {
    const { planEnd } = makeWorld()
    const failed = makeLeased({ class: 'transient' })
    const classOf = async (decision: Decision) =>
      settledOf(await planEnd(failed, PLAIN_ROUTE, decision, true)).note.class
    expect(await classOf(again(1_000, DECISION_INPUT))).toBe('transient')
    expect(await classOf(parked(DECISION_INPUT))).toBe('transient')
    expect(await classOf(done(DECISION_INPUT))).toBeNull()
    expect(await classOf(cancelled(DECISION_INPUT))).toBeNull()
  })
})

describe('a job that is put back', () => {
  const againOf = async (work: Parameters<typeof makeLeased>[0], decision: Decision) =>
    (await makeWorld().planEnd(makeLeased(work), PLAIN_ROUTE, decision, true)).writes[0]

  test('begins its time with the first attempt, and not again', async () => {
    expect(await againOf({}, again(5, DECISION_INPUT))).toMatchObject({
      delayMs: 5,
      expiresInMs: PLAIN_ROUTE.expiresInMs,
    })
    expect(await againOf({ attempts: 1 }, again(5, DECISION_INPUT))).not.toHaveProperty('expiresInMs')
  })

  test('gets the time that the decision says', async () => {
    const decision = again(5, { ...DECISION_INPUT, expiresInMs: 9 })
    expect(await againOf({}, decision)).toMatchObject({ expiresInMs: 9 })
  })
})

test('error texts are cut to what a store takes before any participant sees them', async () => {
  const error = 'x'.repeat(5_000)
  const decision = { ...DEAD, error, note: { ...DECISION_INPUT.note, lastError: error } }
  const end = await makeWorld().planEnd(makeLeased(), PLAIN_ROUTE, decision, true)
  const letter = end.writes.find((write) => write.w === 'deadLetter.put')
  expect(settledOf(end).note.lastError?.length).toBeLessThanOrEqual(2_000)
  expect(letter?.row.lastError.length).toBeLessThanOrEqual(2_000)
})

describe('the end of a replay', () => {
  const replay = makeLeased({ replayOf: DEAD_LETTER_ID }, LETTER)

  test('takes the dead letter that the job was leased with first, and the store’s after a refused guard', async () => {
    const newer = { ...LETTER, version: 9 }
    const { planEnd, reads, rows } = makeWorld(newer)
    const first = await planEnd(replay, PLAIN_ROUTE, done(DECISION_INPUT), true)
    expect(reads).toEqual([])
    expect(first.guards).toEqual([{ g: 'version', of: 'deadLetter', key: DEAD_LETTER_ID, version: 4 }])
    const second = await planEnd(replay, PLAIN_ROUTE, done(DECISION_INPUT), false)
    expect(reads).toEqual([DEAD_LETTER_ID])
    expect(second.guards).toEqual([{ g: 'version', of: 'deadLetter', key: DEAD_LETTER_ID, version: 9 }])
    expect(rows.map(({ deadLetter: letter }) => letter?.version)).toEqual([4, 9])
  })

  test.each([
    ['was leased without', undefined],
    ['that did not replay yet', { ...LETTER, state: 'open' } as const],
  ])('reads the dead letter that it %s', async (_name, letter) => {
    const { planEnd, reads } = makeWorld(LETTER)
    const end = await planEnd(
      makeLeased({ replayOf: DEAD_LETTER_ID }, letter),
      PLAIN_ROUTE,
      done(DECISION_INPUT),
      true,
    )
    expect(reads).toEqual([DEAD_LETTER_ID])
    expect(kindsOf(end)).toEqual(['work.settle', 'deadLetter.put', 'failure.put'])
  })

  test('whose dead letter is gone or over leaves it so, unguarded', async () => {
    for (const stored of [null, { ...LETTER, state: 'resolved' } as const]) {
      const end = await makeWorld(stored).planEnd(replay, PLAIN_ROUTE, done(DECISION_INPUT), false)
      expect(end.guards).toEqual([])
      expect(kindsOf(end)).toEqual(['work.settle', 'failure.put'])
    }
  })
})
