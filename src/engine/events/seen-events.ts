// A tenant's reads for a caller who may not see every workflow: without the events about instances of the others.
//
// Invariant: HD2 a caller without a permission that a workflow requires sees nothing of its instances.

import { isCanonicalSource } from '../../core/events/canonical/index.ts'
import type { EventSummary } from '../../core/events/event/index.ts'
import type { EventId } from '../../core/foundation/ids/index.ts'
import type { TenantReads } from '../../ports/store.ts'

/** Whether the caller may see the instances of the workflow with this name. */
export type SeesWorkflow = (workflow: string) => boolean

export function seesAll(): boolean {
  return true
}

export function seesEvent(
  { source, subject }: Pick<EventSummary, 'source' | 'subject'>,
  maySee: SeesWorkflow,
): boolean {
  if (!isCanonicalSource(source)) return true
  const [about, workflow] = subject.split('.')
  return about !== 'workflow' || workflow === undefined || maySee(workflow)
}

/** A page may have fewer events than were asked for. */
export function seenBy(reads: TenantReads, maySee: SeesWorkflow): TenantReads {
  const isSeen = (event: EventSummary) => seesEvent(event, maySee)
  return {
    ...reads,
    async event(id) {
      const event = await reads.event(id)
      return event !== null && isSeen(event) ? event : null
    },
    async events(query) {
      const { items, nextCursor } = await reads.events(query)
      return { items: items.filter(isSeen), nextCursor }
    },
    causedBy: async (id, limit) => (await reads.causedBy(id, limit)).filter(isSeen),
  }
}

/** Without those that exist and that the caller may not see. */
export async function dropUnseen(
  reads: Pick<TenantReads, 'event'>,
  ids: readonly EventId[],
  maySee: SeesWorkflow,
): Promise<readonly EventId[]> {
  if (maySee === seesAll) return ids
  const seen: EventId[] = []
  // One at a time: payloads may be large.
  for (const id of ids) {
    const event = await reads.event(id)
    if (event === null || seesEvent(event, maySee)) seen.push(id)
  }
  return seen
}
