// Secrets from files of one folder, as Docker and Kubernetes put them there: `{ file: name }` is the file of that name.
//
// The folder belongs to the node's owner, as does the tenant `default`: for any other tenant nothing is set here. A
// file is read when it is requested and at most once a second, so that a change is seen within that time and webhooks
// do not wait for the disk.
//
// Invariant: nothing outside the folder is read. Links are followed to their end, which must be inside: Kubernetes
// links each name to `..data/name`, and `..data` to the current folder. A file that may not be used is not set, and the
// log says why.
//
// Invariant: a key file of the node itself is never read, by whatever name, link or hard link: files are compared by
// device and inode.

import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { makeCache } from '../../core/foundation/cache/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import { isSecretName } from '../../core/secrets/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Vault } from '../../ports/vault.ts'
import { isOneOf } from './own-files.ts'

const READ_EVERY_MS = 1 * SECOND
const BYTES_MAX = 65_536
const NAMES_MAX = 1_000

/** Why an existing file is not used. */
class Refusal extends Error {
  override readonly name = 'Refusal'
}

export function makeFileVault(deps: {
  /** null: there is none, and nothing is set. */
  readonly folder: string | null
  /** Files with keys of the node itself; they need not exist. */
  readonly ownFiles?: readonly string[]
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Pick<Log, 'warn'>
}): Vault {
  const { folder, ownFiles = [], clock, log } = deps
  const values = makeCache<string | null>({ entriesMax: NAMES_MAX, ageMsMax: READ_EVERY_MS })
  const loading = new Map<string, Promise<string | null>>()
  /** What was logged already: once for as long as it lasts, not once a second. */
  const logged = new Map<string, string>()

  const load = async (inside: string, name: string): Promise<string | null> => {
    const keep = values.reading()
    let value: string | null = null
    try {
      value = await readSecretFile(inside, name, ownFiles)
      logged.delete(name)
    } catch (error) {
      logFailure(name, reasonOf(error))
    }
    keep(name, value, clock.monotonic())
    return value
  }

  const logFailure = (name: string, reason: string) => {
    if (logged.get(name) === reason) return
    if (logged.size >= NAMES_MAX) logged.clear()
    logged.set(name, reason)
    log.warn('vault.file-refused', { name, reason })
  }

  const find = (name: string): string | null | Promise<string | null> => {
    if (folder === null || !isSecretName(name)) return null
    const known = values.get(name, clock.monotonic())
    if (known !== undefined) return known
    const under = loading.get(name) ?? load(folder, name).finally(() => loading.delete(name))
    loading.set(name, under)
    return under
  }

  return {
    async resolve(tenant, refs) {
      if (tenant !== DEFAULT_TENANT) return []
      const found: string[] = []
      for (const ref of refs) {
        const value = 'file' in ref ? await find(ref.file) : null
        if (value !== null) found.push(value)
      }
      return found
    },
  }
}

/** null: it does not exist, or it is empty. */
async function readSecretFile(
  folder: string,
  name: string,
  ownFiles: readonly string[],
): Promise<string | null> {
  let path: string
  try {
    const inside = await realpath(folder)
    path = await realpath(join(inside, name))
    if (!path.startsWith(inside.endsWith(sep) ? inside : `${inside}${sep}`))
      throw new Refusal('it links to a place outside of the folder')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  // No further link is followed, and opening does not wait for the other end of a pipe.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const found = await file.stat({ bigint: true })
    if (!found.isFile()) throw new Refusal('it is not a file')
    if (await isOneOf(found, ownFiles)) throw new Refusal('it holds a key of the node itself')
    // One byte more than allowed, because the size read a moment ago may have changed.
    const buffer = Buffer.alloc(BYTES_MAX + 3)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length)
      length += bytesRead
      if (bytesRead === 0 || length === buffer.length) break
    }
    const value = textOf(buffer.subarray(0, length)).replace(/\r?\n$/, '')
    if (Buffer.byteLength(value) > BYTES_MAX) throw new Refusal(`it has more than ${BYTES_MAX} bytes`)
    return value === '' ? null : value
  } finally {
    await file.close()
  }
}

function textOf(bytes: Uint8Array): string {
  if (bytes.length > BYTES_MAX + 2) throw new Refusal(`it has more than ${BYTES_MAX} bytes`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Refusal('it is not text in UTF-8')
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const { code } = error as NodeJS.ErrnoException
  return code === 'EACCES' || code === 'EPERM'
    ? 'the user that the node runs as may not read it'
    : `the system says ${code ?? 'nothing more'}`
}
