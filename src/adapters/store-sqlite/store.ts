// The store over a file: the writer on one thread, look-ups on a second, scans on a third, checkpoints on a fourth.
//
// A thread answers one call after the other, and admitting a request needs a look-up or two: behind a user's search
// they would all wait. So reads that may skip many rows have a thread of their own.

import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { makeGatherer, weighCommit } from '../../core/store/commit/index.ts'
import type { Commit, CommitResult, CommitWatcher, Store } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { gatherLookUps } from './batched-lookups.ts'
import { makeCheckpoints } from './checkpoints.ts'
import { type ClaimedRows, toClaimResult } from './claimed-rows.ts'
import type { FailedCommit } from './executor.ts'
import { refuseMoved } from './moved-marker.ts'
import type { Opening } from './opening.ts'
import { decodeOutcomes, encodeCommits, type Flat } from './protocol.ts'
import { type Ask, makeSystemReads, makeTenantReads } from './read-objects.ts'
import { isScan } from './scans.ts'
import { openThread, type Thread } from './thread.ts'

/** Commits that waited for the last flush share the next one; a lone commit never waits for others. */
const GROUP_MAX = 128
/** Fewer of large bodies: a group is copied to the thread as a whole, and its first commit waits for its last. */
const GROUP_WEIGHT_MAX = 4 * 1024 * 1024

type Reader = 'reader' | 'scanner'

export interface SqliteStoreOptions {
  /** The data file; its folder is created if missing. Beside it are `-wal`, `-shm`, `.lock` and `.durable`. */
  readonly file: string
  readonly groupMax?: number
  readonly inFlightMax?: number
  /** The group at which the operator accepts that the file ends, although more was acknowledged; null: none. */
  readonly acceptLoss?: number | null
  /** For tests: see `ThreadData`. */
  readonly flushFault?: Int32Array
  /** For tests: the store's time is the first element, which is in shared memory. */
  readonly clock?: Float64Array
}

export interface SqliteStore extends Store {
  readonly file: string
  /** What was found when the file was opened. */
  readonly opening: Opening
  /**
   * Settles with the reason when the store accepts nothing any more until it is reopened: a flush failed, or the
   * writing thread broke.
   */
  readonly broken: Promise<string>
}

/**
 * A new file is created for its owner only; the files beside it get the same rights. An existing one is not opened:
 * closing it would drop the locks that this process may hold on it. The driver meets any other error again and can name
 * it.
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
  const { flushFault } = options
  const data = {
    file,
    clock: options.clock ?? null,
    acceptLoss: options.acceptLoss ?? null,
    ...(flushFault !== undefined && { flushFault }),
  }
  const writer = await openThread({ ...data, role: 'writer' })
  let failed: StoreError | null = null
  let reportBroken: (reason: string) => void = () => {}
  const broken = new Promise<string>((resolve) => {
    reportBroken = resolve
  })
  /** After a failed flush nothing is written and nothing is answered from data that may not be on disk. */
  const stopAtFailedFlush = (error: unknown) => {
    if (failed !== null || !(error instanceof StoreError) || error.code !== 'sync_failed') return
    failed = error
    reportBroken(error.message)
  }
  const checkpoints = makeCheckpoints(
    writer,
    () => openThread({ ...data, role: 'checkpoints' }),
    stopAtFailedFlush,
  )
  const readers = new Map<Reader, Promise<Thread>>()
  let closing: Promise<void> | null = null

  /** Why nothing is accepted; null: the store is open. */
  const refusal = (): StoreError | null => {
    if (closing !== null) return new StoreError('closed', 'the store is closed')
    return failed && new StoreError(failed.code, failed.message, { cause: failed })
  }
  const assertOpen = () => {
    const error = refusal()
    if (error !== null) throw error
  }
  /** Of the writing thread. */
  const call = async <T>(name: string, argument: unknown): Promise<T> => {
    try {
      return await writer.call<T>(name, argument)
    } catch (error) {
      stopAtFailedFlush(error)
      throw error
    }
  }
  let watcher: CommitWatcher | null = null
  const gatherer = makeGatherer<Commit, CommitResult, FailedCommit>({
    async run(group) {
      try {
        const flat = await call<Flat>('commit', encodeCommits(group))
        checkpoints.noteGroup()
        const outcomes = decodeOutcomes(flat)
        for (const [index, outcome] of outcomes.entries()) {
          if (outcome.ok === 'failed') {
            stopAtFailedFlush(outcome.error)
            watcher?.failed(outcome.error)
          } else watcher?.settled(group[index] as Commit, outcome)
        }
        return outcomes
      } catch (error) {
        watcher?.failed(error)
        throw error
      }
    },
    isFailure: (outcome) => outcome.ok === 'failed',
    defer: (callback) => void setImmediate(callback),
    groupMax: options.groupMax ?? GROUP_MAX,
    weigh: weighCommit,
    weightMax: GROUP_WEIGHT_MAX,
    inFlightMax: options.inFlightMax ?? 2,
  })
  const write = async <T>(name: string, argument: unknown): Promise<T> => {
    assertOpen()
    return await call<T>(name, argument)
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
  /** A reader that could not start or broke is opened again: it holds nothing that could be lost. */
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
  void writer.ended.then(() => {
    if (closing === null) reportBroken('the thread that writes the store broke')
  })
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
    opening: writer.opened as Opening,
    broken,
    // No promise but the gatherer's: this runs twice per event.
    commit(commit) {
      const error = refusal()
      if (error === null) return gatherer.add(commit)
      watcher?.failed(error)
      return Promise.reject(error)
    },
    watchCommits(watch) {
      watcher = watch
    },
    claim: async (request) => toClaimResult(await write<ClaimedRows>('claim', request)),
    join: (node, ttlMs) => write('join', [node, ttlMs]),
    renew: (owner, ttlMs) => write('renew', [owner, ttlMs]),
    reclaim: (limit) => write('reclaim', limit),
    leave: (owner) => write('leave', owner),
    // Rows are removed one by one here: the other tenants' retention need not go to the thread.
    prune: ({ byTenant: _, ...request }) => write('prune', request),
    forTenant: (tenant) => makeTenantReads(ask, tenant),
    system: () => makeSystemReads(ask),
    [Symbol.asyncDispose]() {
      closing ??= close()
      return closing
    },
  }
}
