// Whether the data belongs to this node: encrypted with a master key that it has, in the file that it wrote last time.
//
// A copied data folder has the pending jobs of the original. Two nodes would run them both, each unaware of the other.
// So a node that finds itself on a copy, or without the key, starts paused until the operator confirms it. A copy is
// recognised by its file: its creation time, or its inode if the file system has none. A restart, a rename and a
// remount change neither.
//
// Invariants: DU7 a copy and a foreign key pause the node. DU8 a confirmation counts for what was found, and for
// nothing later.

import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Config } from '../config/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import type { MasterKeys } from '../core/secrets/index.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'

export interface FileIdentity {
  readonly inode: string
  /** In nanoseconds; 0: the file system does not record it. */
  readonly bornAt: string
}

interface Owner {
  readonly keyId: string
  readonly place: FileIdentity | null
}

export interface Pause {
  /** Why, in whole sentences. */
  readonly reasons: readonly string[]
  /** What the operator repeats to continue all the same. */
  readonly confirm: string
  readonly isConfirmed: boolean
}

export interface OwnerDeps {
  readonly store: Pick<Store, 'forTenant' | 'commit'>
  readonly keys: MasterKeys
  /** The SQLite file; null: the store is shared, and not a file. */
  readonly file: string | null
  /** What the operator confirmed. */
  readonly confirm: string | null
}

/** Its key in the store. */
const KEY = 'home'

/**
 * null: it belongs to this node. Data that no node has recorded yet becomes the property of the first one that checks.
 */
export async function findPause(deps: OwnerDeps): Promise<Pause | null> {
  const { keys } = deps
  const place = deps.file === null ? null : await readFileIdentity(deps.file)
  const owner: Owner = { keyId: keys.current.id, place }
  const record = await deps.store.forTenant(DEFAULT_TENANT).record('setting', KEY)
  const version = record?.version ?? 0
  const known = record === null ? null : (JSON.parse(record.body) as Owner)
  if (known === null) {
    await recordOwner(deps.store, owner, version)
    return null
  }
  const reasons: string[] = []
  if (keys.find(known.keyId) === null)
    reasons.push(
      `The data is encrypted with the master key ${known.keyId}, and this node has ${keys.current.id}: set MILLRACE_MASTER_KEY to that key, or name it in MILLRACE_MASTER_KEYS_OLD.`,
    )
  if (place !== null && known.place !== null && !isSame(place, known.place))
    reasons.push(
      `${deps.file} is a copy of the file that the node wrote last time: stop the node on the original for good before you go on here, or both run the same jobs.`,
    )
  const confirm = digest(JSON.stringify([known, owner]))
  const isConfirmed = deps.confirm === confirm
  const isPaused = reasons.length > 0 && !isConfirmed
  if (!isPaused && JSON.stringify(known) !== JSON.stringify(owner))
    await recordOwner(deps.store, owner, version)
  return reasons.length === 0 ? null : { reasons, confirm, isConfirmed }
}

/** Nodes that share a store and generated their own keys have different ones: another check warns of that. */
export async function checkOwner(
  config: Config,
  { store, keys, log }: { readonly store: Store; readonly keys: MasterKeys; readonly log: Log },
  confirm: string | null,
  by?: string,
): Promise<Pause | null> {
  const { store: where } = config
  if (where.kind === 'postgres' && config.masterKey === null) return null
  const file = where.kind === 'sqlite' ? where.file : null
  const pause = await findPause({ store, keys, file, confirm })
  if (pause === null || !pause.isConfirmed) return pause
  log.warn('node.copy-confirmed', {
    reasons: pause.reasons,
    confirm: pause.confirm,
    ...(by !== undefined && { by }),
  })
  return null
}

async function readFileIdentity(file: string): Promise<FileIdentity> {
  const { ino, birthtimeNs } = await stat(file, { bigint: true })
  return { inode: String(ino), bornAt: String(birthtimeNs) }
}

/** On macOS a copy keeps the creation time of the original. */
function isSame(a: FileIdentity, b: FileIdentity): boolean {
  const isInodeSame = a.inode === b.inode
  if (a.bornAt === '0' || b.bornAt === '0') return isInodeSame
  return a.bornAt === b.bornAt && (isInodeSame || process.platform !== 'darwin')
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

async function recordOwner(store: OwnerDeps['store'], owner: Owner, version: number): Promise<void> {
  await store.commit({
    tenant: DEFAULT_TENANT,
    // Of several nodes that start at once one writes it, and the others find it at their next start.
    guards: [{ g: 'version', of: 'setting', key: KEY, version }],
    writes: [
      { w: 'record.put', kind: 'setting', key: KEY, version: version + 1, body: JSON.stringify(owner) },
    ],
  })
}
