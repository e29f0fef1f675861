// Timetables: named schedules that an action creates and another action removes. The record of a timetable holds the
// request and its progress, so that the commit of a slot's event marks the slot as fired.
//
// Invariants: TG24 the request is one commit with the end of its job and the ledger entry. TG25 a request with the same
// name replaces it. TG26 no slot after the request is lost, and none fires twice, over all nodes and crashes.

import type { ScheduleAction, UnscheduleAction } from '../../core/effects/action/index.ts'
import { CANONICAL_HEADER, isCanonical } from '../../core/events/canonical/index.ts'
import { isEncrypted } from '../../core/events/sensitive/index.ts'
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

/** The stored record. */
interface Timetable {
  readonly cron: string
  readonly zone: string
  readonly subject: string
  /** Encrypted if the event is sensitive. */
  readonly data: JsonValue
  /** Where the request comes from: the consumer, its job and its event. */
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
/** Timetables beyond this number are logged and do not fire. */
const TIMETABLES_MAX = 10_000
/** Another node may have created one. */
const FRESH_MS = 60_000
const DEDUP_MS = 7 * DAY

interface Entry {
  readonly name: string
  readonly version: number
  readonly timetable: Timetable
}

export function makeTimetables(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log' | 'encryption'> & {
    readonly ids: Ids
    readonly time: StoreTime
    readonly unitOfWork: Pick<UnitOfWork, 'once'>
    readonly plan: PlanEvent
    readonly internal: Pick<InternalActions, 'complete' | 'settleKnown'>
    fail(call: InternalCall, failure: InternalFailure): Promise<void>
    /** Timetables changed on this node. */
    changed(tenant: TenantId): void
  },
): Timetables {
  const { store, clock, log, encryption, ids, time, unitOfWork } = deps
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
      // The same slot, requested again, is another event.
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
    // The timetable was replaced, removed or fired meanwhile: read it again.
    if (!result.ok) known.delete(tenant)
    return result.ok ? 'fired' : result.guard < beside.guards.length ? 'refused' : 'nothing'
  }

  /** A timetable that is removed and created again must not get a version that another node still guards. */
  const firstVersion = (): number => Number.parseInt(ids.uuid().slice(-6), 16) + 1

  const openData = (tenant: TenantId, name: string, { data }: Timetable): JsonValue =>
    typeof data === 'string' && isEncrypted(data)
      ? parseJson(encryption.open({ tenant, row: name, part: 'data' }, data).text)
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
        // Replaced meanwhile: the guard on the old version refuses every decision based on it.
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

  /** In the commit that ends the job; decided again if another change of the same name came first. */
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
            : encryption.encrypt({ tenant: work.tenant, row: name, part: 'data' }, text, sensitive),
        consumer: work.consumer,
        work: work.id,
        eventId: event.id,
        correlationId: event.correlationId,
        traceId: event.traceId,
        isCanonical: isCanonical(event),
        sensitive,
        // Every slot after this moment belongs to it, whichever node looks first.
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
