// Counts what a run used of what the engine can do: seeds in which nothing of it happened would show nothing about it.

import { lockKey } from '../src/core/effects/action/index.ts'
import { isCanonicalSource } from '../src/core/events/canonical/index.ts'
import { DEFAULT_TENANT } from '../src/core/foundation/ids/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Commit, Write } from '../src/ports/store.ts'
import type { Data, Outcome } from './data.ts'
import type { Counted, Observations } from './run-observations.ts'
import { parsePayload, routeOf } from './scenario.ts'

/** By kind of record. */
const RECORDS: Readonly<Record<string, (body: string) => Counted | null>> = {
  circuit: (body) => (body.includes('"open"') ? 'circuitsOpened' : null),
  bucket: () => 'bucketsClosed',
  drain: () => 'drains',
}

export interface Counting {
  /** Before the rows are looked at: they are as they were before the group. */
  applied(commits: readonly Commit[], outcomes: readonly Outcome[]): void
  claimed(work: readonly WorkRow[]): void
}

export function makeCounting({
  observations,
  data,
}: {
  readonly observations: Observations
  readonly data: Data
}): Counting {
  const count = (name: Counted | null) => {
    if (name !== null) observations.counts[name] += 1
  }

  const added = ({ work }: Extract<Write, { w: 'work.add' }>) => {
    if (work.lane != null) count('laned')
    if (work.element != null) count('elements')
    if (work.kind === 'batch') count('batches')
    const event = work.kind === 'route' ? data.event(DEFAULT_TENANT, work.eventId) : null
    if (event === null || routeOf(work.consumer).document.do.type !== 'upsert') return
    // What a user edited may name none: its action is refused.
    const { order } = parsePayload(event.data) as Partial<ReturnType<typeof parsePayload>>
    if (order !== undefined) observations.locks.set(work.id, lockKey('vendor.test', order))
  }

  const settled = ({ work, to, note }: Extract<Write, { w: 'work.settle' }>) => {
    const before = observations.works.get(work)
    if (to === 'merged' && before?.state === 'leased') count('batched')
    if (note.lastError?.startsWith('SPLIT')) count('batchSplits')
    if (to === 'parked' && before?.kind === 'batch') count('batchParked')
    if (to === 'dead' && before?.state === 'merged') count('memberRefused')
    if (to === 'done' && before?.consumer === 'route:told') count('heard')
  }

  const wrote = (write: Write) => {
    if (write.w === 'work.add') added(write)
    else if (write.w === 'work.settle') settled(write)
    else if (write.w === 'work.again' && write.note.lastError?.includes('same reference')) count('locked')
    else if (write.w === 'record.put') count(RECORDS[write.kind]?.(write.body) ?? null)
    else if (write.w === 'failure.put') count('failures')
    else if (write.w === 'escalation.raise') count('escalations')
    else if (write.w === 'event.append' && isCanonicalSource(write.event.source)) count('canonical')
  }

  return {
    applied(commits, outcomes) {
      for (const [index, { writes }] of commits.entries())
        if (outcomes[index]?.ok === true) for (const write of writes) wrote(write)
    },
    claimed(work) {
      for (const { consumer } of work) if (consumer === 'route:narrow') count('limited')
    },
  }
}
