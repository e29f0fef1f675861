import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeRedact, REDACTED } from './index.ts'

const SECRET = 'p/ä+ "word" of €ours'

test.each([
  ['as it is', SECRET],
  ['percent-encoded', encodeURIComponent(SECRET)],
  ['in a form', encodeURIComponent(SECRET).replaceAll('%20', '+')],
  ['in JSON', JSON.stringify({ a: SECRET })],
  ['in base64', Buffer.from(SECRET).toString('base64')],
  ['in base64 behind a name', Buffer.from(`ab:${SECRET}`).toString('base64')],
  ['in base64url behind a longer one', Buffer.from(`user:${SECRET}`).toString('base64url')],
])('[DR3] a secret %s is removed', (_how, text) => {
  const clean = makeRedact([SECRET])(`before ${text} behind`)
  expect(clean).toContain(REDACTED)
  expect(clean).not.toContain(SECRET)
  expect(clean.length).toBeLessThan(`before ${text} behind`.length)
})

test('[DR3] any secret is removed, and nothing else', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 8, maxLength: 40 }),
      fc.string(),
      fc.string(),
      (secret, before, behind) => {
        fc.pre(!REDACTED.includes(secret) && secret.trim().length >= 8)
        const redact = makeRedact([secret])
        expect(redact(`${before}${secret}${behind}`).includes(secret)).toBe(false)
      },
    ),
  )
  expect(makeRedact([])('all of it')).toBe('all of it')
  expect(makeRedact(['abc'])('abc')).toBe('abc')
})
