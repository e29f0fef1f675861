// millrace deliveries [id] | retry, cancel: events on their way to endpoints, and every attempt of each.

import type { Command } from 'commander'
import { DELIVERY_STATES } from '../../core/webhooks/subscription/index.ts'
import { printAttempt } from '../attempts.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { usageError } from '../failure.ts'
import { postWithReason } from '../input.ts'
import { formerWhyOption, type WhyOptions, whyOf, whyOption } from '../reasons.ts'
import { action, NEEDED_REASON, pathOf, resource } from '../resource.ts'
import { momentText } from '../since.ts'
import { perSecondOption, replay } from './replay.ts'

export const addDeliveryCommands = resource({
  command: 'deliveries',
  on: ['id', 'one delivery, with every attempt and the beginning of each response'],
  description: 'list deliveries to endpoints, newest first, show one, or act on some',
  list: {
    operation: 'listDeliveries',
    filters: [
      ['--subscription <name>', 'only to this endpoint'],
      ['--state <state>', 'only in this state', { choices: DELIVERY_STATES }],
      ['--event <id>', 'only of this event', { as: 'eventId' }],
      ['--from <when>', 'only those created since: a time, or how long ago, such as 2h', { isMoment: true }],
      ['--to <when>', 'only those created before', { isMoment: true }],
    ],
    columns: [
      ['MADE', (one, { out }) => out.time(one.createdAt)],
      ['ID', (one) => one.id],
      ['SUBSCRIPTION', (one) => one.subscription, 10],
      ['SUBJECT', (one) => one.subject, 12],
      ['STATE', (one, { out }) => out.state(one.state)],
      ['ATTEMPTS', (one) => one.attempts, 'right'],
      ['RESPONSE', (one) => one.httpStatus, 'right'],
      ['NEXT', (one, { out }) => (one.processedAt === undefined ? out.time(one.dueAt) : null)],
      ['ERROR', (one) => one.error ?? '', 10],
    ],
    empty: 'No deliveries.',
  },
  show: {
    operation: 'getDelivery',
    fields: (one, { out }) => [
      ['id', one.id],
      ['subscription', one.subscription],
      ['state', out.state(one.state)],
      ['event', one.eventId],
      ['subject', one.subject],
      ['tries', one.attempts],
      ['made', out.time(one.createdAt)],
      ['next', one.processedAt === undefined ? out.time(one.dueAt) : null],
      ['over', one.processedAt === undefined ? null : out.time(one.processedAt)],
      ['response', one.httpStatus],
      ['class', one.class],
      ['error', one.error],
      ['dead letter', one.deadLetterId],
      ['again for', one.replayOf],
      ['to', one.request?.url ?? null],
      ['cannot be sent', one.requestError],
    ],
    more: (one, session) => {
      for (const attempt of one.history) {
        printAttempt(session, attempt)
        if (attempt.response !== undefined) printResponse(session, attempt.response)
      }
      if (one.deadLetterId !== undefined && one.state === 'dead-lettered')
        session.out.note(`Send it again: millrace deliveries retry ${one.id}`)
    },
  },
  actions: [
    addRetry,
    action({
      verb: 'cancel',
      on: ['id', 'a delivery that has not ended'],
      description: 'cancel a delivery',
      operation: 'cancelDelivery',
      options: [NEEDED_REASON],
      say: ({ id, state }) => `${id} is ${state}`,
    }),
  ],
})

function addRetry(deliveries: Command, cli: Cli): void {
  const retry = deliveries
    .command('retry')
    .argument('[id]', 'a delivery; or select dead ones with options')
    .description('send again: one delivery, or all dead ones of a subscription, after a preview')
    .option('--subscription <name>', 'the dead ones of this subscription')
    .option('--class <class>', 'those with this failure class')
    .option('--cause <cause>', 'those of this group of dead letters')
    .option('--from <when>', 'those dead-lettered since: a time, or how long ago, such as 2h')
    .option('--to <when>', 'those dead-lettered before')
    .option('--force', 'also those with three failed replays')
    .option('--dry-run', 'only show what would happen')
    .addOption(perSecondOption())
    .addOption(whyOption())
    .addOption(formerWhyOption())
    .option('-y, --yes', 'do not ask for confirmation')
  handle<RetryOptions>(retry, cli, (session, options, id) =>
    id === undefined ? retryMany(session, options) : retryOne(session, id, options),
  )
}

interface RetryOptions extends WhyOptions {
  readonly subscription?: string
  readonly class?: string
  readonly cause?: string
  readonly from?: string
  readonly to?: string
  readonly force?: boolean
  readonly dryRun?: boolean
  readonly perSecond?: number
  readonly yes?: boolean
}

async function retryOne(session: Session, id: string, options: RetryOptions): Promise<void> {
  const { subscription, from, to, cause } = options
  const why = whyOf(options)
  if ([subscription, from, to, cause, options.class].some((value) => value !== undefined))
    throw usageError('name a delivery, or choose them by options')
  const body = why === undefined ? {} : { reason: why }
  const answer = await postWithReason<Answer<'retryDelivery'>>(
    session,
    pathOf('retryDelivery', id),
    body,
    '--reason',
  )
  session.show(answer, () => {
    const { how, deliveryId } = answer
    session.out.line(how === 'hurried' ? `${id} is sent now` : `${id} is sent again as ${deliveryId}`)
  })
}

async function retryMany(session: Session, options: RetryOptions): Promise<number> {
  const { subscription, cause } = options
  const why = whyOf(options)
  if (subscription === undefined)
    throw usageError('which deliveries?', 'Name one by its id, or all dead ones with --subscription.')
  const filter = {
    subscription,
    class: options.class,
    cause,
    since: momentText(options.from),
    until: momentText(options.to),
  }
  return replay(session, {
    path: '/v1/webhooks/deliveries/retry',
    body: {
      filter: Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)),
      ...(options.force === true && { force: true }),
      ...(options.perSecond !== undefined && { perSecond: options.perSecond }),
      ...(why !== undefined && { reason: why }),
    },
    what: 'delivery',
    many: 'deliveries',
    dryRun: options.dryRun === true,
    isSaid: options.yes === true,
  })
}

const LINES_SHOWN_MAX = 12

/** The start of a response: each line comes from another system, and none may control the terminal. */
export function printResponse({ out }: Session, response: string): void {
  const lines = response.split('\n')
  for (const text of lines.slice(0, LINES_SHOWN_MAX)) out.fields([['│', text]], '      ')
  const rest = lines.length - LINES_SHOWN_MAX
  if (rest > 0) out.fields([['│', `… and ${rest} more lines`]], '      ')
}
