// millrace refused-code [hash] | sign-code <hash>: stored code that the node does not run, and signing it.

import type { Command } from 'commander'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { action } from '../resource.ts'

export function addRefusedCodeCommands(program: Command, cli: Cli): void {
  const refused = program
    .command('refused-code')
    .argument('[hash]', 'one bundle, with its text')
    .description('list stored code that the node refuses to run, or show the text of one bundle')
  handle(refused, cli, (session, _options, hash) =>
    hash === undefined ? listRefused(session) : showRefused(session, hash),
  )
  action({
    verb: 'sign-code',
    on: ['hash', 'as `millrace refused-code` shows it'],
    description: 'sign a refused bundle after you have read its text, so that its jobs continue',
    operation: 'signRefusedCode',
    options: [['--reason <text>', 'why the code is safe to run', { isNeeded: true }]],
    say: () => 'signed: its jobs continue',
  })(program, cli)
}

async function listRefused(session: Session): Promise<void> {
  const answer = await session.api.get<Answer<'listRefusedCode'>>('/v1/code/refused')
  session.show(answer, ({ items }) => {
    if (items.length === 0) session.out.line('No code is refused.')
    for (const { codeHash, file, bytes, why, usedBy } of items) {
      session.out.line(`${codeHash}  ${file}  ${bytes} bytes`)
      session.out.line(`  ${why}`)
      session.out.line(`  used by: ${usedBy.length === 0 ? 'nothing' : usedBy.join(', ')}`)
    }
  })
}

async function showRefused(session: Session, hash: string): Promise<void> {
  const path = `/v1/code/refused/${encodeURIComponent(hash)}`
  const answer = await session.api.get<Answer<'getRefusedCode'>>(path)
  session.show(answer, ({ text }) => session.out.line(text))
}
