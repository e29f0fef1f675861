// Cursors: the position of the last row of a page, and the list it belongs to.

import { Buffer } from 'node:buffer'
import { StoreError } from '../../../ports/store.ts'
import type { ColumnType } from '../parameters.ts'

export type Value = string | number

export function encodeCursor(list: string, place: readonly Value[]): string {
  return Buffer.from(JSON.stringify([list, ...place])).toString('base64url')
}

/** `types`: of the columns of the position. */
export function decodeCursor(list: string, types: readonly ColumnType[], cursor: string): Value[] {
  const [name, ...place] = parseCursor(cursor)
  const fits = (value: unknown, index: number): value is Value =>
    types[index] === 'text' ? typeof value === 'string' : Number.isSafeInteger(value)
  if (name === list && place.length === types.length && place.every(fits)) {
    // Decoding base64 is lenient; only a cursor that was returned is accepted.
    if (encodeCursor(list, place) === cursor) return place
  }
  throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
}

function parseCursor(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}
