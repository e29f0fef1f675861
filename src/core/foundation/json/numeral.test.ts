import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalJson,
  canonicalNumber,
  compareNumbers,
  fromScaled,
  isNumber,
  JsonError,
  type JsonNumber,
  type JsonValue,
  Numeral,
  parseJson,
  plainNumber,
  stringifyByValue,
  stringifyJson,
  toScaled,
} from './index.ts'
import { compareWorth, numeralText, respell } from './numeral.fixture.ts'

const read = (text: string) => (parseJson(`{"n":${text}}`) as { n: JsonNumber }).n

/** Close to each other now and then: two that a double cannot distinguish, or the same one in another spelling. */
const pair = numeralText.chain((one) =>
  fc.tuple(
    fc.constant(one),
    fc.oneof(
      numeralText,
      respell(one),
      fc.constant(/[.eE]/.test(one) ? one : `${one}.000000000000000000001`),
    ),
  ),
)

describe('numerals', () => {
  test('[X1] a numeral is written back digit for digit, at any position', () => {
    fc.assert(
      fc.property(numeralText, fc.constantFrom('', ' ', '\n'), (text, space) => {
        expect(stringifyJson(read(text))).toBe(text)
        expect(stringifyJson(parseJson(text))).toBe(text)
        const list = `[${text},{"a":${text}},[${text}]]`
        expect(stringifyJson(parseJson(list.replaceAll(text, `${space}${text}${space}`)))).toBe(list)
        expect(stringifyJson(parseJson(list, { duplicateKeys: 'refuse' }))).toBe(list)
      }),
      { numRuns: 1000 },
    )
  })

  test('[X5] [KY11] canonical texts are equal exactly where the numbers are', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const isEqual = compareWorth(a, b) === 0
        expect(canonicalNumber(read(a)) === canonicalNumber(read(b))).toBe(isEqual)
        expect(canonicalJson([read(a)]) === canonicalJson([read(b)])).toBe(isEqual)
        expect(stringifyByValue({ n: read(a) }) === stringifyByValue({ n: read(b) })).toBe(isEqual)
        expect(compareWorth(canonicalNumber(read(a)), a)).toBe(0)
        expect(canonicalNumber(read(canonicalNumber(read(a))))).toBe(canonicalNumber(read(a)))
      }),
      { numRuns: 1000 },
    )
  })

  test('[X16] numbers compare by their exact values', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        expect(Math.sign(compareNumbers(read(a), read(b)))).toBe(compareWorth(a, b))
        expect(Math.sign(compareNumbers(plainNumber(read(a)), read(b)))).toBe(compareWorth(a, b))
      }),
      { numRuns: 1000 },
    )
  })

  test('[X1] a double or bigint replaces a numeral only if it has the same value', () => {
    fc.assert(
      fc.property(numeralText, (text) => {
        const plain = plainNumber(read(text))
        expect(compareNumbers(plain, read(text))).toBe(0)
        if (typeof plain === 'number') expect(compareWorth(String(plain), text)).toBe(0)
        expect(fromScaled(toScaled(read(text)))).toEqual(plain)
      }),
    )
  })

  test('a double has the value of its shortest text, and an integral one its exact value', () => {
    expect(canonicalNumber(2 ** 70)).toBe((2n ** 70n).toString())
    expect(compareNumbers(0.1, read('0.10'))).toBe(0)
    expect(compareNumbers(0.1, read('0.1000000000000000055511151231257827'))).toBeLessThan(0)
  })

  test('[X2] a number beyond the bounds is refused immediately, and one within them is parsed', () => {
    for (const text of [
      '1e999999999',
      '-1E-999999999',
      '9'.repeat(1_000_000),
      `0.${'1'.repeat(1_000_000)}`,
      `1e${'9'.repeat(1_000_000)}`,
    ]) {
      expect(() => read(text)).toThrow(JsonError)
      expect(() => parseJson(text)).toThrow(JsonError)
    }
    for (const text of ['1e999', '-1e-1000', `0.${'7'.repeat(998)}`, '0e999999999', `${'9'.repeat(998)}.5`]) {
      expect(stringifyJson(read(text))).toBe(text)
      expect(canonicalNumber(read(text)).length).toBeLessThan(2_100)
    }
  })

  test('a numeral converts to a number, and never silently to a different one in JSON', () => {
    const numeral = new Numeral('1.000000000000000001')
    expect([`${String(numeral)}`, Number(numeral), isNumber(numeral)]).toEqual([
      '1.000000000000000001',
      1,
      true,
    ])
    const write = () => JSON.stringify({ numeral })
    if ('rawJSON' in JSON) expect(write()).toBe('{"numeral":1.000000000000000001}')
    else expect(write).toThrow(/digits/)
    expect(stringifyJson({ numeral } as JsonValue)).toBe('{"numeral":1.000000000000000001}')
  })
})
