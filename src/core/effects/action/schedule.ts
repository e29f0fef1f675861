// Events by the clock: sets a schedule under a name, and ends it.

import type { ScheduleActionDocument, UnscheduleActionDocument } from '../../definitions/documents/index.ts'
import {
  compileShape,
  compileTemplate,
  ExpressionError,
  type Scope,
  type Template,
  typeOf,
} from '../../expression/index.ts'
import { isNumber, isStorable, type JsonValue } from '../../foundation/json/index.ts'
import type { ActionKind } from './action-kind.ts'
import { must } from './action-parts.ts'

export interface ScheduleAction {
  readonly type: 'schedule'
  /** Throws ExpressionError if name or subject is not text. */
  render(scope: Scope): {
    readonly name: string
    readonly cron: string
    readonly zone: string
    readonly subject: string
    readonly data: JsonValue
  }
}

export interface UnscheduleAction {
  readonly type: 'unschedule'
  /** The name. Throws ExpressionError if it is not text. */
  render(scope: Scope): string
}

export const scheduleKind = {
  compile(document, keyed) {
    const name = must(compileTemplate(document.name, keyed)).template
    const subject = must(compileTemplate(document.emit, keyed)).template
    const data = must(compileShape(document.data, keyed)).shape
    const { cron, zone } = document
    return {
      type: 'schedule',
      render: (scope) => ({
        name: renderName(name, scope, 'schedule.name'),
        cron,
        zone,
        subject: renderName(subject, scope, 'schedule.emit'),
        data: data.render(scope) ?? null,
      }),
    }
  },
  preview: (action, scope) => ({ type: 'schedule', schedule: action.render(scope) }) as const,
} as const satisfies ActionKind<ScheduleActionDocument, ScheduleAction>

export const unscheduleKind = {
  compile(document, keyed) {
    const name = must(compileTemplate(document.name, keyed)).template
    return { type: 'unschedule', render: (scope) => renderName(name, scope, 'unschedule') }
  },
  preview: (action, scope) => ({ type: 'unschedule', unschedule: { name: action.render(scope) } }) as const,
} as const satisfies ActionKind<UnscheduleActionDocument, UnscheduleAction>

const NAME_LENGTH_MAX = 512

function renderName(template: Template, scope: Scope, path: string): string {
  const value = template.render(scope)
  const text = isNumber(value) ? String(value) : value
  if (typeof text !== 'string' || text === '' || !isStorable(text)) {
    throw new ExpressionError('type', `\`${path}\` gives no text`, path, typeOf(value))
  }
  if (text.length > NAME_LENGTH_MAX) {
    throw new ExpressionError('bounds', `\`${path}\` is longer than ${NAME_LENGTH_MAX} characters`, path)
  }
  return text
}
