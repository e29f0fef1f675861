// millrace work [id] | work resolve, probe, retry, cancel, leave-lane: jobs.

import { WORK_STATES } from '../../core/queue/work/index.ts'
import type { Work } from '../../sdk/client/index.ts'
import { printAttempt } from '../attempts.ts'
import type { Session } from '../command.ts'
import { action, NEEDED_REASON, REASON, resource } from '../resource.ts'

const fieldsOf = (item: Work, { out }: Session) =>
  [
    ['id', item.id],
    ['consumer', item.consumer],
    ['state', out.state(item.state)],
    ['event', item.eventId],
    ['attempts', item.attempts],
    ['due', out.time(item.dueAt)],
    ['key', item.key],
    ['class', item.class],
    ['status', item.httpStatus],
    ['error', item.lastError],
    ['effect', item.effectRef],
  ] as const

const print = (item: Work, session: Session) => session.out.fields(fieldsOf(item, session))

export const addWorkCommands = resource({
  command: 'work',
  on: ['id', 'one job, with its attempts'],
  description: 'list jobs, newest first, show one, or act on one',
  list: {
    operation: 'listWork',
    filters: [
      ['--state <state>', 'only in this state', { choices: WORK_STATES }],
      ['--consumer <route>', 'only of this route'],
      ['--class <class>', 'only with this failure class'],
    ],
    columns: [
      ['ID', (one) => one.id],
      ['CONSUMER', (one) => one.consumer, 10],
      ['STATE', (one, { out }) => out.state(one.state)],
      ['ATTEMPTS', (one) => one.attempts, 'right'],
      ['DUE', (one, { out }) => out.time(one.dueAt)],
      ['KEY', (one) => one.key, 8],
      [
        'ERROR',
        ({ class: name, lastError = '' }) => (name === undefined ? lastError : `${name}: ${lastError}`),
        10,
      ],
    ],
    empty: 'No jobs.',
  },
  show: {
    operation: 'getWork',
    fields: fieldsOf,
    more: ({ history = [] }, session) => {
      for (const attempt of history) printAttempt(session, attempt)
    },
  },
  actions: [
    action({
      verb: 'resolve',
      on: ['id', 'a parked job'],
      description: 'record the outcome of an effect whose outcome is unknown',
      operation: 'resolveWork',
      options: [
        [
          '--as <outcome>',
          'done: it happened; released: it did not happen, call again',
          { choices: ['done', 'released'], isNeeded: true },
        ],
        ['--reason <text>', 'how you know (recorded)', { isNeeded: true }],
      ],
      print,
    }),
    action({
      verb: 'probe',
      on: ['id', 'a parked job'],
      description: 'ask the vendor whether the effect happened',
      operation: 'probeWork',
      options: [REASON],
      print,
    }),
    action({
      verb: 'retry',
      on: ['id', 'a waiting or parked job'],
      description: 'retry now',
      operation: 'retryWork',
      options: [REASON],
      print,
    }),
    action({
      verb: 'cancel',
      on: ['id', 'a job that has not ended'],
      description: 'cancel a job',
      operation: 'cancelWork',
      options: [NEEDED_REASON],
      print,
    }),
    action({
      verb: 'leave-lane',
      on: ['id', 'a dead or parked job that blocks its lane'],
      description: 'let the jobs behind it continue; the job itself does not change',
      operation: 'leaveLane',
      options: [NEEDED_REASON],
      print,
    }),
  ],
})
