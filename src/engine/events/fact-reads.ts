// A tenant's reads with facts among the events, each as the event that it is. An event and its fact have one id and are shown once.
//
// Facts and events lie in two tables. A page of both is read from each, as far as both are known, and merged by id.

import {
  CANONICAL_SOURCE,
  type Fact,
  isCanonicalSource,
  NewerFactError,
  unpackFact,
} from '../../core/events/canonical/index.ts'
import { type EventSummary, idSpan, type StoredEvent } from '../../core/events/event/index.ts'
import { patternsMeet } from '../../core/events/subject/index.ts'
import { type EventId, readWholeId } from '../../core/foundation/ids/index.ts'
import { type Page, StoreError, type TenantReads } from '../../ports/store.ts'
import { findFact, readFact } from './facts.ts'

type EventsQuery = Parameters<TenantReads['events']>[0]

/** How many facts one page reads, whatever the filter finds. */
const FACTS_READ_MAX = 2_000
const FIRST_ID = 'evt_' as EventId
const LAST_ID = 'evt_~' as EventId

/** What facts are about. */
const FACT_SUBJECTS = ['webhook.>', 'integration.>', 'workflow.>']

/** With facts only if one of the patterns can match any: to read and unpack the others would cost much for nothing. */
export function withFactsOf(reads: TenantReads, patterns: readonly string[]): TenantReads {
  const isSelected = patterns.some((pattern) => FACT_SUBJECTS.some((one) => patternsMeet(pattern, one)))
  return isSelected ? withFacts(reads) : reads
}

export function withFacts(reads: TenantReads): TenantReads {
  return {
    ...reads,
    event: async (id) => (await reads.event(id)) ?? (await readFact(reads, id)),
    events: (query) => listBoth(reads, query),
    async eventsAfter(query) {
      const [events, facts] = await Promise.all([
        reads.eventsAfter(query),
        reads.facts({ ...query, order: 'oldest' }),
      ])
      if (facts.length === 0) return events
      return merge(events, facts.map(summaryOf), 1).slice(0, query.limit)
    },
  }
}

/** Which events a list is about. */
export interface SystemFilter {
  readonly source?: string
  readonly q?: string
  readonly system?: boolean
}

/** A list has no system events, unless it asks for them: by `system`, by their source, or for one of them by its id. */
export function asksForSystem({ source, q = '', system }: SystemFilter): boolean {
  return system ?? (readWholeId(q) !== null || (source !== undefined && isCanonicalSource(source)))
}

/** The reads of a list: with facts or without system events, as it asks. */
export function listReads(reads: TenantReads, filter: SystemFilter): TenantReads {
  return asksForSystem(filter) ? withFacts(reads) : withoutSystem(reads)
}

function withoutSystem(reads: TenantReads): TenantReads {
  return {
    ...reads,
    async events(query) {
      const page = await reads.events(query)
      // Most pages have none, and to leave them out the store scans rows.
      if (!page.items.some(({ source }) => isCanonicalSource(source))) return page
      return reads.events({ ...query, sourceNot: CANONICAL_SOURCE })
    },
  }
}

/**
 * Newest first. The cursor says where the page of events begins and below which id the list goes on: a page of events that was not
 * shown to its end is read again.
 */
async function listBoth(reads: TenantReads, query: EventsQuery): Promise<Page<EventSummary>> {
  const { at, below } = readCursor(query.cursor)
  const { limit } = query
  const [page, facts] = await Promise.all([
    reads.events({ ...query, cursor: at }),
    findFacts(reads, query, below),
  ])
  const isBelow = ({ id }: EventSummary) => below === null || id < below
  const eventsFloor = await findFloor(reads, page)
  const floor = greater(eventsFloor, facts.floor)
  const known = merge(page.items.filter(isBelow), facts.items, -1).filter(
    ({ id }) => floor === null || id >= floor,
  )
  const items = known.slice(0, limit)
  const last = items.at(-1)?.id ?? null
  if (known.length > limit) return { items, nextCursor: writeCursor(at, last) }
  if (floor === null) return { items, nextCursor: null }
  const isPageOver = page.nextCursor !== null && eventsFloor === floor
  const next = below !== null && below < floor ? below : floor
  return { items, nextCursor: writeCursor(isPageOver ? page.nextCursor : at, next) }
}

/** Events with smaller ids were not looked at; null: there are none. */
async function findFloor(
  reads: TenantReads,
  { items, nextCursor }: Page<EventSummary>,
): Promise<EventId | null> {
  if (nextCursor === null) return null
  const last = items.at(-1)?.id
  if (last !== undefined) return last
  // A scan that found nothing does not say how far it came, but a list without a filter goes on there.
  const next = await reads.events({ cursor: nextCursor, limit: 1 })
  const id = next.items[0]?.id
  return id === undefined ? null : (`${id} ` as EventId)
}

interface FoundFacts {
  readonly items: readonly EventSummary[]
  /** Facts with smaller ids were not read; null: there are none. */
  readonly floor: EventId | null
}

async function findFacts(reads: TenantReads, query: EventsQuery, below: EventId | null): Promise<FoundFacts> {
  const { source, unmatched, limit, q = '' } = query
  if ((source !== undefined && !isCanonicalSource(source)) || unmatched === true)
    return { items: [], floor: null }
  const named = readWholeId(q)
  if (named !== null) {
    const fact = 'event' in named ? await findFact(reads, named.event) : null
    if (fact === null || (below !== null && fact.id >= below)) return { items: [], floor: null }
    return { items: unpackKnown(fact).filter((event) => fits(event, query)), floor: null }
  }
  const span = idSpan(query.from, query.to)
  const end = span.below ?? LAST_ID
  const first = below !== null && below < end ? below : end
  const rowsMax = isFiltered(query) ? FACTS_READ_MAX : limit + 1
  const facts = await reads.facts({
    after: span.atLeast ?? FIRST_ID,
    below: first,
    limit: rowsMax,
    order: 'newest',
  })
  const events = facts.flatMap(unpackKnown)
  const floor = facts.length < rowsMax ? null : (facts.at(-1)?.id ?? null)
  return { items: events.filter((event) => fits(event, query)), floor }
}

function isFiltered({ subject, objectId, correlationId, from, to, q = '' }: EventsQuery): boolean {
  return q !== '' || [subject, objectId, correlationId, from, to].some((one) => one !== undefined)
}

function fits(event: StoredEvent, query: EventsQuery): boolean {
  const { subject, objectId, correlationId, from, to, q = '' } = query
  return (
    (subject === undefined || event.subject === subject) &&
    (objectId === undefined || event.objectId === objectId) &&
    (correlationId === undefined || event.correlationId === correlationId) &&
    (from === undefined || event.receivedAt >= from) &&
    (to === undefined || event.receivedAt < to) &&
    (q === '' || readWholeId(q) !== null || hasText(event, q))
  )
}

function hasText(event: StoredEvent, q: string): boolean {
  const { id, subject, source, objectId, correlationId, dedupKey, data } = event
  const text = q.toLowerCase()
  return [id, subject, source, objectId, correlationId, dedupKey, data].some((field) =>
    field?.toLowerCase().includes(text),
  )
}

/** Nothing of what a newer version wrote: a list on a node of that version shows it. */
function unpackKnown(fact: Fact): readonly StoredEvent[] {
  try {
    return [unpackFact(fact)]
  } catch (error) {
    if (error instanceof NewerFactError) return []
    throw error
  }
}

/** A walk needs each of them: by the length of a page it knows whether there are more. */
function summaryOf(fact: Fact): EventSummary {
  try {
    return unpackFact(fact)
  } catch (error) {
    if (error instanceof NewerFactError) return error.summary
    throw error
  }
}

/** `direction`: 1 the oldest first. A promoted fact says when its event happened; the event says when it was promoted. */
function merge(
  events: readonly EventSummary[],
  facts: readonly EventSummary[],
  direction: 1 | -1,
): readonly EventSummary[] {
  const ofFacts = new Set(facts.map(({ id }) => id))
  const all = [...events.filter(({ id }) => !ofFacts.has(id)), ...facts]
  return all.sort((a, b) => (a.id < b.id ? -direction : direction))
}

function greater(a: EventId | null, b: EventId | null): EventId | null {
  if (a === null || b === null) return a ?? b
  return a > b ? a : b
}

interface Cursor {
  readonly at: string | null
  readonly below: EventId | null
}

const CURSOR = /^system\.([^.]*)\.(.*)$/s

/** The store's cursor is opaque, and stands last. */
function writeCursor(at: string | null, below: EventId | null): string {
  return `system.${below ?? ''}.${at ?? ''}`
}

function readCursor(cursor: string | null): Cursor {
  if (cursor === null) return { at: null, below: null }
  const found = CURSOR.exec(cursor)
  if (found === null) throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
  return { at: found[2] || null, below: (found[1] || null) as EventId | null }
}
