// A file that was moved into another store is marked by a small file beside it: two nodes, one on each, would both run
// its jobs.

import { existsSync, readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError } from '../../ports/store.ts'

const markOf = (file: string) => `${file}.moved`

export function isMoved(file: string): boolean {
  return existsSync(markOf(file))
}

export function refuseMoved(file: string): void {
  if (!isMoved(file)) return
  throw new StoreError(
    'in_use',
    `the data file ${file} was moved${whereTo(file)}: start the node on that store. To go back to this file, ` +
      `and lose what happened since, delete ${markOf(file)}`,
  )
}

function whereTo(file: string): string {
  try {
    const { to, at } = JSON.parse(readFileSync(markOf(file), 'utf8')) as { to: string; at: string }
    return ` to ${to} at ${at}`
  } catch {
    // A mark that an operator created by hand means the same.
    return ''
  }
}

/** `to` contains no password. On disk when the promise resolves. */
export async function markMoved(file: string, to: string): Promise<void> {
  const path = markOf(file)
  const half = `${path}.half`
  const handle = await open(half, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify({ to, at: new Date().toISOString() })}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(half, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
