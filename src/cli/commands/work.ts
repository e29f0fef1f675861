// millrace work [id] | work resolve, probe, retry, cancel, leave-lane; millrace lanes: jobs.

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
  on: ['id', 'one work item, with its attempts'],
  description: 'list work items, newest first, show one, or decide about one',
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
      ['TRIES', (one) => one.attempts, 'right'],
      ['DUE', (one, { out }) => out.time(one.dueAt)],
      ['KEY', (one) => one.key, 8],
      [
        'ERROR',
        ({ class: name, lastError = '' }) => (name === undefined ? lastError : `${name}: ${lastError}`),
        10,
      ],
    ],
    empty: 'No work items.',
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
      on: ['id', 'a parked work item'],
      description: 'say what became of an effect whose outcome is unknown',
      operation: 'resolveWork',
      options: [
        [
          '--as <outcome>',
          'done: it is there; released: it is not, call again',
          { choices: ['done', 'released'], isNeeded: true },
        ],
        ['--reason <text>', 'how you know; it is kept', { isNeeded: true }],
      ],
      print,
    }),
    action({
      verb: 'probe',
      on: ['id', 'a parked work item'],
      description: 'ask the vendor again whether the effect is there',
      operation: 'probeWork',
      options: [REASON],
      print,
    }),
    action({
      verb: 'retry',
      on: ['id', 'a waiting or parked work item'],
      description: 'try again now',
      operation: 'retryWork',
      options: [REASON],
      print,
    }),
    action({
      verb: 'cancel',
      on: ['id', 'a work item that is not final'],
      description: 'do not do it at all',
      operation: 'cancelWork',
      options: [NEEDED_REASON],
      print,
    }),
    action({
      verb: 'leave-lane',
      on: ['id', 'a dead or parked work item that holds its lane up'],
      description: 'let those behind it go on; the item itself stays as it is',
      operation: 'leaveLane',
      options: [NEEDED_REASON],
      print,
    }),
  ],
})

export const addLaneCommands = resource({
  command: 'lanes',
  description: 'list items that hold their lanes up, newest first',
  list: {
    operation: 'listHeldLanes',
    columns: [
      ['ROUTE', (one) => one.route, 10],
      ['LANE', (one) => one.lane, 8],
      ['WAITING', (one) => one.waiting, 'right'],
      ['HELD BY', ({ work }) => work.id],
      ['STATE', ({ work }, { out }) => out.state(work.state)],
      ['ERROR', ({ work }) => work.lastError ?? '', 10],
    ],
    empty: 'No lane is held up.',
  },
})
