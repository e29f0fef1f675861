// The simulator and the engine's tests trust the vault in memory: it behaves like the real ones.

import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { secretVaultConformance, vaultConformance } from '../../ports/vault.conformance.ts'
import { makeMemoryVault } from './vault.fixture.ts'

vaultConformance('memory', async () => {
  const vault = makeMemoryVault(() => 0)
  let count = 0
  return {
    vault,
    set: async (value) => {
      count += 1
      await vault.set(DEFAULT_TENANT, `secret-${count}`, value, { isPending: false, by: 'ada' })
      return { ref: `secret-${count}` }
    },
    missing: () => ({ ref: 'not-set' }),
  }
})

secretVaultConformance('memory', async () => {
  let now = 1_000_000
  const vault = makeMemoryVault(() => now)
  return {
    vault,
    another: () => vault,
    pass: (ms) => {
      now += ms
    },
  }
})
