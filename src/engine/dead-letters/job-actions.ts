// Operator actions on jobs that are not leased: resolve an unknown outcome manually or by a probe, make a job due at
// once, or cancel it.
//
// Every action is guarded by the job's state and epoch: if the job changed meanwhile, nothing happens.

import { isLockKey } from '../../core/effects/action/index.ts'
import { decideEffect, keyOfGeneration, type LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { StoredEvent } from '../../core/events/event/index.ts'
import { parsePayload } from '../../core/events/sensitive/index.ts'
import { ExpressionError, type Scope } from '../../core/expression/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { JsonError } from '../../core/foundation/json/index.ts'
import {
  type Counters,
  deadLetterOf,
  EMPTY_NOTE,
  type Note,
  putBackCounters,
  type WorkRow,
  type WorkState,
} from '../../core/queue/work/index.ts'
import { itemScope, type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import { makeRedact } from '../../core/secrets/index.ts'
import type { Guard } from '../../ports/store.ts'
import { type Decided, decidedText } from '../access/index.ts'
import type { Commits, StoreTime } from '../commit/index.ts'
import type { EngineDeps, RunningConfig } from '../config.ts'
import { connectionOf, type Registry } from '../definitions/index.ts'
import {
  askProbe,
  freeLocks,
  ledgerGuard,
  nameNext,
  openSecrets,
  otherUnknownOutcomes,
  redactOutcome,
  resultText,
  settleLedger,
} from '../effects/index.ts'
import { lineOf } from '../observe/index.ts'
import { scrubOrNull } from '../secrets/index.ts'
import {
  again,
  allowedActs,
  cancelled,
  type Decision,
  done,
  goesOn,
  isOfInstance,
  isOrphans,
  type Settler,
  type WorkActions,
} from '../settlement/index.ts'
import type { Steps } from '../workflows/index.ts'

/** An operator's decision is a new start: the job has all its attempts again. */
const AFRESH: Counters = { attempts: 0, waits: 0, losses: 0 }

export function makeWorkActions(
  deps: Pick<EngineDeps, 'store' | 'log' | 'http' | 'vault'> & {
    readonly registry: Registry
    readonly commits: Commits
    readonly settler: Settler
    readonly time: StoreTime
    readonly steps: Pick<Steps, 'scopeOf'>
    wake(): void
  },
  config: Pick<RunningConfig, 'vars' | 'responseBytesMax' | 'resultBytesMax'>,
): WorkActions {
  const { store, log, registry, settler, commits, time } = deps

  const find = async (tenant: TenantId, id: WorkId): Promise<Found> => {
    const reads = store.forTenant(tenant)
    const work = await reads.work(id)
    if (work === null) throw new AppError('not_found', `no work item ${id}`)
    const event = await reads.event(work.eventId)
    if (event === null) throw new AppError('not_found', `event ${work.eventId} is gone`)
    const route = await registry.routeOf(work)
    return { work, event, route }
  }

  const entryOf = async ({ work, event, route }: Found): Promise<LedgerEntry | null> => {
    const reads = store.forTenant(work.tenant)
    const deadLetterId = deadLetterOf(work)
    const deadLetter = deadLetterId === null ? null : await reads.deadLetter(deadLetterId)
    const key =
      work.key ?? deadLetter?.key ?? (route === null ? null : keyOf(route, work, event, config.vars))
    return key === null ? null : reads.ledger(key)
  }

  /** The scope of a step comes from its instance. */
  const stepScope = async (work: WorkRow, event: StoredEvent): Promise<Scope> => {
    try {
      const scope = await deps.steps.scopeOf(work, event)
      if (scope !== null) return scope
    } catch (error) {
      if (error instanceof JsonError || error instanceof ExpressionError)
        throw new AppError('conflict', error.message)
      throw error
    }
    throw new AppError('conflict', 'its instance went on without it')
  }

  const settle = async (
    { work, event, route }: Found,
    decision: Decision,
    action: string,
    decided: Decided,
  ): Promise<void> => {
    const hold: Guard = { g: 'work', work: work.id, state: work.state, epoch: work.epoch }
    const settlement = await settler.settleUnheld({ work, event }, route, decision, hold)
    if (!settlement.ok) throw new AppError('conflict', 'the item changed meanwhile')
    logAction(work, event, route, action, decided)
    if (decision.to === 'again') deps.wake()
  }

  const logAction = (
    work: WorkRow,
    event: StoredEvent,
    route: Route | null,
    action: string,
    decided: Decided,
  ) => {
    const facts = {
      route: route?.document.name ?? null,
      work: work.id,
      definition: work.definition,
      key: work.key,
    }
    log.control(lineOf('effect', action, event, { ...facts, message: decidedText(decided) }))
  }

  return {
    async allowed(work, entry) {
      const route = await registry.routeOf(work)
      return allowedActs(work, route, entry)
    },

    async resolve(tenant, id, { as, key, ...decided }) {
      const found = await find(tenant, id)
      const { work } = found
      mustDo(work)
      mustBe(work, ['parked', 'cancelled', 'dead'])
      if (key !== undefined && key !== work.key)
        throw new AppError(
          'conflict',
          `the item is about ${work.key ?? 'no effect'} by now; look at that one`,
        )
      const entry = work.key === null ? null : await store.forTenant(tenant).ledger(work.key)
      if (entry === null) throw new AppError('conflict', 'it has no ledger entry')
      const isWaiting = entry.state === 'unknown' && entry.work === id
      const action = as === 'done' ? 'MARKED_DONE' : 'MARKED_RELEASED'
      const word = settleLedger(entry.key, as, 'person', entry.effectRef, entry.result)
      if (work.state !== 'parked') {
        // The job stays ended; jobs that wait for its key go on, and the replay of a dead job finds the decision.
        if (!isWaiting)
          throw new AppError('conflict', `the item is ${work.state}, and its effect is not in doubt`)
        const [next] = await otherUnknownOutcomes(store.forTenant(tenant), work, entry.key)
        // A dead job keeps its lane position and its dead letter: its replay checks the other unknown outcomes.
        const naming = nameNext(work, work.state === 'dead' ? undefined : next)
        const locks = await freeLocks(store.forTenant(tenant), id)
        const guards = [ledgerGuard(entry), ...naming.guards, ...locks.guards]
        const result = await commits.once(tenant, guards, [word, ...naming.writes, ...locks.writes])
        if (!result.ok) throw new AppError('conflict', 'the ledger entry changed meanwhile')
        logAction(work, found.event, found.route, action, decided)
        deps.wake()
        return
      }
      // Another job has settled the outcome meanwhile: the ledger stands, and the decision is about the job alone. A
      // function is parked because of one of its effects: it goes on, with that settled or checking it again.
      const isFunction = goesOn(found.route)
      if (!isWaiting && as === 'done' && entry.state !== 'done' && !isFunction) {
        throw new AppError(
          'conflict',
          `the ledger entry is ${entry.state}; say released, and the item looks again`,
        )
      }
      const note = {
        ...EMPTY_NOTE,
        key: entry.key,
        lastError: decidedText(decided),
        effectRef: entry.effectRef,
      }
      const base = { note, guards: [ledgerGuard(entry)], writes: isWaiting ? [word] : [] }
      await settle(
        found,
        as === 'done' && !isFunction
          ? done({ ...base, counters: countersOf(work) })
          : again(0, { ...base, counters: AFRESH }),
        action,
        decided,
      )
    },

    async probe(tenant, id, decided) {
      const found = await find(tenant, id)
      const { work, event, route } = found
      mustDo(work)
      mustBe(work, ['parked'])
      const action = route?.action
      // A probe on a connection goes through the connection.
      const isOnConnection = route !== null && connectionOf(route.document.do) !== null
      if (work.kind === 'batch' || action?.type === 'upsert' || isOnConnection)
        throw new AppError('conflict', 'let it look again: it asks by itself before it does anything')
      if (route === null || action?.type !== 'http' || action.probe === null)
        throw new AppError('conflict', 'its operation has no probe; say what became of it instead')
      const entry = await entryOf(found)
      if (entry?.state !== 'unknown' || entry.work !== id)
        throw new AppError('conflict', 'its effect is not in doubt; let it look again instead')
      const { abilities } = action
      const { consumer, epoch, waits } = work
      const step = decideEffect({ entry, work: id, epoch, consumer, waits, abilities, now: time.now() })
      if (step.step === 'wait') {
        const seconds = Math.ceil(step.delayMs / 1_000)
        throw new AppError('conflict', `the call may still be on its way; ask again in ${seconds} s`)
      }
      const scope =
        work.kind === 'step' ? await stepScope(work, event) : readableScope(route, work, event, config.vars)
      const sent = keyOfGeneration(entry.key, entry.generation)
      const stays = (why: string) =>
        new AppError('conflict', `${why}; the item stays parked, ask again or decide by hand`)
      const opened = await openSecrets(deps.vault, tenant, action.probe.secrets)
      // Without its secrets a vendor may answer 404 for an effect that exists.
      if (!opened.ok) throw stays(`probe: ${opened.error}`)
      const redact = makeRedact(opened.hidden)
      const answer = await askProbe(action.probe, opened.open({ ...scope, key: sent }), async (request) => {
        const outcome = await deps.http.send({
          ...request,
          tenant: work.tenant,
          timeoutMs: abilities.timeoutMs,
          maxResponseBytes: config.responseBytesMax,
        })
        return { outcome: redactOutcome(outcome, redact) }
      })
      if (answer.effect === null) throw stays(answer.error)
      const isFound = answer.effect === 'found'
      const effectRef = isFound ? (scrubOrNull(event, answer.effectRef) ?? entry.effectRef) : null
      const note = { ...EMPTY_NOTE, key: entry.key, lastError: decidedText(decided), effectRef }
      // With sensitive fields it would have to be encrypted; it is omitted.
      const said = answer.effect === 'found' && event.sensitive.length === 0 ? answer.said : undefined
      const result = said === undefined ? null : resultText(said, config.resultBytesMax)
      const to = isFound ? 'done' : 'released'
      const word = settleLedger(entry.key, to, 'probe', effectRef, result ?? entry.result)
      const base = { note, guards: [ledgerGuard(entry)], writes: [word] }
      await settle(
        found,
        isFound ? done({ ...base, counters: countersOf(work) }) : again(0, { ...base, counters: AFRESH }),
        isFound ? 'PROBED_FOUND' : 'PROBED_ABSENT',
        decided,
      )
    },

    async retry(tenant, id, decided) {
      const found = await find(tenant, id)
      const { work } = found
      mustBe(work, ['ready', 'parked'])
      mustStand(work)
      // Nothing to do, and nothing to reset: a job that a crash interrupted is due at once, and stays isolated.
      if (work.state === 'ready' && (work.alone || work.dueAt <= time.now())) return
      await settle(
        found,
        again(0, { counters: putBackCounters(work), note: noteOf(work) }),
        'RETRIED',
        decided,
      )
    },

    async cancel(tenant, id, decided) {
      const found = await find(tenant, id)
      const { work } = found
      mustBe(work, ['ready', 'waiting', 'parked'])
      mustStand(work)
      if (isOrphans(work, found.route))
        throw new AppError('conflict', 'it waits for its instance; discard its orphan instead')
      if (work.state === 'ready' && work.alone)
        throw new AppError(
          'conflict',
          'a crash interrupted it, and its outcome is not checked yet; try again soon',
        )
      const entry = await entryOf(found)
      // A lock is not an effect: it is released, or stays, with the effect that it protects.
      const held = await store.forTenant(tenant).ledgerOfWork(id)
      const open = held.filter((one) => !isLockKey(one.key))
      const key = work.key ?? entry?.key ?? null
      const named = open.find((one) => one.key === key) ?? open[0]
      const reserved = open.filter(({ state }) => state === 'reserved')
      await settle(
        found,
        cancelled({
          counters: countersOf(work),
          // The row names an unknown outcome, if there is one: an operator resolves that one first, and then the next.
          note: { ...noteOf(work), key: named?.key ?? key, lastError: decidedText(decided) },
          guards: open.map(ledgerGuard),
          // A reserve that will not be used again is an unknown outcome, as after a crash.
          writes: reserved.map((one) => settleLedger(one.key, 'unknown', 'crash', null, null)),
        }),
        'CANCELLED',
        decided,
      )
    },
  }
}

interface Found {
  readonly work: WorkRow
  readonly event: StoredEvent
  readonly route: Route | null
}

/** Intake has no external effect: there is nothing to resolve or to probe. */
function mustDo(work: WorkRow): void {
  mustStand(work)
  if (work.kind !== 'intake' && work.kind !== 'trigger') return
  const why = 'it only matches its event and makes no call; retry or cancel it, or replay its dead letter'
  throw new AppError('conflict', why)
}

/** A job that an instance waits for can only be ended by the instance: without it, the instance would wait forever. */
function mustStand(work: WorkRow): void {
  if (!isOfInstance(work)) return
  const why = `its instance waits for it; fire, move or cancel ${work.instance ?? 'that'} instead`
  throw new AppError('conflict', why)
}

function mustBe({ state }: WorkRow, states: readonly WorkState[]): void {
  if (!states.includes(state))
    throw new AppError('conflict', `the item is ${state}, not ${states.join(' or ')}`)
}

function countersOf({ attempts, waits, losses }: WorkRow): Counters {
  return { attempts, waits, losses }
}

function noteOf({ key, class: failure, lastError, effectRef, httpStatus, durationMs }: WorkRow): Note {
  return { key, class: failure, lastError, effectRef, httpStatus, durationMs }
}

function scopeOf(route: Route, { element }: WorkRow, event: StoredEvent, vars: Vars) {
  const scope = routeScope(event, parsePayload(event.data), parsePayload(event.headers), vars)
  return itemScope(route, scope, element)
}

/** A payload that cannot be read is reported to the caller. */
function readableScope(route: Route, work: WorkRow, event: StoredEvent, vars: Vars) {
  try {
    return scopeOf(route, work, event, vars)
  } catch (error) {
    if (error instanceof JsonError || error instanceof ExpressionError)
      throw new AppError('conflict', error.message)
    throw error
  }
}

/** null if the formula yields none: such a job never called anything. */
function keyOf(route: Route, work: WorkRow, event: StoredEvent, vars: Vars): string | null {
  // The key of a step is on its row from its first run on.
  if (work.kind !== 'route' && work.kind !== 'batch') return null
  try {
    return route.keyOf(scopeOf(route, work, event, vars), work.element)
  } catch (error) {
    if (error instanceof ExpressionError || error instanceof JsonError) return null
    throw error
  }
}
