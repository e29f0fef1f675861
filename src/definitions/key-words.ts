// What the names of fields, headers and subjects suggest about a key: which of them differ from one delivery of an
// event to the next, which with every version of an object, which name an operation. Names are hints, not certainties:
// such a finding is a warning.

import type { FormulaRead } from '../core/expression/index.ts'

/** Fields of the envelope that are created whenever an event is accepted, or belong to its processing in the node. */
const EVENT_CHANGING = [
  'correlationId',
  'traceId',
  'receivedAt',
  'attempt',
  'attempts',
  'runId',
  'workId',
  'headers',
]
const EVENT_FIELDS = [
  'id',
  'tenant',
  'source',
  'subject',
  'objectType',
  'objectId',
  'occurredAt',
  'correlationId',
  'causationId',
  'traceId',
  'dedupKey',
  'payloadHash',
]

/** Headers of the exchange, of proxies, of tracing and of signatures: another value with each delivery of the same event. */
const HEADER_CHANGING = new Set([
  'age',
  'authorization',
  'cf-connecting-ip',
  'cf-ray',
  'content-length',
  'cookie',
  'date',
  'forwarded',
  'host',
  'linear-signature',
  'paddle-signature',
  'stripe-signature',
  'traceparent',
  'tracestate',
  'true-client-ip',
  'user-agent',
  'via',
  'webhook-signature',
  'webhook-timestamp',
  'x-amzn-trace-id',
  'x-client-trace-id',
  'x-cloud-trace-context',
  'x-correlation-id',
  'x-datadog-trace-id',
  'x-forwarded-for',
  'x-hub-signature',
  'x-hub-signature-256',
  'x-real-ip',
  'x-request-id',
  'x-request-start',
  'x-signature',
  'x-slack-request-timestamp',
  'x-slack-retry-num',
  'x-slack-retry-reason',
  'x-slack-signature',
  'x-timestamp',
])
const HEADER_CHANGING_FORM = /^x-b3-|^svix-(?:timestamp|signature)$|(?:^|-)(?:attempt|retry|nonce)(?:-|$)/

/** Names in a payload that usually belong to the delivery, not to its object. */
const DELIVERY_NAMES = new Set([
  'attempt',
  'attempts',
  'correlationid',
  'deliveredat',
  'deliveryattempt',
  'deliveryid',
  'nonce',
  'requestid',
  'retrycount',
  'sentat',
  'traceid',
])

const VERSION_WORDS = new Set([
  'after',
  'changed',
  'checksum',
  'commit',
  'digest',
  'edited',
  'etag',
  'hash',
  'modified',
  'occurred',
  'rev',
  'revision',
  'seq',
  'sequence',
  'sha',
  'state',
  'status',
  'timestamp',
  'updated',
  'version',
])
/** No object keeps one of these for life. */
const LASTING = new Set([
  'after',
  'commit',
  'occurred',
  'sha',
  'state',
  'status',
  'digest',
  'hash',
  'checksum',
])

const UPDATE_WORDS = new Set(['updated', 'update', 'changed', 'edited', 'edit', 'modified', 'modify'])
const CREATE_WORDS = new Set(['created', 'create', 'added', 'inserted', 'opened', 'registered'])
const OPERATION_NAMES = new Set(['action', 'operation', 'eventtype', 'event', 'verb', 'type'])

/** `payload.entry.updatedAt` → payload, entry, updated, at. */
function wordsOf(text: string): readonly string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
}

/** The last name of a path, before any indexes, in lower case and without `_` and `-`. */
export function lastName(path: string): string {
  return lastWritten(path).toLowerCase().replaceAll(/[_-]/g, '')
}

/**
 * `/([A-Za-z_][\w-]*)(?:'\])?(?:\[[^\]]*\])*$/`, in one pass. As a regular expression it tries every letter of a long name as the first
 * one, and walks to the end of the name from each: 25 s for 16,000 letters.
 */
function lastWritten(path: string): string {
  const isEnd = indexStarts(path)
  for (let at = 0; at < path.length; at += 1) {
    if (!isNameSign(path.charCodeAt(at))) continue
    const from = at
    while (at < path.length && isNameSign(path.charCodeAt(at))) at += 1
    if (isEnd[at] !== 1 && !(path.startsWith("']", at) && isEnd[at + 2] === 1)) continue
    const start = firstLetter(path, from, at)
    if (start < at) return path.slice(start, at)
  }
  return ''
}

/** 1 at each position from which only indexes like `[0]` follow, up to the end. */
function indexStarts(path: string): Uint8Array {
  const isEnd = new Uint8Array(path.length + 1)
  isEnd[path.length] = 1
  let isClosed = false
  for (let at = path.length - 1; at >= 0; at -= 1) {
    if (path[at] === ']') isClosed = isEnd[at + 1] === 1
    else if (path[at] === '[' && isClosed) isEnd[at] = 1
  }
  return isEnd
}

function firstLetter(text: string, from: number, to: number): number {
  let at = from
  while (at < to && !/[A-Za-z_]/.test(text[at] as string)) at += 1
  return at
}

function isNameSign(code: number): boolean {
  // - 0–9 A–Z _ a–z
  return (
    code === 45 ||
    (code >= 48 && code <= 57) ||
    (code >= 65 && code <= 90) ||
    code === 95 ||
    (code >= 97 && code <= 122)
  )
}

export type Change =
  /** Another value each time. */
  | 'always'
  /** No such field: never any value. */
  | 'never'
  /** Created once per accepted event. */
  | 'event'
  /** By its name, probably of the delivery. */
  | 'probably'
  | null

/** How a read value differs between two deliveries of the same event. */
export function changeOf({ path }: FormulaRead): Change {
  if (path === 'event' || path === 'header') return 'always'
  const header = /^header(?:\.|\[')([^'\]]+)/.exec(path)?.[1]?.toLowerCase()
  if (header !== undefined) {
    return HEADER_CHANGING.has(header) || HEADER_CHANGING_FORM.test(header) ? 'always' : null
  }
  const field = /^event\.(\w+)/.exec(path)?.[1]
  if (field !== undefined) {
    if (EVENT_CHANGING.includes(field)) return 'always'
    if (!EVENT_FIELDS.includes(field)) return 'never'
    return field === 'id' || field === 'causationId' ? 'event' : null
  }
  return DELIVERY_NAMES.has(lastName(path)) ? 'probably' : null
}

function isDigested({ through }: FormulaRead): boolean {
  return through.includes('hash') || through.includes('hmac')
}

/** Whether it distinguishes one version of an object from the next. */
export function isVersionPart(read: FormulaRead): boolean {
  const { path } = read
  if (/^event\.(?:id|dedupKey|payloadHash|occurredAt)$/.test(path)) return true
  if (isDigested(read) && lastName(path) !== 'id') return true
  return wordsOf(afterRoot(path)).some((word) => VERSION_WORDS.has(word))
}

/** Whether it differs between versions of one object, so that an effect meant to happen once would be repeated. */
export function isChangingPart(read: FormulaRead): boolean {
  const { path } = read
  if (path === 'event.payloadHash' || (path === 'payload' && isDigested(read))) return true
  return wordsOf(afterRoot(path)).some((word) => VERSION_WORDS.has(word) && !LASTING.has(word))
}

/** Whether it names what happened rather than what it happened to. */
export function isOperationPart({ path }: FormulaRead): boolean {
  if (path === 'event.subject' || /^header\.x-(?:github|gitlab)-event$/.test(path)) return true
  return /^(?:payload|event)\b/.test(path) && OPERATION_NAMES.has(lastName(path)) && path !== 'event'
}

/** Whether it identifies an event or an object at all. */
export function isTelling({ path }: FormulaRead): boolean {
  return !/^(?:tenant|source|event\.(?:tenant|source|subject|objectType))$/.test(path)
}

function afterRoot(path: string): string {
  return path.replace(/^\w+/, '')
}

/** What the subjects of a route are about; null if they do not say, or say both. */
export function lifeOf(patterns: readonly string[]): 'update' | 'create' | null {
  const words = patterns.map((pattern) => wordsOf(pattern))
  if (words.some((one) => one.some((word) => UPDATE_WORDS.has(word)))) return 'update'
  const isCreate = words.length > 0 && words.every((one) => one.some((word) => CREATE_WORDS.has(word)))
  return isCreate ? 'create' : null
}
