// millrace orphans [id] | correlate, discard, retry: events that found no instance, or several.

import type { Orphan } from '../../sdk/client/index.ts'
import type { Session } from '../command.ts'
import { action, REASON, resource } from '../resource.ts'

const fieldsOf = (orphan: Orphan, { out }: Session) =>
  [
    ['id', orphan.id],
    ['state', out.state(orphan.state)],
    ['workflow', orphan.workflow],
    ['trigger', orphan.trigger],
    ['found', orphan.reason],
    ['keys', orphan.keys],
    ['event', orphan.eventId],
    ['expires', orphan.expiresAt === null ? null : out.time(orphan.expiresAt)],
    ['instance', orphan.instance],
    ['by', orphan.by],
    ['note', orphan.note],
  ] as const

const print = (orphan: Orphan, session: Session) => session.out.fields(fieldsOf(orphan, session))

export const addOrphanCommands = resource({
  command: 'orphans',
  on: ['id', 'one of them'],
  description: 'list events that found no instance, or several, newest first, or act on one',
  list: { operation: 'listOrphans' },
  show: { operation: 'getOrphan', fields: fieldsOf },
  actions: [
    action({
      verb: 'correlate',
      on: ['id', 'an orphan'],
      description: 'assign it to an instance',
      operation: 'correlateOrphan',
      options: [['--instance <id>', 'the instance', { isNeeded: true }], REASON],
      asksWhy: true,
      print,
    }),
    action({
      verb: 'discard',
      on: ['id', 'an orphan'],
      description: 'discard it; its event stays stored',
      operation: 'discardOrphan',
      options: [REASON],
      asksWhy: true,
      print,
    }),
    action({
      verb: 'retry',
      on: ['workflow', 'its name'],
      description: 'retry the open orphans of a workflow',
      operation: 'retryOrphans',
      say: ({ tried, found }) => `${tried} retried, ${found} found their instance`,
    }),
  ],
})
