// The checkpointing thread: moves pages from the log into the file beside the writer, which goes on meanwhile.

import type { MessagePort } from 'node:worker_threads'
import { openForCheckpoints } from './connection.ts'
import { serve, type ThreadData } from './thread.ts'

export function runCheckpoints(port: MessagePort, { file }: ThreadData): void {
  serve(port, () => {
    const db = openForCheckpoints(file)
    const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    return { calls: { checkpoint: () => checkpoint.get() }, close: () => db.close() }
  })
}
