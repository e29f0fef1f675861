// "Did you mean …?": the closest candidate to a mistyped word.

/** The candidate that differs in at most two letters (one in short words), ignoring case. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase()
  let best: string | undefined
  let bestDistance = wanted.length <= 4 ? 2 : 3
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const distance = editDistance(wanted, candidate.toLowerCase(), bestDistance)
    if (distance >= bestDistance) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** Longer words are not typos of each other, unless they are equal. */
const LENGTH_MAX = 256

/**
 * Insertions, deletions, replacements and swaps of neighbours. From `limit` on it is Infinity: only the cells nearer to the diagonal are
 * computed, so that words cost their length and not its square.
 */
export function editDistance(a: string, b: string, limit = Infinity): number {
  if (Math.max(a.length, b.length) > LENGTH_MAX) return a === b ? 0 : Infinity
  if (Math.abs(a.length - b.length) >= limit) return Infinity
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = i < limit ? [i] : []
    const end = Math.min(b.length, i + limit)
    for (let j = Math.max(1, i - limit); j <= end; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : Infinity
      row[j] = Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1)
    }
    beforeLast = last
    last = row
  }
  const distance = at(last, b.length)
  return distance < limit ? distance : Infinity
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity
}
