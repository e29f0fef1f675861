// What changed since a job was last attempted: its definition, the code, and its event's payload.
//
// Sensitive parts of either event are named and never shown.

import type { RouteDocument } from '../../../core/definitions/documents/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { HIDDEN, isHiddenAt, parsePayload } from '../../../core/events/sensitive/index.ts'
import {
  diffJson,
  type JsonChange,
  JsonError,
  type JsonValue,
  placeText,
  stringifyJson,
} from '../../../core/foundation/json/index.ts'
import type { Route } from '../../../core/routing/index.ts'

export interface Difference {
  readonly of: 'definition' | 'code' | 'payload'
  readonly changes: readonly {
    /** The path within the document or the payload; the empty text is all of it. */
    readonly path: string
    /** As JSON text, truncated if long; null: it did not exist. */
    readonly before: string | null
    /** null: it no longer exists. */
    readonly after: string | null
  }[]
}

const CHANGES_MAX = 50
const VALUE_LENGTH_MAX = 200
/** Where a function's document names its code. */
const CODE_PATH = 'do.codeHash'

export function diffDefinitions(before: RouteDocument | null, after: Route): readonly Difference[] {
  if (before === null) return [{ of: 'definition', changes: [] }]
  const documents = [before, after.document] as unknown as [JsonValue, JsonValue]
  const changes = diffJson(...documents, CHANGES_MAX).map((change) => show(change, false))
  const code = changes.filter(({ path }) => path === CODE_PATH)
  const others = changes.filter(({ path }) => path !== CODE_PATH)
  return [
    ...(others.length === 0 ? [] : [{ of: 'definition', changes: others } as const]),
    ...(code.length === 0 ? [] : [{ of: 'code', changes: code } as const]),
  ]
}

export function diffPayloads(before: StoredEvent | null, after: StoredEvent): Difference {
  if (before === null) return { of: 'payload', changes: [] }
  const paths = [...before.sensitive, ...after.sensitive]
  try {
    const found = diffJson(parsePayload(before.data), parsePayload(after.data), CHANGES_MAX)
    return { of: 'payload', changes: found.map((change) => show(change, isHiddenAt(change.place, paths))) }
  } catch (error) {
    // One of them is not JSON: all of it differs, and its sensitive parts cannot be separated.
    if (error instanceof JsonError)
      return { of: 'payload', changes: [{ path: '', before: HIDDEN, after: HIDDEN }] }
    throw error
  }
}

function show({ place, before, after }: JsonChange, isHidden: boolean): Difference['changes'][number] {
  const text = (value: JsonValue | undefined): string | null => {
    if (value === undefined) return null
    return isHidden ? HIDDEN : cut(stringifyJson(value))
  }
  return { path: placeText(place), before: text(before), after: text(after) }
}

function cut(text: string): string {
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX - 1)}…` : text
}
