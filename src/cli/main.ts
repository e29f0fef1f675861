#!/usr/bin/env node
// The command `millrace`. A node starts without loading the code that talks to nodes, and the other way round.

import module from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { environment } from '../config/environment.ts'
import { readStartArgs } from './start-args.ts'
import { setsGrowthFactor } from './v8-options.ts'

const EXIT_INTERRUPTED = 130
const LEAVE_MS = 300

async function main(args: readonly string[]): Promise<number> {
  // Node 22 has it: compiled code is read from a cache at the next call.
  const { enableCompileCache } = module as { enableCompileCache?: () => unknown }
  enableCompileCache?.()
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
    const { version } = await import('./version.ts')
    process.stdout.write(`${version()}\n`)
    return 0
  }
  const told = args[0] === 'start' ? readStartArgs(args.slice(1)) : null
  if (told !== null) {
    // Loading code leaves much garbage, for which V8 would grow the young generation to 32 MB and return it minutes later. Until the node is
    // up it stays small: 20 MB less, at the same CPU time. A factor that the operator chose is left alone.
    const isOurs = !setsGrowthFactor(process.execArgv, environment().NODE_OPTIONS)
    if (isOurs) setFlagsFromString('--semi-space-growth-factor=1')
    const { start } = await import('./start.ts')
    return start(told, () => {
      if (isOurs) setFlagsFromString('--semi-space-growth-factor=2')
    })
  }
  const [{ runProgram }, { makeOutput }] = await Promise.all([import('./program.ts'), import('./output.ts')])
  const env = environment()
  const interrupt = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupt.abort()
      // What ignores the signal, such as a wait for stdin, is abandoned.
      setTimeout(() => process.exit(EXIT_INTERRUPTED), LEAVE_MS).unref()
    })
  }
  // The reader has read enough: `millrace events | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  return runProgram(args, {
    env,
    out: makeOutput({ stdout: process.stdout, stderr: process.stderr, env }),
    stdin: process.stdin,
    signal: interrupt.signal,
    exitCode: 0,
  })
}

/** Before a command has loaded, its own error handling is not available yet. */
function explainEarly(error: unknown): number {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'EMFILE' && code !== 'ENFILE') throw error
  process.stderr.write(
    'millrace: too many files are open: raise the limit (`ulimit -n`, or LimitNOFILE of the service) to 1024 or more, and start again.\n',
  )
  return 1
}

process.exitCode = await main(process.argv.slice(2)).catch(explainEarly)
