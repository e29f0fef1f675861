// Whether a user-chosen key can be guessed. It detects keys that are short, repetitive, of one kind of character or of common
// words; it cannot detect every known phrase.

const LENGTH_MIN = 20
const DISTINCT_MIN = 10
const BITS_MIN = 64
/** Of one kind of character only: small letters, capital letters or digits. */
const ONE_KIND_LENGTH_MIN = 40
const ONE_KIND = /^(?:[a-z]+|[A-Z]+|\d+)$/
const KNOWN =
  /password|passwort|passw0rd|secret|changeme|change-me|default|example|millrace|admin|letmein|welcome|qwerty|qwertz|asdf|test|dummy|sample|0123456789|1234567890|123456|abcdef|token|key/gi

/** Why it is weak, in words; null: it is not. */
export function weaknessOf(key: string): string | null {
  if (key.length < LENGTH_MIN) return `it has fewer than ${LENGTH_MIN} characters`
  if (new Set(key).size < DISTINCT_MIN) return `it has fewer than ${DISTINCT_MIN} different characters`
  if (ONE_KIND.test(key) && key.length < ONE_KIND_LENGTH_MIN) return 'it has one kind of character only'
  const rest = key.replaceAll(KNOWN, '')
  if (rest.length < key.length && bitsOf(rest) < BITS_MIN) return 'it is made of words that everybody tries'
  if (isRepeated(key)) return 'a part of it is repeated'
  return bitsOf(key) < BITS_MIN ? 'it is too regular' : null
}

/** By the frequency of each character. */
function bitsOf(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits += count * Math.log2(text.length / count)
  return bits
}

function isRepeated(text: string): boolean {
  return `${text}${text}`.indexOf(text, 1) < text.length
}
