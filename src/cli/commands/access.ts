// millrace secrets | keys | tenants | console: access, and what is stored for each tenant.

import { spawn } from 'node:child_process'
import { type Command, Option } from 'commander'
import { type Answer, type Cli, handle } from '../command.ts'
import { usageError } from '../failure.ts'
import { readSecret } from '../input.ts'

export function addSecretCommands(program: Command, cli: Cli): void {
  const secrets = program
    .command('secrets')
    .description('secrets that definitions refer to; values never come out')
  const list = secrets.command('list', { isDefault: true }).description('list names and versions')
  handle(list, cli, async (session) => {
    const answer = await session.api.get<Answer<'listSecrets'>>('/v1/secrets')
    session.show(answer, ({ items }) => {
      const { out } = session
      const columns = [
        { title: 'NAME', min: 12 },
        { title: 'VERSION', align: 'right' as const },
        { title: 'FINGERPRINT' },
        { title: 'PENDING' },
        { title: 'UPDATED' },
        { title: 'BY', min: 8 },
      ]
      const rows = items.map((item) => [
        item.name,
        item.version,
        item.fingerprint,
        item.hasPending ? 'yes' : 'no',
        out.time(item.updatedAt),
        item.updatedBy,
      ])
      out.table(columns, rows)
    })
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
  const promote = secrets
    .command('promote')
    .argument('<name>', 'its name')
    .description('put the pending value in use')
    .option('--overlap <duration>', 'how long the former value stays valid beside it, up to 7d', '0s')
  handle<{ overlap: string }>(promote, cli, async (session, { overlap }, name) => {
    const path = `/v1/secrets/${encodeURIComponent(String(name))}/promote`
    const answer = await session.api.post<Answer<'promoteSecret'>>(path, { overlap })
    session.show(answer, () => session.out.line(`${answer.name} is in use as version ${answer.version}`))
  })
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
  handle(list, cli, async (session) => {
    const answer = await session.api.get<Answer<'listKeys'>>('/v1/keys')
    session.show(answer, ({ items }) => {
      const { out } = session
      const columns = [
        { title: 'ID' },
        { title: 'NAME', min: 10 },
        { title: 'ROLE' },
        { title: 'PERMISSIONS', min: 8 },
        { title: 'CREATED' },
        { title: 'EXPIRES' },
        { title: 'LAST USED' },
      ]
      const rows = items.map((key) => [
        key.id,
        key.name,
        key.role,
        key.permissions.join(' '),
        out.time(key.createdAt),
        key.isExpired ? out.state('expired') : out.time(key.expiresAt),
        out.time(key.lastUsedAt),
      ])
      out.table(columns, rows)
    })
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
  handle(list, cli, async (session) => {
    const answer = await session.api.get<Answer<'listTenants'>>('/v1/tenants')
    session.show(answer, ({ items }) => {
      const { out } = session
      const columns = [{ title: 'NAME' }, { title: 'CREATED' }, { title: 'DESCRIPTION', min: 16 }]
      out.table(
        columns,
        items.map((tenant) => [tenant.name, out.time(tenant.createdAt), tenant.description ?? '']),
      )
    })
  })
  const create = tenants
    .command('create')
    .argument('<name>', 'small letters, digits and hyphens')
    .description('make a tenant')
    .option('--description <text>', 'who it is')
  handle<{ description?: string }>(create, cli, async (session, { description }, name) => {
    const body = { name, ...(description !== undefined && { description }) }
    const answer = await session.api.post<Answer<'createTenant'>>('/v1/tenants', body)
    session.show(answer, () => session.out.line(`tenant ${answer.name} is there`))
  })
}

export function addConfirmCopyCommand(program: Command, cli: Cli): void {
  const confirmCopy = program
    .command('confirm-copy')
    .argument('<code>', 'the code that /readyz, the log and the page of the paused node name')
    .description('let a paused node run on a copied data file or with another master key, without a restart')
  handle(confirmCopy, cli, async (session, _options, code) => {
    const answer = await session.api.post<Answer<'confirmCopy'>>('/v1/node/confirm-copy', { code })
    session.show(answer, () => session.out.line('the node runs'))
  })
}

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
