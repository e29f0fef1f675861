// Resolves orphans: an operator names the instance of one, or discards it; and a changed definition may match it. Each
// is one commit, guarded by the orphan's version.
//
// Invariants: CR10 a correlated orphan becomes a job of its trigger, and is handled like any update. CR11 the second of
// two decisions changes nothing. CR12 after a workflow has changed, its open orphans are tried again, up to a bound,
// and only those that found their instance leave the inbox.

import type { StoredEvent } from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import { matchesPattern } from '../../../core/events/subject/index.ts'
import { ExpressionError, type Scope } from '../../../core/expression/index.ts'
import { AppError, messageOf } from '../../../core/foundation/errors/index.ts'
import type { InstanceId, OrphanId, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import { EMPTY_NOTE, type NewWork } from '../../../core/queue/work/index.ts'
import { routeScope } from '../../../core/routing/index.ts'
import { decideTrigger, unbuffer } from '../../../core/workflows/correlation/index.ts'
import type { Trigger, Workflow } from '../../../core/workflows/machine/index.ts'
import type { NewOrphan, Orphan } from '../../../core/workflows/orphan/index.ts'
import { type Guard, StoreError, type Write } from '../../../ports/store.ts'
import type { Decided } from '../../access/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { newWork } from '../../planning/index.ts'
import { loadRows, planRows } from '../instances/index.ts'
import { changeOrphan } from './orphan-rows.ts'

export interface OrphanActions {
  /** Throws AppError. Returns the job by which it reaches the instance. */
  correlate(
    tenant: TenantId,
    id: OrphanId,
    instance: InstanceId,
    decided: Decided,
  ): Promise<{ readonly workId: WorkId }>
  discard(tenant: TenantId, id: OrphanId, decided: Decided): Promise<void>
  /** By the deployed definition. `found`: how many found their instance. */
  retry(tenant: TenantId, workflow: string): Promise<{ readonly tried: number; readonly found: number }>
}

export interface Orphans extends OrphanActions {
  start(): void
  /** Definitions changed, or were loaded at a start. */
  changed(tenant: TenantId): void
  /** Resolves when the current work has ended. */
  stop(): Promise<void>
}

/** At once; the next change, or an operator, continues with the rest. */
const RETRIED_MAX = 1_000
const PAGE = 100

export function makeOrphans(
  deps: Pick<EngineBase, 'store' | 'log' | 'ids' | 'vars' | 'commits' | 'wake'> & {
    readonly registry: Registry
  },
): Orphans {
  const { store, log, ids, registry, commits } = deps
  /** The version of each workflow whose orphans were tried last. */
  const tried = new Map<string, string>()
  const toTry = new Set<TenantId>()
  let isStarted = false
  let isStopped = false
  let active: Promise<void> | null = null

  const find = async (tenant: TenantId, id: OrphanId): Promise<Orphan> => {
    const orphan = await store.forTenant(tenant).orphan(id)
    if (orphan === null) throw new AppError('not_found', `no orphan ${id}`)
    if (orphan.state === 'correlated' || orphan.state === 'discarded')
      throw new AppError('conflict', `the orphan is ${orphan.state}`)
    return orphan
  }

  const eventOf = async (tenant: TenantId, { eventId }: Orphan): Promise<StoredEvent> => {
    const event = await store.forTenant(tenant).event(eventId)
    if (event === null) throw new AppError('not_found', `event ${eventId} is gone`)
    return event
  }

  const scopeOf = (event: StoredEvent): Scope =>
    routeScope(event, parsePayload(event.data), parsePayload(event.headers), deps.vars)

  /** The trigger that it is about: of the version that its job began with, or of the deployed one. */
  const triggerOf = async (
    tenant: TenantId,
    orphan: Orphan,
  ): Promise<{ readonly workflow: Workflow; readonly trigger: Trigger }> => {
    const item = await store.forTenant(tenant).work(orphan.workId)
    const pinned = item === null ? null : await registry.pinnedWorkflow(tenant, item.definition)
    for (const workflow of [pinned, registry.workflow(tenant, orphan.workflow)]) {
      const trigger = workflow?.triggers.find(({ document }) => document.id === orphan.trigger)
      if (workflow != null && trigger !== undefined) return { workflow, trigger }
    }
    throw new AppError('definition_missing', `the trigger of orphan ${orphan.id} is not defined any more`)
  }

  /** A waiting orphan leaves the row of its key, and its job ends. */
  const release = async (
    tenant: TenantId,
    orphan: Orphan,
    lastError: string,
  ): Promise<{ readonly guards: readonly Guard[]; readonly writes: readonly Write[] }> => {
    const guards: Guard[] = [{ g: 'version', of: 'orphan', key: orphan.id, version: orphan.version }]
    if (orphan.state !== 'waiting') return { guards, writes: [] }
    const reads = store.forTenant(tenant)
    const item = await reads.work(orphan.workId)
    if (item === null || item.state !== 'ready')
      throw new AppError('conflict', 'the orphan is being looked at right now; try again')
    const { workflow, trigger } = await triggerOf(tenant, orphan)
    const keys = trigger.keysOf(scopeOf(await eventOf(tenant, orphan))).slice(0, 1)
    const rows = await loadRows(reads, workflow.document.name, keys)
    const changes = rows.map((known) => ({ known, after: unbuffer(known.row, [item.id]), wakes: true }))
    const plan = await planRows(deps, tenant, changes, item.id)
    const { attempts, waits, losses } = item
    const settle: Write = {
      w: 'work.settle',
      work: item.id,
      to: 'skipped',
      counters: { attempts, waits, losses },
      note: { ...EMPTY_NOTE, lastError, effectRef: orphan.id },
    }
    return {
      guards: [...guards, { g: 'work', work: item.id, state: 'ready', epoch: item.epoch }, ...plan.guards],
      writes: [settle, ...plan.writes],
    }
  }

  const commit = async (tenant: TenantId, guards: readonly Guard[], writes: readonly Write[]) => {
    const result = await commits.once(tenant, guards, writes)
    if (!result.ok) throw new AppError('conflict', 'the orphan changed meanwhile')
    deps.wake()
  }

  const itemOf = (trigger: Trigger, orphan: Orphan): NewWork => {
    if (trigger.route === null) throw new AppError('conflict', 'its trigger listens to no events any more')
    return newWork(ids, trigger.route, { id: orphan.eventId })
  }

  const put = (orphan: Orphan, change: Partial<NewOrphan>): Write => ({
    w: 'orphan.put',
    row: changeOrphan(orphan, change),
  })

  /** By the deployed definition; null: it would be an orphan again. */
  const findTrigger = async (
    tenant: TenantId,
    workflow: Workflow,
    event: StoredEvent,
  ): Promise<{ readonly trigger: Trigger; readonly instance: InstanceId | null } | null> => {
    const scope = scopeOf(event)
    for (const trigger of workflow.triggers) {
      const { document, route } = trigger
      if (route === null || !route.document.on.some((pattern) => matchesPattern(pattern, event.subject)))
        continue
      if (!route.wants(scope)) continue
      const rows = await loadRows(store.forTenant(tenant), workflow.document.name, trigger.keysOf(scope))
      const step = decideTrigger({
        action: document.action,
        unique: document.unique ?? null,
        rows: rows.map(({ row }) => row),
        isBehind: false,
      })
      if (step.do === 'update') return { trigger, instance: step.instance }
      if (step.do === 'create') return { trigger, instance: null }
    }
    return null
  }

  const retryOne = async (tenant: TenantId, workflow: Workflow, orphan: Orphan): Promise<boolean> => {
    const event = await eventOf(tenant, orphan)
    const found = await findTrigger(tenant, workflow, event)
    if (found === null) return false
    const { trigger, instance } = found
    const plain = itemOf(trigger, orphan)
    const lane = trigger.route?.lane?.of(scopeOf(event))
    const work = lane === undefined ? plain : { ...plain, lane }
    const note = `by version ${workflow.document.version} of the workflow`
    const result = await commits.once(
      tenant,
      [{ g: 'version', of: 'orphan', key: orphan.id, version: orphan.version }],
      [
        put(orphan, { state: 'correlated', instance, by: 'definition', note }),
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ],
    )
    if (!result.ok) return false
    log.info('orphan.correlated', {
      tenant,
      orphan: orphan.id,
      workflow: orphan.workflow,
      actor: 'definition',
    })
    return true
  }

  const retry: OrphanActions['retry'] = async (tenant, name) => {
    const workflow = registry.workflow(tenant, name)
    if (workflow === null) throw new AppError('not_found', `there is no workflow ${name} in force`)
    let cursor: string | null = null
    let count = 0
    let found = 0
    do {
      const query = { state: 'open', workflow: name, cursor, limit: PAGE } as const
      const page = await store.forTenant(tenant).orphans(query)
      // The oldest are applied first.
      for (const orphan of [...page.items].reverse()) {
        if (isStopped) return { tried: count, found }
        count += 1
        try {
          if (await retryOne(tenant, workflow, orphan)) found += 1
        } catch (error) {
          // It stays where it is, visible to operators.
          const isItsOwn =
            error instanceof ExpressionError || error instanceof JsonError || error instanceof AppError
          if (!isItsOwn) throw error
        }
      }
      cursor = page.nextCursor
    } while (cursor !== null && count < RETRIED_MAX)
    if (found > 0) deps.wake()
    return { tried: count, found }
  }

  const retryChanged = async (): Promise<void> => {
    for (const tenant of toTry) {
      toTry.delete(tenant)
      for (const { document, hash } of registry.workflows(tenant)) {
        const id = `${tenant}/${document.name}`
        if (isStopped || tried.get(id) === hash) continue
        tried.set(id, hash)
        try {
          await retry(tenant, document.name)
        } catch (error) {
          if (!(error instanceof StoreError) && !(error instanceof AppError)) throw error
          // The next change, or an operator, tries them again.
          tried.delete(id)
          log.warn('orphan.retry-failed', { tenant, workflow: document.name, error: messageOf(error) })
        }
      }
    }
  }

  const kick = () => {
    if (!isStarted || isStopped || active !== null) return
    active = retryChanged()
      .catch((error: unknown) => log.error('orphan.retry-broken', { error: messageOf(error) }))
      .then(() => {
        active = null
        if (toTry.size > 0) kick()
      })
  }

  return {
    async correlate(tenant, id, instance, decided) {
      const orphan = await find(tenant, id)
      const target = await store.forTenant(tenant).instance(instance)
      if (target === null) throw new AppError('not_found', `no instance ${instance}`)
      if (target.workflow !== orphan.workflow)
        throw new AppError(
          'conflict',
          `instance ${instance} is of ${target.workflow}, the orphan of ${orphan.workflow}`,
        )
      if (target.state !== 'active')
        throw new AppError('instance_ended', `instance ${instance} is ${target.state}`)
      const { trigger } = await triggerOf(tenant, orphan)
      const work = { ...itemOf(trigger, orphan), instance }
      const { guards, writes } = await release(tenant, orphan, 'CORRELATED')
      const change = {
        state: 'correlated',
        instance,
        by: decided.actor ?? null,
        note: decided.reason ?? null,
      } as const
      await commit(tenant, guards, [
        ...writes,
        put(orphan, change),
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ])
      const { actor, reason } = decided
      log.info('orphan.correlated', {
        tenant,
        orphan: id,
        workflow: orphan.workflow,
        instance,
        actor,
        reason,
      })
      return { workId: work.id }
    },
    async discard(tenant, id, decided) {
      const orphan = await find(tenant, id)
      const { guards, writes } = await release(tenant, orphan, 'DISCARDED')
      const change = { state: 'discarded', by: decided.actor ?? null, note: decided.reason ?? null } as const
      await commit(tenant, guards, [...writes, put(orphan, change)])
      const { actor, reason } = decided
      log.info('orphan.discarded', { tenant, orphan: id, workflow: orphan.workflow, actor, reason })
    },
    retry,
    start() {
      isStarted = true
      for (const tenant of registry.tenants()) toTry.add(tenant)
      kick()
    },
    changed(tenant) {
      toTry.add(tenant)
      kick()
    },
    async stop() {
      isStopped = true
      await active
    },
  }
}
