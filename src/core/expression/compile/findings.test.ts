import { describe, expect, test } from 'vitest'
import { compileExpression, ExpressionError, type Scope } from '../index.ts'

const roots = ['event', 'payload', 'header', 'vars']

describe('problems', () => {
  test.each([
    ['', 0, 0, 'empty', "''"],
    ['1 +', 3, 0, 'ends too early', undefined],
    ['(1 + 2', 6, 0, 'expected `)`', undefined],
    ['[1 2]', 3, 1, 'expected `,`', undefined],
    ['payload.a = 1', 10, 1, 'write `==`', '=='],
    ['payload.a === 1', 10, 3, 'write `==`', '=='],
    ['payload.a !== 1', 10, 3, 'write `!=`', '!='],
    ['payload.a and payload.b', 10, 3, 'write `&&`', '&&'],
    ['payload.a | payload.b', 10, 1, 'write `||`', '||'],
    ['payload?.a', 7, 2, 'missing fields are null', '.'],
    ['{{ payload.a }}', 0, 2, 'without `{{ }}`', undefined],
    ["'open", 0, 5, 'not closed', undefined],
    ["'a\\q'", 2, 2, 'unknown escape', '\\\\'],
    ["b'x'", 0, 1, 'no byte texts', ''],
    ['payload.5', 8, 1, 'field name', undefined],
    ["payload.'a'", 8, 3, 'field name', undefined],
    ['1abc', 0, 2, 'a number ends here', undefined],
    ['“text”', 0, 1, 'straight quotes', "'"],
    ['payload.a ü', 10, 1, 'a text needs quotes', undefined],
    ['siz(payload.a)', 0, 3, 'did you mean `size`?', 'size'],
    ['payload.a.toLowerCase()', 10, 11, 'did you mean `lower`?', 'lower'],
    ['now()', 0, 3, 'no clock', 'event.occurredAt'],
    ['timestamp(payload.a)', 0, 9, 'no clock', 'event.occurredAt'],
    ['map(payload.a, x, x)', 0, 3, 'behind a list', 'list.map(x, …)'],
    ['payload.a.map(x)', 10, 6, 'takes a name and an expression', undefined],
    ['payload.a.map(header, header.a)', 14, 6, 'choose another name', 'h'],
    ['has(payload)', 0, 12, '`has` takes one field', undefined],
    ['payload.a.startsWith()', 10, 12, 'takes 2 arguments', undefined],
    ['payload.a.hash()', 10, 4, 'in front', undefined],
    ['{1: 2}', 1, 1, 'keys of a map are texts', "'1'"],
    ["payload.a 'b'", 10, 3, 'an operator is missing', undefined],
    ['payload.a)', 9, 1, 'nothing to close', undefined],
  ])('[X26] %j: at %i, %i long: %s', (text, offset, length, message, suggestion) => {
    const compiled = compileExpression(text, { roots })
    expect(compiled).toMatchObject({
      ok: false,
      problem: { offset, length, message: expect.stringContaining(message) },
    })
    expect(compiled.ok === false && compiled.problem.suggestion).toBe(suggestion)
  })

  test.each([
    ['EUR', 0, 3, 'text needs quotes', "'EUR'"],
    ['approved by finance', 0, 19, 'text needs quotes', "'approved by finance'"],
    ['paylod.id', 0, 6, 'did you mean `payload`?', 'payload'],
    ["'a' + Payload.id", 6, 7, 'did you mean `payload`?', 'payload'],
    ['payload.items.map(entry, entrie.id)', 25, 6, 'did you mean `entry`?', 'entry'],
    ['payload.foo-bar', 12, 3, "['…-bar']", undefined],
    ['size', 0, 4, 'is a function', 'size(…)'],
    ['constructor', 0, 11, 'text needs quotes', "'constructor'"],
    ['payload.a == OPEN && true', 13, 4, 'text needs quotes', "'OPEN'"],
  ])('[X27] %j: at %i, %i long: %s', (text, offset, length, message, suggestion) => {
    const compiled = compileExpression(text, { roots })
    expect(compiled).toMatchObject({
      ok: false,
      problem: { offset, length, message: expect.stringContaining(message) },
    })
    expect(compiled.ok === false && compiled.problem.suggestion).toBe(suggestion)
  })

  test('[X26] nesting and length are bounded, so no text exhausts the stack', () => {
    const texts = [
      `${'('.repeat(8000)}1${')'.repeat(8000)}`,
      '!'.repeat(16_000),
      '-'.repeat(16_000),
      `payload${'.a'.repeat(8000)}`,
      `payload${'[*]'.repeat(5000)}`,
      `1${'+1'.repeat(8000)}`,
      `true${'?1:1'.repeat(4000)}`,
      `${'['.repeat(16_000)}`,
      `[${'1,'.repeat(8000)}]`,
      `${'('.repeat(100)}1${'+1)'.repeat(100)}${'+1'.repeat(200)}`,
      'a'.repeat(20_000),
    ]
    const outcomes = texts.map((text) => compileExpression(text).ok)
    expect(outcomes).toEqual([false, false, false, false, false, false, false, false, false, true, false])
  })

  test('[X26] a long but reasonable text compiles', () => {
    const compiled = compileExpression(
      Array.from({ length: 200 }, (_, i) => `payload.a == ${i}`).join(' || '),
    )
    expect(compiled.ok && compiled.expression.evaluate({ payload: { a: 199 } })).toBe(true)
  })
})

describe('limits', () => {
  const numbers = Array.from({ length: 200 }, (_, i) => i)
  const run = (text: string, payload: unknown, steps?: number): unknown => {
    const compiled = compileExpression(text, steps === undefined ? {} : { steps })
    if (!compiled.ok) throw new Error(compiled.problem.message)
    return compiled.expression.evaluate({ payload } as Scope)
  }
  const codeOf = (text: string, payload: unknown, steps?: number): string => {
    try {
      run(text, payload, steps)
      return 'fine'
    } catch (error) {
      return error instanceof ExpressionError ? error.code : String(error)
    }
  }

  test('[X28] elements cost steps', () => {
    expect(codeOf('payload.map(x, x)', numbers)).toBe('fine')
    expect(codeOf('payload.map(x, payload.map(y, x))', numbers)).toBe('steps')
    expect(codeOf('payload.map(x, payload.map(y, x))', numbers, 100_000)).toBe('fine')
    expect(codeOf('payload[*]', numbers, 199)).toBe('steps')
    expect(codeOf('payload.all(a, payload.all(b, payload.all(c, true)))', numbers)).toBe('steps')
  })

  test('[X28] work by size costs steps', () => {
    const text = 'a'.repeat(1_000_000)
    const payload = { text, numbers, list: [text] }
    expect(codeOf('hash(payload.text)', payload)).toBe('fine')
    expect(codeOf('payload.numbers.map(n, hash(payload.text))', payload)).toBe('steps')
    expect(codeOf("payload.numbers.map(n, payload.text.contains('b'))", payload)).toBe('steps')
    expect(codeOf("payload.numbers.map(n, payload.text.replace('b', 'c'))", payload)).toBe('steps')
    expect(codeOf('payload.numbers.map(n, payload.text.size())', payload)).toBe('steps')
    expect(codeOf("re(payload.text, 'b')", payload)).toBe('steps')
    expect(codeOf('payload.numbers.map(n, payload.text.substring(1) + n)', payload)).toBe('steps')
  })

  test('[X28] [X29] a value that contains itself many times is not walked completely', () => {
    const twice = '.map(x, [x, x])'.repeat(60)
    expect(codeOf(`[1]${twice}`, {})).toBe('bounds')
    expect(codeOf(`hash([1]${twice})`, {})).toBe('steps')
    expect(codeOf(`string([1]${twice}).size()`, {})).toBe('steps')
    expect(codeOf(`[1]${twice} == [1]${twice}`, {})).toBe('steps')
  })

  test('[X29] texts and lists are bounded', () => {
    const text = 'a'.repeat(600_000)
    expect(codeOf('payload + payload', text)).toBe('bounds')
    expect(codeOf("payload.replace('a', payload)", text)).toBe('bounds')
    expect(codeOf("[payload, payload].join(',')", text)).toBe('bounds')
    expect(codeOf("payload.split('')", text)).toBe('bounds')
    expect(codeOf('payload + payload', new Array(60_000).fill(1))).toBe('bounds')
    expect(codeOf('payload.map(x, x)', new Array(100_001).fill(1), 1_000_000)).toBe('bounds')
    expect(codeOf('payload * payload', 10n ** 600n)).toBe('bounds')
    expect(codeOf('payload', text.repeat(10))).toBe('fine')
  })

  test('[X30] errors never contain a value', () => {
    const payload = { secret: 'hunter2', list: ['hunter2'], map: { hunter2: 1 }, pattern: '(hunter2' }
    const texts = [
      'payload.secret - 1',
      '-payload.secret',
      'payload.secret < 1',
      '1 in payload.secret',
      'payload.secret.sum()',
      'int(payload.secret)',
      'double(payload.secret)',
      'bool(payload.secret)',
      'payload.map + 1',
      "re('a', payload.pattern)",
      '{payload.list: 1}',
      'min(payload.secret, 1)',
      "extRef('a', 'b', 'c', payload.list)",
    ]
    for (const text of texts) {
      let message = 'nothing was thrown'
      try {
        run(text, payload)
      } catch (error) {
        message = `${(error as Error).message} ${JSON.stringify(error)}`
      }
      expect(message, text).not.toMatch(/hunter2|nothing was thrown/)
    }
  })
})
