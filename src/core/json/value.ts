// core/json/value.ts — what a JSON value is here, and the error every reader and writer throws.
// Whole numbers beyond 2^53 are bigint, so that ids of other systems survive a round trip.

export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** The message never quotes the text: payloads may hold secrets. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly offset: number
  readonly code: 'syntax' | 'depth' | 'duplicate'

  constructor(message: string, offset: number, code: JsonError['code'] = 'syntax') {
    super(message)
    this.offset = offset
    this.code = code
  }
}
