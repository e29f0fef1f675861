// The answer to a call came after its item was given to somebody else, or settled without it: what was seen is kept, and
// settles a doubt.
//
// Invariant N5: a stale owner writes evidence; beyond that only what the ledger itself allows, an unknown of the very hold
// that made the call.

import { acknowledgement } from '../../core/effects/ledger/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Store } from '../../ports/store.ts'
import type { Commits } from '../commit/index.ts'
import { again, done, type Settler } from '../settlement/index.ts'
import type { InternalCall } from './call.ts'
import { settleLedger } from './call-outcome.ts'
import { nameNext, otherDoubts } from './unknown-outcomes.ts'

export interface Witness {
  bear(
    call: Pick<InternalCall, 'item' | 'route'>,
    key: string,
    effectRef: string | null,
    result: string | null,
  ): Promise<void>
}

export function makeWitness(deps: {
  readonly store: Store
  readonly commits: Commits
  readonly settler: Settler
  wake(): void
}): Witness {
  const { store, commits, settler } = deps
  return {
    async bear({ item, route }, key, effectRef, result) {
      const { tenant, id, epoch } = item.work
      // A function goes on with what its effect gave; a call of a route is over with it.
      const goesOn = route.action.type === 'function'
      // The members of a batch are told by its answer, and an instance goes on with it.
      const isNeeded = goesOn || item.work.kind === 'batch' || item.work.kind === 'step'
      const evidence = acknowledgement(epoch, effectRef, isNeeded ? result : null)
      await commits.firmly(tenant, [], [{ w: 'ledger.observe', key, evidence }])
      const acknowledged = settleLedger(key, 'done', 'acknowledged', effectRef, result)
      await commits.firmly(tenant, [{ g: 'ledger', key, state: 'unknown', work: id, epoch }], [acknowledged])
      // Somebody may have parked the item before the evidence came; the ledger is done now, so nobody parks it again.
      const reads = store.forTenant(tenant)
      const work = await commits.stubbornly(() => reads.work(id))
      const entry = await commits.stubbornly(() => reads.ledger(key))
      if (work === null || work.key !== key || entry?.state !== 'done') return
      if (work.state === 'cancelled') {
        const [next] = await commits.stubbornly(() => otherDoubts(reads, work, key))
        const naming = nameNext(work, next)
        if (next !== undefined) await commits.firmly(tenant, naming.guards, naming.writes)
      }
      if (work.state !== 'parked') return
      const saying = {
        counters: { attempts: work.attempts, waits: work.waits, losses: work.losses },
        note: { ...EMPTY_NOTE, key, effectRef },
      }
      await settler.settleUnheld(
        { work, event: item.event },
        route,
        goesOn ? again(0, saying) : done(saying),
        { g: 'work', work: id, state: 'parked', epoch: work.epoch },
      )
      if (goesOn) deps.wake()
    },
  }
}
