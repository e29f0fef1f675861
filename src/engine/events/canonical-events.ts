// Events that tell what this system itself did: planned and matched like any event, and kept in the commit of what they tell.

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
import { nextHeader } from './emitted-events.ts'

/** What it follows from; the whole of it is known by its correlation id. */
export type CanonicalParent = Pick<
  NewEvent,
  'id' | 'objectType' | 'objectId' | 'correlationId' | 'traceId' | 'headers'
>

export interface CanonicalDraft {
  readonly tenant: TenantId
  readonly subject: CanonicalSubject | `workflow.${string}`
  /** Nothing that is sensitive: it is kept and sent as it is. */
  readonly data: { readonly [name: string]: JsonValue }
  /** Names the very transition. */
  readonly key: string
  /** null: it follows from no event; then `object` says what it is about. */
  readonly parent: CanonicalParent | null
  readonly object?: { readonly type: string; readonly id: string }
  /** Of a story that it belongs to without an event as its parent. */
  readonly correlationId?: string
  /** Left out: nothing can bring it again. */
  readonly dedupForMs?: number
}

/**
 * Takes slots for what it matches: the plan and its `writes` belong to the unit of work that commits them. Who may call it for
 * work asks `isCanonical` of the work's event first.
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
  // It is made once, with the transition.
  return deps.plan(draft, data, header, dedupForMs)
}

/** Its dedup key. */
export function canonicalKey(subject: CanonicalDraft['subject'], key: string): string {
  return `${subject}:${key}`
}

function headerOf(parent: CanonicalParent | null): JsonValue {
  if (parent === null) return {}
  try {
    return parseJson(parent.headers)
  } catch {
    // Of an event that cannot be read here, nobody knows how far it came.
    return {}
  }
}
