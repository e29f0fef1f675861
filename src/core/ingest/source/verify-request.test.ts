import { sign, verify } from '@octokit/webhooks-methods'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { VerifyDocument } from '../../definitions/documents/index.ts'
import { compileVerifier, signRequest, verifySignature } from './index.ts'

const now = 1_700_000_000_000
const secret = 'It’s a secret'
const body = Buffer.from('{"zen":"Größe"}')
const github: VerifyDocument = { scheme: 'github', secret: [{ env: 'S' }] }
const hmac = {
  scheme: 'hmac',
  secret: [{ env: 'S' }],
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
  signed: '{{ body }}',
  timestampHeader: null,
  toleranceMs: 300_000,
} as const satisfies VerifyDocument
const timed = {
  ...hmac,
  signed: 'v0:{{ header.x-timestamp }}:{{ body }}',
  timestampHeader: 'x-timestamp',
} as const satisfies VerifyDocument

const check = (document: VerifyDocument, headers: Record<string, string>, more: object = {}) =>
  verifySignature(document, { headers, body, secrets: [secret], now, ...more })

describe('github', () => {
  test('[S1] accepts what GitHub’s own library signs, and vice versa', async () => {
    const texts = fc.string({ unit: 'grapheme', minLength: 1 })
    await fc.assert(
      fc.asyncProperty(texts, texts, async (key, text) => {
        const bytes = Buffer.from(text)
        const theirs = { 'x-hub-signature-256': await sign(key, text) }
        expect(verifySignature(github, { headers: theirs, body: bytes, secrets: [key], now })).toEqual({
          ok: true,
        })
        const ours = signRequest(github, { body: bytes, secret: key })
        expect(ours).toEqual(theirs)
        expect(await verify(key, text, ours['x-hub-signature-256']!)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })

  test('[S1] GitHub’s documented example', () => {
    const headers = {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    }
    const input = { body: Buffer.from('Hello, World!'), secrets: ["It's a Secret to Everybody"] }
    expect(check(github, headers, input)).toEqual({ ok: true })
  })

  test('[S1] any flipped bit is refused', () => {
    const headers = signRequest(github, { body, secret })
    fc.assert(
      fc.property(fc.nat(body.length * 8 - 1), (bit) => {
        const changed = Uint8Array.from(body)
        changed[bit >> 3]! ^= 1 << (bit & 7)
        expect(check(github, headers, { body: changed })).toMatchObject({
          ok: false,
          code: 'signature_wrong',
        })
      }),
    )
  })
})

describe('hmac', () => {
  // RFC 2202, RFC 4231: key «Jefe», data «what do ya want for nothing?».
  test.each([
    ['sha1', 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'],
    ['sha256', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
    [
      'sha512',
      '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
    ],
  ] as const)('[S2] %s, in every encoding', (algorithm, hex) => {
    const input = { body: Buffer.from('what do ya want for nothing?'), secrets: ['Jefe'] }
    const bytes = Buffer.from(hex, 'hex')
    const accepts = (encoding: 'hex' | 'base64', prefix: string, value: string) =>
      check({ ...hmac, algorithm, encoding, prefix }, { 'x-signature': value }, input).ok
    expect(accepts('hex', '', hex)).toBe(true)
    expect(accepts('hex', '', hex.toUpperCase())).toBe(true)
    expect(accepts('hex', 'v1=', `v1=${hex}`)).toBe(true)
    expect(accepts('base64', '', bytes.toString('base64'))).toBe(true)
    expect(accepts('base64', '', bytes.toString('base64url'))).toBe(true)
    expect(accepts('base64', '', hex)).toBe(false)
    expect(accepts('hex', '', bytes.toString('base64'))).toBe(false)
  })

  test('[S3] any of several secrets is accepted', () => {
    const headers = signRequest(hmac, { body, secret })
    expect(check(hmac, headers, { secrets: ['old', secret] })).toEqual({ ok: true })
    expect(check(hmac, headers, { secrets: [secret, 'new'] })).toEqual({ ok: true })
    expect(check(hmac, headers, { secrets: ['old', 'new'] })).toMatchObject({ code: 'signature_wrong' })
  })

  test.each([
    '{{ body }}',
    'v0:{{ header.x-timestamp }}:{{ body }}',
    '{{body}}.{{ header.x-timestamp }}',
    '{{ body }}{{ body }}',
    '{{ header.x-timestamp }}',
  ])('[S4] %s is signed with the raw bytes', (signed) => {
    const headers = { 'x-timestamp': '1700000000' }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const parts = signed.split(/(\{\{.*?\}\})/).map((part) => {
          if (part.includes('body')) return Buffer.from(bytes)
          return Buffer.from(part.includes('header') ? '1700000000' : part)
        })
        const whole = signRequest(hmac, { body: Buffer.concat(parts), secret })
        expect(signRequest({ ...hmac, signed }, { body: bytes, headers, secret })).toEqual(whole)
      }),
    )
  })

  test('[S4] an expression around the body sees it as text', () => {
    const whole = signRequest(hmac, { body: Buffer.from('{{ body }}{"zen":"Größe"}!'), secret })
    const signed = "{{ '{{ body }}' + body + '!' }}"
    expect(signRequest({ ...hmac, signed }, { body, secret })).toEqual(whole)
  })

  test('[S4] a missing header is empty', () => {
    const whole = signRequest(hmac, { body: Buffer.concat([Buffer.from('v0::'), body]), secret })
    const document = { ...hmac, signed: 'v0:{{ header.x-other }}:{{ body }}' }
    expect(signRequest(document, { body, secret })).toEqual(whole)
  })

  test('[S4] the body alone is never converted to text', () => {
    const document = compileVerifier(hmac)
    const headers = signRequest(hmac, { body: new Uint8Array([0xff, 0xfe]), secret })
    expect(document({ headers, body: new Uint8Array([0xff, 0xfe]), secrets: [secret], now })).toEqual({
      ok: true,
    })
    expect(document({ headers, body: new Uint8Array([0xff, 0xfd]), secrets: [secret], now }).ok).toBe(false)
  })

  test.each([
    ['1700000000', true],
    ['1699999700', true],
    ['1700000300', true],
    ['1699999699', 'signature_expired'],
    ['1700000301', 'signature_expired'],
    ['1700000000000', true],
    ['1699999699999', 'signature_expired'],
  ])('[S5] sent at %s: %s', (timestamp, expected) => {
    const sent = { 'x-timestamp': timestamp }
    const headers = { ...sent, ...signRequest(timed, { body, secret, headers: sent }) }
    expect(check(timed, headers)).toMatchObject(expected === true ? { ok: true } : { code: expected })
  })

  test('[S5] an old request with a wrong signature is invalid, not expired', () => {
    const headers = { 'x-timestamp': '1', 'x-signature': '0'.repeat(64) }
    expect(check(timed, headers)).toMatchObject({ code: 'signature_wrong' })
  })

  test.each([
    [{}, 'signature_missing', 'the header x-signature is missing'],
    [{ 'x-signature': '' }, 'signature_missing', 'the header x-signature is missing'],
    [{ 'x-signature': 'ab' }, 'signature_missing', 'the header x-timestamp is missing'],
    [
      { 'x-signature': 'ab', 'x-timestamp': 'soon' },
      'signature_wrong',
      'the header x-timestamp is not a number of seconds since 1970',
    ],
    [
      { 'x-signature': 'ab', 'x-timestamp': '1700000000' },
      'signature_wrong',
      'the header x-signature is not sha256 as hex',
    ],
    [
      { 'x-signature': 'g'.repeat(64), 'x-timestamp': '1700000000' },
      'signature_wrong',
      'the header x-signature is not sha256 as hex',
    ],
    [
      { 'x-signature': 'a'.repeat(64), 'x-timestamp': '1700000000' },
      'signature_wrong',
      'the header x-signature does not match the body',
    ],
  ])('[S6] %j is %s', (headers, code, detail) => {
    expect(check(timed, headers as Record<string, string>)).toEqual({ ok: false, code, detail })
  })

  test('[S6] an expression that fails on the request counts as a wrong signature', () => {
    const document = { ...hmac, signed: '{{ body[header.x-signature] }}' }
    expect(check(document, { 'x-signature': 'a'.repeat(64) })).toMatchObject({ code: 'signature_wrong' })
  })

  test('[S6] [S7] no header makes it throw, and no result reveals what it compared', () => {
    const right = signRequest(hmac, { body, secret })['x-signature']!
    fc.assert(
      fc.property(fc.string(), fc.string(), (signature, timestamp) => {
        const result = check(timed, { 'x-signature': signature, 'x-timestamp': timestamp })
        expect(result.ok).toBe(false)
        expect(JSON.stringify(result)).not.toContain(secret)
        expect(JSON.stringify(result)).not.toContain(right)
      }),
    )
  })

  test.each([[[]], [['']], [['', '']]])('[S8] secrets %j verify nothing', (secrets) => {
    expect(check(hmac, signRequest(hmac, { body, secret: '' }), { secrets })).toMatchObject({
      code: 'signature_wrong',
    })
  })

  test('[S9] none accepts everything', () => {
    expect(check({ scheme: 'none' }, {}, { secrets: [] })).toEqual({ ok: true })
    expect(signRequest({ scheme: 'none' }, { body, secret })).toEqual({})
  })
})
