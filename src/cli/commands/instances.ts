// millrace instances [id] | why, history, fire, move, edit, retry, cancel, migrate: running instances, and operator
// actions on them.

import { type Command, Option } from 'commander'
import { type JsonValue, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import { ATTENTIONS, INSTANCE_STATES } from '../../core/workflows/instance/index.ts'
import type { Instance, InstanceChange, InstanceDetail, InstanceHistory } from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session, wholeNumber } from '../command.ts'
import { usageError } from '../failure.ts'
import { postWithReason, readJsonInput } from '../input.ts'
import { prettyJson } from '../output.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { action, printTable, REASON } from '../resource.ts'

interface InstanceOptions extends ListOptions {
  readonly at?: string
  readonly workflow?: string
  readonly state?: string
  readonly place?: string
  readonly attention?: string
}

const FIRING_MAX = 999_999_999

export function addInstanceCommands(program: Command, cli: Cli): void {
  const instances = program
    .command('instances')
    .argument('[id]', 'one instance, with its data and its history')
    .description('list the instances of a workflow, show one as it is or was, or act on one')
    .option('--at <moment>', 'its state at an instant, or after the step with this number')
    .option('--workflow <name>', 'only of this workflow')
    .addOption(new Option('--state <state>', 'only in this state').choices(INSTANCE_STATES))
    .option('--place <place>', 'only active ones with a token there')
    .addOption(
      new Option('--attention <why>', 'only those that need attention').choices([...ATTENTIONS, 'any']),
    )
    .addOption(limitOption())
  handle<InstanceOptions>(instances, cli, (session, options, id) =>
    id === undefined ? listInstances(session, options) : showInstance(session, id, options.at),
  )

  const act = (verb: string, description: string) =>
    instances.command(verb).argument('<id>', 'an instance').description(description)
  const withReason = (command: Command) => command.option('--reason <text>', 'the reason (recorded)')

  const why = act('why', 'show why transitions can or cannot fire').argument('[transition]', 'only this one')
  handle(why, cli, (session, _options, id, transition) => explain(session, String(id), transition))

  const history = act('history', 'list everything that happened to it, oldest first').addOption(limitOption())
  handle<ListOptions>(history, cli, (session, options, id) => listHistory(session, String(id), options.limit))

  const fire = act('fire', 'fire a transition manually')
    .argument('<transition>', 'its name')
    .option('--input <file>', 'the input of the transition, as JSON; - reads stdin')
    .option('--comment <text>', 'a comment, recorded in the history')
  handle<{ input?: string; comment?: string }>(fire, cli, async (session, options, id, transition) => {
    const { input, comment } = options
    const answer = await session.api.post<InstanceDetail>(pathOf(String(id), 'fire'), {
      transition,
      ...(input !== undefined && { input: await readJsonInput(session, input) }),
      ...(comment !== undefined && { comment }),
    })
    session.show(answer, () => printLine(session, answer))
  })

  const move = withReason(act('move', 'move tokens without firing a transition'))
    .requiredOption('--from <place...>', 'their current places; a place may be repeated')
    .requiredOption('--to <place...>', 'their new places')
  handle<{ from: readonly string[]; to: readonly string[]; reason?: string }>(
    move,
    cli,
    async (session, { from, to, reason }, id) => {
      const body = { from, to, ...given(reason) }
      const answer = await decide<InstanceDetail>(session, String(id), 'move', body)
      session.show(answer, () => printLine(session, answer))
    },
  )

  const edit = withReason(act('edit', 'change its data; --dry-run shows the difference first'))
    .option('--set <path=json...>', 'such as data.city="Ulm" or data.count=3')
    .option('--remove <path...>', 'fields to remove')
    .option('--dry-run', 'only show what would change')
  handle<EditOptions>(edit, cli, (session, options, id) => editData(session, String(id), options))

  const retry = withReason(act('retry', 'retry the step that failed')).addOption(
    new Option('--firing <number>', 'the firing, if several failed').argParser(wholeNumber(1, FIRING_MAX)),
  )
  handle<{ firing?: number; reason?: string }>(retry, cli, async (session, { firing, reason }, id) => {
    const body = { ...(firing !== undefined && { firing }), ...given(reason) }
    const answer = await decide<Answer<'retryInstance'>>(session, String(id), 'retry', body)
    session.show(answer, () => session.out.line(`firing ${answer.firing} continues as ${answer.workId}`))
  })

  action({
    verb: 'cancel',
    on: ['id', 'an instance'],
    description: 'cancel it; completed steps are not undone',
    operation: 'cancelInstance',
    options: [REASON],
    asksWhy: true,
    print: (one, session) => printLine(session, one),
  })(instances, cli)

  const migrate = withReason(act('migrate', 'migrate it to the deployed version')).option(
    '--dry-run',
    'only show what would change',
  )
  handle<{ dryRun?: boolean; reason?: string }>(migrate, cli, async (session, { dryRun, reason }, id) => {
    const body = { ...(dryRun === true && { dryRun }), ...given(reason) }
    const answer = await decide<Answer<'migrateInstance'>>(session, String(id), 'migrate', body)
    session.show(answer, () => {
      const { out } = session
      const verb = dryRun === true ? 'would go' : 'went'
      if (!answer.ok) return out.line(`${answer.id} stays on ${answer.from}: ${answer.message}`)
      out.line(`${answer.id} ${verb} from ${answer.from} to ${answer.to}`)
      if (answer.successor !== null) out.line(`  ${answer.successor} took over`)
      out.line(`  ${markingText(answer.before)} → ${markingText(answer.after)}`)
      printChanges(session, answer.changes)
    })
    return answer.ok ? 0 : 1
  })
}

interface EditOptions {
  readonly set?: readonly string[]
  readonly remove?: readonly string[]
  readonly dryRun?: boolean
  readonly reason?: string
}

async function editData(session: Session, id: string, options: EditOptions): Promise<void> {
  const { set = [], remove = [], dryRun, reason } = options
  const changes = [...set.map(readSetting), ...remove.map((path) => ({ path }))]
  if (changes.length === 0) throw usageError('nothing is to be changed', 'Say what with --set or --remove.')
  const body = { changes, ...(dryRun === true && { dryRun }), ...given(reason) }
  const answer = await decide<Answer<'editInstance'>>(session, id, 'edit', body)
  session.show(answer, () => {
    const { out } = session
    out.line(dryRun === true ? `${id} would change:` : `${id} changed:`)
    printChanges(session, answer.changes)
    if (answer.fires.length > 0) out.line(`  fires ${answer.fires.join(', ')}`)
    if (answer.instance !== undefined) printLine(session, answer.instance)
  })
}

/** A value that is not JSON is meant as text: shells remove the quotes. */
function readSetting(text: string): { readonly path: string; readonly value: JsonValue } {
  const at = text.indexOf('=')
  if (at <= 0) throw usageError(`‘${text}’ is not a path with a value`, 'Write data.city="Ulm".')
  const value = text.slice(at + 1)
  try {
    return { path: text.slice(0, at), value: parseJson(value) }
  } catch {
    return { path: text.slice(0, at), value }
  }
}

const given = (reason: string | undefined) => (reason === undefined ? {} : { reason })

function pathOf(id: string, verb: string): string {
  return `/v1/instances/${encodeURIComponent(id)}/${verb}`
}

function decide<Done>(session: Session, id: string, verb: string, body: Readonly<Record<string, unknown>>) {
  return postWithReason<Done>(session, pathOf(id, verb), body, '--reason')
}

async function listInstances(session: Session, options: InstanceOptions): Promise<void> {
  const { workflow, state, place, attention } = options
  if (workflow === undefined)
    throw usageError('an instance or a workflow must be named', 'Write its id, or --workflow <name>.')
  const path = `/v1/workflows/${encodeURIComponent(workflow)}/instances`
  const page = await readPages<Instance>(session, path, { state, place, attention }, options.limit)
  session.show(page, ({ items }) => {
    printTable(
      session,
      [
        ['ID', (one) => one.id],
        ['VERSION', (one) => one.version],
        ['STATE', (one, { out }) => out.state(one.state)],
        ['ATTENTION', (one) => one.attention ?? ''],
        ['TOKENS', (one) => markingText(one.marking), 10],
        ['CHANGED', (one, { out }) => out.time(one.updatedAt)],
      ],
      items,
    )
    noteRest(session, page, 'No instances.')
  })
}

async function showInstance(session: Session, id: string, at: string | undefined): Promise<void> {
  const found = await session.api.get<InstanceDetail>(`/v1/instances/${encodeURIComponent(id)}`, { at })
  session.show(found, () => {
    const { out } = session
    out.fields([
      ['id', found.id],
      ['workflow', `${found.workflow} ${found.version}`],
      ['state', out.state(found.state)],
      ['attention', found.attention],
      ['tokens', markingText(found.marking)],
      ['waits for', found.waitsFor],
      ['keys', found.correlations.map(({ name, value }) => `${name}=${value}`).join(' ') || null],
      ['event', found.eventId],
      ['parent', found.parent],
      ['children', found.children.join(' ') || null],
      ['began', out.time(found.createdAt)],
      ['ended', found.endedAt === null ? null : out.time(found.endedAt)],
      ['failure', found.failure === null ? null : `${found.failure.name}: ${found.failure.error}`],
      ['as of', found.at === undefined ? null : `step ${found.at.sequence}, ${out.time(found.at.time)}`],
    ])
    for (const { number, name, state } of found.firings) out.line(`  firing ${number}  ${name}  ${state}`)
    out.line(`\n${prettyJson(found.data)}\n`)
    printHistory(session, found.history)
  })
}

async function listHistory(session: Session, id: string, limit: number): Promise<void> {
  const items: InstanceHistory[] = []
  let after: number | null = 0
  while (after !== null && items.length < limit) {
    const page: Answer<'listInstanceHistory'> = await session.api.get(pathOf(id, 'history'), {
      after,
      limit: Math.min(500, limit - items.length),
    })
    items.push(...page.items)
    after = page.nextAfter
  }
  session.show({ items, nextAfter: after }, () => printHistory(session, items))
}

function printHistory(session: Session, history: readonly InstanceHistory[]): void {
  const moved = ({ took = [], put = [] }: InstanceHistory) =>
    took.length + put.length === 0 ? '' : `${took.join('+')} → ${put.join('+')}`
  printTable(
    session,
    [
      ['STEP', (one) => one.sequence, 'right'],
      ['AT', (one, { out }) => out.time(one.at)],
      ['WHAT', (one) => one.type],
      ['NAME', (one) => one.name ?? ''],
      ['TOKENS', moved],
      ['BY', (one) => one.actor ?? ''],
      [
        'MORE',
        (one) => one.error ?? one.comment ?? (one.changes ?? []).map(({ path }) => path).join(' '),
        12,
      ],
    ],
    history,
  )
}

async function explain(session: Session, id: string, transition: string | undefined): Promise<void> {
  const answer = await session.api.get<Answer<'explainInstance'>>(pathOf(id, 'why'), { transition })
  session.show(answer, ({ transitions }) => {
    const { out } = session
    for (const { name, canFire, rules } of transitions) {
      out.line(`${name}  ${canFire ? out.colors.green('can fire') : out.colors.yellow('cannot fire')}`)
      for (const { rule, holds, message } of rules)
        out.line(`  ${holds ? out.colors.green('yes') : out.colors.red('no ')}  ${rule}: ${message}`)
    }
  })
}

function printChanges({ out }: Session, changes: readonly InstanceChange[]): void {
  for (const { path, before, after, hidden } of changes) {
    if (hidden === true) out.line(`  ${path}`)
    else out.line(`  ${path}: ${shown(before)} → ${shown(after)}`)
  }
}

const shown = (value: unknown) => (value === undefined ? 'nothing' : stringifyJson(value as JsonValue))

function printLine({ out }: Session, { id, state, marking }: InstanceDetail): void {
  out.line(`${id} is ${state}: ${markingText(marking)}`)
}

/** `review 2, closed` */
export function markingText(marking: Readonly<Record<string, number>>): string {
  return Object.entries(marking)
    .map(([place, tokens]) => (tokens === 1 ? place : `${place} ${tokens}`))
    .join(', ')
}

/** `3 on 1.0.0, 2 on 1.1.0` */
export function countsText(
  versions: readonly { readonly version: string; readonly count: number }[],
): string {
  return versions.length === 0
    ? '0'
    : versions.map(({ version, count }) => `${count} on ${version}`).join(', ')
}
