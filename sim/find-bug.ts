// How a planted bug is looked for: seed by seed, until a rule is broken; and how it is shown that the seed holds without it.

import type { Bug } from './bug.ts'
import type { StoreKind } from './data.ts'
import { NO_PARTS, type Parts } from './parts.ts'
import type { Rule, Violation } from './run-observations.ts'
import { simulate } from './world.ts'

const SEEDS_MAX = 40
/** For whatever nothing is arranged for. */
const MIXED_SEEDS_MAX = 300

/** null: none of the seeds shows it. */
export async function huntBug(
  bug: Bug,
  store: StoreKind,
): Promise<{ readonly seed: number; readonly rule: Rule } | null> {
  // A run on SQLite takes several times as long, and the seed that shows a bug on memory nearly always shows it there too.
  const hint = store === 'memory' ? (bug.seed ?? null) : ((await huntBug(bug, 'memory'))?.seed ?? null)
  const seeds = Array.from({ length: bug.isMixed ? MIXED_SEEDS_MAX : SEEDS_MAX }, (_, index) => index + 1)
  for (const seed of hint === null ? seeds : [hint, ...seeds.filter((one) => one !== hint)]) {
    const [violation] = (await simulate({ seed, store, bug })).violations
    if (violation !== undefined) return { seed, rule: violation.rule }
  }
  return null
}

const clean = new Map<string, Promise<readonly Violation[]>>()

/** What the seed breaks without the bug. Many bugs are found by the same seed: it is run once. */
export function violationsWithout(
  seed: number,
  store: StoreKind,
  bug: Partial<Parts> & Pick<Bug, 'isMixed'>,
): Promise<readonly Violation[]> {
  if (bug.isMixed) return simulate({ seed, store, draw: 'sharp' }).then(({ violations }) => violations)
  const names = Object.keys(NO_PARTS) as (keyof Parts)[]
  const parts = Object.fromEntries(names.map((name) => [name, bug[name] === true]))
  const name = `${seed} ${store} ${Object.values(parts).join(' ')}`
  const known = clean.get(name) ?? simulate({ seed, store, ...parts }).then(({ violations }) => violations)
  clean.set(name, known)
  return known
}
