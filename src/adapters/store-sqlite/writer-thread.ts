// The writing thread: the lock, the one connection that writes, and the executor. By itself it only prepares look-ups.

import type { MessagePort } from 'node:worker_threads'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Incarnation, NodeId, TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { PruneRequest } from '../../core/store/retention/index.ts'
import type { ClaimRequest } from '../../ports/store.ts'
import { answerAll } from './batched-lookups.ts'
import { openForWriting, readSettings } from './connection.ts'
import { openMark } from './durable-mark.ts'
import { type Answered, type Asked, makeExecutor } from './executor.ts'
import { takeLock } from './lock.ts'
import { migrate } from './migrate.ts'
import { checkPages, noteClosed, noteOpen, type Opening, prepareFile } from './opening.ts'
import { decodeCommits, encodeOutcomes, type Flat } from './protocol.ts'
import { makeSteadyClock } from './steady-clock.ts'
import { serve, type ThreadData } from './thread.ts'

export function runWriter(port: MessagePort, data: ThreadData): void {
  const { file, clock, flushFault } = data
  serve(port, () => {
    const { lock, db, opened } = open(file, data.acceptLoss ?? null)
    const { mark, executor } = openExecutor(db, file, flushFault)
    const steady = makeSteadyClock({
      notBefore: executor.lastAt,
      wall: () => Date.now(),
      monotonic: () => performance.now(),
    })
    const now = (): Instant => (clock === null ? steady() : Math.max(executor.lastAt, clock[0] ?? 0))
    // The previous holder of the lock is gone, so its incarnations are over, whatever lease they had left.
    executor.fenceAll(now())
    return {
      opened,
      calls: {
        join: ([node, ttlMs]: [NodeId, number]) => executor.join(now(), node, ttlMs),
        renew: ([owner, ttlMs]: [Incarnation, number]) => executor.renew(now(), owner, ttlMs),
        reclaim: (limit: number) => executor.reclaim(now(), limit),
        leave: (owner: Incarnation) => executor.leave(now(), owner),
        prune: (request: PruneRequest) => executor.prune(now(), request),
        ledger: (all: readonly [TenantId, string][]) =>
          answerAll(all, ([tenant, key]) => executor.ledger(tenant, key)),
        ledgerHistory: ([tenant, key]: [TenantId, string]) => executor.ledgerHistory(tenant, key),
        checkpoint: () => db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get(),
      },
      // While one group is flushed, the next and a claim arrive: they share a flush.
      together: {
        names: ['commit', 'claim'],
        run: (all) => executor.together(now(), all.map(toAsked)).map((answered) => () => toAnswer(answered)),
      },
      whileIdle: executor.prepareSome,
      close() {
        try {
          executor.assertSound()
          noteClosed(db)
          mark.close(executor.lastGroup)
        } finally {
          db.close()
          lock[Symbol.dispose]()
        }
      },
    }
  })
}

function toAsked({ name, argument }: { readonly name: string; readonly argument: unknown }): Asked {
  return name === 'commit'
    ? { commits: decodeCommits(argument as Flat) }
    : { claim: argument as ClaimRequest }
}

function toAnswer(answered: Answered): unknown {
  if ('error' in answered) throw answered.error
  return 'outcomes' in answered ? encodeOutcomes(answered.outcomes) : answered.claimed
}

/** The lock first, so that no other process's file is touched; it is released if the file cannot be used. */
function open(
  file: string,
  acceptLoss: number | null,
): { lock: Disposable; db: DatabaseSyncInstance; opened: Opening } {
  const lock = takeLock(file)
  let db: DatabaseSyncInstance | null = null
  try {
    const prepared = prepareFile(file, acceptLoss)
    const { wasUnclean, loss } = prepared
    db = openForWriting(file)
    const isChecked = wasUnclean && checkPages(db, file, loss !== null)
    // The contents of the log are in the file from here on, whatever became of the previous process's last flush.
    if (wasUnclean) db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    migrate(db, file)
    return { lock, db, opened: { ...prepared, isChecked, settings: readSettings(db) } }
  } catch (error) {
    db?.close()
    lock[Symbol.dispose]()
    throw error
  }
}

function openExecutor(db: DatabaseSyncInstance, file: string, flushFault: Int32Array | undefined) {
  const { number } = db.prepare('SELECT number FROM newest_group').get() as { number: number }
  const mark = openMark(file, number)
  noteOpen(db)
  const executor = makeExecutor(db, {
    noteGroup: (group) => mark.note(group),
    ...(flushFault !== undefined && { commit: (commit) => commitOrFail(commit, flushFault) }),
  })
  return { mark, executor }
}

function commitOrFail(commit: () => void, fault: Int32Array): void {
  const code = Atomics.load(fault, 0)
  if (code !== 0) throw Object.assign(new Error('disk I/O error'), { errcode: code })
  commit()
}
