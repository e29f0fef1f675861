// Events by the clock: a schedule under a name, and its end.

import * as z from 'zod'
import type {
  ScheduleActionDocument,
  UnscheduleActionDocument,
} from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { compileCron } from '../../core/ingest/schedule/index.ts'
import { field, literal, optional, send, sends, subjectSend } from '../fields.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { type Fields, fieldsOf } from '../written.ts'
import type { ActionDeclaration } from './action-kind.ts'

function makeSchedule(roots: readonly string[]) {
  return z.strictObject({
    name: field(send(roots), 'What `unschedule` calls it.'),
    cron: field(literal({ minLength: 1 }), 'When: five fields, or six with seconds first.'),
    zone: optional(literal({ minLength: 1 }), 'Whose clock, as in `Europe/Berlin`.', { default: 'UTC' }),
    emit: field(subjectSend(roots), 'The subject of each event.'),
    data: optional(sends(roots), 'The payload of each event.', 'none'),
  })
}

const scheduleField = (roots: readonly string[]) =>
  optional(
    makeSchedule(roots),
    'Events by the clock from now on; doing it again under the same name replaces it.',
    'another action',
  )

export const schedule: ActionDeclaration<ScheduleActionDocument, ReturnType<typeof scheduleField>> = {
  field: scheduleField,
  resolve: ({ name, cron, zone = 'UTC', emit, data = null }) => ({
    type: 'schedule',
    name,
    cron,
    zone,
    emit,
    data: data as JsonValue,
  }),
  check: (action, at) => checkCron(fieldsOf(action.schedule), [...at, 'schedule']),
  screen: { icon: 'CalendarClock', does: 'sets a schedule' },
}

const unscheduleField = (roots: readonly string[]) =>
  optional(send(roots), 'The name of a schedule to end.', 'another action')

export const unschedule: ActionDeclaration<UnscheduleActionDocument, ReturnType<typeof unscheduleField>> = {
  field: unscheduleField,
  resolve: (name) => ({ type: 'unschedule', name }),
  screen: { icon: 'CalendarX2', does: 'ends a schedule' },
}

/** For anything with `cron` and `zone`. */
export function checkCron({ cron, zone = 'UTC' }: Fields, at: FieldPath): readonly Remark[] {
  if (typeof cron !== 'string' || typeof zone !== 'string' || cron === '' || zone === '') return []
  // Another finding reports a template here.
  if (cron.includes('{{') || zone.includes('{{')) return []
  const compiled = compileCron(cron, zone)
  if (compiled.ok) return []
  const { field, message } = compiled.problem
  return [{ rule: 'value', message, path: [...at, field] }]
}
