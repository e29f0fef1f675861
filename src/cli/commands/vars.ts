// millrace vars: values that differ by environment, where each comes from, and what reads it.

import { type Command, Option } from 'commander'
import { ENVIRONMENTS } from '../../core/definitions/documents/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { usageError } from '../failure.ts'
import { addList, type Columns, pathOf } from '../resource.ts'
import { count } from '../text.ts'

type Row = Answer<'getVar'>

const COLUMNS: Columns<Row> = [
  ['NAME', (one) => one.name, 10],
  ['VALUE', (one) => shown(one.value as JsonValue), 16],
  ['FROM', (one) => fromOf(one)],
  ['DEFAULT', (one) => shown(one.default as JsonValue), 8],
  ...ENVIRONMENTS.map(
    (name) => [name, (one: Row) => shown((one.environments[name] ?? null) as JsonValue)] as const,
  ),
  ['DEFINITION', (one) => one.definition],
  ['READ BY', (one) => count(one.readers.length, 'definition')],
]

export function addVarCommands(program: Command, cli: Cli): void {
  const vars = program
    .command('vars')
    .description('values that differ by environment: vars.<name> of definitions')
  const list = vars
    .command('list', { isDefault: true })
    .description('list them, with what each environment has')
  addList(list, cli, {
    operation: 'listVars',
    isWhole: true,
    columns: COLUMNS,
    empty: 'No values yet: `millrace vars set NAME VALUE`, or a document of `kind: Vars`.',
  })
  const get = vars
    .command('get')
    .argument('<name>', 'what follows `vars.`')
    .description('show one, and what reads it')
  handle(get, cli, async (session, _options, name) => {
    const row = await session.api.get<Row>(pathOf('getVar', String(name)))
    session.show(row, () => printOne(session, row))
  })
  const set = vars
    .command('set')
    .argument('<name>', 'what follows `vars.`')
    .argument('<value>', 'a text; a number, true, false, a list or a map as JSON; null takes the value away')
    .description('set one: whatever reads it uses it from then on')
    .addOption(
      new Option('--env <name>', 'where it holds; without it, where no environment has its own').choices([
        ...ENVIRONMENTS,
      ]),
    )
    .option('--text', 'the value is a text, whatever it looks like')
    .option('--definition <name>', 'the document that gets a new name', 'vars')
    .option('--reason <text>', 'why; it is kept')
  handle<SetOptions>(set, cli, async (session, { env, text, definition, reason }, name, value) => {
    const body = {
      value: text === true ? String(value) : readValue(String(value)),
      definition,
      ...(env !== undefined && { environment: env }),
      ...(reason !== undefined && { reason }),
    }
    const answer = await session.api.put<Answer<'setVar'>>(pathOf('setVar', String(name)), body)
    session.show(answer, ({ version, changes }) => {
      const changed = changes.filter(({ change }) => change !== 'unchanged')
      if (changed.length === 0) session.out.line(`vars.${name} had that value: nothing changed`)
      else session.out.line(`vars.${name} is set, in version ${version}`)
      for (const { kind, name: of } of changed)
        if (kind !== 'Vars') session.out.line(`${kind} ${of} was deployed again with it`)
    })
  })
}

interface SetOptions {
  readonly env?: string
  readonly text?: boolean
  readonly definition: string
  readonly reason?: string
}

function printOne(session: Session, row: Row): void {
  const { out } = session
  out.fields([
    ['Name', row.name],
    ['Value', shown(row.value as JsonValue)],
    ['From', fromOf(row)],
    ['Default', shown(row.default as JsonValue)],
    ...Object.entries(row.environments).map(([name, value]) => [name, shown(value as JsonValue)] as const),
    ['Definition', `${row.definition} (${row.managedBy})`],
    ['Read by', row.readers.map(({ kind, name }) => `${kind} ${name}`).join(', ') || 'nothing'],
  ])
  if (row.differsOn.length > 0)
    out.line(`Settings of ${row.differsOn.join(', ')} give another value: give all nodes the same.`)
}

function fromOf({ from, setting }: Row): string {
  return setting ?? from
}

function shown(value: JsonValue): string {
  return value === null ? '' : typeof value === 'string' ? value : stringifyJson(value)
}

/** What is JSON is meant as JSON; everything else is a text. */
function readValue(text: string): JsonValue {
  try {
    return parseJson(text)
  } catch {
    if (/^[[{"]/.test(text)) throw usageError(`‘${text}’ is not JSON`, 'Write JSON, or say `--text`.')
    return text
  }
}
