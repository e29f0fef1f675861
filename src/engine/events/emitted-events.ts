// Events that actions emit and sources dispatch: checked, and planned like any incoming event, so that they are stored, matched
// and counted alike. They are written with the end of the job that made them or with the event that caused them, or not at all.

import { CANONICAL_HEADER, HOPS_HEADER } from '../../core/events/canonical/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import { parseSubject } from '../../core/events/subject/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { isNumeral, type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import type { EventPlan, PlanEvent } from '../commit/index.ts'
import type { Item } from '../leases/index.ts'
import { sensitiveOfCaused } from '../secrets/index.ts'

export interface Emitted {
  readonly subject: string
  readonly data: JsonValue
  /** The data as it will be stored. */
  readonly text: string
}

/** An event that causes itself, directly or in a cycle, is stopped after this many steps. */
const HOPS_MAX = 32
/** An emitted event is deduplicated by its key for as long as a replay may emit it again. */
const EMIT_DEDUP_MS = 30 * DAY

/** What keeps a job from emitting under this subject, or null. */
export function findEmitFault(
  item: Item,
  subject: string,
): { readonly class: 'config' | 'validation'; readonly error: string } | null {
  const named = parseSubject(subject)
  if (!named.ok) return { class: 'validation', error: named.problem.message }
  const error = findHopsFault(item.header())
  return error === null ? null : { class: 'config', error }
}

/** What keeps an event with these headers from causing another, or null. */
export function findHopsFault(header: JsonValue): string | null {
  if (hopsOf(header) < HOPS_MAX) return null
  return `an event that causes itself was stopped after ${HOPS_MAX} steps`
}

export function makeEmitted(subject: string, data: JsonValue): Emitted {
  return { subject, data, text: stringifyJson(data) }
}

/** Takes slots for the jobs that it matches; they must be released. */
export function planEmitted(
  deps: { readonly ids: Ids; readonly plan: PlanEvent },
  item: Item,
  { subject, data, text }: Emitted,
  dedupKey: string,
): EventPlan {
  const { event, work } = item
  const header = nextHeader(item.header())
  const draft = draftCaused(deps.ids, event, header, { subject, data, text })
  return deps.plan({ ...draft, source: work.consumer, dedupKey }, data, header, EMIT_DEDUP_MS)
}

/**
 * The dedup key of a dispatched event: the same however often its parent is matched, and in whatever order its rules are
 * written.
 */
export function dispatchKey(parent: Pick<NewEvent, 'id'>, name: string): string {
  return `${parent.id}:${name}`
}

export interface DispatchedDraft {
  readonly draft: Omit<NewEvent, 'matched'>
  readonly payload: JsonValue
  readonly header: JsonValue
  readonly dedupForMs: number
}

/** `consumer`: `source:<name>`. It is the same occurrence under another name. */
export function draftDispatched(
  ids: Pick<Ids, 'event'>,
  parent: Omit<NewEvent, 'matched'>,
  parentHeader: JsonValue,
  consumer: string,
  dispatched: Emitted & { readonly name: string },
): DispatchedDraft {
  const header = nextHeader(parentHeader)
  const draft = draftCaused(ids, parent, header, dispatched)
  const dedupKey = dispatchKey(parent, dispatched.name)
  return {
    draft: { ...draft, source: consumer, occurredAt: parent.occurredAt, dedupKey },
    payload: dispatched.data,
    header,
    dedupForMs: EMIT_DEDUP_MS,
  }
}

/** One hop further; an event that follows from a canonical event is marked as such. */
export function nextHeader(header: JsonValue): Readonly<Record<string, string>> {
  const hops = { [HOPS_HEADER]: String(hopsOf(header) + 1) }
  return isRecord(header) && Object.hasOwn(header, CANONICAL_HEADER)
    ? { ...hops, [CANONICAL_HEADER]: '1' }
    : hops
}

function draftCaused(
  ids: Pick<Ids, 'event'>,
  parent: Omit<NewEvent, 'matched'>,
  header: Readonly<Record<string, string>>,
  { subject, text }: Emitted,
): Omit<NewEvent, 'matched' | 'source' | 'dedupKey'> {
  return {
    id: ids.event(),
    tenant: parent.tenant,
    subject,
    objectType: parent.objectType,
    objectId: parent.objectId,
    occurredAt: null,
    correlationId: parent.correlationId,
    causationId: parent.id,
    traceId: parent.traceId,
    payloadHash: hashText(text),
    headers: stringifyJson(header),
    data: text,
    raw: null,
    sensitive: sensitiveOfCaused(parent, text),
  }
}

function isRecord(value: JsonValue): value is Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumeral(value)
}

export function hopsOf(header: JsonValue): number {
  if (!isRecord(header)) return 0
  const hops = Number(header[HOPS_HEADER] ?? 0)
  return Number.isInteger(hops) && hops > 0 ? hops : 0
}
