// The vaults of the node: the one that stores secrets, and those that definitions read from.

import type { BundleCode } from '../adapters/code-bundle/index.ts'
import { makeEnvVault } from '../adapters/vault-env/index.ts'
import { makeFileVault } from '../adapters/vault-file/index.ts'
import { makeHashicorpVault } from '../adapters/vault-hashicorp/index.ts'
import { makeLocalVault } from '../adapters/vault-local/index.ts'
import type { Config } from '../config/index.ts'
import type { MasterKeys } from '../core/secrets/index.ts'
import { rewrapRecords } from '../engine/commit/index.ts'
import { combineVaults } from '../engine/secrets/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Encryption } from '../ports/encryption.ts'
import type { Log } from '../ports/log.ts'
import type { Random } from '../ports/random.ts'
import type { Store } from '../ports/store.ts'
import type { SecretVault, Vault } from '../ports/vault.ts'
import { DEV_SECRETS, type Env } from './demo-in-dev.ts'

export interface Vaults extends AsyncDisposable {
  /** Where secrets are stored. */
  readonly secrets: SecretVault
  /** Resolves whatever definitions name. */
  readonly vault: Vault
}

export function openVaults(
  config: Config,
  deps: {
    readonly env: Env
    readonly store: Store
    /** The store behind the seal. */
    readonly behind: Store
    readonly clock: Clock
    readonly random: Random
    readonly log: Log
    readonly keys: MasterKeys
    readonly encryption: Encryption
    readonly code: Pick<BundleCode, 'renew'>
    /** Files of the node itself, which no definition may read. */
    readonly ownFiles: readonly string[]
  },
): Vaults {
  const { env, behind, clock, log, keys, encryption, code, ownFiles } = deps
  const hashicorp = config.vault === null ? null : makeHashicorpVault(config.vault, { clock, log })
  const ownSecrets = hashicorp ?? makeLocalVault(deps)
  const secrets: SecretVault = {
    ...ownSecrets,
    // Definitions with a credential in clear text and keys of `hmac` are encrypted again, too, and code is signed again.
    async rewrap(tenants) {
      const wrapped = await ownSecrets.rewrap(tenants)
      // Without an earlier key nothing could decrypt what the current one cannot.
      if (config.masterKeysOld.length === 0) return wrapped
      const keyId = keys.current.id
      const reencrypted = await rewrapRecords(behind, { encryption, log, keyId }, tenants)
      if (reencrypted.rewrapped > 0) log.info('seal.rewrapped', { count: reencrypted.rewrapped, keyId })
      const renewed = await code.renew()
      if (renewed > 0) log.info('code.renewed', { count: renewed, keyId })
      return {
        rewrapped: wrapped.rewrapped + reencrypted.rewrapped,
        unreadable: [...wrapped.unreadable, ...reencrypted.unreadable],
      }
    },
  }
  const defaults = config.environment === 'DEV' ? DEV_SECRETS : {}
  const vault = combineVaults({
    env: makeEnvVault({ env, defaults, names: config.secretEnv, log }),
    file: makeFileVault({ folder: config.secretsFolder, ownFiles, clock, log }),
    ref: secrets,
  })
  return { secrets, vault, [Symbol.asyncDispose]: async () => hashicorp?.[Symbol.asyncDispose]() }
}
