// Finds key files of the node itself in the folder of secrets, where a definition could name them.

import type { BigIntStats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'

/** Whether it is the same file as one of the paths, whatever its name: links and hard links are the same file. */
export async function isOneOf(
  found: Pick<BigIntStats, 'dev' | 'ino'>,
  paths: readonly string[],
): Promise<boolean> {
  for (const path of paths) {
    const own = await stat(path, { bigint: true }).catch(() => null)
    if (own !== null && own.dev === found.dev && own.ino === found.ino) return true
  }
  return false
}

/**
 * Those of the paths that lie in the folder at any depth, or that an entry of the folder links to. A file that does not
 * exist yet counts by where it will be. A folder that does not exist contains nothing.
 */
export async function findOwnFiles(folder: string, paths: readonly string[]): Promise<readonly string[]> {
  const inside = await realpath(folder).catch(() => null)
  if (inside === null) return []
  const found = new Set<string>()
  for (const path of paths) {
    const way = relative(inside, await realPathOf(path))
    if (way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) found.add(path)
  }
  for (const name of await readdir(inside).catch(() => [])) {
    const entry = await stat(join(inside, name), { bigint: true }).catch(() => null)
    if (entry === null || !entry.isFile()) continue
    for (const path of paths) if (await isOneOf(entry, [path])) found.add(path)
  }
  return paths.filter((path) => found.has(path))
}

async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const folder = await realpath(dirname(path)).catch(() => dirname(path))
    return join(folder, basename(path))
  }
}
