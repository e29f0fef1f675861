// Messages between the node and the thread that checks definitions. A structured clone keeps no classes: exact numbers
// and errors with a code travel beside the message, and are rebuilt on the other side.

import { AppError, type ErrorCode, messageOf } from '../core/foundation/errors/index.ts'
import { isNumeral, Numeral } from '../core/foundation/json/index.ts'

/** The clone preserves identity: objects in `numerals` are those in `message`, wherever they are. */
export interface Packed {
  readonly message: unknown
  readonly numerals: readonly { readonly text: string }[]
}

export function pack(message: unknown): Packed {
  const numerals: Numeral[] = []
  visit(message, (member) => {
    if (!isNumeral(member)) return false
    numerals.push(member)
    return true
  })
  return { message, numerals }
}

/** The copy has no other owner: it is changed in place. */
export function unpack({ message, numerals }: Packed): unknown {
  if (numerals.length === 0) return message
  const made = new Map<unknown, Numeral>(numerals.map((one) => [one, new Numeral(one.text)]))
  visit(message, (member, put) => {
    const numeral = made.get(member)
    if (numeral === undefined) return false
    put(numeral)
    return true
  })
  return message
}

type Put = (value: unknown) => void

/** Every member at any depth, each object once; `take` returns whether it has handled the member. */
function visit(root: unknown, take: (member: unknown, put: Put) => boolean): void {
  const seen = new Set<unknown>([root])
  const open: unknown[] = [root]
  const look = (member: unknown, put: Put) => {
    if (typeof member !== 'object' || member === null || take(member, put) || seen.has(member)) return
    seen.add(member)
    open.push(member)
  }
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    if (parent instanceof Map) {
      const map = parent
      for (const [key, member] of map) look(member, (value) => map.set(key, value))
    } else if (!(parent instanceof Set)) {
      const members = parent as Record<string, unknown>
      for (const key of Object.keys(members)) {
        look(members[key], (value) => {
          members[key] = value
        })
      }
    }
  }
}

/** An error as data. */
export interface Failure {
  readonly message: string
  /** null: not one of our codes. */
  readonly code: ErrorCode | null
  readonly details: Readonly<Record<string, unknown>>
  readonly next: string
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof AppError)) return { message: messageOf(error), code: null, details: {}, next: '' }
  const { message, code, details, next } = error
  return { message, code, details, next }
}

export function errorOf({ message, code, details, next }: Failure): Error {
  return code === null ? new Error(message) : new AppError(code, message, { details, next })
}
