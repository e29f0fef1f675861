// Joins several texts into one lookup key.

/** Different parts never give the same text. */
export function joinKey(...parts: readonly string[]): string {
  let joined = ''
  for (const part of parts) joined += `${part.length}:${part}`
  return joined
}
