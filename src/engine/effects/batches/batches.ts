// Batches: jobs of one route that share a call. They are collected in memory, frozen durably before the call, run as
// one job under the hash of their keys, and each ended separately in the commit that ends the batch.

import { batchScope } from '../../../core/queue/batch/index.ts'
import { EMPTY_NOTE, LOSSES_MAX } from '../../../core/queue/work/index.ts'
import type { EngineDeps, RunningConfig } from '../../config.ts'
import type { Item } from '../../leases/index.ts'
import { type Settler, skipped } from '../../settlement/index.ts'
import type { Call, InternalCall } from '../call.ts'
import { countersOf } from '../call-outcome.ts'
import type { Effects } from '../run-call.ts'
import { type FrozenMembers, inBatch, keyOfBatch, keySentOf, loadMembers } from './batch-members.ts'
import type { Gathering } from './gather-batch.ts'

export interface Batches {
  /** The job waits for others, unless the ledger knows its key. */
  join(call: InternalCall): Promise<void>
  /** The call of a batch; null: it has no members left, and is settled. */
  callOf(item: Item, route: InternalCall['route']): Promise<InternalCall | null>
}

export function makeBatches(
  deps: Pick<EngineDeps, 'store'> & {
    readonly settler: Settler
    readonly gathering: Gathering
    readonly frozen: FrozenMembers
    readonly effects: Effects
  },
  config: Pick<RunningConfig, 'vars'>,
): Batches {
  const { store, settler, gathering, frozen } = deps

  return {
    async join(call) {
      const { item } = call
      const alone = { ...asAlone(call), instead: gatherOver(gathering, call) }
      if (item.work.losses >= LOSSES_MAX) return deps.effects.poison(alone)
      return deps.effects.run(alone)
    },
    async callOf(item, route) {
      const { work } = item
      const known = frozen.get(work.id)
      frozen.delete(work.id)
      const members = known ?? (await loadMembers(store.forTenant(work.tenant), work, route, config.vars))
      if (members.length === 0) {
        await settler.settle(
          item,
          null,
          skipped({ counters: countersOf(item), note: { ...EMPTY_NOTE, lastError: 'EMPTY' } }),
        )
        return null
      }
      const key = keyOfBatch(members)
      // As the vendor sees it: each generation is a separate call.
      const sent = keySentOf({ work, key })
      return { item, route, key, scope: batchScope(members.map(inBatch), sent, route.each?.as ?? null) }
    },
  }
}

function gatherOver(gathering: Gathering, call: InternalCall): NonNullable<Call['instead']> {
  return (over) => gathering.add(call, over)
}

/**
 * The job as a batch of one: to check the ledger for its key, and to find an invalid payload before it fails
 * the others' call.
 */
function asAlone(call: InternalCall): Call {
  const { item, route, key, scope } = call
  const { action } = route
  const sent = keySentOf({ work: item.work, key })
  const seen = batchScope([{ key: sent, scope }], sent, route.each?.as ?? null)
  if (action.type === 'http') {
    // The vendor never saw this key, so it remembers nothing under it.
    const abilities = { ...action.abilities, keyTtlMs: null }
    const { policy, probe } = action
    return { ...call, scope: seen, action: { policy, abilities, probe }, request: action.render(seen, sent) }
  }
  if (action.type === 'function') action.input(seen)
  return { ...call, scope: seen, action: INSIDE, request: NO_REQUEST }
}

const INSIDE: Call['action'] = {
  policy: { idempotent: false, classify: {} },
  abilities: { idempotent: false, keyTtlMs: null, probeAfterMs: null, timeoutMs: 0 },
  probe: null,
}
const NO_REQUEST = { method: '', url: '', headers: {}, body: null }
