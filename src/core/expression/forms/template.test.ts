import { describe, expect, test } from 'vitest'
import { compileShape, compileTemplate, ExpressionError, looksLikePath, type Scope } from '../index.ts'

const scope: Scope = {
  payload: {
    id: 7,
    title: 'a b/c',
    none: null,
    list: [1, 2],
    dots: '..',
    empty: '',
    big: 12345678901234567890n,
  },
  vars: { base: 'https://api.example.com/v1' },
}

function render(text: string, mode?: 'text' | 'url'): unknown {
  const compiled = compileTemplate(text)
  if (!compiled.ok) throw new Error(compiled.problem.message)
  return compiled.template.render(scope, mode)
}

describe('templates', () => {
  test.each([
    ['{{ payload.id }}', 7],
    ['{{payload.list}}', [1, 2]],
    ['{{ payload.zz }}', undefined],
    ['{{ payload.zz + 1 }}', undefined],
    ['{{ payload.none }}', null],
    ["{{ {'a': {'b': '}}'}} }}", { a: { b: '}}' } }],
    ["{{ {'a': {'b': 1}}}}", { a: { b: 1 } }],
    [String.raw`{{ r'\' + "}}" }}`, undefined],
  ])('[X32] %s preserves the type of its value', (text, value) => {
    if (text.includes('\\')) expect(compileTemplate(text).ok).toBe(false)
    else expect(render(text)).toEqual(value)
  })

  test.each([
    ['plain', 'plain'],
    ['', ''],
    ['#{{ payload.id }} {{ payload.zz }}{{ payload.none }}.', '#7 .'],
    [' {{ payload.id }}', ' 7'],
    ['{{ payload.id }}{{ payload.id }}', '77'],
    ['x {{ payload.list }} {{ payload.big }}', 'x [1,2] 12345678901234567890'],
    ["{{ '{{' }} is literal", '{{ is literal'],
    ['a } b }} c', 'a } b }} c'],
  ])('[X33] %s', (text, value) => {
    expect(render(text)).toBe(value)
  })

  test.each([
    ['/items/{{ payload.title }}', '/items/a%20b%2Fc'],
    ['{{ payload.id }}', '7'],
    [
      '{{ vars.base }}/x?q={{ payload.title }}&e={{ payload.empty }}',
      'https://api.example.com/v1/x?q=a%20b%2Fc&e=',
    ],
    ['https://{{ payload.title }}.example.com/', 'https://a%20b%2Fc.example.com/'],
    ['/x/{{ payload.dots }}b?d={{ payload.dots }}', '/x/..b?d=..'],
  ])('[X34] in a URL values are encoded: %s', (text, value) => {
    expect(render(text, 'url')).toBe(value)
  })

  test.each([
    ['/items/{{ payload.zz }}', 'missing'],
    ['/items/{{ payload.none }}', 'missing'],
    ['{{ payload.zz }}', 'missing'],
    ['/items/{{ payload.empty }}/x', 'missing'],
    ['/items/{{ payload.dots }}/x', 'url'],
    ['/items/{{ payload.dots }}', 'url'],
    ["/items/{{ '.' }}{{ '.' }}?a", 'url'],
  ])('[X34] %s is an error in a URL: %s', (text, code) => {
    expect(() => render(text, 'url')).toThrow(expect.objectContaining({ code }))
    expect(() => render(text, 'url')).toThrow(ExpressionError)
  })

  test.each([
    ['a {{ payload.id', 2, 2],
    ['a {{ }}', 2, 5],
    ['ab {{ payload.id + }} c', 19, 0],
    ["x {{ 'a }}", 5, 5],
    ['x {{ paylod.id }}', 5, 6],
  ])('[X26] %s has its problem at %i', (text, offset, length) => {
    expect(compileTemplate(text, { roots: ['payload'] })).toMatchObject({
      ok: false,
      problem: { offset, length },
    })
  })

  test('a template lists its roots and paths, and says whether it is constant', () => {
    expect(compileTemplate('{{ payload.a }} {{ vars.b + payload.a }}')).toMatchObject({
      template: { roots: ['payload', 'vars'], paths: ['payload.a', 'vars.b'], isConstant: false },
    })
    expect(compileTemplate('x')).toMatchObject({ template: { isConstant: true } })
  })
})

describe('shapes', () => {
  test('[X35] a tree of templates omits parts without a value', () => {
    const compiled = compileShape({
      id: '{{ payload.id }}',
      gone: '{{ payload.zz }}',
      text: 'n={{ payload.zz }}',
      fixed: [null, true, 1, '{{ payload.zz }}', '{{ payload.none }}'],
      deep: { gone: '{{ payload.zz }}' },
    })
    expect(compiled.ok && compiled.shape.render(scope)).toEqual({
      id: 7,
      text: 'n=',
      fixed: [null, true, 1, null],
      deep: {},
    })
    expect(compiled.ok && compiled.shape.roots).toEqual(['payload'])
  })

  test('[X35] a single template may be the whole tree', () => {
    const compiled = compileShape('{{ payload.zz }}')
    expect(compiled.ok && compiled.shape.render(scope)).toBe(undefined)
  })

  test('[X35] __proto__ in a tree is a field', () => {
    const compiled = compileShape(JSON.parse('{"__proto__": {"a": "{{ payload.id }}"}}'))
    expect(compiled.ok && JSON.stringify(compiled.shape.render(scope))).toBe('{"__proto__":{"a":7}}')
  })

  test('[X35] [X40] every problem is reported, with its path', () => {
    const compiled = compileShape({ a: ['ok', '{{ 1 + }}'], b: { '{{ x }}': '{{' } })
    expect(compiled).toMatchObject({
      ok: false,
      problem: { path: ['a', 1], offset: 7 },
      problems: [{ path: ['a', 1] }, { path: ['b', '{{ x }}'] }, { path: ['b', '{{ x }}'], offset: 0 }],
    })
  })
})

test.each([
  ['payload.id', true],
  [' payload.user.email', true],
  ['payload', false],
  ['payload. And so on', false],
  ['payloads.id', false],
  ['{{ payload.id }}', false],
  ['1payload.id', false],
])('[X36] %j looks like a path: %s', (text, expected) => {
  expect(looksLikePath(text, ['payload', 'event'])).toBe(expected)
})
