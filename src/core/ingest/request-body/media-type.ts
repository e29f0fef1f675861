// How a body is parsed, by the type that its sender declares. Invariant: no detail quotes a header; details are listed for
// users who may not see the content.

export type BodyKind = 'json' | 'form' | 'text' | 'untyped'

export type MediaVerdict =
  | {
      readonly ok: true
      readonly kind: BodyKind
      /** Some senders declare JSON as plain text. */
      readonly mayBeJson: boolean
    }
  | { readonly ok: false; readonly detail: string }

const JSON_BODY: MediaVerdict = { ok: true, kind: 'json', mayBeJson: true }
const FORM: MediaVerdict = { ok: true, kind: 'form', mayBeJson: false }
const TEXT: MediaVerdict = { ok: true, kind: 'text', mayBeJson: false }
const PLAIN: MediaVerdict = { ok: true, kind: 'text', mayBeJson: true }
const UNTYPED: MediaVerdict = { ok: true, kind: 'untyped', mayBeJson: true }

const TYPE = /^[a-z]+\/[\w.+-]+$/
const TAKEN = 'JSON, forms (application/x-www-form-urlencoded) and text are'

export function readMediaType(header: string | undefined): MediaVerdict {
  if (header === 'application/json') return JSON_BODY
  if (header === undefined) return UNTYPED
  const end = header.indexOf(';')
  const name = (end === -1 ? header : header.slice(0, end)).trim().toLowerCase()
  if (name === '') return UNTYPED
  if (!TYPE.test(name)) return { ok: false, detail: 'the content type cannot be read' }
  if (name === 'application/json' || name.endsWith('+json')) return JSON_BODY
  if (name === 'application/x-www-form-urlencoded') return FORM
  if (name === 'text/plain') return PLAIN
  if (name.startsWith('text/') || name === 'application/xml' || name.endsWith('+xml')) return TEXT
  if (name.startsWith('multipart/')) {
    return { ok: false, detail: `the body has several parts, and an event is one: ${TAKEN} taken` }
  }
  return { ok: false, detail: `the content type is not taken; ${TAKEN}` }
}

const ENCODINGS = ['gzip', 'deflate', 'br'] as const
export type Encoding = (typeof ENCODINGS)[number]

export type EncodingVerdict =
  | { readonly ok: true; readonly encoding: Encoding | null }
  | { readonly ok: false; readonly detail: string }

const IDENTITY: EncodingVerdict = { ok: true, encoding: null }

export function readEncoding(header: string | undefined): EncodingVerdict {
  if (header === undefined) return IDENTITY
  const name = header.trim().toLowerCase()
  if (name === '' || name === 'identity') return IDENTITY
  const encoding = ENCODINGS.find((one) => one === name || (one === 'gzip' && name === 'x-gzip'))
  if (encoding !== undefined) return { ok: true, encoding }
  return { ok: false, detail: `the content encoding is none of ${ENCODINGS.join(', ')}, alone` }
}
