// How a planted bug is looked for: seed by seed, until a rule is broken; and how it is shown that the seed holds without it.

import type { Rule, Violation } from './book.ts'
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

const clean = new Map<string, Promise<readonly Violation[]>>()

/** What the seed breaks without a bug. Many bugs are found by the same seed: it is run once. */
export function violationsWithout(seed: number, store: StoreKind): Promise<readonly Violation[]> {
  const name = `${seed} ${store}`
  const known = clean.get(name) ?? simulate({ seed, store }).then(({ violations }) => violations)
  clean.set(name, known)
  return known
}
