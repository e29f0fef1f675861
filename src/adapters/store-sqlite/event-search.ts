// Lists of events. Filters without an index scan a bounded number of rows and bytes, so that a word that no event
// contains costs a page as little as one that every event contains.

import type { EventSummary } from '../../core/events/event/index.ts'
import { idSpan } from '../../core/events/event/index.ts'
import { ENCRYPTED_MARK } from '../../core/events/sensitive/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { readWholeId } from '../../core/foundation/ids/index.ts'
import type { Page, TenantReads } from '../../ports/store.ts'
import { SCAN_BYTES_MAX, SCAN_ROWS_MAX } from '../../ports/store.ts'
import { EVENT_OF_WORK, EVENT_SUMMARY_COLUMNS } from './columns.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { ReadAccess, Value } from './read-connection.ts'
import { toEventSummary } from './rows.ts'
import { toStored } from './text-values.ts'

type EventsQuery = Parameters<TenantReads['events']>[0]
type Where = readonly [sql: string, ...values: Value[]]

const LIST = 'events'

export function searchEvents(access: ReadAccess, tenant: TenantId, query: EventsQuery): Page<EventSummary> {
  const { all, tenantNumber } = access
  const { q = '', scanMax = SCAN_ROWS_MAX, scanBytesMax = SCAN_BYTES_MAX, limit } = query
  const after = query.cursor === null ? null : decodeCursor(LIST, query.cursor)[1]
  const indexed: Where[] = [['tenant = ?', tenantNumber(tenant)]]
  if (query.unmatched === true) indexed.push(['matched = 0'])
  if (after !== null) indexed.push(['id < ?', after])
  const span = idSpan(query.from, query.to)
  if (span.atLeast !== null) indexed.push(['id >= ?', span.atLeast])
  if (span.below !== null) indexed.push(['id < ?', span.below])
  const others = filtersOf(query)

  const named = readWholeId(q)
  if (named !== null) {
    const id = 'event' in named ? named.event : eventOfWork(access, tenant, named.work)
    indexed.push(['id = ?', id ?? ''])
  } else if (q !== '') others.push(hasText(q))

  const isScan = others.length > 0 && named === null
  let end = isScan ? findEnd(access, indexed, scanMax) : null
  if (end !== null) indexed.push(['id >= ?', end])
  const full = isScan && q !== '' ? findFull(access, indexed, scanBytesMax) : null
  if (full !== null) {
    end = full
    indexed.push(['id >= ?', full])
  }
  const [where, values] = join([...indexed, ...others])
  const text = `SELECT ${EVENT_SUMMARY_COLUMNS} FROM event WHERE ${where} ORDER BY id DESC LIMIT ?`
  const rows = all(text, ...values, limit + 1)
  const items = rows.slice(0, limit).map((row) => toEventSummary(row, tenant))
  const last = rows.length > items.length ? (items.at(-1)?.id ?? null) : end
  return { items, nextCursor: last === null ? null : encodeCursor(LIST, [0, last]) }
}

function filtersOf(query: EventsQuery): Where[] {
  const { source, sourceNot, subject, unmatched, objectId, correlationId, from, to } = query
  const wheres: Where[] = []
  if (objectId !== undefined) wheres.push(['object_id = ?', toStored(objectId)])
  if (correlationId !== undefined) wheres.push(['correlation_id = ?', toStored(correlationId)])
  if (from !== undefined) wheres.push(['received_at >= ?', from])
  if (to !== undefined) wheres.push(['received_at < ?', to])
  if (source !== undefined) wheres.push(['source = ?', toStored(source)])
  if (sourceNot !== undefined) wheres.push(['source <> ?', toStored(sourceNot)])
  if (subject !== undefined) wheres.push(['subject = ?', toStored(subject)])
  if (unmatched === false) wheres.push(['matched <> 0'])
  return wheres
}

/** The last row to scan, if there are more after it: from the index alone. */
function findEnd({ all }: ReadAccess, indexed: readonly Where[], scanMax: number): string | null {
  const [where, values] = join(indexed)
  const text = `SELECT id FROM event WHERE ${where} ORDER BY id DESC LIMIT 2 OFFSET ?`
  const [end, next] = all(text, ...values, scanMax - 1)
  return next === undefined ? null : (end?.id as string)
}

/**
 * The row that reaches the byte limit, if there are more after it: lengths are at the head of a row, texts stay unread.
 */
function findFull({ all }: ReadAccess, indexed: readonly Where[], bytesMax: number): string | null {
  const [where, values] = join(indexed)
  const text =
    'SELECT id FROM (SELECT id, sum(octet_length(data)) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS bytes' +
    ` FROM event WHERE ${where}) WHERE bytes >= ? LIMIT 2`
  const [full, next] = all(text, ...values, bytesMax)
  return next === undefined ? null : (full?.id as string)
}

function eventOfWork({ get, tenantNumber }: ReadAccess, tenant: TenantId, work: string): string | undefined {
  const row = get(`SELECT ${EVENT_OF_WORK} FROM work WHERE tenant = ? AND id = ?`, tenantNumber(tenant), work)
  return row?.event_id as string | undefined
}

/**
 * `lower` and LIKE know only the letters A to Z. A payload is JSON, which contains no NUL, where LIKE would stop; an
 * encrypted one is noise, in which a short word would be found by chance.
 */
function hasText(q: string): Where {
  const short = ['id', 'subject', 'source', 'object_id', 'correlation_id', 'dedup_key']
  const stored = toStored(q)
  const conditions = short.map((column) => `instr(lower(${column}), lower(?))`)
  const pattern = `%${q.replace(/[\\%_]/g, '\\$&')}%`
  return [
    `(${conditions.join(' OR ')} OR (data LIKE ? ESCAPE '\\' AND substr(data, 1, ${ENCRYPTED_MARK.length}) <> '${ENCRYPTED_MARK}'))`,
    ...short.map(() => stored),
    toStored(pattern),
  ]
}

function join(wheres: readonly Where[]): readonly [string, readonly Value[]] {
  return [wheres.map(([condition]) => condition).join(' AND '), wheres.flatMap(([, ...values]) => values)]
}
