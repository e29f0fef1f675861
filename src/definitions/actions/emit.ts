// An event.

import type { EmitActionDocument } from '../../core/definitions/documents/index.ts'
import { matchesPattern, parsePattern, parseSubject } from '../../core/events/subject/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { optional, subjectSend } from '../fields.ts'
import type { Remark } from '../finding.ts'
import { fieldsOf } from '../written.ts'
import type { ActionDeclaration } from './action-kind.ts'

const emitField = (roots: readonly string[]) =>
  optional(subjectSend(roots), 'The subject of an event to emit.', 'another action')

export const emit: ActionDeclaration<EmitActionDocument, ReturnType<typeof emitField>> = {
  field: emitField,
  optional: ['data'],
  resolve(subject, { data }, { owner }) {
    // As with functions: the default is the payload, or the data of the instance.
    const usual = owner === 'step' ? '{{ data }}' : '{{ payload }}'
    return { type: 'emit', subject, data: (data ?? usual) as JsonValue }
  },
  checkRoute: (route) => checkLoop(route.on, fieldsOf(route.do).emit),
  whyNoBatch: '`emit` makes an event of each item: a batch saves nothing. Leave out `batch`',
  screen: { icon: 'Megaphone', does: 'emits an event' },
}

function checkLoop(on: JsonValue | undefined, emit: JsonValue | undefined): readonly Remark[] {
  if (typeof emit !== 'string' || !parseSubject(emit).ok || emit.includes('{{')) return []
  const patterns: readonly JsonValue[] = Array.isArray(on) ? on : on === undefined ? [] : [on]
  const own = patterns.find(
    (one) => typeof one === 'string' && parsePattern(one).ok && matchesPattern(one, emit),
  )
  if (own === undefined) return []
  const message = `the route would start itself again: \`${own}\` matches what it emits`
  return [{ rule: 'loop', severity: 'warning', message, path: ['do', 'emit'] }]
}
