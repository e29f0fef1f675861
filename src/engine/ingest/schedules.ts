// Fires schedules: finds the next due slot of everything timed and fires it: an event for a source, the trigger of a
// workflow (src/engine/workflows/triggers/scheduled-triggers.ts), an event for a timetable that an action created
// (src/engine/ingest/timetables.ts).
//
// Every node looks. A record of the schedule says how far it has fired; the commit that stores the slot's event updates
// it under a version guard. So of several nodes, or of a node and its crashed predecessor, only one fires.
// src/core/ingest/schedule decides by the store's time what is due, missed or skipped.

import type { DefinitionStatus } from '../../core/definitions/documents/index.ts'
import { ExpressionError } from '../../core/expression/index.ts'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { isNumber, type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import {
  compileCron,
  decideSchedule,
  type MissedPolicy,
  type ScheduleRecord,
  type ScheduleStep,
  type Slots,
} from '../../core/ingest/schedule/index.ts'
import type { EventNames, Source } from '../../core/ingest/source/index.ts'
import { type Guard, type Store, StoreError, type Write } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import type { Acceptor } from './accept-event.ts'

export interface ScheduleState {
  /** null while it does not fire. */
  readonly nextFireAt: Instant | null
  readonly lastFiredAt: Instant | null
}

export interface Schedules {
  start(): void
  /** The definitions changed. */
  wake(tenant: TenantId): void
  /** Something else changed that fires by the clock. */
  look(): void
  /** Resolves when the current look has ended. */
  stop(): Promise<void>
  /** null: the source has no schedule, or does not exist. */
  state(tenant: TenantId, name: string): Promise<ScheduleState | null>
}

export interface StoredSchedule {
  readonly record: ScheduleRecord | null
  /** 0: there is no record. */
  readonly version: number
}

export interface BesideEvent {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

/** Something that fires by the clock. */
export interface Timed {
  /** Unique within its tenant; also its name in the log. */
  readonly name: string
  readonly schedule: { readonly cron: string; readonly zone: string; readonly missed: MissedPolicy }
  readonly status: DefinitionStatus
  /** Its slots, if they are not those of a cron expression. */
  readonly slots?: Slots
  /** If it differs, the cached record is read again. */
  readonly identity: unknown
  /** Whether it is unchanged once the changes of other nodes are loaded. */
  isCurrent(): boolean
  read(): Promise<StoredSchedule>
  /** The writes that mark the slot as fired, for its commit. */
  beside(version: number, record: ScheduleRecord): BesideEvent
  /** One commit together with `beside`; `refused`: another node was first. `nothing`: the slot has or gets no event. */
  fire(slot: Instant, missed: number, beside: BesideEvent): Promise<'fired' | 'refused' | 'nothing'>
}

/** Until `nextAt` this definition has nothing to do, unless the clock goes back: finding slots is expensive. */
interface Known extends StoredSchedule {
  readonly identity: unknown
  readonly lookedAt: Instant
  readonly nextAt: Instant
}

/** An upper bound, in case a timer and a clock differ. */
const LOOK_MS_MAX = 60_000
const AGAIN_MS = 1_000
/** A backlog is processed in steps, so that the other schedules are not starved. */
const STEPS_MAX = 50
const PAGE = 100

const NOTICES = {
  began: 'schedule.began',
  clock_back: 'schedule.clock-back',
  skipped: 'schedule.skipped',
  capped: 'schedule.capped',
} as const

/** Timed things other than sources. */
export interface TimedList {
  list(tenant: TenantId): Promise<readonly Timed[]>
  /** Whether the owner of a record of this name was removed; null: the record is of another kind. */
  isGone?(tenant: TenantId, name: string): boolean | null
}

export function makeSchedules(
  deps: Pick<EngineBase, 'store' | 'clock' | 'log' | 'time' | 'ids' | 'commits'> & {
    readonly registry: Registry
    readonly acceptor: Acceptor
    /** Loads definitions that another node changed. */
    refresh(tenant: TenantId): Promise<void>
    readonly others: readonly TimedList[]
  },
): Schedules {
  const { store, clock, log, time, ids, registry, commits, acceptor } = deps
  const known = new Map<string, Known>()
  /** Tenants in which schedules may have been removed. */
  const toSweep = new Set<TenantId>()
  let isStarted = false
  let isStopped = false
  let isAgain = false
  let active: Promise<void> | null = null
  let cancel: () => void = () => {}

  const read = (tenant: TenantId, name: string): Promise<StoredSchedule> => readSchedule(store, tenant, name)

  /** Writes only the record; false: another node was first. */
  const move = async (tenant: TenantId, timed: Timed, version: number, record: ScheduleRecord) => {
    const { guards, writes } = timed.beside(version, record)
    return (await commits.once(tenant, guards, writes)).ok
  }

  /** `nothing` also if the slot already has its event, from before the schedule was removed and defined again. */
  const fireSource = async (
    tenant: TenantId,
    source: Source,
    slot: Instant,
    missed: number,
    beside: BesideEvent,
  ): ReturnType<Timed['fire']> => {
    const { name } = source.document
    const payload = payloadOf(source, slot, missed)
    const data = stringifyJson(payload)
    const payloadHash = hashText(data)
    const named = nameOf(source, tenant, payload, payloadHash)
    if ('problem' in named) {
      log.error('schedule.unnamed', { tenant, source: name, error: named.problem })
      return 'nothing'
    }
    const correlationId = ids.uuid()
    const stored = await acceptor.keep({
      source,
      draft: {
        id: ids.event(),
        tenant,
        source: name,
        subject: named.subject,
        objectType: named.objectType,
        objectId: named.objectId,
        occurredAt: slot,
        correlationId,
        causationId: null,
        traceId: correlationId.replaceAll('-', ''),
        dedupKey: iso(slot),
        payloadHash,
        headers: '{}',
        data,
        raw: null,
        sensitive: [],
      },
      payload,
      header: {},
      startedAt: clock.monotonic(),
      beside,
    })
    if (stored === 'refused') return 'refused'
    return stored.duplicate ? 'nothing' : 'fired'
  }

  const timedSource = (tenant: TenantId, source: Source): Timed | null => {
    const { name, schedule } = source.document
    if (schedule === undefined) return null
    return {
      name,
      schedule,
      status: source.status,
      identity: source,
      isCurrent: () => registry.source(tenant, name) === source,
      read: () => read(tenant, name),
      beside: (version, record) => besideSchedule(name, version, record),
      fire: (slot, missed, beside) => fireSource(tenant, source, slot, missed, beside),
    }
  }

  /** Fires what is due; returns when to look again. */
  const look = async (tenant: TenantId, timed: Timed): Promise<Instant> => {
    const { name, schedule, identity, status } = timed
    const slots = timed.slots ?? slotsOf(schedule.cron, schedule.zone)
    if (slots === null) return Number.POSITIVE_INFINITY
    const id = `${tenant}/${name}`
    const found = known.get(id)
    const before = found?.identity === identity ? found : undefined
    if (before !== undefined && before.lookedAt <= time.now() && time.now() < before.nextAt)
      return before.nextAt
    let stored: StoredSchedule = before ?? (await timed.read())
    // Unknown until it is written.
    known.delete(id)
    const now = time.now()
    const { steps, notice } = decideSchedule(stored.record, schedule, status, slots, now)
    if (steps.length > 0) {
      // Do not fire by a definition that another node has changed or paused meanwhile.
      await deps.refresh(tenant)
      if (!timed.isCurrent()) return now
      if (registry.needsNewerVersion(tenant)) return Number.POSITIVE_INFINITY
    }
    if (notice !== null) log.info(NOTICES[notice], { tenant, source: name, slots: steps.length })
    for (const step of steps.slice(0, STEPS_MAX)) {
      if (isStopped) return Number.POSITIVE_INFINITY
      if (!(await take(tenant, timed, stored.version, step))) return now
      stored = { record: step.record, version: stored.version + 1 }
    }
    const after = Math.max(now, stored.record?.through ?? now)
    const nextSlot = status === 'active' ? slots.next(after) : null
    const nextAt = steps.length > STEPS_MAX ? now : (nextSlot ?? Number.POSITIVE_INFINITY)
    known.set(id, { ...stored, identity, lookedAt: now, nextAt })
    return nextAt
  }

  /** False: another node was first. */
  const take = async (
    tenant: TenantId,
    timed: Timed,
    version: number,
    { slot, missed, record }: ScheduleStep,
  ): Promise<boolean> => {
    if (slot === null) return move(tenant, timed, version, record)
    const fired = await timed.fire(slot, missed, timed.beside(version, record))
    return fired === 'nothing' ? move(tenant, timed, version, record) : fired === 'fired'
  }

  /** A removed schedule leaves no record: if it is defined again, it starts over. */
  const sweep = async (tenant: TenantId) => {
    // A document that this version cannot read was not removed.
    if (registry.hasUnusable(tenant)) return
    const found: { readonly key: string; readonly version: number }[] = []
    let cursor: string | null = null
    do {
      const page = await store.forTenant(tenant).records({ kind: 'schedule', cursor, limit: PAGE })
      found.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    const isGone = (name: string) => {
      for (const { isGone: ask } of deps.others) {
        const said = ask?.(tenant, name) ?? null
        if (said !== null) return said
      }
      return registry.source(tenant, name)?.document.schedule === undefined
    }
    if (!found.some(({ key }) => isGone(key))) return
    // After this, definitions that another node applied before it wrote a record are loaded.
    await deps.refresh(tenant)
    for (const { key, version } of found) {
      if (!isGone(key)) continue
      await commits.once(
        tenant,
        [{ g: 'version', of: 'schedule', key, version }],
        [{ w: 'record.delete', kind: 'schedule', key }],
      )
      known.delete(`${tenant}/${key}`)
    }
  }

  /** Returns how long to sleep. */
  const lookAtAll = async (): Promise<number> => {
    let nextAt = Number.POSITIVE_INFINITY
    let isFailed = false
    const attempt = async (tenant: TenantId, source: string | null, ask: () => Promise<void>) => {
      try {
        await ask()
      } catch (error) {
        if (!(error instanceof StoreError) && !(error instanceof AppError)) throw error
        isFailed = true
        log.warn('schedule.failed', { tenant, source, error: messageOf(error) })
      }
    }
    for (const tenant of registry.tenants()) {
      if (toSweep.has(tenant)) {
        await attempt(tenant, null, async () => {
          await sweep(tenant)
          toSweep.delete(tenant)
        })
      }
      // A node that knows the routes of these events fires them.
      if (registry.needsNewerVersion(tenant)) continue
      const all = registry.sources(tenant).flatMap((source) => timedSource(tenant, source) ?? [])
      for (const { list } of deps.others) {
        await attempt(tenant, null, async () => {
          all.push(...(await list(tenant)))
        })
      }
      for (const timed of all) {
        if (isStopped) return LOOK_MS_MAX
        await attempt(tenant, timed.name, async () => {
          nextAt = Math.min(nextAt, await look(tenant, timed))
        })
      }
    }
    const sleepMs = Math.min(LOOK_MS_MAX, Math.max(0, nextAt - time.now()))
    return isFailed ? Math.min(AGAIN_MS, sleepMs) : sleepMs
  }

  const sleep = (delayMs: number) => {
    cancel()
    if (!isStopped) cancel = clock.after(delayMs, kick)
  }

  const kick = () => {
    if (!isStarted || isStopped) return
    if (active !== null) {
      isAgain = true
      return
    }
    active = lookAtAll()
      .catch((error: unknown) => {
        log.error('schedule.broken', { error: messageOf(error) })
        return AGAIN_MS
      })
      .then((delayMs) => {
        active = null
        const isNow = isAgain
        isAgain = false
        sleep(isNow ? 0 : delayMs)
      })
  }

  return {
    start() {
      isStarted = true
      for (const tenant of registry.tenants()) toSweep.add(tenant)
      kick()
    },
    wake(tenant) {
      toSweep.add(tenant)
      kick()
    },
    look: kick,
    async stop() {
      isStopped = true
      cancel()
      await active
    },
    async state(tenant, name) {
      const source = registry.source(tenant, name)
      const schedule = source?.document.schedule
      const slots = schedule === undefined ? null : slotsOf(schedule.cron, schedule.zone)
      if (source === null || schedule === undefined || slots === null) return null
      const { record } = await read(tenant, name)
      const isCurrent = record?.cron === schedule.cron && record.zone === schedule.zone
      const through = record !== null && isCurrent ? record.through : time.now()
      return {
        nextFireAt: source.status === 'active' ? slots.next(Math.max(time.now(), through)) : null,
        lastFiredAt: record?.lastSlot ?? null,
      }
    },
  }
}

export async function readSchedule(
  store: Pick<Store, 'forTenant'>,
  tenant: TenantId,
  name: string,
): Promise<StoredSchedule> {
  const found = await store.forTenant(tenant).record('schedule', name)
  return found === null
    ? { record: null, version: 0 }
    : { record: JSON.parse(found.body) as ScheduleRecord, version: found.version }
}

export function besideSchedule(name: string, version: number, record: ScheduleRecord): BesideEvent {
  const body = stringifyJson({ ...record })
  return {
    guards: [{ g: 'version', of: 'schedule', key: name, version }],
    writes: [{ w: 'record.put', kind: 'schedule', key: name, version: version + 1, body }],
  }
}

/** The slot and the document's own payload; the slot's fields win. */
function payloadOf({ document }: Source, slot: Instant, missed: number): JsonValue {
  const { name, schedule } = document
  const written = schedule?.data ?? null
  const isObject =
    typeof written === 'object' && written !== null && !Array.isArray(written) && !isNumber(written)
  return {
    ...(isObject ? (written as Readonly<Record<string, JsonValue>>) : written !== null && { data: written }),
    name,
    slot: iso(slot),
    zone: schedule?.zone ?? 'UTC',
    ...(missed > 0 && { missed }),
  }
}

function nameOf(
  source: Source,
  tenant: TenantId,
  payload: JsonValue,
  payloadHash: string,
): EventNames | { readonly problem: string } {
  try {
    const named = source.name({ header: {}, payload, tenant, payloadHash })
    return named.ok ? named.names : { problem: named.problem }
  } catch (error) {
    if (error instanceof ExpressionError) return { problem: messageOf(error) }
    throw error
  }
}

export function iso(at: Instant): string {
  return new Date(at).toISOString()
}

const CACHED_MAX = 1_000
/** Cached by what they are compiled from: compiling takes a hundred times as long as computing the next slot. */
const compiledSlots = new Map<string, Slots | null>()

/** null: invalid, which a check would have reported. */
function slotsOf(cron: string, zone: string): Slots | null {
  const id = `${cron} ${zone}`
  const found = compiledSlots.get(id)
  if (found !== undefined) return found
  const compiled = compileCron(cron, zone)
  const slots = compiled.ok ? compiled.slots : null
  if (compiledSlots.size >= CACHED_MAX) compiledSlots.clear()
  compiledSlots.set(id, slots)
  return slots
}
