// Everything in a data file, read beside the process that owns it: to show that something changed nothing.

import { DatabaseSync } from '@photostructure/sqlite'

const REFUSALS_OUT = " WHERE kind <> 'rejection'"

/** Incarnations and the number of the last group change just by opening. */
const OF_THE_STORE_ITSELF = ['incarnation', 'last_group', 'sqlite_sequence']

/** By table. Rejections are written separately, a few seconds later: they are ignored. */
export function readRows(file: string): Readonly<Record<string, readonly unknown[]>> {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
    const names = (tables as { name: string }[]).map(({ name }) => name)
    return Object.fromEntries(
      names
        .filter((name) => !OF_THE_STORE_ITSELF.includes(name))
        .map((name) => [
          name,
          db.prepare(`SELECT * FROM ${name}${name === 'record' ? REFUSALS_OUT : ''}`).all(),
        ]),
    )
  } finally {
    db.close()
  }
}
