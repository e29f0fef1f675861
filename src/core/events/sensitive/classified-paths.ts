// What a source's classification of fields means: which paths are sensitive, and which of them only admins may see.
//
// An event carries one list of sensitive paths. A restricted one is marked in it; a node that does not know the mark cannot
// read the path, and hides the whole payload.

interface Classified {
  readonly sensitive?: readonly string[]
  readonly classification?: Readonly<Record<string, string>>
}

const MARK = 'restricted:'
const NONE: readonly string[] = []

function isRestrictedPath(text: string): boolean {
  return text.startsWith(MARK)
}

/** Without its mark. */
export function plainPath(text: string): string {
  return isRestrictedPath(text) ? text.slice(MARK.length) : text
}

export function asRestricted(text: string): string {
  return isRestrictedPath(text) ? text : `${MARK}${text}`
}

export function isHidingLevel(level: unknown): boolean {
  return level === 'confidential' || level === 'restricted'
}

const known = new WeakMap<object, readonly string[]>()

/** Of an event of this source; undefined: nothing is sensitive. */
export function sensitivePathsOf({ sensitive, classification }: Classified): readonly string[] | undefined {
  if (classification === undefined) return sensitive
  const there = known.get(classification)
  if (there !== undefined) return there
  const classified = Object.entries(classification).flatMap(([path, level]) =>
    isHidingLevel(level) ? [level === 'restricted' ? asRestricted(path) : path] : [],
  )
  const paths = [...new Set([...(sensitive ?? NONE), ...classified])]
  known.set(classification, paths)
  return paths.length === 0 ? undefined : paths
}

/** What a caller does not see. */
export function hiddenFrom(
  sensitive: readonly string[],
  reader: { readonly seesSensitive: boolean; readonly seesRestricted: boolean },
): readonly string[] {
  if (reader.seesRestricted || sensitive.length === 0) return NONE
  return reader.seesSensitive ? restrictedOf(sensitive) : sensitive
}

/** What a subscription does not send: `send` is about what is sensitive, and not about what is restricted. */
export function hiddenFromEndpoint(
  sensitive: readonly string[],
  said: 'send' | undefined,
): readonly string[] {
  return said === 'send' ? restrictedOf(sensitive) : sensitive
}

export function restrictedOf(sensitive: readonly string[]): readonly string[] {
  return sensitive.some(isRestrictedPath) ? sensitive.filter(isRestrictedPath) : NONE
}
