// Which lines differ between two texts: a plain longest-common-subsequence, bounded, for human readers.

export interface DiffLine {
  readonly op: ' ' | '+' | '-'
  readonly text: string
}

/** Beyond this much work the changed middle is shown as all removed and all added. */
const CELLS_MAX = 4_000_000
const LINES_MAX = 2_000

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const old = linesOf(before)
  const now = linesOf(after)
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1
  const lines = [
    ...old.slice(0, start).map((text): DiffLine => ({ op: ' ', text })),
    ...diffMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map((text): DiffLine => ({ op: ' ', text })),
  ]
  if (lines.length <= LINES_MAX) return lines
  const left = lines.length - LINES_MAX
  return [...lines.slice(0, LINES_MAX), { op: ' ', text: `… ${left} more lines` }]
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function diffMiddle(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  const removed = old.map((text): DiffLine => ({ op: '-', text }))
  const added = now.map((text): DiffLine => ({ op: '+', text }))
  const width = now.length + 1
  if (old.length === 0 || now.length === 0 || (old.length + 1) * width > CELLS_MAX)
    return [...removed, ...added]
  // common[i * width + j]: how many lines the rests from i and j have in common.
  const common = new Uint32Array((old.length + 1) * width)
  const at = (i: number, j: number) => common[i * width + j] as number
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      lines.push({ op: ' ', text: old[i] as string })
      i += 1
      j += 1
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push(removed[i++] as DiffLine)
    else lines.push(added[j++] as DiffLine)
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)]
}
