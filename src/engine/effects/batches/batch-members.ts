// The members of a batch: from the memory of the node that froze it, or from the store after a crash.

import { keyOfGeneration, type LedgerEntry } from '../../../core/effects/ledger/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import type { Scope } from '../../../core/expression/index.ts'
import type { WorkId } from '../../../core/foundation/ids/index.ts'
import { batchKey, type MemberInBatch } from '../../../core/queue/batch/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import { itemScope, type Route, routeScope, type Vars } from '../../../core/routing/index.ts'
import type { Guard, TenantReads } from '../../../ports/store.ts'
import type { Item } from '../../leases/index.ts'

export interface Member {
  readonly work: WorkRow
  readonly event: StoredEvent
  /** The member's own. */
  readonly key: string
  readonly scope: Scope
}

/** The members of each batch, from its freeze until it runs, which is at once. */
export type FrozenMembers = Map<WorkId, readonly Member[]>

/** A collected member, with what the ledger said of its key. */
export interface Gathered extends Member {
  readonly item: Item
  readonly over: LedgerEntry | null
}

/** The key as the vendor sees it. */
export function keySentOf({ work, key }: Pick<Member, 'work' | 'key'>): string {
  return keyOfGeneration(key, work.generation)
}

export function inBatch(member: Member): MemberInBatch {
  return { key: keySentOf(member), scope: member.scope }
}

export function keyOfBatch(members: readonly Member[]): string {
  return batchKey(members.map(keySentOf))
}

/** Reserves the member's own key: whatever happens to the batch, the entry is the member's. */
export function memberReserve({ work, key }: Pick<Member, 'work' | 'key'>): Guard {
  return { g: 'ledger', key, state: 'reserved', work: work.id, epoch: work.epoch }
}

export function isMerged({ work }: Pick<Member, 'work'>): Guard {
  return { g: 'work', work: work.id, state: 'merged', epoch: work.epoch }
}

/** The members that wait for the end of the batch, in order of creation. */
export async function loadMembers(
  reads: TenantReads,
  batch: WorkRow,
  route: Route,
  vars: Vars,
): Promise<readonly Member[]> {
  const rows = (await reads.workMerged(batch.id)).filter(({ state }) => state === 'merged')
  const members: Member[] = []
  for (const work of rows) {
    const event = await reads.event(work.eventId)
    if (event === null || work.key === null) throw new Error('assertion failed: a member is whole')
    const scope = routeScope(event, parsePayload(event.data), parsePayload(event.headers), vars)
    members.push({ work, event, key: work.key, scope: itemScope(route, scope, work.element) })
  }
  return members
}

/** The row as the freeze left it. */
export function frozenRow({ item, key }: Gathered, batch: WorkRow['id']): WorkRow {
  return { ...item.work, state: 'merged', owner: null, key, into: batch }
}
