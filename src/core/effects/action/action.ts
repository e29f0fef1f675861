// The actions of a route, compiled from their documents.

import type { ActionDocument } from '../../definitions/documents/index.ts'
import {
  compileShape,
  compileTemplate,
  ExpressionError,
  type Keyed,
  type Scope,
} from '../../expression/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { compileHttpAction, type HttpAction, must } from './http.ts'
import {
  type AgentAction,
  compileAgentAction,
  compileScheduleAction,
  compileStartAction,
  compileUnscheduleAction,
  type ScheduleAction,
  type StartAction,
  type UnscheduleAction,
} from './inner-actions.ts'
import { compileOperationAction, type OperationAction } from './operation.ts'
import { compileUpsertAction, type UpsertAction } from './upsert.ts'

export interface FunctionAction {
  readonly type: 'function'
  readonly name: string
  readonly codeHash: string
  readonly timeoutMs: number
  input(scope: Scope): JsonValue
}

export interface EmitAction {
  readonly type: 'emit'
  render(scope: Scope): { readonly subject: string; readonly data: JsonValue }
}

export type Action =
  | HttpAction
  | FunctionAction
  | EmitAction
  | UpsertAction
  | StartAction
  | ScheduleAction
  | UnscheduleAction
  | AgentAction
  | OperationAction

export function compileAction(document: ActionDocument, keyed: Keyed = {}): Action {
  switch (document.type) {
    case 'http':
      return compileHttpAction(document, keyed)
    case 'function': {
      const shape = document.with === null ? null : must(compileShape(document.with, keyed)).shape
      return {
        type: 'function',
        name: document.name,
        codeHash: document.codeHash,
        timeoutMs: document.timeoutMs,
        // Without `with`, a function gets the whole payload.
        input: (scope) => (shape === null ? (scope.payload as JsonValue) : (shape.render(scope) ?? null)),
      }
    }
    case 'emit': {
      const subject = must(compileTemplate(document.subject, keyed)).template
      const data = must(compileShape(document.data, keyed)).shape
      return {
        type: 'emit',
        render(scope) {
          const text = subject.render(scope)
          if (typeof text !== 'string') throw new ExpressionError('type', 'the subject is not a text', 'emit')
          return { subject: text, data: data.render(scope) ?? null }
        },
      }
    }
    case 'upsert':
      return compileUpsertAction(document, keyed)
    case 'start':
      return compileStartAction(document, keyed)
    case 'schedule':
      return compileScheduleAction(document, keyed)
    case 'unschedule':
      return compileUnscheduleAction(document, keyed)
    case 'agent':
      return compileAgentAction(document, keyed)
    case 'operation':
      return compileOperationAction(document, keyed)
    default:
      return unreachable(document)
  }
}
