// What every encryption adapter must do (docs/spec/sensitive.md).

import { describe, expect, test } from 'vitest'
import { isSealed, joinSealed, splitSealed } from '../core/events/sensitive/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type Seal, SealError, type SealPlace } from './encryption.ts'

export interface SealHarness {
  readonly seal: Seal
  /** An adapter after the key was changed, which still knows the earlier one. */
  rotated(): Seal
  /** An adapter that knows none of the keys. */
  stranger(): Seal
}

const PLACE: SealPlace = { tenant: 'acme' as TenantId, row: 'evt_1', part: 'data' }
const PATHS = ['payload.user.email', "payload['a.b']"]
const TEXT = '{"user":{"email":"ada@example.com"},"ü":"💧 \\u0000 \n"}'

export function sealConformance(name: string, makeHarness: () => SealHarness): void {
  const reasonOf = (seal: Seal, place: SealPlace, text: string): string => {
    try {
      seal.open(place, text)
    } catch (error) {
      if (error instanceof SealError) {
        expect(error.message).not.toContain('ada')
        return error.reason
      }
      throw error
    }
    return 'opened'
  }

  describe(`seal: ${name}`, () => {
    test('[SE6] text and paths come back unchanged, and encrypted text shows neither', () => {
      const { seal } = makeHarness()
      for (const text of [TEXT, '', '"x"', 'x'.repeat(100_000)]) {
        const sealed = seal.seal(PLACE, text, PATHS)
        expect(isSealed(sealed)).toBe(true)
        expect(sealed).toMatch(/^[\w.-]+$/)
        expect(seal.open(PLACE, sealed)).toEqual({ text, paths: PATHS })
      }
      expect(
        Buffer.from(splitSealed(seal.seal(PLACE, TEXT, []))?.sealed ?? '', 'base64url').toString(),
      ).not.toContain('ada')
    })

    test('[SE6] the same text is never encrypted alike', () => {
      const { seal } = makeHarness()
      const sealed = Array.from({ length: 100 }, () => seal.seal(PLACE, TEXT, PATHS))
      expect(new Set(sealed).size).toBe(100)
    })

    test('[SE6] it cannot be decrypted at another place', () => {
      const { seal } = makeHarness()
      const sealed = seal.seal(PLACE, TEXT, PATHS)
      const others: readonly SealPlace[] = [
        { ...PLACE, tenant: 'globex' as TenantId },
        { ...PLACE, row: 'evt_2' },
        { ...PLACE, part: 'raw' },
        { ...PLACE, tenant: 'acme","evt_1' as TenantId, row: '' },
      ]
      expect(others.map((place) => reasonOf(seal, place, sealed))).toEqual(others.map(() => 'altered'))
    })

    test('[SE6] an altered text cannot be decrypted', () => {
      const { seal } = makeHarness()
      const sealed = seal.seal(PLACE, TEXT, PATHS)
      const parts = splitSealed(sealed)
      if (parts === null) throw new Error('it is not whole')
      const bytes = Buffer.from(parts.sealed, 'base64url')
      for (const at of [0, 11, 12, Math.floor(bytes.length / 2), bytes.length - 1]) {
        const altered = Buffer.from(bytes)
        altered[at] = (altered[at] as number) ^ 1
        expect(reasonOf(seal, PLACE, joinSealed({ ...parts, sealed: altered.toString('base64url') }))).toBe(
          'altered',
        )
      }
      const paths = Buffer.from('[]').toString('base64url')
      const broken = [
        joinSealed({ ...parts, paths }),
        joinSealed({ ...parts, sealed: '' }),
        joinSealed({ ...parts, sealed: bytes.subarray(0, 20).toString('base64url') }),
        'mrs1.',
        'mrs1.x',
        'mrs1...',
        '{}',
      ]
      for (const text of broken) expect(reasonOf(seal, PLACE, text)).not.toBe('opened')
    })

    test('[SE7] the key is named: earlier keys decrypt, and a node without it gets an error', () => {
      const harness = makeHarness()
      const before = harness.seal.seal(PLACE, TEXT, PATHS)
      const rotated = harness.rotated()
      const after = rotated.seal(PLACE, TEXT, PATHS)
      expect(rotated.open(PLACE, before).text).toBe(TEXT)
      expect(rotated.open(PLACE, after).text).toBe(TEXT)
      expect(splitSealed(before)?.keyId).not.toBe(splitSealed(after)?.keyId)
      expect(reasonOf(harness.stranger(), PLACE, before)).toBe('unknown-key')
      expect(reasonOf(harness.seal, PLACE, after)).toBe('unknown-key')
    })
  })
}
