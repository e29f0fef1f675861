// What a run stores of an exchange: the beginnings of request and response, without credentials, redacted and
// truncated.
//
// Invariants: RN3 it contains no secret. DR4 it is bounded, however long the exchange is.

import type { Redact } from '../../core/secrets/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'

/** Per beginning, in characters. */
export const HEAD_LENGTH_MAX = 2_048

/** Headers that carry credentials, whether a user or the engine set them. */
const HIDDEN = /^(?:proxy-)?authorization$|^(?:set-)?cookie$|^x-api-key$|^api-key$|token|secret|signature/i

export function requestHead(
  { method, url, headers }: { readonly method: string; readonly url: string; readonly headers: Headers },
  hidden: Headers,
  redact: Redact,
): string {
  const lines = linesOf(headers).filter(([name]) => !HIDDEN.test(name) && !Object.hasOwn(hidden, name))
  return cut(redact([`${method} ${url}`, ...lines.map(([name, value]) => `${name}: ${value}`)].join('\n')))
}

/** null: there was no response. */
export function responseHead(outcome: HttpOutcome): string | null {
  if (outcome.kind === 'failed') return null
  const lines = linesOf(outcome.headers).filter(([name]) => !HIDDEN.test(name))
  const head = [String(outcome.status), ...lines.map(([name, value]) => `${name}: ${value}`)].join('\n')
  return cut(outcome.body === '' ? head : `${head}\n\n${outcome.body.slice(0, HEAD_LENGTH_MAX)}`)
}

/** Everything stored of the outcome is derived from this. */
export function redactOutcome(outcome: HttpOutcome, redact: Redact): HttpOutcome {
  if (outcome.kind === 'failed') {
    const message = redact(outcome.message)
    return message === outcome.message ? outcome : { ...outcome, message }
  }
  const body = redact(outcome.body)
  let headers = outcome.headers
  for (const [name, value] of linesOf(outcome.headers)) {
    const clean = redact(value)
    if (clean !== value) headers = { ...headers, [name]: clean }
  }
  return body === outcome.body && headers === outcome.headers ? outcome : { ...outcome, headers, body }
}

type Headers = Readonly<Record<string, string>>

function linesOf(headers: Headers): readonly (readonly [string, string])[] {
  return Object.entries(headers)
}

function cut(text: string): string {
  return text.length > HEAD_LENGTH_MAX ? `${text.slice(0, HEAD_LENGTH_MAX - 1)}…` : text
}
