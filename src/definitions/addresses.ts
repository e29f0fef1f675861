// Checks addresses that a credential is sent to: where the node may not call, and who could read it on the way.

import { judgeTarget, makeOutboundPolicy, readTarget } from '../core/access/network/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import type { Surroundings } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'

const NOTHING_ALLOWED = makeOutboundPolicy([])

/** The result of a template is judged when it is called, as are the addresses that a name resolves to. */
export function checkVendorAddress(
  url: JsonValue | undefined,
  path: FieldPath,
  hasCredential: boolean,
  around: Surroundings,
): readonly Remark[] {
  if (typeof url !== 'string' || url.includes('{{')) return []
  const target = readTarget(url)
  if (!target.ok) return []
  const { outbound } = around
  const isInside = !judgeTarget(target, NOTHING_ALLOWED).ok
  const verdict = outbound === null ? null : judgeTarget(target, outbound ?? NOTHING_ALLOWED)
  if (verdict?.ok === false) {
    if (outbound !== undefined) return [{ rule: 'endpoint', message: verdict.message, path }]
    const message = `${verdict.message}; the node that gets this decides`
    return around.isProduction ? [{ rule: 'endpoint', severity: 'warning', message, path }] : []
  }
  // Traffic that stays in the machine, or in its own network, is not read by others.
  if (target.url.protocol === 'https:' || isInside || !hasCredential) return []
  const message = 'everybody on the way can read the credential that is sent by http: write `https://`'
  const suggestedText = url.replace(/^http:/i, 'https:')
  const severity = around.isProduction ? {} : ({ severity: 'warning' } as const)
  return [{ rule: 'plainCredential', ...severity, message, path, suggestedText }]
}
