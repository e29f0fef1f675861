import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonValue, parseJson } from '../../foundation/json/index.ts'
import { compareWorth, numeralText, respell } from '../../foundation/json/numeral.fixture.ts'
import {
  compileExpression,
  explainCondition,
  type Keyed,
  makeHmac,
  mayUseHmac,
  SHOWN_HMAC,
} from '../index.ts'

const KEY = Uint8Array.from({ length: 32 }, (_, index) => index)
const KEYED: Keyed = { hmac: makeHmac(KEY) }
const OTHER: Keyed = { hmac: makeHmac(new Uint8Array(32).fill(7)) }

function evaluate(text: string, payload: JsonValue = {}, keyed: Keyed = KEYED): JsonValue {
  const compiled = compileExpression(text, keyed)
  if (!compiled.ok) throw new Error(compiled.problem.message)
  return compiled.expression.evaluate({ payload })
}

describe('hmac', () => {
  // Computed with OpenSSL: `openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f`. Ledgers contain them: they must never
  // change.
  test.each([
    [
      "hmac('ada@example.com')",
      'd1be1cf23e7ae3a4c696d2534cb6a03c8798f15fa382597a0c1444c2352cce78',
      'faefe4efb4c077db4739563c1b2c7ae5f565d10239a00ce267d8ddac3aefeeee',
    ],
    [
      "hmac(1.5, {'a': null})",
      '373030b035acfd61463e0495259bd01b685dece45aa514aded62a8aa5d37b798',
      '2fc0d6856b3f374ac42c205aa9c94c49702d2f51ddafa500414edb7baf1e930e',
    ],
    [
      'hmac(100.0)',
      '04989e9161c254e8007dff5d3a6724d00af007b38b4d908359c31e975d4fa106',
      '40d9afd03b3d591c7ae198b6e1f985bd67bd98442def97adb1ad2f6756bfddac',
    ],
  ])('[X43] [X23] %s and its hash never change', (text, digest, hash) => {
    expect(evaluate(text)).toBe(digest)
    expect(evaluate(text.replace('hmac', 'hash'))).toBe(hash)
  })

  test('[X43] is equal where hash is equal, and differs where hash or the key differs', () => {
    const pair = numeralText.chain((one) => fc.tuple(fc.constant(one), fc.oneof(numeralText, respell(one))))
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const payload = parseJson(`{"a":${a},"b":${b}}`)
        const isEqual = compareWorth(a, b) === 0
        expect(evaluate('hmac(payload.a) == hmac(payload.b)', payload)).toBe(isEqual)
        expect(evaluate('hash(payload.a) == hash(payload.b)', payload)).toBe(isEqual)
        expect(evaluate('hmac(payload.a) == hash(payload.a)', payload)).toBe(false)
        expect(evaluate('hmac(payload.a)', payload)).not.toBe(evaluate('hmac(payload.a)', payload, OTHER))
      }),
      { numRuns: 200 },
    )
  })

  test('[X43] is null for a missing value, and only for a single argument', () => {
    expect(evaluate('hmac(payload.none)')).toBeNull()
    expect(evaluate("hmac('a', payload.none)")).toBeNull()
    const behind = compileExpression('payload.a.hmac()', KEYED)
    expect(!behind.ok && behind.problem.message).toContain('in front')
  })

  test('[X44] without a key it compiles, and evaluates to an error that contains no value', () => {
    expect(() => evaluate("hmac('ada@example.com')", {}, {})).toThrow(
      expect.objectContaining({ name: 'ExpressionError', code: 'key', message: '`hmac` has no key here' }),
    )
    expect(() => makeHmac(new Uint8Array(16))).toThrow('32 bytes')
  })

  test('[X44] no scope reaches the key, and no compiled text shows it', () => {
    const compiled = compileExpression('hmac(payload)', KEYED)
    expect(JSON.stringify(compiled)).not.toContain(Buffer.from(KEY).toString('base64'))
    expect(evaluate('keys(payload)', {})).toEqual([])
  })

  test('[HK6] a display-only text has a placeholder that is not a digest', () => {
    expect(evaluate("'A:' + hmac(payload.a)", { a: 1 }, { hmac: SHOWN_HMAC })).toBe('A:[hmac]')
  })

  test('[X43] a condition is explained with the key that decided it', () => {
    const scope = { payload: { email: 'ada@example.com' } }
    const condition = `hmac(payload.email) == '${evaluate("hmac('ada@example.com')")}'`
    expect(explainCondition(condition, scope, scope, KEYED)).toMatchObject([{ holds: true }])
    expect(explainCondition(condition, scope, scope, OTHER)).toMatchObject([{ holds: false }])
    const [blind] = explainCondition(condition, scope)
    expect(blind?.saw).toContain('`hmac` has no key here')
  })

  test.each([
    [{ key: 'hmac(payload.id)' }, true],
    [{ key: 'hmac // why\n (payload.id)' }, true],
    [{ do: { body: ['{{ lower(hmac(payload.a)) }}'] } }, true],
    [{ verify: { scheme: 'hmac', header: 'x-hmac' } }, false],
    [{ key: 'payload.hmac' }, false],
    [{ key: 'xhmac(payload)' }, false],
    [undefined, false],
  ])('[HK5] whether %j may call it follows from its texts', (value, isUsed) => {
    expect(mayUseHmac(value)).toBe(isUsed)
  })
})
