import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalNumber, isNumber, type JsonNumber, parseJson } from '../../core/foundation/json/index.ts'
import { ExactNumber, parseExactJson } from './exact-json.ts'

/** With numbers as the texts of their values, and the type of each. */
function shown(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber) {
    const text = String(value)
    return `${typeof value} ${canonicalNumber(parseJson(text) as JsonNumber)}`
  }
  return Array.isArray(value) ? value.map(shown) : value
}

/** The same for a number by the exact parser of the core. */
function expected(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expected)
  if (!isNumber(value)) return value
  const canonical = canonicalNumber(value)
  const nearest = canonicalNumber(parseJson(JSON.stringify(Number(canonical))) as JsonNumber)
  const holder = nearest === canonical ? 'number' : /[.e]/.test(canonical) ? 'object' : 'bigint'
  return `${holder} ${canonical}`
}

describe('[SN17] a payload that is read exactly', () => {
  test.each([
    ['0', 0],
    ['-0.5', -0.5],
    ['1.0', 1],
    ['1E+2', 100],
    ['0.1', 0.1],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-12345678901234567890', -12345678901234567890n],
    ['9007199254740992', 9007199254740992],
    ['1e20', 1e20],
    ['1.5e400', 15n * 10n ** 399n],
    ['1.2345678901234567', 1.2345678901234567],
  ])('%s is what a program works with', (text, value) => {
    expect(parseExactJson(`{"a":[${text}]}`)).toEqual({ a: [value] })
  })

  test.each(['1.000000000000000001', '0.12345678901234567890', '1e-400'])('%s keeps its digits', (text) => {
    const { a } = parseExactJson(`{"a":${text}}`) as { a: ExactNumber }
    expect(a).toBeInstanceOf(ExactNumber)
    expect([String(a), Number(a)]).toEqual([text, Number(text)])
  })

  test('texts that look like numbers, or like their placeholders, stay texts', () => {
    const value = { '#': '#n9007199254740993', '##d1': '9007199254740993', a: 'x\\"1e400', b: '\\' }
    expect(parseExactJson(JSON.stringify(value))).toEqual(value)
    expect(parseExactJson(`{"#":"#n1","a":9007199254740993}`)).toEqual({ '#': '#n1', a: 9007199254740993n })
    expect(parseExactJson('{"\\u0023":"\\u0023n7","a":9007199254740993}')).toEqual({
      '#': '#n7',
      a: 9007199254740993n,
    })
    expect(() => parseExactJson('{"a":9007199254740993')).toThrow(SyntaxError)
    expect(() => parseExactJson('{"a":09007199254740993}')).toThrow(SyntaxError)
  })

  test('every number has its exact value, as a double if one represents it', () => {
    const numeral = fc
      .tuple(
        fc.bigInt(),
        fc.option(fc.stringMatching(/^\d{1,20}$/)),
        fc.option(fc.integer({ min: -30, max: 30 })),
      )
      .map(
        ([whole, fraction, exponent]) =>
          `${whole}${fraction ? `.${fraction}` : ''}${exponent === null ? '' : `e${exponent}`}`,
      )
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            numeral,
            fc.string().map((text) => JSON.stringify(text)),
          ),
        ),
        (members) => {
          const text = `[${members.join(',')}]`
          expect(shown(parseExactJson(text))).toEqual(expected(parseJson(text)))
        },
      ),
    )
  })
})
