// The checkpointing thread: moves pages from the log into the file beside the writer, which continues meanwhile.

import type { MessagePort } from 'node:worker_threads'
import { openForCheckpoints } from './connection.ts'
import { makeMarkFlusher } from './durable-mark.ts'
import { serve, type ThreadData } from './thread.ts'

/** Its flush matters only for a power cut, and competes with those of the log. */
const MARK_FLUSH_MS = 500

export function runCheckpoints(port: MessagePort, { file }: ThreadData): void {
  serve(port, () => {
    const db = openForCheckpoints(file)
    const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    const mark = makeMarkFlusher(file)
    let flushedAt = 0
    const flushMark = () => {
      if (performance.now() - flushedAt < MARK_FLUSH_MS) return
      flushedAt = performance.now()
      mark.flush()
    }
    return {
      calls: {
        checkpoint() {
          const progress = checkpoint.get()
          flushMark()
          return progress
        },
      },
      close() {
        mark.close()
        db.close()
      },
    }
  })
}
