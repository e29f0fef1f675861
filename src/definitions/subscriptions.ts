// Subscriptions among the other documents: what is reported of those that are valid by themselves, and the node's
// verdicts on their addresses.

import type { DefinitionDocument, SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { formatDuration } from '../core/expression/index.ts'
import { type Finding, type Remark, RULES } from './finding.ts'
import type { ReadDocument } from './read.ts'
import { FINDINGS_MAX } from './source-text.ts'
import { type Fields, reads } from './written.ts'

interface Sound {
  readonly document: SubscriptionDocument
  readonly read: { readonly value: Fields }
  report(remark: Remark): void
}

/** What distinguishes one event from another. */
const TELLING = ['event', 'payload', 'header']

export function reportSubscriptions(subscriptions: readonly Sound[]): void {
  for (const { document, read, report } of subscriptions) {
    const { transform, retry, disableAfterMs, rateLimit } = document
    if (transform !== undefined && !TELLING.some((root) => reads(transform, root))) {
      const message =
        'the body is the same for every event: whoever gets it knows that something happened, and not what. Add `{{ event.id }}` or `{{ payload }}`'
      report({ rule: 'sameBody', severity: 'warning', message, path: ['transform'], onKey: true })
    }
    const retriesMs = retry.delaysMs.reduce((sum, delay) => sum + delay, 0)
    if (disableAfterMs !== null && retriesMs >= disableAfterMs) {
      const message =
        `the retries of one delivery take ${formatDuration(retriesMs)}, and after ${formatDuration(disableAfterMs)} of failing the subscription ` +
        'disables itself: the last of them would wait for a person. Disable later, or retry faster'
      const field = read.value.disableAfter === undefined ? 'retry' : 'disableAfter'
      report({ rule: 'patience', severity: 'warning', message, path: [field] })
    }
    if (rateLimit !== undefined && rateLimit.burst > rateLimit.perMinute) {
      const { burst, perMinute } = rateLimit
      const message = `${burst} at once are more than a minute's ${perMinute}: the endpoint gets up to ${burst + perMinute} in one minute`
      const isInline = typeof read.value.rateLimit === 'object'
      report({
        rule: 'burst',
        severity: 'warning',
        message,
        path: ['rateLimit', ...(isInline ? ['burst'] : [])],
      })
    }
  }
}

/** One name, one endpoint: a file does not take over a subscription of the API. */
export function reportHeld(subscriptions: readonly Sound[], isHeld: (name: string) => boolean): void {
  for (const { document, report } of subscriptions) {
    if (!isHeld(document.name)) continue
    const message = `the API has a subscription \`${document.name}\` already: rename this one, or delete that with \`millrace subscriptions delete ${document.name}\``
    report({ rule: 'nameTaken', message, path: ['name'] })
  }
}

/** The node's verdict on an address: whether it may be called, by every address that its name resolves to. */
export type VetAddress = (
  document: SubscriptionDocument,
) => Promise<
  { readonly ok: true; readonly warning?: string } | { readonly ok: false; readonly message: string }
>

const VETTED_AT_ONCE = 64

/** A subscription whose address is not the deployed one, and the position of that address. */
export interface Endpoint {
  readonly document: SubscriptionDocument
  readonly place: Pick<Finding, 'file' | 'line' | 'column'>
}

/** Deployed addresses are skipped: what their names resolve to is judged with every call. */
export function freshEndpoints(
  subscriptions: readonly { readonly document: SubscriptionDocument; readonly read: ReadDocument }[],
  deployedDocuments: readonly DefinitionDocument[],
): readonly Endpoint[] {
  const known = new Map(
    deployedDocuments.flatMap((one) => (one.kind === 'Subscription' ? [[one.name, one.url]] : [])),
  )
  return subscriptions.flatMap(({ document, read }) => {
    if (known.get(document.name) === document.url) return []
    const place = read.locate({ rule: 'endpoint', message: '', path: ['url'] })
    return place === null ? [] : [{ document, place }]
  })
}

/** The node's verdicts on the addresses. */
export async function vetEndpoints(
  endpoints: readonly Endpoint[],
  vet: VetAddress,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (let at = 0; at < endpoints.length; at += VETTED_AT_ONCE) {
    const part = endpoints.slice(at, at + VETTED_AT_ONCE)
    const told = await Promise.all(part.map(async (one) => ({ ...one, vetted: await vet(one.document) })))
    for (const { vetted, place } of told) {
      const message = vetted.ok ? vetted.warning : vetted.message
      if (message === undefined || findings.length >= FINDINGS_MAX) continue
      const { file, line, column } = place
      const severity = vetted.ok ? 'warning' : 'error'
      findings.push({ severity, rule: RULES.endpoint, message, file, line, column })
    }
    // No name resolved in time: the rest would only take as long.
    if (
      told.length === VETTED_AT_ONCE &&
      told.every(({ vetted }) => vetted.ok && vetted.warning !== undefined)
    )
      break
  }
  return findings
}
