// An order-independent digest of a table's rows: equal tables have equal digests.
//
// Each row is hashed as canonical JSON; the hashes are added up. The sum ignores the order and nothing else: a row that is
// missing, duplicated or changed in one character gives a different sum.

import { createHash } from 'node:crypto'
import { canonicalJson, type JsonValue } from '../../foundation/json/index.ts'
import { type ArchiveRows, type ArchiveTable, FIELDS_OF } from './archive-rows.ts'

export interface Digest {
  readonly rows: number
  /** 64 hexadecimal digits. */
  readonly hash: string
}

export interface DigestMaker<Table extends ArchiveTable> {
  add(rows: readonly ArchiveRows[Table][]): void
  readonly digest: Digest
}

const HASH_BITS = 256n

export function makeDigest<Table extends ArchiveTable>(table: Table): DigestMaker<Table> {
  let rows = 0
  let sum = 0n
  return {
    add(given) {
      for (const row of given) {
        const hash = createHash('sha256').update(rowText(table, row)).digest('hex')
        sum = BigInt.asUintN(Number(HASH_BITS), sum + BigInt(`0x${hash}`))
      }
      rows += given.length
    },
    get digest() {
      return { rows, hash: sum.toString(16).padStart(64, '0') }
    },
  }
}

/** The row's values in the order of its fields; a missing one is null. Times are whole milliseconds in every store. */
function rowText<Table extends ArchiveTable>(table: Table, row: ArchiveRows[Table]): string {
  const values = FIELDS_OF[table].map(([name, kind]) => {
    const value = (row as Readonly<Record<string, unknown>>)[name] ?? null
    return kind === 'whole' && typeof value === 'number' ? Math.round(value) : value
  })
  return canonicalJson(values as JsonValue)
}

export function isSameDigest(one: Digest, other: Digest): boolean {
  return one.rows === other.rows && one.hash === other.hash
}
