// Moves a whole store, while no node runs on it: copies every table, reads both sides again, and compares.
//
// Nothing is claimed before the comparison. Then the file is marked first and the schema released last, so that at no
// moment nodes may start on both.

import { messageOf } from '../core/foundation/errors/index.ts'
import {
  ARCHIVE_TABLES,
  type ArchiveTable,
  type Digest,
  decideMove,
  isSameDigest,
  makeDigest,
} from '../core/store/archive/index.ts'
import type { ArchiveReader, ArchiveSource, ArchiveTarget } from '../ports/archive.ts'

export interface MoveOptions {
  readonly source: ArchiveSource
  readonly target: ArchiveTarget
  /** Starts a move again that did not finish. */
  readonly isAgain: boolean
  /** Reads the source, inspects the target, and changes neither. */
  readonly isDryRun: boolean
  readonly signal: AbortSignal
  onProgress(progress: MoveProgress): void
}

export interface MoveProgress {
  readonly step: 'copy' | 'compare'
  readonly table: ArchiveTable
  readonly rows: number
  readonly rowsOfAll: number
}

export interface MovedTable {
  readonly table: ArchiveTable
  readonly rows: number
  readonly hash: string
  /** What the target has; null in a dry run. */
  readonly there: Digest | null
  readonly isEqual: boolean | null
}

export interface MoveReport {
  readonly from: string
  readonly to: string
  readonly isDryRun: boolean
  /** Everything is copied and equal; the file is marked, and nodes may start on the target. */
  readonly isMoved: boolean
  readonly tables: readonly MovedTable[]
}

/** It was refused and changed nothing, or it failed and has to be started again. */
export class MoveError extends Error {
  override readonly name = 'MoveError'
  readonly next: string
  constructor(message: string, next: string, options?: ErrorOptions) {
    super(message, options)
    this.next = next
  }
}

export async function moveStore(options: MoveOptions): Promise<MoveReport> {
  const { source, target, isAgain, isDryRun } = options
  const verdict = decideMove(await target.state(), { isAgain, isMarked: source.isMarked })
  if (!verdict.ok) throw new MoveError(verdict.why, verdict.next)
  if (!isDryRun) await target.begin(source.name)
  let isMarked = false
  try {
    const tables = await copyAndCompare(options)
    const isMoved = !isDryRun && tables.every(({ isEqual }) => isEqual)
    if (isMoved) {
      await source.mark(target.name)
      isMarked = true
      await target.finish()
    }
    return { from: source.name, to: target.name, isDryRun, isMoved, tables }
  } catch (error) {
    if (isDryRun || options.signal.aborted) throw error
    const next = isMarked
      ? `Everything was copied and compared, but the schema was not released. Add --again to start over, or delete ${source.name}.moved to go on with the file.`
      : 'The move did not finish, and the file is unchanged. Add --again to start over.'
    throw new MoveError(messageOf(error), next, { cause: error })
  }
}

async function copyAndCompare(options: MoveOptions): Promise<readonly MovedTable[]> {
  const copied = new Map<ArchiveTable, Digest>()
  for (const table of ARCHIVE_TABLES) copied.set(table, await copyTable(table, options))
  const tables: MovedTable[] = []
  for (const [table, digest] of copied) {
    const there = options.isDryRun ? null : await readTable(table, options.target, options)
    tables.push({ table, ...digest, there, isEqual: there === null ? null : isSameDigest(digest, there) })
  }
  return tables
}

/** One page is written while the next is read. */
async function copyTable<Table extends ArchiveTable>(table: Table, options: MoveOptions): Promise<Digest> {
  const { source, target, isDryRun, signal, onProgress } = options
  const rowsOfAll = await source.count(table)
  const made = makeDigest(table)
  let loading: Promise<void> = Promise.resolve()
  try {
    for await (const page of source.pages(table)) {
      signal.throwIfAborted()
      made.add(page)
      await loading
      if (!isDryRun) loading = target.load(table, page)
      // A failure is checked at the next page.
      loading.catch(() => undefined)
      onProgress({ step: 'copy', table, rows: made.digest.rows, rowsOfAll })
    }
  } finally {
    await loading
  }
  refuseOther(source, table, made.digest, rowsOfAll)
  return made.digest
}

async function readTable<Table extends ArchiveTable>(
  table: Table,
  from: ArchiveReader & { readonly name: string },
  { signal, onProgress }: MoveOptions,
): Promise<Digest> {
  const rowsOfAll = await from.count(table)
  const made = makeDigest(table)
  for await (const page of from.pages(table)) {
    signal.throwIfAborted()
    made.add(page)
    onProgress({ step: 'compare', table, rows: made.digest.rows, rowsOfAll })
  }
  refuseOther(from, table, made.digest, rowsOfAll)
  return made.digest
}

/** The store's count and its rows are found in two ways: a row that neither finds does not exist. */
function refuseOther({ name }: { readonly name: string }, table: ArchiveTable, read: Digest, count: number) {
  if (read.rows === count) return
  throw new Error(
    `${name} counts ${count} rows of ${table} and gave ${read.rows}: keep both stores as they are and report it`,
  )
}
