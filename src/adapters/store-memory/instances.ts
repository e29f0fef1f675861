// Instances of workflows, and the jobs that are about them.

import type { InstanceId, TenantId } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import { FINAL_WORK } from '../../core/store/retention/index.ts'
import type { InstanceRow } from '../../core/workflows/instance/index.ts'
import { hasToken, type InstanceGroup, markingText, sumGroups } from '../../core/workflows/instance/index.ts'
import type { TenantReads } from '../../ports/store.ts'
import { INSTANCE_WORK_MAX, MARKINGS_MAX, OVERVIEW_COUNT_MAX } from '../../ports/store.ts'
import { ownRows } from './pages.ts'
import { compareText, type MemoryState } from './state.ts'

type InstanceQuery = Parameters<TenantReads['instances']>[0]
type InstanceCounts = Awaited<ReturnType<TenantReads['instanceCounts']>>

export function findInstances(state: MemoryState, tenant: TenantId, query: InstanceQuery): InstanceRow[] {
  const { workflow, place, definition, attention, parent } = query
  const onlyActive = place !== undefined || definition !== undefined || attention !== undefined
  return ownRows(state.instances, tenant).filter(
    (row) =>
      (workflow === undefined || row.workflow === workflow) &&
      (query.state === undefined || row.state === query.state) &&
      (!onlyActive || row.state === 'active') &&
      (place === undefined || hasToken(row.marking, place)) &&
      (definition === undefined || row.definition === definition) &&
      (attention === undefined ||
        (attention === 'any' ? row.attention !== null : row.attention === attention)) &&
      (parent === undefined || row.parent === parent),
  )
}

export function countInstances(state: MemoryState, tenant: TenantId, workflow: string): InstanceCounts {
  const active = ownRows(state.instances, tenant).filter(
    (row) => row.workflow === workflow && row.state === 'active',
  )
  const groups = new Map<string, InstanceGroup>()
  for (const row of active.sort((a, b) => compareText(a.id, b.id))) {
    const { definition, version } = row
    const marking = markingText(row.marking)
    const key = joinKey(definition, marking)
    const count = Math.min((groups.get(key)?.count ?? 0) + 1, OVERVIEW_COUNT_MAX)
    groups.set(key, { definition, version, marking, count, lastId: row.id })
  }
  const sorted = [...groups.values()].sort(
    (a, b) => compareText(a.definition, b.definition) || compareText(a.marking, b.marking),
  )
  const attention = active.filter((row) => row.attention !== null).length
  return {
    ...sumGroups(sorted.slice(0, MARKINGS_MAX)),
    attention: Math.min(attention, OVERVIEW_COUNT_MAX),
  }
}

/** Finished ones are found among the jobs of the event that the instance started with. */
export function workOfInstance(
  state: MemoryState,
  tenant: TenantId,
  id: InstanceId,
  { all }: { readonly all: boolean },
): readonly WorkRow[] {
  const eventId = all ? state.instances.get(joinKey(tenant, id))?.eventId : undefined
  const ids = state.ofInstance.get(joinKey(tenant, id)) ?? []
  const rows = [...ids].flatMap((work) => state.work.get(work) ?? [])
  return rows
    .filter((row) => row.eventId === eventId || !FINAL_WORK.includes(row.state))
    .sort((a, b) => a.createdAt - b.createdAt || compareText(a.id, b.id))
    .slice(0, INSTANCE_WORK_MAX)
}
