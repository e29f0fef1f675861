// Commits a migration of one instance: it goes on under the new version, or it ends and a new one takes over, in one commit.
//
// Invariants: FI1 the commit is guarded by the revision that was decided by. MG10 of the old and the new instance either both
// are committed or neither. MG11 an event finds by a key one of the two, at any time.

import type { InstanceId, TenantId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import { type Correlation, freeKey } from '../../../core/workflows/correlation/index.ts'
import type { Instance } from '../../../core/workflows/instance/index.ts'
import {
  type InstanceEffect,
  type Refused,
  stepInstance,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import { type KnownRow, loadRows } from './correlation-rows.ts'
import { instanceIdOf } from './create-instance.ts'
import type { Loaded, SteppedOk } from './instance-types.ts'
import { type Instances, orRefused } from './instances.ts'

export interface MigrationOrder {
  readonly loaded: Loaded
  readonly to: Workflow
  readonly actor: string
  readonly reason: string
  readonly transformed: readonly JsonValue[]
  /** A new instance takes over. */
  readonly isReplaced: boolean
}

/** The instance that goes on. `raced`: another change was first. */
export type Migrated = { readonly instance: Instance } | { readonly refused: Refused } | 'raced'

export type Migrator = (tenant: TenantId, order: MigrationOrder) => Promise<Migrated>

export function makeMigrator(
  deps: Pick<EngineBase, 'store' | 'ids' | 'unitOfWork'> & {
    readonly instances: Pick<Instances, 'plan' | 'originOf' | 'envOf'>
  },
): Migrator {
  const { store, ids, unitOfWork, instances } = deps

  const inPlace: Migrator = async (tenant, { loaded, ...request }) => {
    const { workflow, instance } = loaded
    const origin = await instances.originOf(tenant, instance)
    const stepped = stepInstance(workflow, instance, { type: 'migrate', ...request }, instances.envOf(origin))
    if (!stepped.ok) return stepped
    const planned = await orRefused(() => instances.plan(tenant, origin, workflow, instance, stepped))
    if ('refused' in planned) return planned
    const { guards, writes } = planned
    const { ok } = await unitOfWork.once(tenant, { guards, writes, plans: [planned] })
    return ok ? { instance: planned.instance } : 'raced'
  }

  const replace: Migrator = async (tenant, { loaded, ...request }) => {
    const { workflow, instance: of } = loaded
    const { to } = request
    const origin = await instances.originOf(tenant, of)
    const env = instances.envOf(origin)
    const id = instanceIdOf(ids.work())
    const ended = stepInstance(workflow, of, { type: 'replace', by: id, ...request }, env)
    if (!ended.ok) return ended
    const begun = stepInstance(to, null, { type: 'takeOver', id, of, from: workflow, ...request }, env)
    if (!begun.ok) return begun
    const keys = [...of.correlations, ...begun.instance.correlations]
    const rows = await loadRows(store.forTenant(tenant), to.document.name, distinct(keys))
    const learned = begun.instance.correlations.map((key): InstanceEffect => ({ type: 'correlate', ...key }))
    const next = { ...begun, effects: [...learned, ...begun.effects] }
    const old = await orRefused(() => instances.plan(tenant, origin, workflow, of, withoutKeys(ended)))
    if ('refused' in old) return old
    try {
      const beside = { rows: rows.map((row) => passedOn(row, of.id, id)) }
      const planned = await orRefused(() => instances.plan(tenant, origin, to, null, next, beside))
      if ('refused' in planned) {
        unitOfWork.release(old.plans)
        return planned
      }
      const { ok } = await unitOfWork.once(tenant, {
        guards: [...old.guards, ...planned.guards],
        writes: [...old.writes, ...planned.writes],
        plans: [old, planned],
      })
      return ok ? { instance: planned.instance } : 'raced'
    } catch (error) {
      unitOfWork.release(old.plans)
      throw error
    }
  }

  return (tenant, order) => (order.isReplaced ? replace(tenant, order) : inPlace(tenant, order))
}

/** The new instance changes the rows of the keys, of both. */
function withoutKeys(stepped: SteppedOk): SteppedOk {
  return { ...stepped, effects: stepped.effects.filter(({ type }) => type !== 'uncorrelate') }
}

/** The old instance leaves the row; that a key was given once stays true of the new one. */
function passedOn(known: KnownRow, old: InstanceId, by: InstanceId): KnownRow {
  const row: Correlation = freeKey(known.row, old)
  return { ...known, after: row.ever === old ? { ...row, ever: by } : row }
}

function distinct(keys: Instance['correlations']): Instance['correlations'] {
  const all = new Map(keys.map((key) => [JSON.stringify([key.name, key.value]), key]))
  return [...all.values()]
}
