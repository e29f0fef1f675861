// Twilio: HMAC-SHA1 over the address and, for a form, its fields sorted by name. Any other body is not signed itself: the
// address contains its hash as `bodySHA256`, and the address is signed.
// Invariant: SV10 a body that neither the fields nor the hash cover is refused, and a hash in the address is always compared,
// so that no signed address can carry a different body.

import { createHash, createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { parseForm } from '../../request-body/index.ts'
import { decodeBytes, isSameText, makeKeys, readHmacKey } from '../secret-bytes.ts'
import type { Headers } from '../signed-bytes.ts'
import {
  missing,
  OK,
  refuse,
  type Scheme,
  type SignInput,
  SigningError,
  type VerifyResult,
} from '../verification-scheme.ts'

const HEADER = 'x-twilio-signature'
const DIGEST_BYTES = 20
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i
const MISMATCH = `the header ${HEADER} does not match the body and the URL; write \`url\` where the sender knows another`

export function makeTwilioScheme(): Scheme {
  const keys = makeKeys(readHmacKey)
  return {
    verify({ headers, body, secrets, url = '' }) {
      const header = headers[HEADER]
      if (header === undefined || header === '') return missing(HEADER)
      const given = decodeBytes(header, 'base64', DIGEST_BYTES)
      if (given === null) return refuse('signature_wrong', `the header ${HEADER} is not sha1 as base64`)
      const fields = fieldsOf(headers, body)
      if (fields === null) return refuse('signature_wrong', 'the body is a form that cannot be read')
      let isKnown = false
      for (const secret of secrets) {
        const key = keys(secret)
        if (key === null) continue
        for (const address of spellingsOf(url)) {
          isKnown = timingSafeEqual(digestOf(key, address, fields), given) || isKnown
        }
      }
      return isKnown ? checkBody(url, headers, body) : refuse('signature_wrong', MISMATCH)
    },
    sign({ headers = {}, body, secret, url = '' }: SignInput) {
      const fields = fieldsOf(headers, body)
      if (fields === null) throw new SigningError('the body is a form that cannot be read')
      return { [HEADER]: digestOf(readHmacKey(secret), url, fields).toString('base64') }
    },
    signedUrl(url, headers, body) {
      if (isForm(headers) || body.byteLength === 0 || bodyHashOf(url) !== null) return url
      return `${url}${url.includes('?') ? '&' : '?'}bodySHA256=${hashOf(body)}`
    },
    secretHeaders: [HEADER],
  }
}

function digestOf(key: KeyObject, address: string, fields: string): Buffer {
  return createHmac('sha1', key).update(address).update(fields).digest()
}

function isForm(headers: Headers): boolean {
  return FORM.test(headers['content-type'] ?? '')
}

/**
 * Names and values without separators; of a repeated name, each distinct value once, sorted. Parsed like the event's body, with
 * its bounds, so that no form means one thing here and another there. null: it does not parse.
 */
function fieldsOf(headers: Headers, body: Uint8Array): string | null {
  if (!isForm(headers)) return ''
  const form = parseForm(new TextDecoder('utf-8', { ignoreBOM: true }).decode(body))
  if (!form.ok) return null
  return Object.entries(form.fields)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, value]) => valuesOf(value).map((one) => name + one))
    .join('')
}

function valuesOf(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : [...new Set(value)].sort()
}

function checkBody(url: string, headers: Headers, body: Uint8Array): VerifyResult {
  const hash = bodyHashOf(url)
  if (hash === null) {
    if (isForm(headers) || body.byteLength === 0) return OK
    return refuse('signature_wrong', 'the body is no form, and the URL has no bodySHA256 for it')
  }
  return isSameText(hash.toLowerCase(), hashOf(body))
    ? OK
    : refuse('signature_wrong', 'bodySHA256 in the URL is not the hash of the body')
}

function bodyHashOf(url: string): string | null {
  const at = url.indexOf('?')
  return at < 0 ? null : new URLSearchParams(url.slice(at + 1)).get('bodySHA256')
}

function hashOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

const ORIGIN = /^(https?):\/\/([^/?#:]+)(:\d+)?(?=[/?#]|$)/i

/**
 * Unchanged; as a browser would write it; and with its query parsed and rewritten. Each with the port written or omitted.
 * Twilio's services differ in all of that, and its own libraries try the same variants.
 */
function spellingsOf(url: string): ReadonlySet<string> {
  const spellings = [url]
  if (URL.canParse(url)) {
    const parsed = new URL(url)
    spellings.push(parsed.href)
    if (parsed.search !== '') {
      const query = rewriteQuery(parsed.search.slice(1))
      parsed.search = ''
      if (query !== null) spellings.push(`${parsed.href}?${query}`)
    }
  }
  return new Set(spellings.flatMap((one) => [one, withOtherPort(one)]))
}

function withOtherPort(url: string): string {
  const match = ORIGIN.exec(url)
  if (match === null) return url
  const [origin, scheme, host, port] = match
  const otherPort = port === undefined ? (scheme?.toLowerCase() === 'https' ? ':443' : ':80') : ''
  return `${scheme}://${host}${otherPort}${url.slice(origin.length)}`
}

/** Names in the order of first appearance, each with all its values; null: it does not parse. */
function rewriteQuery(query: string): string | null {
  const values = new Map<string, string[]>()
  try {
    for (const part of query.split('&')) {
      if (part === '') continue
      const equals = part.indexOf('=')
      const [name, value] = equals === -1 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)]
      const known = values.get(decodePart(name))
      if (known === undefined) values.set(decodePart(name), [decodePart(value)])
      else known.push(decodePart(value))
    }
  } catch {
    return null
  }
  return [...values]
    .flatMap(([name, all]) => all.map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(one)}`))
    .join('&')
}

function decodePart(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
