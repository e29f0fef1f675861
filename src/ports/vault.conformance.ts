// What every vault must do (docs/spec/ports.md).

import { describe, expect, test } from 'vitest'
import type { SecretRef } from '../core/definition/index.ts'
import { DEFAULT_TENANT } from '../core/ids/index.ts'
import type { Vault } from './vault.ts'

export interface VaultHarness {
  readonly vault: Vault
  /** A reference that has this value. */
  set(value: string): Promise<SecretRef>
  /** A reference of the same sort that has none. */
  missing(): SecretRef
}

export function vaultConformance(name: string, makeHarness: () => Promise<VaultHarness>): void {
  describe(`vault: ${name}`, () => {
    test('[P9] values come in the order of their references', async () => {
      const { vault, set } = await makeHarness()
      const next = await set('next')
      const prior = await set('prior')
      expect(await vault.resolve(DEFAULT_TENANT, [next, prior])).toEqual(['next', 'prior'])
      expect(await vault.resolve(DEFAULT_TENANT, [prior, next])).toEqual(['prior', 'next'])
    })

    test('[P10] what is not set is left out, never an empty text and never an exception', async () => {
      const { vault, set, missing } = await makeHarness()
      const there = await set('there')
      expect(await vault.resolve(DEFAULT_TENANT, [missing(), there])).toEqual(['there'])
      expect(await vault.resolve(DEFAULT_TENANT, [missing()])).toEqual([])
      expect(await vault.resolve(DEFAULT_TENANT, [])).toEqual([])
    })

    test('[P11] a value is given back unchanged, byte for byte', async () => {
      const { vault, set } = await makeHarness()
      const value = ' ü\n"\\ 💧 $HOME\t'
      expect(await vault.resolve(DEFAULT_TENANT, [await set(value)])).toEqual([value])
    })
  })
}
