// A new instance of a workflow.

import type { StartActionDocument } from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { optional, reference } from '../fields.ts'
import { type ActionDeclaration, checkNamed } from './action-kind.ts'

const startField = () => optional(reference(), 'The name of a workflow to start.', 'another action')

export const start: ActionDeclaration<StartActionDocument, ReturnType<typeof startField>> = {
  field: startField,
  optional: ['with', 'wait'],
  resolve: (workflow, { with: given, wait = false }, { usual }) => ({
    type: 'start',
    workflow,
    with: (given ?? usual) as JsonValue,
    wait,
  }),
  check: (action, at, { workflows }) =>
    checkNamed(action.start, [...at, 'start'], { rule: 'unknownWorkflow', kind: 'Workflow' }, workflows),
  screen: { icon: 'ListTree', does: 'starts another workflow' },
}
