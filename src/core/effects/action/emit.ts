// Emits an event.

import type { EmitActionDocument } from '../../definitions/documents/index.ts'
import { parseSubject } from '../../events/subject/index.ts'
import { compileShape, compileTemplate, ExpressionError, type Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { ActionKind } from './action-kind.ts'
import { must } from './action-parts.ts'

export interface EmitAction {
  readonly type: 'emit'
  render(scope: Scope): { readonly subject: string; readonly data: JsonValue }
}

export const emitKind = {
  compile(document, keyed) {
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
  },
  preview(action, scope) {
    const emit = action.render(scope)
    const parsed = parseSubject(emit.subject)
    if (!parsed.ok) throw new ExpressionError('type', parsed.problem.message, 'emit')
    return { type: 'emit', emit } as const
  },
} as const satisfies ActionKind<EmitActionDocument, EmitAction>
