// How many transactions a SQLite store has flushed: the store numbers its groups in the file. Read beside the node that writes it.

import { existsSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'

/** null: there is no such store. */
export function countGroups(file: string): number | null {
  if (!existsSync(file)) return null
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    // A checkout that a change is compared with may have an earlier schema.
    const names = db.prepare("SELECT name FROM sqlite_schema WHERE name = 'newest_group'").all()
    const name = names.length > 0 ? 'newest_group' : 'last_group'
    const row = db.prepare(`SELECT number FROM ${name}`).get() as { number: number }
    return row.number
  } finally {
    db.close()
  }
}
