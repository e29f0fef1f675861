// Converts a message of the bus to an event, or says why it does not parse (docs/spec/bus.md).
//
// Invariants: every message becomes an event; one that does not parse is stored with its bytes. No problem quotes a message:
// problems are listed for users who may not see its content.

import { MESSAGE_SUBJECT_HEADER, type SourceDocument } from '../../definitions/documents/index.ts'
import { parseSubject } from '../../events/subject/index.ts'
import { describeError, ExpressionError } from '../../expression/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import { isStorable, type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Body } from '../request-body/index.ts'
import { readBody, readEncoding, readMediaType } from '../request-body/index.ts'
import type { EventNames, Source } from '../source/index.ts'

export interface Message {
  readonly subject: string
  /** The publisher's name for it; null: none. */
  readonly id: string | null
  /** Its position in the bus. */
  readonly place: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** When the bus received it. */
  readonly at: Instant
}

export type Header = Readonly<Record<string, string>>

interface Told {
  readonly names: EventNames
  readonly header: Header
  readonly body: Body
  readonly payloadHash: string
}

export interface MessageVerdict extends Told {
  /** Why no definition can parse it: its event is a dead letter from the start. */
  readonly problem: string | null
  /** Headers with the same meaning for its event. */
  readonly marks: Header
}

/** Marks an event that did not parse, by a code of the list of errors; senders cannot set it. */
export const UNREAD_HEADER = 'millrace-unread'
/** How the body of such an event is stored: `base64`, `head`, or both. */
export const BODY_HEADER = 'millrace-body'

const ID_HEADER = 'nats-msg-id'
const HEADERS_LENGTH_MAX = 65_536
/** Of a message that exceeds the body limit. */
const HEAD_BYTES = 65_536

export function readMessage(source: Source, tenant: string, message: Message): MessageVerdict {
  const { document } = source
  const { header, isCut } = headerOf(message)
  const payloadHash = hashText(message.body)
  const read = isCut ? TOO_MANY_HEADERS : readPayload(document.limits, header, message.body)
  const named = read.ok ? nameOf(source, tenant, header, read.body, payloadHash, usualKeyOf(message)) : read
  if (read.ok && named.ok) {
    const names = { ...named.names, occurredAt: named.names.occurredAt ?? message.at }
    return { names, header, body: read.body, payloadHash, problem: null, marks: {} }
  }
  const { code, detail } = named as Unread
  const kept = read.ok ? { body: read.body, how: null } : keepUnread(message.body, document.limits.bodyBytes)
  return {
    names: {
      subject: isSubject(message.subject) ? message.subject : `unread.${document.name}`,
      objectType: null,
      objectId: null,
      occurredAt: message.at,
      // The corrected message, published again, is a different one: the original key stays free for it.
      dedupKey: `unread:${usualKeyOf(message)}:${payloadHash}`,
    },
    header,
    body: kept.body,
    payloadHash,
    problem: detail,
    marks: { [UNREAD_HEADER]: code, ...(kept.how === null ? {} : { [BODY_HEADER]: kept.how }) },
  }
}

/** Whether an event did not parse when it arrived. */
export function isUnread(header: JsonValue): boolean {
  return typeof header === 'object' && header !== null && Object.hasOwn(header, UNREAD_HEADER)
}

export interface Unread {
  readonly ok: false
  readonly code: string
  readonly detail: string
}

const TOO_MANY_HEADERS: Unread = {
  ok: false,
  code: 'headers_too_large',
  detail: `the headers have more than ${HEADERS_LENGTH_MAX} characters`,
}

export function readPayload(
  { bodyBytes, depth }: SourceDocument['limits'],
  header: Header,
  bytes: Uint8Array,
): { readonly ok: true; readonly body: Body } | Unread {
  if (bytes.byteLength > bodyBytes) {
    const detail = `the message has ${bytes.byteLength} bytes, and the source’s \`limits.body\` is ${bodyBytes}; its head is kept`
    return { ok: false, code: 'body_too_large', detail }
  }
  const coding = readEncoding(header['content-encoding'])
  if (!coding.ok || coding.encoding !== null)
    return { ok: false, code: 'wrong_type', detail: 'the message is compressed: publish it as it is' }
  const media = readMediaType(header['content-type'])
  return media.ok ? readBody(media, bytes, depth) : { ok: false, code: 'wrong_type', detail: media.detail }
}

export function nameOf(
  source: Source,
  tenant: string,
  header: Header,
  { payload }: Body,
  payloadHash: string,
  usualKey: string,
): { readonly ok: true; readonly names: EventNames } | Unread {
  try {
    const named = source.name({ header, payload, tenant, payloadHash, usualKey })
    return named.ok ? named : { ok: false, code: 'unnamed_event', detail: named.problem }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return { ok: false, code: 'unnamed_event', detail: describeError(error) }
  }
}

/** The bytes of a body as they were stored. */
export function bytesOf(header: Readonly<Record<string, unknown>>, text: string): Uint8Array {
  return Buffer.from(text, String(header[BODY_HEADER] ?? '').includes('base64') ? 'base64' : 'utf8')
}

/** The message's own names come last, so that no other header overrides them. */
function headerOf(message: Message): { readonly header: Header; readonly isCut: boolean } {
  const named = new Map<string, string>()
  let length = 0
  let isCut = false
  for (const [name, value] of Object.entries(message.headers)) {
    length += name.length + value.length
    if (length > HEADERS_LENGTH_MAX) isCut = true
    else named.set(name.toLowerCase(), value)
  }
  named.set(MESSAGE_SUBJECT_HEADER, message.subject)
  if (message.id === null) named.delete(ID_HEADER)
  else named.set(ID_HEADER, message.id)
  // Built from entries, so that `__proto__` is an ordinary header.
  return { header: Object.fromEntries(named), isCut }
}

/**
 * Two messages published under one id are one; without an id, each position of the bus is another. Streams do not share ids, so
 * the key includes the subject.
 */
function usualKeyOf({ id, subject, place }: Message): string {
  return keyOfId(subject, id) ?? `at:${place}`
}

function keyOfId(subject: string, id: string | null): string | null {
  return id !== null && id !== '' && isStorable(id + subject) ? `id:${subject} ${id}` : null
}

/** The default key of a message, from what its event stores; null: its publisher did not name it. */
export function storedKeyOf(header: Header): string | null {
  return keyOfId(header[MESSAGE_SUBJECT_HEADER] ?? '', header[ID_HEADER] ?? null)
}

function isSubject(text: string): boolean {
  return parseSubject(text).ok && isStorable(text)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function keepUnread(
  bytes: Uint8Array,
  bytesMax: number,
): { readonly body: Body; readonly how: string | null } {
  const isHead = bytes.byteLength > bytesMax
  const kept = isHead ? bytes.subarray(0, Math.min(bytesMax, HEAD_BYTES)) : bytes
  const text = isHead ? decodeHead(kept) : decode(kept)
  const raw = text ?? Buffer.from(kept).toString('base64')
  const how = [...(isHead ? ['head'] : []), ...(text === null ? ['base64'] : [])].join(', ')
  return { body: { payload: raw, data: stringifyJson(raw), raw }, how: how === '' ? null : how }
}

/** null: no store can hold it as text. */
function decode(bytes: Uint8Array): string | null {
  try {
    const text = decoder.decode(bytes)
    return isStorable(text) ? text : null
  } catch {
    return null
  }
}

/** The end may cut a character in two. */
function decodeHead(bytes: Uint8Array): string | null {
  for (let left = 0; left < 4 && left <= bytes.byteLength; left += 1) {
    const text = decode(bytes.subarray(0, bytes.byteLength - left))
    if (text !== null) return text
  }
  return null
}
