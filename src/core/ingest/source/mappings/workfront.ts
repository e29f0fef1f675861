// Workfront: the object's code is in its state (for a deletion, in the old one), the event is CREATE, UPDATE, DELETE. Cryptic
// codes get the object's name. A message has no id: subscription, object, event and time identify it.

import type { Mapping } from './mapping.ts'

/** Codes that differ from the object's name; the others are the name in lower case. */
const WORKFRONT_OBJECTS = {
  ASSGN: 'assignment',
  CMPY: 'company',
  DOCU: 'document',
  EXPNS: 'expense',
  OPTASK: 'issue',
  PORT: 'portfolio',
  PRGM: 'program',
  PROJ: 'project',
  PTLSEC: 'report',
  PTLTAB: 'dashboard',
  TMPL: 'template',
  TSHET: 'timesheet',
} as const

const objects = Object.entries(WORKFRONT_OBJECTS)
  .map(([code, name]) => `'${code}': '${name}'`)
  .join(', ')
const code = 'token(coalesce(payload.newState.objCode, payload.oldState.objCode, payload.objCode))'
const object = `coalesce({${objects}}[${code}], lower(${code}), 'unknown')`
const verbs = "{'CREATE': 'created', 'UPDATE': 'updated', 'DELETE': 'deleted'}"
const verb = `coalesce(${verbs}[token(payload.eventType)], lower(token(payload.eventType)), 'unknown')`
const id = 'coalesce(payload.newState.ID, payload.oldState.ID)'

export const workfront: Mapping = {
  title: 'Workfront',
  subject: `workfront.events.{{ ${object} }}.{{ ${verb} }}`,
  event: {
    id: `hash(payload.subscriptionId, ${id}, payload.eventType, payload.eventTime.epochSecond, payload.eventTime.nano)`,
    objectType: `{{ ${object} }}`,
    objectId: id,
    occurredAt: 'payload.eventTime.epochSecond',
  },
}
