import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonValue, Numeral, parseJson, stringifyJson } from '../../foundation/json/index.ts'
import { compareWorth, numeralText, respell } from '../../foundation/json/numeral.fixture.ts'
import {
  compileCondition,
  compileExpression,
  compileShape,
  compileTemplate,
  ExpressionError,
} from '../index.ts'

function evaluate(text: string, payload: JsonValue): JsonValue {
  const compiled = compileExpression(text)
  if (!compiled.ok) throw new Error(compiled.problem.message)
  return compiled.expression.evaluate({ payload })
}

const of = (...numerals: string[]) =>
  parseJson(`{${numerals.map((numeral, at) => `"${'abc'[at]}":${numeral}`).join(',')}}`)

/**
 * Numerals, their text in keys, and the first digits of `hash(payload.a)`, recorded before numbers beyond doubles were exact.
 * Ledgers contain them: none may ever change. (The texts of 1e21 and above used a different spelling, `1e+21`, from that of the
 * same number in digits; their hashes are the former ones.)
 */
const GOLDEN: readonly (readonly [string, string, string])[] = [
  ['0', '0', 'd0bca111f8628137'],
  ['1', '1', '080a9ed428559ef6'],
  ['-1', '-1', 'd124b23c696a8517'],
  ['7', '7', '589ffd3acf522ae8'],
  ['42', '42', 'b86b1ea11b28136f'],
  ['1000', '1000', '7cd0293cbae2e0b1'],
  ['123456789', '123456789', 'ce54c26e2f0f88f4'],
  ['9007199254740991', '9007199254740991', 'cf0c058a3667326a'],
  ['-9007199254740991', '-9007199254740991', 'b08c9788abf248d9'],
  ['9007199254740992', '9007199254740992', '5dc10964d69741c9'],
  ['9007199254740993', '9007199254740993', 'ee825a6b803b8c55'],
  ['-9007199254740993', '-9007199254740993', 'e255c306a5e554b2'],
  ['12345678901234567890', '12345678901234567890', '81d144f4c66b77af'],
  ['100000000000000000000', '100000000000000000000', 'e7172a9602cb8229'],
  ['1000000000000000000000', '1000000000000000000000', '14c7b298c54eada5'],
  ['123456789012345678901234567890', '123456789012345678901234567890', 'afc9650f996d1e21'],
  [
    '-340282366920938463463374607431768211456',
    '-340282366920938463463374607431768211456',
    '9cd73a3300ad9492',
  ],
  ['0.1', '0.1', '06a6535c3ff5c9da'],
  ['0.5', '0.5', '04065541cad7c748'],
  ['-0.5', '-0.5', '8d45e46d8d994781'],
  ['1.5', '1.5', 'f631f85ac97c9aa0'],
  ['-1.5', '-1.5', '887380d8d10bd3bb'],
  ['10.5', '10.5', 'fcc935fbcc1a6203'],
  ['19.99', '19.99', '0798bda807fd5a82'],
  ['0.01', '0.01', 'de5b600e974cbc08'],
  ['0.001', '0.001', 'f395ef2f87f08adf'],
  ['0.000001', '0.000001', '1051d381ca47ccc6'],
  ['0.0000015', '0.0000015', '0ec22b9fc7603fc6'],
  ['123.456', '123.456', '43820b5afd98d833'],
  ['1234567.891', '1234567.891', 'a19faccef4c7f213'],
  ['99999999.99', '99999999.99', 'd7be5d8c45cd62be'],
  ['0.1234567890123456', '0.1234567890123456', '001b4319cc07bc29'],
  ['1234567890.12345', '1234567890.12345', 'd1233b3011a45563'],
  ['3.141592653589793', '3.141592653589793', '71aee367b11484cc'],
  ['-2.718281828459045', '-2.718281828459045', 'd19b28a8982509c3'],
  ['0.30000000000000004', '0.30000000000000004', 'e54ec050d935c92d'],
  ['1.0', '1', '080a9ed428559ef6'],
  ['1.00', '1', '080a9ed428559ef6'],
  ['0.10', '0.1', '06a6535c3ff5c9da'],
  ['10.50', '10.5', 'fcc935fbcc1a6203'],
  ['-0', '0', 'd0bca111f8628137'],
  ['-0.0', '0', 'd0bca111f8628137'],
  ['0.0', '0', 'd0bca111f8628137'],
  ['100.0', '100', '40d9afd03b3d591c'],
  ['2.50', '2.5', 'd12b59f6f760de27'],
  ['0e0', '0', 'd0bca111f8628137'],
  ['1e0', '1', '080a9ed428559ef6'],
  ['1E0', '1', '080a9ed428559ef6'],
  ['1E+0', '1', '080a9ed428559ef6'],
  ['1e2', '100', '40d9afd03b3d591c'],
  ['1E+2', '100', '40d9afd03b3d591c'],
  ['1e-2', '0.01', 'de5b600e974cbc08'],
  ['1.5e3', '1500', 'dc59b0f76e7c4fd5'],
  ['2.5E-3', '0.0025', '534f4b5c1576e1c7'],
  ['1e-6', '0.000001', '1051d381ca47ccc6'],
  ['1e-7', '1e-7', 'bc7a06269156cbff'],
  ['1E-7', '1e-7', 'bc7a06269156cbff'],
  ['1.5e-7', '1.5e-7', '2280c1ce49046ded'],
  ['0.0000001', '1e-7', 'bc7a06269156cbff'],
  ['0.00000015', '1.5e-7', '2280c1ce49046ded'],
  ['1e15', '1000000000000000', '976973b8fd0d35e5'],
  ['1e16', '10000000000000000', '262d3160b0124e73'],
  ['1e20', '100000000000000000000', 'e7172a9602cb8229'],
  ['1e21', '1000000000000000000000', '14c7b298c54eada5'],
  ['1e22', '10000000000000000000000', '55baedc64fab7db2'],
  ['1.5e21', '1500000000000000000000', 'd25109510851d78e'],
  ['-1e21', '-1000000000000000000000', 'cbf932f1155a24b3'],
  ['5e-324', '5e-324', '36ae31cf02ccda09'],
  ['12e-1', '1.2', 'ef004f55c6348283'],
  ['120e-2', '1.2', 'ef004f55c6348283'],
  ['100e-2', '1', '080a9ed428559ef6'],
  ['0.001e3', '1', '080a9ed428559ef6'],
]

const pair = numeralText.chain((one) => fc.tuple(fc.constant(one), fc.oneof(numeralText, respell(one))))

describe('keys', () => {
  test.each(GOLDEN)('[KY11] the key and the hash of %s never change', (numeral, text, hash) => {
    const payload = of(numeral)
    expect(evaluate('string(payload.a)', payload)).toBe(text)
    expect(evaluate("'A:' + payload.a", payload)).toBe(`A:${text}`)
    expect(evaluate('[payload.a].join()', payload)).toBe(text)
    expect(evaluate("extRef('a', 'b', 'c', payload.a)", payload)).toBe(`a:b:c:${text}`)
    expect(evaluate('hash(payload.a)', payload)).toMatch(new RegExp(`^${hash}[0-9a-f]{48}$`))
    expect(evaluate('string([payload.a])', payload)).toBe(`[${text}]`)
  })

  test('[KY11] equal numbers share a key in any spelling, different ones never do', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const payload = of(a, b)
        const isEqual = compareWorth(a, b) === 0
        for (const key of [
          "'A:' + string(payload.$)",
          "'A:' + payload.$",
          'hash(payload.$)',
          'hash({"n": [payload.$]})',
          "extRef('s', 'r', 'o', payload.$)",
          'string([payload.$])',
          "[payload.$, 1].join('-')",
        ]) {
          const [one, other] = ['a', 'b'].map((name) => evaluate(key.replace('$', name), payload))
          expect(one === other, `${key} of ${a} and ${b}`).toBe(isEqual)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('[KY11] amounts that a double rounds to the same value have different keys', () => {
    const key = "'A:' + string(payload.amount)"
    expect(evaluate(key, parseJson('{"amount":1.000000000000000001}'))).toBe('A:1.000000000000000001')
    expect(evaluate(key, parseJson('{"amount":1.000000000000000002}'))).toBe('A:1.000000000000000002')
  })
})

describe('comparing', () => {
  test('[X15] [X16] conditions compare exactly', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const payload = of(a, b)
        const sense = compareWorth(a, b)
        expect(
          evaluate('[payload.a < payload.b, payload.a == payload.b, payload.a >= payload.b]', payload),
        ).toEqual([sense < 0, sense === 0, sense >= 0])
        expect(evaluate('payload.a in [payload.b]', payload)).toBe(sense === 0)
        expect(evaluate('[payload.a].contains(payload.b)', payload)).toBe(sense === 0)
        expect(evaluate('{"n": payload.a} == {"n": payload.b}', payload)).toBe(sense === 0)
        expect(evaluate('min(payload.a, payload.b) == payload.a', payload)).toBe(sense <= 0)
        expect(evaluate('max([payload.a, payload.b]) == payload.a', payload)).toBe(sense >= 0)
        if (!b.startsWith('-')) expect(evaluate(`payload.a < ${b}`, payload)).toBe(sense < 0)
        const filter = compileCondition({ path: 'payload.a', greaterThan: parseJson(b) })
        expect(filter.ok && filter.condition.test({ payload })).toBe(sense > 0)
        const equals = compileCondition({ path: 'payload.a', equals: parseJson(b) })
        expect(equals.ok && equals.condition.test({ payload })).toBe(sense === 0)
      }),
      { numRuns: 300 },
    )
  })

  test('[X16] a bound of many digits is exact', () => {
    const payload = of('1.000000000000000001', '1.000000000000000002')
    expect(evaluate('payload.a > 1.000000000000000001', payload)).toBe(false)
    expect(evaluate('payload.b > 1.000000000000000001', payload)).toBe(true)
    expect(evaluate('payload.a > 1', payload)).toBe(true)
  })
})

describe('calculating', () => {
  test.each([
    ['payload.a + payload.b', '2.000000000000000003'],
    ['payload.b - payload.a', '1e-18'],
    ['payload.a * 2', '2.000000000000000002'],
    ['payload.a * payload.b', '1.000000000000000003000000000000000002'],
    ['[payload.a, payload.b, 0.5].sum()', '2.500000000000000003'],
    ['payload.b % payload.a', '1e-18'],
    ['-payload.a', '-1.000000000000000001'],
    ['abs(-payload.a)', '1.000000000000000001'],
    ['ceil(payload.a)', '2'],
    ['floor(-payload.a)', '-2'],
    ['floor(payload.a)', '1'],
    ['ceil(-payload.a)', '-1'],
    ['round(payload.a)', '1'],
    ['round(payload.a + 0.5)', '2'],
    ['int(-payload.b)', '-1'],
    ['double(payload.a)', '1'],
    ['payload.a / payload.b', '1'],
    ['payload.a - payload.a', '0'],
    ['payload.c + 1', '101'],
    ['payload.c / 8', '12.5'],
    ["'abc'.substring(payload.c - 99)", '"bc"'],
    ['type(payload.a)', '"number"'],
  ])('[X13] %s is %s', (text, expected) => {
    const payload = of('1.000000000000000001', '1.000000000000000002', '1E+2')
    expect(stringifyJson(evaluate(text, payload))).toBe(expected)
  })

  test('[X13] sums and products are exact where a double cannot hold an operand', () => {
    fc.assert(
      fc.property(numeralText, fc.maxSafeInteger(), (numeral, other) => {
        fc.pre(evaluate('payload.a', of(numeral)) instanceof Numeral)
        const sum = evaluate(
          `payload.a + payload.b - payload.b == payload.a`,
          of(numeral, `${other}.0000000000000000001`),
        )
        expect(sum).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  test('[X28] [X29] computations that may not end are bounded', () => {
    const payload = parseJson(`{"list":[${Array.from({ length: 20_000 }, () => '1e-999').join(',')}]}`)
    expect(() => evaluate('payload.list.sum()', payload)).toThrow(ExpressionError)
    expect(() => evaluate('payload.a * payload.a', of(`0.${'7'.repeat(900)}`))).toThrow(ExpressionError)
  })

  test('[X7] the representation of a number cannot be observed', () => {
    const payload = of('1.0', '1.0')
    expect(
      evaluate("[payload.a.text, has(payload.a.text), payload.a['text'], type(payload.a)]", payload),
    ).toEqual([null, false, null, 'number'])
    expect(evaluate('[10, 20][payload.a]', payload)).toBe(20)
  })
})

describe('templates', () => {
  test('[X42] in sent data a number is spelled as it arrived, in names and addresses by its value', () => {
    fc.assert(
      fc.property(numeralText, (numeral) => {
        const payload = of(numeral)
        const shape = compileShape({
          whole: '{{ payload }}',
          one: '{{ payload.a }}',
          text: 'n={{ payload.a }}',
          deep: 'p={{ payload }}',
        })
        if (!shape.ok) throw new Error('it compiles')
        expect(stringifyJson(shape.shape.render({ payload }) ?? null)).toBe(
          `{"whole":{"a":${numeral}},"one":${numeral},"text":"n=${numeral}","deep":"p={\\"a\\":${numeral}}"}`,
        )
        const name = compileTemplate('n/{{ payload.a }}')
        const value = evaluate('string(payload.a)', payload)
        expect(name.ok && name.template.render({ payload })).toBe(`n/${value}`)
        expect(name.ok && name.template.render({ payload }, 'url')).toBe(`n/${value}`)
      }),
    )
  })
})
