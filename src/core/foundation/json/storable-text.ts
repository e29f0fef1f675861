// Which texts every store can hold.

const LONE_SURROGATE = /\p{Surrogate}/u

/** False for U+0000 and lone surrogates: a store may refuse them, and JSON can contain both. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text)
}

/**
 * The same text with U+FFFD for characters that cannot be stored, truncated to `lengthMax`: for messages, never for keys or
 * data.
 */
export function toStorable(text: string, lengthMax: number): string {
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text
  return isStorable(cut) ? cut : cut.replaceAll('\0', '\ufffd').replace(/\p{Surrogate}/gu, '\ufffd')
}
