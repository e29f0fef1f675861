// Measures how much there is to read, before it is read. Parsing takes a thousand times as long as looking at each
// character, and blocks the node meanwhile: what tenants send is weighed first.

import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import { weighPatterns } from '../core/expression/index.ts'
import { compileSource } from '../core/ingest/source/index.ts'
import { compileRoute } from '../core/routing/index.ts'
import { compileSubscription } from '../core/webhooks/subscription/index.ts'
import { compileWorkflow } from '../core/workflows/machine/index.ts'
import type { Finding } from './finding.ts'
import { type DefinitionFile, makeFinding, makeSourceText } from './source-text.ts'

export const SENT_FILES_MAX = 200
export const SENT_BYTES_MAX = 1_048_576
/** Per file: it is parsed in one go. */
const FILE_MARKS_MAX = 8_000
/** For all files: they are checked in one go. */
const MARKS_MAX = 24_000

/**
 * For the patterns of one document, as `weighPatterns` counts: the node compiles a document in one go when it is
 * applied.
 */
export const PATTERNS_MAX = 100_000

/** What would be too much to accept from tenants; empty: it may be read. */
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

/** Documents whose patterns would block the node when they are compiled there. */
export function findHeavyPatterns(
  definitions: readonly { readonly document: DefinitionDocument; readonly authored: DefinitionFile }[],
): readonly Finding[] {
  return definitions.flatMap(({ document, authored }) => {
    const size = patternSizeOf(document)
    if (size <= PATTERNS_MAX) return []
    const message = `the patterns of ${document.kind} ${document.name} have a size of ${size}, and ${PATTERNS_MAX} is the most: lower their counts, or split it`
    return [tooMuch(authored, message)]
  })
}

export function patternSizeOf(document: DefinitionDocument): number {
  return weighPatterns(() => {
    try {
      if (document.kind === 'Source') compileSource(document)
      else if (document.kind === 'Route') compileRoute(document)
      else if (document.kind === 'Workflow') compileWorkflow(document)
      else if (document.kind === 'Subscription') compileSubscription(document)
    } catch {
      // Applying it will report the error.
    }
  })
}

function tooMuch(file: DefinitionFile, message: string): Finding {
  return makeFinding(makeSourceText({ ...file, text: '' }), 'tooLarge', message, 0)
}

const MARKS = new Set([...',:\n\r[]{}&*!%@`"\''].map((sign) => sign.charCodeAt(0)))
/** If a space follows, they start an item or a key. */
const BEGINNINGS = new Set([...'-?'].map((sign) => sign.charCodeAt(0)))

/** Every value needs at least one of these signs beside it, so there are no more values than signs. */
function countMarks(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at)
    if (MARKS.has(sign) || (BEGINNINGS.has(sign) && text.charCodeAt(at + 1) <= 32)) count += 1
  }
  return count
}
