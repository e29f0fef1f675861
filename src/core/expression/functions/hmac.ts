// `hmac(…)`: the digest of `hash(…)` under a key that only the tenant's own nodes have.
//
// The key is bound when a text is compiled, and is not part of its scope: nothing that a text reads, shows or sends can contain
// it.
//
// Invariants: X43 the same input as `hash`, so that equal values have equal digests in any spelling. X44 a text that was
// compiled without a key evaluates to an error; it never falls back to another key or to `hash`.

import { createHmac } from 'node:crypto'
import { canonicalJson, type JsonValue } from '../../foundation/json/index.ts'
import { chargeValue } from '../evaluation/index.ts'
import { ExpressionError } from '../syntax/index.ts'
import type { FunctionEntry } from './function-entry.ts'

/** Maps the canonical JSON of the arguments to the digest, 64 hex characters. The key itself stays inside. */
export type Hmac = (text: string) => string

/** What a text is compiled with beside its own content; without `hmac`, a text that calls it cannot be evaluated. */
export interface Keyed {
  readonly hmac?: Hmac
}

export const HMAC_KEY_BYTES = 32

export function makeHmac(key: Uint8Array): Hmac {
  if (key.length !== HMAC_KEY_BYTES) throw new Error(`the key of \`hmac\` has ${HMAC_KEY_BYTES} bytes`)
  return (text) => createHmac('sha256', key).update(text).digest('hex')
}

/** The placeholder for every digest where a text is tried without a key. No digest looks like it. */
const HMAC_PLACEHOLDER = '[hmac]'

/** For display only: never for a key, a request or anything else that has an effect. */
export const SHOWN_HMAC: Hmac = () => HMAC_PLACEHOLDER

export function hmacWith(hmac: Hmac | undefined): FunctionEntry {
  return {
    least: 1,
    most: 16,
    onlyGlobal: true,
    run(frame, _site, args) {
      if (hmac === undefined) throw new ExpressionError('key', '`hmac` has no key here')
      chargeValue(frame, args)
      return hmac(canonicalJson(args as readonly JsonValue[]))
    },
  }
}

/** A call, as the lexer reads it: spaces and comments may precede the parenthesis. */
const CALL = /\bhmac(?:\s|\/\/[^\n]*)*\(/

/** Whether any text in it may call `hmac`. Texts that only look like it count, too: then a key is loaded that nothing uses. */
export function mayUseHmac(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('hmac') && CALL.test(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(mayUseHmac)
}
