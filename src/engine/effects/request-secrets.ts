// Reads the secrets of a request for one attempt: by `auth`, and by `{{ secret('…') }}`.
//
// Invariants: IX4 each attempt reads the current values; they never reach the ledger, the key or the request that is
// shown. IX5 a value that is missing or unreadable fails the attempt before anything is sent. IX6 a value that cannot
// be in a header is reported by the name of its secret.

import type { SecretRef } from '../../core/definitions/documents/index.ts'
import { hiddenTexts, type SecretUse, secretFault, secretKey } from '../../core/effects/action/index.ts'
import { type Scope, withSecrets } from '../../core/expression/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import type { Vault } from '../../ports/vault.ts'
import { placeOfSecret, unreadable } from '../secrets/index.ts'
import type { Performed } from './call.ts'

export type OpenedSecrets =
  | {
      readonly ok: true
      /** The scope that renders the request to send. */
      open(scope: Scope): Scope
      /** Values that must be redacted everywhere. */
      readonly hidden: readonly string[]
    }
  | { readonly ok: false; readonly class: FailureClass; readonly error: string }

const NOTHING: OpenedSecrets = { ok: true, open: (scope) => scope, hidden: [] }

export async function openSecrets(
  vault: Vault,
  tenant: TenantId,
  uses: readonly SecretUse[],
): Promise<OpenedSecrets> {
  if (uses.length === 0) return NOTHING
  const refs = new Map(uses.map(({ ref }) => [secretKey(ref), ref]))
  const values = new Map<string, string>()
  const hidden = new Set<string>()
  try {
    const read = await Promise.all(
      [...refs].map(async ([key, ref]) => [key, ref, await vault.resolve(tenant, [ref])] as const),
    )
    for (const [key, ref, [value, ...former]] of read) {
      if (value === undefined || value === '') return { ok: false, class: 'config', error: missing(ref) }
      values.set(key, value)
      for (const one of former) hidden.add(one)
    }
  } catch (error) {
    const { class: failureClass, code, error: why } = unreadable(error)
    return { ok: false, class: failureClass, error: `${code}: ${why}` }
  }
  for (const use of uses) {
    const value = values.get(secretKey(use.ref)) ?? ''
    const fault = secretFault(use, value)
    if (fault !== null) {
      const error = `${placeOfSecret(use.ref)} ${fault}, which no header can carry: set it again without`
      return { ok: false, class: 'validation', error }
    }
    for (const text of hiddenTexts(use, value)) hidden.add(text)
  }
  return { ok: true, open: (scope) => withSecrets(scope, values), hidden: [...hidden] }
}

function missing(ref: SecretRef): string {
  const next =
    'ref' in ref
      ? `set it with \`millrace secrets set ${ref.ref}\``
      : 'env' in ref
        ? 'set it and restart the nodes'
        : 'put it into the folder of secrets'
  return `${placeOfSecret(ref)} has no value: ${next}, then replay`
}

/** Nothing was sent. */
export function notPerformed(failureClass: FailureClass, error: string): Performed {
  return {
    outcome: notSentOutcome(error),
    verdict: { as: 'failed', class: failureClass, effect: 'none', retryAfterMs: null },
    error,
  }
}

export function notSentOutcome(message: string): HttpOutcome {
  return { kind: 'failed', sent: 'no', code: 'blocked', message, durationMs: 0 }
}
