import { describe, expect, test } from 'vitest'
import { readNumeral } from '../../foundation/json/index.ts'
import { isCallTo, parseCallAddress } from './call-address.ts'
import { compareFields } from './compare-fields.ts'
import { type Expectations, type FlowTest, judgeTest, type Observed, type TestStep } from './index.ts'

const BOOK = { method: 'POST', url: 'https://books.example/bookings' }

const NOTHING: Observed = {
  calls: [],
  unanswered: [],
  answered: [],
  requests: [],
  keys: [],
  emitted: [],
  instances: [],
  deadLetters: [],
  parked: [],
  waiting: [],
}

const UNASKED: Expectations = {
  path: [0, 'expect'],
  calls: null,
  keys: null,
  emitted: null,
  instances: null,
  deadLetters: [],
  parked: [],
  waiting: [],
}

function flowTest(expected: Partial<Expectations>, more: Partial<FlowTest> = {}): FlowTest {
  return {
    name: 'a test',
    path: [0],
    given: { vars: {}, secrets: {}, time: 0 },
    steps: [],
    answers: [],
    expect: { ...UNASKED, ...expected },
    ...more,
  }
}

const call = (body: object, more: object = {}) =>
  ({ ...BOOK, fields: { headers: {}, body, ...more } }) as never
const wanted = (fields: object, times = 1, index = 0) =>
  ({ path: [0, 'expect', 'calls', index], to: BOOK, times, fields }) as never

const messages = (expected: Partial<Expectations>, seen: Partial<Observed>, more: Partial<FlowTest> = {}) =>
  judgeTest(flowTest(expected, more), { ...NOTHING, ...seen }).map(({ message }) => message)

describe('[FT1] what was expected and what happened are compared', () => {
  test('nothing expected and nothing found is a pass', () => {
    expect(judgeTest(flowTest({}), NOTHING)).toEqual([])
    expect(judgeTest(flowTest({ calls: [], keys: [], emitted: [], instances: [] }), NOTHING)).toEqual([])
  })

  test('a call is compared by the fields that are written', () => {
    const calls = [call({ id: 1, total: 5 }, { headers: { a: 'b' } })]
    expect(messages({ calls: [wanted({ body: { id: 1 } })] }, { calls })).toEqual([])
    const [difference] = judgeTest(flowTest({ calls: [wanted({ body: { id: 2 } })] }), { ...NOTHING, calls })
    expect(difference).toEqual({
      path: [0, 'expect', 'calls', 0],
      message: 'the call POST https://books.example/bookings differs',
      fields: [{ at: 'body.id', expected: 2, got: 1 }],
    })
  })

  test('the number of calls counts, and a call more or less is said so', () => {
    const twice = [call({ id: 1 }), call({ id: 1 })]
    const one = { calls: [wanted({ body: { id: 1 } })] }
    expect(messages(one, { calls: twice })).toEqual([
      'the call POST https://books.example/bookings was made twice, expected once',
    ])
    expect(messages({ calls: [wanted({}, 3)] }, { calls: twice })).toEqual([
      'the call POST https://books.example/bookings was made twice, expected 3 times',
    ])
    expect(messages(one, {})).toEqual(['the call POST https://books.example/bookings was not made'])
    expect(messages({ calls: [] }, { calls: [call({ id: 1 })] })).toEqual([
      'the call POST https://books.example/bookings was not expected',
    ])
  })

  test('each call goes to the expectation that it fits, in any order', () => {
    const calls = [call({ id: 1 }), call({ id: 2 })]
    expect(
      messages({ calls: [wanted({ body: { id: 2 } }), wanted({ body: { id: 1 } }, 1, 1)] }, { calls }),
    ).toEqual([])
    // The expectation without fields must not take the call that another one needs.
    const differs = { calls: [wanted({ body: { id: 3 } }), wanted({ body: { id: 2 } }, 1, 1)] }
    expect(judgeTest(flowTest(differs), { ...NOTHING, calls }).map(({ fields }) => fields)).toEqual([
      [{ at: 'body.id', expected: 3, got: 1 }],
    ])
  })

  test('keys, events, instances and dead letters are lists of everything that is there', () => {
    expect(messages({ keys: ['A:1', 'B:1'] }, { keys: ['A:1', 'C:1', 'D:1'] })).toEqual([
      'no effect has the key B:1',
      'the effect with the key D:1 was not expected',
    ])
    const path = [0, 'expect', 'instances']
    const expected = [{ path: [...path, 0], fields: { workflow: 'case', place: 'closed', data: { a: 1 } } }]
    const instances = [{ workflow: 'case', place: 'open', state: 'active', data: { a: 1, b: 2 } }]
    expect(judgeTest(flowTest({ instances: expected }), { ...NOTHING, instances })).toEqual([
      {
        path: [...path, 0],
        message: 'the instance of case differs',
        fields: [{ at: 'place', expected: 'closed', got: 'open' }],
      },
    ])
  })
})

test('[FT2] dead letters, parked and waiting jobs fail a test that does not expect them', () => {
  const deadLetters = [{ route: 'book', class: 'permanent' }]
  expect(messages({}, { deadLetters })).toEqual(['the dead letter of route book was not expected'])
  expect(messages({}, { parked: deadLetters })).toEqual(['the parked job of route book was not expected'])
  expect(messages({}, { waiting: deadLetters })).toEqual(['the waiting job of route book was not expected'])
  const expected = [{ path: [0, 'expect', 'deadLetters'], fields: { route: 'book' } }]
  expect(messages({ deadLetters: expected }, { deadLetters })).toEqual([])
  expect(messages({ deadLetters: expected }, {})).toEqual(['the dead letter of route book was not there'])
})

describe('[FT3] a call without an answer', () => {
  const answer = { kind: 'response', status: 200, headers: {}, body: '' } as const
  const scripted = { path: [0, 'answers', 0], to: BOOK, times: 1, afterMs: 0, answer }

  test('is the only difference, named by its address', () => {
    const unanswered = [{ method: 'GET', url: 'https://books.example/bookings', fields: { body: null } }]
    const seen = { ...NOTHING, calls: unanswered, unanswered, answered: [0], keys: ['A'] }
    expect(judgeTest(flowTest({ keys: [] }, { answers: [scripted] }), seen)).toEqual([
      {
        path: [0, 'answers'],
        message:
          'the call GET https://books.example/bookings was not expected: no answer is written for it under `answers`',
        fields: [{ at: '', got: { body: null } }],
      },
    ])
  })

  test('is told apart from one whose answers are used up', () => {
    const again = call({ id: 1 })
    const seen = { calls: [again, again], unanswered: [again], answered: [1] }
    expect(messages({}, seen, { answers: [scripted] })).toEqual([
      'the call POST https://books.example/bookings was not expected: it is call 2, and the answers for this address are used up',
    ])
  })

  test('an answer that nobody asked for is a difference, unless it is for any number of calls', () => {
    expect(messages({}, { answered: [0] }, { answers: [scripted] })).toEqual([
      'the answer to POST https://books.example/bookings was not asked for',
    ])
    expect(messages({}, { answered: [1] }, { answers: [{ ...scripted, times: 3 }] })).toEqual([
      'the answer to POST https://books.example/bookings was asked for 1 of 3 times',
    ])
    expect(messages({}, { answered: [0] }, { answers: [{ ...scripted, times: null }] })).toEqual([])
  })
})

test('[FT4] a refused request fails its test, unless it must be refused with this code', () => {
  const sent = {
    type: 'request',
    path: [0, 'send'],
    source: 'shop',
    headers: {},
    body: '',
    times: 1,
  } as const
  const step = (refused: string | null): { readonly steps: readonly TestStep[] } => ({
    steps: [{ ...sent, isSigned: true, refused }],
  })
  const refused = { code: 'signature_wrong', message: 'wrong' }
  expect(messages({}, { requests: [{ step: 0, refused }] }, step('signature_wrong'))).toEqual([])
  expect(messages({}, { requests: [{ step: 0, refused: null }] }, step(null))).toEqual([])
  expect(messages({}, { requests: [{ step: 0, refused }] }, step(null))).toEqual([
    'the request to shop was refused with signature_wrong: wrong',
  ])
  expect(messages({}, { requests: [{ step: 0, refused }] }, step('signature_missing'))).toEqual([
    'the request to shop was refused with signature_wrong, expected signature_missing: wrong',
  ])
  expect(messages({}, { requests: [{ step: 0, refused: null }] }, step('signature_wrong'))).toEqual([
    'the request to shop was accepted, expected to be refused with signature_wrong',
  ])
})

test('events that the system publishes about itself are compared only where they are expected', () => {
  const own = { subject: 'integration.run.completed', data: {}, isCanonical: true }
  const emitted = [own, { subject: 'shop.booked', data: { id: 1 }, isCanonical: false }]
  const booked = { path: [0, 'expect', 'emitted', 0], fields: { subject: 'shop.booked', data: { id: 1 } } }
  const run = { path: [0, 'expect', 'emitted', 1], fields: { subject: 'integration.run.completed' } }
  expect(messages({ emitted: [booked] }, { emitted })).toEqual([])
  expect(messages({ emitted: [booked, run] }, { emitted })).toEqual([])
  expect(messages({ emitted: [booked, run] }, { emitted: emitted.slice(1) })).toEqual([
    'the event integration.run.completed was not emitted',
  ])
  expect(messages({ emitted: [] }, { emitted })).toEqual(['the event shop.booked was not expected'])
})

describe('fields', () => {
  test('of a map only the expected ones count, of a list all', () => {
    expect(compareFields({ a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 })).toEqual([])
    expect(compareFields([1, 2], [1, 2, 3])).toEqual([{ at: '[2]', got: 3 }])
    expect(compareFields([1, 2], [1])).toEqual([{ at: '[1]', expected: 2 }])
    expect(compareFields({ a: [{ b: 1 }] }, { a: [{ b: '1' }] })).toEqual([
      { at: 'a[0].b', expected: 1, got: '1' },
    ])
    expect(compareFields({ a: 1 }, undefined)).toEqual([{ at: '', expected: { a: 1 } }])
  })

  test('null is also absent, and numbers are compared by value', () => {
    expect(compareFields({ a: null }, {})).toEqual([])
    expect(compareFields({ a: null }, { a: 0 })).toEqual([{ at: 'a', expected: null, got: 0 }])
    const exact = readNumeral('1.0', false)
    expect(exact !== null && compareFields(1, exact)).toEqual([])
  })
})

test('addresses of calls have a method and a URL, and `*` stands for any text', () => {
  const fits = (pattern: string, url: string) => {
    const to = parseCallAddress(pattern)
    return to !== null && isCallTo(to, { method: 'GET', url })
  }
  expect(fits('GET https://a.example/x', 'https://a.example/x')).toBe(true)
  expect(fits('GET https://a.example/x', 'https://a.example/xy')).toBe(false)
  expect(fits('POST https://a.example/x', 'https://a.example/x')).toBe(false)
  expect(fits('* https://a.example/x', 'https://a.example/x')).toBe(true)
  expect(fits('GET https://a.example/*/b?c=*', 'https://a.example/1/b?c=2')).toBe(true)
  expect(fits('GET https://a.example/*/b', 'https://a.example/b')).toBe(false)
  expect(fits('GET *', 'https://a.example/')).toBe(true)
  // What two pieces need is not taken twice.
  expect(fits('GET https://a.example/ab*ba', 'https://a.example/aba')).toBe(false)
  for (const bad of ['https://a.example', 'get https://a.example', 'GET a.example', 'GET', ''])
    expect(parseCallAddress(bad)).toBeNull()
})
