import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { fingerprintOf, isSecretName, isSimpleMasterKey, parseMasterKey } from './index.ts'

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

test('[VA14] keys that are not random are detected', () => {
  const of = (make: (index: number) => number) => Uint8Array.from({ length: 32 }, (_, index) => make(index))
  for (const simple of [
    of(() => 0),
    of(() => 0xff),
    of((index) => index),
    of((index) => 255 - index),
    of((index) => index * 7),
    of((index) => index % 4),
    of((index) => [3, 141, 59, 26, 53, 58, 97, 93, 238, 46, 26, 43, 38, 32, 79, 50][index % 16] as number),
    new Uint8Array(Buffer.from('correct horse correct horse corr')),
  ])
    expect(isSimpleMasterKey(simple), Buffer.from(simple).toString('hex')).toBe(true)
  for (let seed = 0; seed < 200; seed += 1) {
    const key = new Uint8Array(createHash('sha256').update(`key ${seed}`).digest())
    expect(isSimpleMasterKey(key)).toBe(false)
  }
})

test('[VA11] a fingerprint depends on value, name and tenant', () => {
  const all = [
    ['a', 'b', 'c'],
    ['a', 'b', 'd'],
    ['a', 'd', 'c'],
    ['d', 'b', 'c'],
    ['a', 'bc', ''],
    ['ab', '', 'c'],
  ].map(([tenant = '', name = '', value = '']) => fingerprintOf(tenant, name, value))
  expect(new Set(all).size).toBe(all.length)
  expect(fingerprintOf('default', 'crm', 'value')).toMatch(/^[0-9a-f]{16}$/)
  expect(fingerprintOf('default', 'crm', 'value')).toBe(fingerprintOf('default', 'crm', 'value'))
})

test('names of secrets are valid in an address', () => {
  for (const name of ['crm', 'CRM_KEY', 'a.b-c_1', '0']) expect(isSecretName(name)).toBe(true)
  for (const name of ['', '.a', '-a', 'a b', 'a/b', 'ä', 'a\n', 'x'.repeat(129)])
    expect(isSecretName(name)).toBe(false)
})
