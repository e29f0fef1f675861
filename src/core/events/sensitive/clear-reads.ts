// Formulas that would copy a sensitive value to a place that is stored in clear: a subject, an object id, a key. `hash(…)`
// removes the value and leaves a digest that distinguishes values.

import { clearPaths, compilePath } from '../../expression/index.ts'
import { overlaps, type SensitivePath } from './sensitive-paths.ts'

export interface ClearRead {
  /** As the formula writes it. */
  readonly read: string
  readonly sensitive: SensitivePath
}

/** The path of the formula that reads a value hidden by one of `sensitive`, or null. The formula must compile. */
export function findClearRead(
  text: string,
  as: 'expression' | 'template',
  sensitive: readonly SensitivePath[],
): ClearRead | null {
  return findClearReads(text, as, sensitive)[0] ?? null
}

/** All of them: each path that is read, with each sensitive path that it reads. */
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
