// Which connection an action uses, if it names one, and the name of its runs.

import type { ActionDocument } from '../../core/definitions/documents/index.ts'

export interface Named {
  readonly connection: string
  /** null: any. */
  readonly provider: string | null
  /** The name of a run. */
  readonly operation: string
  readonly endpoint: string | null
  /** Empty: `default`. */
  readonly buckets: readonly string[]
}

const NAME_LENGTH_MAX = 200
const named = new WeakMap<ActionDocument, Named | null>()

/** null: it makes no call, or calls by itself. */
export function connectionOf(action: ActionDocument): Named | null {
  const known = named.get(action)
  if (known !== undefined) return known
  const found = read(action)
  named.set(action, found)
  return found
}

function read(action: ActionDocument): Named | null {
  switch (action.type) {
    case 'operation': {
      const { connection, provider, operation } = action
      const { name, endpoint, buckets } = operation
      return { connection, provider, operation: `${provider}.${name}`, endpoint, buckets }
    }
    case 'http':
      return plain(action.connection, `http ${action.method} ${action.url}`)
    case 'upsert':
      return plain(action.connection, `upsert ${action.baseUrl}${action.find.path}`)
    case 'agent':
      return plain(action.agent.connection, `agent ${action.agent.name}`)
    default:
      return null
  }
}

function plain(connection: string | null | undefined, operation: string): Named | null {
  if (connection === undefined || connection === null) return null
  const name = operation.slice(0, NAME_LENGTH_MAX)
  return { connection, provider: null, operation: name, endpoint: null, buckets: [] }
}
