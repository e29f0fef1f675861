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
    .description('manage secrets that definitions refer to; values are never shown')
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
    .description('store a value, from stdin or a prompt')
    .option('--pending', 'store it beside the current value until a rotation promotes it')
  handle<{ pending?: boolean }>(set, cli, async (session, { pending }, name) => {
    const value = await readSecret(session, `Value of ${name} (not shown): `)
    if (value === '')
      throw usageError('the value is empty', 'Pipe it in: printf %s "$VALUE" | millrace secrets set …')
    const body = { name, value, ...(pending === true && { pending }) }
    const answer = await session.api.post<Answer<'setSecret'>>('/v1/secrets', body)
    const waits = pending === true ? '; it waits until it is verified or promoted' : ''
    session.show(answer, () =>
      session.out.line(`${answer.name} is stored as version ${answer.version}${waits}`),
    )
  })
  action({
    verb: 'promote',
    on: ['name', 'its name'],
    description: 'make the pending value current',
    operation: 'promoteSecret',
    options: [
      [
        '--overlap <duration>',
        'how long the former value stays valid beside it, up to 7d',
        { default: '0s' },
      ],
    ],
    say: ({ name, version }) => `${name} is now current, as version ${version}`,
  })(secrets, cli)
  const rewrap = secrets
    .command('rewrap')
    .description('encrypt all secrets with the current master key; the start of a node does so too')
  handle(rewrap, cli, async (session) => {
    const answer = await session.api.post<Answer<'rewrapSecrets'>>('/v1/secrets/rewrap', {})
    session.show(answer, ({ rewrapped, unreadable }) => {
      session.out.line(`${rewrapped} encrypted again with the current master key`)
      for (const name of unreadable)
        session.out.line(
          `${name} cannot be decrypted: start the node with its key in MILLRACE_MASTER_KEYS_OLD, or set it again`,
        )
    })
  })
  const remove = secrets
    .command('delete')
    .argument('<name>', 'its name')
    .description('delete a secret; definitions that refer to it fail from now on')
  handle(remove, cli, async (session, _options, name) => {
    await session.api.delete(`/v1/secrets/${encodeURIComponent(String(name))}`)
    session.show({ name, deleted: true }, () => session.out.line(`${name} is forgotten`))
  })
}

export function addKeyCommands(program: Command, cli: Cli): void {
  const keys = program.command('keys').description('manage API keys')
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
    .argument('<name>', 'a description')
    .description('create a key; its text is shown only once')
    .addOption(
      new Option('--role <role>', 'its role').choices(['viewer', 'operator', 'admin']).default('viewer'),
    )
    .option('--permission <name...>', 'a permission in workflows, such as triage.approve; may be repeated')
    .option('--expires <duration>', 'how long it is valid, such as 30d')
    .option('--tenant <name>', 'the tenant, if it is not your own')
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
  const revoke = keys.command('revoke').argument('<id>', 'its id').description('revoke a key immediately')
  handle(revoke, cli, async (session, _options, id) => {
    await session.api.delete(`/v1/keys/${encodeURIComponent(String(id))}`)
    session.show({ id, revoked: true }, () => session.out.line(`${id} is revoked`))
  })
}

export function addTenantCommands(program: Command, cli: Cli): void {
  const tenants = program.command('tenants').description('manage tenants; needs the node’s admin key')
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
    on: ['name', 'lower-case letters, digits and hyphens'],
    description: 'create a tenant',
    operation: 'createTenant',
    options: [['--description <text>', 'a description']],
    say: ({ name }) => `tenant ${name} is created`,
  })(tenants, cli)
}

export const addConfirmCopyCommand = action({
  verb: 'confirm-copy',
  on: ['code', 'the code that /readyz, the log and the page of the paused node show'],
  description: 'let a paused node run with a copied data file or another master key, without a restart',
  operation: 'confirmCopy',
  say: () => 'the node runs',
})

export function addConsoleCommand(program: Command, cli: Cli): void {
  const command = program
    .command('console')
    .description('print a link that signs in to the console, once, within an hour')
    .option('--open', 'also open it in the browser')
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
