// The state of one evaluation, and its bounds.
// Only work that data can multiply is charged (elements visited, bytes built or searched): work that the text alone determines
// is bounded by the parser, so a plain path costs no bookkeeping.

import { Numeral } from '../../foundation/json/index.ts'
import { ExpressionError } from '../syntax/index.ts'

export type Scope = { readonly [root: string]: unknown }

export interface Frame {
  readonly scope: Scope
  steps: number
  /** Variables of macros and the current elements of `[*]`, by slot. */
  readonly locals: unknown[]
}

export type Evaluate = (frame: Frame) => unknown

export const STEPS_MAX = 10_000
export const STRING_MAX = 1_048_576
const LIST_MAX = 100_000
/** For a whole result, counted as characters plus 16 per node: shared parts count each time they appear. */
const RESULT_MAX = 16 * STRING_MAX
const NODE_SIZE = 16

export function charge(frame: Frame, steps: number): void {
  frame.steps -= steps
  if (frame.steps < 0)
    throw new ExpressionError('steps', 'the expression takes too many steps: work on less data at once')
}

/** Call before building a text of that length. */
export function chargeText(frame: Frame, length: number): void {
  if (length > STRING_MAX) throw new ExpressionError('bounds', `a text of more than ${STRING_MAX} characters`)
  charge(frame, length >> 10)
}

/** Searching is quadratic at worst, when text and part are long and similar. */
export function chargeSearch(frame: Frame, text: string, part: string): void {
  charge(frame, Math.floor((text.length * part.length) / STRING_MAX))
}

export function chargeList(frame: Frame, length: number): void {
  if (length > LIST_MAX) throw new ExpressionError('bounds', `a list of more than ${LIST_MAX} elements`)
  charge(frame, length >> 6)
}

/** Call before walking a whole value: a small value may contain itself many times. */
export function chargeValue(frame: Frame, value: unknown): void {
  charge(frame, Math.floor(measure(value, (frame.steps + 1) * 1024) / 1024))
}

export function checkResult(value: unknown): void {
  if (measure(value, RESULT_MAX) > RESULT_MAX) throw new ExpressionError('bounds', 'the result is too large')
}

/** The size of a value; stops as soon as it exceeds `most`. */
function measure(value: unknown, most: number): number {
  if (typeof value === 'string') return NODE_SIZE + value.length
  if (typeof value !== 'object' || value === null) return NODE_SIZE
  let size = NODE_SIZE
  if (Array.isArray(value)) {
    for (const item of value) {
      size += measure(item, most - size)
      if (size > most) return size
    }
    return size
  }
  if (value instanceof Numeral) return NODE_SIZE + value.text.length
  for (const key of Object.keys(value)) {
    size += key.length + measure((value as Record<string, unknown>)[key], most - size)
    if (size > most) return size
  }
  return size
}
