// millrace workflows [name] | start, migrate: what is deployed, and the state of its instances.

import type { Command } from 'commander'
import type { Workflow, WorkflowDetail } from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { postWithReason, readJsonInput } from '../input.ts'
import { countsText, markingText } from './instances.ts'

interface MigrateOptions {
  readonly from?: string
  readonly dryRun?: boolean
  readonly reason?: string
}

export function addWorkflowCommands(program: Command, cli: Cli): void {
  const workflows = program
    .command('workflows')
    .argument('[name]', 'one workflow, with its places and transitions')
    .description('list the workflows in force, show one, start or migrate instances')
  handle(workflows, cli, (session, _options, name) =>
    name === undefined ? listWorkflows(session) : showWorkflow(session, name),
  )

  const start = workflows
    .command('start')
    .argument('<workflow>', 'its name')
    .description('begin an instance by hand')
    .option('--input <file>', 'what its trigger takes, as JSON; - reads stdin')
    .option('--metadata <file>', 'kept beside the data, as a JSON object')
    .option('--trigger <id>', 'which of its manual triggers; the first otherwise')
  handle<{ input?: string; metadata?: string; trigger?: string }>(
    start,
    cli,
    async (session, options, name) => {
      const { input, metadata, trigger } = options
      const path = `/v1/workflows/${encodeURIComponent(String(name))}/instances`
      const answer = await session.api.post<Answer<'startInstance'>>(path, {
        ...(input !== undefined && { input: await readJsonInput(session, input) }),
        ...(metadata !== undefined && { metadata: await readJsonInput(session, metadata) }),
        ...(trigger !== undefined && { trigger }),
      })
      session.show(answer, () => session.out.line(`${answer.instanceId} began`))
    },
  )

  const migrate = workflows
    .command('migrate')
    .argument('<workflow>', 'its name')
    .description('bring its active instances to the version in force')
    .option('--from <version>', 'only those on this version')
    .option('--dry-run', 'only say what would change')
    .option('--reason <text>', 'why; it is kept')
  handle<MigrateOptions>(migrate, cli, (session, options, name) =>
    migrateMany(session, String(name), options),
  )
}

async function listWorkflows(session: Session): Promise<void> {
  const answer = await session.api.get<Answer<'listWorkflows'>>('/v1/workflows')
  session.show(answer, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'NAME', min: 10 },
      { title: 'VERSION' },
      { title: 'STATUS' },
      { title: 'ACTIVE', align: 'right' as const },
      { title: 'ATTENTION', align: 'right' as const },
      { title: 'DESCRIPTION', min: 12 },
    ]
    out.table(
      columns,
      items.map((one: Workflow) => [
        one.name,
        one.version,
        out.state(one.status),
        one.counts.active,
        one.counts.attention,
        one.description ?? '',
      ]),
    )
    if (out.isTty && items.length === 0) out.note('No workflows are in force that you may see.')
  })
}

async function showWorkflow(session: Session, name: string): Promise<void> {
  const found = await session.api.get<WorkflowDetail>(`/v1/workflows/${encodeURIComponent(name)}`)
  session.show(found, () => {
    const { out } = session
    out.fields([
      ['name', found.name],
      ['version', found.version],
      ['status', out.state(found.status)],
      ['description', found.description],
      ['active', countsText(found.versions)],
      ['attention', found.counts.attention],
    ])
    out.line()
    const places = [
      { title: 'PLACE', min: 10 },
      { title: 'TYPE' },
      { title: 'TOKENS', align: 'right' as const },
    ]
    out.table(
      places,
      found.net.places.map((place) => [place.name, place.type, place.tokens]),
    )
    out.line()
    const columns = [
      { title: 'TRANSITION', min: 10 },
      { title: 'FROM' },
      { title: 'TO' },
      { title: 'ON' },
      { title: 'DOES' },
      { title: 'PERMISSION' },
    ]
    out.table(
      columns,
      found.net.transitions.map((one) => [
        one.name,
        [...one.from, ...one.fromAny].join(one.fromAny.length > 0 ? '|' : '+'),
        one.to.join('+'),
        one.on,
        one.action ?? '',
        one.permission ?? '',
      ]),
    )
  })
}

type Migrated = Answer<'migrateInstances'>

/** Page by page, until all were processed. */
async function migrateMany(session: Session, name: string, options: MigrateOptions): Promise<number> {
  const { from, dryRun, reason } = options
  const { out } = session
  const progress = out.progress()
  const items: Migrated['items'][number][] = []
  let [migrated, refused, left] = [0, 0, 0]
  let cursor: string | null = null
  let said = reason
  do {
    const body: Record<string, unknown> = {
      ...(from !== undefined && { from }),
      ...(dryRun === true && { dryRun }),
      ...(said !== undefined && { reason: said }),
      ...(cursor !== null && { cursor }),
    }
    const path = `/v1/workflows/${encodeURIComponent(name)}/migrate`
    const page: Migrated =
      cursor === null
        ? await postWithReason<Migrated>(session, path, body, '--reason')
        : await session.api.post<Migrated>(path, body)
    items.push(...page.items)
    migrated += page.migrated
    refused += page.refused
    left = page.left
    cursor = page.nextCursor
    said ??= 'as said for the instances before'
    progress.update(`${items.length} instances looked at, ${left} left`)
  } while (cursor !== null)
  progress.end()
  session.show({ items, migrated, refused, left }, () => {
    const columns = [
      { title: 'INSTANCE' },
      { title: 'FROM' },
      { title: 'TO' },
      { title: 'RESULT' },
      { title: 'BEFORE' },
      { title: 'AFTER' },
      { title: 'WHAT', min: 12 },
    ]
    out.table(
      columns,
      items.map((one) => [
        one.id,
        one.from,
        one.to,
        out.state(one.ok ? (dryRun === true ? 'update' : 'done') : 'refused'),
        markingText(one.before),
        markingText(one.after),
        one.ok ? `${one.changes.length} changes of data` : one.message,
      ]),
    )
    const told = dryRun === true ? `${items.length - refused} can be migrated` : `${migrated} migrated`
    out.note(`${told}, ${refused} refused.`)
  })
  return refused > 0 ? 1 : 0
}
