// Decides when to move pages from the log into the file.
//
// A checkpoint inside a COMMIT delays everything behind it, so a separate thread does it while the writer continues.
// Under steady load that thread never quite catches up, and the log could only grow; so past a limit the writer does
// the short rest itself, between two groups, and its next commit restarts the log.

import type { Thread } from './thread.ts'

/** Groups between two checkpoints: about 16 MiB of log at 24 commits each. */
const GROUPS_PER_CHECKPOINT = 128
/** Pages in the log from which on the writer finishes the checkpoint: 64 MiB. */
const LOG_PAGES_MAX = 16_384
/** A quiet store is checkpointed this long after its last commit. */
const QUIET_MS = 1_000

interface Progress {
  readonly busy: number
  /** Pages in the log, and how many of them are already in the file. */
  readonly log: number
  readonly checkpointed: number
}

export interface Checkpoints {
  noteGroup(): void
  close(): Promise<void>
}

export function makeCheckpoints(
  writer: Thread,
  openThread: () => Promise<Thread>,
  onFailure: (error: unknown) => void,
): Checkpoints {
  let thread: Promise<Thread> | null = null
  let running: Promise<void> | null = null
  let groups = 0
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  const checkpoint = async () => {
    thread ??= openThread().catch((error) => {
      thread = null
      throw error
    })
    const progress = await (await thread).call<Progress>('checkpoint', null)
    if (progress.log > LOG_PAGES_MAX && !isClosed) await writer.call('checkpoint', null)
  }
  const start = () => {
    groups = 0
    // A failed checkpoint loses nothing: the pages stay in the log, and the next one tries again. A failed flush is
    // different: see there.
    running ??= checkpoint().catch(onFailure).then(done)
  }
  const done = () => {
    running = null
  }
  return {
    noteGroup() {
      groups += 1
      if (isClosed) return
      if (groups >= GROUPS_PER_CHECKPOINT && running === null) start()
      if (timer === null) {
        timer = setTimeout(() => {
          timer = null
          if (groups > 0 && !isClosed) start()
        }, QUIET_MS)
        timer.unref()
      }
    },
    async close() {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
      await running
      await thread?.then(
        (opened) => opened.close(),
        () => {},
      )
    },
  }
}
