// Workfront's subjects: every object that can be subscribed to, and what happened to it.

import type { CatalogEntry } from '../catalog-entry.ts'
import { constant, object, text, whole } from './schema-helpers.ts'

/** The object's name and Workfront's code for it. */
const OBJECTS: Readonly<Record<string, string>> = {
  approval: 'approval',
  approval_stage: 'approval_stage',
  approval_stage_participant: 'approval_stage_participant',
  assignment: 'ASSGN',
  company: 'CMPY',
  dashboard: 'PTLTAB',
  document: 'DOCU',
  expense: 'EXPNS',
  field: 'FIELD',
  hour: 'HOUR',
  issue: 'OPTASK',
  note: 'NOTE',
  portfolio: 'PORT',
  program: 'PRGM',
  project: 'PROJ',
  record: 'RECORD',
  record_type: 'RECORD_TYPE',
  report: 'PTLSEC',
  task: 'TASK',
  template: 'TMPL',
  timesheet: 'TSHET',
  user: 'USER',
  workspace: 'WORKSPACE',
}
const EVENTS = { created: 'CREATE', updated: 'UPDATE', deleted: 'DELETE' } as const

const state = { type: 'object', properties: { ID: text, objCode: text } } as const
const AT = 1_704_164_645

export function workfrontEntries(): readonly CatalogEntry[] {
  return Object.entries(OBJECTS).flatMap(([name, objCode]) =>
    Object.entries(EVENTS).map(([verb, eventType]) => {
      const now = { ID: 'sample1001', objCode, name: 'A name' }
      return {
        subject: `workfront.events.${name}.${verb}`,
        description: `${/^[aeiou]/.test(name) ? 'An' : 'A'} ${name.replaceAll('_', ' ')}: ${verb}.`,
        schema: object(
          { eventType: constant(eventType), newState: state, oldState: state },
          { subscriptionId: text, eventTime: object({ epochSecond: whole, nano: whole }) },
        ),
        example: {
          eventType,
          subscriptionId: 'sub1001',
          eventTime: { epochSecond: AT, nano: 0 },
          newState: eventType === 'DELETE' ? {} : now,
          oldState: eventType === 'CREATE' ? {} : now,
        },
      }
    }),
  )
}
