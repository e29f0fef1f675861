// millrace logs [-f]: the log file of the node whose settings are here, as text; `--json` prints its lines as they are.

import { open, stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { resolveConfig } from '../../config/index.ts'
import { type Cli, handle, type Session, wholeNumber } from '../command.ts'
import { CliError } from '../failure.ts'
import { printable } from '../text.ts'

interface LogOptions {
  readonly lines: number
  readonly follow?: boolean
  readonly match?: string
}

const TAIL_BYTES_MAX = 4_194_304
const LOOK_MS = 200

export function addLogCommand(program: Command, cli: Cli): void {
  const command = program
    .command('logs')
    .description('print the end of the node’s log file (MILLRACE_LOG, MILLRACE_DATA)')
    .option('-f, --follow', 'show new lines as they are written, until Ctrl-C')
    .option('--match <text>', 'only lines with this text')
    .addOption(
      new Option('-n, --lines <lines>', 'how many lines').default(50).argParser(wholeNumber(0, 100_000)),
    )
  handle<LogOptions>(command, cli, printLogs, { isLocal: true })
}

async function printLogs(session: Session, options: LogOptions): Promise<void> {
  const file = logFile(session)
  const wants = (line: string) => line !== '' && (options.match === undefined || line.includes(options.match))
  const print = (line: string) => session.out.line(session.isJson ? line : renderLogLine(line, session.out))
  let at = await printTail(file, options.lines, wants, print)
  if (options.follow !== true) return
  let rest = ''
  let { ino } = await stat(file)
  while (!session.signal.aborted) {
    await wait(LOOK_MS, undefined, { signal: session.signal })
    // During a rotation there is none.
    const found = await stat(file).catch(() => null)
    if (found === null) continue
    const { size } = found
    if (found.ino !== ino) {
      rest += await readPart(`${file}.1`, at, Number.POSITIVE_INFINITY).catch(() => '')
      ino = found.ino
      at = 0
      // Shorter than before: it was emptied.
    } else if (size < at) at = 0
    if (size === at && !rest.includes('\n')) continue
    const text = rest + (await readPart(file, at, size))
    at = size
    const lines = text.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines.filter(wants)) print(line)
  }
}

function logFile(session: Session): string {
  const resolved = resolveConfig(session.env)
  if (!resolved.ok)
    throw new CliError(resolved.findings.map(({ setting, message }) => `${setting}: ${message}`).join('; '))
  const { log } = resolved.config
  if (log !== 'stdout' && log !== 'stderr') return log
  throw new CliError(`the node logs to ${log}`, {
    next: 'Look where it runs, or set MILLRACE_LOG to a file.',
  })
}

async function printTail(
  file: string,
  lines: number,
  wants: (line: string) => boolean,
  print: (line: string) => void,
): Promise<number> {
  let size: number
  try {
    size = (await stat(file)).size
  } catch {
    throw new CliError(`there is no log at ${file}`, {
      ending: 'notFound',
      next: 'Start the node, or set MILLRACE_DATA or MILLRACE_LOG as it has them.',
    })
  }
  const from = Math.max(0, size - TAIL_BYTES_MAX)
  const all = (await readPart(file, from, size)).split('\n').filter(wants)
  for (const line of lines === 0 ? [] : all.slice(-lines)) print(line)
  return size
}

async function readPart(file: string, from: number, to: number): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const end = Math.min(to, (await handle.stat()).size)
    const bytes = Buffer.alloc(Math.max(0, end - from))
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, from)
    return bytes.subarray(0, bytesRead).toString('utf8')
  } finally {
    await handle.close()
  }
}

/** Fields that are the same in every line, or are shown differently. */
const QUIET = new Set([
  'timestamp',
  'time',
  'level',
  'message',
  'msg',
  'env',
  'action',
  'controlPoint',
  'scenarioName',
  'runId',
  'traceId',
  'correlationId',
  'tenantId',
  'piiRedacted',
  'payloadHash',
  'configHash',
  'filterHash',
  'stage',
  'classification',
  'pid',
  'hostname',
])

function renderLogLine(line: string, out: Pick<Session['out'], 'time' | 'colors'>): string {
  let entry: Readonly<Record<string, unknown>>
  try {
    entry = JSON.parse(line) as Readonly<Record<string, unknown>>
  } catch {
    return printable(line)
  }
  const { timestamp, level, message, action, classification } = entry
  const isBad = level === 'error' || (typeof classification === 'string' && classification !== 'N/A')
  const what = [action, message].filter((part) => typeof part === 'string' && part !== '').join(' ')
  const fields = Object.entries(entry)
    .filter(([name, value]) => !QUIET.has(name) && value !== null && value !== undefined && value !== '')
    .map(([name, value]) => `${out.colors.dim(`${name}=`)}${printable(toText(value))}`)
  const head = isBad ? out.colors.red(printable(what)) : printable(what)
  return [out.time(typeof timestamp === 'string' ? timestamp : null), head, ...fields].join('  ')
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
