// Gathering: items of one route wait in this node's memory until they are as many as a batch may hold, or until the eldest has
// waited long enough. Nothing is written for the waiting; a crash before the freeze leaves items as any other crash does.
//
// Invariants: BA4 no two members of one batch have the same key; the second waits for the first as for anybody's. BA18 what one crash
// interrupted gathers again; what two crashes interrupted, or what may have been sent, is a batch of one.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { isIsolated } from '../../../core/queue/work/index.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { StoreTime } from '../../commit/index.ts'
import type { InternalCall, Joined } from '../call.ts'
import type { Gathered } from './batch-members.ts'

export interface Gathering {
  /** Settles when the item is frozen into a batch, or when the ledger says something else of its key. */
  add(call: InternalCall, over: Gathered['over']): Promise<Joined>
  /** Freezes what is there: no more will come. */
  flush(): void
}

/** What became of each that was to be frozen. */
export type Freeze = (call: InternalCall, members: readonly Gathered[]) => Promise<readonly Joined[]>

interface Open {
  readonly call: InternalCall
  readonly members: Gathered[]
  bytes: number
  readonly hands: { give(joined: Joined): void; fail(error: unknown): void }[]
  cancel(): void
}

const HELD_MS = 1_000
/** Of the events of one batch: its call has a body of that size, and everything of it is in memory at once. */
const BATCH_BYTES_MAX = 4 * 1_048_576

export function makeGathering(deps: {
  readonly clock: Clock
  readonly time: StoreTime
  readonly freeze: Freeze
  /** The item waits and does nothing: others may run in its place. Answers how to come back. */
  stepAside(tenant: TenantId): () => void
}): Gathering {
  const { clock, time } = deps
  const open = new Map<string, Open>()
  let isOver = false

  const close = (name: string, gathered: Open): void => {
    if (open.get(name) === gathered) open.delete(name)
    gathered.cancel()
    deps.freeze(gathered.call, gathered.members).then(
      (joined) => {
        for (const [index, hand] of gathered.hands.entries()) hand.give(joined[index] ?? 'finished')
      },
      (error) => {
        for (const hand of gathered.hands) hand.fail(error)
      },
    )
  }

  const begin = (name: string, call: InternalCall, firstAt: number, maxWaitMs: number): Open => {
    let cancel: () => void = () => {}
    const gathered: Open = { call, members: [], bytes: 0, hands: [], cancel: () => cancel() }
    const delayMs = Math.max(0, firstAt + maxWaitMs - time.now())
    cancel = clock.after(delayMs, () => close(name, gathered))
    open.set(name, gathered)
    return gathered
  }

  return {
    async add(call, over) {
      const { item, route, key, scope } = call
      const { work, event } = item
      const rules = route.batch
      if (rules === null) throw new Error('assertion failed: only routes with a batch gather')
      // What one crash interrupted gathers again: nothing of it was sent, because a batch that may have been sent has its members merged
      // into it and is reclaimed whole, under its key. One that the ledger has an entry of may have been sent in an earlier batch.
      const isApart = isIsolated(work) || (work.alone && over !== null)
      const name = isApart ? work.id : `${work.tenant} ${work.definition}`
      const gathered = open.get(name) ?? begin(name, call, work.createdAt, rules.maxWaitMs)
      if (gathered.members.some((member) => member.key === key)) {
        return { delayMs: HELD_MS, why: 'another item holds the key' }
      }
      const comeBack = deps.stepAside(call.item.work.tenant)
      const frozen = new Promise<Joined>((give, fail) => gathered.hands.push({ give, fail }))
      gathered.members.push({ item, work, event, key, scope, over })
      gathered.bytes += event.data.length
      const isFull = gathered.members.length >= rules.size || gathered.bytes >= BATCH_BYTES_MAX
      if (isFull || isApart || isOver) close(name, gathered)
      try {
        return await frozen
      } finally {
        comeBack()
      }
    },
    flush() {
      isOver = true
      for (const [name, gathered] of [...open]) close(name, gathered)
    },
  }
}
