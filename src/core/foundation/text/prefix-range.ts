// Prefixes as ranges, so that an index ordered by the bytes of UTF-8 can find them.

const LAST = 0x10ffff
const BEFORE_SURROGATES = 0xd7ff
const AFTER_SURROGATES = 0xe000

/** The first text after all that begin with the prefix; null: there is none, every later text begins with it. */
export function endOfPrefix(prefix: string): string | null {
  const points = Array.from(prefix, (char) => char.codePointAt(0) as number)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === LAST) continue
    points.push(last === BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1)
    return String.fromCodePoint(...points)
  }
  return null
}
