// A reading thread: a read-only connection, so that a long list never delays a commit. There are two, one for scans.

import type { MessagePort } from 'node:worker_threads'
import { openForReading } from './connection.ts'
import { makeReads, type ReadName } from './reads.ts'
import { serve, type ThreadData } from './thread.ts'

export function runReader(port: MessagePort, { file }: ThreadData): void {
  serve(port, () => {
    const db = openForReading(file)
    const reads = makeReads(db)
    const begin = db.prepare('BEGIN')
    const commit = db.prepare('COMMIT')
    return {
      calls: {
        // One snapshot per read, also for those of several statements.
        read: ([name, ...args]: [Exclude<ReadName, 'ledger' | 'ledgerHistory'>, ...unknown[]]) => {
          begin.run()
          try {
            return (reads[name] as (...args: unknown[]) => unknown)(...args)
          } finally {
            commit.run()
          }
        },
      },
      close: () => db.close(),
    }
  })
}
