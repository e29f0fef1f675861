// millrace move: from a SQLite file into PostgreSQL, while the node is stopped.

import type { Command } from 'commander'
import type { MoveProgress, MoveReport } from '../../app/move-store.ts'
import { resolveConfig } from '../../config/index.ts'
import { type Cli, handle, type Session } from '../command.ts'
import { CliError, EXIT, usageError } from '../failure.ts'
import { readSecret } from '../input.ts'
import type { Progress } from '../output.ts'

interface Options {
  readonly from?: string
  readonly to: string
  readonly again?: boolean
  readonly dryRun?: boolean
}

export function addMoveCommand(program: Command, cli: Cli): void {
  const command = program
    .command('move')
    .description('copy the SQLite file of a stopped node into PostgreSQL, and compare every row')
    .option('--from <file>', 'the SQLite file (the one of MILLRACE_STORE)')
    .requiredOption('--to <url>', 'the empty database, postgres://user@host/database; - reads it from stdin')
    .option('--again', 'restart an incomplete move from the beginning')
    .option('--dry-run', 'read everything and change nothing')
  handle<Options>(command, cli, run, { isLocal: true })
}

async function run(session: Session, options: Options): Promise<number> {
  const url = await readUrl(session, options.to)
  const file = fileOf(session, options.from)
  // The drivers of both stores: nothing else of the command line needs them.
  const [{ openMove }, { MoveError }] = await Promise.all([
    import('../../app.ts'),
    import('../../app/move-store.ts'),
  ])
  const progress = session.out.progress()
  const onProgress = session.isJson ? () => {} : progressPrinter(progress)
  const report = await openMove(file, url, {
    isAgain: options.again === true,
    isDryRun: options.dryRun === true,
    signal: session.signal,
    onProgress,
  })
    .catch((error: unknown) => {
      throw error instanceof MoveError ? new CliError(error.message, { next: error.next }) : error
    })
    .finally(() => progress.end())
  session.show(toAnswer(report), () => showReport(session, report))
  return report.isMoved || report.isDryRun ? EXIT.ok.code : EXIT.failed.code
}

/** A password on the command line can be read by everyone who may list processes. */
async function readUrl(session: Session, given: string): Promise<string> {
  const url = (given === '-' ? await readSecret(session, 'The URL of the database: ') : given).trim()
  const resolved = resolveConfig({ MILLRACE_STORE: url })
  if (url === '' || !resolved.ok || resolved.config.store.kind !== 'postgres') {
    throw usageError('--to is no URL of PostgreSQL', 'Write postgres://user@host:5432/database.')
  }
  if (given !== '-' && new URL(url).password !== '') {
    throw usageError(
      'a password in an argument is visible to anyone who lists processes',
      'Write --to - and pass the URL on stdin, or set the password with PGPASSWORD or ~/.pgpass.',
    )
  }
  return url
}

function fileOf(session: Session, given: string | undefined): string {
  if (given !== undefined) return given
  const resolved = resolveConfig(session.env)
  if (!resolved.ok) {
    const details = resolved.findings.map(({ setting, message }) => `${setting}: ${message}`)
    throw new CliError('the settings cannot be used', { details, next: 'Or name the file with --from.' })
  }
  const { store } = resolved.config
  if (store.kind === 'sqlite') return store.file
  throw usageError('MILLRACE_STORE is not a SQLite file', 'Name the file with --from.')
}

const WORDS: Readonly<Record<MoveProgress['step'], string>> = { copy: 'copying', compare: 'comparing' }

function progressPrinter(progress: Progress): (now: MoveProgress) => void {
  let began = performance.now()
  let what = ''
  return ({ step, table, rows, rowsOfAll }) => {
    if (what !== `${step} ${table}`) began = performance.now()
    what = `${step} ${table}`
    const seconds = Math.max((performance.now() - began) / 1_000, 0.001)
    progress.update(
      `${WORDS[step]} ${table}: ${rows} of ${rowsOfAll}, ${Math.round(rows / seconds)} a second`,
    )
  }
}

function toAnswer(report: MoveReport) {
  return {
    from: report.from,
    to: report.to,
    isDryRun: report.isDryRun,
    isMoved: report.isMoved,
    tables: report.tables.map(({ table, rows, hash, there, isEqual }) => ({
      table,
      rows,
      hash,
      there,
      isEqual,
    })),
  }
}

const SHOWN_OF_HASH = 16

function showReport({ out }: Session, report: MoveReport): void {
  const marks = (isEqual: boolean | null, rows: number) => {
    if (isEqual === null) return null
    return isEqual
      ? { text: '✓', paint: out.colors.green }
      : { text: `differs (${rows})`, paint: out.colors.red }
  }
  out.table(
    [{ title: 'table' }, { title: 'rows', align: 'right' }, { title: 'hash' }, { title: 'copied' }],
    report.tables.map(({ table, rows, hash, there, isEqual }) => [
      table,
      rows,
      hash.slice(0, SHOWN_OF_HASH),
      marks(isEqual, there?.rows ?? 0),
    ]),
  )
  out.line()
  for (const line of lastWords(report)) out.line(line)
}

function lastWords({ from, to, isDryRun, isMoved }: MoveReport): readonly string[] {
  if (isDryRun) return [`Nothing was changed. Leave --dry-run out to move ${from} to ${to}.`]
  if (!isMoved) {
    return [
      `The copy in ${to} is not equal to ${from}: no node starts on it. The file is unchanged; continue with it,`,
      'report the tables that differ, and start again with --again.',
    ]
  }
  return [
    `Everything of ${from} is in ${to}.`,
    'Next: set MILLRACE_STORE to the URL of the database and start the node. Keep the data folder: the admin key and the',
    'master key are in it, unless MILLRACE_ADMIN_KEY and MILLRACE_MASTER_KEY are set; all nodes need the same master key.',
    `To go back: the file is untouched. Delete ${from}.moved and set MILLRACE_STORE as it was; what came since is not in it.`,
  ]
}
