// millrace dead-letters [id] | groups, replay, edit, ready, discard: jobs that are not retried automatically.

import type { Command } from 'commander'
import { DEAD_LETTER_STATES } from '../../core/failures/dead-letter/index.ts'
import { printAttempt } from '../attempts.ts'
import { type Answer, type Cli, handle } from '../command.ts'
import { readJsonInput } from '../input.ts'
import { prettyJson } from '../output.ts'
import { formerFilterOption, refuseReason } from '../reasons.ts'
import { action, addList, NEEDED_REASON, pathOf, REASON, resource } from '../resource.ts'
import { consumerText } from '../text.ts'

const LETTER = ['id', 'a dead letter'] as const

export const addDeadLetterCommands = resource({
  command: 'dead-letters',
  on: ['id', 'one dead letter, with its event and its attempts'],
  description: 'list dead letters, newest first, show one, or act on one',
  list: {
    operation: 'listDeadLetters',
    filters: [
      ['--state <state>', 'only in this state', { choices: DEAD_LETTER_STATES }],
      ['--consumer <route>', 'only of this route'],
      ['--class <class>', 'only with this failure class'],
      ['--with-reason <reason>', 'only with this reason, such as cap_reached', { as: 'reason' }],
      formerFilterOption,
      ['--cause <cause>', 'only of this group'],
      ['--with-key <key>', 'only under this idempotency key', { as: 'key' }],
      ['--correlation <id>', 'only with this correlation id', { as: 'correlationId' }],
      ['--severity <severity>', 'only of this severity'],
      [
        '--from <when>',
        'only those dead-lettered since: a time, or how long ago, such as 2h',
        { isMoment: true },
      ],
      ['--to <when>', 'only those dead-lettered before', { isMoment: true }],
    ],
    check: refuseReason,
    columns: [
      ['SINCE', (one, { out }) => out.time(one.createdAt)],
      ['ID', (one) => one.id],
      ['STATE', (one, { out }) => out.state(one.state)],
      ['CONSUMER', (one) => consumerText(one.consumer), 10],
      ['CLASS', (one) => one.class],
      ['REASON', (one) => one.reason],
      ['ERROR', (one) => one.lastError, 12],
    ],
    empty: 'No dead letters.',
  },
  show: {
    operation: 'getDeadLetter',
    fields: (one, { out }) => [
      ['id', one.id],
      ['state', out.state(one.state)],
      ['consumer', consumerText(one.consumer)],
      ['class', `${one.class} (${one.reportedAs})`],
      ['reason', one.reason],
      ['step', one.step],
      ['error', one.lastError],
      ['event', one.eventId],
      ['edited from', one.event?.editedFrom],
      ['correlation', one.correlationId],
      ['payload', one.payloadHash],
      ['key', one.key],
      ['attempts', one.attempts],
      ['replays', one.replays],
      ['runbook', one.runbook],
    ],
    more: ({ history, event }, session) => {
      for (const attempt of history) printAttempt(session, attempt)
      if (event !== null) session.out.line(`\n${prettyJson(event.data)}`)
    },
  },
  actions: [
    (letters, cli) => {
      const groups = letters.command('groups').description('count dead letters by cause')
      addList(groups, cli, {
        operation: 'listDeadLetterGroups',
        isWhole: true,
        filters: [
          ['--state <state>', 'only in this state', { choices: DEAD_LETTER_STATES, default: 'open' }],
        ],
        columns: [
          ['COUNT', (one) => one.count, 'right'],
          ['CONSUMER', (one) => consumerText(one.consumer), 10],
          ['CLASS', (one) => one.class],
          ['REASON', (one) => one.reason],
          ['LATEST', (one, { out }) => out.time(one.latestAt)],
          ['CAUSE', (one) => one.cause, 16],
          ['FOR EXAMPLE', (one) => one.sampleId],
        ],
        empty: 'No dead letters.',
      })
    },
    action({
      verb: 'replay',
      on: LETTER,
      description: 'replay a dead letter, through the ledger',
      operation: 'replayDeadLetter',
      options: [
        ['--force', 'also after three failed replays'],
        ['--again', 'repeat an effect that already happened; needs a reason'],
        REASON,
      ],
      asksWhy: true,
      say: ({ workId }, _session, id) => replayed(id, workId),
    }),
    addEdit,
    action({
      verb: 'ready',
      on: LETTER,
      description: 'mark a dead letter as ready to be replayed',
      operation: 'readyDeadLetter',
      options: [REASON],
      asksWhy: true,
      say: ({ state }, _session, id) => `${id} is ${state}`,
    }),
    action({
      verb: 'discard',
      on: LETTER,
      description: 'discard a dead letter',
      operation: 'discardDeadLetter',
      options: [NEEDED_REASON],
      asksWhy: true,
      say: ({ state }, _session, id) => `${id} is ${state}`,
    }),
  ],
})

const replayed = (id: string, workId: string) => `${id} is done again as ${workId}`

function addEdit(letters: Command, cli: Cli): void {
  const edit = letters
    .command('edit')
    .argument('<id>', 'a dead letter')
    .description('edit the payload of a dead letter; the key and the original stay')
    .requiredOption('--data <file>', 'the payload as JSON; - reads stdin')
    .requiredOption('--reason <text>', 'the reason (recorded)')
    .option('--replay', 'also replay it with the new payload')
  handle<{ data: string; reason: string; replay?: boolean }>(edit, cli, async (session, options, given) => {
    const id = String(given)
    const { reason } = options
    const data = await readJsonInput(session, options.data)
    const edited = await session.api.post<Answer<'editDeadLetter'>>(pathOf('editDeadLetter', id), {
      data,
      reason,
    })
    if (options.replay !== true) {
      session.show(edited, ({ state }) => session.out.line(`${id} is ${state}`))
      return
    }
    const answer = await session.api.post<Answer<'replayDeadLetter'>>(pathOf('replayDeadLetter', id), {
      reason,
    })
    session.show(answer, ({ workId }) => session.out.line(replayed(id, workId)))
  })
}
