// The frame of every command that talks to a node: common options, its session, and its exit.

import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Operations } from '../sdk/client/index.ts'
import { type Connection, makeConnection } from './connection.ts'
import type { Output } from './output.ts'

/** What the process provides to all commands; tests provide their own. */
export interface Cli {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly out: Output
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  /** The exit code of the process. */
  exitCode: number
}

export interface Session {
  readonly env: Cli['env']
  readonly out: Output
  readonly stdin: Cli['stdin']
  readonly signal: AbortSignal
  readonly isJson: boolean
  readonly api: Connection
  /** The API's response as it is with `--json`, else as text. */
  show<Answer>(answer: Answer, inWords: (answer: Answer) => void): void
}

/** The response of an operation of the API, by its id. */
export type Answer<Name extends keyof Operations> = Operations[Name]['answer']

interface CommonOptions {
  readonly json?: boolean
  readonly url?: string
  readonly key?: string
}

type Work<Options> = (
  session: Session,
  options: Options,
  ...args: (string | undefined)[]
) => Promise<number | undefined> | Promise<void>

/** `--help` and docs/cli.md list these options under this heading. */
export const COMMON = 'Common options:'

export function handle<Options = CommonOptions>(
  command: Command,
  cli: Cli,
  work: Work<Options>,
  { isLocal = false }: { readonly isLocal?: boolean } = {},
): Command {
  command.addOption(new Option('--json', 'print JSON').helpGroup(COMMON))
  if (!isLocal) {
    command.addOption(new Option('--url <url>', 'the address of the node (MILLRACE_URL)').helpGroup(COMMON))
    command.addOption(new Option('--key <key>', 'the API key (MILLRACE_KEY)').helpGroup(COMMON))
  }
  return command.action(async (...given: unknown[]) => {
    const self = given.at(-1) as Command
    const options = self.optsWithGlobals<CommonOptions>()
    const session = makeSession(cli, options)
    const args = self.processedArgs as (string | undefined)[]
    cli.exitCode = (await work(session, options as Options, ...args)) ?? 0
  })
}

function makeSession(cli: Cli, options: CommonOptions): Session {
  const isJson = options.json === true
  let api: Connection | null = null
  return {
    env: cli.env,
    out: cli.out,
    stdin: cli.stdin,
    signal: cli.signal,
    isJson,
    get api() {
      api ??= makeConnection(options, cli.env, cli.signal)
      return api
    },
    show(answer, inWords) {
      if (isJson) cli.out.json(answer)
      else inWords(answer)
    },
  }
}

/** For options that count something. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Write a whole number from ${min} to ${max}.`)
  }
}

export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}
