// millrace workflows [name] | start, migrate: what is deployed, and the state of its instances.

import type { Command } from 'commander'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { postWithReason, readJsonInput } from '../input.ts'
import { printTable, resource } from '../resource.ts'
import { countsText, markingText } from './instances.ts'

interface MigrateOptions {
  readonly from?: string
  readonly dryRun?: boolean
  readonly reason?: string
}

export const addWorkflowCommands = resource({
  command: 'workflows',
  on: ['name', 'one workflow, with its places and transitions'],
  description: 'list the deployed workflows, show one, start or migrate instances',
  list: {
    operation: 'listWorkflows',
    isWhole: true,
    columns: [
      ['NAME', (one) => one.name, 10],
      ['VERSION', (one) => one.version],
      ['STATUS', (one, { out }) => out.state(one.status)],
      ['ACTIVE', (one) => one.counts.active, 'right'],
      ['ATTENTION', (one) => one.counts.attention, 'right'],
      ['DESCRIPTION', (one) => one.description ?? '', 12],
    ],
    empty: 'No deployed workflows that you may see.',
  },
  show: {
    operation: 'getWorkflow',
    fields: (one, { out }) => [
      ['name', one.name],
      ['version', one.version],
      ['status', out.state(one.status)],
      ['description', one.description],
      ['active', countsText(one.versions)],
      ['attention', one.counts.attention],
    ],
    more: ({ net }, session) => {
      session.out.line()
      printTable(
        session,
        [
          ['PLACE', (one) => one.name, 10],
          ['TYPE', (one) => one.type],
          ['TOKENS', (one) => one.tokens, 'right'],
        ],
        net.places,
      )
      session.out.line()
      printTable(
        session,
        [
          ['TRANSITION', (one) => one.name, 10],
          ['FROM', ({ from, fromAny }) => [...from, ...fromAny].join(fromAny.length > 0 ? '|' : '+')],
          ['TO', (one) => one.to.join('+')],
          ['ON', (one) => one.on],
          ['DOES', (one) => one.action ?? ''],
          ['PERMISSION', (one) => one.permission ?? ''],
        ],
        net.transitions,
      )
    },
  },
  actions: [addStartAndMigrate],
})

function addStartAndMigrate(workflows: Command, cli: Cli): void {
  const start = workflows
    .command('start')
    .argument('<workflow>', 'its name')
    .description('start an instance manually')
    .option('--input <file>', 'the input of its trigger, as JSON; - reads stdin')
    .option('--metadata <file>', 'metadata stored with the instance, as a JSON object')
    .option('--trigger <id>', 'one of its manual triggers; default: the first')
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
      session.show(answer, () => session.out.line(`${answer.instanceId} started`))
    },
  )

  const migrate = workflows
    .command('migrate')
    .argument('<workflow>', 'its name')
    .description('migrate its active instances to the deployed version')
    .option('--from <version>', 'only those on this version')
    .option('--dry-run', 'only show what would change')
    .option('--reason <text>', 'the reason (recorded)')
  handle<MigrateOptions>(migrate, cli, (session, options, name) =>
    migrateMany(session, String(name), options),
  )
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
    progress.update(`${items.length} instances checked, ${left} left`)
  } while (cursor !== null)
  progress.end()
  session.show({ items, migrated, refused, left }, () => {
    printTable(
      session,
      [
        ['INSTANCE', (one) => one.id],
        ['FROM', (one) => one.from],
        ['TO', (one) => one.to],
        ['RESULT', ({ ok }) => out.state(ok ? (dryRun === true ? 'update' : 'done') : 'refused')],
        ['BEFORE', (one) => markingText(one.before)],
        ['AFTER', (one) => markingText(one.after)],
        ['WHAT', (one) => (one.ok ? `${one.changes.length} changes of data` : one.message), 12],
      ],
      items,
    )
    const told = dryRun === true ? `${items.length - refused} can be migrated` : `${migrated} migrated`
    out.note(`${told}, ${refused} refused.`)
  })
  return refused > 0 ? 1 : 0
}
