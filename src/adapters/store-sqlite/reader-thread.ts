// A reading thread: a read-only connection, so that a long list never delays a commit. There are two, one for scans.

import type { MessagePort } from 'node:worker_threads'
import { answerAll } from './batched-lookups.ts'
import { openForReading } from './connection.ts'
import { makeReads, type ReadName } from './reads.ts'
import { serve, type ThreadData } from './thread.ts'

type Asked = [Exclude<ReadName, 'ledger' | 'ledgerHistory'>, ...unknown[]]

export function runReader(port: MessagePort, { file }: ThreadData): void {
  serve(port, () => {
    const db = openForReading(file)
    const reads = makeReads(db)
    const begin = db.prepare('BEGIN')
    const commit = db.prepare('COMMIT')
    const read = ([name, ...args]: Asked) => (reads[name] as (...args: unknown[]) => unknown)(...args)
    /** One snapshot per read, also for those of several statements. */
    const inSnapshot = <T>(work: () => T): T => {
      begin.run()
      try {
        return work()
      } finally {
        commit.run()
      }
    }
    return {
      calls: {
        read: (asked: Asked) => inSnapshot(() => read(asked)),
        lookUp: (all: readonly Asked[]) => inSnapshot(() => answerAll(all, read)),
      },
      close: () => db.close(),
    }
  })
}
