// A poller, compiled: the calls that read its pages, what a response means, and the event that each item becomes.

import {
  type DefinitionStatus,
  hashDocument,
  type PollerDocument,
  type RouteDocument,
  type SourceDocument,
} from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import { parseSubject } from '../../events/subject/index.ts'
import {
  compileExpression,
  compileShape,
  compileTemplate,
  describeError,
  type Expression,
  ExpressionError,
  type Keyed,
  type Scope,
} from '../../expression/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import { isStorable, type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import { DAY, type Instant } from '../../foundation/time/index.ts'
import { everySlots, type Slots } from '../../ingest/schedule/index.ts'
import {
  compileSource,
  type EventNames,
  identityOf,
  instantOf,
  type Source,
  textOf,
} from '../../ingest/source/index.ts'
import { compileRoute, type Route } from '../../routing/index.ts'
import type { PolledPage, PollFault, PollWindow, WindowRules } from './poll-window.ts'

export const POLLER_PREFIX = 'poller:'

export interface ItemEvent {
  readonly names: EventNames
  readonly changedAt: Instant
  /** null: the poller does not compare content. */
  readonly snapshotHash: string | null
  readonly data: JsonValue
}

export type ItemRead =
  | { readonly ok: true; readonly event: ItemEvent }
  | { readonly ok: false; readonly problem: string }

export interface Poller {
  readonly document: PollerDocument
  readonly hash: string
  /** As the document declares, unless an operator overrides it while it is deployed. */
  readonly status: DefinitionStatus
  /** `poller:<name>`: of its jobs, and the source of its events. */
  readonly consumer: string
  /** Its calls: what limits, retries and dead-letters them is that of a route. */
  readonly route: Route
  /** Its events: dedup, retention and sensitive parts are those of a source. */
  readonly source: Source
  readonly rules: WindowRules
  readonly cadence: { readonly cron: string; readonly zone: string; readonly slots?: Slots }
  /** What the templates of the request see, beside `tenant` and `vars`. */
  requestScope(window: PollWindow): Scope
  /** `result`: the response, or what the operation gives. */
  readPage(
    result: JsonValue,
    link: string | null,
  ):
    | { readonly ok: true; readonly items: readonly JsonValue[]; readonly page: PolledPage }
    | { readonly ok: false; readonly fault: PollFault }
  readItem(item: JsonValue, tenant: string): ItemRead
}

/** How long an object version is remembered: rolling the watermark back further may repeat it. */
const DEDUP_MS = 30 * DAY
const MAX_WAIT_MS = 30 * DAY
const BODY_BYTES = 1_048_576
const DEPTH = 64

/** Without a key, `hmac` in it cannot be evaluated. */
export function compilePoller(document: PollerDocument, keyed: Keyed = {}): Poller {
  const hash = hashDocument(document)
  const consumer = `${POLLER_PREFIX}${document.name}`
  const expression = (text: string): Expression => must(compileExpression(text, keyed)).expression
  const { paging, cadence } = document
  const items = expression(document.items)
  const next = paging.style === 'cursor' ? expression(paging.next) : null
  const isNumbered = paging.style === 'page' || paging.style === 'offset'
  const total = isNumbered && paging.total !== null ? expression(paging.total) : null
  const texts = stringifyJson(document.list as unknown as JsonValue)
  const hasFrom = WINDOW_FROM.test(texts)
  const readItem = compileItem(document, consumer, hasFrom, keyed)
  const route = {
    ...compileRoute(routeOf(document), keyed),
    hash,
    consumer,
    isImmediate: false,
  }
  return {
    document,
    hash,
    status: document.status,
    consumer,
    route,
    source: compileSource(sourceOf(document, consumer), keyed),
    rules: {
      hash,
      sinceMs: document.sinceMs,
      overlapMs: document.overlapMs,
      safetyLagMs: document.safetyLagMs,
      paging,
      hasFrom,
      hasTo: WINDOW_TO.test(texts),
    },
    cadence:
      'cron' in cadence
        ? cadence
        : { cron: `every ${cadence.everyMs}`, zone: 'UTC', slots: everySlots(cadence.everyMs) },
    requestScope: ({ from, to }) => ({
      window: { from: new Date(from).toISOString(), to: new Date(to).toISOString() },
      pageSize: paging.pageSize,
    }),
    readPage(result, link) {
      try {
        const list = items.evaluate({ result })
        if (!Array.isArray(list)) {
          const message = `\`items\` is not a list in the response, but ${list === null ? 'nothing' : `a ${typeof list}`}`
          return { ok: false, fault: { code: 'wrong_shape', message } }
        }
        const named = next === null ? link : textOf(next.evaluate({ result }))
        const counted = total === null ? null : countOf(total.evaluate({ result }))
        if (total !== null && counted === null) {
          const message = '`paging.total` is not a number in the response'
          return { ok: false, fault: { code: 'wrong_shape', message } }
        }
        const changedAt = list.map((item) => {
          const read = readItem(item, '')
          return read.ok ? read.event.changedAt : null
        })
        const page = {
          changedAt,
          fingerprint: hashText(stringifyJson(list)).slice(-16),
          next: named,
          total: counted,
        }
        return { ok: true, items: list, page }
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        return { ok: false, fault: { code: 'wrong_shape', message: describeError(error) } }
      }
    },
    readItem,
  }
}

const WINDOW_FROM = /\bwindow\s*\.\s*from\b/
const WINDOW_TO = /\bwindow\s*\.\s*to\b/

function countOf(value: JsonValue): number | null {
  const count = textOf(value) === null ? Number.NaN : Number(value)
  return Number.isInteger(count) && count >= 0 ? count : null
}

function compileItem(
  document: PollerDocument,
  source: string,
  hasFrom: boolean,
  keyed: Keyed,
): Poller['readItem'] {
  const expression = (text: string | null | undefined): Expression | null =>
    text == null ? null : must(compileExpression(text, keyed)).expression
  const { event } = document
  const changed = must(compileExpression(document.watermark, keyed)).expression
  const objectId = must(compileExpression(event.objectId, keyed)).expression
  const [id, occurredAt, unchanged] = [event.id, event.occurredAt, document.unchanged].map(expression)
  const subject = must(compileTemplate(document.subject, keyed)).template
  const objectType =
    event.objectType === null ? null : must(compileTemplate(event.objectType, keyed)).template
  const shape = must(compileShape(document.data, keyed)).shape

  const read = (item: JsonValue, tenant: string): ItemRead => {
    const scope: Scope = { item, source, tenant }
    const written = changed.evaluate(scope) ?? null
    const changedAt = instantOf(written)
    if (changedAt === null) return refuse('`cursor.field` is not a time in it')
    const object = textOf(objectId.evaluate(scope))
    if (object === null) return refuse('`event.objectId` gives no id for it')
    const named = subject.render(scope)
    const parsed = parseSubject(typeof named === 'string' ? named : '')
    if (!parsed.ok) return refuse(parsed.problem.message)
    const data = shape.render(scope) ?? null
    if (!isStorable(stringifyJson(data))) return refuse('it holds a character that no store accepts')
    const names = {
      subject: named as string,
      objectType: textOf(objectType?.render(scope)),
      objectId: object,
      occurredAt: occurredAt == null ? changedAt : instantOf(occurredAt.evaluate(scope)),
      // The text as written: sources tell times apart that are equal in milliseconds.
      dedupKey: identityOf(id?.evaluate(scope) ?? null) ?? `${object}:${String(written)}`,
    }
    // What is read again with every poll, for as long as it exists, outlives the memory of dedup.
    const always = hasFrom ? null : names.dedupKey
    const content = unchanged == null ? always : unchanged.evaluate(scope)
    const snapshotHash = content === null ? null : hashText(stringifyJson(content))
    return { ok: true, event: { names, changedAt, snapshotHash, data } }
  }

  return (item, tenant) => {
    try {
      return read(item, tenant)
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return refuse(describeError(error))
    }
  }
}

function refuse(problem: string): ItemRead {
  return { ok: false, problem }
}

function routeOf({ name, status, list, retry, deadLetter }: PollerDocument): RouteDocument {
  return {
    kind: 'Route',
    name,
    description: null,
    on: [],
    where: null,
    status,
    key: null,
    uniqueness: 'operation',
    retry,
    maxWaitMs: MAX_WAIT_MS,
    deadLetter,
    do: list,
  }
}

function sourceOf({ subject, sensitive, retentionMs }: PollerDocument, name: string): SourceDocument {
  return {
    kind: 'Source',
    name,
    description: null,
    verify: { scheme: 'closed' },
    subject,
    event: { id: null, objectType: null, objectId: null, occurredAt: null },
    dedup: { by: null, windowMs: DEDUP_MS },
    limits: { bodyBytes: BODY_BYTES, depth: DEPTH },
    status: 'active',
    ...(sensitive === undefined ? {} : { sensitive }),
    ...(retentionMs === undefined ? {} : { retentionMs }),
  }
}

// The parameters of a link: a quoted value may hold anything, also commas and other addresses.
const VALUE = String.raw`"((?:\\.|[^"\\])*)"|([^\s;,"]*)`
const PARAM = String.raw`;\s*([^\s=;,"<]*)(?:\s*=\s*(?:${VALUE}))?`
const PARAMS = new RegExp(PARAM, 'g')
const LINKS = new RegExp(String.raw`<([^>]*)>((?:\s*${PARAM})*)`, 'g')

export type LinkRead =
  | { readonly ok: true; readonly link: string | null }
  | { readonly ok: false; readonly fault: PollFault }

/** The address of the next page in a `link` header (RFC 8288), relative to the page's own; null: there is none. */
export function nextLink(header: string | undefined, base: string): LinkRead {
  for (const [, target = '', params = ''] of (header ?? '').matchAll(LINKS)) {
    if (!isNext(params)) continue
    if (URL.canParse(target, base)) return { ok: true, link: new URL(target, base).href }
    const message = 'the `link` header names a next page that is not an address'
    return { ok: false, fault: { code: 'wrong_shape', message } }
  }
  return { ok: true, link: null }
}

/** The first `rel` of a link counts. */
function isNext(params: string): boolean {
  const rel = [...params.matchAll(PARAMS)].find(([, name]) => name?.toLowerCase() === 'rel')
  return (rel?.[2] ?? rel?.[3] ?? '').toLowerCase().split(/\s+/).includes('next')
}
