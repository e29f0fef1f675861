// Commands that list, show and act on something of the API, from one description: its operations, filters, columns, fields and actions.
// Addresses and types come from the operations of the client.

import { type Command, Option } from 'commander'
import { OPERATIONS, type Operations } from '../sdk/client/api.generated.ts'
import { LIST_TABLES, type ListTable, memberOf, type TabledList } from '../sdk/client/lists.generated.ts'
import { type Answer, type Cli, handle, type Session } from './command.ts'
import { postWithReason } from './input.ts'
import type { Value } from './output.ts'
import { limitOption, noteRest, type Page, readPages } from './pages.ts'
import { momentText } from './since.ts'
import { consumerText } from './text.ts'

type Name = keyof Operations
type RowOf<List extends Name> = Answer<List> extends { readonly items: readonly (infer Row)[] } ? Row : never
type Options = Readonly<Record<string, unknown>>
type Add = (command: Command, cli: Cli) => void

/** Title, cell, and the least width or the alignment. */
export type Columns<Row> = readonly (readonly [
  title: string,
  cell: (row: Row, session: Session) => Value,
  shape?: number | 'right',
])[]

interface OptionMore {
  readonly choices?: readonly string[]
  /** Its name in the request, where that is another; null: it is not sent. */
  readonly as?: string | null
  /** A time, or how long ago. */
  readonly isMoment?: true
  readonly isNeeded?: true
  readonly default?: string
}
/** Flags and meaning; a function makes one that is not sent. */
type OptionSpec = readonly [flags: string, text: string, more?: OptionMore] | (() => Option)

export const REASON: OptionSpec = ['--reason <text>', 'the reason (recorded)']
export const NEEDED_REASON: OptionSpec = ['--reason <text>', 'the reason (recorded)', { isNeeded: true }]

/** Columns, filters and what an empty list means may be left out if the operation declares its table. */
type List<Operation extends Name> = ListMore<Operation> & {
  readonly operation: Operation
} & (Operation extends TabledList ? unknown : { readonly columns: Columns<RowOf<Operation>> })

interface ListMore<Operation extends Name> {
  readonly filters?: readonly OptionSpec[]
  readonly columns?: Columns<RowOf<Operation>>
  readonly empty?: string | ((options: Options) => string)
  /** It has no `--limit`. */
  readonly isWhole?: true
  /** Whether a row is shown. */
  keeps?(row: RowOf<Operation>, options: Options): boolean
  /** Throws what is wrong with the options. */
  check?(options: Options): void
}

interface Show<Operation extends Name> {
  readonly operation: Operation
  fields?(one: Answer<Operation>, session: Session): readonly (readonly [string, Value])[]
  /** What follows the fields. */
  more?(one: Answer<Operation>, session: Session): void
}

/** For what one answer does not tell. */
type ShowOne = (session: Session, id: string, options: Options) => Promise<void>

interface Action<Operation extends Name> {
  readonly verb: string
  readonly alias?: string
  /** The name of its argument, what it is, and its name in the body if the address has none. */
  readonly on: readonly [name: string, text: string, as?: string]
  readonly description: string
  readonly operation: Operation
  readonly options?: readonly OptionSpec[]
  /** A node may need a reason, and the user is asked for it. */
  readonly asksWhy?: true
  /** One line that says what came of it, */
  say?(answer: Answer<Operation>, session: Session, id: string): string
  /** or more than that. */
  print?(answer: Answer<Operation>, session: Session): void
}

interface Resource<Rows extends Name, One extends Name> {
  readonly command: string
  readonly on?: readonly [name: string, text: string]
  readonly description: string
  readonly list: List<Rows>
  readonly show?: Show<One> | ShowOne
  /** Made by `action`, or written where something is special about them. */
  readonly actions?: readonly Add[]
}

export function resource<Rows extends Name, One extends Name = Rows>(of: Resource<Rows, One>): Add {
  return (program, cli) => {
    const command = program.command(of.command)
    if (of.on !== undefined) command.argument(`[${of.on[0]}]`, of.on[1])
    command.description(of.description)
    addList(command, cli, of.list, of.show)
    for (const add of of.actions ?? []) add(command, cli)
  }
}

export function addList<Rows extends Name, One extends Name = Rows>(
  command: Command,
  cli: Cli,
  given: List<Rows>,
  show?: Show<One> | ShowOne,
): void {
  const list = { ...declaredList(given.operation), ...given }
  addOptions(command, list.filters ?? [])
  if (list.isWhole !== true) command.addOption(limitOption())
  handle<Options>(command, cli, (session, options, id) =>
    id === undefined || show === undefined
      ? printList(session, list, options)
      : typeof show === 'function'
        ? show(session, id, options)
        : printOne(session, show, id),
  )
}

/** What the table of an operation says, if it declares one. */
function declaredList<Operation extends Name>(operation: Operation): ListMore<Operation> {
  const table: ListTable | undefined = LIST_TABLES[operation as TabledList]
  if (table === undefined) return {}
  return {
    empty: table.empty,
    columns: table.columns.map((column): Columns<RowOf<Operation>>[number] => {
      const cell = (row: unknown, session: Session) => cellOf(session, column, memberOf(row, column.member))
      const shape = column.as === 'number' ? 'right' : column.min
      return shape === undefined ? [column.title, cell] : [column.title, cell, shape]
    }),
    filters: table.filters.map(
      ({ name, about, choices }) =>
        [
          `--${kebab(name)} <${ARGUMENTS[name] ?? name}>`,
          about,
          choices === undefined ? {} : { choices },
        ] as const,
    ),
  }
}

/** What is asked for, where it is not what the filter is called. */
const ARGUMENTS: Readonly<Record<string, string>> = { consumer: 'route', workflow: 'name' }
const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function cellOf({ out }: Session, { as }: ListTable['columns'][number], value: unknown): Value {
  if (value == null) return ''
  switch (as) {
    case 'time':
      return out.time(String(value))
    case 'state':
      return out.state(String(value))
    case 'consumer':
      return consumerText(value as Parameters<typeof consumerText>[0])
    default:
      return value as Value
  }
}

/** One kind of thing that may be done about a row. */
export function action<Operation extends Name>(of: Action<Operation>): Add {
  const { options: specs = [], operation } = of
  return (parent, cli) => {
    const command = parent.command(of.verb).argument(`<${of.on[0]}>`, of.on[1]).description(of.description)
    if (of.alias !== undefined) command.alias(of.alias)
    addOptions(command, specs)
    handle<Options>(command, cli, async (session, options, given) => {
      const id = String(given)
      const path = pathOf(operation, id)
      const isInBody = path === pathOf(operation)
      const body = { ...(isInBody && { [of.on[2] ?? of.on[0]]: id }), ...readOptions(specs, options) }
      const answer =
        of.asksWhy === true
          ? await postWithReason<Answer<Operation>>(session, path, body, '--reason')
          : await session.api.post<Answer<Operation>>(path, body)
      session.show(answer, () => {
        if (of.say !== undefined) session.out.line(of.say(answer, session, id))
        of.print?.(answer, session)
      })
    })
  }
}

/** The address of an operation; `id` stands for its first parameter. */
export function pathOf(operation: Name, id?: string): string {
  const template: string = OPERATIONS[operation][1]
  return id === undefined ? template : template.replace(/\{\w+\}/, () => encodeURIComponent(id))
}

export function printTable<Row>(session: Session, columns: Columns<Row>, rows: readonly Row[]): void {
  session.out.table(
    columns.map(([title, , shape]) => ({
      title,
      ...(shape === 'right' ? { align: shape } : shape !== undefined && { min: shape }),
    })),
    rows.map((row) => columns.map(([, cell]) => cell(row, session))),
  )
}

async function printList<Rows extends Name>(session: Session, list: List<Rows>, options: Options) {
  list.check?.(options)
  const path = pathOf(list.operation)
  const query = readOptions(list.filters ?? [], options) as Record<string, string>
  const all =
    list.isWhole === true
      ? await session.api.get<Page<RowOf<Rows>>>(path, query)
      : await readPages<RowOf<Rows>>(session, path, query, options.limit as number)
  const { keeps } = list
  const page = keeps === undefined ? all : { ...all, items: all.items.filter((row) => keeps(row, options)) }
  session.show(page, ({ items, nextCursor = null }) => {
    printTable(session, list.columns ?? [], items)
    if (list.empty === undefined) return
    const empty = typeof list.empty === 'string' ? list.empty : list.empty(options)
    noteRest(session, { items, nextCursor }, empty)
  })
}

async function printOne<One extends Name>(session: Session, show: Show<One>, id: string) {
  const one = await session.api.get<Answer<One>>(pathOf(show.operation, id))
  session.show(one, () => {
    if (show.fields !== undefined) session.out.fields(show.fields(one, session))
    show.more?.(one, session)
  })
}

function addOptions(command: Command, specs: readonly OptionSpec[]): Command {
  for (const spec of specs) command.addOption(typeof spec === 'function' ? spec() : makeOption(spec))
  return command
}

function makeOption([flags, text, more = {}]: Exclude<OptionSpec, () => Option>): Option {
  const option = new Option(flags, text)
  if (more.choices !== undefined) option.choices(more.choices)
  if (more.default !== undefined) option.default(more.default)
  return option.makeOptionMandatory(more.isNeeded === true)
}

/** What was given, by its names in the request. */
function readOptions(specs: readonly OptionSpec[], options: Options): Record<string, unknown> {
  const read: Record<string, unknown> = {}
  for (const spec of specs) {
    if (typeof spec === 'function') continue
    const [flags, , { as, isMoment } = {}] = spec
    const name = new Option(flags).attributeName()
    const value = options[name]
    if (as === null || value === undefined) continue
    read[as ?? name] = isMoment === true ? momentText(String(value)) : value
  }
  return read
}
