// core/events/sensitive/inherit-sensitive.ts — what is sensitive in an event that another one caused.

import { compileSensitive, parseSensitivePath, WHOLE_PAYLOAD } from './sensitive-paths.ts'

const NOTHING: readonly string[] = []

/**
 * The same payload has the same sensitive places. Anything else was made of it by a formula or by code, and nobody can tell
 * what went where: all of it is sensitive.
 */
export function inheritSensitive(paths: readonly string[], isSamePayload: boolean): readonly string[] {
  if (paths.length === 0) return paths
  if (!isSamePayload) return WHOLE_PAYLOAD
  // Headers do not travel with it.
  if (compileSensitive(paths).header === null) return paths
  const inPayload = paths.filter((text) => {
    const parsed = parseSensitivePath(text)
    return !parsed.ok || parsed.path.root === 'payload'
  })
  return inPayload.length === 0 ? NOTHING : inPayload
}
