// A whole store, while no node runs on it: copies everything from one store into another.
//
// Rows are read in pages, in the types of the core (`src/core/store/archive`), so that the copier knows neither store. The
// loaded rows must be equal to the originals, field by field; `test/move.test.ts` checks the stores for it.

import type { ArchiveRows, ArchiveTable, TargetState } from '../core/store/archive/index.ts'

export interface ArchiveReader extends AsyncDisposable {
  /** As the store counts them, without `pages`. */
  count(table: ArchiveTable): Promise<number>
  /**
   * Every row once, in pages that fit into memory. Rows with the same attempt number come in the order in which they were
   * written.
   */
  pages<Table extends ArchiveTable>(table: Table): AsyncIterable<readonly ArchiveRows[Table][]>
}

/** The store that is moved from. It is read and never changed. */
export interface ArchiveSource extends ArchiveReader {
  /** For users. */
  readonly name: string
  /** It was marked as moved before. */
  readonly isMarked: boolean
  /** From now on no node starts on it, until an operator removes the mark. */
  mark(to: string): Promise<void>
}

/** The store that is moved into. */
export interface ArchiveTarget extends ArchiveReader {
  readonly name: string
  state(): Promise<TargetState>
  /** Creates the tables, empty, and records that a move is in progress: until `finish`, no node starts on them. */
  begin(from: string): Promise<void>
  /** Adds rows; none of them exists. */
  load<Table extends ArchiveTable>(table: Table, rows: readonly ArchiveRows[Table][]): Promise<void>
  /** Everything is copied, and was compared. */
  finish(): Promise<void>
}
