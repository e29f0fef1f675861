// The text of a value used for lookup: a key of an instance, or the object that it locks.

import { ExpressionError, typeOf } from '../../expression/index.ts'
import { isNumber, isStorable, type JsonValue } from '../../foundation/json/index.ts'

const LENGTH_MAX = 512

/** Throws ExpressionError: null, lists, maps, true and false identify no object. */
export function keyText(value: JsonValue | undefined, path: string, what: string): string {
  const isText = typeof value === 'string' || isNumber(value)
  if (!isText) {
    const type = typeOf(value)
    const problem = type === 'null' ? 'is null' : 'is not a text or a number'
    throw new ExpressionError('type', `${what} ${problem}`, path, type)
  }
  const text = String(value)
  if (text === '') throw new ExpressionError('type', `${what} is empty`, path, 'string')
  if (text.length > LENGTH_MAX) {
    throw new ExpressionError('bounds', `${what} is longer than ${LENGTH_MAX} characters`, path, 'string')
  }
  if (!isStorable(text)) {
    throw new ExpressionError('type', `${what} holds a character that no store keeps`, path, 'string')
  }
  return text
}
