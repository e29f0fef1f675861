// Checks a subscription beyond its single fields. Reads it as written, valid or not.

import { judgeTarget, makeOutboundPolicy, readTarget } from '../core/access/network/index.ts'
import type { DefinitionDocument, SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { formatDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { checkAuth } from './auth.ts'
import { checkGroups, reads } from './buffers.ts'
import type { Surroundings } from './document-context.ts'
import { type Finding, type Remark, RULES } from './finding.ts'
import { checkProfileName } from './profiles.ts'
import type { ReadDocument } from './read.ts'
import { checkRetry } from './retries.ts'
import { checkSecrets } from './secrets.ts'
import { checkSensitiveSubscription } from './sensitive.ts'
import { FINDINGS_MAX } from './source-text.ts'

type Fields = { readonly [key: string]: JsonValue }

function fieldsOf(value: JsonValue | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function checkSubscriptionFields(value: Fields, around: Surroundings): readonly Remark[] {
  return [
    ...checkRetry(value.retry, around),
    ...checkProfileName(value.rateLimit, 'rate', ['rateLimit'], around.profiles),
    ...checkSecrets(value.secret, around, ['secret'], 'its deliveries wait'),
    ...checkAuth(value, around, [], 'its deliveries wait'),
    ...checkGroups(value),
    ...checkSensitiveSubscription(value, around.sensitive),
    ...checkAddress(value.url, around),
    ...checkHeaders(fieldsOf(value.headers)),
    ...checkMetadata(fieldsOf(value.metadata)),
    ...checkTransform(value.transform),
    ...checkEverything(value),
  ]
}

// --- The address

const NOTHING_ALLOWED = makeOutboundPolicy([])

/** The result of a template is judged when it is called, as are the addresses that a name resolves to. */
function checkAddress(url: JsonValue | undefined, around: Surroundings): readonly Remark[] {
  if (typeof url !== 'string' || url.includes('{{')) return []
  const target = readTarget(url)
  if (!target.ok) return []
  const { outbound = NOTHING_ALLOWED } = around
  const verdict = outbound === null ? null : judgeTarget(target, outbound)
  if (verdict?.ok === false) {
    const { message } = verdict
    const common = { rule: 'endpoint', path: ['url'] } as const
    return outbound === NOTHING_ALLOWED
      ? [{ ...common, severity: 'warning', message: `${message}; the node that gets this decides` }]
      : [{ ...common, message }]
  }
  if (target.url.protocol === 'https:' || !around.isProduction) return []
  const message = 'everybody on the way can read what is sent by http: write `https://`'
  const suggestedText = url.replace(/^http:/i, 'https:')
  return [{ rule: 'plainHttp', severity: 'warning', message, path: ['url'], suggestedText }]
}

// --- What is sent

const HEADERS_MAX = 50

function checkHeaders(headers: Fields): readonly Remark[] {
  const names = Object.keys(headers)
  const remarks: Remark[] = []
  const seen = new Set<string>()
  for (const name of names) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) {
      const message = `\`${lower}\` stands here twice: the names of headers do not differ by case. Keep one`
      remarks.push({ rule: 'header', message, path: ['headers', name], onKey: true })
    }
    seen.add(lower)
  }
  if (names.length > HEADERS_MAX) {
    remarks.push({
      rule: 'bounds',
      message: `at most ${HEADERS_MAX} headers`,
      path: ['headers'],
      onKey: true,
    })
  }
  return remarks
}

const METADATA_MAX = 50

function checkMetadata(metadata: Fields): readonly Remark[] {
  if (Object.keys(metadata).length <= METADATA_MAX) return []
  return [{ rule: 'bounds', message: `at most ${METADATA_MAX} entries`, path: ['metadata'], onKey: true }]
}

function checkTransform(transform: JsonValue | undefined): readonly Remark[] {
  if (transform !== null) return []
  const message = 'the body is empty: leave `transform` out, and the event is sent as it is'
  return [{ rule: 'type', message, path: ['transform'] }]
}

// --- Which events

function checkEverything({ on, where }: Fields): readonly Remark[] {
  const isList = Array.isArray(on)
  const patterns: readonly JsonValue[] = isList ? on : [on ?? null]
  const index = patterns.indexOf('>')
  if (index < 0 || where !== undefined) return []
  const message =
    '`>` is every event of the tenant, whichever source it has, and also what Millrace tells of itself, as `integration.failed` ' +
    '(but nothing of its own deliveries). Name the subjects, or choose among them with `where`'
  return [{ rule: 'everything', severity: 'warning', message, path: isList ? ['on', index] : ['on'] }]
}

// --- Subscriptions that are valid by themselves

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
