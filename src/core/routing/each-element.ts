// `each`: the elements of a list in the event, each of which becomes a job of its own.

import type { RouteDocument } from '../definitions/documents/index.ts'
import { must } from '../effects/action/index.ts'
import { compileExpression, ExpressionError, type Keyed, type Scope } from '../expression/index.ts'
import { isNumeral, type JsonValue } from '../foundation/json/index.ts'

export interface Elements {
  /** The name under which expressions see the element. */
  readonly as: string
  readonly max: number
  /** The number of elements. Throws ExpressionError if there is no list. */
  count(scope: Scope): number
  /** Throws ExpressionError if there is none. */
  at(scope: Scope, index: number): JsonValue
}

export function compileElements({ of, as, max }: NonNullable<RouteDocument['each']>, keyed: Keyed): Elements {
  const { expression } = must(compileExpression(of, keyed))
  const listOf = (scope: Scope): readonly JsonValue[] => {
    const value = expression.evaluate(scope)
    if (Array.isArray(value)) return value
    const valueType = isNumeral(value)
      ? 'number'
      : value === null
        ? 'null'
        : typeof value === 'object'
          ? 'map'
          : typeof value
    throw new ExpressionError('type', 'what `each` goes through is not a list', 'each.of', valueType)
  }
  return {
    as,
    max,
    count: (scope) => listOf(scope).length,
    at(scope, index) {
      const list = listOf(scope)
      const element = list[index]
      if (element !== undefined) return element
      const message = `the list of \`each\` has ${list.length} elements, and none at ${index}`
      throw new ExpressionError('missing', message, 'each.of', 'list')
    },
  }
}
