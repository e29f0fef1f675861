// Whether a response says that an effect exists. "No" permits another call, so it must be explicit: a value that is neither
// true nor false is not an answer, and neither is a "no" that results from fields missing in the response (a sign-in page, an
// error with status 200). A 404 needs no body.

import {
  askedFields,
  compileExpression,
  ExpressionError,
  type Keyed,
  type Scope,
} from '../../expression/index.ts'
import { isNumeral, type JsonValue } from '../../foundation/json/index.ts'
import { must, type ParsedResponse } from './action-parts.ts'

/** Returns a function that throws ExpressionError where there is no clear answer. `at` names the formula. */
export function compileFound(
  text: string,
  at: string,
  keyed: Keyed,
): (scope: Scope, response: ParsedResponse) => boolean {
  const { expression } = must(compileExpression(text, keyed))
  const { fields, isMap, isList } = askedFields(text, 'result.body')

  /** The formula read the body, and the body lacks a field that it read. */
  const isOfAnotherForm = (scope: Scope, { body, ...rest }: ParsedResponse): boolean => {
    if (!isMap && !isList) return false
    let isRead = false
    let isMissing = false
    const seen = watched(body, fields, () => {
      isMissing = true
    })
    const result = Object.defineProperty({ ...rest }, 'body', {
      enumerable: true,
      get() {
        isRead = true
        return seen
      },
    })
    expression.evaluate({ ...scope, result: result as never })
    if (!isRead) return false
    const hasForm = Array.isArray(body)
      ? isList
      : isMap && typeof body === 'object' && body !== null && !isNumeral(body)
    return isMissing || !hasForm
  }

  return (scope, response) => {
    const answer = expression.evaluate({ ...scope, result: response })
    if (typeof answer !== 'boolean')
      throw new ExpressionError('type', 'the answer is neither true nor false', at)
    if (!answer && response.status !== 404 && isOfAnotherForm(scope, response))
      throw new ExpressionError('type', 'the answer has not the form that the formula reads', at)
    return answer
  }
}

/** The body, observed for reads of missing fields. */
function watched(body: JsonValue, fields: readonly string[], onMissing: () => void): JsonValue {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || isNumeral(body)) return body
  const copy = { ...(body as Readonly<Record<string, JsonValue>>) }
  for (const name of fields) {
    if (Object.hasOwn(copy, name)) continue
    Object.defineProperty(copy, name, {
      get() {
        onMissing()
        return undefined
      },
    })
  }
  return copy
}
