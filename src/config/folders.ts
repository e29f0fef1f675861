// Which folders a node and its commands use by default. In DEV the definitions are those of `./flows` if it exists, as
// `check`, `plan` and `apply` use them. Without them the demo runs, and has its own data folder, so that its dead
// letters are not mixed with the user's.

import { join } from 'node:path'
import { SETTINGS } from './schema.ts'

type Env = Readonly<Record<string, string | undefined>>

const FLOWS_FOLDER = './flows'
const DEMO_DATA_FOLDER = './data-demo'
const DATA_FOLDER = SETTINGS.dataFolder.defaultText
const [FLOWS, DATA, ENVIRONMENT] = ['MILLRACE_FLOWS', 'MILLRACE_DATA', 'MILLRACE_ENV'] as const

/** The settings, with default folders where none is set. `exists` is asked for paths from the working folder. */
export function withFolders(env: Env, exists: (path: string) => boolean): Env {
  if (!isDev(env) || isSet(env, FLOWS)) return env
  if (exists(FLOWS_FOLDER)) return { ...env, [FLOWS]: FLOWS_FOLDER }
  // Data of an older installation, where the demo shared the folder: it must stay in use.
  const isOlder = exists(join(DATA_FOLDER, 'millrace.db')) && !exists(DEMO_DATA_FOLDER)
  return isSet(env, DATA) || isOlder ? env : { ...env, [DATA]: DEMO_DATA_FOLDER }
}

/** Where a node that was started here may have left its admin key, the likeliest first. */
export function dataFolders(env: Env, exists: (path: string) => boolean): readonly string[] {
  const first = withFolders(env, exists)[DATA]?.trim() || DATA_FOLDER
  if (isSet(env, DATA)) return [first]
  return [first, first === DATA_FOLDER ? DEMO_DATA_FOLDER : DATA_FOLDER]
}

function isDev(env: Env): boolean {
  return (env[ENVIRONMENT]?.trim() || SETTINGS.environment.defaultText).toUpperCase() === 'DEV'
}

function isSet(env: Env, name: string): boolean {
  return (env[name]?.trim() ?? '') !== ''
}
