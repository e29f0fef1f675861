// Many records at once, in batches that a store handles easily: a folder may contain a thousand definitions.

import {
  type Authored,
  type DefinitionDocument,
  hashDocument,
} from '../../core/definitions/documents/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Store, TenantReads, Write } from '../../ports/store.ts'
import { putAuthored, readAuthored } from './definition-records.ts'

export interface NewDefinition {
  readonly document: DefinitionDocument
  /** null: it was not written as a text. */
  readonly authored: Authored | null
}

const RECORDS_PER_COMMIT = 100
const BYTES_PER_COMMIT = 1_048_576
const READS_AT_ONCE = 50

export async function readMany<Key, Value>(
  keys: readonly Key[],
  read: (key: Key) => Promise<Value>,
): Promise<readonly (readonly [Key, Value])[]> {
  const found: (readonly [Key, Value])[] = []
  for (let at = 0; at < keys.length; at += READS_AT_ONCE) {
    const part = keys.slice(at, at + READS_AT_ONCE)
    found.push(...(await Promise.all(part.map(async (key) => [key, await read(key)] as const))))
  }
  return found
}

/**
 * Nothing refers to these yet: they need not be written at once. A definition and its text, of one key, must: they are
 * encrypted together.
 */
export async function saveRecords(store: Store, tenant: TenantId, writes: readonly Write[]): Promise<void> {
  let part: Write[] = []
  let bytes = 0
  const flush = async () => {
    if (part.length > 0) await store.commit({ tenant, guards: [], writes: part })
    part = []
    bytes = 0
  }
  const keyOf = (write: Write | undefined) => (write?.w === 'record.put' ? write.key : null)
  const inOrder = [...writes].sort((a, b) =>
    (keyOf(a) ?? '') < (keyOf(b) ?? '') ? -1 : keyOf(a) === keyOf(b) ? 0 : 1,
  )
  for (const write of inOrder) {
    const isFull = part.length >= RECORDS_PER_COMMIT || bytes >= BYTES_PER_COMMIT
    if (isFull && keyOf(part.at(-1)) !== keyOf(write)) await flush()
    part.push(write)
    bytes += write.w === 'record.put' ? write.body.length : 0
  }
  await flush()
}

/** Texts that differ only in what the hash ignores are stored too, without a version of their own. */
export async function authoredWrites(
  reads: TenantReads,
  definitions: readonly NewDefinition[],
): Promise<readonly Write[]> {
  const texts = new Map(
    definitions.flatMap(({ document, authored }) =>
      authored === null ? [] : [[hashDocument(document), authored] as const],
    ),
  )
  const found = await readMany([...texts.keys()], (hash) => readAuthored(reads, hash))
  return found.flatMap(([hash, known]) => {
    const authored = texts.get(hash) as Authored
    const isSame = known?.text === authored.text && known.path === authored.path
    return isSame ? [] : [putAuthored(hash, authored)]
  })
}
