// Events that actions emit: checked, and planned like any event that comes in, so that they are kept, matched and counted
// alike. They are written with the end of the item that emitted them, or not at all.

import { hashText } from '../core/definition/index.ts'
import type { NewEvent } from '../core/event/index.ts'
import type { Ids } from '../core/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/json/index.ts'
import { parseSubject } from '../core/subject/index.ts'
import { DAY } from '../core/time/index.ts'
import type { Item } from './item.ts'
import type { EventPlan } from './plan.ts'

export interface Emitted {
  readonly subject: string
  readonly data: JsonValue
  /** The data as it will be kept. */
  readonly text: string
}

export type PlanEvent = (
  draft: Omit<NewEvent, 'matched'>,
  payload: JsonValue,
  header: JsonValue,
  dedupForMs: number,
) => EventPlan

/** An event that causes itself, directly or around a circle, is stopped after this many steps. */
const HOPS_MAX = 32
const HOPS_HEADER = 'millrace-hops'
/** An emitted event is known by its key for as long as a replay may bring it again. */
const EMIT_DEDUP_MS = 30 * DAY

/** What keeps an item from emitting under this subject, or null. */
export function findEmitFault(
  item: Item,
  subject: string,
): { readonly class: 'config' | 'validation'; readonly error: string } | null {
  const named = parseSubject(subject)
  if (!named.ok) return { class: 'validation', error: named.problem.message }
  if (hopsOf(item.header()) < HOPS_MAX) return null
  return { class: 'config', error: `an event that causes itself was stopped after ${HOPS_MAX} steps` }
}

export function makeEmitted(subject: string, data: JsonValue): Emitted {
  return { subject, data, text: stringifyJson(data) }
}

/** Takes slots for what it matches; they must be settled. */
export function planEmitted(
  deps: { readonly ids: Ids; readonly plan: PlanEvent },
  item: Item,
  { subject, data, text }: Emitted,
  dedupKey: string,
): EventPlan {
  const { event, work } = item
  const header = { [HOPS_HEADER]: String(hopsOf(item.header()) + 1) }
  return deps.plan(
    {
      id: deps.ids.event(),
      tenant: event.tenant,
      source: work.consumer,
      subject,
      objectType: event.objectType,
      objectId: event.objectId,
      occurredAt: null,
      correlationId: event.correlationId,
      causationId: event.id,
      traceId: event.traceId,
      dedupKey,
      payloadHash: hashText(text),
      headers: stringifyJson(header),
      data: text,
      raw: null,
      sensitive: [],
    },
    data,
    header,
    EMIT_DEDUP_MS,
  )
}

function hopsOf(header: JsonValue): number {
  if (typeof header !== 'object' || header === null || Array.isArray(header)) return 0
  const hops = Number((header as Readonly<Record<string, JsonValue>>)[HOPS_HEADER] ?? 0)
  return Number.isInteger(hops) && hops > 0 ? hops : 0
}
