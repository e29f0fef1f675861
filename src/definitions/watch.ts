// Reports when something changes in a folder that definitions may be made of, once for many changes that come together.
// Not its job: what changed.
//
// One watcher per folder, and none per file: editors that save by renaming put another file in place of the watched
// one. A slow poll of the times and sizes of the files finds what the system does not report.

import { readdirSync, statSync, watch } from 'node:fs'
import { join, relative, sep } from 'node:path'

export interface FolderWatch {
  /** Settles when nothing is in progress any more. */
  close(): Promise<void>
}

/** Editors write a file in several steps, and tools many files at once. */
const CALM_MS = 100
/** What changes all the time is reported all the same. */
const LATEST_MS = 2_000
const LOOK_MS = 2_000
const DEPTH_MAX = 8

/** Definitions, and what their code may import. */
const WATCHED = /\.(?:ya?ml|json|[cm]?[jt]sx?)$/i

interface Watcher {
  on(event: 'error', listener: (error: unknown) => void): unknown
  close(): void
}

interface WatchOptions {
  /** Folders that are not the user's, wherever they are. */
  readonly except?: readonly string[]
  /** When the folder was read: what is newer is a change. */
  readonly since?: number
  /** How the system reports changes in one folder, without subfolders. */
  readonly watch?: (folder: string, listener: (event: string, name: string | null) => void) => Watcher
}

/**
 * `onChange` runs one at a time; changes meanwhile make it run again. Throws the system's error if the folder cannot be
 * watched; later errors go to `onError`, and the slow poll goes on.
 */
export function watchFolder(
  folder: string,
  onChange: () => Promise<void>,
  onError: (error: unknown) => void,
  options: WatchOptions = {},
): FolderWatch {
  const except = (options.except ?? []).map((path) => relative(folder, path).split(sep).join('/'))
  const watchers = new Map<string, Watcher>()
  let isClosed = false
  let isAgain = false
  let running: Promise<void> | null = null
  let calm: NodeJS.Timeout | undefined
  let latest: NodeJS.Timeout | undefined
  let seen = ''

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
    seen = survey().signature
    running = onChange()
      .catch(onError)
      .then(() => {
        running = null
        if (!isAgain) return
        isAgain = false
        run()
      })
  }
  const soon = () => {
    clearTimeout(calm)
    calm = setTimeout(run, CALM_MS)
    latest ??= setTimeout(run, LATEST_MS)
  }

  const isOther = (path: string) =>
    path.split('/').some((name) => name.startsWith('.') || name === 'node_modules') ||
    except.some((own) => path === own || path.startsWith(`${own}/`))

  /** The folders to watch, and the times and sizes of their files. */
  const survey = () => {
    const folders = new Map<string, string>()
    const lines: string[] = []
    let youngest = 0
    const visit = (below: string, depth: number) => {
      const own = statSync(join(folder, below), { throwIfNoEntry: false })
      if (own === undefined) return
      // Another folder under the same name is another folder: the old watcher would stay silent.
      folders.set(`${own.ino} ${below}`, below)
      for (const entry of list(join(folder, below))) {
        const path = below === '' ? entry.name : `${below}/${entry.name}`
        if (isOther(path)) continue
        if (entry.isDirectory() && depth < DEPTH_MAX) visit(path, depth + 1)
        if (!entry.isFile() || !WATCHED.test(entry.name)) continue
        const stat = statSync(join(folder, path), { throwIfNoEntry: false })
        if (stat === undefined) continue
        lines.push(`${path} ${stat.mtimeMs} ${stat.size} ${stat.ino}`)
        youngest = Math.max(youngest, stat.mtimeMs)
      }
    }
    visit('', 0)
    return { folders, signature: lines.sort().join('\n'), youngest }
  }

  /** Folders come and go. */
  const follow = (folders: ReadonlyMap<string, string>) => {
    for (const [id, watcher] of watchers) {
      if (folders.has(id)) continue
      watcher.close()
      watchers.delete(id)
    }
    for (const [id, below] of folders) if (!watchers.has(id)) begin(id, below)
  }

  const begin = (id: string, below: string) => {
    const onEvent = (event: string, name: string | null) => {
      if (isClosed || !isWatched(event, below, name)) return
      soon()
    }
    const watcher = (options.watch ?? watch)(join(folder, below), onEvent)
    watchers.set(id, watcher)
    const end = () => {
      watcher.close()
      if (watchers.get(id) === watcher) watchers.delete(id)
    }
    watcher.on('error', (error) => {
      end()
      if (!isClosed && !isGone(error)) onError(error)
    })
  }

  const isWatched = (event: string, below: string, name: string | null) => {
    if (name === null) return true
    const path = below === '' ? name : `${below}/${name}`
    if (isOther(path)) return false
    if (WATCHED.test(path)) return true
    // A folder was added or removed: its own watcher misses what is in it already.
    if (event === 'rename') look()
    return false
  }

  const look = () => {
    if (isClosed) return
    try {
      const found = survey()
      follow(found.folders)
      if (found.signature !== seen) soon()
    } catch (error) {
      if (!isGone(error)) onError(error)
    }
  }

  const first = survey()
  if (first.folders.size === 0) statSync(folder)
  follow(first.folders)
  seen = first.signature
  if (options.since !== undefined && first.youngest > options.since) soon()
  const looking = setInterval(look, LOOK_MS)
  return {
    async close() {
      isClosed = true
      clearInterval(looking)
      follow(new Map())
      stop()
      while (running !== null) await running
    },
  }
}

/** Empty if it was removed meanwhile. */
function list(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch (error) {
    if (isGone(error)) return []
    throw error
  }
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
