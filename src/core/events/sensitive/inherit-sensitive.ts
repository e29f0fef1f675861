// Determines what is sensitive in an event that another one caused.

import { asRestricted, plainPath, restrictedOf } from './classified-paths.ts'
import { compileSensitive, parseSensitivePath, WHOLE_PAYLOAD } from './sensitive-paths.ts'

const NOTHING: readonly string[] = []
const RESTRICTED_PAYLOAD: readonly string[] = WHOLE_PAYLOAD.map(asRestricted)

/**
 * The same payload has the same sensitive paths. Any other payload was computed by a formula or by code, and which value went
 * where is unknown: all of it is sensitive.
 */
export function inheritSensitive(paths: readonly string[], isSamePayload: boolean): readonly string[] {
  if (paths.length === 0) return paths
  if (!isSamePayload) return restrictedOf(paths).length > 0 ? RESTRICTED_PAYLOAD : WHOLE_PAYLOAD
  // Headers are not copied.
  if (compileSensitive(paths).header === null) return paths
  const inPayload = paths.filter((text) => {
    const parsed = parseSensitivePath(plainPath(text))
    return !parsed.ok || parsed.path.root === 'payload'
  })
  return inPayload.length === 0 ? NOTHING : inPayload
}
