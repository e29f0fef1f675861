import { describe, expect, test } from 'vitest'
import type { WorkKind } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import { again, cancelled, type Decision, dead, done, parked, skipped } from './job-decision.ts'
import {
  listParticipants,
  listRowParticipants,
  type Participant,
  type ParticipantsOf,
  type RowParticipant,
} from './participants.ts'
import {
  DEAD_LETTER_ID,
  DECISION_INPUT,
  makeLeased,
  ORDERED_ROUTE,
  PLAIN_ROUTE,
} from './settlement.fixture.ts'

const UPSERT_ROUTE = { action: { type: 'upsert' } } as Route

describe('the participants of a job', () => {
  const named: Readonly<Record<'runs' | 'steps' | 'batches' | 'locks', Participant>> = {
    runs: () => null,
    steps: () => null,
    batches: () => null,
    locks: () => null,
  }
  const listNames = (kind: string, route: Route | null, isCalling: boolean): readonly string[] => {
    const participantsOf: ParticipantsOf = listParticipants({
      ...named,
      runs: { takesPart: () => isCalling, part: named.runs },
    })
    const list = participantsOf(makeLeased({ kind: kind as WorkKind }), route)
    return list.map((one) => Object.entries(named).find(([, known]) => known === one)?.[0] ?? 'unknown')
  }

  type Row = readonly [
    plain: string,
    callsConnection: string,
    upserts: string,
    upsertsByConnection: string,
    withoutRoute: string,
  ]
  const NONE: Row = ['', '', '', '', '']
  const TABLE: Readonly<Record<WorkKind, Row>> = {
    route: ['', 'runs', 'locks', 'runs locks', ''],
    step: ['steps', 'runs steps', 'steps locks', 'runs steps locks', 'steps'],
    batch: ['batches', 'runs batches', 'batches locks', 'runs batches locks', 'batches'],
    intake: NONE,
    trigger: NONE,
    timer: NONE,
    admit: NONE,
    signal: NONE,
    delivery: NONE,
    rotation: NONE,
    poll: ['', 'runs', 'locks', 'runs locks', ''],
  }

  test.each(Object.entries(TABLE))('of kind %s, in order', (kind, row) => {
    expect([
      listNames(kind, PLAIN_ROUTE, false).join(' '),
      listNames(kind, PLAIN_ROUTE, true).join(' '),
      listNames(kind, UPSERT_ROUTE, false).join(' '),
      listNames(kind, UPSERT_ROUTE, true).join(' '),
      listNames(kind, null, false).join(' '),
    ]).toEqual(row)
  })

  test('of a kind that only a newer version knows: none', () => {
    expect(listNames('of_tomorrow', UPSERT_ROUTE, true)).toEqual([])
  })

  test('see the job and the route, and one list serves all jobs of a kind', () => {
    const asked: unknown[] = []
    const item = makeLeased()
    const participantsOf = listParticipants({
      ...named,
      runs: { takesPart: (...args) => asked.push(args) > 0, part: named.runs },
    })
    expect(participantsOf(item, PLAIN_ROUTE)).toBe(participantsOf(makeLeased(), PLAIN_ROUTE))
    expect(asked[0]).toEqual([item, PLAIN_ROUTE])
  })
})

describe('the participants of a row', () => {
  const named: Readonly<Record<'deadLetter' | 'failure' | 'lane', RowParticipant>> = {
    deadLetter: () => null,
    failure: () => null,
    lane: () => null,
  }
  const participantsOf = listRowParticipants(named)
  const FAILED = { ...DECISION_INPUT.note, class: 'transient', lastError: 'answered 503' } as const
  const ATTEMPT = {
    number: 1,
    startedAt: 0,
    durationMs: 1,
    outcome: 'again',
    class: 'transient',
    httpStatus: 503,
    error: 'answered 503',
  } as const

  const listNames = (
    work: Parameters<typeof makeLeased>[0],
    route: Route | null,
    decision: Decision,
  ): string =>
    participantsOf(makeLeased(work), route, decision)
      .map((one) => Object.entries(named).find(([, known]) => known === one)?.[0] ?? 'unknown')
      .join(' ')

  const DECISIONS: Readonly<Record<string, Decision>> = {
    done: done(DECISION_INPUT),
    skipped: skipped(DECISION_INPUT),
    cancelled: cancelled(DECISION_INPUT),
    merged: { ...done(DECISION_INPUT), to: 'merged' },
    parked: parked(DECISION_INPUT),
    dead: dead({ class: 'transient', reason: 'cap_reached', error: 'answered 503' }, DECISION_INPUT),
    'again, after a wait': again(1_000, DECISION_INPUT),
    'again, after a closed bucket': again(1_000, {
      ...DECISION_INPUT,
      attempt: { ...ATTEMPT, class: 'rate_limited', httpStatus: null },
    }),
    'again, after a 429': again(1_000, {
      ...DECISION_INPUT,
      note: FAILED,
      attempt: { ...ATTEMPT, class: 'rate_limited', httpStatus: 429 },
    }),
    'again, after a failure': again(1_000, { ...DECISION_INPUT, note: FAILED, attempt: ATTEMPT }),
  }

  type Row = readonly [first: string, failedBefore: string, replay: string, ordered: string]
  const TABLE: Readonly<Record<keyof typeof DECISIONS, Row>> = {
    done: ['', 'failure', 'deadLetter failure', 'lane'],
    skipped: ['', 'failure', 'deadLetter failure', 'lane'],
    cancelled: ['', 'failure', 'deadLetter failure', 'lane'],
    merged: ['', '', 'deadLetter', 'lane'],
    parked: ['failure', 'failure', 'failure', 'failure lane'],
    dead: ['deadLetter failure', 'deadLetter failure', 'deadLetter failure', 'deadLetter failure lane'],
    'again, after a wait': ['', '', '', ''],
    'again, after a closed bucket': ['', '', '', ''],
    'again, after a 429': ['failure', 'failure', 'failure', 'failure'],
    'again, after a failure': ['failure', 'failure', 'failure', 'failure'],
  }

  test.each(Object.entries(TABLE))('that ends %s, in order', (to, row) => {
    const decision = DECISIONS[to] as Decision
    expect([
      listNames({}, PLAIN_ROUTE, decision),
      listNames({ class: 'transient' }, PLAIN_ROUTE, decision),
      listNames({ replayOf: DEAD_LETTER_ID }, PLAIN_ROUTE, decision),
      listNames({ lane: 'o1' }, ORDERED_ROUTE, decision),
    ]).toEqual(row)
  })

  test('of a replayed event without a dead letter has none to end', () => {
    expect(listNames({ replayOf: 'evt_0' as never }, PLAIN_ROUTE, done(DECISION_INPUT))).toBe('')
  })

  test.each([
    ['whose route is gone', { lane: 'o1' }, null],
    ['whose route has no lane any more', { lane: 'o1' }, PLAIN_ROUTE],
    ['that has no lane', {}, ORDERED_ROUTE],
  ])('%s has no lane position', (_name, work, route) => {
    expect(listNames(work, route, done(DECISION_INPUT))).toBe('')
  })

  test('the three of a replay in a lane that dies again', () => {
    const work = { replayOf: DEAD_LETTER_ID, lane: 'o1', class: 'transient' } as const
    expect(listNames(work, ORDERED_ROUTE, DECISIONS.dead as Decision)).toBe('deadLetter failure lane')
  })
})
