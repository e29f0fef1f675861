// For documents in another spelling: records where each part was written, so that a finding about it names that
// position.

import type { FieldPath, Remark } from './finding.ts'
import type { ReadDocument } from './read.ts'

/** The position of a part in the file; `shift` is how much later its text starts now, or where each character was. */
interface Origin {
  readonly now: FieldPath
  readonly was: FieldPath
  readonly shift: number | ((offset: number) => number)
}

export interface Rewriting {
  readonly origins: Origin[]
  readonly notes: Remark[]
}

export interface Imported {
  readonly document: ReadDocument
  /** What each spelling was read as. */
  readonly notes: readonly Remark[]
}

function placedBack(remark: Remark, origins: readonly Origin[]): Remark {
  const origin = origins
    .filter(({ now }) => now.every((step, index) => remark.path[index] === step))
    .toSorted((a, b) => b.now.length - a.now.length)[0]
  if (origin === undefined) return remark
  const path = [...origin.was, ...remark.path.slice(origin.now.length)]
  const { offset, ...rest } = remark
  if (offset === undefined) return { ...rest, path }
  if (typeof origin.shift !== 'number') return { ...rest, path, offset: origin.shift(offset) }
  return offset < origin.shift ? { ...rest, path } : { ...rest, path, offset: offset - origin.shift }
}

/** Records that the value at `now` was written at `was`. */
export function moved(
  work: Rewriting,
  now: FieldPath,
  was: FieldPath,
  message?: string,
  shift: Origin['shift'] = 0,
): void {
  work.origins.push({ now, was, shift })
  if (message === undefined) return
  work.notes.push({ rule: 'imported', severity: 'info', message, path: was, onKey: true })
}

/** Records that what is written at `was` has no counterpart. */
export function lost(work: Rewriting, was: FieldPath, why: string): void {
  const message = `this is lost in the import: ${why}`
  work.notes.push({ rule: 'imported', severity: 'warning', message, path: was, onKey: true })
}

/** The document as it was rewritten. */
export function rewritten(document: ReadDocument, value: ReadDocument['value'], work: Rewriting): Imported {
  const locate = (remark: Remark) => document.locate(placedBack(remark, work.origins))
  return { document: { ...document, value, locate }, notes: work.notes }
}
