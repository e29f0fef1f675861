import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Numeral } from '../../foundation/json/index.ts'
import { compileExpression, ExpressionError } from '../index.ts'

function evaluate(text: string, payload: unknown = {}): unknown {
  const compiled = compileExpression(text)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.problem.message}`)
  return compiled.expression.evaluate({ payload })
}

function table(name: string, rows: readonly (readonly [string, unknown])[]): void {
  test.each(rows)(`${name}: %s`, (text, value) => {
    expect(evaluate(text)).toEqual(value)
  })
}

describe('functions', () => {
  table('[X20] texts', [
    ["size('a😀b')", 3],
    ["'hello'.contains('ell')", true],
    ['contains([1, [2]], [2])', true],
    ["'hello'.startsWith('he') && endsWith('hello', 'lo')", true],
    ["'ÀB'.lower() + upper('é')", 'àbÉ'],
    ["' a '.trim()", 'a'],
    ["'a,b,'.split(',')", ['a', 'b', '']],
    ["'a😀'.split('')", ['a', '😀']],
    ["['a', 1, true].join('-')", 'a-1-true'],
    ["['a', null].join('-')", null],
    ['[].join()', ''],
    ["'aXbX'.replace('X', '--')", 'a--b--'],
    ["'ab'.replace('', '.')", '.a.b.'],
    ["'abcdef'.substring(2)", 'cdef'],
    ["'abcdef'.substring(1, 3)", 'bc'],
    ["'abc'.substring(0, 80)", 'abc'],
    ["'abc'.substring(9)", ''],
    ["'a😀bc'.substring(1, 3)", '😀b'],
  ])
  table('[X21] numbers', [
    ['abs(-3) + (-2.5).abs()', 5.5],
    ['ceil(1.2) + floor(-1.2)', 0],
    ['[round(2.5), round(-2.5), round(-0.4), round(0.49999999999999994)]', [3, -3, 0, 0]],
    ['abs(-9007199254740993)', 9007199254740993n],
    ['min(3, 1, 2) + max([4, 9])', 10],
    ["max('a', 'b')", 'b'],
    ['max([])', null],
    ['max([1, null])', null],
    ['[1, 2.5, 9007199254740993].sum()', new Numeral('9007199254740996.5')],
    ['[9007199254740991, 2].sum()', 9007199254740993n],
    ['sum([])', 0],
  ])
  table('[X22] values', [
    ['string(12345678901234567890)', '12345678901234567890'],
    ["string({'a': [1, null]})", '{"a":[1,null]}'],
    ['string(null)', null],
    ["int('12345678901234567890')", 12345678901234567890n],
    ["int(' -12 ')", -12],
    ['int(-1.9)', -1],
    ["double('1.5e2')", 150],
    ['double(9007199254740993)', 9007199254740992n],
    ['double(1.000000000000000001)', 1],
    ["bool('true')", true],
    [
      "[1, 1.5, 'a', true, null, [], {}].map(x, type(x))",
      ['number', 'number', 'string', 'bool', 'null', 'list', 'map'],
    ],
    ["coalesce(payload.zz, null, 'x')", 'x'],
    ['coalesce(payload.zz)', null],
    ["keys({'b': 1, 'a': 2}) + values({'b': 1, 'a': 2})", ['a', 'b', 2, 1]],
    ['[[1], 2, [[3]]].flatten()', [1, 2, [3]]],
  ])
  test.each([
    "int('1.5')",
    "double('x')",
    "bool('yes')",
    'size(1)',
    "min(1, 'a')",
    "'a'.substring('b')",
    'join([[1]])',
    'sum([true])',
  ])('[X22] %s is a type error', (text) => {
    expect(() => evaluate(text)).toThrow(expect.objectContaining({ code: 'type' }))
  })
})

describe('helpers', () => {
  test('[X23] hash is SHA-256 over the canonical JSON of its arguments', () => {
    const expected = createHash('sha256').update('[{"a":1,"b":[2]},"x"]').digest('hex')
    expect(evaluate("hash(payload, 'x')", { b: [2], a: 1 })).toBe(expected)
    expect(evaluate("hash(payload, 'x')", { a: 1, b: [2] })).toBe(expected)
    expect(evaluate("hash(payload.id, 'x')", {})).toBe(null)
    expect(evaluate('hash(payload)', { id: null })).toMatch(/^[0-9a-f]{64}$/)
  })

  test('[X24] extRef joins its parts', () => {
    expect(evaluate("extRef('sap', 'hours', 'entry', 7)")).toBe('sap:hours:entry:7')
    expect(evaluate("extRef('sap', 'hours', 'entry', 'a:b/ü*', 'update', 3)")).toBe(
      'sap:hours:entry:a%3Ab%2F%C3%BC%2A:update:3',
    )
    expect(evaluate("extRef('a', 'b', 'c', 'd', null, 'v')")).toBe('a:b:c:d::v')
    expect(evaluate("extRef('a', 'b', 'c', 'd', null)")).toBe('a:b:c:d')
    expect(evaluate("extRef('a', 'b', 'c', payload.id)")).toBe(null)
    expect(() => evaluate("extRef('a', 'b', 'c', [1])")).toThrow(ExpressionError)
  })

  test('[X24] different parts never give the same reference, which is ASCII', () => {
    const part = fc.string({ unit: 'binary', minLength: 1, maxLength: 4 })
    const parts = fc.tuple(part, part, part, part, part)
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const reference = (p: readonly string[]): unknown =>
          evaluate('extRef(payload[0], payload[1], payload[2], payload[3], payload[4])', p)
        // Lone surrogates have no encoding: all of them become the replacement character.
        const same = a.every((text, i) => wellFormed(text) === wellFormed(b[i] ?? ''))
        expect(reference(a) === reference(b)).toBe(same)
        expect(reference(a)).toMatch(/^[\w.%:-]+$/)
      }),
    )
  })

  test('[KY11] neither the order of keys nor the spelling of a number changes the text', () => {
    const texts = ['{"id":7,"a":{"x":1.0,"y":[1e2,-0]}}', '{"a":{"y":[100,0],"x":1},"id":7.0}']
    for (const text of [
      'hash(payload)',
      'hash(payload.a, payload.id)',
      "extRef('a', 'b', 'c', payload.id, payload.a.x)",
    ]) {
      const [one, other] = texts.map((payload) => evaluate(text, JSON.parse(payload)))
      expect(one).toBe(other)
      expect(evaluate(text, JSON.parse(texts[0] as string))).toBe(one)
    }
    const value = fc.jsonValue()
    const shuffled = (one: unknown): unknown =>
      Array.isArray(one)
        ? one.map(shuffled)
        : typeof one === 'object' && one !== null
          ? Object.fromEntries(
              Object.entries(one)
                .reverse()
                .map(([name, member]) => [name, shuffled(member)]),
            )
          : one
    fc.assert(
      fc.property(value, (payload) => {
        expect(evaluate('hash([payload])', shuffled(payload))).toBe(evaluate('hash([payload])', payload))
      }),
    )
    // A list is ordered, and a text is not a number.
    expect(evaluate('hash(payload)', [1, 2])).not.toBe(evaluate('hash(payload)', [2, 1]))
    expect(evaluate('hash(payload)', '7')).not.toBe(evaluate('hash(payload)', 7))
  })

  test('[X25] re finds a pattern', () => {
    expect(evaluate(String.raw`re('order 4711', r'\d{4}')`)).toBe(true)
    expect(evaluate("payload.a.re('^x$')", { a: 'xx' })).toBe(false)
    expect(evaluate("re(payload.zz, 'x')")).toBe(null)
    expect(evaluate('re(payload.a, payload.p)', { a: 'Abc', p: '(?i)aB' })).toBe(true)
  })

  test('[X25] a bad pattern is a problem when written, an error when computed', () => {
    expect(compileExpression("re(payload.a, '(a')")).toMatchObject({
      ok: false,
      problem: { offset: 14, length: 4 },
    })
    expect(compileExpression(String.raw`re(payload.a, r'(a)\1')`).ok).toBe(false)
    expect(() => evaluate('re(payload.a, payload.p)', { a: 'a', p: '(a' })).toThrow(
      expect.objectContaining({ code: 'regex' }),
    )
  })

  test.each([
    `(?:${'abc'.repeat(100)}){1000}`,
    '[a-z]{1,1000}'.repeat(70),
    'a'.repeat(1001),
    '(a{100}){100}',
  ])('[X25] a pattern whose program would be huge is refused: %#', (pattern) => {
    expect(compileExpression(`re(payload.a, '${pattern}')`)).toMatchObject({
      ok: false,
      problem: { offset: 14 },
    })
  })

  test('[X25] patterns that blow up elsewhere run in linear time here', () => {
    const payload = { a: `${'a'.repeat(5000)}!` }
    expect(evaluate("re(payload.a, '^(a+)+$')", payload)).toBe(false)
  })

  test('[X25] `matches` is refused with a replacement', () => {
    expect(compileExpression("payload.name.matches('x')")).toMatchObject({
      ok: false,
      problem: { offset: 13, length: 7, suggestion: 're(text, pattern)' },
    })
  })
})

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd')
}

test.each([
  ["token('a b.c')", 'a_b_c'],
  ["token(' *>.')", '_'],
  ["token('a-b_c')", 'a-b_c'],
  ['token(7)', '7'],
  ['token(true)', 'true'],
  ["token('')", null],
  ['token([1])', null],
  ["token({'a': 1})", null],
  ['token(null)', null],
  ["token('orders/create', '/')", 'orders.create'],
  ["token('/a//b c/', '/')", 'a.b_c'],
  ["token('...', '.')", null],
  ["token('1.2.3.4.5.6.7.8.9', '.')", '1.2.3.4.5.6.7.8_9'],
  ["'.' + token(null)", null],
])('[CA1] %s is %j', (text, expected) => {
  expect(evaluate(text)).toEqual(expected)
})

test('[CA1] a token is bounded, and never contains half of a surrogate pair', () => {
  expect(evaluate('token(payload)', 'x'.repeat(300))).toBe('x'.repeat(96))
  expect(evaluate(`token('${'a'.repeat(95)}😀')`)).toBe(`${'a'.repeat(95)}_`)
})
