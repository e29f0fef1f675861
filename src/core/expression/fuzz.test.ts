import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, type JsonValue } from '../foundation/json/index.ts'
import {
  type CompiledTree,
  compileCondition,
  compileExpression,
  compilePath,
  compileShape,
  compileTemplate,
  ExpressionError,
  type ExpressionProblem,
  parseDuration,
  parseSize,
} from './index.ts'

const roots = ['payload', 'header', 'item']
const piece = fc.constantFrom(
  ...[
    'payload',
    'header',
    'item',
    'x',
    '.',
    '.a',
    '.list',
    '.text',
    '[*]',
    '[0]',
    "['a-b']",
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
  ],
  ...[
    '{{',
    '}}',
    '+',
    '-',
    '*',
    '/',
    '%',
    '==',
    '!=',
    '<',
    '<=',
    '>',
    '>=',
    'in',
    '&&',
    '||',
    '!',
    '?',
    ':',
    ',',
    ' ',
  ],
  ...[
    '1',
    '0',
    '2.5',
    '0x1F',
    '1e308',
    '9007199254740993',
    'null',
    'true',
    'false',
    "'a'",
    '"b"',
    "r'\\d'",
    "'''c'''",
    "'",
    '"',
  ],
  ...[
    '.size()',
    '.map(x, x)',
    '.filter(x, x > 1)',
    '.join(',
    'hash(',
    're(',
    'has(payload.a)',
    'min(',
    '.upper()',
    '.sum()',
  ],
  ...[
    'extRef(',
    '.split(',
    '.replace(',
    'string(',
    'int(',
    '.header',
    'x-y',
    '//',
    '\n',
    '\\',
    '=',
    'ü',
    '😀',
    '__proto__',
  ],
)
const soup = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''))
const anyText = fc.oneof(
  { weight: 6, arbitrary: soup },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
)
const payload = { a: 1, list: [1, 2.5, 'x', null, { a: [3] }], text: 'a,b', 'a-b': { list: [[1], [2]] } }
const scope = { payload, header: { 'x-y': 'z' }, item: 9007199254740993n }

/** One comparison per text: an `expect` for each bound would take most of the time of 20,000 runs. */
function checkProblem({ message, offset, length }: ExpressionProblem, text: string): void {
  const within = offset >= 0 && length >= 0 && offset + length <= text.length
  if (message === '' || !within)
    throw new Error(`${JSON.stringify(text)}: «${message}» at ${offset}, ${length} long`)
}

function outcome(run: () => unknown): string {
  try {
    return canonicalJson((run() ?? null) as JsonValue)
  } catch (error) {
    if (error instanceof ExpressionError) return `${error.code}: ${error.message}`
    throw error
  }
}

test('[X26] any text compiles or gives one problem inside it, and evaluates the same way twice', () => {
  const before = canonicalJson(payload)
  let compiledCount = 0
  fc.assert(
    fc.property(anyText, (text) => {
      const compiled = compileExpression(text, { roots })
      if (!compiled.ok) return checkProblem(compiled.problem, text)
      compiledCount++
      const first = outcome(() => compiled.expression.evaluate(scope))
      const second = outcome(() => compiled.expression.evaluate(scope))
      const again = compileExpression(text, { roots })
      const third = outcome(() => again.ok && again.expression.evaluate(scope))
      if (second !== first || third !== first) expect([second, third], text).toEqual([first, first])
    }),
    { numRuns: 20_000 },
  )
  expect(compiledCount).toBeGreaterThan(500)
  expect(canonicalJson(payload)).toBe(before)
})

test('[X26] any text is a template, a path or a problem', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const template = compileTemplate(text, { roots })
      if (!template.ok) checkProblem(template.problem, text)
      else {
        outcome(() => template.template.render(scope))
        outcome(() => template.template.render(scope, 'url'))
      }
      const path = compilePath(text, { roots })
      if (!path.ok) checkProblem(path.problem, text)
      else outcome(() => path.path.read(scope))
      for (const amount of [parseDuration(text), parseSize(text)])
        expect(amount ?? 0).toBeGreaterThanOrEqual(0)
    }),
    { numRuns: 5000 },
  )
})

test('[X40] any tree is a shape and a condition, or has problems with valid paths', () => {
  const operator = fc.constantFrom(
    'path',
    'equals',
    'in',
    'exists',
    'all',
    'any',
    'not',
    'greaterThan',
    'equls',
  )
  const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(soup, fc.constant('payload.a'), fc.boolean(), fc.integer(), fc.constant(null)),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(operator, tie('tree'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }))
  const checkTree = (compiled: CompiledTree<object>, value: JsonValue): void => {
    if (compiled.ok) return
    expect(compiled.problems[0]).toBe(compiled.problem)
    for (const { path } of compiled.problems) {
      const found = path.reduce<unknown>((node, step) => (node as Record<string, unknown>)[step], value)
      expect(found).not.toBe(undefined)
    }
  }
  fc.assert(
    fc.property(tree, (value) => {
      const shape = compileShape(value, { roots })
      checkTree(shape, value)
      if (shape.ok) outcome(() => shape.shape.render(scope))
      const condition = compileCondition(value, { roots })
      checkTree(condition, value)
      if (condition.ok) outcome(() => condition.condition.test(scope))
    }),
    { numRuns: 3000 },
  )
})
