// The overview and the groups of dead letters, from indexes and with bounded reads.

import { groupByCause } from '../../../core/failures/dead-letter/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { StoreOverview, TenantReads } from '../../../ports/store.ts'
import { GROUPED_DEAD_LETTERS_MAX, GROUPS_MAX, OVERVIEW_COUNT_MAX } from '../../../ports/store.ts'
import { prepare, type Query } from '../connection.ts'
import { escapeText } from '../parameters.ts'
import { LISTED } from '../tables.ts'

/** The database counts dead letters with the same error; the rest is few enough to be read. */
export async function groupDeadLetters(
  query: Query,
  schema: string,
  tenant: TenantId,
  state: string,
): ReturnType<TenantReads['deadLetterGroups']> {
  const rows = await query(
    prepare(
      'SELECT class, reason, consumer, last_error AS "lastError", count(*) AS count, min(created_at) AS "firstAt", ' +
        'max(created_at) AS "latestAt", max(id) AS "sampleId" FROM (' +
        `SELECT * FROM ${schema}.dead_letter WHERE tenant = $1::text AND state = $2::text AND ${LISTED} ` +
        'ORDER BY id DESC LIMIT $3::int8) AS newest GROUP BY class, reason, consumer, last_error',
      [escapeText(tenant), state, GROUPED_DEAD_LETTERS_MAX],
    ),
  )
  const beyond = await query(
    prepare(
      `SELECT 1 FROM ${schema}.dead_letter WHERE tenant = $1::text AND state = $2::text AND ${LISTED} ` +
        'LIMIT 1 OFFSET $3::int8',
      [escapeText(tenant), state, GROUPED_DEAD_LETTERS_MAX],
    ),
  )
  const groups = groupByCause(rows)
  return {
    groups: groups.slice(0, GROUPS_MAX),
    isCapped: beyond.length > 0 || groups.length > GROUPS_MAX,
  }
}

const COUNTED = {
  ready: "work WHERE state = 'ready' AND tenant = $1::text",
  leased: "work WHERE state = 'leased' AND tenant = $1::text",
  parked: "work WHERE state = 'parked' AND tenant = $1::text",
  openDeadLetters: `dead_letter WHERE state = 'open' AND tenant = $1::text AND ${LISTED}`,
  raisedEscalations: `escalation WHERE state = 'raised' AND tenant = $1::text AND ${LISTED}`,
  openFailures: `failure WHERE state = 'open' AND tenant = $1::text AND ${LISTED}`,
  activeInstances: "instance WHERE state = 'active' AND tenant = $1::text",
  instancesWithAttention: "instance WHERE state = 'active' AND attention IS NOT NULL AND tenant = $1::text",
  openOrphans: `orphan WHERE state = 'open' AND tenant = $1::text AND ${LISTED}`,
  unmatched: 'event WHERE matched = 0 AND tenant = $1::text',
} as const

/** From consumer to consumer by the index: a long backlog of one costs no more than a short one. */
const oldestReady = (schema: string) => `
WITH RECURSIVE waiting AS (
  (SELECT consumer FROM ${schema}.work WHERE state = 'ready' AND tenant = $1::text ORDER BY consumer LIMIT 1)
  UNION ALL
  SELECT (SELECT w.consumer FROM ${schema}.work AS w WHERE w.state = 'ready' AND w.tenant = $1::text
    AND w.consumer > waiting.consumer ORDER BY w.consumer LIMIT 1)
  FROM waiting WHERE waiting.consumer IS NOT NULL
)
SELECT min(first.due_at) FROM waiting CROSS JOIN (VALUES (false), (true)) AS a(alone) CROSS JOIN LATERAL (
  SELECT w.due_at FROM ${schema}.work AS w WHERE w.state = 'ready' AND w.tenant = $1::text
    AND w.consumer = waiting.consumer AND w.alone = a.alone ORDER BY w.due_at LIMIT 1
) AS first`

const WAITING = "work WHERE state = 'waiting' AND tenant = $1::text"

export async function countAllOpen(
  query: Query,
  schema: string,
  tenant: TenantId,
  cap: number,
): Promise<number> {
  const from = [COUNTED.ready, WAITING, COUNTED.leased, COUNTED.parked, COUNTED.openDeadLetters]
  const each = from.map((one) => `(SELECT 1 FROM ${schema}.${one} LIMIT $2::int8)`)
  const [row] = await query(
    prepare(
      `SELECT count(*) AS total FROM (SELECT 1 FROM (${each.join(' UNION ALL ')}) AS open LIMIT $2::int8) AS counted`,
      [escapeText(tenant), cap],
    ),
  )
  return row.total
}

export async function readOldestReadyAt(
  query: Query,
  schema: string,
  tenant: TenantId,
): Promise<number | null> {
  const [row] = await query(prepare(`SELECT (${oldestReady(schema)}) AS at`, [escapeText(tenant)]))
  return row.at
}

export async function readOverview(query: Query, schema: string, tenant: TenantId): Promise<StoreOverview> {
  const counts = Object.entries(COUNTED).map(
    ([name, from]) =>
      `(SELECT count(*) FROM (SELECT 1 FROM ${schema}.${from} LIMIT $2::int8) AS counted) AS "${name}"`,
  )
  const [row] = await query(
    prepare(`SELECT ${counts.join(', ')}, (${oldestReady(schema)}) AS "oldestReadyAt"`, [
      escapeText(tenant),
      OVERVIEW_COUNT_MAX,
    ]),
  )
  const { oldestReadyAt, ...rest } = row
  return { counts: rest, cappedAt: OVERVIEW_COUNT_MAX, oldestReadyAt }
}
