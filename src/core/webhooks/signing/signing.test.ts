import { createHmac, createPublicKey, verify } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { SIGNINGS, type Signing } from '../../definitions/documents/index.ts'
import { verifySignature } from '../../ingest/source/index.ts'
import { newSecret, parseSecret, publicKeyOf, SecretError, signDelivery } from './index.ts'

const NOW = Math.floor(Date.now() / 1000)
const bytes = (fill: number) => new Uint8Array(32).fill(fill)
const STANDARD = newSecret('standard', bytes(1))
const OTHER = newSecret('standard', bytes(2))
const PRIVATE = newSecret('ed25519', bytes(3))
const GITHUB = newSecret('github', bytes(4))
const DELIVERY = { id: 'evt_1', timestamp: NOW, body: '{"a":"ü"}' }

function publicKey(whpk: string) {
  const x = Buffer.from(whpk.slice('whpk_'.length), 'base64').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

const delivery = fc.record({
  id: fc.stringMatching(/^evt_[0-9a-z]{1,40}$/),
  body: fc.oneof(
    fc.json(),
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify({ text })),
  ),
  key: fc.uint8Array({ minLength: 32, maxLength: 32 }),
})

describe('standard', () => {
  test('[SN1] the library of Standard Webhooks verifies what we sign, and no other body, id or secret', () => {
    fc.assert(
      fc.property(delivery, ({ id, body, key }) => {
        const secret = newSecret('standard', key)
        const headers = signDelivery({ signing: 'standard', secrets: [secret], id, timestamp: NOW, body })
        expect(headers['webhook-id']).toBe(id)
        expect(headers['webhook-timestamp']).toBe(String(NOW))
        const webhook = new Webhook(secret)
        expect(webhook.sign(id, new Date(NOW * 1000), body)).toBe(headers['webhook-signature'])
        webhook.verify(body, headers)
        expect(() => webhook.verify(`${body} `, headers)).toThrow('No matching signature')
        expect(() => webhook.verify(body, { ...headers, 'webhook-id': `${id}x` })).toThrow()
        expect(() =>
          new Webhook(
            newSecret(
              'standard',
              key.map((byte) => byte ^ 1),
            ),
          ).verify(body, headers),
        ).toThrow()
      }),
    )
  })

  test('[SN1] the numbers of the specification are reproduced', () => {
    const headers = signDelivery({
      signing: 'standard',
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1_614_265_330,
      body: '{"test": 2432232314}',
    })
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  test('[SN2] both secrets of an overlap verify, the current one first', () => {
    const headers = signDelivery({ ...DELIVERY, signing: 'standard', secrets: [STANDARD, OTHER] })
    for (const secret of [STANDARD, OTHER]) {
      expect(new Webhook(secret).verify(DELIVERY.body, headers)).toEqual({ a: 'ü' })
    }
    const [first] = String(headers['webhook-signature']).split(' ')
    expect(first).toBe(
      signDelivery({ ...DELIVERY, signing: 'standard', secrets: [STANDARD] })['webhook-signature'],
    )
    expect(() => new Webhook(newSecret('standard', bytes(9))).verify(DELIVERY.body, headers)).toThrow()
  })

  test('[SN2] no more than six are listed', () => {
    const secrets = Array.from({ length: 9 }, (_, at) => newSecret('standard', bytes(at)))
    const headers = signDelivery({ ...DELIVERY, signing: 'standard', secrets })
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(6)
  })

  test('[SN1] [SN3] [SN4] our own sources accept it', () => {
    const sources = [
      ['standard', STANDARD, STANDARD, 'standard-webhooks'],
      ['ed25519', PRIVATE, publicKeyOf(PRIVATE) as string, 'standard-webhooks'],
      ['github', GITHUB, GITHUB, 'github'],
    ] as const
    for (const [signing, secret, known, scheme] of sources) {
      const headers = signDelivery({ ...DELIVERY, signing, secrets: [secret] })
      const input = { headers, body: Buffer.from(DELIVERY.body), secrets: [known], now: NOW * 1000 }
      expect(verifySignature({ scheme, secret: [] }, input)).toEqual({ ok: true })
    }
  })
})

describe('ed25519', () => {
  test('[SN3] the public key verifies what the private one signs, and nothing else', () => {
    fc.assert(
      fc.property(delivery, ({ id, body, key }) => {
        const secret = newSecret('ed25519', key)
        const headers = signDelivery({ signing: 'ed25519', secrets: [secret], id, timestamp: NOW, body })
        const [version, signature] = String(headers['webhook-signature']).split(',')
        expect(version).toBe('v1a')
        const given = publicKey(publicKeyOf(secret) as string)
        const isSigned = (text: string) =>
          verify(null, Buffer.from(text), given, Buffer.from(signature as string, 'base64'))
        expect(isSigned(`${id}.${NOW}.${body}`)).toBe(true)
        expect(isSigned(`${id}.${NOW + 1}.${body}`)).toBe(false)
      }),
      { numRuns: 20 },
    )
  })

  test('[SN3] the first vector of RFC 8032 gives its public key, also where both halves are written', () => {
    const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
    const known = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
    const whpk = `whpk_${Buffer.from(known, 'hex').toString('base64')}`
    const whole = `whsk_${Buffer.from(seed + known, 'hex').toString('base64')}`
    expect(publicKeyOf(newSecret('ed25519', Buffer.from(seed, 'hex')))).toBe(whpk)
    expect(publicKeyOf(whole)).toBe(whpk)
    expect(publicKeyOf(STANDARD)).toBeNull()
  })

  test('[SN7] during a change of the signing method each secret signs by its own kind', () => {
    const headers = signDelivery({
      ...DELIVERY,
      signing: 'ed25519',
      secrets: [PRIVATE, STANDARD, GITHUB, 'x'],
    })
    expect(new Webhook(STANDARD).verify(DELIVERY.body, headers)).toEqual({ a: 'ü' })
    expect(
      String(headers['webhook-signature'])
        .split(' ')
        .map((text) => text.split(',')[0]),
    ).toEqual(['v1a', 'v1'])
  })
})

test('[SN4] github: the body alone, under the characters of the current secret', () => {
  const headers = signDelivery({ ...DELIVERY, signing: 'github', secrets: [GITHUB, 'a'.repeat(20)] })
  const digest = createHmac('sha256', GITHUB).update(DELIVERY.body).digest('hex')
  expect(headers).toEqual({
    'webhook-id': DELIVERY.id,
    'webhook-timestamp': String(NOW),
    'x-hub-signature-256': `sha256=${digest}`,
  })
})

describe('secrets', () => {
  const base64 = (length: number) => Buffer.alloc(length, 0xfb).toString('base64')
  const halves = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]).toString('base64')

  const cases: readonly [name: string, secret: string, fits: Signing | null][] = [
    ['24 bytes', `whsec_${base64(24)}`, 'standard'],
    ['64 bytes', `whsec_${base64(64)}`, 'standard'],
    ['23 bytes', `whsec_${base64(23)}`, null],
    ['65 bytes', `whsec_${base64(65)}`, null],
    ['no padding', `whsec_${base64(32).replace(/=+$/, '')}`, null],
    ['the alphabet of addresses', `whsec_${Buffer.alloc(24, 0xfb).toString('base64url')}`, null],
    ['a line break', `${STANDARD}\n`, null],
    ['nothing', '', null],
    ['nothing behind the prefix', 'whsec_', null],
    ['a private key', PRIVATE, 'ed25519'],
    ['halves that do not belong together', `whsk_${halves}`, null],
    ['31 bytes of a private key', `whsk_${base64(31)}`, null],
    ['a public key', publicKeyOf(PRIVATE) as string, null],
    ['a text', 'It’s a secret to everybody', 'github'],
    ['a short text', 'It’s a secret', null],
    ['a long text', 'x'.repeat(257), null],
  ]

  test.each(cases)('[SN5] [SN6] %s', (_, secret, fits) => {
    for (const signing of SIGNINGS) {
      const parsed = parseSecret(signing, secret)
      expect(parsed.ok).toBe(signing === fits)
      if (parsed.ok) continue
      expect(parsed.message).toContain(`signing: ${signing}`)
      const inside = secret.replace(/^wh[a-z]+_/, '').trim()
      if (inside.length > 0) expect(parsed.message).not.toContain(inside)
      expect(() => signDelivery({ ...DELIVERY, signing, secrets: [secret] })).toThrow(SecretError)
    }
  })

  test('[SN6] a missing secret is reported', () => {
    expect(() => signDelivery({ ...DELIVERY, signing: 'standard', secrets: [] })).toThrow('no secret')
  })

  test('[SN9] a new one is a secret for its signing method', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.constantFrom(...SIGNINGS),
        (key, signing) => {
          expect(parseSecret(signing, newSecret(signing, key)).ok).toBe(true)
        },
      ),
    )
    expect([STANDARD.slice(0, 6), PRIVATE.slice(0, 5)]).toEqual(['whsec_', 'whsk_'])
    expect(() => newSecret('standard', new Uint8Array(16))).toThrow('32 bytes')
  })

  test('[SN8] many other keys in between change nothing', () => {
    const sign = () => signDelivery({ ...DELIVERY, signing: 'standard', secrets: [STANDARD, OTHER] })
    const before = sign()
    for (let at = 0; at < 18_000; at++) {
      signDelivery({ ...DELIVERY, signing: 'github', secrets: [`another secret ${at}`] })
      if (at % 5_000 === 0) expect(sign()).toEqual(before)
    }
    expect(sign()).toEqual(before)
  })
})

test('[SN1] ids with dots and times in milliseconds are our bugs, and are never signed', () => {
  const input = { ...DELIVERY, signing: 'standard', secrets: [STANDARD] } as const
  expect(() => signDelivery({ ...input, id: 'evt_1.2' })).toThrow('assertion failed')
  expect(() => signDelivery({ ...input, timestamp: NOW * 1000 })).toThrow('assertion failed')
  expect(() => signDelivery({ ...input, timestamp: 1.5 })).toThrow('assertion failed')
})
