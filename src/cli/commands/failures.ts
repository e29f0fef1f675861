// millrace failures [id] and millrace escalations [id] | ack: what went wrong, and who was notified.

import { action, resource } from '../resource.ts'
import { consumerText } from '../text.ts'

export const addFailureCommands = resource({
  command: 'failures',
  on: ['id', 'one failure'],
  description: 'list failures, newest first, or show one',
  list: { operation: 'listFailures' },
  show: {
    operation: 'getFailure',
    fields: (one, { out }) => [
      ['id', one.id],
      ['state', out.state(one.state)],
      ['consumer', consumerText(one.consumer)],
      ['class', `${one.class} (${one.reportedAs})`],
      ['reason', one.reason],
      ['error', one.lastError],
      ['event', one.eventId],
      ['work', one.workId],
      ['key', one.key],
      ['attempts', one.attempts],
      ['next attempt', one.willRetryAt === null ? null : out.time(one.willRetryAt)],
      ['cause', one.cause],
    ],
  },
})

export const addEscalationCommands = resource({
  command: 'escalations',
  on: ['id', 'one escalation'],
  description: 'list escalations, newest first, show one, or acknowledge one',
  list: { operation: 'listEscalations' },
  show: {
    operation: 'getEscalation',
    fields: (one, { out }) => [
      ['id', one.id],
      ['state', out.state(one.state)],
      ['count', one.count],
      ['consumer', consumerText(one.consumer)],
      ['class', `${one.class} (${one.reportedAs})`],
      ['reason', one.reason],
      ['severity', one.severity],
      ['latest error', one.lastError],
      ['latest work', one.workId],
      ['cause', one.cause],
      ['runbook', one.runbook],
      ['acknowledged by', one.acknowledgedBy],
      ['note', one.note],
    ],
  },
  actions: [
    action({
      verb: 'ack',
      on: ['id', 'an escalation'],
      description: 'acknowledge an escalation; a later failure of its cause raises another one',
      operation: 'acknowledgeEscalation',
      options: [['--note <text>', 'what you know or do about it (recorded)']],
      say: (one, _session, id) => `${id} is ${one.state} by ${one.acknowledgedBy ?? 'another user'}`,
    }),
  ],
})
