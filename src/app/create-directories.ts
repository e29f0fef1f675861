// Creates folders one by one. Node's `mkdir` with `recursive` tries for ever if the file system reports a missing
// parent although it exists, as below /proc.

import { access, constants, mkdir, rmdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Returns the folders that it created, the outermost first. */
export async function makeFolder(path: string): Promise<readonly string[]> {
  const missing: string[] = []
  let at = resolve(path)
  while (!(await isFolder(at))) {
    missing.unshift(at)
    const parent = dirname(at)
    if (parent === at) break
    at = parent
  }
  const made: string[] = []
  try {
    for (const folder of missing) {
      await mkdir(folder, { mode: 0o700 }).catch(allowExisting)
      made.push(folder)
    }
  } catch (error) {
    await removeFolders(made)
    // The parent exists: the file system supports no folders.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') Object.assign(error as Error, { code: 'ENOTSUP' })
    throw error
  }
  return made
}

/** Throws the system's error for a folder that cannot be created or written; leaves nothing behind. */
export async function checkFolder(path: string): Promise<void> {
  const made = await makeFolder(path)
  try {
    await access(path, constants.W_OK | constants.X_OK)
  } finally {
    await removeFolders(made)
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR', path })
}

function allowExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

async function removeFolders(made: readonly string[]): Promise<void> {
  for (const folder of [...made].reverse()) await rmdir(folder).catch(() => {})
}
