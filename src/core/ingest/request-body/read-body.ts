// Parses the bytes of a body to the payload of an event (docs/spec/ingest-guards.md). Not its job: verifying the bytes, or inflating
// them.
// Invariants: no detail quotes the body. `data` is always JSON, and `raw` the text as received wherever that was not JSON.

import { JsonError, type JsonValue, parseJson, stringifyJson } from '../../foundation/json/index.ts'
import { jsonField, parseForm } from './form-body.ts'
import type { MediaVerdict } from './media-type.ts'

export interface Body {
  readonly payload: JsonValue
  /** JSON: the text as received where that was JSON. */
  readonly data: string
  /** null: `data` is the text as received. */
  readonly raw: string | null
}

export type BodyFault =
  | 'not_json'
  | 'too_deep'
  | 'duplicate_key'
  | 'number_out_of_range'
  | 'body_unreadable'
  | 'wrong_type'
export type BodyResult =
  | { readonly ok: true; readonly body: Body }
  | { readonly ok: false; readonly code: BodyFault; readonly detail: string }

type Media = Extract<MediaVerdict, { ok: true }>

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function readBody(media: Media, bytes: Uint8Array, depth: number): BodyResult {
  const text = decode(bytes)
  if (text === null) {
    const code = media.kind === 'json' ? 'not_json' : 'body_unreadable'
    return refuse(code, 'the body is not UTF-8')
  }
  switch (media.kind) {
    case 'json':
      return readJson(text, depth, null)
    case 'form':
      return readForm(text, depth)
    case 'text':
      return readText(text, depth, media.mayBeJson)
    case 'untyped': {
      const read = readJson(text, depth, null)
      if (read.ok || read.code !== 'not_json') return read
      return refuse('wrong_type', 'there is no content type, and the body is not JSON; say what it is')
    }
  }
}

function readJson(text: string, depth: number, raw: string | null): BodyResult {
  try {
    // Two parsers of one text must see one value: what was checked must be what we act on.
    return {
      ok: true,
      body: { payload: parseJson(text, { depth, duplicateKeys: 'refuse' }), data: text, raw },
    }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return refuse(CODES[error.code], `${error.message} (at ${error.offset})`)
  }
}

const CODES = {
  syntax: 'not_json',
  depth: 'too_deep',
  duplicate: 'duplicate_key',
  number: 'number_out_of_range',
} as const

function readForm(text: string, depth: number): BodyResult {
  if (text.includes('\0')) return refuse('body_unreadable', 'the form holds U+0000')
  const form = parseForm(text)
  if (!form.ok) return refuse('body_unreadable', form.detail)
  const json = jsonField(form.fields)
  if (json !== null) {
    const read = readJson(json, depth, text)
    if (read.ok || read.code !== 'not_json') return read
  }
  const payload = form.fields
  return { ok: true, body: { payload, data: stringifyJson(payload), raw: text } }
}

function readText(text: string, depth: number, mayBeJson: boolean): BodyResult {
  if (mayBeJson && /^\s*[{[]/.test(text)) {
    const read = readJson(text, depth, null)
    if (read.ok || read.code !== 'not_json') return read
  }
  if (text.includes('\0')) return refuse('body_unreadable', 'the text holds U+0000')
  return { ok: true, body: { payload: text, data: stringifyJson(text), raw: text } }
}

function decode(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

function refuse(code: BodyFault, detail: string): BodyResult {
  return { ok: false, code, detail }
}
