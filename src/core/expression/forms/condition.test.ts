import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../../foundation/json/index.ts'
import {
  compileCondition,
  compilePath,
  formatDuration,
  parseDuration,
  parseSize,
  type Scope,
} from '../index.ts'

const roots = ['payload', 'event']
const scope: Scope = {
  payload: {
    status: 'OPEN',
    total: 120,
    big: 9007199254740993n,
    none: null,
    tags: ['a', 'b'],
    items: [{ n: 1 }],
    'x-y': 1,
  },
}

function holds(value: JsonValue): boolean {
  const compiled = compileCondition(value, { roots })
  if (!compiled.ok) throw new Error(compiled.problem.message)
  return compiled.condition.test(scope)
}

describe('conditions', () => {
  test.each<[JsonValue, boolean]>([
    ["payload.status == 'OPEN'", true],
    ['payload.status', false],
    ['payload.zz', false],
    [{ path: 'payload.total', greaterThan: 100, lessThan: 120 }, false],
    [{ all: ['payload.total > 100', { path: 'payload.status', equals: 'OPEN' }] }, true],
    [{ any: [{ path: 'payload.status', equals: 'X' }, { not: { path: 'payload.zz', exists: true } }] }, true],
    [{ not: { all: ['true', { any: ['false', 'true'] }] } }, false],
  ])('[X37] [X12] %j is %s', (value, expected) => {
    expect(holds(value)).toBe(expected)
  })

  test.each<[string, JsonValue, readonly [string, JsonValue, boolean][]]>([
    [
      'equals',
      'OPEN',
      [
        ['payload.status', 'OPEN', true],
        ['payload.status', 'open', false],
        ['payload.zz', null, true],
      ],
    ],
    [
      'notEquals',
      'OPEN',
      [
        ['payload.status', 'OPEN', false],
        ['payload.zz', 'OPEN', true],
      ],
    ],
    [
      'in',
      [],
      [
        ['payload.status', ['OPEN', 'NEW'], true],
        ['payload.total', ['120'], false],
      ],
    ],
    [
      'notIn',
      [],
      [
        ['payload.status', ['OPEN'], false],
        ['payload.zz', ['OPEN'], true],
      ],
    ],
    [
      'contains',
      '',
      [
        ['payload.status', 'PE', true],
        ['payload.tags', 'b', true],
        ['payload.items[*].n', 1, true],
        ['payload.zz', 'a', false],
      ],
    ],
    [
      'notContains',
      '',
      [
        ['payload.tags', 'b', false],
        ['payload.zz', 'a', true],
      ],
    ],
    [
      'startsWith',
      '',
      [
        ['payload.status', 'OP', true],
        ['payload.total', '1', false],
      ],
    ],
    [
      'greaterThan',
      0,
      [
        ['payload.total', 119, true],
        ['payload.total', 120, false],
        ['payload.big', 9007199254740992n, true],
      ],
    ],
    [
      'lessThan',
      0,
      [
        ['payload.total', 121, true],
        ['payload.zz', 1, false],
        ['payload.status', 'P', true],
      ],
    ],
    ['atLeast', 0, [['payload.total', 120, true]]],
    [
      'atMost',
      0,
      [
        ['payload.total', 120, true],
        ['payload.none', 1, false],
      ],
    ],
    [
      'exists',
      true,
      [
        ['payload.status', true, true],
        ['payload.none', true, false],
        ['payload.zz', false, true],
      ],
    ],
    [
      'notExists',
      true,
      [
        ['payload.none', true, true],
        ['payload.status', true, false],
        ['payload.status', false, true],
      ],
    ],
  ])('[X38] %s', (operator, _example, rows) => {
    for (const [path, operand, expected] of rows) expect(holds({ path, [operator]: operand })).toBe(expected)
  })

  test.each<JsonValue>([
    { path: 'payload.status', greaterThan: 1 },
    { path: 'payload.items', lessThan: 'a' },
    { path: 'payload.total', startsWith: 'a' },
    { path: 'payload.total', contains: 'a' },
    { path: 'payload.items', contains: 1 },
  ])('[X39] %j does not match and does not fail', (value) => {
    expect(holds(value)).toBe(false)
  })

  test.each<[JsonValue, (string | number)[], string]>([
    ['', [], 'empty condition'],
    ['  ', [], 'empty condition'],
    [{}, [], 'empty condition'],
    [{ all: [] }, ['all'], 'empty condition'],
    [{ any: [{}] }, ['any', 0], 'empty condition'],
    [{ not: '' }, ['not'], 'empty condition'],
    [{ all: 'payload.a' }, ['all'], 'needs a list'],
    [null, [], 'not a null'],
    [true, [], 'quotes'],
    [{ path: 'payload.a' }, [], 'needs an operator'],
    [{ equals: 1 }, [], 'needs a `path`'],
    [{ path: 1, equals: 1 }, ['path'], 'needs a `path`'],
    [{ path: 'payload.a', equal: 1 }, ['equal'], 'did you mean `equals`?'],
    [{ path: 'payload.a', gte: 1 }, ['gte'], 'did you mean `atLeast`?'],
    [{ path: 'payload.a', in: 'x' }, ['in'], 'needs a list'],
    [{ path: 'payload.a', in: [] }, ['in'], 'empty list'],
    [{ path: 'payload.a', exists: 'yes' }, ['exists'], 'true or false'],
    [{ path: 'payload.a', greaterThan: null }, ['greaterThan'], 'a number or a text'],
    [{ path: 'payload.a', equals: '{{ payload.b }}' }, ['equals'], 'a literal'],
    [{ path: 'payload.a + 1', equals: 2 }, ['path'], 'only fixed names'],
    [{ path: 'payload[event.i]', equals: 2 }, ['path'], 'only fixed names'],
    [{ path: 'paylod.a', equals: 2 }, ['path'], 'did you mean `payload`?'],
    [{ all: ['true'], path: 'payload.a' }, [], 'stands alone'],
    [{ all: ['payload.a =', 'true'] }, ['all', 0], 'write `==`'],
  ])('[X40] %j is a problem at %j: %s', (value, path, message) => {
    const compiled = compileCondition(value, { roots })
    expect(compiled).toMatchObject({
      ok: false,
      problem: { path, message: expect.stringContaining(message) },
    })
  })

  test('[X40] all problems are reported at once', () => {
    const compiled = compileCondition({ all: ['1 +', { path: 'x.y', equls: 1 }] }, { roots })
    expect(compiled.ok === false && compiled.problems.map((problem) => problem.path)).toEqual([
      ['all', 0],
      ['all', 1, 'equls'],
      ['all', 1, 'path'],
    ])
  })

  test('[X31] a condition lists its roots and paths', () => {
    expect(compileCondition({ all: ['event.a', { path: 'payload.b[0]', exists: true }] })).toMatchObject({
      condition: { roots: ['event', 'payload'], paths: ['event.a', 'payload.b[0]'] },
    })
  })
})

test('a path is parsed into its steps', () => {
  expect(compilePath("payload.items[*].tags[0]['x-y'].z")).toMatchObject({
    ok: true,
    path: { root: 'payload', steps: ['items', { each: true }, 'tags', 0, 'x-y', 'z'] },
  })
  expect(compilePath('(payload.a[*]).b').ok).toBe(true)
  expect(compilePath('size(payload)').ok).toBe(false)
})

describe('units', () => {
  test.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['0s', 0],
  ])('[X41] %s is %i ms, and formats back', (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs)
    expect(parseDuration(formatDuration(durationMs))).toBe(durationMs)
  })
  test.each([
    '',
    '5',
    's',
    '1.5h',
    '-1s',
    '1h30m',
    ' 5s',
    '5 s',
    '5S',
    '5w',
    '999999999999999d',
    '5toString',
  ])('[X41] %j is not a duration', (text) => {
    expect(parseDuration(text)).toBe(null)
  })
  test.each([
    ['1MiB', 1_048_576],
    ['64KiB', 65_536],
    ['2GiB', 2_147_483_648],
    ['10B', 10],
    ['1MB', null],
    ['1', null],
  ])('[X41] %s is %s bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes)
  })
  test('[X41] the largest unit without loss', () => {
    expect([90_000, 86_400_000, 1500, 0].map(formatDuration)).toEqual(['90s', '1d', '1500ms', '0ms'])
  })
})
