// The beginning of an endpoint's response, as stored with the attempt: its status, a few headers, the beginning of its body.
// Truncated texts end in `…`: redaction looks for partial values there.

import { toStorable } from '../../foundation/json/index.ts'

interface Answer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly isCut?: true
}

/** `location`: a redirect is not followed, but its target helps to diagnose it. */
const HEADERS = ['content-type', 'retry-after', 'location', 'server', 'date'] as const
const HEADER_LENGTH_MAX = 200
const BODY_LENGTH_MAX = 1_024

/** At most about 2,000 characters. null: no response. */
export function responseHead(
  outcome: ({ readonly kind: 'response' } & Answer) | { readonly kind: 'failed' },
): string | null {
  if (outcome.kind === 'failed') return null
  const lines = [`HTTP ${outcome.status}`]
  for (const name of HEADERS) {
    const whole = outcome.headers[name]
    // Tokens may follow the `?`.
    const value = name === 'location' ? whole?.split(/[?#]/, 1)[0] : whole
    if (value !== undefined) lines.push(`${name}: ${toStorable(value, HEADER_LENGTH_MAX)}`)
  }
  const { body } = outcome
  if (body !== '') {
    const isShort = body.length <= BODY_LENGTH_MAX
    lines.push(
      '',
      isShort && outcome.isCut === true
        ? `${toStorable(body, BODY_LENGTH_MAX)}…`
        : toStorable(body, BODY_LENGTH_MAX),
    )
  }
  return lines.join('\n')
}
