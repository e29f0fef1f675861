import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { newSecret, publicKeyOf, signDelivery } from '../../core/webhooks/signing/index.ts'
import { sign, verify, type WebhookHeaders, WebhookVerificationError } from './index.ts'

const NOW = 1_800_000_000_000
const bytes = (fill: number) => new Uint8Array(32).fill(fill)
const STANDARD = newSecret('standard', bytes(1))
const OTHER = newSecret('standard', bytes(2))
const PRIVATE = newSecret('ed25519', bytes(3))
const PUBLIC = publicKeyOf(PRIVATE) as string
const GITHUB = newSecret('github', bytes(4))
const BODY = '{"id":"evt_1","data":{"name":"Müller"}}'
const PAYLOAD = { id: 'evt_1', data: { name: 'Müller' } }

const delivery = { id: 'evt_1', timestamp: NOW / 1000, body: BODY }
const standard = (secrets = [STANDARD]) => signDelivery({ ...delivery, signing: 'standard', secrets })
const ed25519 = () => signDelivery({ ...delivery, signing: 'ed25519', secrets: [PRIVATE] })
const github = () => signDelivery({ ...delivery, signing: 'github', secrets: [GITHUB] })

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code
    throw error
  }
  return 'verified'
}

const check = (
  headers: WebhookHeaders,
  secret: string | readonly string[] = STANDARD,
  rest: { body?: string; now?: number; toleranceSeconds?: number } = {},
) => codeOf(() => verify(rest.body ?? BODY, headers, secret, { now: NOW, ...rest }))

describe('verify', () => {
  test('[SN17] returns numbers as they were sent', () => {
    const secret = `whsec_${Buffer.from('a'.repeat(32)).toString('base64')}`
    const body = '{"id":9007199254740993,"amount":1.000000000000000001,"count":1.0}'
    const payload = verify<Record<string, unknown>>(body, sign(body, secret, { id: 'evt_1' }), secret)
    expect(payload).toMatchObject({ id: 9007199254740993n, count: 1 })
    expect(String(payload.amount)).toBe('1.000000000000000001')
  })

  test('[SN10] returns the payload, however body and headers are given', () => {
    const headers = standard()
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    )
    const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
    for (const given of [
      headers,
      upper,
      lists,
      new Headers(headers),
      new Map(Object.entries(headers)) as never,
    ]) {
      for (const body of [BODY, Buffer.from(BODY), new TextEncoder().encode(BODY)]) {
        expect(verify(body, given, STANDARD, { now: NOW })).toEqual(PAYLOAD)
      }
    }
  })

  test('[SN10] accepts what the Standard Webhooks library signs', () => {
    fc.assert(
      fc.property(fc.json(), fc.uint8Array({ minLength: 24, maxLength: 64 }), (body, key) => {
        const secret = `whsec_${Buffer.from(key).toString('base64')}`
        const signature = new Webhook(secret).sign('msg_1', new Date(NOW), body)
        const headers = {
          'webhook-id': 'msg_1',
          'webhook-timestamp': String(NOW / 1000),
          'webhook-signature': `v2,x ${signature}`,
        }
        expect(verify(body, headers, secret, { now: NOW })).toEqual(JSON.parse(body))
        expect(check({ ...headers, 'webhook-id': 'msg_2' }, secret, { body })).toBe('no_match')
      }),
    )
  })

  test('[SN10] accepts either of several secrets, on both sides', () => {
    expect(check(standard([STANDARD, OTHER]), OTHER)).toBe('verified')
    expect(check(standard([OTHER]), [STANDARD, OTHER])).toBe('verified')
    expect(check(standard([OTHER]), [STANDARD, PUBLIC, GITHUB])).toBe('no_match')
  })

  test('[SN10] by the public key, and by GitHub’s header', () => {
    expect(check(ed25519(), PUBLIC)).toBe('verified')
    expect(check(ed25519(), PUBLIC, { body: `${BODY} ` })).toBe('no_match')
    expect(check(ed25519(), publicKeyOf(newSecret('ed25519', bytes(9))) as string)).toBe('no_match')
    expect(check(github(), GITHUB)).toBe('verified')
    expect(check(github(), GITHUB, { body: `${BODY} ` })).toBe('no_match')
    expect(check(github(), `${GITHUB}0`)).toBe('no_match')
    expect(check(github(), [STANDARD, GITHUB])).toBe('verified')
  })

  test('[SN11] a secret verifies only its own header', () => {
    // Anyone who knows a public key, or a body that was once signed by GitHub's header, could make these.
    for (const secret of [PUBLIC, STANDARD]) {
      const digest = createHmac('sha256', secret).update(BODY).digest('hex')
      const headers = { ...github(), 'x-hub-signature-256': `sha256=${digest}` }
      expect(check(headers, secret)).toBe('missing_header')
      expect(check(headers, [secret, GITHUB])).toBe('no_match')
    }
    const digest = createHmac('sha256', PUBLIC)
      .update(`evt_1.${NOW / 1000}.${BODY}`)
      .digest('base64')
    expect(check({ ...standard(), 'webhook-signature': `v1,${digest}` }, PUBLIC)).toBe('no_match')
    expect(check(github(), STANDARD)).toBe('missing_header')
    expect(check(github(), PUBLIC)).toBe('missing_header')
    expect(check(standard(), GITHUB)).toBe('missing_header')
    expect(check(standard(), PUBLIC)).toBe('no_match')
    expect(check(ed25519(), STANDARD)).toBe('no_match')
  })

  test('[SN12] altered data does not match; the time is checked last', () => {
    const headers = standard()
    expect(check(headers, STANDARD, { body: `${BODY} ` })).toBe('no_match')
    expect(check({ ...headers, 'webhook-timestamp': String(NOW / 1000 + 1) })).toBe('no_match')
    expect(check(headers, OTHER, { now: NOW + 999_000 })).toBe('no_match')
    const times = [-301, -300, 0, 300, 301].map((seconds) =>
      check(headers, STANDARD, { now: NOW + seconds * 1000 }),
    )
    expect(times).toEqual(['too_new', 'verified', 'verified', 'verified', 'too_old'])
    expect(check(headers, STANDARD, { now: NOW + 11_000, toleranceSeconds: 10 })).toBe('too_old')
    // What an unset variable becomes: it must not mean that any age is accepted.
    const options = { now: NOW + 9_000_000, toleranceSeconds: Number.NaN }
    expect(() => verify(BODY, headers, STANDARD, options)).toThrow(TypeError)
    expect(() => verify(BODY, headers, STANDARD, { now: Number.NaN })).toThrow(TypeError)
    for (const time of ['', 'soon', '1e9', '-1', '1.5']) {
      expect(check({ ...headers, 'webhook-timestamp': time })).toBe(
        time === '' ? 'missing_header' : 'bad_timestamp',
      )
    }
  })

  test('[SN12] any other signature is refused, in any form', () => {
    const headers = standard()
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String().map((text) => `v1,${text}`),
        ),
        (signature) => {
          expect(['no_match', 'missing_header']).toContain(
            check({ ...headers, 'webhook-signature': signature }, [STANDARD, PUBLIC]),
          )
        },
      ),
    )
  })

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    '[SN13] without %s it says so',
    (name) => {
      const { [name]: _, ...headers } = standard()
      expect(() => verify(BODY, headers, STANDARD, { now: NOW })).toThrow(`the header ${name} is missing`)
    },
  )

  test('[SN13] an invalid secret says what to do, and reveals nothing of itself', () => {
    const cases: readonly [secret: string | readonly string[], text: string][] = [
      ['', 'empty'],
      [undefined as never, 'empty'],
      [[], 'no secret'],
      [`${STANDARD}\n`, 'line breaks'],
      ['whsec_not-base64!', 'copy the whole secret'],
      ['whpk_c2hvcnQ=', 'copy the whole key'],
      [PRIVATE, 'give the public one'],
    ]
    for (const [secret, text] of cases) {
      const run = () => verify(BODY, standard(), secret, { now: NOW })
      expect(codeOf(run)).toBe('bad_secret')
      expect(run).toThrow(text)
      expect(run).not.toThrow('not-base64!')
    }
  })

  test('[SN13] a parsed body is the caller’s mistake, and signed data that is not JSON is reported as such', () => {
    expect(() => verify(PAYLOAD as never, standard(), STANDARD)).toThrow(TypeError)
    expect(() => verify('x', sign('x', STANDARD), STANDARD)).toThrow('not JSON')
    expect(codeOf(() => verify('x', sign('x', STANDARD), STANDARD))).toBe('not_json')
  })
})

describe('sign', () => {
  test('[SN14] returns the headers that a node sends', () => {
    const options = { id: 'evt_1', now: NOW }
    expect(sign(BODY, STANDARD, options)).toEqual(standard())
    expect(sign(BODY, [STANDARD, OTHER], options)).toEqual(standard([STANDARD, OTHER]))
    expect(sign(Buffer.from(BODY), PRIVATE, options)).toEqual(ed25519())
    expect(sign(BODY, GITHUB, options)).toEqual(github())
  })

  test('[SN14] is verified by the Standard Webhooks library', () => {
    expect(new Webhook(STANDARD).verify(BODY, sign(BODY, STANDARD))).toEqual(PAYLOAD)
    expect(verify(BODY, sign(BODY, STANDARD), STANDARD)).toEqual(PAYLOAD)
    expect(() => sign(BODY, PUBLIC)).toThrow('nobody signs with a public key')
    expect(() => sign(BODY, [])).toThrow('no secret')
  })
})
