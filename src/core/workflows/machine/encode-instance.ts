// An instance and its history in their stored form: a few columns, and the rest as exact JSON.

import { type JsonValue, parseJson, stringifyJson } from '../../foundation/json/index.ts'
import type {
  HistoryEntry,
  HistoryRow,
  Instance,
  InstanceRow,
  NewHistory,
  NewInstance,
} from '../instance/index.ts'

/** The content of the body; additions must be optional for readers. */
const BODY_VERSION = 1

type Body = Pick<
  Instance,
  | 'data'
  | 'metadata'
  | 'correlations'
  | 'firings'
  | 'done'
  | 'stays'
  | 'rollBack'
  | 'failure'
  | 'admission'
  | 'parent'
  | 'next'
>

export function encodeInstance(instance: Instance): NewInstance {
  const { id, workflow, definition, version, state, attention, revision, marking } = instance
  const { data, metadata, correlations, firings, done, stays, rollBack, failure, admission } = instance
  const { parent, next, eventId, correlationId } = instance
  const body: Body & { readonly v: number } = {
    v: BODY_VERSION,
    data,
    metadata,
    correlations,
    firings,
    done,
    stays,
    rollBack,
    failure,
    admission,
    parent,
    next,
  }
  return {
    id,
    workflow,
    definition,
    version,
    state,
    attention,
    revision,
    marking,
    eventId,
    correlationId,
    parent: parent?.instance ?? null,
    body: stringifyJson(body as unknown as JsonValue),
  }
}

/** Bodies may nest as deep as the payloads that they were made of, and a little deeper. */
const DEPTH_MAX = 2_000

export function decodeInstance(row: NewInstance | InstanceRow): Instance {
  const { id, workflow, definition, version, state, attention, revision, marking } = row
  const { eventId, correlationId } = row
  const body = parseJson(row.body, { depth: DEPTH_MAX }) as unknown as Body
  const { data, metadata, correlations, firings, done, stays, rollBack, failure, admission } = body
  return {
    id,
    workflow,
    definition,
    version,
    state,
    attention,
    revision,
    marking,
    data,
    metadata,
    correlations,
    firings,
    done,
    stays,
    rollBack,
    failure,
    admission,
    parent: body.parent,
    next: body.next,
    eventId,
    correlationId,
  }
}

/** For the result of a step: its last entry has the last number that the instance assigned. */
export function encodeHistory(
  instance: Pick<Instance, 'id' | 'next'>,
  entries: readonly HistoryEntry[],
): readonly NewHistory[] {
  const first = instance.next.history - entries.length
  return entries.map((entry, index) => ({
    instance: instance.id,
    sequence: first + index,
    type: entry.type,
    body: stringifyJson(entry as unknown as JsonValue),
  }))
}

export function decodeHistory(row: Pick<HistoryRow, 'body'>): HistoryEntry {
  return parseJson(row.body, { depth: DEPTH_MAX }) as unknown as HistoryEntry
}
