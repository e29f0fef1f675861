// The keys of the node itself: set by the operator, or generated at the first start and stored beside the data.

import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/index.ts'
import { isSimpleMasterKey, parseMasterKey, weaknessOf } from '../core/secrets/index.ts'
import type { Log } from '../ports/log.ts'
import { SettingError } from './setting-error.ts'

export interface AdminKey {
  readonly value: string
  /** The file it is stored in; null if it came from the environment. */
  readonly file: string | null
}

export async function resolveAdminKey(config: Config): Promise<AdminKey> {
  if (config.adminKey !== null) return { value: config.adminKey, file: null }
  const file = join(config.dataFolder, 'admin.key')
  const value = await keepKey(file, () => `mrk_${randomBytes(24).toString('base64url')}`)
  const weakness = config.environment === 'PROD' ? weaknessOf(value) : null
  if (weakness !== null)
    throw new SettingError(
      'MILLRACE_ADMIN_KEY',
      `${file} holds a key that can be guessed: ${weakness}. Remove the file, and the node makes a good one.`,
    )
  return { value, file }
}

export async function resolveMasterKey(config: Config, log: Log): Promise<Uint8Array> {
  if (config.masterKey !== null) return config.masterKey
  const file = join(config.dataFolder, 'master.key')
  const key = parseMasterKey(await keepKey(file, () => randomBytes(32).toString('base64')))
  if (key === null)
    throw new SettingError('MILLRACE_MASTER_KEY', `${file} does not hold 32 bytes as base64 or hexadecimal.`)
  if (config.environment === 'PROD' && isSimpleMasterKey(key))
    throw new SettingError(
      'MILLRACE_MASTER_KEY',
      `${file} holds a key that was not made by chance; \`openssl rand -base64 32\` makes one. Name the simple one in MILLRACE_MASTER_KEYS_OLD if it sealed something.`,
    )
  if (config.store.kind === 'postgres')
    log.warn('vault.key-of-this-node', {
      file,
      message: 'Nodes that share a store need the same MILLRACE_MASTER_KEY; this one made its own.',
    })
  else if (config.environment === 'PROD')
    log.warn('vault.key-beside-data', {
      file,
      message:
        'A copy of the data folder contains the secrets and their key: set MILLRACE_MASTER_KEY instead.',
    })
  return key
}

/** Generated at the first start and stored beside the data, readable by its owner only. */
async function keepKey(file: string, make: () => string): Promise<string> {
  try {
    const kept = (await readFile(file, 'utf8')).trim()
    if (kept !== '') return kept
    // The process that created the file died before writing it: the key was never used.
    await rm(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const value = make()
  await writeFile(file, `${value}\n`, { mode: 0o600, flag: 'wx' })
  return value
}
