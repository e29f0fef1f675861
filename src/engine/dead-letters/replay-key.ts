// Finds the key under which a route processed an event before. A replay of the event uses that key again, whatever the
// deployed formula yields: it is the same effect, and the ledger knows it by that key.
//
// Invariant: IN20 a changed formula duplicates nothing.

import { ExpressionError, type Scope } from '../../core/expression/index.ts'
import type { WorkRow, WorkState } from '../../core/queue/work/index.ts'
import type { Registry } from '../definitions/index.ts'

/** In these states the row has the job's own key; in others it may have the key of a function's unknown outcome. */
const NAMES_ITSELF: readonly WorkState[] = ['done', 'dead']

/**
 * `before`: the route's earlier jobs of the event and the same element, in any order; `scope`: of the job.
 * null: none of them has done anything.
 */
export async function findEarlierKey(
  registry: Pick<Registry, 'routeOf'>,
  scope: Scope,
  before: readonly WorkRow[],
): Promise<string | null> {
  for (const work of before.toSorted(byAge)) {
    const { kind, state, key, element } = work
    // A skipped job had another's effect, or none: the deployed formula may decide differently. A batch's key belongs
    // to no single job.
    if (state === 'skipped' || kind !== 'route') continue
    if (NAMES_ITSELF.includes(state) && key !== null) return key
    const route = await registry.routeOf(work)
    try {
      if (route !== null) return route.keyOf(scope, element)
    } catch (error) {
      // Without a key it has done nothing.
      if (!(error instanceof ExpressionError)) throw error
    }
  }
  return null
}

type Aged = Pick<WorkRow, 'id' | 'createdAt'>

/** By the store's clock: ids carry the clock of the node that created them. */
export function byAge(a: Aged, b: Aged): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)
}
