// Runs one job: finds its definition, computes its key, performs its action, and settles every kind of failure.

import { keyOfGeneration, type LedgerEntry } from '../../core/effects/ledger/index.ts'
import { describeError as describe, ExpressionError, type Scope } from '../../core/expression/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import { JsonError } from '../../core/foundation/json/index.ts'
import { deadLetterOf, EMPTY_NOTE, isUntried, isWorkKind, type WorkRow } from '../../core/queue/work/index.ts'
import { itemScope, type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import { CodeRefusedError } from '../../ports/code.ts'
import { StoreError } from '../../ports/store.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Rotations } from '../connections/index.ts'
import { byAge, findEarlierKey } from '../dead-letters/index.ts'
import type { Registry } from '../definitions/index.ts'
import {
  countersOf,
  type DeadLetterRouteJob,
  type InternalCall,
  type InternalFailure,
} from '../effects/index.ts'
import type { IntakeItems } from '../ingest/index.ts'
import type { Item } from '../leases/index.ts'
import { lineOf } from '../observe/index.ts'
import { isVaultTrouble, scrubOf } from '../secrets/index.ts'
import {
  again,
  type DeadLetterJob,
  type Decisions,
  dead,
  decideNext,
  type Settler,
} from '../settlement/index.ts'
import type { DeliveryRunner } from '../webhooks/index.ts'
import type { WorkflowItems } from '../workflows/index.ts'
import type { ExpandEach } from './expand-each.ts'
import type { Debouncer } from './lane-debounce.ts'
import type { Actions } from './run-action.ts'

export interface Runner {
  run(item: Item): Promise<void>
  fail(call: InternalCall, failure: InternalFailure): Promise<void>
  hold(call: InternalCall, entry: LedgerEntry): Promise<void>
  readonly deadLetterRouteJob: DeadLetterRouteJob
  /** Before a job runs: starts its time limit and loads the dead letter that it replays. */
  begin(item: Item, route: Route): Promise<Item>
  /** For an intake job. */
  readonly deadLetterJob: DeadLetterJob
}

const INTERRUPTED_FIRST_MS = 1_000
const INTERRUPTED_LAST_MS = 60_000
/** Retry delay while another job is about to settle the ledger entry. */
const HELD_MS = 1_000
/** A job that starts this soon after its insert did not wait. */
const AT_ONCE_MS = 1_000

export function makeRunner(
  deps: Pick<EngineDeps, 'store' | 'random' | 'log'> & {
    readonly time: StoreTime
    readonly registry: Registry
    readonly settler: Settler
    readonly decisions: Decisions
    readonly vars: Vars
    actions(): Actions
    intakeItems(): IntakeItems
    workflowItems(): WorkflowItems
    deliveries(): DeliveryRunner
    rotations(): Rotations
    debouncer(): Debouncer
    expandEach(): ExpandEach
  },
): Runner {
  const { time, log, registry, settler } = deps

  const run = async (item: Item): Promise<void> => {
    try {
      const { kind } = item.work
      if (!isWorkKind(kind))
        return await putBack(item, new Error(`this version knows no work of the kind ${kind}`))
      if (kind === 'delivery') return await deps.deliveries().run(item)
      if (kind === 'intake') return await deps.intakeItems().run(item)
      if (kind === 'rotation') return await deps.rotations().run(item)
      if (kind !== 'route' && kind !== 'batch') return await deps.workflowItems().run(item)
      const route = item.route ?? (await registry.pinned(item.work.tenant, item.work.definition))
      if (route === null) {
        const error = 'the definition that it began with is not in the store'
        return await deadLetterJob(item, null, null, 'config', 'definition_missing', error)
      }
      await runRoute(item, route)
    } catch (error) {
      await putBack(item, error)
    }
  }

  const toldCode = new Set<string>()

  /** All its jobs wait for the same reason, so one log line is enough. */
  const logRefused = (
    { tenant, consumer }: Pick<WorkRow, 'tenant' | 'consumer'>,
    error: CodeRefusedError,
  ) => {
    const { codeHash, message } = error
    if (toldCode.has(codeHash)) return
    toldCode.add(codeHash)
    log.error('code.refused', { tenant, consumer, codeHash, error: message })
  }

  const toldKinds = new Set<string>()

  /** Another version created the job, and runs it. One log line is enough. */
  const logUnknown = ({
    kind,
    tenant,
    consumer,
  }: Pick<WorkRow, 'tenant' | 'consumer'> & { readonly kind: string }) => {
    if (toldKinds.has(kind)) return
    toldKinds.add(kind)
    log.warn('work.not-understood', { tenant, consumer, kind })
  }

  /**
   * A read from the store or the vault failed, or the engine has a bug: the job goes back with a growing
   * delay. Otherwise it would stay leased to a node that does nothing about it for as long as that node
   * lives. The ledger knows what it may have sent.
   */
  const putBack = async (item: Item, error: unknown): Promise<void> => {
    const fields = { work: item.work.id, error: scrubOf(item.event)(messageOf(error)) }
    if (!isWorkKind(item.work.kind)) logUnknown(item.work)
    else if (error instanceof CodeRefusedError) logRefused(item.work, error)
    else if (error instanceof StoreError || isVaultTrouble(error)) log.warn('work.interrupted', fields)
    else log.error('work.broken', fields)
    const { work } = item
    try {
      await settler.settle(
        item,
        null,
        again(Math.min(INTERRUPTED_LAST_MS, INTERRUPTED_FIRST_MS * 2 ** Math.min(work.waits, 20)), {
          counters: { ...countersOf(item), waits: work.waits + 1 },
          note: { ...EMPTY_NOTE, key: work.key, class: work.class, lastError: messageOf(error) },
        }),
      )
    } catch (again) {
      // The store is closed: the job comes back when this incarnation ends.
      log.warn('work.kept', { work: work.id, error: messageOf(again) })
    }
  }

  /** A replay uses the key of its dead letter or its event, whatever the deployed formula says: it is the same effect. */
  const keyOfReplayed = async ({ work, letter }: Item, scope: Scope): Promise<string | null> => {
    if (work.replayOf === null) return null
    if (deadLetterOf(work) !== null) return letter?.key ?? null
    const items = await deps.store.forTenant(work.tenant).workOfEvent(work.eventId)
    const isEarlier = (one: WorkRow) =>
      one.consumer === work.consumer && one.element === work.element && byAge(one, work) < 0
    const before = items.filter(isEarlier)
    return findEarlierKey(registry, scope, before)
  }

  /** The dead letter is read once: its key identifies the effect, and the end of the job ends the dead letter. */
  const withDeadLetter = async (item: Item): Promise<Item> => {
    const id = deadLetterOf(item.work)
    const letter = id === null ? null : await deps.store.forTenant(item.work.tenant).deadLetter(id)
    return letter === null ? item : { ...item, letter }
  }

  /** The time limit starts with the first attempt. A job that runs on insert has all of it anyway. */
  const begin = (item: Item, route: Route): Item => {
    const { work } = item
    const now = time.now()
    // An operator's decision resets the counters but not the key: the time limit started long ago.
    if (now - work.createdAt < AT_ONCE_MS || work.key !== null || !isUntried(work)) return item
    return { ...item, work: { ...work, expiresAt: Math.max(work.expiresAt, now + route.expiresInMs) } }
  }

  const beginWithDeadLetter: Runner['begin'] = async (claimed, route) => {
    const begun = begin(claimed, route)
    return begun.work.replayOf === null ? begun : withDeadLetter(begun)
  }

  const runRoute = async (claimed: Item, route: Route): Promise<void> => {
    const begun = begin(claimed, route)
    const item = begun.work.replayOf === null ? begun : await withDeadLetter(begun)
    let key: string | null = null
    try {
      if (item.work.kind === 'batch') {
        const call = await deps.actions().callOfBatch(item, route)
        key = call?.key ?? null
        return call === null ? undefined : await deps.actions().perform(call)
      }
      const whole = routeScope(item.event, item.payload(), item.header(), deps.vars)
      if (!route.wants(whole)) throw new ExpressionError('type', 'the condition no longer holds', 'where')
      const { element } = item.work
      if (route.each !== null && element === null) return await deps.expandEach().run(item, route, whole)
      const scope = itemScope(route, whole, element)
      if (route.lane !== null && !(await deps.debouncer().take(item, route, scope))) return
      key = (await keyOfReplayed(item, scope)) ?? route.keyOf(scope, element)
      const inner = { ...scope, key: keyOfGeneration(key, item.work.generation) }
      await deps.actions().perform({ item, route, key, scope: inner })
    } catch (error) {
      if (error instanceof ExpressionError) {
        return await deadLetterJob(item, route, key, 'validation', 'rejected', describe(error))
      }
      if (error instanceof JsonError) {
        return await deadLetterJob(item, route, key, 'poison', 'unparseable', error.message)
      }
      throw error
    }
  }

  const deadLetterJob: DeadLetterRouteJob = async (item, route, key, failureClass, reason, error) => {
    const settlement = await settler.settle(
      item,
      route,
      dead(
        { class: failureClass, reason, error },
        { counters: countersOf(item), note: { ...EMPTY_NOTE, key, class: failureClass, lastError: error } },
      ),
    )
    if (!settlement.ok) return
    const facts = {
      work: item.work.id,
      definition: item.work.definition,
      key,
      class: failureClass,
      message: error,
      errorCode: reason,
    }
    log.control(
      lineOf('dead-letter', 'DEAD_LETTERED', item.event, {
        ...facts,
        route: route?.document.name ?? null,
        attempt: item.work.attempts,
      }),
    )
  }

  /** An internal action failed: handled by failure class, like every other. */
  const fail = async (call: InternalCall, failure: InternalFailure): Promise<void> => {
    const { item, route, key } = call
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const step = decideNext(deps, item, route.document.retry, {
      class: failure.class,
      retryAfterMs: failure.retryAfterMs,
    })
    const note = { ...EMPTY_NOTE, key, class: failure.class, lastError: failure.error }
    const isDead = step.step === 'dead'
    const attempt = {
      number: counters.attempts,
      startedAt: time.now(),
      durationMs: 0,
      outcome: isDead ? ('dead' as const) : ('again' as const),
      class: failure.class,
      httpStatus: null,
      error: failure.error,
    }
    const base = { counters, note, attempt }
    const settlement = await settler.settle(
      item,
      route,
      step.step === 'again'
        ? again(step.delayMs, { ...base, counters: step.counters })
        : dead(
            { class: failure.class, reason: isDead ? step.reason : 'cap_reached', error: failure.error },
            base,
          ),
    )
    if (!settlement.ok) return
    log.control(
      lineOf(isDead ? 'dead-letter' : 'effect', isDead ? 'DEAD_LETTERED' : 'RETRY', item.event, {
        route: route.document.name,
        work: item.work.id,
        definition: item.work.definition,
        key,
        attempt: counters.attempts,
        class: failure.class,
        message: failure.error,
      }),
    )
  }

  /** Another job holds the key for an outbound call: wait for it without using up an attempt. */
  const hold = async (call: InternalCall, entry: LedgerEntry): Promise<void> => {
    const { item, route, key } = call
    const step = deps.decisions.decideEffect({
      entry,
      work: item.work.id,
      epoch: item.work.epoch,
      consumer: item.work.consumer,
      waits: item.work.waits,
      abilities: { idempotent: false, keyTtlMs: null, probeAfterMs: null, timeoutMs: 0 },
      now: time.now(),
    })
    const delayMs = step.step === 'wait' ? step.delayMs : HELD_MS
    if (time.now() + delayMs >= item.work.expiresAt) {
      return deadLetterJob(item, route, key, 'transient', 'expired', 'another item held its key for too long')
    }
    await settler.settle(
      item,
      route,
      again(delayMs, {
        counters: { ...countersOf(item), waits: item.work.waits + 1 },
        note: { ...EMPTY_NOTE, key, lastError: 'another item holds the key' },
      }),
    )
  }

  return {
    run,
    fail,
    hold,
    deadLetterRouteJob: deadLetterJob,
    begin: beginWithDeadLetter,
    deadLetterJob: (item, failureClass, reason, error) =>
      deadLetterJob(item, null, null, failureClass, reason, error),
  }
}
