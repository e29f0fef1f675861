// One entry of a catalog: a subject that can be published, and the shape of its payload.

import type { JsonValue } from '../../foundation/json/index.ts'

export interface CatalogEntry {
  /** A pattern where the sender chooses a token: `slack.events.slash_command.*`. */
  readonly subject: string
  readonly description: string | null
  /** null: nothing is known about the payload. */
  readonly schema: JsonValue
  /** Left out where there is none. */
  readonly example?: JsonValue
}
