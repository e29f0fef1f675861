// millrace ledger [key] | unknowns: effects on other systems, and those with an unknown outcome.

import { type Command, Option } from 'commander'
import { LEDGER_STATES } from '../../core/effects/ledger/index.ts'
import type { LedgerEntry } from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { CliError } from '../failure.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'

interface LedgerOptions extends ListOptions {
  readonly state?: string
  readonly consumer?: string
}

export function addLedgerCommands(program: Command, cli: Cli): void {
  const ledger = program
    .command('ledger')
    .argument('[key]', 'one effect, with all its generations')
    .description('list effects by their keys, or show one')
    .addOption(new Option('--state <state>', 'only in this state').choices(LEDGER_STATES))
    .option('--consumer <route>', 'only of this route')
    .addOption(limitOption())
  handle<LedgerOptions>(ledger, cli, (session, options, key) =>
    key === undefined ? listLedger(session, options) : showHistory(session, key),
  )
  const unknowns = program
    .command('unknowns')
    .description('list effects of which nobody knows whether they are there, and what may be done')
    .option('--consumer <route>', 'only of this route')
    .addOption(limitOption())
  handle<LedgerOptions>(unknowns, cli, listUnknowns)
}

async function listLedger(session: Session, options: LedgerOptions): Promise<void> {
  const query = { state: options.state, consumer: options.consumer }
  const page = await readPages<LedgerEntry>(session, '/v1/ledger', query, options.limit)
  session.show(page, ({ items }) => {
    printEntries(session, items)
    noteRest(session, page, 'No effects yet.')
  })
}

async function showHistory(session: Session, key: string): Promise<void> {
  const answer = await session.api.get<Answer<'listLedgerHistory'>>('/v1/ledger/history', { key })
  if (answer.items.length === 0) {
    throw new CliError('the ledger has no such key', {
      next: 'List the keys with `millrace ledger`; nothing was done under this one, or it was forgotten.',
      ending: 'notFound',
    })
  }
  session.show(answer, ({ items }) => printEntries(session, items))
}

function printEntries(session: Session, items: readonly LedgerEntry[]): void {
  const { out } = session
  const columns = [
    { title: 'KEY', min: 16 },
    { title: 'GEN', align: 'right' as const },
    { title: 'STATE' },
    { title: 'PROOF' },
    { title: 'CONSUMER', min: 10 },
    { title: 'CREATED' },
    { title: 'WORK' },
    { title: 'EFFECT', min: 8 },
  ]
  const rows = items.map((entry) => [
    entry.key,
    entry.generation,
    out.state(entry.state),
    entry.proof,
    entry.consumer,
    out.time(entry.createdAt),
    entry.workId,
    entry.effectRef,
  ])
  out.table(columns, rows)
}

async function listUnknowns(session: Session, options: LedgerOptions): Promise<void> {
  const query = { state: 'unknown', consumer: options.consumer }
  const page = await readPages<LedgerEntry>(session, '/v1/ledger', query, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'SINCE' },
      { title: 'KEY', min: 16 },
      { title: 'CONSUMER', min: 10 },
      { title: 'WORK' },
      { title: 'STATE' },
      { title: 'YOU MAY', min: 8 },
    ]
    const rowOf = (entry: LedgerEntry) => [
      out.time(entry.createdAt),
      entry.key,
      entry.consumer,
      entry.workId,
      out.state(entry.work?.state ?? 'gone'),
      whatMayBeDone(entry),
    ]
    const settling = items.filter(settlesItself)
    const open = items.filter((entry) => !settlesItself(entry))
    if (open.length > 0) out.table(columns, open.map(rowOf))
    if (settling.length > 0) {
      if (open.length > 0) out.line()
      out.line('These are still being worked on and settle by themselves:')
      out.table(columns, settling.map(rowOf))
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
