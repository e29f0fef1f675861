// A store as a whole, while nobody runs on it: what carries everything from one store into another.
//
// Rows come out in pages, in the words of the core (`src/core/store/archive`), so that whoever copies knows neither store. What is
// read back from where it was loaded has to be the same, field by field; `test/move.test.ts` holds the stores to it.

import type { ArchiveRows, ArchiveTable, TargetState } from '../core/store/archive/index.ts'

export interface ArchiveReader extends AsyncDisposable {
  /** As the store counts them, apart from `pages`. */
  count(table: ArchiveTable): Promise<number>
  /** Every row once, in pages that fit into memory. Rows of one try's number come in the order in which they were written. */
  pages<Table extends ArchiveTable>(table: Table): AsyncIterable<readonly ArchiveRows[Table][]>
}

/** The store that is left. It is read and never changed. */
export interface ArchiveSource extends ArchiveReader {
  /** For people. */
  readonly name: string
  /** Somebody has said before that it was moved. */
  readonly isMarked: boolean
  /** From now on no node starts on it, until somebody takes the mark away. */
  mark(to: string): Promise<void>
}

/** The store that is moved into. */
export interface ArchiveTarget extends ArchiveReader {
  readonly name: string
  state(): Promise<TargetState>
  /** Makes the tables, empty, and notes that a move is under way: until `finish`, no node starts on them. */
  begin(from: string): Promise<void>
  /** Adds rows; none of them is there. */
  load<Table extends ArchiveTable>(table: Table, rows: readonly ArchiveRows[Table][]): Promise<void>
  /** Everything is there, and was compared. */
  finish(): Promise<void>
}
