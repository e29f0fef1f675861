// Secrets from environment variables. `{ ref }` names an entry of a real vault, which this one does not have.
//
// The environment is the node owner's, and so is the tenant `default`: for any other one nothing is set here. The engine's own
// settings are never given out: a definition must not be able to read the admin key.

import { DEFAULT_TENANT } from '../../core/ids/index.ts'
import type { Vault } from '../../ports/vault.ts'

const OWN_SETTINGS = /^MILLRACE_/i

export function makeEnvVault(options: {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Used for variables that are not set; for development. */
  readonly defaults?: Readonly<Record<string, string>>
}): Vault {
  const { env, defaults = {} } = options
  const find = (name: string): string | undefined => {
    if (OWN_SETTINGS.test(name)) return undefined
    return own(env, name) || own(defaults, name) || undefined
  }
  return {
    resolve: async (tenant, refs) => {
      if (tenant !== DEFAULT_TENANT) return []
      const values: string[] = []
      for (const ref of refs) {
        const value = 'env' in ref ? find(ref.env) : undefined
        if (value !== undefined) values.push(value)
      }
      return values
    },
  }
}

function own<Value>(map: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined
}
