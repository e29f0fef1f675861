// Shared by all actions: requests and responses, and compilation of texts that were checked before.

import type { JsonValue } from '../../foundation/json/index.ts'

export interface ParsedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonValue
}

export interface RenderedRequest {
  readonly method: string
  readonly url: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** Definitions are checked before they are stored: a text that does not compile now is our bug. */
export function must<T extends { readonly ok: boolean }>(compiled: T): Extract<T, { ok: true }> {
  if (!compiled.ok) throw new Error(`assertion failed: unchecked definition: ${JSON.stringify(compiled)}`)
  return compiled as Extract<T, { ok: true }>
}
