// Secrets from environment variables. `{ ref }` names an entry of a real vault, which this one does not have.
//
// The environment belongs to the node's owner, as does the tenant `default`: for any other tenant nothing is set here.
// The engine's own settings are never returned: a definition must not be able to read the admin key. The owner chooses
// which other names may be read.

import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { type EnvNames, isEnvReadable } from '../../core/secrets/index.ts'
import type { Log } from '../../ports/log.ts'
import type { Vault } from '../../ports/vault.ts'

/** Names that were logged; a definition cannot fill the memory with others. */
const LOGGED_MAX = 1_000

export function makeEnvVault(options: {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Used for variables that are not set; for development. */
  readonly defaults?: Readonly<Record<string, string>>
  /** Which names may be read; null or omitted: all except those that usually hold secrets of the machine. */
  readonly names?: EnvNames
  readonly log?: Pick<Log, 'warn'>
}): Vault {
  const { env, defaults = {}, names = null, log } = options
  /** Each refused name is logged once. */
  const logged = new Set<string>()
  const find = (name: string): string | undefined => {
    if (isEnvReadable(name, names)) return own(env, name) || own(defaults, name) || undefined
    if (!logged.has(name) && logged.size < LOGGED_MAX) {
      logged.add(name)
      log?.warn('vault.env-refused', { name, next: 'name it in MILLRACE_SECRET_ENV, or use { ref: name }' })
    }
    return undefined
  }
  return {
    resolve: (tenant, refs) => {
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
