// core/sensitive/clear-reads.ts — formulas that would bring a sensitive value to a place that is kept in clear: a subject, an
// object id, a key. `hash(…)` takes the value away and leaves what tells one from another.

import { clearPaths, compilePath } from '../expression/index.ts'
import { overlaps, type SensitivePath } from './paths.ts'

/** The path of the formula that reads what one of `sensitive` hides, or null. The formula must compile. */
export function findClearRead(
  text: string,
  as: 'expression' | 'template',
  sensitive: readonly SensitivePath[],
): { readonly read: string; readonly sensitive: SensitivePath } | null {
  for (const read of clearPaths(text, as)) {
    const compiled = compilePath(read)
    if (!compiled.ok) continue
    const { root, steps } = compiled.path
    if (root !== 'payload' && root !== 'header') continue
    const lowered =
      root === 'header' ? steps.map((step) => (typeof step === 'string' ? step.toLowerCase() : step)) : steps
    const found = sensitive.find((path) => overlaps(path, { root, steps: lowered }))
    if (found !== undefined) return { read, sensitive: found }
  }
  return null
}
