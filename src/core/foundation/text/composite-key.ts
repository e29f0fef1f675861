// Several texts as one, to look something up by.

/** Different parts never give the same text. */
export function joinKey(...parts: readonly string[]): string {
  let joined = ''
  for (const part of parts) joined += `${part.length}:${part}`
  return joined
}
