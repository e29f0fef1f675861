// Converts rows of instances, their history and orphans to the core's types.

import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { HistoryRow, InstanceRow } from '../../core/workflows/instance/index.ts'
import { parseMarking } from '../../core/workflows/instance/index.ts'
import type { Orphan } from '../../core/workflows/orphan/index.ts'
import type { Row } from './rows.ts'
import { INSTANCE_STATE_OF } from './state-codes.ts'
import { fromStored, fromStoredOrNull, type Stored } from './text-values.ts'

const text = (value: unknown) => fromStored(value as Stored)
const textOrNull = (value: unknown) => fromStoredOrNull(value as Stored | null)

export function toInstance(row: Row, tenant: TenantId): InstanceRow {
  return {
    id: row.id as InstanceRow['id'],
    tenant,
    workflow: text(row.workflow),
    definition: row.definition as string,
    version: text(row.version),
    state: INSTANCE_STATE_OF[row.state as number] as InstanceRow['state'],
    attention: row.attention as InstanceRow['attention'],
    revision: row.revision as number,
    marking: parseMarking(text(row.marking)),
    eventId: row.event_id as InstanceRow['eventId'],
    correlationId: text(row.correlation_id),
    parent: row.parent as InstanceRow['parent'],
    body: text(row.body),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    endedAt: row.ended_at as number | null,
  }
}

export function toHistory(row: Row): HistoryRow {
  return {
    instance: row.instance as HistoryRow['instance'],
    sequence: row.sequence as number,
    type: row.type as HistoryRow['type'],
    body: text(row.body),
    at: row.at as number,
  }
}

export function toOrphan(row: Row, tenant: TenantId): Orphan {
  return {
    id: row.id as Orphan['id'],
    tenant,
    version: row.version as number,
    state: row.state as Orphan['state'],
    reason: row.reason as Orphan['reason'],
    workflow: text(row.workflow),
    trigger: text(row.trigger_id),
    eventId: row.event_id as Orphan['eventId'],
    workId: row.work_id as WorkId,
    keys: text(row.keys),
    instance: row.instance as Orphan['instance'],
    by: textOrNull(row.closed_by),
    note: textOrNull(row.note),
    expiresAt: row.expires_at as number | null,
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  }
}
