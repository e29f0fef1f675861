// A work item in this node's hands, with what it needs to run.

import type { StoredEvent } from '../core/event/index.ts'
import type { Incarnation } from '../core/ids/index.ts'
import { type JsonValue, parseJson } from '../core/json/index.ts'
import type { WorkRow } from '../core/work/index.ts'

export interface Item {
  readonly owner: Incarnation
  readonly work: WorkRow
  readonly event: StoredEvent
  /** Parsed when first asked for; the accepting node has it already. */
  payload(): JsonValue
  header(): JsonValue
}

export function makeItem(
  owner: Incarnation,
  work: WorkRow,
  event: StoredEvent,
  known?: { readonly payload: JsonValue; readonly header: JsonValue },
): Item {
  let payload = known?.payload
  let header = known?.header
  return {
    owner,
    work,
    event,
    payload: () => {
      if (payload === undefined) payload = parseJson(event.data)
      return payload
    },
    header: () => {
      if (header === undefined) header = parseJson(event.headers)
      return header
    },
  }
}
