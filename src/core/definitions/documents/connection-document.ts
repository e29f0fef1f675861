// A connection as data: a tenant's account at a provider. Its state (status, health, circuit) is a record beside it.

import type { JsonValue } from '../../foundation/json/index.ts'
import type { CarriedConnection } from './carried-fields.generated.ts'
import type { CircuitPolicy } from './documents.ts'
import type { Bucket } from './provider-document.ts'

export interface ConnectionDocument extends CarriedConnection {
  readonly kind: 'Connection'
  readonly name: string
  readonly description: string | null
  readonly provider: string
  /** null: the provider needs none. */
  readonly credential: string | null
  /** Texts in it are templates over `vars`. */
  readonly config: JsonValue
  /** In place of the provider's, by operation class; `default` is the base. Templates over `vars` and `config`. */
  readonly endpoints: Readonly<Record<string, string>>
  /** `retired`: it runs nothing. */
  readonly status: 'active' | 'retired'
  /** null: it is not probed automatically. */
  readonly probe: { readonly everyMs: number; readonly timeoutMs: number } | null
  /** In place of the provider's. */
  readonly buckets: Readonly<Record<string, Bucket>>
  /** null: never. */
  readonly circuit: CircuitPolicy | null
}

export const PROBE_EVERY_MS = 60_000
export const PROBE_TIMEOUT_MS = 10_000
