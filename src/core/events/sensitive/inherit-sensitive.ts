// Determines what is sensitive in an event that another one caused.

import { compileSensitive, parseSensitivePath, WHOLE_PAYLOAD } from './sensitive-paths.ts'

const NOTHING: readonly string[] = []

/**
 * The same payload has the same sensitive paths. Any other payload was computed by a formula or by code, and which value went
 * where is unknown: all of it is sensitive.
 */
export function inheritSensitive(paths: readonly string[], isSamePayload: boolean): readonly string[] {
  if (paths.length === 0) return paths
  if (!isSamePayload) return WHOLE_PAYLOAD
  // Headers are not copied.
  if (compileSensitive(paths).header === null) return paths
  const inPayload = paths.filter((text) => {
    const parsed = parseSensitivePath(text)
    return !parsed.ok || parsed.path.root === 'payload'
  })
  return inPayload.length === 0 ? NOTHING : inPayload
}
