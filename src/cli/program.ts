// All commands in one tree. Heavy modules are loaded by the command that needs them.

import { Argument, Command, CommanderError } from 'commander'
import { type Cli, handle } from './command.ts'
import {
  addConfirmCopyCommand,
  addConsoleCommand,
  addKeyCommands,
  addSecretCommands,
  addTenantCommands,
} from './commands/access.ts'
import { addDeadLetterCommands } from './commands/dead-letters.ts'
import { addDefinitionCommands } from './commands/definitions.ts'
import { addDeliveryCommands } from './commands/deliveries.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addEventCommands } from './commands/events.ts'
import { addEscalationCommands, addFailureCommands } from './commands/failures.ts'
import { addFmtCommand } from './commands/fmt.ts'
import { addInitCommand } from './commands/init.ts'
import { addInstanceCommands } from './commands/instances.ts'
import { addIntegrationCommands } from './commands/integrations.ts'
import { addLedgerCommands } from './commands/ledger.ts'
import { addListenCommand } from './commands/listen.ts'
import { addLogCommand } from './commands/logs.ts'
import { addMoveCommand } from './commands/move.ts'
import { addNewCommand } from './commands/new.ts'
import { addOrphanCommands } from './commands/orphans.ts'
import { addPaceCommands } from './commands/pace.ts'
import { addRefusedCodeCommands } from './commands/refused-code.ts'
import { addReplayCommands } from './commands/replay.ts'
import { addSendCommand } from './commands/send.ts'
import { addSourceCommands } from './commands/sources.ts'
import { addSubscriptionCommands } from './commands/subscriptions.ts'
import { addTestCommand } from './commands/test.ts'
import { addTryCommand } from './commands/try.ts'
import { addVarCommands } from './commands/vars.ts'
import { addVerifyCommand } from './commands/verify.ts'
import { addWorkCommands } from './commands/work.ts'
import { addWorkflowCommands } from './commands/workflows.ts'
import { renderCompletion, SHELLS } from './completion.ts'
import { addDeclaredLists } from './declared-lists.ts'
import { CliError, EXIT } from './failure.ts'
import { version } from './version.ts'

interface StartFlags {
  readonly role: readonly string[]
  readonly acceptLoss?: string
  readonly confirmCopy?: string
}

export function makeProgram(cli: Cli): Command {
  const program = new Command('millrace')
    .description('durable integration engine: receives webhooks and runs the actions you define')
    .version(version(), '-V, --version', 'print the version')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => cli.out.line(text.trimEnd()),
      writeErr: (text) => cli.out.note(text.trimEnd()),
      // Reported once, with the other failures.
      outputError: () => {},
    })
    .addHelpText('after', '\nSettings and the exit codes are in docs/settings.md and docs/cli.md.')
  program.commandsGroup('Run:')
  program
    .command('start')
    .description('run a node: ingest, API and console; settings come from the environment')
    .option(
      '--role <roles>',
      'the roles of the node, separated by commas; may be repeated (MILLRACE_ROLES)',
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option(
      '--accept-loss <number>',
      'start on a data file that lost acknowledged writes (MILLRACE_ACCEPT_LOSS)',
    )
    .option(
      '--confirm-copy <code>',
      'start with a copied data file or another master key (MILLRACE_CONFIRM_COPY)',
    )
    .action(async (options: StartFlags) => {
      const { start } = await import('./start.ts')
      const settings = {
        ...(options.acceptLoss !== undefined && { MILLRACE_ACCEPT_LOSS: options.acceptLoss }),
        ...(options.confirmCopy !== undefined && { MILLRACE_CONFIRM_COPY: options.confirmCopy }),
      }
      cli.exitCode = await start({ roles: options.role, settings })
    })
  addInitCommand(program, cli)
  addConfirmCopyCommand(program, cli)
  addMoveCommand(program, cli)
  program.commandsGroup('Definitions:')
  addNewCommand(program, cli)
  addDefinitionCommands(program, cli)
  addVarCommands(program, cli)
  addTestCommand(program, cli)
  addFmtCommand(program, cli)
  program.commandsGroup('Events and jobs:')
  addSendCommand(program, cli)
  addListenCommand(program, cli)
  addSourceCommands(program, cli)
  addEventCommands(program, cli)
  addWorkCommands(program, cli)
  addLedgerCommands(program, cli)
  addRefusedCodeCommands(program, cli)
  addPaceCommands(program, cli)
  addTryCommand(program, cli)
  program.commandsGroup('Workflows:')
  addWorkflowCommands(program, cli)
  addInstanceCommands(program, cli)
  addOrphanCommands(program, cli)
  program.commandsGroup('Webhooks out:')
  addSubscriptionCommands(program, cli)
  addDeliveryCommands(program, cli)
  addVerifyCommand(program, cli)
  program.commandsGroup('Connections:')
  addIntegrationCommands(program, cli)
  program.commandsGroup('Failures:')
  addDeadLetterCommands(program, cli)
  addFailureCommands(program, cli)
  addEscalationCommands(program, cli)
  addReplayCommands(program, cli)
  addDeclaredLists(program, cli)
  program.commandsGroup('Access:')
  addSecretCommands(program, cli)
  addKeyCommands(program, cli)
  addTenantCommands(program, cli)
  addConsoleCommand(program, cli)
  program.commandsGroup('More:')
  addLogCommand(program, cli)
  addDemoCommand(program, cli)
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .description('print a completion script for a shell')
    .action((shell: string) => cli.out.line(renderCompletion(program, shell).trimEnd()))
  const printVersion = program.command('version').description('print the version')
  handle(
    printVersion,
    cli,
    async (session) => session.show({ version: version() }, () => cli.out.line(version())),
    { isLocal: true },
  )
  return program
}

/** Runs one command line; returns the exit code. */
export async function runProgram(args: readonly string[], cli: Cli): Promise<number> {
  const program = makeProgram(cli)
  try {
    if (args.length === 0) {
      program.outputHelp()
      return EXIT.ok.code
    }
    await program.parseAsync([...args], { from: 'user' })
    // A command that follows until it is stopped ends cleanly, and still was interrupted.
    return cli.signal.aborted ? EXIT.interrupted.code : cli.exitCode
  } catch (error) {
    return explainFailure(error, cli)
  }
}

function explainFailure(error: unknown, cli: Cli): number {
  if (cli.signal.aborted || (error instanceof DOMException && error.name === 'AbortError')) {
    return EXIT.interrupted.code
  }
  if (error instanceof CommanderError) {
    // Help and version were asked for.
    if (error.exitCode === 0) return EXIT.ok.code
    if (error.code === 'commander.help') return EXIT.usage.code
    cli.out.note(`millrace: ${error.message.replace(/^error: /, '')}`)
    cli.out.note('Add --help to see the options.')
    return EXIT.usage.code
  }
  if (error instanceof CliError) {
    cli.out.note(`millrace: ${error.message}${/[.!?]$/.test(error.message) ? '' : '.'}`)
    for (const line of error.details) cli.out.note(`  ${line}`)
    if (error.next !== null) cli.out.note(error.next)
    return EXIT[error.ending].code
  }
  cli.out.note(`millrace: ${error instanceof Error ? error.message : String(error)}`)
  return EXIT.failed.code
}
