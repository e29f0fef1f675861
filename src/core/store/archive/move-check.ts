// Whether a store may be moved into a schema, by what is found there. Pure.

export type TargetState =
  /** There is no such schema, or nothing of ours in it. */
  | 'absent'
  /** The tables are there, without a row. */
  | 'empty'
  /** A move began and did not end. */
  | 'unfinished'
  | 'finished'
  /** Rows are there that no move brought. */
  | 'used'

export type MoveVerdict =
  | { readonly ok: true; readonly wipes: boolean }
  | { readonly ok: false; readonly why: string; readonly next: string }

/**
 * `isMarked`: the file says that it was moved. That is the last but one thing a move does, so a file may say so although the
 * schema does not yet: such a move is begun anew as well.
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
