// core/json/text.ts — what a text may hold so that every store keeps it.

const LONE_SURROGATE = /\p{Surrogate}/u

/** False for U+0000 and lone surrogates: a store may refuse them, and JSON can bring both. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text)
}
