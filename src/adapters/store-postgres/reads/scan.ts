// Lists whose filters have no index: how far down the ids one page scans.

import { prepare, type Query } from '../connection.ts'
import type { Value } from './cursor.ts'

/** Adds a value to those of the statement, and returns its placeholder. */
export type Parameter = (value: Value, type: 'text' | 'int8') => string

/** The values of a statement, and the function that adds them. */
export function makeParameters(): { readonly values: Value[]; readonly parameter: Parameter } {
  const values: Value[] = []
  return { values, parameter: (value, type) => `$${values.push(value)}::${type}` }
}

/** The last row to scan, if there are more after it: from the index alone. */
export async function findScanEnd(
  query: Query,
  table: string,
  indexed: (parameter: Parameter) => readonly string[],
  scanMax: number,
): Promise<string | null> {
  const { values, parameter } = makeParameters()
  const where = indexed(parameter).join(' AND ')
  const [end, next] = await query(
    prepare(
      `SELECT t.id FROM ${table} AS t WHERE ${where} ORDER BY t.id DESC ` +
        `LIMIT 2 OFFSET ${parameter(scanMax - 1, 'int8')}`,
      values,
    ),
  )
  return next === undefined ? null : end.id
}
