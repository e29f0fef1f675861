// Commands that only list: their table is declared beside their route.

import type { Command } from 'commander'
import { LIST_TABLES, type TabledList } from '../sdk/client/lists.generated.ts'
import type { Cli } from './command.ts'
import { resource } from './resource.ts'

/** Those that have no command of their own. */
export function addDeclaredLists(program: Command, cli: Cli): void {
  for (const [operation, { page }] of Object.entries(LIST_TABLES)) {
    if (page === undefined || program.commands.some((one) => one.name() === page.command)) continue
    const { command, about } = page
    const list = { operation: operation as TabledList }
    resource({ command, description: `list ${about}`, list })(program, cli)
  }
}
