import { expect, test } from 'vitest'
import { explainCondition } from '../index.ts'

const scope = { payload: { amount: 30, vat: null, tags: ['a', 'b'], kind: 'order' }, header: {} }
const explain = (condition: Parameters<typeof explainCondition>[0]) => explainCondition(condition, scope)

test('[TR1] an expression is explained by its outermost parts, with both sides of a comparison', () => {
  expect(explain("payload.amount > 50 && payload.kind == 'order' && (payload.vat == null || true)")).toEqual([
    { part: 'payload.amount > 50', holds: false, saw: 'payload.amount = 30' },
    { part: "payload.kind == 'order'", holds: true, saw: 'payload.kind = "order"' },
    { part: '(payload.vat == null || true)', holds: true, saw: 'payload.vat = null' },
  ])
  expect(explain('payload.amount + 1 < payload.limit')).toEqual([
    {
      part: 'payload.amount + 1 < payload.limit',
      holds: false,
      saw: 'payload.amount + 1 = 31, payload.limit = missing',
    },
  ])
  expect(explain("payload.tags.exists(t, t == 'b')")).toEqual([
    { part: "payload.tags.exists(t, t == 'b')", holds: true, saw: 'payload.tags = ["a","b"]' },
  ])
  expect(explain("'a' in payload.tags && has(payload.kind)")).toMatchObject([
    { holds: true, saw: 'payload.tags = ["a","b"]' },
    { holds: true },
  ])
})

test('[TR1] a filter is explained by its leaves', () => {
  const filter = {
    all: [
      { path: 'payload.amount', atLeast: 10, lessThan: 20 },
      { any: [{ path: 'payload.kind', equals: 'x' }, { not: { path: 'payload.gone', exists: true } }] },
      'payload.vat == null',
    ],
  }
  expect(explain(filter)).toEqual([
    { part: 'payload.amount atLeast 10', holds: true, saw: 'payload.amount = 30' },
    { part: 'payload.amount lessThan 20', holds: false, saw: 'payload.amount = 30' },
    { part: 'any of: payload.kind equals "x"', holds: false, saw: 'payload.kind = "order"' },
    { part: 'any of: not: payload.gone exists true', holds: false, saw: 'payload.gone = missing' },
    { part: 'payload.vat == null', holds: true, saw: 'payload.vat = null' },
  ])
})

test('[TR1] a part that cannot be decided says so, and long values are truncated', () => {
  const [undecided, fine] = explain('payload.kind > 3 && payload.amount == 30')
  expect(undecided).toMatchObject({ holds: false, saw: expect.stringContaining('cannot be decided: ') })
  expect(fine).toMatchObject({ holds: true })
  const long = explainCondition("payload.text == 'x'", { payload: { text: 'y'.repeat(10_000) } })
  expect(long[0]?.saw?.length).toBeLessThan(300)
  expect(explainCondition(Array.from({ length: 200 }, () => 'true').join(' && '), {}).length).toBe(100)
})

test('a text that does not compile has no parts', () => {
  expect(explain('payload.')).toEqual([])
  expect(explain(null)).toEqual([])
})
