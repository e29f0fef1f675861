// A CloudEvent as one JSON object, and a batch as a list of them.

import { isNumber, type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import {
  BASE64,
  type CloudData,
  type CloudEvent,
  type CloudFault,
  type CloudResult,
  checkAttributes,
  isJsonType,
} from './cloudevent.ts'

export function parseStructured(value: JsonValue): CloudResult {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isNumber(value)) {
    return { ok: false, faults: [{ attribute: 'event', message: 'it must be a JSON object' }] }
  }
  const { data, data_base64: base64, ...attributes } = value as Readonly<Record<string, JsonValue>>
  return checkAttributes(attributes, (datacontenttype) => readData(data, base64, datacontenttype))
}

function readData(
  data: JsonValue | undefined,
  base64: JsonValue | undefined,
  datacontenttype: string | null,
): CloudData | CloudFault {
  const hasBase64 = base64 !== undefined && base64 !== null
  if (hasBase64 && data !== undefined) return fault('it must not be there together with `data_base64`')
  if (hasBase64) {
    return typeof base64 === 'string' && BASE64.test(base64)
      ? { form: 'base64', text: base64 }
      : { attribute: 'data_base64', message: 'it must be Base64 with its padding' }
  }
  if (data === undefined) return { form: 'none' }
  if (isJsonType(datacontenttype)) return { form: 'json', text: stringifyJson(data) }
  return typeof data === 'string'
    ? { form: 'text', text: data }
    : fault('it must be a text where `datacontenttype` is not JSON')
}

function fault(message: string): CloudFault {
  return { attribute: 'data', message }
}

/** The text of one; a list of such texts in brackets is a batch. */
export function formatStructured(event: CloudEvent): string {
  const { id, source, type, subject, time, datacontenttype, dataschema, extensions, data } = event
  const attributes: Record<string, JsonValue> = { specversion: '1.0', id, source, type }
  if (subject !== null) attributes.subject = subject
  if (time !== null) attributes.time = new Date(time).toISOString()
  if (datacontenttype !== null) attributes.datacontenttype = datacontenttype
  if (dataschema !== null) attributes.dataschema = dataschema
  const text = stringifyJson({ ...attributes, ...extensions }).slice(0, -1)
  switch (data.form) {
    case 'none':
      return `${text}}`
    case 'json':
      return `${text},"data":${data.text}}`
    case 'text':
      return `${text},"data":${JSON.stringify(data.text)}}`
    case 'base64':
      return `${text},"data_base64":${JSON.stringify(data.text)}}`
  }
}
