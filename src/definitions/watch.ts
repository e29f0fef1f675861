// Tells when something in a folder changes that definitions may be made of, once for many changes that come together. Not
// its job: what changed.

import { statSync, watch } from 'node:fs'
import { join, relative, sep } from 'node:path'

export interface FolderWatch {
  /** Settles when nothing is under way any more. */
  close(): Promise<void>
}

/** Editors write a file in several steps, and tools many files at once. */
const CALM_MS = 100
/** What changes all the time is told all the same. */
const LATEST_MS = 2_000

/** Definitions, and what their code may import. */
const WATCHED = /\.(?:ya?ml|json|[cm]?[jt]sx?)$/i

interface WatchOptions {
  /** Folders that are not the user's, wherever they lie. */
  readonly except?: readonly string[]
  /** How the system tells of changes. */
  readonly watch?: (
    folder: string,
    options: { readonly recursive: true },
    listener: (event: string, path: string | null) => void,
  ) => { on(event: 'error', listener: (error: unknown) => void): unknown; close(): void }
}

/**
 * `onChange` runs one at a time; what changes meanwhile makes it run again. Throws what the system says when the folder
 * cannot be watched; what goes wrong later is told to `onError`, and ends the watch.
 */
export function watchFolder(
  folder: string,
  onChange: () => Promise<void>,
  onError: (error: unknown) => void,
  options: WatchOptions = {},
): FolderWatch {
  const except = (options.except ?? []).map((path) => relative(folder, path).split(sep).join('/'))
  let isClosed = false
  let isAgain = false
  let running: Promise<void> | null = null
  let calm: NodeJS.Timeout | undefined
  let latest: NodeJS.Timeout | undefined

  const stop = () => {
    clearTimeout(calm)
    clearTimeout(latest)
    latest = undefined
  }
  const run = () => {
    stop()
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

  const isOther = (path: string) =>
    path.split('/').some((name) => name.startsWith('.') || name === 'node_modules') ||
    except.some((own) => path === own || path.startsWith(`${own}/`))

  /** Folders come and go with all that is in them, and their names say nothing. */
  const isFolder = (path: string) =>
    !path.slice(path.lastIndexOf('/') + 1).includes('.') ||
    statSync(join(folder, path), { throwIfNoEntry: false })?.isDirectory() === true

  const isWatched = (event: string, name: string | null) => {
    if (name === null) return true
    const path = name.split(sep).join('/')
    return !isOther(path) && (WATCHED.test(path) || (event === 'rename' && isFolder(path)))
  }

  const watcher = (options.watch ?? watch)(folder, { recursive: true }, (event, path) => {
    if (isClosed || !isWatched(event, path)) return
    clearTimeout(calm)
    calm = setTimeout(run, CALM_MS)
    latest ??= setTimeout(run, LATEST_MS)
  })
  watcher.on('error', (error) => {
    watcher.close()
    onError(error)
  })
  return {
    async close() {
      isClosed = true
      watcher.close()
      stop()
      while (running !== null) await running
    },
  }
}
