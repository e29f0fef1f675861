// N1, N2 and N12: what must be true of the whole store, at an acknowledgement and when a run is over.

import { USUAL_CIRCUIT } from '../src/core/definitions/documents/index.ts'
import { isLockKey } from '../src/core/effects/action/index.ts'
import type { LedgerEntry } from '../src/core/effects/ledger/index.ts'
import { isCanonicalSource } from '../src/core/events/canonical/index.ts'
import type { StoredEvent } from '../src/core/events/event/index.ts'
import { SECOND } from '../src/core/foundation/time/index.ts'
import { deadLetterOf, type WorkRow } from '../src/core/queue/work/index.ts'
import { FINAL_WORK } from '../src/core/store/retention/index.ts'
import type { EngineConfig } from '../src/engine/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import { isCopy, rootOf } from './check-dead-letters.ts'
import { checkFailures } from './check-failures.ts'
import { checkElements, checkSuperseded, waitsBehindHolder } from './check-lanes.ts'
import { withGone } from './check-retention.ts'
import type { CaseModel } from './check-workflows.ts'
import { checkCasesEnd, waitsForAdmission } from './check-workflows-end.ts'
import type { Data } from './data.ts'
import { short } from './node.ts'
import type { Acknowledgement, Observations } from './run-observations.ts'
import { DRAIN_EVERY_MS, isEffectKey, RETRY_AFTER_S_MAX, ROUTES, SOURCES } from './scenario.ts'
import { TWIN } from './twin-tenant.ts'

/** The longest that a function waits before it asks the vendor. */
const PROBE_AFTER_MS_MAX = 15 * SECOND

/** No node will act on these by itself. */
const SETTLED = new Set(['done', 'skipped', 'merged', 'parked', 'dead', 'cancelled'])

/** Waits only for a job whose outcome an operator has to decide. */
function isHeld(observations: Observations, row: WorkRow): boolean {
  if (row.state !== 'ready') return false
  const held = [row.key, observations.locks.get(row.id) ?? null]
  return held.some((key) => key !== null && isHeldBy(observations, row, key))
}

function isHeldBy(observations: Observations, row: WorkRow, key: string): boolean {
  const entry = observations.entries.get(key)
  if (entry === undefined || entry.work === row.id || entry.state === 'released') return false
  const holder = observations.works.get(entry.work)
  return isWithOperator(observations, holder, entry)
}

/** An operator decides about the entry, by its holder or by the batch that contains it. */
function isWithOperator(
  observations: Observations,
  holder: WorkRow | undefined,
  entry: LedgerEntry,
): boolean {
  if (holder?.state === 'merged' && holder.into !== null)
    return observations.works.get(holder.into)?.state === 'parked'
  return (
    holder?.state === 'parked' ||
    (holder?.state === 'cancelled' && isOutcomeUnknown(observations, holder, entry))
  )
}

function isOutcomeUnknown(observations: Observations, { key }: WorkRow, entry: LedgerEntry): boolean {
  const doubted = isLockKey(entry.key) && key !== null ? observations.entries.get(key) : entry
  return doubted?.state === 'unknown'
}

function isUnsettled(observations: Observations, model: CaseModel, row: WorkRow): boolean {
  return (
    !SETTLED.has(row.state) &&
    !isHeld(observations, row) &&
    !waitsBehindHolder(observations, row) &&
    !waitsForAdmission(observations, model, row)
  )
}

export function unsettled(observations: Observations, model: CaseModel): readonly WorkRow[] {
  return [...observations.works.values()].filter((row) => isUnsettled(observations, model, row))
}

/** Whether there are any, which is asked all the time. */
export function hasUnsettled(observations: Observations, model: CaseModel): boolean {
  for (const row of observations.works.values()) if (isUnsettled(observations, model, row)) return true
  return false
}

/** Parked, or cancelled while the outcome of the effect was unknown. */
export function waitingForOperator(observations: Observations): readonly WorkRow[] {
  return [...observations.works.values()].filter((row) => {
    // A rotation waits for its next secret, which is no decision.
    if (row.kind === 'rotation') return false
    if (row.state === 'parked') return true
    const entry =
      row.state === 'cancelled' && row.key !== null ? observations.entries.get(row.key) : undefined
    return entry?.state === 'unknown' && entry.work === row.id
  })
}

/**
 * How long after the last fault everything must be settled: the old lives are fenced and their work given back; then an
 * item may have to sit out its longest wait, once for itself, once for the holder of its key, once for what caused it.
 */
export function healingMs(
  config: Pick<EngineConfig, 'leaseMs' | 'pollMs'>,
  poisonous: number,
  ordered: number,
): number {
  const { leaseMs, pollMs } = config
  const waitForKeyMs = 300 * SECOND
  const waitForProbeMs = 256 * SECOND
  const longest = ROUTES.map(({ document }) => {
    const action = document.do
    const callMs =
      action.type === 'http'
        ? action.timeoutMs + (action.probe?.afterMs ?? 0)
        : action.type === 'function'
          ? 2 * action.timeoutMs + PROBE_AFTER_MS_MAX
          : 2 * SECOND
    return 2 * callMs + 1.1 * Math.max(...document.retry.delaysMs, RETRY_AFTER_S_MAX * SECOND)
  })
  // A circuit may have to be tried by a second node, a host may be closed, and what drains waits for slots, time and again.
  const paceMs = 2 * USUAL_CIRCUIT.openMs + 66 * SECOND + 12 * DRAIN_EVERY_MS
  const onceMs =
    Math.max(...longest) + Math.max(waitForKeyMs, waitForProbeMs) + paceMs + 2 * pollMs + 30 * SECOND
  // A poisonous item takes its node down four times, and with it whatever ran.
  // In a lane each job may have to wait once more for the one before it.
  return 3 * leaseMs + poisonous * 4 * (leaseMs + 10 * SECOND) + 3 * onceMs + ordered * 90 * SECOND
}

export function checkAcknowledged(
  observations: Observations,
  data: Data,
  acknowledged: Acknowledgement,
): void {
  const { eventId } = acknowledged
  const event = data.event(acknowledged.tenant, eventId) ?? observations.gone.events.get(eventId) ?? null
  observations.acknowledgements.push(acknowledged)
  if (event === null) {
    observations.violate(
      'N1',
      `event ${short(acknowledged.eventId)} was acknowledged and is not in the store`,
    )
  } else if (event.source !== acknowledged.source || event.dedupKey !== acknowledged.dedupKey) {
    observations.violate('N1', `the answer to ${acknowledged.dedupKey} names another event`)
  }
}

export function checkEnd(observations: Observations, data: Data, model: CaseModel): void {
  const kept = data.dump()
  const dump = withGone(observations, kept)
  checkEvents(observations, dump)
  checkWork(observations, dump)
  checkDeadLetters(observations, dump)
  checkLedger(observations, dump)
  checkSuperseded(observations, dump)
  checkElements(observations, dump)
  checkFailures(observations, kept)
  checkCasesEnd(observations, model, dump, kept)
}

function checkEvents(observations: Observations, dump: StoreDump): void {
  const known = new Set(dump.events.map(({ id }) => id))
  for (const { tenant, eventId } of observations.acknowledgements) {
    // The twin looks after its own.
    if (tenant !== TWIN && !known.has(eventId))
      observations.violate('N1', `acknowledged event ${short(eventId)} is gone`)
  }
  const windows = new Map(SOURCES.map(({ name, dedup }) => [name, dedup.windowMs]))
  const byKey = new Map<string, number>()
  for (const event of [...dump.events].sort((a, b) => a.receivedAt - b.receivedAt)) {
    const name = `${event.tenant} ${event.source} ${event.dedupKey}`
    const before = byKey.get(name)
    const windowMs = windows.get(event.source) ?? Number.POSITIVE_INFINITY
    if (before !== undefined && event.receivedAt < before + windowMs) {
      observations.violate('N1', `two events of ${name} within the window`)
    }
    byKey.set(name, event.receivedAt)
    if (isCopy(event)) continue
    checkMatched(observations, dump, event)
  }
}

/** One job per matching route, whether matched at ingest or later; jobs of replays are counted separately. */
function checkMatched(observations: Observations, dump: StoreDump, event: StoredEvent): void {
  const all = dump.work.filter(({ eventId }) => eventId === event.id)
  const own = all.filter(({ kind, replayOf }) => kind === 'route' && replayOf === null)
  const consumers = new Set(own.map(({ consumer }) => consumer))
  if (new Set(own.map(({ consumer, element }) => `${consumer} ${element}`)).size !== own.length)
    observations.violate('N2', `event ${short(event.id)} is matched twice by a route`)
  const triggers = new Set(
    all
      .filter(({ kind, replayOf }) => kind === 'trigger' && replayOf === null)
      .map((row) => `${row.consumer}/${row.step}`),
  )
  const delivered = new Set(
    all
      .filter(({ kind, replayOf }) => kind === 'delivery' && replayOf === null)
      .map(({ consumer }) => consumer),
  )
  const made =
    delivered.size + consumers.size + triggers.size + (observations.dispatched.get(event.id)?.length ?? 0)
  const intake = all.filter(({ kind }) => kind === 'intake')
  // By an intake item of its own, or by that of the event that dispatched it.
  if (
    all.some(
      ({ kind, replayOf, state }) =>
        replayOf === event.id && (kind === 'route' || kind === 'delivery' || state === 'done'),
    )
  ) {
    if (made > event.matched) observations.violate('N2', `event ${short(event.id)} forgets who matched it`)
    return
  }
  const first = intake.filter(({ replayOf }) => replayOf !== event.id)
  const matches = first.filter(({ state }) => state === 'done').length
  if (matches > 1) observations.violate('N2', `event ${short(event.id)} is matched ${matches} times`)
  // Canonical events that no route selects are not shown as unmatched.
  const least = isCanonicalSource(event.source) ? 1 : 0
  const expected =
    first.length > 0 && matches === 0 ? { made: 0, matched: 1 } : { made, matched: Math.max(least, made) }
  if (made !== expected.made || event.matched !== expected.matched) {
    observations.violate(
      'N2',
      `event ${short(event.id)} has ${made} items and events of ${event.matched} that matched`,
    )
  }
}

function checkWork(observations: Observations, dump: StoreDump): void {
  const rows = new Map(dump.work.map((row) => [row.id, row]))
  for (const { id, state } of observations.works.values()) {
    if (rows.get(id)?.state !== state) observations.violate('N2', `work ${short(id)} is no longer ${state}`)
  }
  for (const row of dump.work) {
    if (!observations.works.has(row.id)) observations.violate('N2', `work ${short(row.id)} came from nowhere`)
    // An emitted event and the end of the item that emitted it are one commit.
    const emits =
      row.consumer === 'route:pack' ? row.key : row.consumer === 'route:ship' ? `${row.key}#0` : null
    if (emits !== null && row.state === 'done') {
      const emitted = dump.events.filter(
        ({ source, dedupKey }) => source === row.consumer && dedupKey === emits,
      )
      if (emitted.length !== 1)
        observations.violate('N2', `work ${short(row.id)} emitted ${emitted.length} events`)
    }
    if (isHeld(observations, row)) observations.counts.held += 1
    const batch = row.state === 'merged' && row.into !== null ? rows.get(row.into) : undefined
    if (row.state === 'merged' && (batch === undefined || FINAL_WORK.includes(batch.state)))
      observations.violate(
        'N2',
        `work ${short(row.id)} is merged into a batch that is ${batch?.state ?? 'absent'}`,
      )
  }
}

function checkDeadLetters(observations: Observations, dump: StoreDump): void {
  const works = new Map(dump.work.map((row) => [row.id, row]))
  const letters = new Map(dump.deadLetters.map((letter) => [letter.id, letter]))
  const events = new Map(dump.events.map((event) => [event.id, event]))
  const nameOf = (row: Pick<WorkRow, 'eventId' | 'consumer'>) =>
    `${rootOf(events, row.eventId)} ${row.consumer}`
  /** The number of dead letters, by event and consumer. */
  const kept = new Map<string, number>()
  for (const letter of dump.deadLetters) {
    const name = nameOf(letter)
    kept.set(name, (kept.get(name) ?? 0) + 1)
    const own = works.get(letter.workId)
    // Merged into a batch whose outcome is unknown, it waits for the same decision as that.
    const batch = own?.state === 'merged' && own.into !== null ? works.get(own.into) : undefined
    const state = batch?.state === 'parked' ? batch.state : own?.state
    const isRight =
      letter.state === 'open' || letter.state === 'ready_to_replay' || letter.state === 'discarded'
        ? state === 'dead' || state === 'cancelled'
        : letter.state === 'resolved'
          ? state === 'done' || state === 'skipped'
          : letter.state === 'replaying' && isUnderWay(state)
    if (!isRight)
      observations.violate('N2', `dead letter ${short(letter.id)} is ${letter.state}, its work ${state}`)
  }
  // A job has one dead letter; a replay of its event makes another job.
  const left = new Map(kept)
  for (const row of dump.work) {
    if (deadLetterOf(row) === null && row.kind !== 'batch')
      left.set(nameOf(row), (left.get(nameOf(row)) ?? 0) - 1)
  }
  for (const [name, count] of left)
    if (count > 0) observations.violate('N2', `${name} has a dead letter too many`)
  for (const row of dump.work) {
    if (row.state !== 'dead') continue
    const isKept = deadLetterOf(row) === null ? kept.has(nameOf(row)) : letters.has(deadLetterOf(row)!)
    if (!isKept) observations.violate('N2', `dead work ${short(row.id)} has no dead letter`)
  }
}

/** The function may run again: its effect may be repeated. */
function isHarmless({ key }: LedgerEntry): boolean {
  return HARMLESS.some((end) => key.endsWith(end))
}

const HARMLESS = ['#send', '#second']

function isUnderWay(state: WorkRow['state'] | undefined): boolean {
  return state === 'ready' || state === 'waiting' || state === 'leased' || state === 'parked'
}

/** No job is left to settle an entry whose job has ended. */
function checkLedger(observations: Observations, dump: StoreDump): void {
  const works = new Map(dump.work.map((row) => [row.id, row]))
  for (const entry of dump.ledger) {
    const state = works.get(entry.work)?.state
    const holder = observations.works.get(entry.work)
    const isPersons = holder !== undefined && (state === 'merged' || isLockKey(entry.key))
    const isKept = isPersons && isWithOperator(observations, holder, entry)
    if (entry.state === 'reserved' && (state === undefined || SETTLED.has(state)) && !isKept) {
      observations.violate('N2', `ledger ${entry.key} is reserved, but its work is ${state ?? 'absent'}`)
    }
    if (isLockKey(entry.key)) continue
    if (isEffectKey(entry.key)) {
      // A function may go on after a call that had no effect; it may neither succeed nor be dead-lettered while one has an unknown outcome.
      if (entry.state === 'unknown' && (state === 'done' || (state === 'dead' && !isHarmless(entry)))) {
        observations.violate(
          'N4',
          `work ${short(entry.work)} is ${state}, but its effect ${entry.key} is unknown`,
        )
      }
      // An operator who looks at a cancelled job is asked about its unknown outcomes one by one.
      const named = works.get(entry.work)?.key
      const isAsked = dump.ledger.some(
        ({ key, state, work }) => key === named && state === 'unknown' && work === entry.work,
      )
      if (entry.state === 'unknown' && state === 'cancelled' && !isAsked) {
        observations.violate(
          'N4',
          `work ${short(entry.work)} is cancelled, and no decision is asked for ${entry.key}`,
        )
      }
      continue
    }
    // A secret that could not be made at the vendor was set by an operator.
    const isBrought = entry.consumer.startsWith('credential:') && entry.state !== 'reserved'
    if (state === 'done' && entry.state !== 'done' && !isBrought) {
      observations.violate('N4', `work ${short(entry.work)} is done, but its ledger entry is ${entry.state}`)
    }
  }
}
