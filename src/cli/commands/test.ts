// millrace test: runs the tests beside the definitions of a folder, without a node and without the network.

import { type Command, Option } from 'commander'
import type { FlowTestResult, FlowTestsResult, LocatedDifference } from '../../app/testing/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { DefinitionFile } from '../../definitions/index.ts'
import { type Cli, handle, type Session } from '../command.ts'
import { resolveFolder } from '../definitions-folder.ts'
import { CliError, EXIT, usageError } from '../failure.ts'
import { prettyJson } from '../output.ts'
import { count, printable } from '../text.ts'

interface TestOptions {
  readonly only?: string
  readonly watch?: boolean
}

export function addTestCommand(program: Command, cli: Cli): void {
  const command = program
    .command('test')
    .argument('[folder]', 'a folder of definitions with tests; left out: MILLRACE_FLOWS, or ./flows')
    .description(
      'run the tests (*.test.yaml) beside the definitions; needs no node and calls no external system',
    )
    .addOption(new Option('--only <text>', 'only tests whose name or file contains this'))
    .option('--watch', 'run them again whenever a file of the folder changes, until you press Ctrl+C')
  handle<TestOptions>(
    command,
    cli,
    (session, { only, watch = false }, folder) =>
      watch ? watchTests(session, folder, only) : runTests(session, folder, only),
    { isLocal: true },
  )
}

/** Ends by a signal. A folder without tests, or with mistakes, may have some with the next change. */
async function watchTests(
  session: Session,
  given: string | undefined,
  only: string | undefined,
): Promise<number> {
  const { watchFolder } = await import('../../definitions/index.ts')
  const folder = resolveFolder(session, given)
  const run = async () => {
    try {
      await runTests(session, given, only)
    } catch (error) {
      // Without tests so far, or while a file is being moved.
      if (!(error instanceof CliError) || error.ending !== 'failed') throw error
      session.out.line(error.message)
    }
    if (!session.isJson) session.out.line(session.out.colors.dim(`watching ${folder}`))
  }
  const since = Date.now()
  await run()
  const report = (error: unknown) => session.out.line(messageOf(error))
  const watching = await readable(folder, async () => watchFolder(folder, run, report, { since }))
  if (!session.signal.aborted)
    await new Promise((resolve) => session.signal.addEventListener('abort', resolve, { once: true }))
  await watching.close()
  return EXIT.interrupted.code
}

async function runTests(
  session: Session,
  given: string | undefined,
  only: string | undefined,
): Promise<number> {
  const folder = resolveFolder(session, given)
  const { runFlowTests } = await import('../../app/testing/index.ts')
  const result = await readable(folder, () =>
    runFlowTests({ folder, ...(only === undefined ? {} : { only }) }),
  )
  const { ok, findings, tests } = result
  if (findings.length === 0 && tests.length === 0) {
    const next =
      'Write one beside your definitions, in a file such as flows/orders.test.yaml: see docs/testing.md.'
    throw new CliError(
      only === undefined ? `${folder} has no tests` : `${folder} has no test with ‘${only}’`,
      { next },
    )
  }
  const { formatFindings } = await import('../../definitions/language.ts')
  session.show({ ok, findings, tests }, () => {
    const { out } = session
    if (findings.length > 0) out.line(formatFindings(findings, result.files).trimEnd())
    printTests(session, result)
  })
  return ok ? EXIT.ok.code : findings.length > 0 ? EXIT.findings.code : EXIT.failed.code
}

async function readable<Value>(folder: string, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') throw usageError(`${folder} is not a folder`)
    throw error
  }
}

function printTests({ out }: Session, { tests, files }: FlowTestsResult): void {
  if (tests.length === 0) return
  const { colors } = out
  for (const test of tests) {
    const sign = test.ok ? colors.green('ok') : colors.red('failed')
    out.line(`${sign}  ${printable(test.name)}${test.ok ? '' : colors.dim(`  ${placeText(test)}`)}`)
    for (const difference of test.differences)
      for (const line of explain(difference, files, colors)) out.line(line)
  }
  const failed = tests.filter(({ ok }) => !ok).length
  const summary = `${count(tests.length, 'test')}, ${failed === 0 ? 'all passed' : `${failed} failed`}`
  out.line(failed === 0 ? colors.green(summary) : colors.red(summary))
}

type Colors = Session['out']['colors']

/** Where it was expected, what differs, and both values below each other. */
function explain(
  difference: LocatedDifference,
  files: readonly DefinitionFile[],
  colors: Colors,
): readonly string[] {
  const { message, fields, file, line } = difference
  const written = files.find(({ path }) => path === file)?.text.split(/\r?\n/)[line - 1]
  const lines = [`    ${colors.bold(placeText(difference))} ${printable(message)}`]
  if (written !== undefined) lines.push(colors.dim(`      ${line} | ${printable(written)}`))
  for (const field of fields) {
    const name = field.at === '' ? '' : `${field.at}: `
    if (field.expected !== undefined)
      lines.push(...valueLines('-', `${name}${prettyJson(field.expected)}`).map(colors.red))
    if (field.got !== undefined)
      lines.push(...valueLines('+', `${name}${prettyJson(field.got)}`).map(colors.green))
    else if (field.at !== '') lines.push(colors.green(`      + ${name}nothing`))
  }
  return lines
}

const LINES_MAX = 40

function valueLines(sign: string, text: string): readonly string[] {
  const lines = text.split('\n').map((line) => `      ${sign} ${printable(line)}`)
  return lines.length <= LINES_MAX ? lines : [...lines.slice(0, LINES_MAX), `      ${sign} …`]
}

function placeText({ file, line, column }: Pick<FlowTestResult, 'file' | 'line' | 'column'>): string {
  return `${file}:${line}:${column}`
}
