// A CloudEvent as headers that begin with `ce-`, and its data as the body.

import { JsonError, parseJson } from '../../foundation/json/index.ts'
import {
  type CloudData,
  type CloudEvent,
  type CloudFault,
  type CloudResult,
  checkAttributes,
  isJsonType,
  isTextType,
} from './cloudevent.ts'

const PREFIX = 'ce-'
const NOT_PRINTABLE = /[^\x20-\x7e]/

/** Header names in lower case. `depth`: how deep JSON may be nested. */
export function parseBinary(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Uint8Array,
  depth: number,
): CloudResult {
  const attributes: Record<string, unknown> = {}
  const faults: CloudFault[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(PREFIX) || value === undefined) continue
    const attribute = name.slice(PREFIX.length)
    const decoded = typeof value === 'string' ? decodeHeader(value) : null
    if (attribute === 'datacontenttype') {
      faults.push({ attribute, message: 'the header `content-type` says it; leave this one out' })
    } else if (decoded === null) {
      faults.push({
        attribute,
        message: 'its header must be printable ASCII, the rest percent-encoded UTF-8',
      })
    } else {
      attributes[attribute] = decoded
    }
  }
  if (faults.length > 0) return { ok: false, faults }
  const type = headers['content-type']
  return checkAttributes(
    { ...attributes, datacontenttype: typeof type === 'string' ? type : null },
    (known) => readBody(body, known, depth),
  )
}

function readBody(body: Uint8Array, datacontenttype: string | null, depth: number): CloudData | CloudFault {
  if (body.byteLength === 0) return { form: 'none' }
  const isJson = datacontenttype !== null && isJsonType(datacontenttype)
  const text = isJson || (datacontenttype !== null && isTextType(datacontenttype)) ? decodeUtf8(body) : null
  if (!isJson) return text === null ? { form: 'base64', text: toBase64(body) } : { form: 'text', text }
  if (text === null) return { attribute: 'data', message: 'the body is not UTF-8' }
  try {
    parseJson(text, { depth, duplicateKeys: 'refuse' })
    return { form: 'json', text }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { attribute: 'data', message: `the body is not JSON: ${error.message} (at ${error.offset})` }
  }
}

function decodeUtf8(body: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

function toBase64(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64')
}

/** null: it does not parse. */
function decodeHeader(value: string): string | null {
  if (NOT_PRINTABLE.test(value)) return null
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)
  const plain = quoted === null ? value : (quoted[1] as string).replace(/\\(.)/g, '$1')
  try {
    return decodeURIComponent(plain)
  } catch {
    return null
  }
}

function encodeHeader(value: string): string {
  return value.replace(/[^\x21-\x7e]|["%]/gu, (character) =>
    [...Buffer.from(character, 'utf8')]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  )
}

export function formatBinary(event: CloudEvent): {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
} {
  const { id, source, type, subject, time, dataschema, datacontenttype, extensions, data } = event
  const headers: Record<string, string> = {}
  const put = (name: string, value: string | number | boolean | null) => {
    if (value !== null) headers[`${PREFIX}${name}`] = encodeHeader(String(value))
  }
  put('specversion', '1.0')
  put('id', id)
  put('source', source)
  put('type', type)
  put('subject', subject)
  put('time', time === null ? null : new Date(time).toISOString())
  put('dataschema', dataschema)
  for (const [name, value] of Object.entries(extensions)) put(name, value)
  // In binary mode the header must declare JSON explicitly.
  const contentType = datacontenttype ?? (data.form === 'json' ? 'application/json' : null)
  if (contentType !== null) headers['content-type'] = contentType
  const body = data.form === 'none' ? '' : data.text
  return { headers, body: Buffer.from(body, data.form === 'base64' ? 'base64' : 'utf8') }
}
