// Which folder of definitions a command means.

import { existsSync } from 'node:fs'
import type { Session } from './command.ts'
import { usageError } from './failure.ts'

export function resolveFolder(session: Session, folder: string | undefined): string {
  if (folder !== undefined) return folder
  const set = session.env.MILLRACE_FLOWS?.trim()
  if (set !== undefined && set !== '') return set
  if (existsSync('flows')) return 'flows'
  throw usageError('which folder?', 'Name the folder with the definitions, or set MILLRACE_FLOWS.')
}
