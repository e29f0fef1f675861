// Timetables: events by the clock that an action asked for, under a name, until another action takes them back. The record of a
// timetable holds what was asked and how far it came, so that the commit of a slot's event says that the slot is over.
//
// Invariants: TG24 asking is one commit with the end of the item that asks, and its ledger entry. TG25 asking again under the same
// name replaces it. TG26 no slot after the asking is lost, and none fires twice, over all nodes and crashes.

import type { ScheduleAction, UnscheduleAction } from '../../core/effects/action/index.ts'
import { CANONICAL_HEADER, isCanonical } from '../../core/events/canonical/index.ts'
import { isSealed } from '../../core/events/sensitive/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { EventId, Ids, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import { DAY, type Instant } from '../../core/foundation/time/index.ts'
import { compileCron, type ScheduleRecord } from '../../core/ingest/schedule/index.ts'
import type { Write } from '../../ports/store.ts'
import { type PlanEvent, RACES_MAX, retrying, type StoreTime, type UnitOfWork } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Extra, InternalActions, InternalCall, InternalFailure } from '../effects/index.ts'
import { findEmitFault } from '../events/index.ts'
import { sensitiveOfCaused } from '../secrets/index.ts'
import { type BesideEvent, iso, type Timed } from './schedules.ts'

/** What is kept under its name. */
interface Timetable {
  readonly cron: string
  readonly zone: string
  readonly subject: string
  /** Of a sensitive event it is sealed. */
  readonly data: JsonValue
  /** Who asked: the consumer, its item and its event. */
  readonly consumer: string
  readonly work: WorkId
  readonly eventId: EventId
  readonly correlationId: string
  readonly traceId: string
  readonly isCanonical: boolean
  readonly sensitive: readonly string[]
  readonly record: ScheduleRecord
}

export interface Timetables {
  list(tenant: TenantId): Promise<readonly Timed[]>
  schedule(call: InternalCall, action: ScheduleAction): Promise<void>
  unschedule(call: InternalCall, action: UnscheduleAction): Promise<void>
}

const PAGE = 200
/** What lies beyond is told, and does not fire. */
const TIMETABLES_MAX = 10_000
/** Another node may have made one. */
const FRESH_MS = 60_000
const DEDUP_MS = 7 * DAY

interface Entry {
  readonly name: string
  readonly version: number
  readonly timetable: Timetable
}

export function makeTimetables(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log' | 'seal'> & {
    readonly ids: Ids
    readonly time: StoreTime
    readonly unitOfWork: Pick<UnitOfWork, 'once'>
    readonly plan: PlanEvent
    readonly internal: Pick<InternalActions, 'complete' | 'settleKnown'>
    fail(call: InternalCall, failure: InternalFailure): Promise<void>
    /** They changed here. */
    changed(tenant: TenantId): void
  },
): Timetables {
  const { store, clock, log, seal, ids, time, unitOfWork } = deps
  const known = new Map<TenantId, { readonly at: number; readonly entries: readonly Entry[] }>()

  const load = async (tenant: TenantId): Promise<readonly Entry[]> => {
    const found = known.get(tenant)
    if (found !== undefined && clock.monotonic() - found.at < FRESH_MS) return found.entries
    const at = clock.monotonic()
    const entries: Entry[] = []
    let cursor: string | null = null
    do {
      const page = await store.forTenant(tenant).records({ kind: 'timetable', cursor, limit: PAGE })
      for (const { key, version, body } of page.items)
        entries.push({ name: key, version, timetable: parseJson(body) as unknown as Timetable })
      cursor = page.nextCursor
    } while (cursor !== null && entries.length < TIMETABLES_MAX)
    if (cursor !== null) log.warn('timetable.too-many', { tenant, max: TIMETABLES_MAX })
    known.set(tenant, { at, entries })
    return entries
  }

  const fire = async (
    tenant: TenantId,
    { name, timetable }: Entry,
    slot: Instant,
    beside: BesideEvent,
  ): ReturnType<Timed['fire']> => {
    const { subject, consumer, eventId, correlationId, traceId, sensitive } = timetable
    const data = openData(tenant, name, timetable)
    const text = stringifyJson(data)
    const header = timetable.isCanonical ? { [CANONICAL_HEADER]: '1' } : {}
    const draft = {
      id: ids.event(),
      tenant,
      source: consumer,
      subject,
      objectType: null,
      objectId: null,
      occurredAt: slot,
      correlationId,
      causationId: eventId,
      traceId,
      // The same slot asked for anew is another event.
      dedupKey: `timetable:${name}:${timetable.work}:${iso(slot)}`,
      payloadHash: hashText(text),
      headers: stringifyJson(header),
      data: text,
      raw: null,
      sensitive,
    }
    const plan = deps.plan(draft, data, header, DEDUP_MS)
    const result = await unitOfWork.once(tenant, {
      guards: [...beside.guards, { g: 'dedup', source: draft.source, key: draft.dedupKey }],
      writes: [...plan.writes, ...beside.writes],
      plans: [plan],
    })
    // Somebody replaced it, took it back or fired it: it is looked up anew.
    if (!result.ok) known.delete(tenant)
    return result.ok ? 'fired' : result.guard < beside.guards.length ? 'refused' : 'nothing'
  }

  /** One that is taken back and asked for anew must not have a number that somebody still guards. */
  const firstVersion = (): number => Number.parseInt(ids.uuid().slice(-6), 16) + 1

  const openData = (tenant: TenantId, name: string, { data }: Timetable): JsonValue =>
    typeof data === 'string' && isSealed(data)
      ? parseJson(seal.open({ tenant, row: name, part: 'data' }, data).text)
      : data

  const timed = (tenant: TenantId, entry: Entry): Timed => {
    const { name, timetable } = entry
    const { cron, zone } = timetable
    return {
      name: `timetable:${name}`,
      schedule: { cron, zone, missed: 'once' },
      status: 'active',
      identity: timetable.work,
      isCurrent: () => true,
      async read() {
        const found = await store.forTenant(tenant).record('timetable', name)
        if (found === null) {
          known.delete(tenant)
          return { record: timetable.record, version: -1 }
        }
        const now = parseJson(found.body) as unknown as Timetable
        // Replaced meanwhile: the guard of an old version refuses whatever is decided by the old one.
        if (now.work !== timetable.work) known.delete(tenant)
        return { record: now.record, version: now.work === timetable.work ? found.version : -1 }
      },
      beside: (version, record) => ({
        guards: [{ g: 'version', of: 'timetable', key: name, version }],
        writes: [putTimetable(name, version + 1, { ...timetable, record })],
      }),
      fire: (slot, _missed, beside) => fire(tenant, entry, slot, beside),
    }
  }

  /** With the end of the item; decided again where somebody changed the same name. */
  const change = (
    call: InternalCall,
    name: string,
    changeOf: (version: number) => readonly Write[],
  ): Promise<void> => {
    const { tenant } = call.item.work
    const startedAt = clock.monotonic()
    const changeOnce = async (retry: () => Promise<void>): Promise<void> => {
      const found = await store.forTenant(tenant).record('timetable', name)
      const version = found?.version ?? 0
      const extra: Extra = {
        guards: [{ g: 'version', of: 'timetable', key: name, version }],
        writes: changeOf(version),
        said: { name },
      }
      const settlement = await deps.internal.complete(call, stringifyJson({ name }), startedAt, extra)
      if (settlement.ok) {
        known.delete(tenant)
        deps.changed(tenant)
        return
      }
      const isRaced = settlement.why === 'guard' && settlement.found?.f === 'version'
      return isRaced ? retry() : deps.internal.settleKnown(call, settlement)
    }
    const error = 'others change the same timetable all the time'
    return retrying(RACES_MAX, changeOnce, () =>
      deps.fail(call, { class: 'transient', error, retryAfterMs: null }),
    )
  }

  return {
    list: async (tenant) => (await load(tenant)).map((entry) => timed(tenant, entry)),
    async schedule(call, action) {
      const { item } = call
      const { name, cron, zone, subject, data } = action.render(call.scope)
      const fault = findEmitFault(item, subject)
      if (fault !== null) return deps.fail(call, { ...fault, retryAfterMs: null })
      if (!compileCron(cron, zone).ok) {
        const error = 'its cron expression or time zone cannot be read'
        return deps.fail(call, { class: 'config', error, retryAfterMs: null })
      }
      const { event, work } = item
      const text = stringifyJson(data)
      const sensitive = sensitiveOfCaused(event, text)
      const timetable: Timetable = {
        cron,
        zone,
        subject,
        data:
          sensitive.length === 0
            ? data
            : seal.seal({ tenant: work.tenant, row: name, part: 'data' }, text, sensitive),
        consumer: work.consumer,
        work: work.id,
        eventId: event.id,
        correlationId: event.correlationId,
        traceId: event.traceId,
        isCanonical: isCanonical(event),
        sensitive,
        // What comes after this moment is its own, whoever looks first.
        record: { cron, zone, through: time.now(), lastSlot: null, isDisabled: false },
      }
      return change(call, name, (version) => [
        putTimetable(name, version === 0 ? firstVersion() : version + 1, timetable),
      ])
    },
    unschedule: (call, action) => {
      const name = action.render(call.scope)
      return change(call, name, () => [{ w: 'record.delete', kind: 'timetable', key: name }])
    },
  }
}

function putTimetable(name: string, version: number, timetable: Timetable): Write {
  const body = stringifyJson(timetable as unknown as JsonValue)
  return { w: 'record.put', kind: 'timetable', key: name, version, body }
}
