// Events that are replayed: which ones a filter names, and the intake item that matches one of them again.

import { AppError } from '../../core/errors/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import type { EventId, Ids } from '../../core/ids/index.ts'
import type { Log } from '../../ports/log.ts'
import type { Store, TenantReads } from '../../ports/store.ts'
import { newIntake } from '../acceptance.ts'
import { decidedText } from '../decided.ts'
import { lineOf } from '../lines.ts'
import { receiverOf } from '../matching.ts'
import type { Registry } from '../registry.ts'
import type { PreparedReplay } from '../replay.ts'
import type { EventFilter } from './record.ts'

/** One replay takes no more: whoever wants all of a year goes month by month, and can stop in between. */
const EVENTS_MAX = 10_000
const PAGE = 500
/** Each looks at a bounded number of rows, whether they fit or not. */
const PAGES_MAX = 200

const NARROWER = 'Narrow the filter: give `from` and `to`, or a source.'

/** The oldest first. Throws AppError where there are too many to look at or to replay. */
export async function findEvents(
  reads: Pick<TenantReads, 'events'>,
  { ids, ...filter }: EventFilter,
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

/** Throws AppError where its event waits to be matched anyway. */
export async function prepareEvent(
  deps: { readonly store: Store; readonly registry: Registry; readonly ids: Ids; readonly log: Log },
  event: StoredEvent,
): Promise<PreparedReplay> {
  if (await isWaiting(deps.store, event))
    throw new AppError('conflict', 'it is matched as soon as its source goes on; nothing of it was done yet')
  const name = receiverOf(event)
  const source = name === null ? null : deps.registry.source(event.tenant, name)
  const work = newIntake(deps.ids, event, source?.hash ?? '', event.id)
  return {
    guards: [],
    writes: [{ w: 'work.add', work, lease: null, delayMs: 0 }],
    work,
    told(decided) {
      deps.log.control(lineOf('replay', 'REPLAYED', event, { work: work.id, message: decidedText(decided) }))
    },
  }
}

/** Whether an intake item of it is yet to run. */
export async function isWaiting(store: Store, event: StoredEvent): Promise<boolean> {
  const work = await store.forTenant(event.tenant).workOfEvent(event.id)
  return work.some(({ kind, state }) => kind === 'intake' && (state === 'ready' || state === 'leased'))
}
