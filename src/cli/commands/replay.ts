// millrace replay | replay events | replays: many dead letters or events at once, with a preview before anything
// happens.

import { setTimeout as wait } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { confirm, postWithReason } from '../input.ts'
import { formerWhyOption, refuseFormerFilter, type WhyOptions, whyOf, whyOption } from '../reasons.ts'
import { action, resource } from '../resource.ts'
import { momentText } from '../since.ts'
import { count } from '../text.ts'

type Replay = Answer<'getReplay'>
type ReplayPreview = Extract<Answer<'replayDeadLetters'>, { readonly totals: unknown }>

interface ReplayOptions extends WhyOptions {
  readonly class?: string
  readonly consumer?: string
  readonly withReason?: string
  readonly cause?: string
  readonly withKey?: string
  readonly correlation?: string
  readonly severity?: string
  readonly from?: string
  readonly to?: string
  readonly state?: string
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly again?: boolean
  readonly perSecond?: number
  readonly yes?: boolean
}

export function addReplayCommands(program: Command, cli: Cli): void {
  const replay = program
    .command('replay')
    .argument('[ids...]', 'dead letters; or select them with options')
    .description('replay dead letters, after a preview')
    .option('--class <class>', 'those with this failure class')
    .option('--consumer <route>', 'those of this route')
    .option('--with-reason <reason>', 'those with this reason, such as cap_reached')
    .option('--cause <cause>', 'those of this group')
    .option('--with-key <key>', 'those under this idempotency key')
    .option('--correlation <id>', 'those with this correlation id')
    .option('--severity <severity>', 'those of this severity')
    .option('--from <when>', 'those dead-lettered since: a time, or how long ago, such as 2h')
    .option('--to <when>', 'those dead-lettered before')
    .addOption(new Option('--state <state>', 'those in this state').choices(['open', 'ready_to_replay']))
    .option('--all', 'all open dead letters')
    .option('--dry-run', 'only show what would happen')
    .option('--force', 'also those with three failed replays')
    .option('--again', 'repeat effects that already happened; needs a reason')
    .addOption(perSecondOption())
    .addOption(whyOption())
    .addOption(formerWhyOption())
    .option('-y, --yes', 'do not ask for confirmation')
  handle<ReplayOptions>(replay, cli, (session, options, ids) =>
    runReplay(session, options, (ids ?? []) as unknown as readonly string[]),
  )
  addReplayEvents(replay, cli)
  addReplays(program, cli)
}

const addReplays = resource({
  command: 'replays',
  on: ['id', 'one replay'],
  description: 'list bulk replays, newest first, or show one',
  list: { operation: 'listReplays' },
  show: { operation: 'getReplay', more: (one, session) => printReplay(session, one) },
  actions: [
    action({
      verb: 'cancel',
      on: ['id', 'a replay that is running'],
      description: 'stop a replay; jobs that have started continue',
      operation: 'cancelReplay',
      print: (one, session) => printReplay(session, one),
    }),
  ],
})

export function perSecondOption(): Option {
  return new Option('--per-second <number>', 'at most this number per second').argParser((text) => {
    const value = Number(text)
    if (!(value > 0)) throw new InvalidArgumentError('Write a number above 0.')
    return value
  })
}

const SHOWN_MAX = 20
const POLL_MS = 250

interface Choices {
  readonly path: '/v1/dead-letters/replay' | '/v1/events/replay' | '/v1/webhooks/deliveries/retry'
  readonly body: Readonly<Record<string, unknown>>
  readonly what: string
  /** Plural; omitted: with an s. */
  readonly many?: string
  readonly dryRun: boolean
  readonly isSaid: boolean
}

async function runReplay(session: Session, options: ReplayOptions, ids: readonly string[]): Promise<number> {
  refuseFormerFilter(options)
  const why = whyOf(options)
  return replay(session, {
    path: '/v1/dead-letters/replay',
    body: {
      filter: readFilter(options, ids),
      ...(options.force === true && { force: true }),
      ...(options.again === true && { again: true }),
      ...(options.perSecond !== undefined && { perSecond: options.perSecond }),
      ...(why !== undefined && { reason: why }),
    },
    what: 'dead letter',
    dryRun: options.dryRun === true,
    isSaid: options.yes === true,
  })
}

/** Shows what would happen, asks, and waits until it is over. */
export async function replay(session: Session, choices: Choices): Promise<number> {
  const { path, body, what, many, dryRun, isSaid } = choices
  const { api, out } = session
  const preview = await api.post<Preview>(path, { ...body, dryRun: true })
  if (dryRun) {
    session.show(preview, () => printPreview(session, preview))
    return EXIT.ok.code
  }
  if (!session.isJson) printPreview(session, preview)
  if (preview.items.length === 0) {
    if (path === '/v1/dead-letters/replay')
      out.note('Only open ones are replayed; --state ready_to_replay selects those marked ready.')
    if (session.isJson) out.json({ replayId: null, accepted: 0 })
    return EXIT.ok.code
  }
  await confirm(session, `Replay ${count(preview.matched, what, many)}?`, isSaid)
  const { replayId, accepted } = await postWithReason<{ replayId: string; accepted: number }>(
    session,
    path,
    body,
    '--reason',
  )
  const ended = await watchReplay(session, replayId, accepted)
  session.show(ended, () => printReplay(session, ended))
  return ended.refused > 0 ? EXIT.failed.code : EXIT.ok.code
}

function readFilter(options: ReplayOptions, ids: readonly string[]): object {
  const { consumer, cause, state } = options
  const chosen = {
    class: options.class,
    consumer,
    reason: options.withReason,
    cause,
    state,
    key: options.withKey,
    correlationId: options.correlation,
    severity: options.severity,
    from: momentText(options.from),
    to: momentText(options.to),
  }
  const given = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined))
  const hasFilter = Object.keys(given).length > 0
  if (ids.length > 0) {
    if (hasFilter || options.all === true) throw usageError('name dead letters, or select them with options')
    return { ids }
  }
  if (!hasFilter && options.all !== true) {
    throw usageError(
      'which dead letters?',
      'Name their ids, or use --class, --consumer, --with-reason, --all.',
    )
  }
  return hasFilter && state !== undefined ? given : { ...given, state: 'open' }
}

/** One row per dead letter, or per event and route that would process it. */
type Preview = ReplayPreview | Extract<Answer<'replayEvents'>, { readonly totals: unknown }>

function printPreview(session: Session, preview: Preview): void {
  const { out } = session
  const shown = preview.items.slice(0, SHOWN_MAX)
  const [first] = shown
  if (first !== undefined && 'consumers' in first) {
    const rows = shown.flatMap((item) => {
      if (!('consumers' in item)) return []
      if (item.consumers.length === 0) return [[item.id, item.subject, '', '', 'no route selects it']]
      return item.consumers.map(({ name, verdict, reason }) => [
        item.id,
        item.subject,
        name,
        out.state(verdict),
        reason,
      ])
    })
    out.table(
      [
        { title: 'ID' },
        { title: 'SUBJECT', min: 16 },
        { title: 'CONSUMER', min: 10 },
        { title: 'VERDICT' },
        { title: 'WHY', min: 16 },
      ],
      rows,
    )
  } else if (shown.length > 0) {
    const rows = shown.flatMap((item) =>
      'verdict' in item ? [[item.id, out.state(item.verdict), item.reason]] : [],
    )
    out.table([{ title: 'ID' }, { title: 'VERDICT' }, { title: 'WHY', min: 16 }], rows)
  }
  printDifferences(session, shown)
  const rest = preview.matched - shown.length
  if (rest > 0) out.line(`… and ${rest} more`)
  const totals = Object.entries(preview.totals)
    .filter(([, number]) => number > 0)
    .map(([verdict, number]) => `${number} ${verdict}`)
  const calls = Object.entries(preview.calls).map(([host, number]) => `${count(number, 'call')} to ${host}`)
  const words = [...totals, ...calls]
  if (words.length > 0) out.line(words.join(', '))
  for (const { route, host, calls: number, perMinute, minutes } of preview.cost) {
    if (perMinute === null) continue
    out.line(`${count(number, 'call')} of ${route} to ${host} at ${perMinute} a minute: ${minutes} min`)
  }
  if (words.length === 0 && shown.length === 0) out.line('There is nothing to replay.')
}

const CHANGES_SHOWN_MAX = 5

/** What differs from the earlier attempt, below the table. */
function printDifferences(session: Session, items: Preview['items']): void {
  const { out } = session
  for (const item of items) {
    const judged = 'consumers' in item ? item.consumers : [item]
    for (const { diff = [] } of judged) {
      for (const { of, changes } of diff) {
        for (const { path, before, after } of changes.slice(0, CHANGES_SHOWN_MAX)) {
          const change = `${before ?? 'nothing'} → ${after ?? 'nothing'}`
          out.line(`  ${item.id}  ${of}${path === '' ? '' : ` ${path}`}: ${change}`)
        }
        const rest = changes.length - CHANGES_SHOWN_MAX
        if (rest > 0) out.line(`  ${item.id}  ${of}: … and ${rest} more`)
      }
    }
  }
}

export async function watchReplay(session: Session, id: string, accepted: number): Promise<Replay> {
  const progress = session.out.progress()
  try {
    for (;;) {
      const replay = await session.api.get<Replay>(`/v1/replays/${encodeURIComponent(id)}`)
      if (replay.state !== 'running') return replay
      progress.update(progressText(replay, accepted))
      await wait(POLL_MS, undefined, { signal: session.signal })
    }
  } catch (error) {
    if (session.signal.aborted) progress.end(`${id} continues; ‘millrace replays ${id}’ shows the progress`)
    throw error
  } finally {
    progress.end()
  }
}

/** How many a recovery will find is not known before its end: it shows how far it has scanned. */
function progressText(replay: Replay, accepted: number): string {
  const ended = replay.replayed + replay.refused
  if (replay.walk === undefined) return `replaying ${ended} of ${replay.total || accepted} …`
  const { walked, walkedTo } = replay.walk
  const upTo = walkedTo === null ? '' : `, up to ${walkedTo}`
  return `sent ${ended}; examined ${count(walked, 'event')}${upTo} …`
}

// --- Events

interface ReplayEventsOptions extends WhyOptions {
  readonly source?: string
  readonly subject?: string
  readonly from?: string
  readonly to?: string
  readonly unmatched?: boolean
  readonly system?: boolean
  readonly perSecond?: number
  readonly dryRun?: boolean
  readonly yes?: boolean
}

function addReplayEvents(replay: Command, cli: Cli): void {
  const events = replay
    .command('events')
    .argument('[ids...]', 'events; or select them with options')
    .description('match events again with the deployed definitions, after a preview')
    .option('--source <name>', 'those of this source')
    .option('--subject <subject>', 'those with this subject')
    .option('--from <when>', 'those received since: a time, or how long ago, such as 2h')
    .option('--to <when>', 'those received before')
    .option('--unmatched', 'unmatched events')
    .option('--system', 'also the events about Millrace itself')
    .addOption(perSecondOption())
    .option('--dry-run', 'only show what would happen')
    .addOption(whyOption())
    .addOption(formerWhyOption())
    .option('-y, --yes', 'do not ask for confirmation')
  handle<ReplayEventsOptions>(events, cli, (session, options, ids) =>
    replayEvents(session, options, (ids ?? []) as unknown as readonly string[]),
  )
}

function replayEvents(
  session: Session,
  options: ReplayEventsOptions,
  ids: readonly string[],
): Promise<number> {
  const { source, subject } = options
  const why = whyOf(options)
  const chosen = Object.entries({
    source,
    subject,
    from: momentText(options.from),
    to: momentText(options.to),
    unmatched: options.unmatched,
    system: options.system,
  }).filter(([, value]) => value !== undefined)
  if (ids.length > 0 && chosen.length > 0) throw usageError('name events, or choose them by options')
  if (ids.length === 0 && chosen.length === 0) {
    throw usageError(
      'which events?',
      'Name their ids, or use --source, --subject, --from, --to, --unmatched, --system.',
    )
  }
  return replay(session, {
    path: '/v1/events/replay',
    body: {
      ...(ids.length > 0 ? { ids } : { filter: Object.fromEntries(chosen) }),
      ...(options.perSecond !== undefined && { perSecond: options.perSecond }),
      ...(why !== undefined && { reason: why }),
    },
    what: 'event',
    dryRun: options.dryRun === true,
    isSaid: options.yes === true,
  })
}

export function printReplay(session: Session, replay: Replay): void {
  const { out } = session
  out.fields([
    ['id', replay.id],
    ['state', out.state(replay.state)],
    ['replayed', `${replay.replayed} of ${replay.total}`],
    ['examined', replay.walk === undefined ? null : count(replay.walk.walked, 'event')],
    ['refused', replay.refused],
    ['by', replay.by],
    ['because', replay.reason],
    ['per second', replay.perSecond],
    ['began', out.time(replay.createdAt)],
    ['ended', replay.finishedAt === null ? null : out.time(replay.finishedAt)],
  ])
}
