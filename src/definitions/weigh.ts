// How much there is to read, before it is read. Parsing takes a thousand times as long as looking at each character, and
// nothing else of the node goes on meanwhile: what others send is weighed first.

import type { Finding } from './finding.ts'
import { type DefinitionFile, makeFinding, makeSourceText } from './source-text.ts'

export const SENT_FILES_MAX = 200
export const SENT_BYTES_MAX = 1_048_576
/** Of one file: it is parsed in one go. */
const FILE_MARKS_MAX = 8_000
/** Of all: they are checked in one go. */
const MARKS_MAX = 24_000

/** What would be too much to take from others; empty: it may be read. */
export function findTooMuch(files: readonly DefinitionFile[]): readonly Finding[] {
  let bytes = 0
  let marks = 0
  for (const file of files) {
    const own = countMarks(file.text)
    bytes += Buffer.byteLength(file.text)
    marks += own
    if (own > FILE_MARKS_MAX)
      return [tooMuch(file, `this has more than ${FILE_MARKS_MAX} values and signs: split it`)]
    if (bytes > SENT_BYTES_MAX)
      return [tooMuch(file, `the files have more than ${SENT_BYTES_MAX} bytes together: send fewer at once`)]
    if (marks > MARKS_MAX)
      return [
        tooMuch(file, `the files have more than ${MARKS_MAX} values and signs together: send fewer at once`),
      ]
  }
  return []
}

function tooMuch(file: DefinitionFile, message: string): Finding {
  return makeFinding(makeSourceText({ ...file, text: '' }), 'tooLarge', message, 0)
}

const MARKS = new Set([...',:\n\r[]{}&*!%@`"\''].map((sign) => sign.charCodeAt(0)))
/** Where a space follows, they begin an item or a key. */
const BEGINNINGS = new Set([...'-?'].map((sign) => sign.charCodeAt(0)))

/** Every value needs at least one of these signs beside it, so that there are no more values than signs. */
function countMarks(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at)
    if (MARKS.has(sign) || (BEGINNINGS.has(sign) && text.charCodeAt(at + 1) <= 32)) count += 1
  }
  return count
}
