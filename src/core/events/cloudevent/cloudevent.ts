// A CloudEvent of version 1.0, and what its attributes may contain. Its encodings, as JSON or as headers and a body, are
// structured-mode.ts and binary-mode.ts; cloudevent-envelope.ts converts it to an event.

import { isNumber, type JsonNumber, plainNumber } from '../../foundation/json/index.ts'
import { type Instant, parseInstant } from '../../foundation/time/index.ts'

export type CloudData =
  /** Absent, which differs from `null`. */
  | { readonly form: 'none' }
  | { readonly form: 'json'; readonly text: string }
  | { readonly form: 'text'; readonly text: string }
  | { readonly form: 'base64'; readonly text: string }

export interface CloudEvent {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly subject: string | null
  readonly time: Instant | null
  readonly datacontenttype: string | null
  readonly dataschema: string | null
  /** By name. */
  readonly extensions: Readonly<Record<string, string | number | boolean>>
  readonly data: CloudData
}

export interface CloudFault {
  /** The attribute, or `data`. */
  readonly attribute: string
  /** What to do about it; quotes no value. */
  readonly message: string
}

export type CloudResult =
  | { readonly ok: true; readonly event: CloudEvent }
  | { readonly ok: false; readonly faults: readonly CloudFault[] }

const TEXT_LENGTH_MAX = 1_024
const EXTENSION_LENGTH_MAX = 4_096
const EXTENSIONS_MAX = 64

const NAME = /^[a-z0-9]{1,20}$/
/** Characters that the specification forbids in every text: control characters, lone surrogates, noncharacters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const UNFIT = /[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}|\p{Noncharacter_Code_Point}/u
const URI_CHARACTERS = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/
/** RFC 3339 requires them. */
const WITH_SECONDS = /^.{10}T\d{2}:\d{2}:\d{2}/i
const INT32_MAX = 2 ** 31 - 1
/** With its padding, as in RFC 4648. */
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const KNOWN = [
  'specversion',
  'id',
  'source',
  'type',
  'subject',
  'time',
  'datacontenttype',
  'dataschema',
] as const
type Known = (typeof KNOWN)[number]

/** From attributes by name, as written; an undefined or null value is absent. */
export function checkAttributes(
  attributes: Readonly<Record<string, unknown>>,
  data: (datacontenttype: string | null) => CloudData | CloudFault,
): CloudResult {
  const faults: CloudFault[] = []
  const refuse = (attribute: string, message: string) => void faults.push({ attribute, message })
  const text = (name: Known): string | null => {
    const value = attributes[name]
    if (value === undefined || value === null) return null
    if (typeof value !== 'string' || value === '') refuse(name, 'it must be a text that is not empty')
    else if (value.length > TEXT_LENGTH_MAX) refuse(name, `it has more than ${TEXT_LENGTH_MAX} characters`)
    else if (UNFIT.test(value)) refuse(name, 'it holds characters that no text may hold')
    else return value
    return null
  }
  const needed = (name: Known): string => {
    const value = text(name)
    if (value === null && (attributes[name] === undefined || attributes[name] === null))
      refuse(name, 'it is needed')
    return value ?? ''
  }
  const specversion = needed('specversion')
  if (specversion !== '' && specversion !== '1.0') refuse('specversion', 'only `1.0` is understood')
  const event = {
    id: needed('id'),
    source: needed('source'),
    type: needed('type'),
    subject: text('subject'),
    datacontenttype: text('datacontenttype'),
    dataschema: text('dataschema'),
  }
  if (event.source !== '' && !isUriReference(event.source)) refuse('source', 'it must be a URI reference')
  if (event.dataschema !== null && !(isUriReference(event.dataschema) && SCHEME.test(event.dataschema))) {
    refuse('dataschema', 'it must be a URI with its scheme')
  }
  if (event.datacontenttype !== null && !MEDIA_TYPE.test(event.datacontenttype)) {
    refuse('datacontenttype', 'it must be a media type, such as `application/json`')
  }
  const timeText = text('time')
  const time = timeText === null ? null : parseTime(timeText)
  if (timeText !== null && time === null) {
    refuse('time', 'it must be a time with its zone, such as `2026-04-05T17:31:00Z`')
  }
  const extensions = checkExtensions(attributes, refuse)
  const read = data(event.datacontenttype)
  if ('message' in read) faults.push(read)
  if (faults.length > 0 || 'message' in read) return { ok: false, faults }
  return { ok: true, event: { ...event, time, extensions, data: read } }
}

function checkExtensions(
  attributes: Readonly<Record<string, unknown>>,
  refuse: (attribute: string, message: string) => void,
): CloudEvent['extensions'] {
  const kept: Record<string, string | number | boolean> = {}
  let count = 0
  for (const [name, value] of Object.entries(attributes)) {
    if ((KNOWN as readonly string[]).includes(name) || value === undefined || value === null) continue
    count += 1
    if (!NAME.test(name) || name === 'data') {
      refuse(shownName(name), 'the name of an attribute has 1 to 20 letters a to z and digits')
    } else if (typeof value === 'boolean') {
      kept[name] = value
    } else if (isNumber(value) && isInt32(plainNumber(value))) {
      kept[name] = Number(value) + 0
    } else if (typeof value !== 'string') {
      refuse(name, 'it must be a text, a truth value or a whole number of 32 bits')
    } else if (value.length > EXTENSION_LENGTH_MAX) {
      refuse(name, `it has more than ${EXTENSION_LENGTH_MAX} characters`)
    } else if (UNFIT.test(value)) {
      refuse(name, 'it holds characters that no text may hold')
    } else {
      kept[name] = value
    }
    if (count > EXTENSIONS_MAX) {
      refuse('extensions', `there are more than ${EXTENSIONS_MAX}`)
      break
    }
  }
  return kept
}

function isInt32(value: JsonNumber): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= -INT32_MAX - 1 && value <= INT32_MAX
}

/** An invalid name may be anything. */
function shownName(name: string): string {
  const shown = name.replace(/[^\x20-\x7e]/g, '\ufffd')
  return shown.length > 40 ? `${shown.slice(0, 39)}…` : shown
}

function isUriReference(text: string): boolean {
  if (!URI_CHARACTERS.test(text) || text.split('#').length > 2) return false
  const colon = text.search(/[:/?#]/)
  return text[colon] !== ':' || SCHEME.test(text)
}

function parseTime(text: string): Instant | null {
  return WITH_SECONDS.test(text) ? parseInstant(text) : null
}

/** Whether a content type means JSON data; a missing one does. */
export function isJsonType(datacontenttype: string | null): boolean {
  if (datacontenttype === null) return true
  const subtype = /^[^/]+\/([^;\s]+)/.exec(datacontenttype)?.[1]?.toLowerCase() ?? ''
  return subtype === 'json' || subtype.endsWith('+json')
}

/** Whether a content type means that the bytes are readable text. */
export function isTextType(datacontenttype: string): boolean {
  const type = datacontenttype.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return /^text\/|[/+]xml$|\/x-www-form-urlencoded$|[/+]yaml$/.test(type)
}
