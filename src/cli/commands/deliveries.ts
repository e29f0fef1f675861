// millrace deliveries [id] | retry, cancel: events on their way to endpoints, and every attempt of each.

import { type Command, Option } from 'commander'
import { DELIVERY_STATES } from '../../core/webhooks/subscription/index.ts'
import type { Delivery, DeliveryDetail } from '../../sdk/client/index.ts'
import { printAttempt } from '../attempts.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { usageError } from '../failure.ts'
import { postWithReason } from '../input.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { formerWhyOption, type WhyOptions, whyOf, whyOption } from '../reasons.ts'
import { momentText } from '../since.ts'
import { perSecondOption, replay } from './replay.ts'

interface DeliveryOptions extends ListOptions {
  readonly subscription?: string
  readonly state?: string
  readonly event?: string
  readonly from?: string
  readonly to?: string
}

const pathOf = (id: string, verb?: string) =>
  `/v1/webhooks/deliveries/${encodeURIComponent(id)}${verb === undefined ? '' : `/${verb}`}`

export function addDeliveryCommands(program: Command, cli: Cli): void {
  const deliveries = program
    .command('deliveries')
    .argument('[id]', 'one delivery, with every try and how each answer began')
    .description('list deliveries to endpoints, newest first, show one, or act on some')
    .option('--subscription <name>', 'only to this endpoint')
    .addOption(new Option('--state <state>', 'only in this state').choices(DELIVERY_STATES))
    .option('--event <id>', 'only of this event')
    .option('--from <when>', 'only those made since: a time, or how long ago, such as 2h')
    .option('--to <when>', 'only those made before')
    .addOption(limitOption())
  handle<DeliveryOptions>(deliveries, cli, (session, options, id) =>
    id === undefined ? listDeliveries(session, options) : showDelivery(session, id),
  )

  const retry = deliveries
    .command('retry')
    .argument('[id]', 'a delivery; or choose dead ones by the options')
    .description('send again: one, or all dead ones of a subscription, after showing what would happen')
    .option('--subscription <name>', 'the dead ones of this subscription')
    .option('--class <class>', 'those with this failure class')
    .option('--cause <cause>', 'those of this group of dead letters')
    .option('--from <when>', 'those that died since: a time, or how long ago, such as 2h')
    .option('--to <when>', 'those that died before')
    .option('--force', 'also those that were replayed in vain')
    .option('--dry-run', 'only show what would happen')
    .addOption(perSecondOption())
    .addOption(whyOption())
    .addOption(formerWhyOption())
    .option('-y, --yes', 'do not ask')
  handle<RetryOptions>(retry, cli, (session, options, id) =>
    id === undefined ? retryMany(session, options) : retryOne(session, id, options),
  )

  const cancel = deliveries
    .command('cancel')
    .argument('<id>', 'a delivery that is not over')
    .description('do not send it any more')
    .requiredOption('--reason <text>', 'why; it is kept')
  handle<{ reason: string }>(cancel, cli, async (session, { reason }, id) => {
    const answer = await session.api.post<Delivery>(pathOf(String(id), 'cancel'), { reason })
    session.show(answer, () => session.out.line(`${answer.id} is ${answer.state}`))
  })
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
  const answer = await postWithReason<Answer<'retryDelivery'>>(session, pathOf(id, 'retry'), body, '--reason')
  session.show(answer, () => {
    const { how, deliveryId } = answer
    session.out.line(how === 'hurried' ? `${id} goes out now` : `${id} goes out again as ${deliveryId}`)
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

async function listDeliveries(session: Session, options: DeliveryOptions): Promise<void> {
  const { subscription, state, event, limit } = options
  const query = {
    subscription,
    state,
    eventId: event,
    from: momentText(options.from),
    to: momentText(options.to),
  }
  const page = await readPages<Delivery>(session, '/v1/webhooks/deliveries', query, limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'MADE' },
      { title: 'ID' },
      { title: 'SUBSCRIPTION', min: 10 },
      { title: 'SUBJECT', min: 12 },
      { title: 'STATE' },
      { title: 'TRIES', align: 'right' as const },
      { title: 'ANSWER', align: 'right' as const },
      { title: 'NEXT' },
      { title: 'ERROR', min: 10 },
    ]
    const rows = items.map((one) => [
      out.time(one.createdAt),
      one.id,
      one.subscription,
      one.subject,
      out.state(one.state),
      one.attempts,
      one.httpStatus,
      one.processedAt === undefined ? out.time(one.dueAt) : null,
      one.error ?? '',
    ])
    out.table(columns, rows)
    noteRest(session, page, 'No deliveries.')
  })
}

async function showDelivery(session: Session, id: string): Promise<void> {
  const one = await session.api.get<DeliveryDetail>(pathOf(id))
  session.show(one, () => {
    const { out } = session
    out.fields([
      ['id', one.id],
      ['subscription', one.subscription],
      ['state', out.state(one.state)],
      ['event', one.eventId],
      ['subject', one.subject],
      ['tries', one.attempts],
      ['made', out.time(one.createdAt)],
      ['next', one.processedAt === undefined ? out.time(one.dueAt) : null],
      ['over', one.processedAt === undefined ? null : out.time(one.processedAt)],
      ['answer', one.httpStatus],
      ['class', one.class],
      ['error', one.error],
      ['dead letter', one.deadLetterId],
      ['again for', one.replayOf],
      ['to', one.request?.url ?? null],
      ['cannot be sent', one.requestError],
    ])
    for (const attempt of one.history) {
      printAttempt(session, attempt)
      if (attempt.response !== undefined) printResponse(session, attempt.response)
    }
    if (one.deadLetterId !== undefined && one.state === 'dead-lettered')
      out.note(`Send it again: millrace deliveries retry ${one.id}`)
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
