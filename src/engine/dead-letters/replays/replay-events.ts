// Replays of events: which ones a filter selects, and the intake job that matches one of them again.

import { deadLetterOfEdit, editedFrom, type StoredEvent } from '../../../core/events/event/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { EventId, Ids } from '../../../core/foundation/ids/index.ts'
import type { Log } from '../../../ports/log.ts'
import type { Store, TenantReads } from '../../../ports/store.ts'
import { decidedText } from '../../access/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { lineOf } from '../../observe/index.ts'
import { newIntake, receiverOf } from '../../planning/index.ts'
import type { PreparedReplay } from '../dead-letter-actions.ts'
import type { EventFilter } from './replay-record.ts'

/** One replay takes no more: a year is replayed month by month, and can be stopped in between. */
const EVENTS_MAX = 10_000
const PAGE = 500
/** Each reads a bounded number of rows, matching or not. */
const PAGES_MAX = 200

const NARROWER = 'Narrow the filter: give `from` and `to`, or a source.'

/** Oldest first, of `reads`: with system events, if the filter asks for them. Throws AppError if there are too many to read or to replay. */
export async function findEvents(
  reads: Pick<TenantReads, 'events'>,
  { ids, system: _system, ...filter }: EventFilter,
): Promise<readonly EventId[]> {
  if (ids !== undefined) return ids
  const found: EventId[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page: Awaited<ReturnType<TenantReads['events']>> = await reads.events({
      ...filter,
      cursor,
      limit: PAGE,
    })
    for (const { id } of page.items) found.push(id)
    if (found.length > EVENTS_MAX) {
      const why = `the filter finds more than ${EVENTS_MAX} events; one replay takes no more`
      throw new AppError('invalid_request', why, { next: NARROWER })
    }
    cursor = page.nextCursor
    if (cursor === null) return found.reverse()
  }
  throw new AppError('invalid_request', 'there are too many events to look through', { next: NARROWER })
}

/** Throws AppError if the event may not be replayed by itself. */
export async function prepareEvent(
  deps: { readonly store: Store; readonly registry: Registry; readonly ids: Ids; readonly log: Log },
  event: StoredEvent,
): Promise<PreparedReplay> {
  const refusal = await findRefusal(deps.store, event)
  if (refusal !== null) throw new AppError('conflict', refusal)
  const name = receiverOf(event)
  const source = name === null ? null : deps.registry.source(event.tenant, name)
  const work = newIntake(deps.ids, event, source?.hash ?? '', event.id)
  return {
    guards: [],
    writes: [{ w: 'work.add', work, lease: null, delayMs: 0 }],
    work,
    logDecision(decided) {
      deps.log.control(lineOf('replay', 'REPLAYED', event, { work: work.id, message: decidedText(decided) }))
    },
  }
}

/** An event has one copy per edit. */
const COPIES_MAX = 200

/**
 * Why an event may not be replayed by itself, or null. An event and its edited copy are one occurrence under
 * two ids: what is done for one must not be done for the other.
 */
export async function findRefusal(store: Store, event: StoredEvent): Promise<string | null> {
  const reads = store.forTenant(event.tenant)
  const work = await reads.workOfEvent(event.id)
  const intakes = work.filter(({ kind }) => kind === 'intake')
  if (intakes.some(({ state }) => state === 'ready' || state === 'leased'))
    return 'it waits to be matched already; it need not be replayed'
  if (isCopy(event) && intakes.length === 0)
    return 'it is a copy that was edited for a dead letter: replay that, or the event that it was copied from'
  // Only its own intake has processed it so far: its dead letter may have continued with a copy.
  const isUntouched =
    work.length > 0 && work.every(({ kind, state }) => kind === 'intake' && state !== 'done')
  if (isUntouched && (await hasSuccessor(reads, event)))
    return 'it was edited: replay its dead letter, or the edited copy'
  return null
}

/** Whether a copy of it was matched, or is still to be. */
async function hasSuccessor(reads: TenantReads, { id }: StoredEvent): Promise<boolean> {
  for (const copy of (await reads.causedBy(id, COPIES_MAX)).filter(isCopy)) {
    if ((await reads.workOfEvent(copy.id)).length > 0) return true
    const deadLetter = deadLetterOfEdit(copy.dedupKey)
    if (deadLetter !== null && (await reads.deadLetter(deadLetter))?.state !== 'discarded') return true
  }
  return false
}

export function isCopy(event: Pick<StoredEvent, 'dedupKey' | 'causationId'>): boolean {
  return editedFrom(event) !== null
}
