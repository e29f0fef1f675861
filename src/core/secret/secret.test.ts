import { expect, test } from 'vitest'
import { isSecretName, parseMasterKey } from './index.ts'

test('[VA8] a master key is 32 bytes, hexadecimal or base64', () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => 255 - index)
  const buffer = Buffer.from(bytes)
  for (const text of [
    buffer.toString('hex'),
    buffer.toString('hex').toUpperCase(),
    buffer.toString('base64'),
    buffer.toString('base64url'),
  ])
    expect(parseMasterKey(text), text).toEqual(bytes)
  for (const length of [0, 16, 31, 33]) {
    expect(parseMasterKey(Buffer.alloc(length).toString('hex'))).toBeNull()
    expect(parseMasterKey(Buffer.alloc(length).toString('base64'))).toBeNull()
  }
  expect(parseMasterKey('correct horse battery staple')).toBeNull()
})

test('names of secrets can stand in an address', () => {
  for (const name of ['crm', 'CRM_KEY', 'a.b-c_1', '0']) expect(isSecretName(name)).toBe(true)
  for (const name of ['', '.a', '-a', 'a b', 'a/b', 'ä', 'a\n', 'x'.repeat(129)])
    expect(isSecretName(name)).toBe(false)
})
