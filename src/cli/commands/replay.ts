// millrace replay | replays: many dead letters at once. What would happen is shown before anything does.

import { setTimeout as wait } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { confirm } from '../input.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { count } from '../text.ts'

type Replay = Answer<'getReplay'>
type ReplayPreview = Extract<Answer<'replayDeadLetters'>, { readonly totals: unknown }>

interface ReplayOptions {
  readonly class?: string
  readonly consumer?: string
  readonly reason?: string
  readonly cause?: string
  readonly state?: string
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly yes?: boolean
  readonly because?: string
}

export function addReplayCommands(program: Command, cli: Cli): void {
  const replay = program
    .command('replay')
    .argument('[ids...]', 'dead letters; or choose them by the options')
    .description('do the work of dead letters again, after showing what would happen')
    .option('--class <class>', 'those with this failure class')
    .option('--consumer <route>', 'those of this route')
    .option('--reason <reason>', 'those with this reason')
    .option('--cause <cause>', 'those of this group')
    .addOption(new Option('--state <state>', 'those in this state').choices(['open', 'ready_to_replay']))
    .option('--all', 'all that are open')
    .option('--dry-run', 'only show what would happen')
    .option('--force', 'also those that were replayed in vain')
    .option('--because <text>', 'why; it is kept')
    .option('-y, --yes', 'do not ask')
  handle<ReplayOptions>(replay, cli, (session, options, ids) =>
    runReplay(session, options, (ids ?? []) as unknown as readonly string[]),
  )
  const replays = program
    .command('replays')
    .argument('[id]', 'one replay')
    .description('list replays of many, newest first, or show one')
    .addOption(limitOption())
  handle<ListOptions>(replays, cli, listReplays)
  const cancel = replays
    .command('cancel')
    .argument('<id>', 'a replay that is running')
    .description('stop a replay; what was taken up goes on')
  handle(cancel, cli, async (session, _options, id) => {
    const answer = await session.api.post<Replay>(`/v1/replays/${encodeURIComponent(String(id))}/cancel`)
    session.show(answer, () => printReplay(session, answer))
  })
}

const SHOWN_MAX = 20
const POLL_MS = 250

async function runReplay(session: Session, options: ReplayOptions, ids: readonly string[]): Promise<number> {
  const { api, out } = session
  const body = {
    filter: readFilter(options, ids),
    ...(options.force === true && { force: true }),
    ...(options.because !== undefined && { reason: options.because }),
  }
  const preview = await api.post<ReplayPreview>('/v1/dead-letters/replay', { ...body, dryRun: true })
  if (options.dryRun === true) {
    session.show(preview, () => printPreview(session, preview))
    return EXIT.ok.code
  }
  if (!session.isJson) printPreview(session, preview)
  if (preview.items.length === 0) {
    if (session.isJson) out.json({ replayId: null, accepted: 0 })
    return EXIT.ok.code
  }
  await confirm(session, `Replay ${count(preview.items.length, 'dead letter')}?`, options.yes === true)
  const { replayId, accepted } = await api.post<{ replayId: string; accepted: number }>(
    '/v1/dead-letters/replay',
    body,
  )
  const ended = await watchReplay(session, replayId, accepted)
  session.show(ended, () => printReplay(session, ended))
  return ended.refused > 0 ? EXIT.failed.code : EXIT.ok.code
}

function readFilter(options: ReplayOptions, ids: readonly string[]): object {
  const { consumer, reason, cause, state } = options
  const chosen = { class: options.class, consumer, reason, cause, state }
  const given = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined))
  const hasFilter = Object.keys(given).length > 0
  if (ids.length > 0) {
    if (hasFilter || options.all === true) throw usageError('name dead letters, or choose them by options')
    return { ids }
  }
  if (!hasFilter && options.all !== true) {
    throw usageError('which dead letters?', 'Name their ids, or use --class, --consumer, --reason, --all.')
  }
  return hasFilter && state !== undefined ? given : { ...given, state: 'open' }
}

function printPreview(session: Session, preview: ReplayPreview): void {
  const { out } = session
  const rows = preview.items
    .slice(0, SHOWN_MAX)
    .map((item) => [item.id, out.state(item.verdict), item.reason])
  if (rows.length > 0) out.table([{ title: 'ID' }, { title: 'VERDICT' }, { title: 'WHY', min: 16 }], rows)
  const rest = preview.items.length - rows.length
  if (rest > 0) out.line(`… and ${rest} more`)
  const totals = Object.entries(preview.totals)
    .filter(([, number]) => number > 0)
    .map(([verdict, number]) => `${number} ${verdict}`)
  const calls = Object.entries(preview.calls).map(([host, number]) => `${count(number, 'call')} to ${host}`)
  const words = [...totals, ...calls]
  out.line(words.length === 0 ? 'There is nothing to replay.' : words.join(', '))
}

async function watchReplay(session: Session, id: string, accepted: number): Promise<Replay> {
  const progress = session.out.progress()
  try {
    for (;;) {
      const replay = await session.api.get<Replay>(`/v1/replays/${encodeURIComponent(id)}`)
      if (replay.state !== 'running') return replay
      progress.update(`replaying ${replay.replayed + replay.refused} of ${replay.total || accepted} …`)
      await wait(POLL_MS, undefined, { signal: session.signal })
    }
  } catch (error) {
    if (session.signal.aborted) progress.end(`${id} goes on; ‘millrace replays ${id}’ shows how far it is`)
    throw error
  } finally {
    progress.end()
  }
}

function printReplay(session: Session, replay: Replay): void {
  const { out } = session
  out.fields([
    ['id', replay.id],
    ['state', out.state(replay.state)],
    ['replayed', `${replay.replayed} of ${replay.total}`],
    ['refused', replay.refused],
    ['by', replay.by],
    ['began', out.time(replay.createdAt)],
    ['ended', replay.finishedAt === null ? null : out.time(replay.finishedAt)],
  ])
}

async function listReplays(session: Session, options: ListOptions, id?: string): Promise<void> {
  if (id !== undefined) {
    const replay = await session.api.get<Replay>(`/v1/replays/${encodeURIComponent(id)}`)
    return session.show(replay, () => printReplay(session, replay))
  }
  const page = await readPages<Replay>(session, '/v1/replays', {}, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'BEGAN' },
      { title: 'ID' },
      { title: 'STATE' },
      { title: 'REPLAYED', align: 'right' as const },
      { title: 'REFUSED', align: 'right' as const },
      { title: 'TOTAL', align: 'right' as const },
      { title: 'BY', min: 8 },
    ]
    const rows = items.map((replay) => [
      out.time(replay.createdAt),
      replay.id,
      out.state(replay.state),
      replay.replayed,
      replay.refused,
      replay.total,
      replay.by,
    ])
    out.table(columns, rows)
    noteRest(session, page, 'Nothing was replayed yet.')
  })
}
