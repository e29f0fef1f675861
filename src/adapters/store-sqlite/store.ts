// The store over a file: the writer on one thread, look-ups on a second, scans on a third, checkpoints on a fourth.
//
// A thread answers one call after the other, and every request is let in by a look-up or two: behind a person's search
// they would all wait. So what may pass by many rows has a thread of its own.

import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { makeGatherer } from '../../core/commit/index.ts'
import type { Commit, Store } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { type Ask, makeSystemReads, makeTenantReads } from './ask.ts'
import { makeCheckpoints } from './checkpoints.ts'
import type { CommitOutcome } from './executor.ts'
import { gatherLookUps } from './look-ups.ts'
import { refuseMoved } from './moved.ts'
import { decodeClaimed, decodeOutcomes, encodeCommits, type Flat } from './protocol.ts'
import { isScan } from './scans.ts'
import { openThread, type Thread } from './thread.ts'

type Reader = 'reader' | 'scanner'

export interface SqliteStoreOptions {
  /** The data file; its folder is made if it is missing. Beside it lie `-wal`, `-shm` and `.lock`. */
  readonly file: string
  readonly groupMax?: number
  readonly inFlightMax?: number
  /** For tests: the store's time is the first element, which lies in shared memory. */
  readonly clock?: Float64Array
  /** For tests: see `ThreadData`. */
  readonly compiled?: string
}

export interface SqliteStore extends Store {
  readonly file: string
  /** Settles when the writing thread broke: the store takes nothing any more until it is opened anew. */
  readonly broken: Promise<void>
}

/**
 * A new file is made for its owner only; the files beside it get the same rights. One that is there is not opened: closing
 * it would drop the locks that this process may hold on it. What else goes wrong, the driver meets again and can name.
 */
function makeOwn(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch {}
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const file = resolve(options.file)
  refuseMoved(file)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  for (const made of [file, `${file}.lock`]) makeOwn(made)
  const compiled = options.compiled === undefined ? {} : { compiled: options.compiled }
  const data = { file, clock: options.clock ?? null, ...compiled }
  const writer = await openThread({ ...data, role: 'writer' })
  const checkpoints = makeCheckpoints(writer, () => openThread({ ...data, role: 'checkpoints' }))
  const readers = new Map<Reader, Promise<Thread>>()
  let closing: Promise<void> | null = null

  const assertOpen = () => {
    if (closing !== null) throw new StoreError('closed', 'the store is closed')
  }
  const gatherer = makeGatherer<Commit, CommitOutcome>({
    async run(group) {
      const flat = await writer.call<Flat>('commit', encodeCommits(group))
      checkpoints.noteGroup()
      return decodeOutcomes(flat)
    },
    defer: (callback) => void setImmediate(callback),
    groupMax: options.groupMax ?? 24,
    inFlightMax: options.inFlightMax ?? 2,
  })
  const write = async <T>(name: string, argument: unknown): Promise<T> => {
    assertOpen()
    return await writer.call<T>(name, argument)
  }
  const ask: Ask = async (name, ...args) => {
    assertOpen()
    if (name === 'ledger') return (await askLedger(args)) as never
    if (name === 'ledgerHistory') return await writer.call(name, args)
    if (!isScan(name, args)) return (await lookUp([name, ...args])) as never
    return await (await openReader('scanner')).call('read', [name, ...args])
  }
  const askLedger = gatherLookUps((all) => writer.call('ledger', all))
  const lookUp = gatherLookUps(async (all) => (await openReader('reader')).call('lookUp', all))
  /** A reader that could not start or broke is opened anew: it holds nothing that could be lost. */
  const openReader = (role: Reader): Promise<Thread> => {
    const known = readers.get(role)
    if (known !== undefined) return known
    const opened = openThread({ ...data, role })
    const forget = () => {
      if (readers.get(role) === opened) readers.delete(role)
    }
    readers.set(role, opened)
    opened.then((thread) => thread.ended.then(forget), forget)
    return opened
  }
  const close = async () => {
    await gatherer.idle()
    for (const reader of [...readers.values()]) {
      await reader.then(
        (thread) => thread.close(),
        () => {},
      )
    }
    await checkpoints.close()
    await writer.close()
  }

  return {
    file,
    broken: new Promise((resolve) => {
      void writer.ended.then(() => {
        if (closing === null) resolve()
      })
    }),
    async commit(commit) {
      assertOpen()
      const outcome = await gatherer.add(commit)
      if (outcome.ok === 'failed') throw outcome.error
      return outcome
    },
    claim: async (request) => decodeClaimed(await write<Flat>('claim', request)),
    join: (node, ttlMs) => write('join', [node, ttlMs]),
    renew: (owner, ttlMs) => write('renew', [owner, ttlMs]),
    reclaim: (limit) => write('reclaim', limit),
    leave: (owner) => write('leave', owner),
    // Rows go one by one here: what holds for others need not go to the thread.
    prune: ({ byTenant: _, ...request }) => write('prune', request),
    forTenant: (tenant) => makeTenantReads(ask, tenant),
    system: () => makeSystemReads(ask),
    [Symbol.asyncDispose]() {
      closing ??= close()
      return closing
    },
  }
}
