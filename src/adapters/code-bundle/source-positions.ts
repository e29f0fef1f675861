// Maps the stack of an error to the line of the user's file that it comes from.

import { SourceMap, type SourceMapPayload } from 'node:module'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CodePlace } from '../../core/effects/function/index.ts'

/** The first frame in a file of the folder; null if there is none. */
export function findPlace(
  error: unknown,
  hash: string,
  map: string,
  folder: string | null,
): CodePlace | null {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return null
  const payload = JSON.parse(map) as SourceMapPayload
  const sourceMap = new SourceMap(payload)
  const copy = new RegExp(`${hash}\\.mjs(?:\\?\\d+)?:(\\d+):(\\d+)`)
  for (const frame of error.stack.split('\n')) {
    const place = placeInCopy(frame, copy, sourceMap) ?? placeInSource(frame, payload.sources)
    const file = place === null ? null : fileOf(place.file, folder)
    if (place !== null && file !== null) return { ...place, file }
  }
  return null
}

/** A frame as the JavaScript engine gives it: in the bundle. */
function placeInCopy(frame: string, copy: RegExp, map: SourceMap): CodePlace | null {
  const match = copy.exec(frame)
  if (match === null) return null
  const entry = map.findEntry(Number(match[1]) - 1, Number(match[2]) - 1)
  if (!('originalSource' in entry)) return null
  return { file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 }
}

/** A frame that Node has already mapped to its source. */
function placeInSource(frame: string, sources: readonly string[]): CodePlace | null {
  const match = /(?:\(|at (?:async )?)((?:file:|\/|[A-Za-z]:\\).+):(\d+):(\d+)\)?$/.exec(frame)
  if (match === null) return null
  const path = String(match[1])
  const source = sources.find(
    (one) => one === path || (one.startsWith('file:') && fileURLToPath(one) === path),
  )
  return source === undefined ? null : { file: source, line: Number(match[2]), column: Number(match[3]) }
}

/** Relative to the folder; null outside it, and for packages. */
function fileOf(source: string, folder: string | null): string | null {
  const path =
    source.startsWith('file:') && folder !== null ? relative(folder, fileURLToPath(source)) : source
  const name = path.split(sep).join('/')
  return name.startsWith('..') || name.includes('node_modules/') || name.includes(':') ? null : name
}
