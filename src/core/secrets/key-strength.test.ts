import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { weaknessOf } from './index.ts'

test.each([
  '',
  'secret',
  'x'.repeat(40),
  'aaaaaaaaaaaaaaaaaaaaaaaab',
  'abababababababababababab',
  '12345678901234567890',
  '11223344556677889900112233',
  'passwordpasswordpassword',
  'Password123Password123!',
  'changeme-changeme-changeme',
  'millrace-admin-key-2026',
  'correcthorsebatterystaple',
  'my-test-admin-secret-key-1',
])('[AC22] %j is weak', (key) => {
  expect(weaknessOf(key)).toEqual(expect.any(String))
})

test('[AC22] random keys are not weak', () => {
  for (let count = 0; count < 200; count += 1) {
    for (const key of [
      randomBytes(32).toString('base64'),
      randomBytes(32).toString('hex'),
      randomBytes(24).toString('base64url'),
      randomBytes(20).toString('hex'),
      `mrk_${randomBytes(24).toString('base64url')}`,
    ])
      expect(weaknessOf(key), key).toBeNull()
  }
})
