// Compares generated expressions with another implementation of CEL, on what both define. The generator is typed, so that it
// avoids the intended differences listed in docs/spec/expressions.md: null and missing fields, mixed types, integer division,
// overflow, substrings outside the text, and doubles that are integers beyond 2^53.

import { Environment } from '@marcbachmann/cel-js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Numeral } from '../foundation/json/index.ts'
import { compileExpression } from './index.ts'

// Lists of mixed types are an intended difference: the other checker would refuse a computed element beside a literal.
const environment = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false })
const oracle = (text: string, context: Record<string, unknown>): unknown =>
  environment.evaluate(text, context)

/** A printed expression and its precedence; parentheses are written only where the grammar needs them. */
interface Printed {
  readonly text: string
  readonly binds: number
}

const [CHOICE, OR, AND, RELATION, SUM, PRODUCT, UNARY, PRIMARY] = [0, 1, 2, 3, 4, 5, 6, 7]

const primary = (text: string): Printed => ({ text, binds: PRIMARY })
const wrap = (printed: Printed, least: number): string =>
  printed.binds >= least ? printed.text : `(${printed.text})`
const infix =
  (binds: number) =>
  ([left, operator, right]: [Printed, string, Printed]): Printed => ({
    text: `${wrap(left, binds)} ${operator} ${wrap(right, binds + 1)}`,
    binds,
  })
const method = (target: Printed, name: string, ...args: string[]): Printed =>
  primary(`${wrap(target, PRIMARY)}.${name}(${args.join(', ')})`)
const choose = ([test, yes, no]: [Printed, Printed, Printed]): Printed => ({
  text: `${wrap(test, OR)} ? ${wrap(yes, OR)} : ${wrap(no, CHOICE)}`,
  binds: CHOICE,
})
const quote = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`
const operators = (...names: string[]): fc.Arbitrary<string> => fc.constantFrom(...names)

type Kinds = {
  whole: Printed
  double: Printed
  text: Printed
  bool: Printed
  wholes: Printed
}

const generator = fc.letrec<Kinds>((tie) => {
  const whole = tie('whole')
  const double = tie('double')
  const text = tie('text')
  const bool = tie('bool')
  const wholes = tie('wholes')
  const depth = { depthIdentifier: 'expression', maxDepth: 5, depthSize: 'medium' as const }
  const variable = primary('x')
  return {
    whole: fc.oneof(
      depth,
      fc.nat(1000).map((value) => primary(String(value))),
      operators(
        'payload.i',
        'payload.big',
        'payload.list[1]',
        "payload.map['a']",
        'payload.map.b',
        '0x1F',
      ).map(primary),
      fc.tuple(whole, operators('+', '-'), whole).map(infix(SUM)),
      fc.tuple(whole, fc.constant('*'), whole).map(infix(PRODUCT)),
      fc
        .tuple(
          whole,
          fc.constant('%'),
          fc.integer({ min: 1, max: 9 }).map((value) => primary(String(value))),
        )
        .map(infix(PRODUCT)),
      whole.map((operand) => ({ text: `-${wrap(operand, PRIMARY)}`, binds: UNARY })),
      fc.tuple(bool, whole, whole).map(choose),
      fc.oneof(text, wholes).map((target) => method(target, 'size')),
      text.map((target) => primary(`size(${target.text})`)),
      fc.nat(99999).map((value) => primary(`int('${value}')`)),
      double.map((value) => primary(`int(${value.text})`)),
    ),
    double: fc.oneof(
      depth,
      operators('1.5', '0.25', '2.0', '1e1', 'payload.d').map(primary),
      fc.tuple(double, operators('+', '-'), double).map(infix(SUM)),
      fc.tuple(double, fc.constant('*'), double).map(infix(PRODUCT)),
      fc.tuple(double, fc.constant('/'), operators('0.5', '4.0', '3.0').map(primary)).map(infix(PRODUCT)),
      fc.tuple(bool, double, double).map(choose),
      fc.nat(99).map((value) => primary(`double(${value})`)),
    ),
    text: fc.oneof(
      depth,
      fc.string({ unit: 'grapheme', maxLength: 4 }).map((value) => primary(quote(value))),
      operators('payload.s', String.raw`r'\d'`, String.raw`"\u00e9\x41\101\n"`, '"""a"b"""').map(primary),
      fc.tuple(text, fc.constant('+'), text).map(infix(SUM)),
      fc.tuple(bool, text, text).map(choose),
      whole.map((value) => primary(`string(${value.text})`)),
      bool.map((value) => primary(`string(${value.text})`)),
      text.map((value) => method(value, 'trim')),
      fc.tuple(text, text).map(([first, second]) => primary(`[${first.text}, ${second.text}].join('-')`)),
    ),
    bool: fc.oneof(
      depth,
      operators(
        'true',
        'false',
        'payload.b',
        'has(payload.s)',
        'has(payload.none)',
        'has(payload.map.zz)',
      ).map(primary),
      fc.tuple(whole, operators('==', '!=', '<', '<=', '>', '>='), whole).map(infix(RELATION)),
      fc.tuple(whole, operators('<', '<=', '>', '>='), double).map(infix(RELATION)),
      fc.tuple(double, operators('==', '!=', '<', '>='), double).map(infix(RELATION)),
      fc.tuple(text, operators('==', '!=', '<', '<=', '>', '>='), text).map(infix(RELATION)),
      fc.tuple(bool, operators('==', '!='), bool).map(infix(RELATION)),
      fc.tuple(wholes, operators('==', '!='), wholes).map(infix(RELATION)),
      fc.tuple(bool, fc.constant('&&'), bool).map(infix(AND)),
      fc.tuple(bool, fc.constant('||'), bool).map(infix(OR)),
      bool.map((operand) => ({ text: `!${wrap(operand, PRIMARY)}`, binds: UNARY })),
      fc.tuple(bool, bool, bool).map(choose),
      fc.tuple(whole, fc.constant('in'), wholes).map(infix(RELATION)),
      fc.tuple(text, fc.constant('in'), fc.constant(primary('payload.map'))).map(infix(RELATION)),
      fc
        .tuple(text, operators('startsWith', 'endsWith', 'contains'), text)
        .map(([target, name, part]) => method(target, name, part.text)),
      fc
        .tuple(wholes, operators('all', 'exists', 'exists_one'), operators('<', '=='), whole)
        .map(([list, name, operator, limit]) =>
          method(list, name, 'x', infix(RELATION)([variable, operator, limit]).text),
        ),
    ),
    wholes: fc.oneof(
      depth,
      fc.constant(primary('payload.list')),
      fc
        .array(whole, { minLength: 1, maxLength: 3 })
        .map((items) => primary(`[${items.map((item) => item.text).join(', ')}]`)),
      fc.tuple(wholes, fc.constant('+'), wholes).map(infix(SUM)),
      fc
        .tuple(wholes, whole)
        .map(([list, by]) => method(list, 'map', 'x', infix(SUM)([variable, '+', by]).text)),
      fc
        .tuple(wholes, whole, whole)
        .map(([list, limit, by]) =>
          method(list, 'map', 'x', `x > ${wrap(limit, SUM)}`, `x * ${wrap(by, UNARY)}`),
        ),
      fc.tuple(wholes, whole).map(([list, limit]) => method(list, 'filter', 'x', `x <= ${wrap(limit, SUM)}`)),
    ),
  }
})

const ours = {
  payload: {
    i: 3,
    big: 9007199254740993n,
    d: 1.5,
    s: 'héllo 😀',
    b: true,
    list: [1, 5, -2],
    map: { a: 1, b: 20 },
    none: null,
  },
}
const theirs = {
  payload: { ...ours.payload, i: 3n, list: [1n, 5n, -2n], map: { a: 1n, b: 20n } },
}

/** Integers compare equal, whichever type holds them. */
function readable(value: unknown): string {
  return JSON.stringify(value, (_key, member) =>
    typeof member === 'bigint' || Number.isInteger(member) ? `#${BigInt(member)}` : member,
  )
}

test('generated expressions give what another implementation of CEL gives', () => {
  let compared = 0
  let skipped = 0
  const any = fc.oneof(generator.whole, generator.double, generator.text, generator.bool, generator.wholes)
  fc.assert(
    fc.property(any, ({ text }) => {
      let expected: unknown
      try {
        expected = oracle(text, theirs)
      } catch (error) {
        // Overflow of 64 bits is an intended difference; anything else that the oracle refuses is a bug of the generator.
        expect(String(error), text).toMatch(/overflow|out of range|integer/i)
        skipped++
        return
      }
      const compiled = compileExpression(text, { roots: ['payload'], steps: 1_000_000 })
      if (!compiled.ok) throw new Error(`${text}: ${compiled.problem.message}`)
      expect(readable(compiled.expression.evaluate(ours)), text).toBe(readable(expected))
      compared++
    }),
    { numRuns: 3000 },
  )
  expect(compared).toBeGreaterThan(skipped * 10)
})

test.each([
  ['7 / 2', 3.5],
  ["'a' + 1", 'a1'],
  ['payload.zz.deeper', null],
  ['null + 1', null],
  ["1 == 'a'", false],
  ['9223372036854775807 + 1', 9223372036854775808n],
  ["'abc'.substring(1, 9)", 'bc'],
  ["'yes' && true", false],
  ['double(3) * (double(payload.big) - 1.5)', new Numeral('27021597764222971.5')],
])('an intended difference from CEL: %s', (text, value) => {
  const compiled = compileExpression(text)
  expect(compiled.ok && compiled.expression.evaluate(ours)).toEqual(value)
  expect(attemptOracle(text)).not.toEqual(value)
})

function attemptOracle(text: string): unknown {
  try {
    return oracle(text, theirs)
  } catch {
    return 'an error'
  }
}
