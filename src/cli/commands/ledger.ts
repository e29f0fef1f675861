// millrace ledger [key] | unknowns: effects on other systems, and those with an unknown outcome.

import type { Command } from 'commander'
import { LEDGER_STATES } from '../../core/effects/ledger/index.ts'
import type { LedgerEntry } from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { CliError } from '../failure.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { addList, type Columns, printTable } from '../resource.ts'

const COLUMNS: Columns<LedgerEntry> = [
  ['KEY', (one) => one.key, 16],
  ['GEN', (one) => one.generation, 'right'],
  ['STATE', (one, { out }) => out.state(one.state)],
  ['PROOF', (one) => one.proof],
  ['CONSUMER', (one) => one.consumer, 10],
  ['CREATED', (one, { out }) => out.time(one.createdAt)],
  ['WORK', (one) => one.workId],
  ['EFFECT', (one) => one.effectRef, 8],
]

export function addLedgerCommands(program: Command, cli: Cli): void {
  const ledger = program
    .command('ledger')
    .argument('[key]', 'one effect, with all its generations')
    .description('list effects by key, or show one')
  addList(
    ledger,
    cli,
    {
      operation: 'listLedger',
      filters: [
        ['--state <state>', 'only in this state', { choices: LEDGER_STATES }],
        ['--consumer <route>', 'only of this route'],
      ],
      columns: COLUMNS,
      empty: 'No effects yet.',
    },
    showHistory,
  )
  const unknowns = program
    .command('unknowns')
    .description('list effects with an unknown outcome, and the possible actions')
    .option('--consumer <route>', 'only of this route')
    .addOption(limitOption())
  handle<ListOptions & { readonly consumer?: string }>(unknowns, cli, listUnknowns)
}

async function showHistory(session: Session, key: string): Promise<void> {
  const answer = await session.api.get<Answer<'listLedgerHistory'>>('/v1/ledger/history', { key })
  if (answer.items.length === 0) {
    throw new CliError('the ledger has no such key', {
      next: 'List the keys with `millrace ledger`; nothing was done under this one, or it was forgotten.',
      ending: 'notFound',
    })
  }
  session.show(answer, ({ items }) => printTable(session, COLUMNS, items))
}

const UNKNOWNS: Columns<LedgerEntry> = [
  ['SINCE', (one, { out }) => out.time(one.createdAt)],
  ['KEY', (one) => one.key, 16],
  ['CONSUMER', (one) => one.consumer, 10],
  ['WORK', (one) => one.workId],
  ['STATE', (one, { out }) => out.state(one.work?.state ?? 'gone')],
  ['YOU MAY', (one) => whatMayBeDone(one), 8],
]

async function listUnknowns(
  session: Session,
  { consumer, limit }: ListOptions & { readonly consumer?: string },
): Promise<void> {
  const page = await readPages<LedgerEntry>(session, '/v1/ledger', { state: 'unknown', consumer }, limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const settling = items.filter(settlesItself)
    const open = items.filter((entry) => !settlesItself(entry))
    if (open.length > 0) printTable(session, UNKNOWNS, open)
    if (settling.length > 0) {
      if (open.length > 0) out.line()
      out.line('These are still being worked on and settle by themselves:')
      printTable(session, UNKNOWNS, settling)
    }
    noteRest(session, page, 'Every outcome is known.')
  })
}

/** Its job continues and finds out: by its probe, or by calling again if that is harmless. */
function settlesItself({ work }: LedgerEntry): boolean {
  return work?.state === 'ready' || work?.state === 'leased' || work?.state === 'waiting'
}

/** A job that died with an unknown outcome can also be replayed, by its dead letter. */
function whatMayBeDone({ actions = [], work, key }: LedgerEntry): string {
  const letter = work?.state === 'dead' ? [`dead-letters --with-key ${key}`] : []
  return [...actions.map(commandOf), ...letter].join(', ')
}

function commandOf(act: string): string {
  return act === 'done' || act === 'released' ? `work resolve --as ${act}` : `work ${act}`
}
