// Tells when something in a folder changes, once for many changes that come together. Not its job: what changed.

import { watch } from 'node:fs'

export interface FolderWatch {
  /** Settles when nothing is under way any more. */
  close(): Promise<void>
}

/** Editors write a file in several steps, and tools many files at once. */
const CALM_MS = 100

/**
 * `onChange` runs one at a time; what changes meanwhile makes it run again. Throws what the system says when the folder
 * cannot be watched; what goes wrong later is told to `onError`, and ends the watch.
 */
export function watchFolder(
  folder: string,
  onChange: () => Promise<void>,
  onError: (error: unknown) => void,
): FolderWatch {
  let isClosed = false
  let isAgain = false
  let running: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null

  const run = () => {
    timer = null
    if (isClosed) return
    if (running !== null) {
      isAgain = true
      return
    }
    running = onChange()
      .catch(onError)
      .then(() => {
        running = null
        if (!isAgain) return
        isAgain = false
        run()
      })
  }

  const watcher = watch(folder, { recursive: true }, () => {
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(run, CALM_MS)
  })
  watcher.on('error', (error) => {
    watcher.close()
    onError(error)
  })
  return {
    async close() {
      isClosed = true
      watcher.close()
      if (timer !== null) clearTimeout(timer)
      while (running !== null) await running
    },
  }
}
