// millrace secrets | keys | tenants | console: access, and what is stored for each tenant.

import { spawn } from 'node:child_process'
import { type Command, Option } from 'commander'
import { type Answer, type Cli, handle } from '../command.ts'
import { usageError } from '../failure.ts'
import { readSecret } from '../input.ts'
import { action, addList } from '../resource.ts'

export function addSecretCommands(program: Command, cli: Cli): void {
  const secrets = program
    .command('secrets')
    .description('secrets that definitions refer to; values never come out')
  const list = secrets.command('list', { isDefault: true }).description('list names and versions')
  addList(list, cli, {
    operation: 'listSecrets',
    isWhole: true,
    columns: [
      ['NAME', (one) => one.name, 12],
      ['VERSION', (one) => one.version, 'right'],
      ['FINGERPRINT', (one) => one.fingerprint],
      ['PENDING', (one) => (one.hasPending ? 'yes' : 'no')],
      ['UPDATED', (one, { out }) => out.time(one.updatedAt)],
      ['BY', (one) => one.updatedBy, 8],
    ],
  })
  const set = secrets
    .command('set')
    .argument('<name>', 'what definitions write as { ref: name }')
    .description('keep a value, from stdin or typed unseen')
    .option('--pending', 'keep it beside the current value until a rotation takes it over')
  handle<{ pending?: boolean }>(set, cli, async (session, { pending }, name) => {
    const value = await readSecret(session, `Value of ${name} (not shown): `)
    if (value === '')
      throw usageError('the value is empty', 'Pipe it in: printf %s "$VALUE" | millrace secrets set …')
    const body = { name, value, ...(pending === true && { pending }) }
    const answer = await session.api.post<Answer<'setSecret'>>('/v1/secrets', body)
    const waits = pending === true ? '; it waits until it is verified or promoted' : ''
    session.show(answer, () =>
      session.out.line(`${answer.name} is kept as version ${answer.version}${waits}`),
    )
  })
  action({
    verb: 'promote',
    on: ['name', 'its name'],
    description: 'put the pending value in use',
    operation: 'promoteSecret',
    options: [
      [
        '--overlap <duration>',
        'how long the former value stays valid beside it, up to 7d',
        { default: '0s' },
      ],
    ],
    say: ({ name, version }) => `${name} is in use as version ${version}`,
  })(secrets, cli)
  const rewrap = secrets
    .command('rewrap')
    .description('seal all secrets with the current master key; the start of a node does so too')
  handle(rewrap, cli, async (session) => {
    const answer = await session.api.post<Answer<'rewrapSecrets'>>('/v1/secrets/rewrap', {})
    session.show(answer, ({ rewrapped, unreadable }) => {
      session.out.line(`${rewrapped} sealed anew with the current master key`)
      for (const name of unreadable)
        session.out.line(
          `${name} does not open: start the node with its key in MILLRACE_MASTER_KEYS_OLD, or set it again`,
        )
    })
  })
  const remove = secrets
    .command('delete')
    .argument('<name>', 'its name')
    .description('forget a secret; what refers to it fails from now on')
  handle(remove, cli, async (session, _options, name) => {
    await session.api.delete(`/v1/secrets/${encodeURIComponent(String(name))}`)
    session.show({ name, deleted: true }, () => session.out.line(`${name} is forgotten`))
  })
}

export function addKeyCommands(program: Command, cli: Cli): void {
  const keys = program.command('keys').description('keys for the API: made, listed, revoked')
  const list = keys
    .command('list', { isDefault: true })
    .description('list keys; their text is never shown again')
  addList(list, cli, {
    operation: 'listKeys',
    isWhole: true,
    columns: [
      ['ID', (one) => one.id],
      ['NAME', (one) => one.name, 10],
      ['ROLE', (one) => one.role],
      ['PERMISSIONS', (one) => one.permissions.join(' '), 8],
      ['CREATED', (one, { out }) => out.time(one.createdAt)],
      ['EXPIRES', (one, { out }) => (one.isExpired ? out.state('expired') : out.time(one.expiresAt))],
      ['LAST USED', (one, { out }) => out.time(one.lastUsedAt)],
    ],
  })
  const create = keys
    .command('create')
    .argument('<name>', 'what it is for')
    .description('make a key; its text is shown this once')
    .addOption(
      new Option('--role <role>', 'what it may do')
        .choices(['viewer', 'operator', 'admin'])
        .default('viewer'),
    )
    .option(
      '--permission <name...>',
      'what else it may do in workflows, such as triage.approve; may be given again',
    )
    .option('--expires <duration>', 'how long it works, such as 30d')
    .option('--tenant <name>', 'another tenant than one’s own')
  interface CreateOptions {
    readonly role: string
    readonly permission?: readonly string[]
    readonly expires?: string
    readonly tenant?: string
  }
  handle<CreateOptions>(create, cli, async (session, options, name) => {
    const { role, permission, expires, tenant } = options
    const answer = await session.api.post<Answer<'createKey'>>('/v1/keys', {
      name,
      role,
      ...(permission !== undefined && { permissions: permission }),
      ...(expires !== undefined && { expiresIn: expires }),
      ...(tenant !== undefined && { tenant }),
    })
    session.show(answer, () => {
      session.out.line(answer.key)
      session.out.note(`${answer.role} key ‘${answer.name}’ (${answer.id}); it is not shown again`)
    })
  })
  const revoke = keys.command('revoke').argument('<id>', 'its id').description('make a key useless at once')
  handle(revoke, cli, async (session, _options, id) => {
    await session.api.delete(`/v1/keys/${encodeURIComponent(String(id))}`)
    session.show({ id, revoked: true }, () => session.out.line(`${id} is revoked`))
  })
}

export function addTenantCommands(program: Command, cli: Cli): void {
  const tenants = program
    .command('tenants')
    .description('the walls between customers; needs the node’s admin key')
  const list = tenants.command('list', { isDefault: true }).description('list tenants')
  addList(list, cli, {
    operation: 'listTenants',
    isWhole: true,
    columns: [
      ['NAME', (one) => one.name],
      ['CREATED', (one, { out }) => out.time(one.createdAt)],
      ['DESCRIPTION', (one) => one.description ?? '', 16],
    ],
  })
  action({
    verb: 'create',
    on: ['name', 'small letters, digits and hyphens'],
    description: 'make a tenant',
    operation: 'createTenant',
    options: [['--description <text>', 'who it is']],
    say: ({ name }) => `tenant ${name} is there`,
  })(tenants, cli)
}

export const addConfirmCopyCommand = action({
  verb: 'confirm-copy',
  on: ['code', 'the code that /readyz, the log and the page of the paused node name'],
  description: 'let a paused node run on a copied data file or with another master key, without a restart',
  operation: 'confirmCopy',
  say: () => 'the node runs',
})

export function addConsoleCommand(program: Command, cli: Cli): void {
  const command = program
    .command('console')
    .description('print a fresh link that signs in to the console, once, within an hour')
    .option('--open', 'open it in the browser too')
  handle<{ open?: boolean }>(command, cli, async (session, { open }) => {
    const answer = await session.api.post<Answer<'makeSignInLink'>>('/v1/session/links')
    session.show(answer, () => session.out.line(answer.url))
    if (open === true) openInBrowser(answer.url)
  })
}

function openInBrowser(url: string): void {
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url]
  const child = spawn(command as string, args, { stdio: 'ignore', detached: true })
  // Without a browser the link is on the screen all the same.
  child.on('error', () => {})
  child.unref()
}
