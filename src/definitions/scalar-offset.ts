// Maps a position in a text to the position of that character in the file: quotes, escapes and indentation lie between.
// If a text is folded over several lines the result is its start.

import type { Scalar } from 'yaml'

const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

export function fileOffset(scalar: Scalar, source: string, offset: number): number {
  const [start, end] = scalar.range ?? [0, 0]
  switch (scalar.type) {
    case 'PLAIN':
      return source.slice(start, end) === scalar.value ? start + offset : start
    case 'QUOTE_SINGLE':
      return walk(source, start, offset, (at) => (source[at] === "'" ? 2 : 1))
    case 'QUOTE_DOUBLE':
      return walk(source, start, offset, (at) => (source[at] === '\\' ? escapeLength(source, at) : 1))
    case 'BLOCK_LITERAL':
      return inLiteral(source, start, String(scalar.value), offset)
    default:
      return start
  }
}

function walk(source: string, start: number, offset: number, width: (at: number) => number): number {
  let at = start + 1
  for (let passed = 0; passed < offset; passed++) {
    if (at >= source.length || source[at] === '\n') return start
    at += width(at)
  }
  return at
}

function escapeLength(source: string, at: number): number {
  return 2 + (HEX_ESCAPES[source[at + 1] ?? ''] ?? 0)
}

function inLiteral(source: string, start: number, value: string, offset: number): number {
  const before = value.slice(0, offset).split('\n')
  const wanted = value.split('\n')[before.length - 1] ?? ''
  let lineStart = start
  for (let passed = 0; passed < before.length; passed++) lineStart = source.indexOf('\n', lineStart) + 1
  const lineEnd = source.indexOf('\n', lineStart)
  const line = source.slice(lineStart, lineEnd < 0 ? source.length : lineEnd).replace(/\r$/, '')
  if (lineStart <= start || !line.endsWith(wanted)) return start
  return lineStart + line.length - wanted.length + (before.at(-1) ?? '').length
}
