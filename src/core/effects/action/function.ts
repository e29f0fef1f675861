// Runs a function of the user's code, by its name and the bundle that it is pinned to.

import type { FunctionActionDocument } from '../../definitions/documents/index.ts'
import { compileShape, type Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { ActionKind } from './action-kind.ts'
import { must } from './action-parts.ts'

export interface FunctionAction {
  readonly type: 'function'
  readonly name: string
  readonly codeHash: string
  readonly timeoutMs: number
  input(scope: Scope): JsonValue
}

export const functionKind = {
  compile({ name, codeHash, timeoutMs, with: given }, keyed) {
    const shape = given === null ? null : must(compileShape(given, keyed)).shape
    return {
      type: 'function',
      name,
      codeHash,
      timeoutMs,
      // Without `with`, a function gets the whole payload.
      input: (scope) => (shape === null ? (scope.payload as JsonValue) : (shape.render(scope) ?? null)),
    }
  },
  preview: (action, scope) => {
    const { name, codeHash } = action
    return { type: 'function', function: { name, codeHash, input: action.input(scope) } } as const
  },
} as const satisfies ActionKind<FunctionActionDocument, FunctionAction>
