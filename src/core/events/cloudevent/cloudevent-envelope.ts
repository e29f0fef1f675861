// Converts a CloudEvent to an event of ours, and back.
//
// Its `type` is the subject and its `source`, prefixed with `publish:`, the source: no definition can have such a name, so that
// no publisher can be mistaken for a webhook source or use up its dedup keys. Attributes without an equivalent are stored in
// headers, under their names of binary mode.

import { isStorable, type JsonValue, parseJson } from '../../foundation/json/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import { canonicalType } from '../canonical/index.ts'
import { editedFrom, type StoredEvent } from '../event/index.ts'
import { parseSubject } from '../subject/index.ts'
import { BASE64, type CloudData, type CloudEvent, type CloudFault, isJsonType } from './cloudevent.ts'

/** Subjects about this system itself: only the system may publish them. */
const RESERVED_TOKENS: readonly string[] = ['millrace', 'integration', 'workflow', 'webhook']

export interface PublishDraft {
  readonly source: string
  readonly subject: string
  readonly objectId: string | null
  readonly occurredAt: Instant | null
  /** null: it gets a new one. */
  readonly correlationId: string | null
  readonly traceId: string | null
  readonly dedupKey: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload: JsonValue
  /** The payload's JSON. */
  readonly data: string
  readonly raw: string | null
}

export type DraftResult =
  | { readonly ok: true; readonly draft: PublishDraft }
  | { readonly ok: false; readonly faults: readonly CloudFault[] }

const PUBLISHED = 'publish:'
const CORRELATION_LENGTH_MAX = 128
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/
const PAYLOAD_DEPTH_MAX = 256

export function toDraft(event: CloudEvent): DraftResult {
  const faults: CloudFault[] = []
  const named = parseSubject(event.type)
  if (!named.ok) {
    faults.push({
      attribute: 'type',
      message: `it becomes the subject, and must be one: ${named.problem.message}`,
    })
  } else if (RESERVED_TOKENS.includes(named.tokens[0] ?? '')) {
    faults.push({
      attribute: 'type',
      message: `\`${named.tokens[0]}.\` is kept for what Millrace itself tells; take another first part`,
    })
  }
  const { correlationid, traceparent } = event.extensions
  if (typeof correlationid === 'string' && correlationid.length > CORRELATION_LENGTH_MAX) {
    faults.push({
      attribute: 'correlationid',
      message: `it has more than ${CORRELATION_LENGTH_MAX} characters`,
    })
  }
  if (event.data.form === 'text' && !isStorable(event.data.text)) {
    faults.push({ attribute: 'data', message: 'it holds characters that no text may hold' })
  }
  if (faults.length > 0) return { ok: false, faults }
  const data = payloadText(event.data)
  return {
    ok: true,
    draft: {
      source: `${PUBLISHED}${event.source}`,
      subject: event.type,
      objectId: event.subject,
      occurredAt: event.time,
      correlationId: correlationid === undefined || correlationid === '' ? null : String(correlationid),
      traceId: TRACEPARENT.exec(String(traceparent ?? ''))?.[1] ?? null,
      dedupKey: event.id,
      headers: keptHeaders(event),
      payload: parseJson(data, { depth: PAYLOAD_DEPTH_MAX }),
      data,
      raw: event.data.form === 'text' ? event.data.text : null,
    },
  }
}

function payloadText(data: CloudData): string {
  switch (data.form) {
    case 'none':
      return 'null'
    case 'json':
      return data.text
    case 'text':
    case 'base64':
      return JSON.stringify(data.text)
  }
}

function keptHeaders(event: CloudEvent): Readonly<Record<string, string>> {
  const { id, source, type, subject, dataschema, datacontenttype, data } = event
  const headers: Record<string, string> = {
    'ce-specversion': '1.0',
    'ce-id': id,
    'ce-source': source,
    'ce-type': type,
  }
  if (subject !== null) headers['ce-subject'] = subject
  if (dataschema !== null) headers['ce-dataschema'] = dataschema
  for (const [name, value] of Object.entries(event.extensions)) headers[`ce-${name}`] = String(value)
  const contentType = datacontenttype ?? (data.form === 'json' ? 'application/json' : null)
  if (contentType !== null) headers['content-type'] = contentType
  if (data.form === 'none') headers['content-length'] = '0'
  if (data.form === 'base64') headers['content-transfer-encoding'] = 'base64'
  return headers
}

/** Names of the event's own attributes, and names that only we may set. */
const OWN = new Set([
  'specversion',
  'id',
  'source',
  'type',
  'subject',
  'time',
  'dataschema',
  'datacontenttype',
  'data',
  'editedfrom',
])
const NAME = /^[a-z0-9]{1,20}$/

/** `headers` and `data` as far as the reader may see them. */
export function fromEvent(
  event: Omit<StoredEvent, 'headers' | 'data' | 'raw' | 'sensitive'>,
  shown: { readonly headers: Readonly<Record<string, string>>; readonly data: string },
): CloudEvent {
  const { headers } = shown
  const isPublished = event.source.startsWith(PUBLISHED)
  const extensions: Record<string, string> = {}
  if (isPublished) {
    for (const [name, value] of Object.entries(headers)) {
      const attribute = name.startsWith('ce-') ? name.slice(3) : ''
      if (NAME.test(attribute) && !OWN.has(attribute)) extensions[attribute] = String(value)
    }
  } else if (TRACEPARENT.test(headers.traceparent ?? '')) {
    extensions.traceparent = headers.traceparent as string
  }
  extensions.correlationid = event.correlationId
  if (event.causationId !== null) extensions.causationid = event.causationId
  const original = editedFrom(event)
  if (original !== null) extensions.editedfrom = original
  // The system's own events have a different name here; the subject that routes use is an extension.
  const named = canonicalType(event)
  if (named !== null) extensions.eventsubject = event.subject
  const data = isPublished
    ? publishedData(headers, shown.data)
    : ({ form: 'json', text: shown.data } as const)
  const told = isPublished ? (headers['content-type'] ?? null) : null
  const isSaid = told !== null && (data.form !== 'json' || isJsonType(told))
  return {
    id: event.id,
    source: `/tenants/${event.tenant}/sources/${encodeURIComponent(event.source)}`,
    type: named ?? event.subject,
    subject: event.objectId,
    time: event.occurredAt ?? event.receivedAt,
    datacontenttype: isSaid ? told : data.form === 'json' ? 'application/json' : null,
    dataschema: (isPublished ? headers['ce-dataschema'] : undefined) ?? null,
    extensions,
    data,
  }
}

function publishedData(headers: Readonly<Record<string, string>>, data: string): CloudData {
  const type = headers['content-type'] ?? null
  if (headers['content-length'] === '0') return { form: 'none' }
  const isBase64 = headers['content-transfer-encoding'] === 'base64'
  if (!isBase64 && isJsonType(type)) return { form: 'json', text: data }
  const text = JSON.parse(data) as unknown
  // Data that is hidden from the reader is neither text nor bytes any more.
  if (typeof text !== 'string' || (isBase64 && !BASE64.test(text))) return { form: 'json', text: data }
  return { form: isBase64 ? 'base64' : 'text', text }
}
