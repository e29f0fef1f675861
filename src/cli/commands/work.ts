// millrace work [id] | work resolve, probe, retry, cancel: jobs.

import { type Command, Option } from 'commander'
import { WORK_STATES } from '../../core/queue/work/index.ts'
import type { Work, WorkStory } from '../../sdk/client/index.ts'
import { printAttempt } from '../attempts.ts'
import { type Cli, handle, type Session } from '../command.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'

interface WorkOptions extends ListOptions {
  readonly state?: string
  readonly consumer?: string
  readonly class?: string
}

interface DecisionOptions {
  readonly as?: string
  readonly reason?: string
}

export function addWorkCommands(program: Command, cli: Cli): void {
  const work = program
    .command('work')
    .argument('[id]', 'one work item, with its attempts')
    .description('list work items, newest first, show one, or decide about one')
    .addOption(new Option('--state <state>', 'only in this state').choices(WORK_STATES))
    .option('--consumer <route>', 'only of this route')
    .option('--class <class>', 'only with this failure class')
    .addOption(limitOption())
  handle<WorkOptions>(work, cli, (session, options, id) =>
    id === undefined ? listWork(session, options) : showWork(session, id),
  )

  const resolve = work
    .command('resolve')
    .argument('<id>', 'a parked work item')
    .description('say what became of an effect whose outcome is unknown')
    .addOption(
      new Option('--as <outcome>', 'done: it is there; released: it is not, call again')
        .choices(['done', 'released'])
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'how you know; it is kept')
  const probe = work
    .command('probe')
    .argument('<id>', 'a parked work item')
    .description('ask the vendor again whether the effect is there')
    .option('--reason <text>', 'why; it is kept')
  const retry = work
    .command('retry')
    .argument('<id>', 'a waiting or parked work item')
    .description('try again now')
    .option('--reason <text>', 'why; it is kept')
  const cancel = work
    .command('cancel')
    .argument('<id>', 'a work item that is not final')
    .description('do not do it at all')
    .requiredOption('--reason <text>', 'why; it is kept')
  const leaveLane = work
    .command('leave-lane')
    .argument('<id>', 'a dead or parked work item that holds its lane up')
    .description('let those behind it go on; the item itself stays as it is')
    .requiredOption('--reason <text>', 'why; it is kept')
  for (const [command, verb] of [
    [resolve, 'resolve'],
    [probe, 'probe'],
    [retry, 'retry'],
    [cancel, 'cancel'],
    [leaveLane, 'leave-lane'],
  ] as const) {
    handle<DecisionOptions>(command, cli, async (session, { as, reason }, id) => {
      const path = `/v1/work/${encodeURIComponent(String(id))}/${verb}`
      const item = await session.api.post<Work>(path, {
        ...(as !== undefined && { as }),
        ...(reason !== undefined && { reason }),
      })
      session.show(item, () => printWork(session, item))
    })
  }

  const lanes = program
    .command('lanes')
    .description('list items that hold their lanes up, newest first')
    .addOption(limitOption())
  handle<ListOptions>(lanes, cli, listHeldLanes)
}

async function listWork(session: Session, options: WorkOptions): Promise<void> {
  const { state, consumer } = options
  const query = { state, consumer, class: options.class }
  const page = await readPages<Work>(session, '/v1/work', query, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'ID' },
      { title: 'CONSUMER', min: 10 },
      { title: 'STATE' },
      { title: 'TRIES', align: 'right' as const },
      { title: 'DUE' },
      { title: 'KEY', min: 8 },
      { title: 'ERROR', min: 10 },
    ]
    const rows = items.map((work) => [
      work.id,
      work.consumer,
      out.state(work.state),
      work.attempts,
      out.time(work.dueAt),
      work.key,
      work.class === undefined ? (work.lastError ?? '') : `${work.class}: ${work.lastError ?? ''}`,
    ])
    out.table(columns, rows)
    noteRest(session, page, 'No work items.')
  })
}

interface HeldLane {
  readonly route: string
  readonly lane: string
  readonly waiting: number
  readonly work: Work
}

async function listHeldLanes(session: Session, options: ListOptions): Promise<void> {
  const page = await readPages<HeldLane>(session, '/v1/lanes/held', {}, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'ROUTE', min: 10 },
      { title: 'LANE', min: 8 },
      { title: 'WAITING', align: 'right' as const },
      { title: 'HELD BY' },
      { title: 'STATE' },
      { title: 'ERROR', min: 10 },
    ]
    const rows = items.map(({ route, lane, waiting, work }) => [
      route,
      lane,
      waiting,
      work.id,
      out.state(work.state),
      work.lastError ?? '',
    ])
    out.table(columns, rows)
    noteRest(session, page, 'No lane is held up.')
  })
}

async function showWork(session: Session, id: string): Promise<void> {
  const item = await session.api.get<WorkStory>(`/v1/work/${encodeURIComponent(id)}`)
  session.show(item, () => {
    printWork(session, item)
    for (const attempt of item.history ?? []) printAttempt(session, attempt)
  })
}

function printWork(session: Session, item: Work): void {
  const { out } = session
  out.fields([
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
  ])
}
