// Secrets by file: `MILLRACE_X_FILE` names a file with the value of `MILLRACE_X`. Containers get their secrets this
// way, and a value in a file appears in no process list and in no child's environment.

import { join } from 'node:path'
import type { Config } from './config.ts'
import { SETTINGS } from './schema.ts'

type Env = Readonly<Record<string, string | undefined>>

interface WithFiles {
  readonly env: Env
  readonly findings: readonly { readonly setting: string; readonly message: string }[]
}

/** Only secret settings; a setting whose own name ends so keeps its meaning. */
export const SECRET_NAMES: readonly string[] = Object.values(SETTINGS)
  .filter((setting) => 'secret' in setting && setting.secret === true)
  .map(({ env }) => env)
  .filter((name) => Object.values(SETTINGS).every(({ env }) => env !== `${name}_FILE`))

/** The file's final line break is not part of the secret. */
export function readSecretFiles(env: Env, read: (path: string) => string): WithFiles {
  const filled: Record<string, string | undefined> = { ...env }
  const findings: { setting: string; message: string }[] = []
  for (const name of SECRET_NAMES) {
    const setting = `${name}_FILE`
    const path = env[setting] ?? ''
    if (path === '') continue
    delete filled[setting]
    if ((env[name] ?? '') !== '') {
      findings.push({ setting, message: `${name} is set as well: set one of them.` })
      continue
    }
    try {
      const value = read(path).replace(/\r?\n$/, '')
      if (value === '') findings.push({ setting, message: `${path} is empty.` })
      filled[name] = value
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      findings.push({
        setting,
        message: `${path} cannot be read (${code ?? 'unknown'}); name a file that is there.`,
      })
    }
  }
  return { env: filled, findings }
}

/** Settings that name a file with a secret in it. */
const FILE_SETTINGS: readonly string[] = [
  ...SECRET_NAMES.map((name) => `${name}_FILE`),
  SETTINGS.vaultTokenFile.env,
  SETTINGS.natsCredentialsFile.env,
]

/** Every file with keys of the node itself, existing or not; no definition may read one of them. */
export function ownFilesOf(
  config: Pick<Config, 'dataFolder' | 'store' | 'vault' | 'nats'>,
  env: Env,
): readonly string[] {
  const named = FILE_SETTINGS.map((name) => env[name]?.trim() ?? '')
  const files = [
    ...named,
    config.nats?.credentialsFile ?? '',
    config.vault?.login.by === 'file' ? config.vault.login.file : '',
    config.store.kind === 'sqlite' ? config.store.file : '',
    join(config.dataFolder, 'admin.key'),
    join(config.dataFolder, 'master.key'),
  ]
  return [...new Set(files.filter((path) => path !== ''))]
}
