// Records late acknowledgements: the response to a call arrived after its job had another owner, or was settled without
// it. The observation is stored as evidence, and settles an unknown outcome.
//
// Invariant N5: a stale owner writes evidence; beyond that only what the ledger itself allows: settling an unknown
// outcome of the very claim that made the call.

import { acknowledgement } from '../../core/effects/ledger/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { EngineBase } from '../commit/index.ts'
import { again, done, type Settler } from '../settlement/index.ts'
import type { InternalCall } from './call.ts'
import { settleLedger } from './call-outcome.ts'
import { nameNext, otherUnknownOutcomes } from './unknown-outcomes.ts'

export interface LateAcks {
  recordLateAck(
    call: Pick<InternalCall, 'item' | 'route'>,
    key: string,
    effectRef: string | null,
    result: string | null,
  ): Promise<void>
}

export function makeLateAcks(
  deps: Pick<EngineBase, 'store' | 'commits' | 'wake'> & {
    readonly settler: Settler
  },
): LateAcks {
  const { store, commits, settler } = deps
  return {
    async recordLateAck({ item, route }, key, effectRef, result) {
      const { tenant, id, epoch } = item.work
      // A function goes on with the effect's result; the call of a route ends the job.
      const goesOn = route.action.type === 'function'
      // The response decides about the members of a batch, and an instance goes on with it.
      const isNeeded = goesOn || item.work.kind === 'batch' || item.work.kind === 'step'
      const evidence = acknowledgement(epoch, effectRef, isNeeded ? result : null)
      await commits.firmly(tenant, [], [{ w: 'ledger.observe', key, evidence }])
      const acknowledged = settleLedger(key, 'done', 'acknowledged', effectRef, result)
      await commits.firmly(tenant, [{ g: 'ledger', key, state: 'unknown', work: id, epoch }], [acknowledged])
      // The job may have been parked before the evidence arrived; the ledger is done now, so no node parks it again.
      const reads = store.forTenant(tenant)
      const work = await commits.retryUntilAvailable(() => reads.work(id))
      const entry = await commits.retryUntilAvailable(() => reads.ledger(key))
      if (work === null || work.key !== key || entry?.state !== 'done') return
      if (work.state === 'cancelled') {
        const [next] = await commits.retryUntilAvailable(() => otherUnknownOutcomes(reads, work, key))
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
