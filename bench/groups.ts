// How many transactions a SQLite store has flushed: the store numbers its groups in the file. Read beside the node that writes it.

import { existsSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'

/** null: there is no such store. */
export function countGroups(file: string): number | null {
  if (!existsSync(file)) return null
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const row = db.prepare('SELECT number FROM last_group WHERE one = 1').get() as { number: number }
    return row.number
  } finally {
    db.close()
  }
}
