// Looks for values that must be nowhere: in every file of a folder, in every possible encoding.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export function readFiles(folder: string): readonly { readonly path: string; readonly bytes: Buffer }[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? readFiles(path) : [{ path, bytes: readFileSync(path) }]
  })
}

/** As it is, and in its common encodings. */
export function spellings(value: string): readonly Buffer[] {
  const bytes = Buffer.from(value)
  return [
    bytes,
    Buffer.from(bytes.toString('hex')),
    // Without the last characters, which depend on what follows.
    Buffer.from(bytes.toString('base64').slice(0, 24)),
    Buffer.from(value, 'utf16le'),
  ]
}
