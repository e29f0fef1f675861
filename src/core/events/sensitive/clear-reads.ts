// core/events/sensitive/clear-reads.ts — formulas that would bring a sensitive value to a place that is kept in clear: a subject, an
// object id, a key. `hash(…)` takes the value away and leaves what tells one from another.

import { clearPaths, compilePath } from '../../expression/index.ts'
import { overlaps, type SensitivePath } from './sensitive-paths.ts'

export interface ClearRead {
  /** As the formula writes it. */
  readonly read: string
  readonly sensitive: SensitivePath
}

/** The path of the formula that reads what one of `sensitive` hides, or null. The formula must compile. */
export function findClearRead(
  text: string,
  as: 'expression' | 'template',
  sensitive: readonly SensitivePath[],
): ClearRead | null {
  return findClearReads(text, as, sensitive)[0] ?? null
}

/** All of them: each path that is read, with each that it reads of. */
export function findClearReads(
  text: string,
  as: 'expression' | 'template',
  sensitive: readonly SensitivePath[],
): readonly ClearRead[] {
  return clearPaths(text, as).flatMap((read): readonly ClearRead[] => {
    const compiled = compilePath(read)
    if (!compiled.ok) return []
    const { root, steps } = compiled.path
    if (root !== 'payload' && root !== 'header') return []
    const lowered =
      root === 'header' ? steps.map((step) => (typeof step === 'string' ? step.toLowerCase() : step)) : steps
    return sensitive
      .filter((path) => overlaps(path, { root, steps: lowered }))
      .map((one) => ({ read, sensitive: one }))
  })
}
