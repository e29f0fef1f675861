// The overview and the groups of dead letters, from indexes and with bounded reads.

import { groupByCause, type LikeDeadLetters } from '../../core/failures/dead-letter/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { StoreOverview, TenantReads } from '../../ports/store.ts'
import { GROUPED_DEAD_LETTERS_MAX, GROUPS_MAX, OVERVIEW_COUNT_MAX } from '../../ports/store.ts'
import type { ReadAccess } from './read-connection.ts'
import { fromStored, type Stored } from './text-values.ts'

type Groups = Awaited<ReturnType<TenantReads['deadLetterGroups']>>

/** The database counts dead letters with the same error; the rest is few enough to be read. */
export function groupDeadLetters(
  { all, get, tenantNumber }: ReadAccess,
  tenant: TenantId,
  state: string,
): Groups {
  const no = tenantNumber(tenant)
  const rows = all(
    'SELECT class, reason, consumer, last_error, count(*) AS count, min(created_at) AS first_at,' +
      ' max(created_at) AS latest_at, max(id) AS sample_id FROM (SELECT * FROM dead_letter' +
      ' WHERE tenant = ? AND state = ? ORDER BY id DESC LIMIT ?) GROUP BY class, reason, consumer, last_error',
    no,
    state,
    GROUPED_DEAD_LETTERS_MAX,
  )
  const groups = groupByCause(
    rows.map((row) => ({
      class: row.class as LikeDeadLetters['class'],
      reason: row.reason as LikeDeadLetters['reason'],
      consumer: fromStored(row.consumer as Stored),
      lastError: fromStored(row.last_error as Stored),
      count: row.count as number,
      firstAt: row.first_at as number,
      latestAt: row.latest_at as number,
      sampleId: row.sample_id as LikeDeadLetters['sampleId'],
    })),
  )
  const beyond = get(
    'SELECT 1 FROM dead_letter WHERE tenant = ? AND state = ? LIMIT 1 OFFSET ?',
    no,
    state,
    GROUPED_DEAD_LETTERS_MAX,
  )
  return {
    groups: groups.slice(0, GROUPS_MAX),
    isCapped: beyond !== undefined || groups.length > GROUPS_MAX,
  }
}

/** The states as literals, so that the planner sees which partial index holds them. */
const COUNTED = {
  ready: 'work WHERE state = 2 AND tenant = ?',
  leased: 'work INDEXED BY work_leased WHERE state = 1 AND tenant = ?',
  parked: 'work WHERE state = 6 AND state > 2 AND tenant = ?',
  openDeadLetters: "dead_letter WHERE state = 'open' AND tenant = ?",
  raisedEscalations: "escalation WHERE state = 'raised' AND tenant = ?",
  openFailures: "failure WHERE state = 'open' AND state <> 'resolved' AND tenant = ?",
  activeInstances: 'instance INDEXED BY instance_active WHERE state = 0 AND tenant = ?',
  instancesWithAttention:
    'instance INDEXED BY instance_attention WHERE state = 0 AND attention IS NOT NULL AND tenant = ?',
  openOrphans: "orphan WHERE state = 'open' AND tenant = ?",
  unmatched: 'event WHERE matched = 0 AND tenant = ?',
} as const

/** The rest of the cap bounds each count: the whole reads no more index entries than `cap`. */
export function countAllOpen({ get, tenantNumber }: ReadAccess, tenant: TenantId, cap: number): number {
  const no = tenantNumber(tenant)
  let total = 0
  for (const from of [COUNTED.ready, WAITING, COUNTED.leased, COUNTED.parked, COUNTED.openDeadLetters])
    total += get(`SELECT count(*) AS n FROM (SELECT 1 FROM ${from} LIMIT ?)`, no, cap - total)?.n as number
  return total
}

const WAITING = 'work WHERE state = 3 AND state > 2 AND tenant = ?'

/** From consumer to consumer by the index: a long backlog of one costs no more than a short one. */
export function readOldestReadyAt({ sql, tenantNumber }: ReadAccess, tenant: TenantId): number | null {
  const no = tenantNumber(tenant)
  const next = sql(
    'SELECT consumer, due_at FROM work WHERE state = 2 AND tenant = ? AND consumer > ? ORDER BY consumer, due_at LIMIT 1',
  )
  let oldest: number | null = null
  for (let row = next.get(no, ''); row !== undefined; row = next.get(no, row.consumer))
    oldest = Math.min(oldest ?? row.due_at, row.due_at)
  return oldest
}

export function readOverview(access: ReadAccess, tenant: TenantId): StoreOverview {
  const { get, tenantNumber } = access
  const no = tenantNumber(tenant)
  const count = (name: keyof typeof COUNTED) =>
    get(`SELECT count(*) AS n FROM (SELECT 1 FROM ${COUNTED[name]} LIMIT ?)`, no, OVERVIEW_COUNT_MAX)
      ?.n as number
  return {
    counts: {
      ready: count('ready'),
      leased: count('leased'),
      parked: count('parked'),
      openDeadLetters: count('openDeadLetters'),
      raisedEscalations: count('raisedEscalations'),
      openFailures: count('openFailures'),
      activeInstances: count('activeInstances'),
      instancesWithAttention: count('instancesWithAttention'),
      openOrphans: count('openOrphans'),
      unmatched: count('unmatched'),
    },
    cappedAt: OVERVIEW_COUNT_MAX,
    oldestReadyAt: readOldestReadyAt(access, tenant),
  }
}
