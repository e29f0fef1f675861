import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import {
  ADDRESSED_SCHEMES,
  PLAIN_SCHEMES,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
  type VerifyDocument,
} from '../../../definitions/documents/index.ts'
import { FIELDS_MAX } from '../../request-body/index.ts'
import {
  compileVerifier,
  handshakeOf,
  SigningError,
  secretHeadersOf,
  signRequest,
  verifySignature,
} from '../index.ts'
import {
  ASYMMETRIC,
  bodyOf,
  NOW,
  open,
  SAMPLES,
  type SchemeSample,
  SYMMETRIC,
  signSample,
} from './samples.fixture.ts'

const RUNS = { numRuns: 20 }
const texts = fc.string({ unit: 'grapheme' })
const sampleOf = (name: string) => SAMPLES.find((one) => one.name === name) as SchemeSample

test('[SV2] every vendor has a sample', () => {
  const named = new Set(SAMPLES.map(({ document }) => document.scheme))
  const vendors = [...PLAIN_SCHEMES, ...TIMED_SCHEMES, ...ADDRESSED_SCHEMES, ...TIMED_ADDRESSED_SCHEMES]
  expect(vendors.filter((name) => !named.has(name))).toEqual([])
})

/** The last text that looks like a signature, with one character replaced. */
function tamper(value: string, at: number): string {
  const [signature] = /[\w+/=-]+$/.exec(value) as RegExpExecArray
  const start = value.length - signature.length
  const place = start + (at % signature.replace(/=+$/, '').length)
  const letter = value[place] as string
  const other = /[0-8]/.test(letter) ? String(Number(letter) + 1) : letter === 'b' ? 'c' : 'b'
  return value.slice(0, place) + other + value.slice(place + 1)
}

describe.each(SAMPLES)('$name', (sample) => {
  const signedBody = sample.isToken === undefined

  test('[SV2] accepts its own signature', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(open(sample, signSample(sample, bodyOf(sample, text)))).toEqual({ ok: true })
      }),
      RUNS,
    )
  })

  if (signedBody) {
    test('[SV3] refuses a body with any flipped bit', () => {
      fc.assert(
        fc.property(texts, fc.nat(), (text, at) => {
          const signedSample = signSample(sample, bodyOf(sample, text))
          const body = Uint8Array.from(signedSample.body)
          const bit = at % (body.length * 8)
          body[bit >> 3]! ^= 1 << (bit & 7)
          expect(open(sample, { ...signedSample, body })).toMatchObject({
            ok: false,
            code: 'signature_wrong',
          })
        }),
        RUNS,
      )
    })
  }

  test('[SV3] refuses any other signature', () => {
    const signedSample = signSample(sample, bodyOf(sample, 'x'))
    fc.assert(
      fc.property(fc.nat(), (at) => {
        const changed = tamper(signedSample.headers[sample.header] as string, at)
        const headers = { ...signedSample.headers, [sample.header]: changed }
        expect(open(sample, { ...signedSample, headers })).toMatchObject({
          ok: false,
          code: 'signature_wrong',
        })
      }),
      { numRuns: 40 },
    )
  })

  if (sample.signedHeaders !== undefined) {
    test('[SV3] refuses any flipped bit of a signed header', () => {
      const signedSample = signSample(sample, bodyOf(sample, 'x'))
      for (const name of sample.signedHeaders ?? []) {
        const value = signedSample.headers[name] as string
        for (let bit = 0; bit < value.length * 8; bit++) {
          const bytes = Buffer.from(value)
          bytes[bit >> 3]! ^= 1 << (bit & 7)
          const headers = { ...signedSample.headers, [name]: bytes.toString('latin1') }
          expect(open(sample, { ...signedSample, headers }).ok).toBe(false)
        }
        const { [name]: _gone, ...headers } = signedSample.headers
        expect(open(sample, { ...signedSample, headers })).toMatchObject({ code: 'signature_missing' })
      }
    })
  }

  if (sample.isAddressed === true) {
    test('[SV3] [SV11] refuses a different address', () => {
      const signedSample = signSample(sample, bodyOf(sample, 'x'))
      const { url } = signedSample
      for (const other of [
        url.replace('a=1', 'a=2'),
        url.replace('/x', '/y'),
        url.replace('https', 'http'),
        '',
      ]) {
        expect(open(sample, { ...signedSample, url: other })).toMatchObject({ code: 'signature_wrong' })
      }
    })
  }

  test('[SV4] accepts every listed secret, and no other', () => {
    const signedSample = signSample(sample, bodyOf(sample, 'x'))
    const { verifyWith, otherSecret } = sample
    const withSecrets = (...secrets: string[]) => open(sample, signedSample, { secrets }).ok
    expect(withSecrets(otherSecret, verifyWith)).toBe(true)
    expect(withSecrets(verifyWith, otherSecret)).toBe(true)
    expect(withSecrets(otherSecret)).toBe(false)
    expect(withSecrets('', otherSecret)).toBe(false)
    expect(withSecrets('')).toBe(false)
    expect(withSecrets()).toBe(false)
  })

  test('[SV4] tries the other secrets even after one has matched', () => {
    const signedSample = signSample(sample, bodyOf(sample, 'x'))
    const read = new Set<string>()
    const secrets = new Proxy([sample.verifyWith, sample.otherSecret, 'x'], {
      get(list, name, self) {
        if (typeof name === 'string') read.add(name)
        return Reflect.get(list, name, self)
      },
    })
    expect(open(sample, signedSample, { secrets })).toEqual({ ok: true })
    expect([...read]).toEqual(expect.arrayContaining(['0', '1', '2']))
  })

  test('[SV4] an empty secret verifies nothing', () => {
    for (const signWith of ['', 'whsec_']) {
      let headers: Readonly<Record<string, string>>
      try {
        ;({ headers } = signSample({ ...sample, signWith }, bodyOf(sample, 'x')))
      } catch (error) {
        expect(error).toBeInstanceOf(SigningError)
        continue
      }
      const signedSample = { ...signSample(sample, bodyOf(sample, 'x')), headers }
      expect(open(sample, signedSample, { secrets: ['', 'whsec_'] }).ok && signWith === '').toBe(false)
    }
  })

  test('[SV6] a repeated signature header is refused, unless the scheme has lists', () => {
    const signedSample = signSample(sample, bodyOf(sample, 'x'))
    const value = signedSample.headers[sample.header] as string
    const headers = { ...signedSample.headers, [sample.header]: `${value}, ${value}` }
    const result = open(sample, { ...signedSample, headers })
    // Repeated headers become one list, of which one element is complete.
    const isList = ['pagerduty', 'paddle'].includes(sample.name) || sample.header === 'webhook-signature'
    if (isList) expect(result).toEqual({ ok: true })
    else expect(result).toMatchObject({ ok: false, code: 'signature_wrong' })
  })

  if (sample.isTimed ?? sample.isTimeInBody) {
    test('[SV5] requires a recent time', () => {
      const signedSample = signSample(sample, bodyOf(sample, 'x'))
      const at = (offMs: number) => open(sample, signedSample, { now: NOW + offMs })
      expect(at(300_000)).toEqual({ ok: true })
      expect(at(-300_000)).toEqual({ ok: true })
      expect(at(301_000)).toMatchObject({
        code: 'signature_expired',
        detail: expect.stringMatching(/301 s off$/),
      })
      expect(at(-301_000)).toMatchObject({ code: 'signature_expired' })
      const document = { ...sample.document, toleranceMs: 10_000 } as VerifyDocument
      expect(open(sample, signedSample, { document, now: NOW + 10_000 })).toEqual({ ok: true })
      expect(open(sample, signedSample, { document, now: NOW + 11_000 })).toMatchObject({
        code: 'signature_expired',
      })
    })
  }

  if (sample.isTimed ?? sample.isTimeInBody) {
    test('[SV5] an old request with a wrong signature is invalid, not expired', () => {
      const signedSample = signSample(sample, bodyOf(sample, 'x'))
      const result = open(sample, signedSample, { now: NOW + 1e9, secrets: [sample.otherSecret] })
      expect(result).toMatchObject({ code: 'signature_wrong' })
    })
  }

  test('[SV7] for any headers, it neither throws nor reveals secrets', () => {
    const right = signSample(sample, bodyOf(sample, 'x'))
    const names = [sample.header, ...(sample.signedHeaders ?? []), 'content-type']
    const signature = /[\w+/=-]+$/.exec(right.headers[sample.header] as string)?.[0] as string
    const values = fc.oneof(
      fc.string(),
      fc.constantFrom(signature.slice(1), `v1,${signature}`, 't=1,v1=', ' ', '\0'),
    )
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom(...names)), fc.array(values), (chosen, given) => {
        const changed = Object.fromEntries(chosen.map((name, index) => [name, given[index] ?? '']))
        const signedSample = { ...right, headers: { ...right.headers, ...changed } }
        const result = open({ ...sample, verifyWith: sample.otherSecret }, signedSample)
        expect(result.ok).toBe(false)
        const told = JSON.stringify(result)
        expect(told).not.toContain(sample.otherSecret)
        expect(told).not.toContain(signature)
      }),
      { numRuns: 40 },
    )
  })

  test('[SV13] lists the headers that are never stored', () => {
    expect(secretHeadersOf(sample.document).has(sample.header)).toBe(true)
    for (const name of sample.signedHeaders ?? [])
      expect(secretHeadersOf(sample.document).has(name)).toBe(false)
  })
})

describe('lists of signatures', () => {
  const stripe = sampleOf('stripe')
  const body = bodyOf(stripe, 'x')
  const signedSample = signSample(stripe, body)
  const [, right] = (signedSample.headers['stripe-signature'] as string).split(',')
  const wrong = `v1=${'0'.repeat(64)}`
  const check = (value: string) => open(stripe, { ...signedSample, headers: { 'stripe-signature': value } })

  test('[SV6] one valid signature is enough', () => {
    expect(check(`t=1700000000,${wrong},${right}`)).toEqual({ ok: true })
    expect(check(`t=1700000000, ${right}, v0=abc, x`)).toEqual({ ok: true })
    expect(check(`${right},t=1700000000`)).toEqual({ ok: true })
  })

  test('[SV6] no more than eight are examined', () => {
    expect(check(`t=1700000000,${`${wrong},`.repeat(7)}${right}`)).toEqual({ ok: true })
    expect(check(`t=1700000000,${`${wrong},`.repeat(8)}${right}`).ok).toBe(false)
    const standard = sampleOf('standard-webhooks v1a')
    const one = signSample(standard, body)
    const signature = one.headers['webhook-signature'] as string
    const many = (count: number) => ({
      ...one,
      headers: { ...one.headers, 'webhook-signature': `v1a,${'A'.repeat(86)}== `.repeat(count) + signature },
    })
    expect(open(standard, many(7))).toEqual({ ok: true })
    expect(open(standard, many(8)).ok).toBe(false)
  })

  test.each([
    [`t=1700000000,t=1700000000,${right}`, 't= in the header stripe-signature is not there once'],
    [`${right}`, 't= in the header stripe-signature is not there once'],
    [`t=now,${right}`, 't= in the header stripe-signature is not a number of seconds since 1970'],
    ['t=1700000000', 'the header stripe-signature is not sha256 as hex after v1='],
    [
      `t=1700000000,${right?.replace('v1=', 'v0=')}`,
      'the header stripe-signature is not sha256 as hex after v1=',
    ],
  ])('[SV6] %s: %s', (value, detail) => {
    expect(check(value)).toEqual({ ok: false, code: 'signature_wrong', detail })
  })
})

test('[SV9] unused bits of base64 are zero', () => {
  const shopify = sampleOf('shopify')
  const signedSample = signSample(shopify, bodyOf(shopify, 'x'))
  const value = signedSample.headers['x-shopify-hmac-sha256'] as string
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const last = letters.indexOf(value.at(-2) as string)
  const same = `${value.slice(0, -2)}${letters[last ^ 1]}=`
  expect(Buffer.from(same, 'base64').equals(Buffer.from(value, 'base64'))).toBe(true)
  const check = (text: string) =>
    open(shopify, { ...signedSample, headers: { 'x-shopify-hmac-sha256': text } }).ok
  expect(check(value)).toBe(true)
  expect(check(value.slice(0, -1))).toBe(true)
  expect(check(same)).toBe(false)
})

describe('Standard Webhooks', () => {
  const v1 = sampleOf('standard-webhooks v1')
  const v1a = sampleOf('standard-webhooks v1a')

  test('[SV8] accepts what the standard’s own library signs, and vice versa', () => {
    const secrets = fc.uint8Array({ minLength: 24, maxLength: 64 })
    fc.assert(
      fc.property(secrets, texts, fc.uuid(), (bytes, text, id) => {
        const secret = `whsec_${Buffer.from(bytes).toString('base64')}`
        const library = new Webhook(secret)
        const theirs = {
          'webhook-id': id,
          'webhook-timestamp': String(NOW / 1000),
          'webhook-signature': library.sign(id, new Date(NOW), text),
        }
        const body = Buffer.from(text)
        expect(open(v1, { headers: theirs, body, url: '' }, { secrets: [secret] })).toEqual({ ok: true })
        expect(signRequest(v1.document, { body, secret, now: NOW, id })).toEqual(theirs)
      }),
      RUNS,
    )
  })

  test('[SV8] treats a key without a prefix as the shared one, and accepts Svix’s names', () => {
    const signedSample = signSample(v1, bodyOf(v1, 'x'))
    const bare = SYMMETRIC.verifyWith.slice('whsec_'.length)
    expect(open(v1, signedSample, { secrets: [bare] })).toEqual({ ok: true })
    const headers = Object.fromEntries(
      Object.entries(signedSample.headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
    )
    expect(open(v1, { ...signedSample, headers })).toEqual({ ok: true })
    expect(secretHeadersOf(v1.document).has('svix-signature')).toBe(true)
  })

  test('[SV19] a second id header must equal the signed one', () => {
    const signedSample = signSample(v1, bodyOf(v1, 'x'))
    const signedId = signedSample.headers['webhook-id'] as string
    const asSvix = Object.fromEntries(
      Object.entries(signedSample.headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
    )
    for (const [headers, name] of [
      [signedSample.headers, 'svix-id'],
      [asSvix, 'webhook-id'],
    ] as const) {
      expect(open(v1, { ...signedSample, headers: { ...headers, [name]: signedId } })).toEqual({ ok: true })
      expect(open(v1, { ...signedSample, headers: { ...headers, [name]: 'another' } })).toMatchObject({
        code: 'signature_wrong',
      })
    }
  })

  test('[SV8] a public key is never the key of an HMAC', () => {
    const body = bodyOf(v1, 'x')
    const publicBytes = ASYMMETRIC.verifyWith.slice('whpk_'.length)
    // Forgeable by anyone who has read the public key.
    for (const forged of [`whsec_${publicBytes}`, publicBytes]) {
      const signedSample = signSample({ ...v1, signWith: forged }, body)
      expect(open(v1a, signedSample)).toMatchObject({ code: 'signature_wrong' })
      const asOther = (signedSample.headers['webhook-signature'] as string).replace('v1,', 'v1a,')
      const headers = { ...signedSample.headers, 'webhook-signature': asOther }
      expect(open(v1a, { ...signedSample, headers })).toMatchObject({ code: 'signature_wrong' })
    }
    const text = Buffer.from(ASYMMETRIC.verifyWith).toString('base64')
    expect(open(v1a, signSample({ ...v1, signWith: text }, body)).ok).toBe(false)
  })

  test('[SV8] both kinds in one header are verified by their own keys', () => {
    const body = bodyOf(v1, 'x')
    const [one, two] = [signSample(v1, body), signSample(v1a, body)]
    const both = `${one.headers['webhook-signature']} ${two.headers['webhook-signature']} v2,abc`
    const signedSample = { ...one, headers: { ...one.headers, 'webhook-signature': both } }
    expect(open(v1, signedSample)).toEqual({ ok: true })
    expect(open(v1a, signedSample)).toEqual({ ok: true })
  })

  test.each(['whpk_abc', 'whsk_AAAA', 'not base64!', 'whsec_'])('[SV8] %s is not a key', (secret) => {
    const signedSample = signSample(v1, bodyOf(v1, 'x'))
    expect(open(v1, signedSample, { secrets: [secret] })).toMatchObject({ code: 'signature_wrong' })
    expect(open(v1, signedSample, { secrets: [secret, v1.verifyWith] })).toEqual({ ok: true })
    expect(() => signSample({ ...v1, signWith: secret }, bodyOf(v1, 'x'))).toThrow(SigningError)
  })

  test('[SV8] a public key signs nothing, and the error does not contain it', () => {
    const sign = () => signSample({ ...v1a, signWith: v1a.verifyWith }, bodyOf(v1a, 'x'))
    expect(sign).toThrow(SigningError)
    expect(sign).not.toThrow(v1a.verifyWith)
  })
})

test('[SV4] a public key of zeros, or of small order, is refused', () => {
  // R and S are zero: for some of these points that is a valid signature of every message, or of every few.
  const weak = ['00', '01', 'ec', 'ed', 'ee'].map((first) =>
    Buffer.from(`${first}${(first < 'ec' ? '00' : 'ff').repeat(30)}${first < 'ec' ? '00' : '7f'}`, 'hex'),
  )
  const [discord, standard] = [sampleOf('discord'), sampleOf('standard-webhooks v1a')]
  const headers = {
    'x-signature-ed25519': '00'.repeat(64),
    'x-signature-timestamp': String(NOW / 1000),
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(NOW / 1000),
    'webhook-signature': `v1a,${'A'.repeat(86)}==`,
  }
  for (const bytes of weak.flatMap((one) => [
    one,
    Buffer.from([...one.subarray(0, 31), (one[31] as number) | 0x80]),
  ])) {
    for (const text of ['a', 'b', 'c', 'd']) {
      const signedSample = { headers, body: Buffer.from(text), url: '' }
      expect(open(discord, signedSample, { secrets: [bytes.toString('hex')] }).ok).toBe(false)
      expect(open(standard, signedSample, { secrets: [`whpk_${bytes.toString('base64')}`] }).ok).toBe(false)
    }
  }
})

describe('GitLab', () => {
  const token = sampleOf('gitlab by token')
  const signed = sampleOf('gitlab by signature')
  const body = bodyOf(token, 'x')

  test('[SV8] with signing tokens alone, no bare token is accepted, not even the signing token itself', () => {
    const signedSample = { ...signSample(token, body), headers: { 'x-gitlab-token': signed.verifyWith } }
    expect(open(token, signedSample, { secrets: [signed.verifyWith] })).toMatchObject({
      code: 'signature_missing',
      detail: 'the header webhook-signature is missing',
    })
  })

  test('[SV8] with both, either is enough', () => {
    const secrets = [token.verifyWith, signed.verifyWith]
    expect(open(token, signSample(token, body), { secrets })).toEqual({ ok: true })
    expect(open(token, signSample(signed, body), { secrets })).toEqual({ ok: true })
    const both = { ...signSample(signed, body).headers, 'x-gitlab-token': 'wrong' }
    expect(open(token, { ...signSample(signed, body), headers: both }, { secrets })).toEqual({ ok: true })
  })

  test('[SV8] of two refusals it reports the more informative one', () => {
    const secrets = [token.verifyWith, signed.verifyWith]
    const signedSample = { ...signSample(token, body), headers: { 'x-gitlab-token': 'wrong' } }
    expect(open(token, signedSample, { secrets })).toMatchObject({ code: 'signature_wrong' })
    expect(open(token, { ...signedSample, headers: {} }, { secrets })).toMatchObject({
      code: 'signature_missing',
    })
  })
})

describe('tokens', () => {
  const check = (document: VerifyDocument, value: string, secret = 's3cret-one') =>
    verifySignature(document, {
      headers: { authorization: value, 'x-key': value },
      body: new Uint8Array(),
      secrets: [secret],
      now: NOW,
    })
  const basic = sampleOf('basic').document
  const encode = (text: string) => Buffer.from(text).toString('base64')

  test.each([
    [`Basic ${encode('ada:s3cret-one')}`, true],
    [`basic  ${encode('ada:s3cret-one')}`, true],
    [`Basic ${encode('ada:s3cret-onE')}`, false],
    [`Basic ${encode('bob:s3cret-one')}`, false],
    [`Basic ${encode('ada:')}`, false],
    [`Bearer ${encode('ada:s3cret-one')}`, false],
    ['Basic', false],
    ['Basic !', false],
  ])('[SV12] Basic: %s', (value, isRight) => {
    expect(check(basic, value).ok).toBe(isRight)
  })

  test('[SV12] a password may contain colons and letters of every script', () => {
    expect(check(basic, `Basic ${encode('ada:a:b ü')}`, 'a:b ü')).toEqual({ ok: true })
  })

  test('[SV12] Workfront’s token, with and without Bearer', () => {
    const { document } = sampleOf('workfront')
    expect(check(document, 'Bearer s3cret-one')).toEqual({ ok: true })
    expect(check(document, 's3cret-one')).toEqual({ ok: true })
    expect(check(document, 'Bearer s3cret-one ').ok).toBe(false)
    expect(check(document, 'Bearer').ok).toBe(false)
  })

  test('[SV12] a key needs its prefix, and is compared completely', () => {
    const { document } = sampleOf('api-key')
    expect(check(document, 'Key s3cret-one')).toEqual({ ok: true })
    for (const value of ['s3cret-one', 'Key s3cret-on', 'Key s3cret-one1', 'Key ']) {
      expect(check(document, value)).toMatchObject({ code: 'signature_wrong' })
    }
    expect(check(document, '')).toMatchObject({ code: 'signature_missing' })
  })
})

describe('addresses', () => {
  test.each(['square', 'twilio', 'hubspot'] as const)(
    '[SV11] %s: `url` replaces everything before the query',
    (scheme) => {
      const sample = sampleOf(scheme)
      const document = { scheme, secret: [], url: 'https://public.example.com/hook' }
      const signedSample = signSample({ ...sample, document }, bodyOf(sample, 'x'))
      const inside = {
        ...signedSample,
        url: signedSample.url.replace('https://hooks.example.com/in', 'http://10.0.0.1/in'),
      }
      expect(open(sample, inside, { document })).toEqual({ ok: true })
      expect(open(sample, inside).ok).toBe(false)
      const other = { ...inside, url: inside.url.replace('a=1', 'a=2') }
      expect(open(sample, other, { document }).ok).toBe(false)
    },
  )

  test('[SV11] HubSpot signs twelve characters decoded, and the others as received', () => {
    const { document } = sampleOf('hubspot')
    const body = Buffer.from('{}')
    const sign = (url: string) =>
      signRequest(document, { body, secret: 's', method: 'POST', url, now: NOW })['x-hubspot-signature-v3']
    const address = 'https://x.example/h?'
    expect(sign(`${address}a=%3A%2f%3F%40%21%24%27%28%29%2A%2C%3B`)).toBe(sign(`${address}a=:/?@!$'()*,;`))
    expect(sign(`${address}a=%20`)).not.toBe(sign(`${address}a= `))
    expect(sign(`${address}a=%26`)).not.toBe(sign(`${address}a=&`))
  })
})

describe('Twilio', () => {
  const sample = sampleOf('twilio')
  const form = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  const url = 'https://x.example/in?b=2'
  const sign = (body: string, headers: Record<string, string> = form, to = url) => ({
    ...headers,
    ...signRequest(sample.document, { body: Buffer.from(body), headers, secret: sample.signWith, url: to }),
  })
  const check = (body: string, headers: Record<string, string>, to = url) =>
    open(sample, { headers, body: Buffer.from(body), url: to })

  test('[SV10] fields are sorted; each distinct value of a repeated name counts once', () => {
    const headers = sign('b=2&a=x&a=w&a=x&B=1')
    expect(check('B=1&a=w&a=x&b=2', headers)).toEqual({ ok: true })
    expect(check('B=1&a=w&b=2', headers).ok).toBe(false)
    expect(check('B=1&a=w&a=x&b=3', headers).ok).toBe(false)
  })

  test('[SV10] a default port may be written out', () => {
    const headers = sign('a=1', form, 'https://x.example:443/in?b=2')
    expect(check('a=1', headers)).toEqual({ ok: true })
    expect(check('a=1', sign('a=1'), 'https://x.example:443/in?b=2')).toEqual({ ok: true })
    expect(check('a=1', sign('a=1', form, 'https://x.example:8443/in?b=2')).ok).toBe(false)
  })

  test.each([
    // Received, and as Twilio's services may have signed it.
    ["https://x.example/in?a=it's", 'https://x.example/in?a=it%27s'],
    ['https://x.example/in?a=it%27s', "https://x.example/in?a=it's"],
    ['https://x.example/in?a=1+2', 'https://x.example/in?a=1%202'],
    ['https://x.example/in?a=x%2fy', 'https://x.example/in?a=x%2Fy'],
    ['https://x.example/in?a=x:y', 'https://x.example/in?a=x%3Ay'],
    ['https://x.example/in?a', 'https://x.example/in?a='],
    ['https://x.example/in?a=1&b=2&a=3', 'https://x.example/in?a=1&a=3&b=2'],
    ['https://X.example/in?b=2', 'https://x.example/in?b=2'],
    ['https://x.example/in?a=x:y', 'https://x.example:443/in?a=x%3Ay'],
  ])('[SV10] %s may be signed as %s', (received, signed) => {
    expect(check('a=1', sign('a=1', form, signed), received)).toEqual({ ok: true })
  })

  test.each([
    ['https://x.example/in?a=1&b=2', 'https://x.example/in?b=2&a=1'],
    ['https://x.example/in?a=1', 'https://x.example/in?a=2'],
    ['https://x.example/in?a=1', 'https://x.example/in'],
    ['https://x.example/in?a=%zz', 'https://x.example/in?a=zz'],
    ['https://x.example/in/a', 'https://x.example/in/A'],
    ['https://x.example/in?a=1%2B2', 'https://x.example/in?a=1%202'],
  ])('[SV10] %s is not %s', (received, signed) => {
    expect(check('a=1', sign('a=1', form, signed), received).ok).toBe(false)
  })

  test('[SV10] a body that nothing covers is refused', () => {
    const json = { 'content-type': 'application/json' }
    expect(check('{"a":1}', sign('', json))).toEqual({
      ok: false,
      code: 'signature_wrong',
      detail: 'the body is no form, and the URL has no bodySHA256 for it',
    })
    expect(check('', sign('', json))).toEqual({ ok: true })
  })

  test('[SV17] a form that the event would parse differently, or not at all, is refused', () => {
    const headers = sign('a=1&b=2')
    expect(check('?a=1&b=2', headers).ok).toBe(false)
    const many = Array.from({ length: FIELDS_MAX + 1 }, (_, at) => `f${at}`).join('&')
    for (const unreadable of [many, 'a=%zz']) {
      expect(check(unreadable, headers)).toEqual({
        ok: false,
        code: 'signature_wrong',
        detail: 'the body is a form that cannot be read',
      })
    }
  })

  test('[SV10] a hash in the address is compared for any content type', () => {
    const signedSample = signSample(sample, Buffer.from('{"a":1}'))
    expect(signedSample.url).toContain('&bodySHA256=')
    const { 'x-twilio-signature': signature } = signedSample.headers as { 'x-twilio-signature': string }
    const empty = {
      ...signedSample,
      headers: { ...form, 'x-twilio-signature': signature },
      body: new Uint8Array(),
    }
    expect(open(sample, empty)).toMatchObject({
      code: 'signature_wrong',
      detail: 'bodySHA256 in the URL is not the hash of the body',
    })
  })
})

test('[SV5] Linear’s time may be missing: only Linear could have omitted it', () => {
  const linear = sampleOf('linear')
  for (const text of ['{}', '[1]', 'not json', '{"webhookTimestamp":"x"}']) {
    expect(open(linear, signSample(linear, Buffer.from(text)))).toEqual({ ok: true })
  }
})

describe('handshakes', () => {
  const answer = (name: string, body: unknown, secrets?: readonly string[]) => {
    const sample = sampleOf(name)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const signedSample = signSample(sample, Buffer.from(text))
    expect(open(sample, signedSample, secrets === undefined ? {} : { secrets })).toEqual({ ok: true })
    const all = { ...signedSample, secrets: secrets ?? [sample.verifyWith], now: NOW }
    return handshakeOf(sample.document)?.(all)
  }
  const json = (body: unknown) => ({
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify(body),
  })

  test('[SV14] Slack gets its challenge', () => {
    const question = { token: 't', challenge: '3eZbrw1aB', type: 'url_verification' }
    expect(answer('slack', question)).toEqual(json({ challenge: '3eZbrw1aB' }))
    expect(answer('slack', { ...question, challenge: 7 })).toBeNull()
    expect(answer('slack', { type: 'event_callback', challenge: 'url_verification' })).toBeNull()
  })

  test('[SV14] Terraform Cloud gets 200', () => {
    const question = { payload_version: 1, notifications: [{ trigger: 'verification', run_status: null }] }
    expect(answer('terraform-cloud', question)).toEqual({ status: 200, contentType: 'text/plain', body: '' })
    expect(
      answer('terraform-cloud', { notifications: [{ trigger: 'run:created', message: 'verification' }] }),
    ).toBeNull()
    expect(answer('terraform-cloud', { notifications: 'verification' })).toBeNull()
  })

  test('[SV14] Discord’s pings, of interactions and of events', () => {
    expect(answer('discord', { id: '1', type: 1, version: 1 })).toEqual(json({ type: 1 }))
    expect(answer('discord', { version: 1, type: 0 })).toMatchObject({ status: 204, body: '' })
    expect(answer('discord', { id: '1', type: 2 })).toBeNull()
    expect(answer('discord', { type: 1, event: { type: 'ENTITLEMENT_CREATE' } })).toBeNull()
  })

  test('[SV14] Zoom gets the HMAC of its token, under the secret it signed with', () => {
    const question = { event: 'endpoint.url_validation', payload: { plainToken: 'qgg8vlvZRS6UYooatFL8Aw' } }
    // Computed with Python's hmac.
    const encryptedToken = 'd9e0d764a78494688ba3f2d5c0ed4ca311394b4834d959759213424d2df961e3'
    const zoom = sampleOf('zoom')
    const secret = 'zoom-secret-token'
    const signedSample = signSample({ ...zoom, signWith: secret }, Buffer.from(JSON.stringify(question)))
    const input = { ...signedSample, secrets: ['another', secret], now: NOW }
    expect(handshakeOf(zoom.document)?.(input)).toEqual(
      json({ plainToken: 'qgg8vlvZRS6UYooatFL8Aw', encryptedToken }),
    )
    expect(handshakeOf(zoom.document)?.({ ...input, secrets: ['another'] })).toBeNull()
    expect(answer('zoom', { event: 'meeting.started' })).toBeNull()
  })

  test('[SV14] a body that is not JSON, or long, is an event', () => {
    for (const name of ['slack', 'terraform-cloud', 'discord', 'zoom']) {
      expect(answer(name, 'url_verification verification "type" endpoint.url_validation')).toBeNull()
      expect(answer(name, '[{"type":1}]')).toBeNull()
    }
    const long = { type: 'url_verification', challenge: 'x'.repeat(9_000) }
    expect(answer('slack', long)).toBeNull()
    expect(handshakeOf(sampleOf('github').document)).toBeNull()
  })
})

test('[SV15] no sender may send to a closed source', () => {
  const verify = compileVerifier({ scheme: 'closed' })
  expect(verify({ headers: {}, body: new Uint8Array(), secrets: ['x'], now: NOW })).toMatchObject({
    ok: false,
  })
  expect(signRequest({ scheme: 'closed' }, { body: new Uint8Array(), secret: 'x' })).toEqual({})
})
