import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeScrubOfTexts, scrubNothing } from '../../events/sensitive/index.ts'
import { type EventId, makeIds, type WorkId } from '../../foundation/ids/index.ts'
import {
  type MadeAttempt,
  makeRun,
  type NewRun,
  RUN_ATTEMPTS_MAX,
  RUN_STATES,
  type RunEvent,
  type RunState,
  runIdOf,
  runIdOfEffect,
  stepRun,
} from './index.ts'

const WORK = 'wrk_0198c0de-1234-7001-9abc-0123456789ab' as WorkId

const MADE: MadeAttempt = {
  startedAt: 5,
  durationMs: 12.5,
  class: null,
  httpStatus: 201,
  error: null,
  credentialVersion: 3,
  request: 'POST https://api.example/issues',
  response: 'HTTP 201',
}
const REFUSED: MadeAttempt = { ...MADE, class: 'transient', httpStatus: 503, error: 'answered 503' }

const start = makeRun({
  id: runIdOf(WORK),
  purpose: 'work',
  connection: 'tickets',
  provider: 'github',
  operation: 'issue.create',
  workId: WORK,
  eventId: 'evt_1' as EventId,
  correlationId: 'c',
  traceId: 't',
  key: 'K',
  replayOf: null,
})

const EVENTS: readonly RunEvent[] = [
  { type: 'begun' },
  { type: 'answered', attempt: MADE, externalRef: '#7' },
  { type: 'failed', attempt: REFUSED },
  { type: 'buried', attempt: REFUSED, class: 'validation', error: 'answered 422' },
]
const TABLE: Readonly<Record<RunState, readonly (RunState | null)[]>> = {
  pending: ['running', 'completed', 'failed', 'dead-lettered'],
  running: ['running', 'completed', 'failed', 'dead-lettered'],
  failed: ['running', 'completed', 'failed', 'dead-lettered'],
  completed: [null, null, null, null],
  'dead-lettered': [null, null, null, null],
}

const step = (run: NewRun, event: RunEvent) => stepRun(run, event, scrubNothing)
const walk = (events: readonly RunEvent[]) => events.reduce((run, event) => step(run, event) ?? run, start)

describe.each(RUN_STATES)('a run that is %s', (state) => {
  test.each(EVENTS)('[RN1] on $type', (event) => {
    expect(step({ ...start, state }, event)?.state ?? null).toBe(TABLE[state][EVENTS.indexOf(event)])
  })
})

test('[RN1] the table of the specification is the table of the test', () => {
  const spec = readFileSync(new URL('../../../../docs/spec/integration-runs.md', import.meta.url), 'utf8')
  const [, head = ''] = /^\| state +\|(.*)\|$/m.exec(spec) ?? []
  expect(head.split('|').map((cell) => /`(\w+)`/.exec(cell)?.[1])).toEqual(EVENTS.map(({ type }) => type))
  const rows = [...spec.matchAll(/^\| `([\w-]+)` *\|(.*)\|$/gm)].map((row) => [
    row[1],
    row[2]!.split('|').map((cell) => /`([\w-]+)`/.exec(cell)?.[1] ?? null),
  ])
  expect(Object.fromEntries(rows)).toEqual(TABLE)
})

const chance = fc.array(fc.constantFrom(...EVENTS), { maxLength: 60 })

test('[RN1] [RN2] after any events: final states stay, attempts count up, and the latest are stored', () => {
  fc.assert(
    fc.property(chance, (events) => {
      let run = start
      for (const event of events) {
        const next = step(run, event)
        if (next === null) {
          expect(['completed', 'dead-lettered']).toContain(run.state)
          continue
        }
        expect(next.attemptCount).toBeGreaterThanOrEqual(run.attemptCount)
        const numbers = next.attempts.map(({ number }) => number)
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
        expect(next.attempts.length).toBeLessThanOrEqual(RUN_ATTEMPTS_MAX)
        expect(next.attemptCount).toBeGreaterThanOrEqual(numbers.at(-1) ?? 0)
        const isTold = next.attempts !== run.attempts
        const all = isTold ? [...run.attempts, next.attempts.at(-1)] : run.attempts
        expect(next.attempts).toEqual(all.slice(-RUN_ATTEMPTS_MAX))
        run = next
      }
    }),
  )
})

test('[RN2] an attempt whose end was never recorded is counted, and left no details', () => {
  const run = walk([{ type: 'begun' }, { type: 'begun' }, EVENTS[2]!, { type: 'begun' }, EVENTS[1]!])
  expect(run).toMatchObject({ state: 'completed', attemptCount: 3 })
  expect(run.attempts.map(({ number }) => number)).toEqual([2, 3])
  const many = walk(Array.from({ length: 25 }, () => [EVENTS[0]!, EVENTS[2]!]).flat())
  expect(many.attemptCount).toBe(25)
  expect(many.attempts.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, at) => at + 6))
})

test('[RN3] redacted values are in none of its texts', () => {
  const secret = 'hunter2-and-more'
  const scrub = makeScrubOfTexts([secret])
  const told: MadeAttempt = {
    ...REFUSED,
    error: `refused ${secret}`,
    request: `POST /?token=${secret}`,
    response: `HTTP 401\n\nno such key: ${secret}`,
  }
  const failed = stepRun(start, { type: 'failed', attempt: told }, scrub)!
  expect(failed.error).toMatch(/^refused /)
  expect(JSON.stringify(failed)).not.toContain(secret)
  const error = `gave up on ${secret}`
  const buried = stepRun(failed, { type: 'buried', attempt: null, class: 'auth', error }, scrub)!
  expect(buried.error).toMatch(/^gave up on /)
  expect(JSON.stringify(buried)).not.toContain(secret)
})

test('[RN4] reports the outcome of its last attempt', () => {
  const failed = walk([EVENTS[0]!, EVENTS[2]!])
  const { class: failure, httpStatus, durationMs, error } = REFUSED
  expect(failed).toMatchObject({ class: failure, httpStatus, durationMs, error, externalRef: null })
  expect(step(failed, EVENTS[0]!)).toEqual({ ...failed, state: 'running', attemptCount: 2 })
  expect(step(failed, EVENTS[1]!)).toMatchObject({
    ...{ class: null, httpStatus: 201, durationMs: 12.5, error: null, externalRef: '#7' },
  })
  // An operator saw that it was done: nothing was sent for that.
  const seen = step(failed, { type: 'answered', attempt: null, externalRef: '#8' })
  expect(seen).toEqual({ ...failed, state: 'completed', class: null, error: null, externalRef: '#8' })
  // Nothing was sent at all.
  const error2 = 'the connection is retired'
  const refused = step(start, { type: 'buried', attempt: null, class: 'config', error: error2 })
  expect(refused).toEqual({ ...start, state: 'dead-lettered', class: 'config', error: error2 })
})

describe('ids', () => {
  const UUID = /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

  test('[RN5] a run has the id of its job under its own prefix', () => {
    expect(runIdOf(WORK)).toBe('run_0198c0de-1234-7001-9abc-0123456789ab')
  })

  test('[RN5] effects of one job have distinct ids, by their names, with its time', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const id = runIdOfEffect(WORK, one)
        expect(id).toMatch(UUID)
        expect(id.startsWith('run_0198c0de-1234-7001-')).toBe(true)
        expect(runIdOfEffect(WORK, one)).toBe(id)
        expect(id).not.toBe(runIdOf(WORK))
        if (one !== other) expect(runIdOfEffect(WORK, other)).not.toBe(id)
      }),
    )
    const next = WORK.replace('7001', '7002') as WorkId
    expect(runIdOfEffect(next, 'a') > runIdOfEffect(WORK, 'a')).toBe(true)
  })

  test('[RN5] a standalone run gets an id like any other', () => {
    const ids = makeIds({ now: () => 1, bytes: (length) => new Uint8Array(length) })
    expect(ids.run()).toMatch(UUID)
  })
})
