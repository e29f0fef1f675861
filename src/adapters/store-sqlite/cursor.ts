// Cursors: the position of the last row of a page, and the list it belongs to.

import { Buffer } from 'node:buffer'
import { StoreError } from '../../ports/store.ts'

export type Position = readonly [rank: number, id: string]

export function encodeCursor(list: string, [rank, id]: Position): string {
  return Buffer.from(JSON.stringify([list, rank, id])).toString('base64url')
}

export function decodeCursor(list: string, cursor: string): Position {
  const [name, rank, id] = parseParts(cursor)
  if (name === list && typeof rank === 'number' && typeof id === 'string') {
    // Decoding base64 is lenient; only a cursor that was returned is accepted.
    if (encodeCursor(list, [rank, id]) === cursor) return [rank, id]
  }
  throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
}

function parseParts(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}
