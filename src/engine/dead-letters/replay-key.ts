// The key under which a route has worked on an event before. When the event is replayed the route works under that key again,
// whatever its formula says by now: it is the same effect, and the ledger knows it by that name.
//
// Invariant: IN20 a formula that was changed doubles nothing.

import { ExpressionError, type Scope } from '../../core/expression/index.ts'
import type { WorkRow, WorkState } from '../../core/queue/work/index.ts'
import type { Registry } from '../definitions/index.ts'

/** In these its row names the item's own key; in others it may name what a function is in doubt about. */
const NAMES_ITSELF: readonly WorkState[] = ['done', 'dead']

/**
 * `before`: the route's earlier items of the event and the same element, in any order; `scope`: of the item. null: none of them
 * has done anything.
 */
export async function findEarlierKey(
  registry: Pick<Registry, 'routeOf'>,
  scope: Scope,
  before: readonly WorkRow[],
): Promise<string | null> {
  for (const work of before.toSorted(byAge)) {
    const { kind, state, key, element } = work
    // What was skipped is another's effect, or none: the formula in force may see it otherwise. A batch's key is nobody's.
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

/** By the store's clock: ids have that of the node that made them. */
export function byAge(a: Aged, b: Aged): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)
}
