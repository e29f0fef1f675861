// One statement on a connection of the pool, and a few attempts at it.

import type { QueryResult } from 'pg'
import { StoreError } from '../../ports/store.ts'
import type { Pool, Statement } from './connection.ts'
import { classifyError, toStoreError } from './errors.ts'

const ATTEMPTS = 3

async function queryOnce(pool: Pool, statement: Statement): Promise<QueryResult['rows']> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query(statement)
    client.release()
    return rows
  } catch (error) {
    client.release(classifyError(error) === 'lost')
    throw error
  }
}

/** Runs an idempotent operation again, once per connection that turns out to be dead, and after a race. */
export async function retry<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      const failure = classifyError(error)
      const isFinal = error instanceof StoreError || (failure !== 'lost' && failure !== 'again')
      if (attempt >= ATTEMPTS || isFinal) throw toStoreError(error)
    }
  }
}

/** For statements that change nothing when they run once more. */
export function queryAgain(pool: Pool, statement: Statement): Promise<QueryResult['rows']> {
  return retry(() => queryOnce(pool, statement))
}
