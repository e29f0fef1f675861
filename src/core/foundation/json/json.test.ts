import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, JsonError, type JsonValue, Numeral, parseJson, stringifyJson } from './index.ts'

const big = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n })
const isBeyond = (value: bigint): boolean => value > 9007199254740991n || value < -9007199254740991n
/** Integral doubles beyond 2^53 are read back as bigint, and -0 as 0. */
const isWritable = (value: number): boolean =>
  !Object.is(value, -0) && (!Number.isInteger(value) || Number.isSafeInteger(value))
const jsonValue = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter(isWritable),
    fc.maxSafeInteger(),
    big.filter(isBeyond),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value')),
    fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), tie('value'), { noNullPrototype: true }),
  ),
})).value

function errorOf(text: string, limits?: Parameters<typeof parseJson>[1]): JsonError {
  try {
    parseJson(text, limits)
  } catch (error) {
    if (error instanceof JsonError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('reading', () => {
  test.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740993', -9007199254740993n],
    ['{"id":12345678901234567890}', { id: 12345678901234567890n }],
    ['[0.12345678901234567890]', [new Numeral('0.12345678901234567890')]],
    ['"12345678901234567890"', '12345678901234567890'],
    ['1e5', new Numeral('1e5')],
    ['[1.0,-0,0.10,1E+2]', ['1.0', '-0', '0.10', '1E+2'].map((text) => new Numeral(text))],
    ['[1.5,-0.25,1e-7,0.1]', [1.5, -0.25, 1e-7, 0.1]],
    ['{"at":1.0}', { at: new Numeral('1.0') }],
    ['{"at" :1.0}', { at: new Numeral('1.0') }],
    ['{"at"\n:-0}', { at: new Numeral('-0') }],
    ['{"at": 1.0}', { at: new Numeral('1.0') }],
    ['{"hash":"sha256:4e12","count":1}', { hash: 'sha256:4e12', count: 1 }],
  ])('[X1] %s keeps its exact value', (text, value) => {
    expect(parseJson(text)).toEqual(value)
  })

  test('[X2] any JSON parses as with the built-in parser, on either path', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const exact = `[${text},1234567890123456.5]`
        expect(rounded(parseJson(text))).toEqual(JSON.parse(text))
        expect(rounded(parseJson(text, { duplicateKeys: 'refuse' }))).toEqual(JSON.parse(text))
        expect(rounded(parseJson(exact))).toEqual(JSON.parse(exact))
      }),
    )
  })

  test('[X2] refuses exactly what the built-in parser refuses', () => {
    const piece = fc.constantFrom(
      ...'{}[]:,"\\ \n\t0123456789-+.eEtruefalsn'.split(''),
      '"a"',
      'null',
      '1e5',
      '\\u00',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('')
        const ours = outcome(() => parseJson(text, { duplicateKeys: 'refuse' }))
        if (ours !== 'duplicate key') expect(ours, text).toBe(outcome(() => JSON.parse(text)))
      }),
      { numRuns: 5000 },
    )
  })

  test.each([
    '1e1000',
    '-1e-1002',
    '[1.5e308, 1e999999999999999999999]',
    '1'.repeat(1001),
    `0.${'1'.repeat(999)}`,
  ])('[X2] %s is out of range', (text) => {
    expect(errorOf(text)).toMatchObject({ code: 'number', message: expect.stringContaining('out of range') })
  })

  test.each([
    ['', 0],
    ['{"a":1,}', 7],
    ['[1 2]', 3],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ['"\\u12g4"', 1],
    ['nul', 0],
    ['[1]]', 3],
    ['{"token":"secret" x}', 18],
  ])('[X3] %j is refused at %i', (text, offset) => {
    const error = errorOf(text)
    expect(error.offset).toBe(offset)
    expect(error.message).not.toContain('secret')
  })

  test('[X4] __proto__ is an own field on both paths', () => {
    for (const extra of ['1', '12345678901234567890']) {
      const value = parseJson(`{"__proto__":{"admin":true},"n":${extra}}`) as Record<string, unknown>
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(value.admin).toBeUndefined()
      expect(Object.hasOwn(value, '__proto__')).toBe(true)
    }
  })

  test('[X4] depth is bounded, whatever the size, and brackets in texts do not count', () => {
    const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    expect(() => parseJson(deep(256))).not.toThrow()
    expect(errorOf(deep(257)).message).toBe('nested deeper than 256 levels')
    expect(errorOf(deep(1_000_000)).offset).toBe(256)
    expect(errorOf('[[[1]]]', { depth: 2 }).offset).toBe(2)
    expect(errorOf('[[[12345678901234567890]]]', { depth: 2 }).offset).toBe(2)
    expect(parseJson(`["${'['.repeat(300)}\\""]`, { depth: 1 })).toHaveLength(1)
    expect(() => parseJson(deep(100_000), { depth: 1_000_000 })).toThrow(JsonError)
  })

  test('[X4] duplicate keys are refused on request', () => {
    expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 })
    expect(errorOf('{"a":1,"a":2}', { duplicateKeys: 'refuse' }).offset).toBe(7)
    expect(errorOf('{"a":1,"a":2}', { duplicateKeys: 'refuse' }).code).toBe('duplicate')
    expect(parseJson('{"toString":1}', { duplicateKeys: 'refuse' })).toEqual({ toString: 1 })
    expect(errorOf('[[[1]]]', { depth: 2 }).code).toBe('depth')
  })

  test.each([
    '{"x":":a","a" :1,"a" :2}',
    '{"a":1,"\\u0061":2}',
    '{"__proto__":1,"__proto__":2}',
    '[{"b":1},{"a":{"b":1,"c":2,"b":3}}]',
    '{"a"\n:1,"a"\t:":x"}',
    '{"a\\":":1,"a\\":":2}',
    '{"n":12345678901234567890,"n":1}',
  ])('[X4] %s has a duplicate key, in any spelling', (text) => {
    expect(errorOf(text, { duplicateKeys: 'refuse' }).code).toBe('duplicate')
    expect(() => parseJson(text)).not.toThrow()
  })

  test('[X4] unique keys are never refused, whatever the texts contain', () => {
    const tricky = fc.array(fc.constantFrom(':', '"', '\\', ' ', 'a', '{', '"a":', '\n'), { maxLength: 6 })
    const word = tricky.map((parts) => parts.join(''))
    const value = fc.dictionary(word, fc.oneof(word, fc.dictionary(word, word)), { noNullPrototype: true })
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1), (one, space) => {
        const text = JSON.stringify(one, null, space)
        expect(parseJson(text, { duplicateKeys: 'refuse' })).toEqual(JSON.parse(text))
        const keys = Object.keys(one)
        if (keys.length === 0 || keys.includes('__proto__')) return
        const twice = `${text.trimEnd().slice(0, -1)},${JSON.stringify(keys[0])} :1}`
        expect(errorOf(twice, { duplicateKeys: 'refuse' }).code).toBe('duplicate')
      }),
    )
  })
})

describe('writing', () => {
  test('[X1] a value survives the round trip, integers beyond 2^53 included', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(parseJson(stringifyJson(value))).toEqual(value)
      }),
    )
  })

  test('writes as the built-in writer does when it can', () => {
    fc.assert(
      fc.property(fc.jsonValue(), big.filter(isBeyond), (value, whole) => {
        expect(stringifyJson(value as JsonValue)).toBe(JSON.stringify(value))
        expect(stringifyJson([value as JsonValue, whole])).toBe(`[${JSON.stringify(value)},${whole}]`)
      }),
    )
  })

  test('a cycle is an error, not an endless loop', () => {
    const value: Record<string, unknown> = {}
    value.self = value
    expect(() => stringifyJson(value as JsonValue)).toThrow(JsonError)
  })

  test('[X5] the canonical text does not depend on the order of keys', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
        expect(canonicalJson(parseJson(canonicalJson(value)))).toBe(canonicalJson(value))
      }),
    )
  })

  test('[X5] numbers of equal value are written equally', () => {
    expect(canonicalJson([1e25, -0, 1.5])).toBe('[10000000000000000905969664,0,1.5]')
    expect(canonicalJson({ b: [2 ** 70], a: 'é"' })).toBe(canonicalJson({ a: 'é"', b: [2n ** 70n] }))
  })
})

/** A number out of range is refused here and infinite there: the same outcome for this comparison. */
function outcome(read: () => unknown): string {
  try {
    const text = JSON.stringify(rounded(read() as JsonValue), (_key, value) =>
      typeof value === 'bigint' ? Number(value) : safe(value),
    )
    return text.includes('out of range') ? 'refuses' : `reads ${text}`
  } catch (error) {
    return error instanceof JsonError && error.message === 'duplicate key' ? error.message : 'refuses'
  }
}

function safe(value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? 'out of range' : value
}

function rounded(value: JsonValue): unknown {
  if (typeof value === 'bigint' || value instanceof Numeral) return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rounded(member as JsonValue)]))
}

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member as JsonValue)]),
  )
}
