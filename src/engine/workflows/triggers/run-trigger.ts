// Runs a trigger's job: applies an event to a workflow. It starts an instance, updates the one that its keys lead to,
// waits for one that does not exist yet, or becomes an orphan.
//
// Invariants: TG1 of two that would start the same instance one does. TG4 updates of one key are applied in order of
// arrival, also those that arrived before their instance. TG5 whatever happens to an event ends its job in the same
// commit. TG6 a decision by a row or an instance that changed meanwhile is made again. TG30 an event over a limit that
// rejects is a dead letter, never lost.

import { describeError as describe, ExpressionError, type Scope } from '../../../core/expression/index.ts'
import type { DeadLetterReason } from '../../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import type { InstanceId, WorkId } from '../../../core/foundation/ids/index.ts'
import { JsonError } from '../../../core/foundation/json/index.ts'
import {
  type Counters,
  EMPTY_NOTE,
  isUntried,
  LOSSES_MAX,
  type NewWork,
  type WorkRow,
} from '../../../core/queue/work/index.ts'
import { routeScope } from '../../../core/routing/index.ts'
import { aheadOf, bufferUpdate, decideTrigger, unbuffer } from '../../../core/workflows/correlation/index.ts'
import {
  instanceScope,
  stepInstance,
  type Trigger,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import type { OrphanReason } from '../../../core/workflows/orphan/index.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import { type EngineBase, orFail, type Planned, retrying } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { countersOf } from '../../effects/index.ts'
import type { FlowControl } from '../../flow-control/index.ts'
import type { Item } from '../../leases/index.ts'
import { lineOf } from '../../observe/index.ts'
import {
  again,
  type Decision,
  type Decisions,
  dead,
  decideNext,
  done,
  type Settlement,
  type Settler,
  SHORT_WAIT_MS,
  skipped,
} from '../../settlement/index.ts'
import {
  type InstancePlan,
  type Instances,
  isOver,
  KeyRefused,
  type Keys,
  type KnownRow,
  loadRows,
  planCreate,
  planRows,
  type RowChange,
} from '../instances/index.ts'
import { deadLetterEvent } from './dead-letter-event.ts'
import { changeOrphan, newOrphan, type OrphanAbout, orphanEvent } from './orphan-rows.ts'
import type { TriggerRates } from './trigger-rates.ts'

export interface Triggers {
  /** Throws StoreError; the caller puts the job back. */
  run(item: Item): Promise<void>
}

/** `ended`: the instance that was chosen for it has ended. */
type Done = true | 'ended'

interface About {
  readonly item: Item
  readonly workflow: Workflow
  readonly trigger: Trigger
  readonly scope: Scope
  readonly keys: Keys
  /** Another change came first: it is decided again. */
  retry(): Promise<Done>
}

/** Each is another commit about the same key or instance. After this many the job is put back and lets the others go first. */
const RACES_MAX = 10
/** How often a waiting update checks whether it is next. */
const CREATOR_WAIT_MS = 1_000

const TOO_LONG = 'it was not processed within the time that its trigger allows'

const NO_CHANGE = { guards: [] as readonly Guard[], writes: [] as readonly Write[] }

export function makeTriggers(
  deps: Pick<
    EngineBase,
    'store' | 'log' | 'ids' | 'vars' | 'random' | 'time' | 'plan' | 'wake' | 'systemEvents' | 'now'
  > & {
    readonly registry: Registry
    readonly decisions: Pick<Decisions, 'decideFailure'>
    readonly settler: Settler
    readonly instances: Instances
    readonly rates: TriggerRates
    readonly flowControl: Pick<FlowControl, 'enterCircuit' | 'reportTrigger' | 'reportRetried'>
  },
): Triggers {
  const { store, log, ids, time, registry, settler, instances } = deps

  const run: Triggers['run'] = async (item) => {
    const { work } = item
    const workflow =
      registry.knownWorkflow(work.tenant, work.definition) ??
      (await registry.pinnedWorkflow(work.tenant, work.definition))
    const trigger = workflow?.triggers.find(({ document }) => document.id === work.step)
    if (workflow === null || trigger === undefined) {
      const error = 'the definition that it began with is not in the store'
      return deadLetterJob(item, workflow, null, 'config', 'definition_missing', error)
    }
    if (work.losses >= LOSSES_MAX) {
      const error = 'the node stopped each time while this item ran alone'
      return deadLetterJob(item, workflow, trigger, 'poison', 'crash_loop', error)
    }
    const { maxProcessingMs } = trigger.document
    if (maxProcessingMs !== undefined && !isUntried(work) && time.now() >= work.expiresAt)
      return deadLetterJob(item, workflow, trigger, 'transient', 'expired', TOO_LONG)
    try {
      await runTrigger(item, workflow, trigger)
    } catch (error) {
      if (error instanceof ExpressionError) return refuse(item, workflow, trigger, describe(error))
      if (error instanceof KeyRefused) return refuse(item, workflow, trigger, error.message)
      if (error instanceof JsonError)
        return deadLetterJob(item, workflow, trigger, 'poison', 'unparseable', error.message)
      throw error
    }
  }

  /** The event does not fit its instance, or what it says cannot be read: by the trigger's `retry`, that may change. */
  const refuse = async (item: Item, workflow: Workflow, trigger: Trigger, error: string): Promise<void> => {
    const { retry } = trigger.document
    if (retry === undefined) return deadLetterJob(item, workflow, trigger, 'validation', 'rejected', error)
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const step = decideNext(deps, item, retry, { class: 'transient', retryAfterMs: null })
    if (step.step !== 'again') {
      const reason = step.step === 'dead' ? step.reason : 'rejected'
      return deadLetterJob(item, workflow, trigger, 'validation', reason, error, counters)
    }
    const settlement = await settler.settle(
      item,
      trigger.route,
      again(step.delayMs, {
        counters,
        note: { ...EMPTY_NOTE, class: 'validation', lastError: error },
        attempt: {
          number: counters.attempts,
          startedAt: time.now(),
          durationMs: 0,
          outcome: 'again',
          class: 'validation',
          httpStatus: null,
          error,
        },
      }),
    )
    if (settlement.ok && trigger.route !== null) deps.flowControl.reportRetried(item, trigger.route)
  }

  const runTrigger = async (item: Item, workflow: Workflow, trigger: Trigger): Promise<void> => {
    const { work, event } = item
    const scope = routeScope(event, item.payload(), item.header(), deps.vars)
    if (trigger.route !== null && !trigger.route.wants(scope))
      throw new ExpressionError('type', 'the condition no longer holds', 'where')
    const before = await findDone(item, trigger)
    const plain: About = { item, workflow, trigger, scope, keys: [], retry: async () => true }
    if (before !== null) return void (await skip(plain, 'EXISTS', before.effectRef))
    if (await isPaced(plain)) return
    if (await isHeld(plain)) return
    if (work.instance !== null) return runChosen(plain, work.instance)
    const about = { ...plain, keys: trigger.keysOf(scope) }
    await retrying(
      RACES_MAX,
      (retry: () => Promise<Done>) => decide({ ...about, retry }),
      () => stepAside(about),
    )
  }

  /** An event triggers once, however often it is replayed; a deliberate repetition says so. */
  const findDone = async ({ work }: Item, { document }: Trigger): Promise<WorkRow | null> => {
    if (work.replayOf === null || work.generation > 1) return null
    for (const one of await store.forTenant(work.tenant).workOfEvent(work.eventId)) {
      const isEarlier = one.kind === 'trigger' && one.consumer === work.consumer && one.id !== work.id
      if (!isEarlier || one.state !== 'done' || one.effectRef === null) continue
      if (one.definition === work.definition && one.step === work.step) return one
      if (one.definition === work.definition) continue
      // Triggers are numbered in the order written, which may have changed: compare what they do.
      const other = await registry.pinnedWorkflow(work.tenant, one.definition)
      const was = other?.triggers.find((trigger) => trigger.document.id === one.step)
      if (was === undefined || was.document.action === document.action) return one
    }
    return null
  }

  /** True: it waits for its reserved permit, or there is none for it. A job that has waited, or was tried, has it. */
  const isPaced = async (about: About): Promise<boolean> => {
    const { item, workflow, trigger } = about
    const { work } = item
    const { rateLimit, onLimit, maxProcessingMs = Number.POSITIVE_INFINITY } = trigger.document
    const isSuccessor = trigger.route?.lane != null && work.lane === null
    const hasPermit = work.waits > 0 || work.attempts > 0 || work.instance !== null || isSuccessor
    if (rateLimit === undefined || hasPermit) return false
    const name = `${workflow.document.name}/${trigger.document.id}`
    // What an operator replays waits.
    const isRejecting = onLimit === 'reject' && work.replayOf === null
    const booked = deps.rates.book(work.tenant, name, rateLimit, isRejecting ? 0 : maxProcessingMs)
    const delayMs = booked instanceof Promise ? await booked : booked
    if (delayMs === 0) return false
    if (delayMs === null) {
      const limit = `more than ${rateLimit.perMinute} events a minute came for its trigger`
      await (isRejecting
        ? deadLetterJob(item, workflow, trigger, 'rate_limited', 'over_rate_limit', limit)
        : deadLetterJob(item, workflow, trigger, 'transient', 'expired', `${TOO_LONG}: ${limit}`))
      return true
    }
    await putOff(about, delayMs, 'the rate limit of its trigger is used up')
    return true
  }

  /** True: its circuit is open, and it waits without using an attempt. An operator's choice of an instance goes through. */
  const isHeld = async (about: About): Promise<boolean> => {
    const { item, trigger } = about
    const { work } = item
    if (trigger.route === null || work.instance !== null || time.now() >= work.expiresAt) return false
    const closed = deps.flowControl.enterCircuit(item, trigger.route)
    if (closed === null) return false
    await putOff(about, closed.delayMs, closed.why)
    return true
  }

  const report = (item: Item, trigger: Trigger | null, failureClass: FailureClass | null) => {
    if (trigger !== null && trigger.route !== null)
      deps.flowControl.reportTrigger(item, trigger.route, failureClass)
  }

  const decide = async (about: About): Promise<Done> => {
    const { item, workflow, trigger, keys } = about
    const { work } = item
    const { document } = trigger
    const reads = store.forTenant(work.tenant)
    const loaded = await loadRows(reads, workflow.document.name, keys)
    const rows = document.action === 'create' ? loaded : await withoutGone(work, loaded)
    const [first] = rows
    const step = decideTrigger({
      action: document.action,
      unique: document.unique ?? null,
      rows: rows.map((one) => one.after ?? one.row),
      isBehind: first !== undefined && aheadOf(first.after ?? first.row, work.id).length > 0,
    })
    switch (step.do) {
      case 'exists':
        return skip(about, 'EXISTS', step.instance)
      case 'create':
        return create(about, rows)
      case 'update':
        await update(about, step.instance, rows)
        return true
      case 'several':
        return orphan(about, rows, 'several')
      case 'wait':
        return wait(about, rows, step.for)
    }
  }

  /** Jobs ahead of it that will not run any more do not block it. */
  const withoutGone = async (work: WorkRow, rows: readonly KnownRow[]): Promise<readonly KnownRow[]> => {
    const [first, ...others] = rows
    if (first === undefined || first.row.buffered.length === 0) return rows
    const reads = store.forTenant(work.tenant)
    const ahead = aheadOf(first.row, work.id)
    const items = await Promise.all(ahead.map((one) => reads.work(one.work)))
    const gone = ahead.filter((_, index) => isOver(items[index] ?? null)).map((one) => one.work)
    return gone.length === 0 ? rows : [{ ...first, after: unbuffer(first.row, gone) }, ...others]
  }

  const create = async (about: About, rows: readonly KnownRow[]): Promise<Done> => {
    const { item, workflow, trigger, scope } = about
    const { work, event } = item
    if (await isFull(about)) return skip(about, 'MAX_INSTANCES', null)
    const origin = { event, stored: event, payload: item.payload, header: item.header }
    const known = rows.map((one) => ({ ...one, after: unbuffer(one.after ?? one.row, [work.id]) }))
    const request = { tenant: work.tenant, workflow, trigger, origin, scope, work: work.id, rows: known }
    const creation = await planCreate({ store, instances }, request)
    switch (creation.is) {
      case 'exists':
        return skip(about, 'EXISTS', creation.instance)
      case 'held':
        return skip(about, 'LOCK_HELD', null)
      case 'refused':
        await (creation.class === 'validation'
          ? refuse(item, workflow, trigger, creation.error)
          : deadLetterJob(item, workflow, trigger, creation.class, 'rejected', creation.error))
        return true
      case 'planned':
        return end(about, 'CREATED', creation.id, creation.plan, await closeOrphan(about, rows, creation.id))
    }
  }

  /** By the clock, with a limit of concurrent instances. */
  const isFull = async ({ item, workflow, trigger }: About): Promise<boolean> => {
    const max = trigger.document.schedule?.maxInstances
    if (max === undefined) return false
    const { definitions } = await store.forTenant(item.work.tenant).instanceCounts(workflow.document.name)
    return definitions.reduce((sum, { count }) => sum + count, 0) >= max
  }

  /** `rows`: by which it was found; none if an operator chose it. */
  const update = async (about: About, id: InstanceId, rows: readonly KnownRow[]): Promise<Done> => {
    const { item, workflow, trigger, scope } = about
    const { work, event } = item
    const loaded = await instances.load(work.tenant, id)
    if (loaded === null || loaded.instance.state !== 'active')
      return rows.length === 0 ? 'ended' : about.retry()
    const origin = await instances.originOf(work.tenant, loaded.instance)
    const input = {
      type: 'update',
      // Its mapping may use the data of the instance.
      assignments: trigger.map(instanceScope(loaded.workflow, loaded.instance, scope)),
      fire: trigger.document.fire ?? null,
      trigger: trigger.document.id,
    } as const
    const env = { ...instances.envOf(origin), eventId: event.id }
    const stepped = stepInstance(loaded.workflow, loaded.instance, input, env)
    if (!stepped.ok) {
      await refuse(item, workflow, trigger, stepped.refused.message)
      return true
    }
    const known = rows.map((one) => ({ ...one, after: unbuffer(one.after ?? one.row, [work.id]) }))
    const beside = { own: work.id, rows: known }
    const { tenant } = work
    const plan = await instances.plan(tenant, origin, loaded.workflow, loaded.instance, stepped, beside)
    return end(about, 'UPDATED', id, plan, await closeOrphan(about, rows, id))
  }

  /** An operator chose its instance. */
  const runChosen = async (about: About, id: InstanceId): Promise<void> => {
    const done = await retrying(
      RACES_MAX,
      (retry: () => Promise<Done>) => update({ ...about, retry }, id, []),
      () => stepAside(about),
    )
    if (done === 'ended') await orphan({ ...about, keys: keysOrNone(about) }, [], 'nobody')
  }

  const stepAside = async (about: About): Promise<Done> => {
    await putOff(about, SHORT_WAIT_MS, 'others changed the same instance all the time')
    return true
  }

  /** The orphan of a waiting update that has found its instance. */
  const closeOrphan = async (
    { item }: About,
    rows: readonly KnownRow[],
    instance: InstanceId,
  ): Promise<typeof NO_CHANGE> => {
    const waited = rows[0]?.row.buffered.find(({ work }) => work === item.work.id)
    const row = waited === undefined ? null : await store.forTenant(item.work.tenant).orphan(waited.orphan)
    if (row === null || row.state !== 'waiting') return NO_CHANGE
    return {
      guards: [{ g: 'version', of: 'orphan', key: row.id, version: row.version }],
      writes: [{ w: 'orphan.put', row: changeOrphan(row, { state: 'correlated', instance }) }],
    }
  }

  const end = async (
    about: About,
    action: string,
    id: InstanceId,
    plan: InstancePlan,
    beside: typeof NO_CHANGE = NO_CHANGE,
  ): Promise<Done> => {
    const { item } = about
    const writes = [...plan.writes, ...beside.writes]
    const settlement = await settle(
      about,
      done({
        counters: { ...countersOf(item), attempts: item.work.attempts + 1 },
        note: { ...EMPTY_NOTE, effectRef: id },
        guards: [...plan.guards, ...beside.guards],
        writes,
        plans: [plan],
      }),
    )
    if (!settlement.ok) return settlement.why === 'stale' ? true : about.retry()
    report(item, about.trigger, null)
    if (writes.some(({ w }) => w === 'work.again')) deps.wake()
    logAction(about, action, id)
    return true
  }

  const wait = async (
    about: About,
    rows: readonly KnownRow[],
    awaited: 'instance' | 'turn',
  ): Promise<Done> => {
    const { item, trigger } = about
    const { work } = item
    const { bufferMs, maxProcessingMs } = trigger.document
    const [first] = rows
    const isListed = first?.row.buffered.some((one) => one.work === work.id) === true
    if (!isListed) {
      const waitsMs = awaited === 'turn' ? Math.max(bufferMs, CREATOR_WAIT_MS) : bufferMs
      return first === undefined || waitsMs === 0
        ? orphan(about, rows, 'nobody')
        : buffer(about, rows, waitsMs)
    }
    const leftMs = work.createdAt + bufferMs - time.now()
    if (leftMs <= 0 && awaited === 'instance') return orphan(about, rows, 'nobody')
    const plan = await planRows(deps, work.tenant, unchanged(rows), work.id)
    const delayMs = awaited === 'turn' && leftMs <= 0 ? CREATOR_WAIT_MS : leftMs
    const settlement = await settle(
      about,
      again(delayMs, {
        counters: { ...countersOf(item), waits: work.waits + 1 },
        note: { ...EMPTY_NOTE, lastError: 'its instance has not come yet' },
        // The time that it may take begins after this wait.
        ...(maxProcessingMs === undefined ? {} : { expiresInMs: delayMs + maxProcessingMs }),
        ...plan,
      }),
    )
    return settlement.ok || settlement.why === 'stale' ? true : about.retry()
  }

  /**
   * The job leaves its lane, so that a later event can create the instance; a successor waits instead, in the
   * row of its key, and keeps its position there.
   */
  const buffer = async (about: About, rows: readonly KnownRow[], waitsMs: number): Promise<Done> => {
    const { work } = about.item
    const [first, ...others] = rows
    if (first === undefined) return orphan(about, rows, 'nobody')
    const successor = successorOf(ids.work(), work, waitsMs)
    const id = ids.orphan()
    const also = others.map(({ key }) => key)
    const entry = { work: successor.id, orphan: id, ...(also.length === 0 ? {} : { also }) }
    const after = bufferUpdate(first.after ?? first.row, entry)
    if (after === null) return orphan(about, rows, 'nobody')
    const changes = [{ known: first, after, wakes: false }, ...unchanged(others)]
    const plan = await planRows(deps, work.tenant, changes, work.id)
    const row = newOrphan(id, orphanAbout(about, successor.id), 'nobody', waitsMs)
    const isDone = await skip(about, 'BUFFERED', id, {
      guards: plan.guards,
      writes: [
        ...plan.writes,
        { w: 'work.add', work: successor, lease: null, delayMs: waitsMs },
        { w: 'orphan.put', row },
      ],
    })
    return isDone
  }

  /** No instance in time, or several: escalated to operators, who may correlate it. */
  const orphan = async (about: About, rows: readonly KnownRow[], reason: OrphanReason): Promise<Done> => {
    const { work } = about.item
    const [first] = rows
    const waited = first?.row.buffered.find((one) => one.work === work.id)
    const reads = store.forTenant(work.tenant)
    const known = waited === undefined ? null : await reads.orphan(waited.orphan)
    const of = orphanAbout(about, work.id)
    const row =
      known === null
        ? newOrphan(ids.orphan(), of, reason, null)
        : changeOrphan(known, { state: 'open', reason })
    const guards: readonly Guard[] =
      known === null ? [] : [{ g: 'version', of: 'orphan', key: known.id, version: known.version }]
    const changes = rows.map(
      (one): RowChange => ({ known: one, after: unbuffer(one.after ?? one.row, [work.id]), wakes: true }),
    )
    const plan = await planRows(deps, work.tenant, changes, work.id)
    const planned = orphanEvent(deps, of, row)
    return skip(
      about,
      'ORPHAN',
      row.id,
      {
        guards: [...plan.guards, ...guards],
        writes: [...plan.writes, { w: 'orphan.put', row }, ...planned.writes],
      },
      planned.plans,
    )
  }

  const skip = async (
    about: About,
    why: string,
    effectRef: string | null,
    beside: typeof NO_CHANGE = NO_CHANGE,
    plans?: readonly Planned[],
  ): Promise<Done> => {
    const { item } = about
    const settlement = await settle(
      about,
      skipped({
        counters: countersOf(item),
        note: { ...EMPTY_NOTE, lastError: why, effectRef },
        ...beside,
        ...(plans === undefined ? {} : { plans }),
      }),
    )
    if (!settlement.ok) return settlement.why === 'stale' ? true : about.retry()
    report(item, about.trigger, null)
    if (beside.writes.some(({ w }) => w === 'work.again')) deps.wake()
    logAction(about, why, effectRef)
    return true
  }

  const putOff = async (about: About, delayMs: number, lastError: string): Promise<void> => {
    const { item } = about
    await settle(
      about,
      again(delayMs, {
        counters: { ...countersOf(item), waits: item.work.waits + 1 },
        note: { ...EMPTY_NOTE, lastError },
      }),
    )
  }

  /** A waiting update that is dead does not block the others: its dead letter replaces its orphan. */
  const leaveRow = async (item: Item, workflow: Workflow, trigger: Trigger): Promise<typeof NO_CHANGE> => {
    const { work } = item
    if (trigger.route?.lane == null || work.lane !== null || work.instance !== null) return NO_CHANGE
    const reads = store.forTenant(work.tenant)
    const scope = routeScope(item.event, item.payload(), item.header(), deps.vars)
    const keys = keysOrNone({ trigger, scope })
    const [first] = await loadRows(reads, workflow.document.name, keys.slice(0, 1))
    const waited = first?.row.buffered.find((one) => one.work === work.id)
    if (first === undefined || waited === undefined) return NO_CHANGE
    const change = { known: first, after: unbuffer(first.row, [work.id]), wakes: true }
    const plan = await planRows(deps, work.tenant, [change], work.id)
    const orphaned = await reads.orphan(waited.orphan)
    if (orphaned === null || orphaned.state !== 'waiting') return plan
    const closed = changeOrphan(orphaned, { state: 'discarded', note: 'its item is a dead letter' })
    return {
      guards: [...plan.guards, { g: 'version', of: 'orphan', key: orphaned.id, version: orphaned.version }],
      writes: [...plan.writes, { w: 'orphan.put', row: closed }],
    }
  }

  const deadLetterJob = (
    item: Item,
    workflow: Workflow | null,
    trigger: Trigger | null,
    failureClass: FailureClass,
    reason: DeadLetterReason,
    error: string,
    counters: Counters = countersOf(item),
  ): Promise<void> => {
    const why = { class: failureClass, reason, error, step: 'trigger' }
    const note = { ...EMPTY_NOTE, class: failureClass, lastError: error }
    const isReadable = workflow !== null && trigger !== null && reason !== 'unparseable'
    const settleDead = async (retry: () => Promise<void>): Promise<void> => {
      const beside = isReadable ? await leaveRow(item, workflow, trigger) : NO_CHANGE
      const told = deadLetterEvent(deps, item, workflow, trigger, { ...why, attempts: counters.attempts })
      const writes = [...beside.writes, ...(told?.writes ?? [])]
      const died = dead(why, {
        ...{ counters, note, guards: beside.guards, writes },
        ...(told === null ? {} : { plans: [told] }),
      })
      const settlement = await settler.settle(item, trigger?.route ?? null, died)
      if (!settlement.ok) return settlement.why === 'stale' ? undefined : retry()
      report(item, trigger, failureClass)
      if (writes.some(({ w }) => w === 'work.again')) deps.wake()
      log.control(
        lineOf('dead-letter', 'DEAD_LETTERED', item.event, {
          route: workflow?.document.name ?? null,
          work: item.work.id,
          definition: item.work.definition,
          class: failureClass,
          message: error,
          errorCode: reason,
        }),
      )
    }
    const unending = orFail('assertion failed: the row of a key changes without end')
    return retrying(RACES_MAX, settleDead, unending)
  }

  const settle = (about: About, decision: Decision): Promise<Settlement> =>
    settler.settle(about.item, about.trigger.route, decision)

  const logAction = ({ item, workflow }: About, action: string, ref: string | null) => {
    log.control(
      lineOf(action === 'EXISTS' ? 'dedupe' : 'effect', action, item.event, {
        route: workflow.document.name,
        work: item.work.id,
        definition: item.work.definition,
        message: ref ?? '',
      }),
    )
  }

  return { run }
}

function keysOrNone({ trigger, scope }: Pick<About, 'trigger' | 'scope'>): Keys {
  try {
    return trigger.keysOf(scope)
  } catch (error) {
    if (error instanceof ExpressionError) return []
    throw error
  }
}

function orphanAbout({ item, workflow, trigger, keys }: About, work: WorkId): OrphanAbout {
  return { workflow, trigger, event: item.event, work, keys }
}

function unchanged(rows: readonly KnownRow[]): readonly RowChange[] {
  return rows.map((known) => ({ known, after: known.after ?? known.row, wakes: false }))
}

/** Waits in its place, without a lane. */
function successorOf(id: WorkId, work: WorkRow, waitsMs: number): NewWork {
  return {
    id,
    kind: 'trigger',
    consumer: work.consumer,
    definition: work.definition,
    codeHash: null,
    eventId: work.eventId,
    expiresInMs: waitsMs + (work.expiresAt - work.createdAt),
    replayOf: null,
    ...(work.step === null ? {} : { step: work.step }),
    ...(work.generation > 1 ? { generation: work.generation } : {}),
  }
}
