// Events and jobs by filters that have no index in any store: a page scans a bounded number of rows.

import { Buffer } from 'node:buffer'
import type { EventSummary, StoredEvent } from '../../core/events/event/index.ts'
import { idSpan, workIdSpan } from '../../core/events/event/index.ts'
import { isEncrypted } from '../../core/events/sensitive/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { readWholeId } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Page, TenantReads } from '../../ports/store.ts'
import { SCAN_BYTES_MAX, SCAN_ROWS_MAX } from '../../ports/store.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { byId, ownRows, page } from './pages.ts'
import { compareText, findWork, type MemoryState } from './state.ts'

type EventsQuery = Parameters<TenantReads['events']>[0]
type WorkQuery = Parameters<TenantReads['workList']>[0]

export function toSummary(event: StoredEvent): EventSummary {
  const { headers: _headers, data: _data, raw: _raw, sensitive: _sensitive, ...summary } = event
  return summary
}

export function searchEvents(state: MemoryState, tenant: TenantId, query: EventsQuery): Page<EventSummary> {
  const {
    source,
    sourceNot,
    subject,
    unmatched,
    objectId,
    correlationId,
    from,
    to,
    q = '',
    scanMax = SCAN_ROWS_MAX,
  } = query
  const named = readWholeId(q)
  const isWanted = (row: StoredEvent) =>
    (source === undefined || row.source === source) &&
    row.source !== sourceNot &&
    (subject === undefined || row.subject === subject) &&
    (unmatched !== false || row.matched !== 0) &&
    (objectId === undefined || row.objectId === objectId) &&
    (correlationId === undefined || row.correlationId === correlationId) &&
    (from === undefined || row.receivedAt >= from) &&
    (to === undefined || row.receivedAt < to) &&
    (q === '' || named !== null || hasText(row, q))
  const { atLeast, below } = idSpan(from, to)
  const indexed = ownRows(state.events, tenant).filter(
    (row) =>
      (unmatched !== true || row.matched === 0) &&
      (atLeast === null || compareText(row.id, atLeast) >= 0) &&
      (below === null || compareText(row.id, below) < 0),
  )
  if (named !== null) {
    const id = 'event' in named ? named.event : findWork(state, tenant, named.work)?.eventId
    return summaries(
      page(
        'events',
        query,
        indexed.filter((row) => row.id === id && isWanted(row)),
        byId,
      ),
    )
  }
  const filters = [source, sourceNot, subject, objectId, correlationId, from, to]
  if (filters.every((filter) => filter === undefined) && unmatched !== false && q === '') {
    return summaries(page('events', query, indexed, byId))
  }
  const rest = behind('events', query.cursor, indexed)
  const bytesMax = q === '' ? Number.POSITIVE_INFINITY : (query.scanBytesMax ?? SCAN_BYTES_MAX)
  const scanned = takeBytes(rest.slice(0, scanMax), bytesMax)
  const found = page('events', { ...query, cursor: null }, scanned.filter(isWanted), byId)
  const last = scanned.at(-1)
  const isMore = last !== undefined && rest.length > scanned.length
  return summaries({
    items: found.items,
    nextCursor: found.nextCursor ?? (isMore ? encodeCursor('events', byId(last)) : null),
  })
}

export function searchWork(state: MemoryState, tenant: TenantId, query: WorkQuery): Page<WorkRow> {
  const { kind, from, to, scanMax = SCAN_ROWS_MAX } = query
  const { atLeast, below } = workIdSpan(from, to)
  const indexed = ownRows(state.work, tenant).filter(
    (row) =>
      (query.state === undefined || row.state === query.state) &&
      (query.consumer === undefined || row.consumer === query.consumer) &&
      (atLeast === null || compareText(row.id, atLeast) >= 0) &&
      (below === null || compareText(row.id, below) < 0),
  )
  const isWanted = (row: WorkRow) =>
    (kind === undefined || row.kind === kind) &&
    (query.class === undefined || row.class === query.class) &&
    (from === undefined || row.createdAt >= from) &&
    (to === undefined || row.createdAt < to)
  if ([kind, query.class, from, to].every((filter) => filter === undefined)) {
    return page('work', query, indexed, byId)
  }
  const rest = behind('work', query.cursor, indexed)
  const scanned = rest.slice(0, scanMax)
  const found = page('work', { ...query, cursor: null }, scanned.filter(isWanted), byId)
  const last = scanned.at(-1)
  const isMore = last !== undefined && rest.length > scanned.length
  return {
    items: found.items,
    nextCursor: found.nextCursor ?? (isMore ? encodeCursor('work', byId(last)) : null),
  }
}

/** The rest of a list after the cursor, newest first. */
function behind<Row extends { readonly id: string }>(
  list: string,
  cursor: string | null,
  rows: readonly Row[],
): readonly Row[] {
  const after = cursor === null ? null : decodeCursor(list, cursor)
  return rows
    .filter((row) => after === null || compareText(row.id, after[1]) < 0)
    .sort((a, b) => compareText(b.id, a.id))
}

/** Up to and including the row that reaches the byte limit: there is always one. */
function takeBytes(rows: readonly StoredEvent[], bytesMax: number): readonly StoredEvent[] {
  let bytes = 0
  const last = rows.findIndex(({ data }) => {
    bytes += Buffer.byteLength(data)
    return bytes >= bytesMax
  })
  return last === -1 ? rows : rows.slice(0, last + 1)
}

function summaries(found: Page<StoredEvent>): Page<EventSummary> {
  return { ...found, items: found.items.map(toSummary) }
}

const lower = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

function hasText(row: StoredEvent, q: string): boolean {
  const wanted = lower(q)
  const { id, subject, source, objectId, correlationId, dedupKey, data } = row
  const readable = isEncrypted(data) ? '' : data
  return [id, subject, source, objectId ?? '', correlationId, dedupKey, readable].some((text) =>
    lower(text).includes(wanted),
  )
}
