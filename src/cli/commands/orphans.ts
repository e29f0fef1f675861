// millrace orphans [id] | correlate, discard, retry: events that found no instance, or several.

import { type Command, Option } from 'commander'
import { ORPHAN_STATES } from '../../core/workflows/orphan/index.ts'
import type { Orphan } from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { postWithReason } from '../input.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'

interface OrphanOptions extends ListOptions {
  readonly state?: string
  readonly workflow?: string
}

export function addOrphanCommands(program: Command, cli: Cli): void {
  const orphans = program
    .command('orphans')
    .argument('[id]', 'one of them')
    .description('list events that found no instance, or several, newest first, or act on one')
    .addOption(new Option('--state <state>', 'only in this state').choices(ORPHAN_STATES))
    .option('--workflow <name>', 'only of this workflow')
    .addOption(limitOption())
  handle<OrphanOptions>(orphans, cli, (session, options, id) =>
    id === undefined ? listOrphans(session, options) : showOrphan(session, id),
  )

  const correlate = orphans
    .command('correlate')
    .argument('<id>', 'an orphan')
    .description('say to which instance it belongs')
    .requiredOption('--instance <id>', 'the instance')
    .option('--reason <text>', 'why; it is kept')
  handle<{ instance: string; reason?: string }>(correlate, cli, (session, { instance, reason }, id) =>
    act(session, String(id), 'correlate', { instance, ...(reason !== undefined && { reason }) }),
  )
  const discard = orphans
    .command('discard')
    .argument('<id>', 'an orphan')
    .description('nobody will do anything about it; its event is kept')
    .option('--reason <text>', 'why; it is kept')
  handle<{ reason?: string }>(discard, cli, (session, { reason }, id) =>
    act(session, String(id), 'discard', reason === undefined ? {} : { reason }),
  )
  const retry = orphans
    .command('retry')
    .argument('<workflow>', 'its name')
    .description('look again for the instances of a workflow’s open orphans')
  handle(retry, cli, async (session, _options, workflow) => {
    const answer = await session.api.post<Answer<'retryOrphans'>>('/v1/orphans/retry', { workflow })
    session.show(answer, ({ tried, found }) =>
      session.out.line(`${tried} tried, ${found} found their instance`),
    )
  })
}

async function listOrphans(session: Session, { state, workflow, limit }: OrphanOptions): Promise<void> {
  const page = await readPages<Orphan>(session, '/v1/orphans', { state, workflow }, limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'SINCE' },
      { title: 'ID' },
      { title: 'STATE' },
      { title: 'WORKFLOW', min: 10 },
      { title: 'FOUND' },
      { title: 'KEYS', min: 10 },
      { title: 'EVENT' },
    ]
    out.table(
      columns,
      items.map((one) => [
        out.time(one.createdAt),
        one.id,
        out.state(one.state),
        one.workflow,
        one.reason,
        one.keys,
        one.eventId,
      ]),
    )
    noteRest(session, page, 'No orphans.')
  })
}

async function showOrphan(session: Session, id: string): Promise<void> {
  const orphan = await session.api.get<Orphan>(`/v1/orphans/${encodeURIComponent(id)}`)
  session.show(orphan, () => print(session, orphan))
}

async function act(session: Session, id: string, verb: string, body: object): Promise<void> {
  const path = `/v1/orphans/${encodeURIComponent(id)}/${verb}`
  const orphan = await postWithReason<Orphan>(session, path, body as Record<string, unknown>, '--reason')
  session.show(orphan, () => print(session, orphan))
}

function print({ out }: Session, orphan: Orphan): void {
  out.fields([
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
  ])
}
