// Master keys, identified by an id derived from them. The first encrypts; all decrypt.

import { createHash } from 'node:crypto'

export interface MasterKey {
  /** Stored beside what the key encrypted; reveals nothing about the key. */
  readonly id: string
  readonly bytes: Uint8Array
}

export interface MasterKeys {
  readonly current: MasterKey
  /** null: this node does not have it. */
  find(id: string): MasterKey | null
}

/** Each has 32 bytes. */
export function makeMasterKeys(current: Uint8Array, old: readonly Uint8Array[] = []): MasterKeys {
  const keys = [current, ...old].map((bytes): MasterKey => ({ id: idOf(bytes), bytes }))
  const byId = new Map(keys.map((key) => [key.id, key]))
  return { current: keys[0] as MasterKey, find: (id) => byId.get(id) ?? null }
}

function idOf(bytes: Uint8Array): string {
  return createHash('sha256').update('millrace master key\0').update(bytes).digest('hex').slice(0, 16)
}
