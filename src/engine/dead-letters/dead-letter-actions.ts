// Operator actions on dead letters: mark them ready, edit a copy of their event, replay or discard them.
//
// Every action is one commit guarded by the dead letter's version, so that the second of two operators is refused and
// changes nothing.

import { editKey, type NewEvent, type StoredEvent } from '../../core/events/event/index.ts'
import {
  type DeadLetter,
  type DeadLetterEvent,
  type NewDeadLetter,
  stepDeadLetter,
} from '../../core/failures/dead-letter/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { DeadLetterId, EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import type { NewWork, WorkRow } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Guard, Write } from '../../ports/store.ts'
import { type Decided, decidedText } from '../access/index.ts'
import {
  type EngineBase,
  orConflict,
  type Planned,
  RACES_MAX,
  retrying,
  type UnitOfWork,
} from '../commit/index.ts'
import { credentialOf, newRotation } from '../connections/index.ts'
import { type Registry, subscriptionOf } from '../definitions/index.ts'
import { ledgerGuard } from '../effects/index.ts'
import { lineOf } from '../observe/index.ts'
import { addReplay, newIntake, replayedWork } from '../planning/index.ts'
import { newPoll, pollerOf } from '../pollers/index.ts'
import { type Failures, NO_FAILURE_CHANGE } from '../settlement/index.ts'
import { newDelivery } from '../webhooks/index.ts'
import { type Instances, type ReplayedItem, replayedItem } from '../workflows/index.ts'
import { editWrites } from './edited-events.ts'

export interface DeadLetterActions {
  /** The cause was fixed: it may be replayed. */
  ready(tenant: TenantId, id: DeadLetterId, decided: Decided): Promise<void>
  /** It will not be replayed any more. */
  discard(tenant: TenantId, id: DeadLetterId, decided: Decided & { readonly reason: string }): Promise<void>
  /** Creates a copy of its event with another payload, and points the dead letter at it. The original does not change. */
  edit(
    tenant: TenantId,
    id: DeadLetterId,
    options: Decided & { readonly reason: string; readonly data: JsonValue },
  ): Promise<{ readonly eventId: EventId }>
  /** Creates a new job through the same path, on the deployed definition, with the same key. */
  replay(
    tenant: TenantId,
    id: DeadLetterId,
    options: Decided & ReplayOptions,
  ): Promise<{ readonly workId: WorkId }>
}

export interface ReplayOptions {
  /** Also after failed replays. */
  readonly force: boolean
  /** Repeats an existing effect on purpose. Needs a reason. */
  readonly again?: boolean
}

/** A replay ready to be committed; several may share a commit. */
export interface PreparedReplay {
  readonly guards: readonly Guard[]
  /** The index of the guard that may change while the dead letter does not: a caller refused by it prepares again. */
  readonly moving?: number
  readonly writes: readonly Write[]
  readonly work: NewWork
  /** Logs the replay once it is committed. */
  logDecision(decided: Decided): void
}

export interface InternalDeadLetterActions extends DeadLetterActions {
  /** Throws AppError if the dead letter cannot be replayed. */
  prepare(tenant: TenantId, deadLetter: DeadLetter, options: ReplayOptions): Promise<PreparedReplay>
}

/** The size limit of an API request. */
const DATA_LENGTH_MAX = 1_048_576

export function makeDeadLetterActions(
  deps: Pick<EngineBase, 'store' | 'log' | 'ids' | 'vars' | 'wake'> & {
    readonly registry: Registry
    readonly failures: Pick<Failures, 'discard'>
    readonly instances: Instances
    readonly unitOfWork: Pick<UnitOfWork, 'once'>
  },
): InternalDeadLetterActions {
  const { store, log, registry, ids, unitOfWork } = deps

  const find = async (tenant: TenantId, id: DeadLetterId): Promise<DeadLetter> => {
    const deadLetter = await store.forTenant(tenant).deadLetter(id)
    if (deadLetter === null) throw new AppError('not_found', `no dead letter ${id}`)
    return deadLetter
  }
  const eventOf = async (deadLetter: DeadLetter): Promise<StoredEvent> => {
    const event = await store.forTenant(deadLetter.tenant).event(deadLetter.eventId)
    if (event === null) throw new AppError('not_found', `event ${deadLetter.eventId} is gone`)
    return event
  }
  const commit = async (deadLetter: DeadLetter, writes: readonly Write[], plans: readonly Planned[] = []) => {
    const { ok } = await unitOfWork.once(deadLetter.tenant, { guards: [guardOf(deadLetter)], writes, plans })
    if (!ok) throw new AppError('conflict', 'the dead letter changed meanwhile')
  }
  const logAction = (action: string, deadLetter: DeadLetter, event: StoredEvent, decided: Decided) => {
    const facts = {
      route: routeOf(deadLetter),
      work: deadLetter.workId,
      key: deadLetter.key,
      class: deadLetter.class,
    }
    log.control(lineOf('dead-letter', action, event, { ...facts, message: decidedText(decided) }))
  }
  /** One state change of the dead letter alone. */
  const decide = async (
    tenant: TenantId,
    id: DeadLetterId,
    step: DeadLetterEvent,
    action: string,
    decided: Decided,
  ) => {
    const deadLetter = await find(tenant, id)
    const row = stepped(deadLetter, step)
    const event = await eventOf(deadLetter)
    const failed =
      step.type === 'discard' ? await deps.failures.discard(deadLetter, event) : NO_FAILURE_CHANGE
    // The job will not run again: its lane goes on.
    const left: readonly Write[] =
      step.type === 'discard' ? [{ w: 'lane.leave', work: deadLetter.workId }] : []
    await commit(deadLetter, [{ w: 'deadLetter.put', row }, ...failed.writes, ...left], failed.plans)
    logAction(action, deadLetter, event, decided)
    if (left.length > 0) deps.wake()
  }

  const routeWork = (deadLetter: DeadLetter, event: StoredEvent, died: WorkRow | null): NewWork => {
    const route: Route | null = registry.route(deadLetter.tenant, deadLetter.consumer)
    if (route === null)
      throw new AppError('definition_missing', `${deadLetter.consumer} is not defined any more`)
    return replayedWork(deps, route, deadLetter, event, died)
  }

  /** It goes to the deployed subscription's endpoint. */
  const deliveryWork = (deadLetter: DeadLetter, event: StoredEvent, again: boolean): NewWork => {
    const route = registry.route(deadLetter.tenant, deadLetter.consumer)
    if (route === null)
      throw new AppError('definition_missing', `${deadLetter.consumer} is not there any more`)
    return newDelivery(deps, route, event, { replayOf: deadLetter.id, isAgain: again })
  }

  /** Resumes the rotation, if no other is in progress and the prior version is still in use. */
  const rotationWork = (deadLetter: DeadLetter, event: StoredEvent, died: WorkRow | null): NewWork => {
    const name = credentialOf(deadLetter.consumer) ?? ''
    const work = newRotation(ids.work(), { name, hash: died?.definition ?? '' }, event.id, deadLetter.id)
    return died?.step == null ? work : { ...work, step: died.step }
  }

  /** Polls once more, unless another poll is in progress. */
  const pollWork = (deadLetter: DeadLetter, event: StoredEvent): NewWork => {
    const poller = registry.poller(deadLetter.tenant, pollerOf(deadLetter.consumer) ?? '')
    if (poller === null)
      throw new AppError('definition_missing', `${deadLetter.consumer} is not defined any more`)
    return newPoll(ids.work(), poller, event.id, deadLetter.id)
  }

  const workOf = async (
    deadLetter: DeadLetter,
    event: StoredEvent,
    died: WorkRow | null,
    again: boolean,
  ): Promise<ReplayedItem> => {
    const alone = (work: NewWork): ReplayedItem => ({ work, guard: null })
    if (isIntake(deadLetter)) return alone(intakeOf(deadLetter, event, died))
    if (isOfDelivery(deadLetter)) return alone(deliveryWork(deadLetter, event, again))
    if (isOfCredential(deadLetter)) return alone(rotationWork(deadLetter, event, died))
    if (isOfPoller(deadLetter)) return alone(pollWork(deadLetter, event))
    return isOfRoute(deadLetter)
      ? alone(routeWork(deadLetter, event, died))
      : replayedItem(deps, deadLetter, event, died)
  }

  /** A step sees the data of its instance, and the event that started it: an edit can change neither. */
  const refuseStep = async (deadLetter: DeadLetter): Promise<void> => {
    if (isOfRoute(deadLetter) || isOfDelivery(deadLetter)) return
    if (isOfPoller(deadLetter))
      throw new AppError('conflict', 'a poll has nothing to edit: fix what it failed on, and replay it')
    if (isOfCredential(deadLetter))
      throw new AppError('conflict', 'a rotation has nothing to edit: mend what it failed on, and replay it')
    const died = await store.forTenant(deadLetter.tenant).work(deadLetter.workId)
    if (died?.kind === 'trigger') return
    const why =
      'edit the data of its instance instead, and replay the letter: the step sees what is there then'
    throw new AppError('conflict', why)
  }

  /** If the source was removed, its definition is that of the dead job. */
  const intakeOf = (deadLetter: DeadLetter, event: StoredEvent, died: WorkRow | null): NewWork => {
    const source = registry.source(deadLetter.tenant, event.source)
    return newIntake(ids, event, source?.hash ?? died?.definition ?? '', deadLetter.id)
  }

  /** An edited event is matched under its own id: what was done for the original, or is about to be, would be done again. */
  const refuseMatched = async (deadLetter: DeadLetter): Promise<void> => {
    const work = await store.forTenant(deadLetter.tenant).workOfEvent(deadLetter.eventId)
    if (work.every(({ kind, state }) => kind === 'intake' && (state === 'dead' || state === 'cancelled')))
      return
    const why =
      'its event was matched before, or waits to be; edit the dead letters of its routes, or replay it as it is'
    throw new AppError('conflict', why)
  }

  /** Repeats the effect of its key. Only an effect that is known to exist can be repeated. */
  const repetitionOf = async (deadLetter: DeadLetter): Promise<Repetition> => {
    const entry =
      deadLetter.key === null ? null : await store.forTenant(deadLetter.tenant).ledger(deadLetter.key)
    if (entry === null || entry.state === 'released') return NO_REPETITION
    if (entry.state !== 'done') {
      const why = `the outcome of ${entry.key} is ${entry.state}; say what became of it before you repeat it`
      throw new AppError('conflict', why)
    }
    return { generation: entry.generation + 1, guards: [ledgerGuard(entry)] }
  }

  const prepare: InternalDeadLetterActions['prepare'] = async (
    tenant,
    deadLetter,
    { force, again = false },
  ) => {
    const [event, died, { generation, guards }] = await Promise.all([
      eventOf(deadLetter),
      store.forTenant(tenant).work(deadLetter.workId),
      again ? repetitionOf(deadLetter) : NO_REPETITION,
    ])
    const made = await workOf(deadLetter, event, died, again)
    const work = generation === null ? made.work : { ...made.work, generation }
    const own = [guardOf(deadLetter), ...guards]
    const row = stepped(deadLetter, { type: 'replay', work: work.id, force })
    // Copied now, so that the event need not stay in memory until it is logged.
    const facts = {
      route: routeOf(deadLetter),
      work: work.id,
      definition: work.definition,
      key: deadLetter.key,
      attempt: row.replays,
    }
    const line = lineOf('replay', generation === null ? 'REPLAYED' : 'REPEATED', event, facts)
    return {
      ...(made.guard === null ? { guards: own } : { guards: [...own, made.guard], moving: own.length }),
      writes: [{ w: 'deadLetter.put', row }, ...addReplay(work, died)],
      work,
      logDecision: (decided) => log.control({ ...line, message: decidedText(decided) }),
    }
  }

  return {
    prepare,
    ready: (tenant, id, decided) => decide(tenant, id, { type: 'ready' }, 'READY', decided),
    discard: (tenant, id, decided) => decide(tenant, id, { type: 'discard' }, 'DISCARDED', decided),

    async edit(tenant, id, { data, ...decided }) {
      const deadLetter = await find(tenant, id)
      const original = await eventOf(deadLetter)
      if (isIntake(deadLetter)) await refuseMatched(deadLetter)
      else await refuseStep(deadLetter)
      const text = stringifyJson(data)
      if (text.length > DATA_LENGTH_MAX)
        throw new AppError('body_too_large', `the limit is ${DATA_LENGTH_MAX} characters`)
      const copy = copyOf(original, deadLetter, ids.event(), text)
      const row = stepped(deadLetter, { type: 'edit', eventId: copy.id, payloadHash: copy.payloadHash })
      await commit(deadLetter, [
        // Its dedup key is unique, and no sender can repeat it: no window is needed.
        { w: 'event.append', event: copy, dedupForMs: 0 },
        { w: 'deadLetter.put', row },
        ...(await editWrites(store.forTenant(tenant), original, copy, decided)),
      ])
      const change = `${deadLetter.payloadHash} became ${copy.payloadHash}, of ${copy.id}`
      logAction('EDITED', deadLetter, original, {
        ...decided,
        reason: `${decided.reason} (payload ${change})`,
      })
      return { eventId: copy.id }
    },

    replay(tenant, id, { force, again = false, ...decided }) {
      let deadLetter: DeadLetter | null = null
      const replayOnce = async (
        retry: () => Promise<{ readonly workId: WorkId }>,
      ): Promise<{ readonly workId: WorkId }> => {
        mustSayWhy(again, decided)
        deadLetter ??= await find(tenant, id)
        const prepared = await prepare(tenant, deadLetter, { force, again })
        const { guards, writes } = prepared
        const result = await unitOfWork.once(tenant, { guards, writes, plans: [] })
        if (result.ok) {
          prepared.logDecision(decided)
          deps.wake()
          return { workId: prepared.work.id }
        }
        if (result.guard !== prepared.moving)
          throw new AppError('conflict', 'the dead letter changed meanwhile')
        return retry()
      }
      return retrying(RACES_MAX, replayOnce, orConflict('its instance changes without end; try again'))
    },
  }
}

interface Repetition {
  /** null: like any other replay. */
  readonly generation: number | null
  readonly guards: readonly Guard[]
}

const NO_REPETITION: Repetition = { generation: null, guards: [] }

/** A deliberate second effect needs a reason, in every environment. */
export function mustSayWhy(again: boolean, { reason }: Decided): void {
  if (again && reason == null)
    throw new AppError('reason_required', 'a deliberate second effect needs a reason')
}

/** Its event could not be matched: no route is involved. */
function isIntake({ consumer }: DeadLetter): boolean {
  return consumer.startsWith('source:')
}

function isOfRoute({ consumer }: DeadLetter): boolean {
  return consumer.startsWith('route:')
}

function isOfCredential({ consumer }: DeadLetter): boolean {
  return credentialOf(consumer) !== null
}

function isOfPoller({ consumer }: DeadLetter): boolean {
  return pollerOf(consumer) !== null
}

function isOfDelivery({ consumer }: DeadLetter): boolean {
  return subscriptionOf(consumer) !== null
}

function routeOf(deadLetter: DeadLetter): string | null {
  return isIntake(deadLetter) ? null : deadLetter.consumer.slice(deadLetter.consumer.indexOf(':') + 1)
}

function guardOf(deadLetter: DeadLetter): Guard {
  return { g: 'version', of: 'deadLetter', key: deadLetter.id, version: deadLetter.version }
}

function stepped(deadLetter: DeadLetter, event: DeadLetterEvent): NewDeadLetter {
  const { tenant: _tenant, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = deadLetter
  const step = stepDeadLetter(row, event)
  if (step.ok) return step.row
  if (step.refusal === 'replays_exhausted') throw new AppError('replays_exhausted')
  const next = NEXT[deadLetter.state]
  throw new AppError('conflict', `the dead letter is ${deadLetter.state}`, next === undefined ? {} : { next })
}

/** What a refused caller can do; left out: the general advice for a conflict. */
const NEXT: Readonly<Partial<Record<DeadLetter['state'], string>>> = {
  replaying: 'Wait for the end of its replay, or cancel the job of the replay.',
  resolved: 'Nothing is left to do: a replay succeeded.',
  discarded: 'Nothing can be done with it any more. If its job is needed after all, replay its event.',
}

/** Source and headers stay: conditions and templates of the route read them, and must have the same result as before. */
function copyOf(original: StoredEvent, deadLetter: DeadLetter, id: EventId, data: string): NewEvent {
  const { receivedAt: _at, duplicates: _duplicates, lastDuplicateAt: _last, ...event } = original
  return {
    ...event,
    id,
    causationId: original.id,
    dedupKey: editKey(deadLetter),
    payloadHash: hashText(data),
    data,
    // The received bytes belong to the original; this is what the operator wrote.
    raw: null,
    // The replay is its consumer: it is never shown as unmatched.
    matched: 1,
  }
}
