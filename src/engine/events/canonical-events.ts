// Events about what this system itself did: planned and matched like any event, and stored in the commit of the change.

import {
  CANONICAL_HEADER,
  CANONICAL_SOURCE,
  type CanonicalSubject,
} from '../../core/events/canonical/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { Ids, TenantId } from '../../core/foundation/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import type { EventPlan, PlanEvent } from '../commit/index.ts'
import { hopsOf, nextHeader } from './emitted-events.ts'

/** The event it follows from; the correlation id connects the whole. */
export type CanonicalParent = Pick<
  NewEvent,
  'id' | 'objectType' | 'objectId' | 'correlationId' | 'traceId' | 'headers'
>

export interface CanonicalDraft {
  readonly tenant: TenantId
  readonly subject: CanonicalSubject | `workflow.${string}`
  /** Nothing sensitive: it is stored and sent unchanged. */
  readonly data: { readonly [name: string]: JsonValue }
  /** Identifies the transition. */
  readonly key: string
  /** null: it follows from no event; then `object` says what it is about. */
  readonly parent: CanonicalParent | null
  readonly object?: { readonly type: string; readonly id: string }
  /** Of a timeline that it belongs to without an event as its parent. */
  readonly correlationId?: string
  /** Omitted: it cannot be emitted again. */
  readonly dedupForMs?: number
}

/**
 * Takes slots for the jobs that it matches: the plan and its `writes` belong to the unit of work that commits them. A caller
 * that acts for a job checks `isCanonical` of the job's event first.
 */
export function canonicalEvent(
  deps: { readonly ids: Ids; readonly plan: PlanEvent },
  { tenant, subject, data, key, parent, object, correlationId, dedupForMs = 0 }: CanonicalDraft,
): EventPlan {
  const text = stringifyJson(data)
  const header = { ...nextHeader(headerOf(parent)), [CANONICAL_HEADER]: '1' }
  const draft = {
    id: deps.ids.event(),
    tenant,
    source: CANONICAL_SOURCE,
    subject,
    objectType: object?.type ?? parent?.objectType ?? null,
    objectId: object?.id ?? parent?.objectId ?? null,
    occurredAt: null,
    correlationId: parent?.correlationId ?? correlationId ?? deps.ids.uuid(),
    causationId: parent?.id ?? null,
    traceId: parent?.traceId ?? deps.ids.uuid().replaceAll('-', ''),
    dedupKey: canonicalKey(subject, key),
    payloadHash: hashText(text),
    headers: stringifyJson(header),
    data: text,
    raw: null,
    sensitive: [],
  }
  // It is created once, with the transition.
  return deps.plan(draft, data, header, dedupForMs)
}

/** The hops of an event that follows from this one. */
export function hopsAfter(parent: Pick<CanonicalParent, 'headers'> | null): number {
  return hopsOf(headerOf(parent)) + 1
}

/** Its dedup key. */
export function canonicalKey(subject: CanonicalDraft['subject'], key: string): string {
  return `${subject}:${key}`
}

function headerOf(parent: Pick<CanonicalParent, 'headers'> | null): JsonValue {
  if (parent === null) return {}
  try {
    return parseJson(parent.headers)
  } catch {
    // Of an event that cannot be read here, the number of hops is unknown.
    return {}
  }
}
