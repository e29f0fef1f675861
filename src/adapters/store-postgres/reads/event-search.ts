// Lists of events. Filters without an index scan a bounded number of rows and bytes, so that a word that no event
// contains costs a page as little as one that every event contains.

import type { EventSummary } from '../../../core/events/event/index.ts'
import { idSpan } from '../../../core/events/event/index.ts'
import { ENCRYPTED_MARK } from '../../../core/events/sensitive/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { readWholeId } from '../../../core/foundation/ids/index.ts'
import type { Page, TenantReads } from '../../../ports/store.ts'
import { SCAN_BYTES_MAX, SCAN_ROWS_MAX } from '../../../ports/store.ts'
import { prepare, type Query } from '../connection.ts'
import { escapeText } from '../parameters.ts'
import { EVENT, eventSummaryList } from '../tables.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { findScanEnd, makeParameters, type Parameter } from './scan.ts'

type EventsQuery = Parameters<TenantReads['events']>[0]

const SEARCHED = ['id', 'subject', 'source', 'object_id', 'correlation_id', 'dedup_key']

export async function searchEvents(
  query: Query,
  schema: string,
  tenant: TenantId,
  request: EventsQuery,
): Promise<Page<EventSummary>> {
  const { q = '', scanMax = SCAN_ROWS_MAX, scanBytesMax = SCAN_BYTES_MAX, limit, unmatched } = request
  const after = request.cursor === null ? null : decodeCursor(EVENT.name, ['text'], request.cursor)[0]
  const span = idSpan(request.from, request.to)
  const indexed = (parameter: Parameter): string[] => {
    const where = [`t.tenant = ${parameter(escapeText(tenant), 'text')}`]
    if (unmatched === true) where.push('t.matched = 0')
    if (after != null) where.push(`t.id < ${parameter(after, 'text')}`)
    if (span.atLeast !== null) where.push(`t.id >= ${parameter(span.atLeast, 'text')}`)
    if (span.below !== null) where.push(`t.id < ${parameter(span.below, 'text')}`)
    return where
  }
  const named = readWholeId(q)
  const { source, sourceNot, subject, objectId, correlationId, from, to } = request
  const isScan =
    named === null &&
    (q !== '' ||
      unmatched === false ||
      [source, sourceNot, subject, objectId, correlationId, from, to].some((filter) => filter !== undefined))
  const lastRow = isScan ? await findScanEnd(query, `${schema}.event`, indexed, scanMax) : null
  const full = isScan && q !== '' ? await findFull(query, schema, indexed, lastRow, scanBytesMax) : null
  const end = full ?? lastRow

  const { values, parameter } = makeParameters()
  const where = indexed(parameter)
  if (end !== null) where.push(`t.id >= ${parameter(end, 'text')}`)
  const texts = { source, subject, object_id: objectId, correlation_id: correlationId }
  for (const [column, text] of Object.entries(texts)) {
    if (text !== undefined) where.push(`t.${column} = ${parameter(escapeText(text), 'text')}`)
  }
  if (sourceNot !== undefined) where.push(`t.source <> ${parameter(escapeText(sourceNot), 'text')}`)
  if (from !== undefined) where.push(`t.received_at >= ${parameter(Math.ceil(from), 'int8')}`)
  if (to !== undefined) where.push(`t.received_at < ${parameter(Math.ceil(to), 'int8')}`)
  if (unmatched === false) where.push('t.matched <> 0')
  if (named !== null) {
    where.push(
      'event' in named
        ? `t.id = ${parameter(named.event, 'text')}`
        : `t.id = (SELECT w.event_id FROM ${schema}.work AS w WHERE w.tenant = $1::text AND w.id = ${parameter(named.work, 'text')})`,
    )
  } else if (q !== '') where.push(hasText(parameter(escapeText(q), 'text')))

  const rows = await query(
    prepare(
      `SELECT ${eventSummaryList(schema, 't')} FROM ${schema}.event AS t WHERE ${where.join(' AND ')} ` +
        `ORDER BY t.id DESC LIMIT ${parameter(limit + 1, 'int8')}`,
      values,
    ),
  )
  const items: EventSummary[] = rows.slice(0, limit)
  const last = rows.length > items.length ? (items.at(-1)?.id ?? null) : end
  return { items, nextCursor: last === null ? null : encodeCursor(EVENT.name, [last]) }
}

/** The row that reaches the byte limit, if there are more after it; a length is known without the text. */
async function findFull(
  query: Query,
  schema: string,
  indexed: (parameter: Parameter) => string[],
  lastRow: string | null,
  bytesMax: number,
): Promise<string | null> {
  const { values, parameter } = makeParameters()
  const where = indexed(parameter)
  if (lastRow !== null) where.push(`t.id >= ${parameter(lastRow, 'text')}`)
  const [full, next] = await query(
    prepare(
      'SELECT id FROM (SELECT t.id, sum(octet_length(t.data)) OVER (ORDER BY t.id DESC ROWS UNBOUNDED PRECEDING) AS bytes ' +
        `FROM ${schema}.event AS t WHERE ${where.join(' AND ')}) AS s ` +
        `WHERE bytes >= ${parameter(bytesMax, 'int8')} ORDER BY id DESC LIMIT 2`,
      values,
    ),
  )
  return next === undefined ? null : full.id
}

/** With the collation "C" only the letters A to Z have another case. */
/** An encrypted payload is noise, in which a short word would be found by chance. */
function hasText(q: string): string {
  const has = (column: string) => `position(lower(${q} COLLATE "C") IN lower(t.${column} COLLATE "C")) > 0`
  const isOpen = `left(t.data, ${ENCRYPTED_MARK.length}) <> '${ENCRYPTED_MARK}'`
  return `(${SEARCHED.map(has).join(' OR ')} OR (${has('data')} AND ${isOpen}))`
}
