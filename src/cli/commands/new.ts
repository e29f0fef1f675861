// millrace new: prints a document of a kind to start from. The templates are declared with the kinds.

import type { Command } from 'commander'
import { type Cli, handle } from '../command.ts'
import { CliError } from '../failure.ts'

export function addNewCommand(program: Command, cli: Cli): void {
  const command = program
    .command('new')
    .argument('<kind>', 'as source, route or subscription')
    .argument('<name>', 'its name')
    .description('print a template for a definition, as in `millrace new route book_order > flows/book.yaml`')
  handle(
    command,
    cli,
    async (session, _options, kind = '', name = '') => {
      const { KIND_NAMES, makeTemplate } = await import('../../definitions/language.ts')
      const made = makeTemplate(kind, name)
      if (!made.ok) throw new CliError(made.why, { next: `Kinds: ${KIND_NAMES.join(', ').toLowerCase()}.` })
      session.show({ text: made.text }, () => session.out.line(made.text.trimEnd()))
    },
    { isLocal: true },
  )
}
