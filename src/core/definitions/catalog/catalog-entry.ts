// One line of a catalog: a subject that somebody can publish, and what its payload looks like.

import type { JsonValue } from '../../foundation/json/index.ts'

export interface CatalogEntry {
  /** A pattern where a token is up to the sender: `slack.events.slash_command.*`. */
  readonly subject: string
  readonly description: string | null
  /** null: nothing is known about the payload. */
  readonly schema: JsonValue
  /** Left out where there is none. */
  readonly example?: JsonValue
}
