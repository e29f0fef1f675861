// The outbox: what is still to be published to the bus. Added and deleted with every commit while there is a bus, and
// read oldest first.
//
// One process writes, so the order of positions is the order of commits.

import type { StoredEvent } from '../../core/events/event/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { NewOutboxRow, OutboxRow } from '../../core/store/outbox/index.ts'
import { EVENT_COLUMNS } from './columns.ts'
import type { ReadAccess } from './read-connection.ts'
import { type Row, toEvent } from './rows.ts'
import type { Session } from './session.ts'
import { fromStored, fromStoredOrNull, type Stored, toStored, toStoredOrNull } from './text-values.ts'

export function addOutboxRow(session: Session, now: Instant, tenant: number, row: NewOutboxRow): void {
  const { id, subject, about, event, body } = row
  session.sql.addOutboxRow.run(
    tenant,
    toStored(id),
    toStored(subject),
    about,
    event,
    toStoredOrNull(body),
    now,
  )
}

export function toOutboxRow(row: Row, tenant: TenantId): OutboxRow {
  return {
    id: fromStored(row.id as Stored),
    tenant,
    position: row.position as number,
    subject: fromStored(row.subject as Stored),
    about: row.about as OutboxRow['about'],
    event: row.event_id as OutboxRow['event'],
    body: fromStoredOrNull(row.body as Stored | null),
    createdAt: row.created_at as number,
  }
}

export interface OutboxReads {
  outbox(
    limit: number,
    after?: number,
  ): { readonly rows: readonly OutboxRow[]; readonly events: readonly StoredEvent[] }
  outboxCount(cap: number): number
  outboxEldest(): { readonly at: number | null; readonly heldBy: null }
}

export function makeOutboxReads(
  { all, get }: Pick<ReadAccess, 'all' | 'get'>,
  tenantNames: () => ReadonlyMap<unknown, unknown>,
): OutboxReads {
  return {
    outbox(limit, after = 0) {
      const oldest = 'SELECT * FROM outbox WHERE position > ? ORDER BY position LIMIT ?'
      const found = all(oldest, after, limit)
      const told = all(
        `SELECT DISTINCT event.tenant, ${EVENT_COLUMNS} FROM (${oldest}) AS told` +
          ' JOIN event ON event.id = told.event_id AND event.tenant = told.tenant ORDER BY event.id',
        after,
        limit,
      )
      const names = tenantNames()
      const nameOf = (row: Row) => names.get(row.tenant) as TenantId
      return {
        rows: found.map((row) => toOutboxRow(row, nameOf(row))),
        events: told.map((row) => toEvent(row, nameOf(row))),
      }
    },
    outboxCount: (cap) => get('SELECT count(*) AS n FROM (SELECT 1 FROM outbox LIMIT ?)', cap)?.n as number,
    outboxEldest() {
      const row = get('SELECT created_at FROM outbox ORDER BY position LIMIT 1')
      return { at: (row?.created_at as number | undefined) ?? null, heldBy: null }
    },
  }
}
