// Facts in the database: appended, read by ranges of ids, and removed by retention.

import type { Fact } from '../../core/events/canonical/index.ts'
import type { EventId, TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { type PruneRequest, pruneFactsEnd } from '../../core/store/retention/index.ts'
import type { TenantReads } from '../../ports/store.ts'
import type { Piece } from './prune/prune-others.ts'
import type { ReadAccess } from './read-connection.ts'
import type { Row } from './rows.ts'
import type { Session } from './session.ts'
import { fromStored, type Stored } from './text-values.ts'

export function toFact(row: Row, tenant: TenantId): Fact {
  return {
    id: row.id as EventId,
    tenant,
    createdAt: row.created_at as number,
    body: fromStored(row.body as Stored),
  }
}

type FactsQuery = Parameters<TenantReads['facts']>[0]

export interface FactReads {
  facts(tenant: TenantId, query: FactsQuery): readonly Fact[]
}

export function makeFactReads({ all, tenantNumber }: Pick<ReadAccess, 'all' | 'tenantNumber'>): FactReads {
  return {
    facts(tenant, { after, below, limit, order }) {
      const direction = order === 'oldest' ? '' : ' DESC'
      const text = `SELECT * FROM fact WHERE tenant = ? AND id > ? AND id < ? ORDER BY id${direction} LIMIT ?`
      return all(text, tenantNumber(tenant), after, below, limit).map((row) => toFact(row, tenant))
    },
  }
}

export function walkFacts(
  session: Session,
  now: Instant,
  tenant: number,
  { factMs }: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  const rows: Row[] =
    factMs === undefined
      ? []
      : session.sql.someFacts.all(tenant, after, pruneFactsEnd(factMs, now), scanMax + 1)
  const isMore = rows.length > scanMax
  if (isMore) rows.pop()
  const old = rows.filter((row) => (row.created_at as number) <= now - (factMs ?? 0))
  return {
    seen: rows.length,
    isAny: old.length > 0,
    remove(gone) {
      for (const row of old) gone.facts += Number(session.sql.pruneFact.run(tenant, row.id).changes)
    },
    next: isMore ? ((rows.at(-1)?.id as string | undefined) ?? after) : null,
  }
}
