// A provider's probe, compiled: the read-only request that tests and probes a connection and verifies a new secret, and how to
// read its response.

import type { OperationDocument, ProviderDocument } from '../../definitions/documents/index.ts'
import { type CompiledOperation, compileOperation } from '../../effects/action/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'

const compiled = new WeakMap<ProviderDocument, CompiledOperation | null>()

/** null: the provider has none. */
export function probeOf(provider: ProviderDocument): CompiledOperation | null {
  const known = compiled.get(provider)
  if (known !== undefined) return known
  const document = documentOf(provider)
  const probe = document === null ? null : compileOperation(document)
  compiled.set(provider, probe)
  return probe
}

/** Failures that prove nothing about the address: a refused credential, a rate limit, or a transient error. */
const VERDICTS: readonly number[] = [401, 403, 407, 408, 421, 425, 429]

/**
 * Whether a response proves only that the other side is reachable. The provider `http` requests `/` where a connection names no
 * path (`config.probe`), and many APIs have nothing there: their 404 or 405 does not mean that the connection is broken.
 */
export function provesReachOnly(
  provider: Pick<ProviderDocument, 'name'>,
  config: JsonValue | null,
  status: number | null,
): boolean {
  if (provider.name !== 'http' || status === null || status < 300 || status >= 500) return false
  const named = config !== null && typeof config === 'object' && 'probe' in config ? config.probe : null
  return named === null && !VERDICTS.includes(status)
}

function documentOf({ probe, classify, refine }: ProviderDocument): OperationDocument | null {
  if (probe === null) return null
  return {
    ...probe,
    name: 'probe',
    description: null,
    body: null,
    encoding: 'json',
    endpoint: null,
    input: null,
    output: null,
    idempotency: 'idempotent',
    keyTtlMs: null,
    keyHeader: null,
    lookup: null,
    result: null,
    ref: null,
    classify,
    refine,
    buckets: [],
    scopes: [],
    deprecated: null,
  }
}
