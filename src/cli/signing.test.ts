import { expect, test } from 'vitest'
import { verifySignature } from '../core/ingest/source/index.ts'
import { open, SAMPLES } from '../core/ingest/source/schemes/samples.fixture.ts'
import { signFor } from './signing.ts'

const body = Buffer.from('{"a":1}')
const url = 'http://127.0.0.1:4400/in/default/x'
const headers = { 'content-type': 'application/json' }

test.each(SAMPLES)('[SV2] $name: what commands sign is valid now, for its address', (sample) => {
  const signed = signFor(sample.document, { url, headers, body, secret: sample.signWith })
  expect(open(sample, { ...signed, body }, { now: Date.now() })).toEqual({ ok: true })
  expect(signed.headers).toMatchObject(headers)
})

test('[SV5] an old time in a header is not signed again', () => {
  const verify = { scheme: 'slack', secret: [] } as const
  const old = { ...headers, 'x-slack-request-timestamp': '1' }
  const signed = signFor(verify, { url, headers: old, body, secret: 's' })
  const input = { headers: signed.headers, body, secrets: ['s'], now: Date.now() }
  expect(verifySignature(verify, input)).toEqual({ ok: true })
})

test('[SV10] a body that is not a form goes to an address with its hash', () => {
  const verify = { scheme: 'twilio', secret: [] } as const
  const signed = signFor(verify, { url, headers, body, secret: 's' })
  expect(signed.url).toMatch(/^http:\/\/127\.0\.0\.1:4400\/in\/default\/x\?bodySHA256=[0-9a-f]{64}$/)
})

test('[SV8] a secret that cannot sign is the caller’s mistake, and is not shown', () => {
  const verify = { scheme: 'discord', secret: [] } as const
  const sign = () => signFor(verify, { url, headers, body, secret: 'not-a-key' })
  expect(sign).toThrow('the secret cannot sign: this scheme signs with the seed of a private key, in hex')
  expect(sign).not.toThrow('not-a-key')
})
