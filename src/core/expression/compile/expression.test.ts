import { describe, expect, test } from 'vitest'
import { Numeral } from '../../foundation/json/index.ts'
import { compileExpression, ExpressionError, type Scope } from '../index.ts'

const scope: Scope = {
  payload: {
    id: 7,
    big: 9007199254740993n,
    name: 'Ada',
    nothing: null,
    flag: true,
    half: 0.5,
    'a-b': 'dashed',
    list: [10, 20, 30],
    labels: [{ title: 'bug' }, {}, { title: null }, { title: 'ui' }],
    nested: [{ tags: ['a', 'b'] }, { tags: ['c'] }, {}],
    map: { b: 2, a: 1 },
  },
  header: { 'x-github-event': 'push', 'X-Odd': 'odd' },
}

function evaluate(text: string, given: Scope = scope): unknown {
  const compiled = compileExpression(text)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.problem.message}`)
  return compiled.expression.evaluate(given)
}

function errorOf(text: string): ExpressionError {
  try {
    evaluate(text)
  } catch (error) {
    if (error instanceof ExpressionError) return error
    throw error
  }
  throw new Error(`${text} did not fail`)
}

function table(name: string, rows: readonly (readonly [string, unknown])[]): void {
  test.each(rows)(`${name}: %s`, (text, value) => {
    expect(evaluate(text)).toEqual(value)
  })
}

describe('reading', () => {
  table('[X6] missing is null', [
    ['payload.zz', null],
    ['payload.zz.deeper.still', null],
    ['zz.a', null],
    ['payload.name.first', null],
    ['payload.list.title', null],
    ['payload.list.length', null],
    ['payload.list[3]', null],
    ['payload.list[-1]', null],
    ['payload.list[0.5]', null],
    ["payload.list['0']", null],
    ['payload.id[0]', null],
    ['payload.list[1]', 20],
    ["payload['name']", 'Ada'],
    ['payload.nothing', null],
  ])
  table('[X7] own fields only', [
    ['payload.constructor', null],
    ['payload.__proto__', null],
    ["payload['__proto__'].polluted", null],
    ['payload.toString', null],
    ['payload.name.length', null],
    ['constructor', null],
    ["has(payload.constructor) || 'toString' in payload", false],
  ])
  test('[X7] an own field may have any name', () => {
    const payload = JSON.parse('{"__proto__":1,"constructor":{"name":2}}')
    expect(evaluate('payload.__proto__ + payload.constructor.name', { payload })).toBe(3)
  })
  table('[X8] headers', [
    ['header.x-github-event', 'push'],
    ['header.X-GitHub-Event', 'push'],
    ['header.x-odd', 'odd'],
    ["header['X-Github-Event']", 'push'],
    ["header['x-' + 'odd']", 'odd'],
    ["header.x-github-event == 'push' && has(header.X-ODD)", true],
    ['header.x-none', null],
    ['has(header.x-none)', false],
    ["payload['a-b']", 'dashed'],
    ['payload.id-2', 5],
    ['payload.list[0]-payload.id', 3],
  ])
  table('[X9] every element', [
    ['payload.labels[*].title', ['bug', 'ui']],
    ['payload.labels[*].title.upper()', ['BUG', 'UI']],
    ['(payload.labels[*].title).size()', 2],
    ['payload.list[*]', [10, 20, 30]],
    ['payload.nested[*].tags', [['a', 'b'], ['c']]],
    ['payload.nested[*].tags[*].upper()', [['A', 'B'], ['C']]],
    ['(payload.nested[*].tags).flatten()', ['a', 'b', 'c']],
    ['payload.nested[*].tags[0]', ['a', 'c']],
    ['payload.nested[*].tags.map(t, t + t)', [['aa', 'bb'], ['cc']]],
    ['payload.zz[*].title', null],
    ['payload.name[*]', null],
    ["'ui' in payload.labels[*].title", true],
    ["(payload.labels[*].title).join(',')", 'bug,ui'],
  ])
  table('[X10] has', [
    ['has(payload.nothing)', true],
    ['has(payload.zz)', false],
    ['has(payload.zz.deeper)', false],
    ["has(payload['a-b'])", true],
    ['has(payload.list[2])', true],
    ['has(payload.list[3])', false],
  ])
})

describe('operators', () => {
  table('[X11] null', [
    ['payload.zz + 1', null],
    ["'a' + payload.nothing", null],
    ['1 - null', null],
    ['null * 2', null],
    ['null / 0', null],
    ['-payload.zz', null],
    ['payload.zz < 1', false],
    ['payload.zz >= null', false],
    ['payload.zz.size() > 0', false],
    ['lower(payload.zz)', null],
    ['payload.name.startsWith(payload.zz)', null],
  ])
  table('[X12] only true is true', [
    ["'yes' && true", false],
    ['1 || false', false],
    ['null || true', true],
    ['!null', true],
    ["!'a'", true],
    ['!!true', true],
    ["payload.zz ? 'a' : 'b'", 'b'],
    ["payload.flag ? 'a' : 'b'", 'a'],
    ['true ? false ? 1 : 2 : 3', 2],
    ['false && 1 / 0 > 0', false],
    ['true || 1 / 0 > 0', true],
    ['payload.list.filter(x, x)', []],
  ])
  table('[X13] numbers', [
    ['9007199254740991 + 1', 9007199254740992n],
    ['payload.big + 1', 9007199254740994n],
    ['payload.big - 2', 9007199254740991],
    ['payload.big * payload.big', 9007199254740993n ** 2n],
    ['payload.big * payload.big / payload.big', 9007199254740993n],
    ['12345678901234567890', 12345678901234567890n],
    ['0xFFFFFFFFFFFFFFFF', 18446744073709551615n],
    ['7 / 2', 3.5],
    ['8 / 2', 4],
    ['-7 % 3', -1],
    ['7 % -3', 1],
    ['7.5 % 2', 1.5],
    ['0.5 + 0.25', 0.75],
    ['payload.big + 0.5', new Numeral('9007199254740993.5')],
    ['0x1F + .5e1', 36],
    ['- -3', 3],
    ['2 + 3 * 4 - 1', 13],
    ['(2 + 3) * 4', 20],
    ['10 - 3 - 2', 5],
    ['0 * -1', 0],
  ])
  test.each([
    ['1 / 0', 'zero'],
    ['1 % 0', 'zero'],
    ['1.5 / 0.0', 'zero'],
    ['1e999 * 100', 'bounds'],
    ['1e-999 * 1e-9', 'bounds'],
    ['1.5 % 0.0', 'zero'],
    ['1e999 / 0.5', 'bounds'],
  ])('[X13] %s is an error: %s', (text, code) => {
    expect(errorOf(text).code).toBe(code)
  })
  table('[X14] plus', [
    ["'SAP:' + payload.id + ':' + payload.big", 'SAP:7:9007199254740993'],
    ["1 + 'a'", '1a'],
    ["'' + true + 0.5", 'true0.5'],
    ['[1] + [2, 3]', [1, 2, 3]],
  ])
  test.each([
    ['payload.map + 1', 'payload.map', 'map'],
    ['1 + payload.list', 'payload.list', 'list'],
    ["'a' + payload.map", 'payload.map', 'map'],
    ['payload.name - 1', 'payload.name', 'string'],
    ['2 * payload.flag', 'payload.flag', 'bool'],
    ['-payload.name', 'payload.name', 'string'],
    ['payload.id < payload.name', 'payload.name', 'string'],
    ['payload.list < 1', 'payload.list', 'list'],
    ['1 in payload.name', 'payload.name', 'string'],
    ['payload.labels[*].title.sum()', 'payload.labels[*].title', 'string'],
    ['payload.name.map(x, x)', 'payload.name', 'string'],
    ['{payload.id: 1}', 'payload.id', 'number'],
  ])('[X14] [X16] %s is a type error about %s', (text, path, valueType) => {
    expect(errorOf(text)).toMatchObject({ code: 'type', path, valueType })
  })
  table('[X15] equality', [
    ['1 == 1.0', true],
    ['9007199254740993 == payload.big', true],
    ["1 == '1'", false],
    ['null == payload.zz', true],
    ['0 == null', false],
    ['false == null', false],
    ["[1, {'a': [2]}] == [1.0, {'a': [2]}]", true],
    ["{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", true],
    ["{'a': 1} == {'b': 1}", false],
    ['[1] == [1, 2]', false],
    ['[] == {}', false],
    ["payload.name != 'Bob'", true],
  ])
  table('[X16] order', [
    ['1 < 1.5', true],
    ['payload.big > 9007199254740992', true],
    ['payload.big <= 0.5', false],
    ["'a' < 'b'", true],
    ["'2026-01-02' >= '2026-01-01'", true],
    ['false < true', true],
  ])
  table('[X17] in', [
    ['20 in payload.list', true],
    ['5 in payload.list', false],
    ["'a' in payload.map", true],
    ["'zz' in payload.map", false],
    ['1 in payload.zz', false],
    ["{'a': 1} in [{'a': 1}]", true],
  ])
  table('[X18] lists and maps', [
    ["{'a': payload.id, 'b': payload.zz, 'c': payload.nothing}", { a: 7, c: null }],
    ['[payload.zz, 1,]', [null, 1]],
    ["{'k' + payload.id: [1],}", { k7: [1] }],
    ['{}', {}],
  ])
  test('[X18] a map may have a field __proto__, which is not its prototype', () => {
    const value = evaluate("{'__proto__': {'admin': true}}") as object
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true}}')
  })
  table('[X19] macros', [
    ['payload.list.map(x, x / 10)', [1, 2, 3]],
    ['payload.list.map(x, x > 10, x + 1)', [21, 31]],
    ['payload.list.filter(x, x != 20)', [10, 30]],
    ['payload.list.all(x, x > 5)', true],
    ['payload.list.exists(x, x > 25)', true],
    ['payload.list.exists_one(x, x > 15)', false],
    ['payload.map.map(k, k)', ['b', 'a']],
    ["payload.map.exists(k, k == 'a')", true],
    ['payload.zz.map(x, x)', null],
    ['payload.zz.all(x, x)', null],
    ['[[1, 2], [3]].map(x, x.map(y, y + x.size()))', [[3, 4], [4]]],
    ['payload.list.map(payload, payload + 1)', [11, 21, 31]],
    ['payload.nested.map(n, n.tags[*].upper())', [['A', 'B'], ['C'], null]],
    ['payload.labels.filter(l, l.title != null)[*].title', ['bug', 'ui']],
  ])
})

describe('texts', () => {
  table('literals as CEL writes them', [
    [`"it's"`, "it's"],
    [String.raw`'a\tb\n\\\'\x41\u00e9\U0001F600\101'`, "a\tb\n\\'Aé😀A"],
    [String.raw`r'\d+\n'`, String.raw`\d+\n`],
    ["'''two\nlines 'quoted' '''", "two\nlines 'quoted' "],
    ['"""a"b"""', 'a"b'],
    ["'a' // a remark\n + 'b'", 'ab'],
  ])
})

test('[X31] an expression lists its roots and static paths', () => {
  const read = (text: string): unknown => {
    const compiled = compileExpression(text)
    return compiled.ok ? [compiled.expression.roots, compiled.expression.paths] : compiled.problem
  }
  expect(read("payload.updatedAt + data['a'].b + payload['x-y'][0]")).toEqual([
    ['payload', 'data'],
    ['payload.updatedAt', 'data.a.b', "payload['x-y'][0]"],
  ])
  expect(read('payload.items.map(i, i.price * vars.rate)')).toEqual([
    ['payload', 'vars'],
    ['payload.items', 'vars.rate'],
  ])
  expect(read('payload.labels[*].title')).toEqual([['payload'], ['payload.labels[*].title']])
  expect(read('(payload.labels[*].title).size()')).toEqual([['payload'], ['payload.labels[*].title']])
  expect(read('payload.rows[data.index].id')).toEqual([
    ['payload', 'data'],
    ['payload.rows', 'data.index'],
  ])
  expect(read('has(payload.a.b)')).toEqual([['payload'], ['payload.a.b']])
  expect(read('extRef')).toEqual([['extRef'], ['extRef']])
})

test('[VR11] `env` comes with `vars`, and an element of that name takes precedence', () => {
  const env = (scope: object, roots?: readonly string[]) => {
    const compiled = compileExpression("env + '!'", roots === undefined ? {} : { roots })
    return compiled.ok ? compiled.expression.evaluate(scope as never) : compiled.problem.message
  }
  expect(env({ vars: { env: 'QA' } }, ['payload', 'vars'])).toBe('QA!')
  expect(env({ vars: { env: 'QA' }, env: 'element' })).toBe('element!')
  expect(env({ vars: { env: 'QA' } }, ['payload'])).toContain('`env` is not in scope')
})
