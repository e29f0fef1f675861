// A command line without a process: its output is recorded, its input is given.

import { Readable } from 'node:stream'
import type { Cli } from './command.ts'
import { makeOutput } from './output.ts'
import { runProgram } from './program.ts'

export interface TestCliOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** For a terminal with this many columns. */
  readonly columns?: number
  readonly signal?: AbortSignal
  /** Called after each write. */
  readonly onWrite?: () => void
}

export function makeTestCli(options: TestCliOptions = {}) {
  const written = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY: options.columns !== undefined,
    columns: options.columns,
    write(text: string) {
      written[name] += text
      options.onWrite?.()
    },
  })
  const env = options.env ?? {}
  const cli: Cli = {
    env,
    out: makeOutput({ stdout: stream('stdout'), stderr: stream('stderr'), env }),
    stdin: Readable.from([Buffer.from(options.stdin ?? '')]),
    signal: options.signal ?? new AbortController().signal,
    exitCode: 0,
  }
  return { cli, written }
}

export async function runCli(args: readonly string[], options: TestCliOptions = {}) {
  const { cli, written } = makeTestCli(options)
  const code = await runProgram(args, cli)
  return { code, ...written }
}
