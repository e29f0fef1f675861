// Starts an instance of a workflow.

import type { StartActionDocument } from '../../definitions/documents/index.ts'
import { compileShape, type Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { ActionKind } from './action-kind.ts'
import { must } from './action-parts.ts'

export interface StartAction {
  readonly type: 'start'
  readonly workflow: string
  readonly wait: boolean
  input(scope: Scope): JsonValue
}

export const startKind = {
  compile(document, keyed) {
    const shape = must(compileShape(document.with, keyed)).shape
    return {
      type: 'start',
      workflow: document.workflow,
      wait: document.wait,
      input: (scope) => shape.render(scope) ?? null,
    }
  },
  preview: (action, scope) =>
    ({ type: 'start', start: { workflow: action.workflow, input: action.input(scope) } }) as const,
} as const satisfies ActionKind<StartActionDocument, StartAction>
