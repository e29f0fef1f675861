// Which connection an action uses, if it names one, and the name of its runs.

import {
  type ActionDocument,
  actionFactsOf,
  type ConnectionUse,
} from '../../core/definitions/documents/index.ts'

const uses = new WeakMap<ActionDocument, ConnectionUse | null>()

/** null: it makes no call, or calls by itself. */
export function connectionOf(action: ActionDocument): ConnectionUse | null {
  const known = uses.get(action)
  if (known !== undefined) return known
  const found = actionFactsOf(action).connection?.(action) ?? null
  uses.set(action, found)
  return found
}
