// Records of one kind by the bytes of their keys.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { endOfPrefix } from '../../../core/foundation/text/index.ts'
import type { Page, StoredRecord, TenantReads } from '../../../ports/store.ts'
import { prepare, type Query } from '../connection.ts'
import { escapeText } from '../parameters.ts'
import { decodeCursor, encodeCursor, type Value } from './cursor.ts'

export async function listRecords(
  query: Query,
  schema: string,
  tenant: TenantId,
  { kind, prefix = '', cursor, limit }: Parameters<TenantReads['records']>[0],
): Promise<Page<StoredRecord>> {
  const list = `records of ${kind}`
  const values: Value[] = [escapeText(tenant), kind, limit + 1]
  const where = ['t.tenant = $1::text', 't.kind = $2::text']
  const bound = (operator: string, key: string) => where.push(`t.key ${operator} $${values.push(key)}::text`)
  if (prefix !== '') {
    const start = escapeText(prefix)
    const end = endOfPrefix(start)
    bound('>=', start)
    if (end !== null) bound('<', end)
  }
  if (cursor !== null) bound('>', escapeText(decodeCursor(list, ['text'], cursor)[0] as string))
  const rows = await query(
    prepare(
      `SELECT t.key, t.version, t.body FROM ${schema}.record AS t WHERE ${where.join(' AND ')} ` +
        'ORDER BY t.key LIMIT $3::int8',
      values,
    ),
  )
  const items: StoredRecord[] = rows.slice(0, limit)
  const last = items.at(-1)
  const isMore = last !== undefined && rows.length > items.length
  return { items, nextCursor: isMore ? encodeCursor(list, [last.key]) : null }
}
