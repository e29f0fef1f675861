// Translates the driver's errors into the port's.

import pg from 'pg'
import { StoreError } from '../../ports/store.ts'

/**
 * lost: the connection is gone, or was never made; the server may or may not have finished. again: nothing was applied,
 * and the same may succeed at once (a race with another node). busy: nothing was applied; the server has no capacity or
 * time now.
 * corrupt: the tables are not what the migrations made.
 * refused: nothing was applied, and the same will be refused again: our bug.
 */
export type Failure = 'lost' | 'again' | 'busy' | 'corrupt' | 'refused'

/** By SQLSTATE, or its class (the first two characters). */
const FAILURES: Readonly<Record<string, Failure>> = {
  '08': 'lost', // connection exception
  '25P03': 'lost', // idle in transaction for too long: the server ended the session
  '53': 'busy', // insufficient resources
  '53300': 'lost', // too many connections
  '57P01': 'lost', // shut down by an administrator
  '57P02': 'lost', // crash of another backend
  '57P03': 'lost', // starting up or shutting down
  '57P05': 'lost', // idle session ended
  '57014': 'busy', // statement timeout
  '55P03': 'busy', // lock timeout
  '58': 'busy', // system error outside PostgreSQL, such as a full disk
  '40001': 'again', // serialisation failure
  '40P01': 'again', // deadlock
  '40003': 'lost', // statement completion unknown
  '23505': 'again', // another node inserted the same key first
  '25006': 'lost', // read-only: a standby, or a failover in progress; another connection may reach the new primary
  '28': 'lost', // wrong user or password
  '3D000': 'lost', // no such database
  '3F000': 'corrupt', // no such schema
  '42': 'corrupt', // no such table, column or function
  XX: 'corrupt', // internal error, damaged data
}

/** Ids are the caller's own: an existing one is not a race. A partition's key has the partition's name. */
const OWN_KEYS = /^(event|work|escalation|history)(_past|_default|_\d{8})?_pkey$/

/** The caller passed a value that cannot be written: nothing was sent. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable'
}

/** A row exists that did not when the group took its locks: nothing was sent. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

export function classifyError(error: unknown): Failure {
  if (error instanceof Overtaken) return 'again'
  if (error instanceof Unwritable) return 'refused'
  if (!(error instanceof pg.DatabaseError)) return 'lost'
  if (OWN_KEYS.test(error.constraint ?? '')) return 'refused'
  const code = error.code ?? ''
  return FAILURES[code] ?? FAILURES[code.slice(0, 2)] ?? 'refused'
}

/** A table that does not exist. */
export function isGone(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '42P01'
}

/** The statement exceeded its time limit, apart from its wait for locks. */
export function isTooSlow(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '57014'
}

function describe(error: unknown): string {
  if (error instanceof pg.DatabaseError) return `${error.message} (SQLSTATE ${error.code})`
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ')
  return error instanceof Error ? error.message : String(error)
}

/** The error for the caller. A refusal is a failed assertion of ours, not an infrastructure problem. */
export function toStoreError(error: unknown, applied: 'no' | 'indeterminate' = 'no'): Error {
  if (error instanceof StoreError) return error
  const failure = classifyError(error)
  if (failure === 'refused') {
    return new Error(`assertion failed: the commit cannot be written: ${describe(error)}`, { cause: error })
  }
  if (failure === 'corrupt') {
    return new StoreError(
      'corrupt',
      `the tables are not as the migrations made them: ${describe(error)}; restore the schema from a backup`,
      { cause: error, applied },
    )
  }
  return new StoreError('unavailable', `PostgreSQL is not available: ${describe(error)}`, {
    cause: error,
    applied,
  })
}
