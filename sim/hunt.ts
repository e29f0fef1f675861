// How a planted bug is looked for: seed by seed, until a rule is broken.

import type { Rule } from './book.ts'
import type { Bug } from './bugs.ts'
import type { StoreKind } from './data.ts'
import { simulate } from './world.ts'

const SEEDS_MAX = 40

/** null: none of the seeds shows it. */
export async function huntBug(
  bug: Bug,
  store: StoreKind,
): Promise<{ readonly seed: number; readonly rule: Rule } | null> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
    const [violation] = (await simulate({ seed, store, bug })).violations
    if (violation !== undefined) return { seed, rule: violation.rule }
  }
  return null
}
