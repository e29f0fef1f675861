import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../../definitions/documents/index.ts'
import { analyse, canEndFrom, type DefectName, netOf, showTrace } from './index.ts'
import { CALL, parallel, sketch } from './nets.fixture.ts'

const timeout = (fire: string) => ({ timeout: { afterMs: 60_000, fire } })
const undo = { undo: 'done-steps', through: 'back', to: 'failed' } as const
const manual = { on: 'manual' } as const

/** The texts, without the columns of a terminal. */
function tell(document: WorkflowDocument) {
  return analyse(document).defects.map(({ name, severity, message, trace, repeatsAfter }) => ({
    what: `${severity} ${name}`,
    message,
    trace: showTrace(trace, repeatsAfter).map((line) => line.replaceAll(/ +/g, ' ').trim()),
  }))
}

type Row = readonly [
  title: string,
  document: WorkflowDocument,
  what: `${'error' | 'warning'} ${DefectName}`,
  message: string,
  trace: readonly string[],
]

const DEFECTS: readonly Row[] = [
  [
    '[AN1] a place that no transition gives a token to',
    sketch('a lost end!', { go: { from: 'a', to: 'end' } }),
    'warning unreachablePlace',
    '`lost` is unreachable: it never gets a token, because no transition puts one there',
    [],
  ],
  [
    '[AN2] a transition whose token is always taken before it',
    sketch('a b end!', {
      first: { from: 'a', to: 'b' },
      second: { from: 'a', to: 'end' },
      go: { from: 'b', to: 'end' },
    }),
    'warning deadTransition',
    '`second` can never fire: `first` is written before it and always takes the token first',
    ['0 start → a'],
  ],
  [
    '[AN2] a transition that waits for a timer that nothing sets',
    sketch('a end!', {
      go: { from: 'a', to: 'end', ...manual },
      late: { from: 'a', to: 'end', on: 'timer' },
    }),
    'warning deadTransition',
    '`late` can never fire: it waits for a timer, and no `timeout` of a place has `fire` with its name',
    [],
  ],
  [
    '[AN2] a transition that waits for an event that no trigger brings',
    sketch('a end!', {
      go: { from: 'a', to: 'end', ...manual },
      closed: { from: 'a', to: 'end', on: 'event' },
    }),
    'warning deadTransition',
    '`closed` waits for an event, and no trigger has `fire: closed`: nothing fires it but a call of the API',
    [],
  ],
  [
    '[AN3] a place that nothing leaves',
    sketch('a b end!', {
      go: {
        from: 'a',
        choose: [
          ['result.ok', 'end'],
          [null, 'b'],
        ],
        do: CALL,
      },
    }),
    'warning deadlock',
    'deadlock: nothing can move on from `b`, which is no end: no transition takes it. Possible, if `not (result.ok)`',
    ['0 start → a', '1 go → b if not (result.ok)'],
  ],
  [
    '[AN3] a join of branches that exclude each other',
    sketch('a b c end!', {
      left: { from: 'a', to: 'b', ...manual },
      right: { from: 'a', to: 'c', ...manual },
      join: { from: 'b c', to: 'end' },
      skip: { from: 'c', to: 'end', ...manual },
    }),
    'error deadlock',
    'deadlock: nothing can move on from `b`, which is no end: `join` also needs a token in `c`. Proved',
    ['0 start → a', '1 left → b'],
  ],
  [
    '[AN3] a way of failing into a place that nothing leaves',
    sketch('a b end!', { go: { from: 'a', to: 'end', do: CALL, onFailure: { to: 'b' } } }),
    'error deadlock',
    'deadlock: nothing can move on from `b`, which is no end: no transition takes it. Proved',
    ['0 start → a', '1 go fails → b'],
  ],
  [
    '[AN3] onEnter that fails into a place that nothing leaves',
    sketch(
      'a b end!',
      { go: { from: 'a', to: 'end', ...manual } },
      { more: { a: { onEnter: CALL } }, onFailure: { to: 'b' } },
    ),
    'error deadlock',
    'deadlock: nothing can move on from `b`, which is no end: no transition takes it. Proved',
    ['0 start → a', '1 onEnter of a fails → b'],
  ],
  [
    '[AN3] a roll-back that ends where nothing leads on',
    sketch(
      'a b back failed end!',
      { one: { from: 'a', to: 'b', do: CALL, undo: CALL }, two: { from: 'b', to: 'end', do: CALL } },
      {
        onFailure: undo,
      },
    ),
    'error deadlock',
    'deadlock: nothing can move on from `failed`, which is no end: no transition takes it. Proved',
    ['0 start → a', '1 one fails → back', '2 the done steps are undone → failed'],
  ],
  [
    '[AN4] a token that is left when an end is reached',
    sketch('a b c end!', { fork: { from: 'a', to: 'b c' }, go: { from: 'b', to: 'end', do: CALL } }),
    'error leftBehind',
    'a token stays behind in `c` when `end` is reached: no transition takes it, and the instance never completes. Proved',
    ['0 start → a', '1 fork → b, c', '2 go → c, end'],
  ],
  [
    '[AN5] places from which no end can be reached',
    sketch('a b c end!', {
      good: { from: 'a', to: 'end', ...manual },
      bad: { from: 'a', to: 'b', ...manual },
      there: { from: 'b', to: 'c', ...manual },
      again: { from: 'c', to: 'b', ...manual },
    }),
    'error noWayToEnd',
    'no end can be reached from `b`: the instance goes on for ever among `b` and `c`. Proved',
    ['0 start → a', '1 bad → b'],
  ],
  [
    '[AN5] a workflow without an end',
    sketch('a', { again: { from: 'a', to: 'a', ...manual } }),
    'error noWayToEnd',
    'no place is an end: give one `type: final`, or let an error place be left by no transition. No instance would ever complete. Proved',
    [],
  ],
  [
    '[AN6] tokens that gather without a bound',
    sketch('a b end!', {
      add: { from: 'a', to: 'a b', ...manual },
      use: { from: 'b', to: 'end', ...manual },
      stop: { from: 'a', to: 'end', ...manual },
    }),
    'error unbounded',
    'tokens gather in `b` without a bound: every round adds some, and nothing has to take them away. Proved',
    ['0 start → a', '1 add → a, b', '2 add → a, 2 × b', 'and step 2 again and again'],
  ],
  [
    '[AN7] an undo that no failure leads to',
    sketch('a end!', { go: { from: 'a', to: 'end', do: CALL, undo: CALL } }),
    'warning noWayBack',
    'there is no way back to `undo` of `go`: no `onFailure` of a step has `undo: done-steps`, so that it runs only for a step that is interrupted',
    [],
  ],
  [
    '[AN7] a place for rolling back that is left by itself',
    sketch(
      'a back failed? end!',
      { go: { from: 'a', to: 'end', do: CALL, undo: CALL }, on: { from: 'back', to: 'end' } },
      { onFailure: undo },
    ),
    'warning noWayBack',
    '`back` is where an instance rolls back, and `on` would take its token by itself: when all steps are undone it goes on without that',
    [],
  ],
  [
    '[AN8] an effect that a roll-back leaves standing',
    sketch(
      'a b back failed? end!',
      { one: { from: 'a', to: 'b', do: CALL }, two: { from: 'b', to: 'end', do: CALL } },
      { onFailure: undo },
    ),
    'warning notUndone',
    '`one` has an effect and no `undo`: if `two` fails afterwards, the roll-back leaves it as it is',
    [],
  ],
  [
    '[AN9] automatic transitions that turn in a circle',
    sketch('a b end!', {
      there: { from: 'a', to: 'b' },
      back: { from: 'b', to: 'a' },
      stop: { from: 'b', to: 'end', ...manual },
    }),
    'error automaticLoop',
    'an automatic loop without an exit: `there` and `back` fire one after another for ever, and no action, condition or waiting place is among them. Proved',
    ['0 start → a', '1 there → b', '2 back → a', 'and steps 1 to 2 again and again'],
  ],
  [
    '[AN9] a circle that only a condition ends',
    sketch('a b end!', {
      there: { from: 'a', to: 'b' },
      back: { from: 'b', to: 'a', when: 'data.n < 3' },
      stop: { from: 'b', to: 'end' },
    }),
    'warning automaticLoop',
    'an automatic loop that only conditions end: `there` and `back` fire one after another without an action or a waiting place. Possible, if `data.n < 3`',
    ['0 start → a', '1 there → b', '2 back → a if data.n < 3', 'and steps 1 to 2 again and again'],
  ],
  [
    '[AN9] a circle of actions without a pause',
    sketch('a b end!', {
      poll: { from: 'a', to: 'b', do: CALL },
      back: { from: 'b', to: 'a' },
      stop: { from: 'a', to: 'end', ...manual },
    }),
    'warning automaticLoop',
    'an automatic loop without a pause: `poll` and `back` are done over and over, as fast as their actions are, until something from outside takes the token. Let it wait for a time-out or an event',
    ['0 start → a', '1 poll → b', '2 back → a', 'and steps 1 to 2 again and again'],
  ],
  [
    '[AN10] a time-out of a place that is left at once',
    sketch(
      'a end!',
      { go: { from: 'a', to: 'end' }, late: { from: 'a', to: 'end', on: 'timer' } },
      { more: { a: timeout('late') } },
    ),
    'warning deadTimeout',
    'the time-out of `a` can never fire `late`: `go` takes the token away at once',
    [],
  ],
  [
    '[AN10] a time-out that needs a token that is not there',
    sketch(
      'a b end!',
      {
        go: { from: 'a', to: 'b', ...manual },
        on: { from: 'b', to: 'end', ...manual },
        late: { from: 'a b', to: 'end', on: 'timer' },
      },
      { more: { a: timeout('late') } },
    ),
    'warning deadTimeout',
    'the time-out of `a` can never fire `late`: it also needs a token in `b`, and none is there while one is in `a`',
    [],
  ],
  [
    '[AN10] a time-out that fires what takes nothing from its place',
    sketch(
      'a b end!',
      { go: { from: 'a', to: 'b', ...manual }, late: { from: 'b', to: 'end', on: 'timer' } },
      { more: { a: timeout('late'), b: timeout('late') } },
    ),
    'warning deadTimeout',
    'the time-out of `a` can never fire `late`: that takes no token from `a`',
    [],
  ],
  [
    '[AN11] a choice that may choose nothing',
    sketch('a end!', {
      go: {
        from: 'a',
        choose: [
          ['result.a', 'end'],
          ['result.b', 'end'],
        ],
        do: CALL,
      },
    }),
    'warning chooseNothing',
    '`choose` of `go` has no branch for the rest: where none of its conditions holds, the step fails after it was done. End it with a branch without `when`',
    [],
  ],
  [
    '[AN12] a place that is left only if a condition holds',
    sketch('a end!', { go: { from: 'a', to: 'end', when: 'data.title != null' } }),
    'warning mayStop',
    'it may stop: only `go` leads on from `a`, and it has a condition. Possible, if `not (data.title != null)`',
    ['0 start → a'],
  ],
]

test.each(DEFECTS)('%s', (_title, document, what, message, trace) => {
  const told = tell(document)
  expect(told).toContainEqual({ what, message, trace })
  expect(told.filter((one) => one.what === what)).toHaveLength(1)
})

type Sound = readonly [title: string, document: WorkflowDocument, says: string]

const SOUND: readonly Sound[] = [
  [
    '[AN13] proved where nothing depends on a condition, whatever fails',
    sketch(
      'a b c d back failed? end!',
      {
        fork: { from: 'a', to: 'b c' },
        one: { from: 'b', to: 'd', do: CALL, undo: CALL },
        join: { from: 'c d', to: 'end' },
      },
      { onFailure: undo },
    ),
    'proved sound: 6 markings',
  ],
  [
    '[AN13] only ignoring conditions where there are some',
    sketch('a b end!', {
      one: {
        from: 'a',
        choose: [
          ['result.ok', 'b'],
          [null, 'end'],
        ],
        do: CALL,
      },
      two: { from: 'b', to: 'end', ...manual, when: 'data.x' },
    }),
    'sound ignoring conditions: 3 markings',
  ],
  [
    '[AN12] a condition and what denies it leave nothing open',
    sketch('a b end!', {
      low: { from: 'a', to: 'end', when: 'data.total < 100' },
      high: { from: 'a', to: 'b', when: 'data.total >= 100' },
      go: { from: 'b', to: 'end', when: 'data.ok', do: CALL },
      stay: { from: 'b', to: 'end', when: '!data.ok' },
    }),
    'sound ignoring conditions: 3 markings',
  ],
  [
    '[AN12] data that updates change may let a condition hold later',
    sketch(
      'a end!',
      { go: { from: 'a', to: 'end', when: 'data.paid' } },
      { triggers: [{ action: 'update', map: { 'data.paid': 'true' } }] },
    ),
    'sound ignoring conditions: 2 markings',
  ],
  [
    '[AN10] a time-out that takes the token from an action',
    sketch(
      'a end!',
      { go: { from: 'a', to: 'end', do: CALL }, late: { from: 'a', to: 'end', on: 'timer' } },
      { more: { a: timeout('late') } },
    ),
    'proved sound: 2 markings',
  ],
  [
    '[AN2] fromAny takes from whichever has a token',
    sketch('a b end!', {
      go: { from: 'a', to: 'b', ...manual },
      close: { fromAny: 'a b', to: 'end', ...manual },
    }),
    'proved sound: 3 markings',
  ],
  ['[AN13] branches side by side', parallel(3, 4), 'proved sound: 127 markings'],
]

test.each(SOUND)('%s', (_title, document, says) => {
  const analysis = analyse(document)
  expect(analysis.defects).toEqual([])
  expect(analysis).toMatchObject({ says, isComplete: true })
})

describe('the verdict', () => {
  test('[AN13] distinguishes proved defects from possible ones', () => {
    const trap = (when: string | null) =>
      analyse(
        sketch('a b end!', {
          bad: { from: 'a', to: 'b', ...manual, when },
          good: { from: 'a', to: 'end', ...manual },
        }),
      )
    expect(trap(null)).toMatchObject({
      verdict: 'unsound',
      says: 'not sound: a defect is proved (3 markings)',
    })
    expect(trap('data.x')).toMatchObject({
      verdict: 'not-proved',
      says: 'not proved: a defect is possible, depending on conditions (3 markings)',
      defects: [{ isProved: false, severity: 'warning', conditions: ['data.x'] }],
    })
  })

  test('[AN13] prefers a longer path without conditions to a shorter one with them', () => {
    const { defects } = analyse(
      sketch('a b c end!', {
        short: { from: 'a', to: 'c', ...manual, when: 'data.x' },
        long: { from: 'a', to: 'b', ...manual },
        on: { from: 'b', to: 'c', ...manual },
        good: { from: 'a', to: 'end', ...manual },
      }),
    )
    expect(defects).toMatchObject([{ name: 'deadlock', isProved: true, severity: 'error' }])
    expect(defects[0]?.trace.map(({ fire }) => fire)).toEqual([null, 'long', 'on'])
  })

  test('[AN14] reports a search that was stopped, and claims nothing about what it did not see', () => {
    const analysis = analyse(parallel(5, 4), { markings: 100 })
    expect(analysis.verdict).toBe('not-proved')
    expect(analysis.says).toMatch(/^not proved: stopped after 1\d\d markings$/)
    expect(analysis.isComplete).toBe(false)
    expect(analysis.defects).toEqual([])
  })

  test('[AN14] reports what is certain of a search that was stopped', () => {
    const document = parallel(5, 4)
    const places = [...document.places, { name: 'lost', type: 'normal' as const }]
    expect(analyse({ ...document, places }, { markings: 100 }).defects).toMatchObject([
      { name: 'unreachablePlace', place: 'lost' },
    ])
  })

  test('[AN5] a start that is not a place', () => {
    const document = sketch('a! b', { go: { from: 'b', to: 'a' } }, { start: 'c' })
    expect(analyse(document)).toMatchObject({ verdict: 'unsound', defects: [{ severity: 'error' }] })
  })
})

test('[AN15] says whether live tokens can end', () => {
  const document = sketch('a b c end! failed?', {
    fork: { from: 'a', to: 'b c' },
    join: { from: 'b c', to: 'end' },
  })
  expect(canEndFrom(document, { a: 1 })).toBe('yes')
  expect(canEndFrom(document, { b: 1 })).toBe('no')
  expect(canEndFrom(document, { b: 1, c: 1 })).toBe('yes')
  expect(canEndFrom(document, { b: 2, c: 1 })).toBe('no')
  expect(canEndFrom(document, { failed: 1 })).toBe('yes')
  expect(canEndFrom(document, { gone: 1 })).toBe('no')
  expect(canEndFrom(document, {})).toBe('no')
  expect(canEndFrom(parallel(5, 4), { start: 1 }, { markings: 10 })).toBe('unknown')
})

test('[AN16] returns places, transitions and arcs for a diagram', () => {
  const document = sketch(
    'a b back failed? end!',
    {
      go: {
        from: 'a',
        choose: [
          ['result.ok', 'b'],
          [null, 'end'],
        ],
        do: CALL,
      },
      late: { fromAny: 'a b', to: 'end', on: 'timer' },
    },
    { onFailure: undo, more: { a: timeout('late') } },
  )
  const { places, transitions, arcs } = netOf(document)
  expect(places.map(({ name, isStart, isEnd }) => [name, isStart, isEnd])).toEqual([
    ['a', true, false],
    ['b', false, false],
    ['back', false, false],
    ['failed', false, true],
    ['end', false, true],
  ])
  expect(transitions).toMatchObject([
    { name: 'go', isAutomatic: true, action: 'http' },
    { name: 'late', isAutomatic: false, action: null },
  ])
  expect(arcs).toEqual([
    { place: 'a', transition: 'go', type: 'in' },
    { place: 'b', transition: 'go', type: 'choose', when: 'result.ok' },
    { place: 'end', transition: 'go', type: 'choose' },
    { place: 'back', transition: 'go', type: 'failure' },
    { place: 'a', transition: 'late', type: 'any' },
    { place: 'b', transition: 'late', type: 'any' },
    { place: 'end', transition: 'late', type: 'out' },
    { place: 'back', transition: null, type: 'undone', to: 'failed' },
  ])
})
