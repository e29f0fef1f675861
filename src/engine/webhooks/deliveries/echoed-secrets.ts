// What an endpoint's answer repeats of the request. Many answer with the headers that they got; what stands in those of a subscription, or
// in the query of its address, proves who calls, and an answer is kept where people look who may not see that. So it goes before
// anything of the answer is kept or told. The same holds for the signature: with it the request could be made once more.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { makeScrubOfTexts, type Scrub } from '../../../core/events/sensitive/index.ts'
import { makeRedact } from '../../../core/secrets/index.ts'
import type { Rendered } from './delivery-request.ts'

/** As it left. */
export interface Sent extends Pick<Rendered, 'url' | 'headers'> {
  /** What it carries of secrets. Left out: nothing. */
  readonly hidden?: readonly string[]
}

/** Shorter ones are words that any answer may hold. */
const LENGTH_MIN = 8
/** Says what may be answered, and nothing of who asks; answers have it of themselves. */
const SAID_OF_ANSWERS = /^accept(?:-|$)/
const SIGNATURES = ['webhook-signature', 'x-hub-signature-256']
const SCHEME = /^(?:v1a?,|sha256=)/

export function makeScrubOfEchoes({ headers }: Pick<SubscriptionDocument, 'headers'>, sent: Sent): Scrub {
  const texts: string[] = []
  for (const written of Object.keys(headers)) {
    const name = written.toLowerCase()
    const value = sent.headers[name]
    // Also without `Bearer` before it, as those tell it who refuse it.
    if (value !== undefined && !SAID_OF_ANSWERS.test(name)) texts.push(value, ...value.split(/\s+/))
  }
  for (const name of SIGNATURES) {
    const value = sent.headers[name]
    // One, as a rule: more of them while a secret is rotated.
    if (value === undefined) continue
    for (const one of value.includes(' ') ? value.split(' ') : [value]) texts.push(one.replace(SCHEME, ''))
  }
  if (sent.url.includes('?')) texts.push(...queryValues(sent.url))
  const scrub = makeScrubOfTexts(texts.filter(({ length }) => length >= LENGTH_MIN))
  const { hidden = [] } = sent
  if (hidden.length === 0) return scrub
  // First: in more forms than a header is looked for in, and shorter ones too.
  const redact = makeRedact(hidden)
  return (text) => scrub(redact(text))
}

function queryValues(url: string): readonly string[] {
  const at = url.indexOf('?')
  const parts = url.slice(at + 1).split('&')
  const written = parts.map((part) => part.slice(part.indexOf('=') + 1))
  return [...written, ...new URLSearchParams(url.slice(at + 1)).values()]
}
