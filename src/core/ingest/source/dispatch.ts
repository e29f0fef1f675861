// Dispatch: the internal events that a source derives from events under its generic subject.

import type { DispatchDocument } from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import { parseSubject } from '../../events/subject/index.ts'
import {
  compileCondition,
  compileShape,
  compileTemplate,
  ExpressionError,
  type Keyed,
  type Scope,
} from '../../expression/index.ts'
import { isStorable, type JsonValue } from '../../foundation/json/index.ts'

export interface Dispatched {
  /**
   * A permanent id of a derived event, wherever its rule is by then: the subject, and its number where several rules produce
   * the same.
   */
  readonly name: string
  readonly subject: string
  readonly data: JsonValue
}

export interface Dispatch {
  /** What happens to an event that no rule matches. */
  readonly otherwise: DispatchDocument['otherwise']
  /** The events that the rules derive, in order. Throws ExpressionError, which names the rule. */
  select(scope: Scope): readonly Dispatched[]
}

export function compileDispatch(document: DispatchDocument, keyed: Keyed = {}): Dispatch {
  const rules = document.rules.map(({ when, emit, data }) => ({
    when: when === null ? null : must(compileCondition(when as string, keyed)).condition,
    emit: must(compileTemplate(emit, keyed)).template,
    data: must(compileShape(data, keyed)).shape,
  }))
  return {
    otherwise: document.otherwise,
    select(scope) {
      const selected: Dispatched[] = []
      for (const [rule, { when, emit, data }] of rules.entries()) {
        try {
          if (when !== null && !when.test(scope)) continue
          const subject = subjectOf(emit.render(scope))
          const before = selected.filter((one) => one.subject === subject).length
          // No subject has a space.
          const name = before === 0 ? subject : `${subject} ${before + 1}`
          selected.push({ name, subject, data: data.render(scope) ?? null })
        } catch (error) {
          throw error instanceof ExpressionError ? inRule(rule, error) : error
        }
        if (document.mode === 'first') break
      }
      return selected
    },
  }
}

function subjectOf(value: JsonValue | undefined): string {
  if (typeof value !== 'string') throw new ExpressionError('type', 'the subject is not a text', 'emit')
  const named = parseSubject(value)
  if (!named.ok) throw new ExpressionError('type', named.problem.message, 'emit')
  if (!isStorable(value)) throw new ExpressionError('type', 'the subject is not well-formed text', 'emit')
  return value
}

function inRule(rule: number, { code, message, path, valueType }: ExpressionError): ExpressionError {
  return new ExpressionError(code, `dispatch rule ${rule + 1}: ${message}`, path, valueType)
}
