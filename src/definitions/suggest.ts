// «Did you mean …?» and the quotes that YAML needs.

/** The candidate that differs in at most two letters (one in short words); capitals do not count. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase()
  let best: string | undefined
  let bestDistance = wanted.length <= 4 ? 2 : 3
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance >= bestDistance) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** The subject that differs least from a pattern, token by token; none when it is another one altogether. */
export function closestSubject(pattern: string, subjects: readonly string[]): string | undefined {
  const wanted = pattern.split('.')
  let best: string | undefined
  let bestDistance = Infinity
  for (const subject of subjects) {
    const tokens = subject.split('.')
    if (Math.abs(tokens.length - wanted.length) > 1) continue
    const distance = tokensDistance(wanted, tokens)
    if (distance >= bestDistance) continue
    best = subject
    bestDistance = distance
  }
  // More than a third of it is no slip.
  return bestDistance <= Math.max(2, pattern.length / 3) ? best : undefined
}

const TOKEN_PRICE = 3

function tokensDistance(wanted: readonly string[], tokens: readonly string[]): number {
  // Most subjects of a catalog are of other vendors: told apart by their first token, at no cost.
  if (wanted.length > 2 && wanted[0] !== tokens[0] && wanted[1] !== tokens[1]) return Infinity
  let distance = TOKEN_PRICE * Math.abs(wanted.length - tokens.length)
  for (let index = 0; index < Math.min(wanted.length, tokens.length); index += 1) {
    const [token, other] = [wanted[index] as string, tokens[index] as string]
    if (token === other || token === '*' || token === '>') continue
    distance += editDistance(token.toLowerCase(), other.toLowerCase()) + 1
  }
  return distance
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : Infinity
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1))
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity
}

export function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}

/** A plain scalar that stays this text, wherever it stands. */
const PLAIN = /^[A-Za-z_/.][A-Za-z0-9_./=<>()?;$+*-]*(?: [A-Za-z0-9_./=<>()?;$&|+*!-]+)*$/
const AMOUNT = /^\d+(?:ms|s|m|h|d|B|KiB|MiB|GiB)$/
const NOT_TEXT = /^(?:true|false|null|\.inf|\.nan|\.\d.*)$/i

/** The text as a YAML scalar, with quotes where it needs them. */
export function quoteYaml(text: string): string {
  return AMOUNT.test(text) || (PLAIN.test(text) && !NOT_TEXT.test(text)) ? text : alwaysQuoteYaml(text)
}

function alwaysQuoteYaml(text: string): string {
  if (/[\n\r\t]/.test(text)) return JSON.stringify(text)
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`
}

const BLOCK_ENTRY = /^\s*(?:- +)*(?:[\w.-]+:\s+|- +)(\S.*?)\s*$/

/** What stands behind the key of a line, in quotes; undefined for a list or map in braces. */
export function quoteLine(line: string): string | undefined {
  const value = BLOCK_ENTRY.exec(line)?.[1]
  if (value === undefined || /^(?:\{(?!\{)|\[)/.test(value)) return undefined
  return alwaysQuoteYaml(value)
}
