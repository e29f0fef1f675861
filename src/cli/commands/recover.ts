// millrace subscriptions recover: previews the events that an endpoint has missed, then sends them, with progress.

import { type Command, Option } from 'commander'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { EXIT } from '../failure.ts'
import { confirm, postWithReason } from '../input.ts'
import { formerWhyOption, type WhyOptions, whyOf, whyOption } from '../reasons.ts'
import { momentText } from '../since.ts'
import { count } from '../text.ts'
import { perSecondOption, printReplay, watchReplay } from './replay.ts'

interface RecoverOptions extends WhyOptions {
  readonly since: string
  readonly until?: string
  readonly what: string
  readonly force?: boolean
  readonly perSecond?: number
  readonly dryRun?: boolean
  readonly yes?: boolean
}

type Preview = Extract<Answer<'recoverSubscription'>, { readonly totals: unknown }>

export function addRecoverCommand(subscriptions: Command, cli: Cli): void {
  const recover = subscriptions
    .command('recover')
    .argument('<name>', 'a subscription')
    .description('send the events it has missed since a time, after a preview')
    .requiredOption('--since <when>', 'events received since: a time, or how long ago, such as 2d')
    .option('--until <when>', 'only events received before')
    .addOption(
      new Option(
        '--what <which>',
        'failed: dead letters; missing: events never sent; retrying: deliveries that wait for another attempt',
      )
        .choices(['failed', 'missing', 'all', 'retrying'])
        .default('all'),
    )
    .option('--force', 'also those with three failed replays')
    .addOption(perSecondOption())
    .option('--dry-run', 'only show what would happen')
    .addOption(whyOption())
    .addOption(formerWhyOption())
    .option('-y, --yes', 'do not ask for confirmation')
  handle<RecoverOptions>(recover, cli, (session, options, name) => runRecover(session, options, String(name)))
}

async function runRecover(session: Session, options: RecoverOptions, name: string): Promise<number> {
  const { api } = session
  const why = whyOf(options)
  const path = `/v1/webhooks/subscriptions/${encodeURIComponent(name)}/recover`
  const body = {
    since: momentText(options.since),
    what: options.what,
    ...(options.until !== undefined && { until: momentText(options.until) }),
    ...(options.force === true && { force: true }),
    ...(options.perSecond !== undefined && { perSecond: options.perSecond }),
    ...(why !== undefined && { reason: why }),
  }
  const preview = await api.post<Preview>(path, { ...body, dryRun: true })
  if (options.dryRun === true) {
    session.show(preview, () => printRecovery(session, preview))
    return EXIT.ok.code
  }
  if (!session.isJson) printRecovery(session, preview)
  if (preview.recovered === 0 && preview.isComplete) {
    if (session.isJson) session.out.json({ replayId: null })
    return EXIT.ok.code
  }
  const more = preview.isComplete ? '' : ' and what comes behind them'
  await confirm(session, `Send ${count(preview.recovered, 'event')}${more} to ${name}?`, options.yes === true)
  const { replayId } = await postWithReason<{ replayId: string }>(session, path, body, '--reason')
  const ended = await watchReplay(session, replayId, 0)
  session.show(ended, () => printReplay(session, ended))
  return ended.refused > 0 ? EXIT.failed.code : EXIT.ok.code
}

function printRecovery(session: Session, preview: Preview): void {
  const { out } = session
  const rows = preview.items.map((item) => [
    out.time(item.receivedAt),
    item.eventId,
    item.subject,
    out.state(item.verdict),
  ])
  if (rows.length > 0) {
    const columns = [
      { title: 'RECEIVED' },
      { title: 'EVENT' },
      { title: 'SUBJECT', min: 16 },
      { title: 'NOW' },
    ]
    out.table(columns, rows)
  }
  const rest = preview.recovered - rows.length
  if (rest > 0) out.line(`… and ${count(rest, 'more', 'more')}`)
  const totals = Object.entries(preview.totals)
    .filter(([, number]) => number > 0)
    .map(([verdict, number]) => `${number.toLocaleString('en')} ${verdict}`)
  out.line(totals.length === 0 ? 'No event since then is for it.' : totals.join(', '))
  if (!preview.isComplete) {
    out.line(
      `Examined ${count(preview.walked, 'event')}, up to ${out.time(preview.walkedTo)}; there are more.`,
    )
  }
}
