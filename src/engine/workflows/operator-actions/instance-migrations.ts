// Migrates instances to the deployed version of their workflow: one, or all of a version in pages. The same function
// computes the preview and the migration, and proves it for the actual marking of the instance.
//
// Invariants: MG5 a dry run changes nothing and shows what a run would do. MG6 an instance whose tokens could never
// reach an end of the new version is refused. MG7 each instance is a separate commit, with who did it and why in its
// history.

import { makeCache } from '../../../core/foundation/cache/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { InstanceId, TenantId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import { canEndFrom } from '../../../core/workflows/analysis/index.ts'
import {
  type DataChange,
  type Instance,
  type InstanceRow,
  type Marking,
  markingText,
} from '../../../core/workflows/instance/index.ts'
import {
  isManualMigration,
  type MigrationPlan,
  planMigration,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import { type EngineBase, orConflict, RACES_MAX, retrying } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import {
  type Instances,
  type Loaded,
  type MigrationOrder,
  makeMigrator,
  refusalError,
} from '../instances/index.ts'
import { NO_REASON, type Operator } from './instance-actions.ts'
import { callTransform } from './transform-data.ts'
import { assertSees, seesClear } from './workflow-permissions.ts'

const ENDS_MAX = 1_000

export interface MigrationResult {
  readonly id: InstanceId
  readonly from: string
  readonly to: string
  /** It is possible; for a run: it was done. */
  readonly ok: boolean
  readonly message: string
  readonly before: Marking
  readonly after: Marking
  readonly changes: readonly DataChange[]
  /** The new instance that took over; null: this one goes on. */
  readonly successor: InstanceId | null
}

export interface MigratedPage {
  readonly items: readonly MigrationResult[]
  /** Of this page. */
  readonly migrated: number
  readonly refused: number
  /** Instances of the requested versions that are not on the new one, counted up to the limit; includes refused ones. */
  readonly left: number
  readonly nextCursor: string | null
}

interface Judged {
  readonly result: MigrationResult
  /** null: it is refused. */
  readonly order: Omit<MigrationOrder, 'actor' | 'reason'> | null
}

export interface MigrateRequest {
  readonly dryRun: boolean
  readonly reason: string | null
}

export interface MigrateManyRequest extends MigrateRequest {
  /** A version; null: all but the deployed one. */
  readonly from: string | null
  readonly cursor: string | null
  readonly limit: number
}

export interface Migrations {
  one(operator: Operator, id: InstanceId, request: MigrateRequest): Promise<MigrationResult>
  many(operator: Operator, workflow: string, request: MigrateManyRequest): Promise<MigratedPage>
}

export function makeMigrations(
  deps: Pick<EngineBase, 'store' | 'log' | 'wake' | 'code' | 'clock' | 'ids' | 'unitOfWork'> & {
    readonly instances: Instances
    readonly registry: Pick<Registry, 'workflow'>
  },
): Migrations {
  const { store, instances, registry, log } = deps
  const migrator = makeMigrator(deps)

  const deployed = (tenant: TenantId, name: string): Workflow => {
    const workflow = registry.workflow(tenant, name)
    if (workflow === null)
      throw new AppError('not_found', `there is no workflow ${name.slice(0, 100)} in force`)
    return workflow
  }

  /** Instances of one workflow are in a few markings, and the search is expensive. */
  const ends = makeCache<boolean>({ entriesMax: ENDS_MAX, ageMsMax: Number.POSITIVE_INFINITY })
  const mayEnd = ({ hash, document }: Workflow, marking: Marking): boolean => {
    const name = `${hash} ${markingText(marking)}`
    const known = ends.get(name, 0)
    if (known !== undefined) return known
    const found = canEndFrom(document, marking) !== 'no'
    ends.reading()(name, found, 0)
    return found
  }

  const load = async (operator: Operator, id: InstanceId): Promise<Loaded> => {
    const loaded = await instances.load(operator.tenant, id)
    if (loaded === null) throw new AppError('not_found', `there is no instance ${id.slice(0, 100)}`)
    assertSees(operator, loaded.workflow.document)
    return loaded
  }

  /** `isChosen`: a user asked for this very instance, and would say why. */
  const judge = async (
    operator: Operator,
    loaded: Loaded,
    to: Workflow,
    isChosen: boolean,
  ): Promise<Judged> => {
    const { instance } = loaded
    const about = {
      id: instance.id,
      from: instance.version,
      to: to.document.version,
      before: instance.marking,
    }
    const refused = (message: string): Judged => ({
      result: { ...about, ok: false, message, after: instance.marking, changes: [], successor: null },
      order: null,
    })
    if (instance.state !== 'active') return refused(`the instance is ${instance.state}`)
    if (instance.definition === to.hash) return refused('it is on the version in force already')
    if (isManualMigration(instance.version, to) && !isChosen)
      return refused('its migration is manual: migrate this instance by itself, with a reason')
    const { plan, transformed } = await planned(operator, loaded, to)
    if (!plan.ok) return refused(plan.message)
    if (!mayEnd(to, plan.marking))
      return refused('its tokens could never reach an end of the new version: map their places otherwise')
    const changes = seesClear(operator, loaded.workflow.document)
      ? plan.changes
      : plan.changes.map(({ path }): DataChange => ({ path, hidden: true }))
    const { message, marking: after, isReplaced } = plan
    return {
      result: { ...about, ok: true, message, after, changes, successor: null },
      order: { loaded, to, transformed, isReplaced },
    }
  }

  /** With what its functions return. */
  const planned = async (
    operator: Operator,
    { workflow, instance }: Loaded,
    to: Workflow,
  ): Promise<{ readonly plan: MigrationPlan; readonly transformed: readonly JsonValue[] }> => {
    const origin = await instances.originOf(operator.tenant, instance)
    const { scope } = instances.envOf(origin)
    const transformed: JsonValue[] = []
    for (;;) {
      const plan = planMigration(workflow, to, instance, scope, transformed)
      if (plan.needs === null || origin.stored === null) return { plan, transformed }
      const { name } = plan.needs
      const called = await callTransform(deps, origin.stored, plan.needs)
      if (called.ok) transformed.push(called.value)
      else {
        const why = seesClear(operator, workflow.document) ? `: ${called.error}` : ''
        return { plan: { ...plan, message: `the function ${name} failed${why}` }, transformed }
      }
    }
  }

  const run = async (
    operator: Operator,
    loaded: Loaded,
    to: Workflow,
    { dryRun, reason }: MigrateRequest,
    isOne: boolean,
  ): Promise<MigrationResult> => {
    const { id } = loaded.instance
    const runOnce = async (now: Loaded, retry: () => Promise<MigrationResult>): Promise<MigrationResult> => {
      const { result, order } = await judge(operator, now, to, isOne && (dryRun || reason !== null))
      if (order === null || dryRun) return result
      const who = { actor: operator.actor, reason: reason ?? NO_REASON }
      const migrated = await migrator(operator.tenant, { ...order, ...who })
      // Another change was first: its data may be other data.
      if (migrated === 'raced') return retry()
      if ('refused' in migrated)
        return { ...result, ok: false, message: migrated.refused.message, changes: [] }
      const { instance } = migrated
      const successor = instance.id === id ? null : instance.id
      logAction(operator, now.instance, { ...result, successor }, reason)
      deps.wake()
      return { ...result, after: instance.marking, successor }
    }
    let isFirst = true
    return retrying(
      RACES_MAX,
      async (retry) => {
        const now = isFirst ? loaded : await load(operator, id)
        isFirst = false
        return runOnce(now, retry)
      },
      orConflict('the instance changes without end; try again'),
    )
  }

  const logAction = (
    operator: Operator,
    instance: Instance,
    { from, to, successor }: MigrationResult,
    reason: string | null,
  ) => {
    const { id, workflow, correlationId } = instance
    const about = { tenant: operator.tenant, instance: id, workflow, version: to, from, correlationId }
    const next = successor === null ? {} : { successor }
    log.info('instance.migrated', { ...about, ...next, actor: operator.actor, reason })
  }

  /** The definitions to go through, in a fixed order, so that a cursor means the same in every page. */
  const stages = async (operator: Operator, to: Workflow, from: string | null) => {
    const { definitions } = await store.forTenant(operator.tenant).instanceCounts(to.document.name)
    return definitions
      .filter(({ definition, version }) => definition !== to.hash && (from === null || version === from))
      .sort((a, b) => (a.definition < b.definition ? -1 : 1))
  }

  return {
    async one(operator, id, request) {
      const loaded = await load(operator, id)
      const to = deployed(operator.tenant, loaded.instance.workflow)
      const result = await run(operator, loaded, to, request, true)
      if (result.ok || request.dryRun) return result
      throw refusalError({ code: 'cannot_migrate', message: result.message })
    },

    async many(operator, name, request) {
      const to = deployed(operator.tenant, name)
      assertSees(operator, to.document)
      const all = await stages(operator, to, request.from)
      const start = readCursor(request.cursor)
      const rest = start === null ? all : all.filter(({ definition }) => definition >= start.definition)
      const items: MigrationResult[] = []
      let nextCursor: string | null = null
      for (const [at, { definition }] of rest.entries()) {
        const room = request.limit - items.length
        const page = await store.forTenant(operator.tenant).instances({
          workflow: name,
          state: 'active',
          definition,
          cursor: start?.definition === definition ? start.cursor : null,
          limit: room,
        })
        for (const row of page.items) items.push(await runRow(operator, row, to, request))
        const following = rest[at + 1]
        if (page.nextCursor !== null) nextCursor = writeCursor(definition, page.nextCursor)
        else if (items.length >= request.limit && following !== undefined)
          nextCursor = writeCursor(following.definition, null)
        if (nextCursor !== null || items.length >= request.limit) break
      }
      const done = items.filter(({ ok }) => ok).length
      const left = (await stages(operator, to, request.from)).reduce((sum, { count }) => sum + count, 0)
      return {
        items,
        migrated: request.dryRun ? 0 : done,
        refused: items.length - done,
        left,
        nextCursor,
      }
    },
  }

  /** An instance that ends, changes or becomes unreadable meanwhile is reported as refused, and the others continue. */
  async function runRow(
    operator: Operator,
    row: InstanceRow,
    to: Workflow,
    request: MigrateRequest,
  ): Promise<MigrationResult> {
    try {
      return await run(operator, await load(operator, row.id), to, request, false)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { id, version, marking } = row
      const about = { id, from: version, to: to.document.version, before: marking, after: marking }
      return { ...about, ok: false, message: error.message, changes: [], successor: null }
    }
  }
}

interface Cursor {
  readonly definition: string
  readonly cursor: string | null
}

const SEPARATOR = '~'

function writeCursor(definition: string, cursor: string | null): string {
  return `${definition}${SEPARATOR}${cursor ?? ''}`
}

function readCursor(text: string | null): Cursor | null {
  if (text === null) return null
  const at = text.indexOf(SEPARATOR)
  if (at <= 0) throw new AppError('invalid_cursor')
  const cursor = text.slice(at + 1)
  return { definition: text.slice(0, at), cursor: cursor === '' ? null : cursor }
}
