// Checks the machine before the node starts: its folders, and who else can reach them and the node.

import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { findOwnFiles } from '../adapters/vault-file/index.ts'
import type { Config } from '../config/index.ts'
import type { Log } from '../ports/log.ts'
import { makeFolder } from './create-directories.ts'
import { DEV_SECRETS, type Env, isDemo } from './demo-in-dev.ts'
import { followSetting, SettingError } from './setting-error.ts'

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|::1)$/

export async function warnOfOpenDoors(
  config: Config,
  options: { readonly env: Env; onNotice?(text: string): void },
  log: Log,
): Promise<void> {
  if (config.environment !== 'DEV' && ((await stat(config.dataFolder)).mode & 0o007) !== 0) {
    const message = 'Every user of this machine can look into the data folder: `chmod 700` closes it.'
    log.warn('node.data-folder-open', { folder: config.dataFolder, message })
  }
  if (!isDemo(config) || LOOPBACK_HOST.test(config.host) || options.env.GITHUB_WEBHOOK_SECRET) return
  const secret = DEV_SECRETS.GITHUB_WEBHOOK_SECRET
  const message = `Others can reach this node, and the demo’s GITHUB_WEBHOOK_SECRET is ‘${secret}’, which everybody knows: set it, or MILLRACE_FLOWS.`
  log.warn('demo.known-secret', { host: config.host, message })
  options.onNotice?.(`Warning: ${message}\n`)
}

/** A definition could otherwise read them by `{ file: name }`. */
export async function refuseOwnFiles({ secretsFolder }: Config, ownFiles: readonly string[]): Promise<void> {
  if (secretsFolder === null) return
  const inside = await findOwnFiles(secretsFolder, ownFiles)
  if (inside.length === 0) return
  const message = `${secretsFolder} holds keys of the node itself (${inside.join(', ')}), which definitions could read. Move them to a folder of their own, and leave in ${secretsFolder} what definitions may read.`
  throw new SettingError('MILLRACE_SECRETS_DIR', message)
}

/** Also those of other settings: adapters would try for ever if a folder cannot be created. */
export async function makeFolders(config: Config): Promise<void> {
  await followSetting('MILLRACE_DATA', config.dataFolder, () => makeFolder(config.dataFolder))
  if (config.store.kind === 'sqlite') {
    const folder = dirname(config.store.file)
    await followSetting('MILLRACE_STORE', folder, () => makeFolder(folder))
  }
  if (config.log === 'stdout' || config.log === 'stderr') return
  const folder = dirname(config.log)
  await followSetting('MILLRACE_LOG', folder, () => makeFolder(folder))
}
