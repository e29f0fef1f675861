// The JSON value type, and the error that every parser and writer throws. Integers beyond 2^53 are bigint and numbers that a
// double would change a Numeral, so that ids and amounts of other systems survive a round trip digit for digit.

import type { Numeral } from './numeral.ts'

export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | Numeral
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** The message never quotes the text: payloads may contain secrets. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly offset: number
  /** The duplicate name: only for the sender of the text. */
  readonly member: string | null
  readonly code: 'syntax' | 'depth' | 'duplicate' | 'number'

  constructor(
    message: string,
    offset: number,
    code: JsonError['code'] = 'syntax',
    member: string | null = null,
  ) {
    super(message)
    this.offset = offset
    this.code = code
    this.member = member
  }
}
