// A function of the user's code.

import type { FunctionActionDocument } from '../../core/definitions/documents/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { optional, reference } from '../fields.ts'
import { milliseconds } from '../written.ts'
import type { ActionDeclaration } from './action-kind.ts'

const functionField = () => optional(reference(), 'The name of a function to run.', 'another action')

export const functionAction: ActionDeclaration<FunctionActionDocument, ReturnType<typeof functionField>> = {
  field: functionField,
  optional: ['with', 'timeout'],
  resolve(name, { with: given, timeout }, { owner, usual, known, timeoutMs }) {
    const codeHash = known.functions(name)
    assert(codeHash !== null, 'the function was looked up before')
    // Without `with` it gets the payload; a batch has none of its own.
    const input = (given ?? (owner === 'route' ? null : usual)) as JsonValue
    const ownMs = milliseconds(timeout, known.timeouts(name) ?? timeoutMs)
    return { type: 'function', name, codeHash, with: input, timeoutMs: ownMs }
  },
  check({ function: name }, at, around) {
    if (typeof name !== 'string' || name.includes('{{') || around.functions(name) !== null) return []
    const message = `there is no function \`${name}\`: export it from a file of the folder, or correct the name`
    return [{ rule: 'function', message, path: [...at, 'function'] }]
  },
  readsEvent: true,
  screen: { icon: 'Code', does: 'runs a function' },
}
