// What every encryption adapter must do (docs/spec/sensitive.md).

import { describe, expect, test } from 'vitest'
import { isEncrypted, joinEncrypted, splitEncrypted } from '../core/events/sensitive/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type Encryption, type EncryptionContext, EncryptionError } from './encryption.ts'

export interface EncryptionHarness {
  readonly encryption: Encryption
  /** An adapter after the key was changed, which still knows the earlier one. */
  rotated(): Encryption
  /** An adapter that knows none of the keys. */
  stranger(): Encryption
}

const PLACE: EncryptionContext = { tenant: 'acme' as TenantId, row: 'evt_1', part: 'data' }
const PATHS = ['payload.user.email', "payload['a.b']"]
const TEXT = '{"user":{"email":"ada@example.com"},"ü":"💧 \\u0000 \n"}'

export function encryptionConformance(name: string, makeHarness: () => EncryptionHarness): void {
  const reasonOf = (encryption: Encryption, place: EncryptionContext, text: string): string => {
    try {
      encryption.open(place, text)
    } catch (error) {
      if (error instanceof EncryptionError) {
        expect(error.message).not.toContain('ada')
        return error.reason
      }
      throw error
    }
    return 'opened'
  }

  describe(`seal: ${name}`, () => {
    test('[SE6] text and paths come back unchanged, and encrypted text shows neither', () => {
      const { encryption } = makeHarness()
      for (const text of [TEXT, '', '"x"', 'x'.repeat(100_000)]) {
        const encrypted = encryption.encrypt(PLACE, text, PATHS)
        expect(isEncrypted(encrypted)).toBe(true)
        expect(encrypted).toMatch(/^[\w.-]+$/)
        expect(encryption.open(PLACE, encrypted)).toEqual({ text, paths: PATHS })
      }
      expect(
        Buffer.from(
          splitEncrypted(encryption.encrypt(PLACE, TEXT, []))?.sealed ?? '',
          'base64url',
        ).toString(),
      ).not.toContain('ada')
    })

    test('[SE6] the same text is never encrypted alike', () => {
      const { encryption } = makeHarness()
      const encrypted = Array.from({ length: 100 }, () => encryption.encrypt(PLACE, TEXT, PATHS))
      expect(new Set(encrypted).size).toBe(100)
    })

    test('[SE6] it cannot be decrypted at another place', () => {
      const { encryption } = makeHarness()
      const encrypted = encryption.encrypt(PLACE, TEXT, PATHS)
      const others: readonly EncryptionContext[] = [
        { ...PLACE, tenant: 'globex' as TenantId },
        { ...PLACE, row: 'evt_2' },
        { ...PLACE, part: 'raw' },
        { ...PLACE, tenant: 'acme","evt_1' as TenantId, row: '' },
      ]
      expect(others.map((place) => reasonOf(encryption, place, encrypted))).toEqual(
        others.map(() => 'altered'),
      )
    })

    test('[SE6] an altered text cannot be decrypted', () => {
      const { encryption } = makeHarness()
      const encrypted = encryption.encrypt(PLACE, TEXT, PATHS)
      const parts = splitEncrypted(encrypted)
      if (parts === null) throw new Error('it is not whole')
      const bytes = Buffer.from(parts.sealed, 'base64url')
      for (const at of [0, 11, 12, Math.floor(bytes.length / 2), bytes.length - 1]) {
        const altered = Buffer.from(bytes)
        altered[at] = (altered[at] as number) ^ 1
        expect(
          reasonOf(encryption, PLACE, joinEncrypted({ ...parts, sealed: altered.toString('base64url') })),
        ).toBe('altered')
      }
      const paths = Buffer.from('[]').toString('base64url')
      const broken = [
        joinEncrypted({ ...parts, paths }),
        joinEncrypted({ ...parts, sealed: '' }),
        joinEncrypted({ ...parts, sealed: bytes.subarray(0, 20).toString('base64url') }),
        'mrs1.',
        'mrs1.x',
        'mrs1...',
        '{}',
      ]
      for (const text of broken) expect(reasonOf(encryption, PLACE, text)).not.toBe('opened')
    })

    test('[SE7] the key is named: earlier keys decrypt, and a node without it gets an error', () => {
      const harness = makeHarness()
      const before = harness.encryption.encrypt(PLACE, TEXT, PATHS)
      const rotated = harness.rotated()
      const after = rotated.encrypt(PLACE, TEXT, PATHS)
      expect(rotated.open(PLACE, before).text).toBe(TEXT)
      expect(rotated.open(PLACE, after).text).toBe(TEXT)
      expect(splitEncrypted(before)?.keyId).not.toBe(splitEncrypted(after)?.keyId)
      expect(reasonOf(harness.stranger(), PLACE, before)).toBe('unknown-key')
      expect(reasonOf(harness.encryption, PLACE, after)).toBe('unknown-key')
    })
  })
}
