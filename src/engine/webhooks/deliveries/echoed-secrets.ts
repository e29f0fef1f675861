// Removes what an endpoint's response echoes of the request. Many endpoints respond with the headers that they got. The headers
// of a subscription and the query of its address may authenticate the caller, and a response is stored where users can read it
// who may not see those. So they are removed before anything of the response is stored or published. The same holds for the
// signature: with it the request could be repeated.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { makeScrubOfTexts, type Scrub } from '../../../core/events/sensitive/index.ts'
import { makeRedact } from '../../../core/secrets/index.ts'
import type { Rendered } from './delivery-request.ts'

/** As it was sent. */
export interface Sent extends Pick<Rendered, 'url' | 'headers'> {
  /** The secrets in it. Omitted: none. */
  readonly hidden?: readonly string[]
}

/** Shorter ones are words that any response may contain. */
const LENGTH_MIN = 8
/** These headers say which responses are accepted and nothing about the caller; responses contain such words anyway. */
const SAID_OF_ANSWERS = /^accept(?:-|$)/
const SIGNATURES = ['webhook-signature', 'x-hub-signature-256']
const SCHEME = /^(?:v1a?,|sha256=)/

export function makeScrubOfEchoes({ headers }: Pick<SubscriptionDocument, 'headers'>, sent: Sent): Scrub {
  const texts: string[] = []
  for (const written of Object.keys(headers)) {
    const name = written.toLowerCase()
    const value = sent.headers[name]
    // Also without `Bearer` before it, as endpoints that refuse it echo it.
    if (value !== undefined && !SAID_OF_ANSWERS.test(name)) texts.push(value, ...value.split(/\s+/))
  }
  for (const name of SIGNATURES) {
    const value = sent.headers[name]
    // Usually one; more of them while a secret is rotated.
    if (value === undefined) continue
    for (const one of value.includes(' ') ? value.split(' ') : [value]) texts.push(one.replace(SCHEME, ''))
  }
  if (sent.url.includes('?')) texts.push(...queryValues(sent.url))
  const scrub = makeScrubOfTexts(texts.filter(({ length }) => length >= LENGTH_MIN))
  const { hidden = [] } = sent
  if (hidden.length === 0) return scrub
  // First: these are matched in more forms than a header, and also when they are shorter.
  const redact = makeRedact(hidden)
  return (text) => scrub(redact(text))
}

function queryValues(url: string): readonly string[] {
  const at = url.indexOf('?')
  const parts = url.slice(at + 1).split('&')
  const written = parts.map((part) => part.slice(part.indexOf('=') + 1))
  return [...written, ...new URLSearchParams(url.slice(at + 1)).values()]
}
