// core/connection/probe.ts — a provider's probe, compiled: the read-only request by which a connection is tested and probed and a new secret is
// verified, and what its answer means.

import { type CompiledOperation, compileOperation } from '../action/index.ts'
import type { OperationDocument, ProviderDocument } from '../definition/index.ts'

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
