// A job that stands for a whole list, because `each` could not be expanded when the event was matched. It fails with
// the reason; or, if the event or the definition was fixed since, it creates one job per element and ends.

import type { Scope } from '../../core/expression/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Log } from '../../ports/log.ts'
import type { Write } from '../../ports/store.ts'
import { countersOf, type DeadLetterRouteJob } from '../effects/index.ts'
import type { Item } from '../leases/index.ts'
import { lineOf } from '../observe/index.ts'
import { delayOf, newItems } from '../planning/index.ts'
import { type Settler, skipped } from '../settlement/index.ts'

export interface ExpandEach {
  /** `scope`: of the event. Throws ExpressionError if there is no list. */
  run(item: Item, route: Route, scope: Scope): Promise<void>
}

export function makeExpandEach(deps: {
  readonly ids: Ids
  readonly settler: Settler
  readonly log: Pick<Log, 'control'>
  readonly deadLetterJob: DeadLetterRouteJob
  wake(): void
}): ExpandEach {
  return {
    async run(item, route, scope) {
      const { each } = route
      const count = each?.count(scope) ?? 0
      if (each !== null && count > each.max) {
        const error = `the list of \`each\` has ${count} elements; the route takes ${each.max} at most`
        return deps.deadLetterJob(item, route, null, 'validation', 'too_many_elements', error)
      }
      const made = count === 0 ? [] : newItems(deps.ids, route, item.event, scope, null)
      const writes = made.map(
        (work): Write => ({ w: 'work.add', work, lease: null, delayMs: delayOf(route, work) }),
      )
      const action = count === 0 ? 'EMPTY' : 'SPREAD'
      const settlement = await deps.settler.settle(
        item,
        route,
        skipped({ counters: countersOf(item), note: { ...EMPTY_NOTE, lastError: action }, writes }),
      )
      if (!settlement.ok) return
      const facts = {
        route: route.document.name,
        work: item.work.id,
        definition: route.hash,
        message: `${count} elements`,
      }
      deps.log.control(lineOf('ingest', action, item.event, facts))
      if (made.length > 0) deps.wake()
    },
  }
}
