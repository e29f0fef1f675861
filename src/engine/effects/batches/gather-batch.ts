// Collects jobs of one route in this node's memory until they fill a batch, or until the oldest has waited long enough.
// Waiting writes nothing; a crash before the freeze affects the jobs like any other crash.
//
// Invariants: BA4 no two members of one batch have the same key; the second waits for the first as for any other job.
// BA18 jobs that one crash interrupted are collected again; a job that two crashes interrupted, or that may have been
// sent, is a batch of one.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { isIsolated } from '../../../core/queue/work/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { InternalCall, Joined } from '../call.ts'
import type { Gathered } from './batch-members.ts'

export interface Gathering {
  /** Resolves when the job is frozen into a batch, or when the ledger has something new about its key. */
  add(call: InternalCall, over: Gathered['over']): Promise<Joined>
  /** Freezes what is there: no more jobs will come. */
  flush(): void
}

/** The result for each job that was to be frozen. */
export type Freeze = (call: InternalCall, members: readonly Gathered[]) => Promise<readonly Joined[]>

interface Open {
  readonly call: InternalCall
  readonly members: Gathered[]
  bytes: number
  readonly waiters: { give(joined: Joined): void; fail(error: unknown): void }[]
  cancel(): void
}

const HELD_MS = 1_000
/** For the events of one batch: the body of its call has that size, and all of it is in memory at once. */
const BATCH_BYTES_MAX = 4 * 1_048_576

export function makeGathering(
  deps: Pick<EngineBase, 'clock' | 'time'> & {
    readonly freeze: Freeze
    /** The job only waits: others may run in its slot. Returns a function that takes the slot back. */
    stepAside(tenant: TenantId): () => void
  },
): Gathering {
  const { clock, time } = deps
  const open = new Map<string, Open>()
  let isOver = false

  const close = (name: string, gathered: Open): void => {
    if (open.get(name) === gathered) open.delete(name)
    gathered.cancel()
    deps.freeze(gathered.call, gathered.members).then(
      (joined) => {
        for (const [index, waiter] of gathered.waiters.entries()) waiter.give(joined[index] ?? 'finished')
      },
      (error) => {
        for (const waiter of gathered.waiters) waiter.fail(error)
      },
    )
  }

  const begin = (name: string, call: InternalCall, firstAt: number, maxWaitMs: number): Open => {
    let cancel: () => void = () => {}
    const gathered: Open = { call, members: [], bytes: 0, waiters: [], cancel: () => cancel() }
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
      // Jobs that one crash interrupted are collected again: nothing was sent, because the members of a batch that may
      // have been sent are merged into it and reclaimed with it, under its key. A job with a ledger entry may have been
      // sent in an earlier batch.
      const isApart = isIsolated(work) || (work.alone && over !== null)
      const name = isApart ? work.id : `${work.tenant} ${work.definition}`
      const gathered = open.get(name) ?? begin(name, call, work.createdAt, rules.maxWaitMs)
      if (gathered.members.some((member) => member.key === key)) {
        return { delayMs: HELD_MS, why: 'another item holds the key' }
      }
      const frozen = new Promise<Joined>((give, fail) => gathered.waiters.push({ give, fail }))
      gathered.members.push({ item, work, event, key, scope, over })
      gathered.bytes += event.data.length
      // After the job is a member: the free slot may run another job of the batch in this turn.
      const comeBack = deps.stepAside(call.item.work.tenant)
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
