// Whether a store may be moved into a schema, by what it contains. Pure.

export type TargetState =
  /** There is no such schema, or nothing of ours in it. */
  | 'absent'
  /** The tables exist, without a row. */
  | 'empty'
  /** A move began and did not finish. */
  | 'unfinished'
  | 'finished'
  /** Rows exist that no move copied. */
  | 'used'

export type MoveVerdict =
  | { readonly ok: true; readonly wipes: boolean }
  | { readonly ok: false; readonly why: string; readonly next: string }

/**
 * `isMarked`: the file is marked as moved. That is the second-to-last step of a move, so a file may be marked although the
 * schema is not yet complete: such a move starts over as well.
 */
export function decideMove(target: TargetState, asked: { isAgain: boolean; isMarked: boolean }): MoveVerdict {
  switch (target) {
    case 'unfinished':
      if (asked.isAgain) return { ok: true, wipes: true }
      return {
        ok: false,
        why: 'the database has a move that did not end',
        next: 'Add --again: what it brought is deleted there, and everything is copied anew.',
      }
    case 'finished':
      return {
        ok: false,
        why: 'a store was moved into this database already',
        next: 'Start a node on it, or give an empty database.',
      }
    case 'used':
      return {
        ok: false,
        why: 'the database is in use: it has rows that no move brought',
        next: 'Give an empty database; nothing that is there is ever deleted.',
      }
    default:
      if (!asked.isMarked) return { ok: true, wipes: false }
      return {
        ok: false,
        why: 'the file was moved already',
        next: 'Delete the file that says so, beside it, when it should be moved once more.',
      }
  }
}
