// millrace subscriptions [name] | create, patch, delete, rotate, reveal, test, enable, disable, pause: endpoints that
// receive our events.

import { type Command, Option } from 'commander'
import { SIGNINGS } from '../../core/definitions/documents/index.ts'
import { SUBSCRIPTION_STATUSES } from '../../core/webhooks/subscription/index.ts'
import type { Subscription, SubscriptionDetail } from '../../sdk/client/index.ts'
import { type Answer, type Cli, collect, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { readHeaders } from '../headers.ts'
import { confirm, readJsonInput, readSecret } from '../input.ts'
import { action, pathOf, REASON, resource } from '../resource.ts'
import { duration } from '../text.ts'
import { printResponse } from './deliveries.ts'
import { addRecoverCommand } from './recover.ts'

interface FieldOptions {
  readonly endpoint?: string
  readonly on?: readonly string[]
  readonly where?: string
  readonly description?: string
  readonly header?: readonly string[]
  readonly signing?: string
  readonly secretRef?: string
  readonly secretEnv?: string
  readonly meta?: readonly string[]
  readonly file?: string
  readonly unset?: readonly string[]
}

const SUBSCRIPTION = ['name', 'a subscription'] as const

const switchOf = (
  verb: 'enable' | 'disable' | 'pause',
  description: string,
  more: { readonly alias?: string } = {},
) =>
  action({
    verb,
    on: SUBSCRIPTION,
    description,
    operation: `${verb}Subscription`,
    options: [REASON],
    asksWhy: true,
    say: ({ name, status }) => `${name} is ${status}`,
    ...more,
  })

export const addSubscriptionCommands = resource({
  command: 'subscriptions',
  on: ['name', 'one subscription, with its health and its signing secrets'],
  description: 'list subscribed endpoints, show one, or act on one',
  list: {
    operation: 'listSubscriptions',
    filters: [
      ['--status <status>', 'only with this status', { choices: SUBSCRIPTION_STATUSES }],
      [
        '--search <text>',
        'only with this text in the name, the description, the address or a subject',
        { as: 'q' },
      ],
    ],
    columns: [
      ['NAME', (one) => one.name, 10],
      ['STATUS', (one, { out }) => out.state(one.status)],
      ['URL', (one) => one.url, 20],
      ['ON', (one) => one.on.join(' '), 10],
      ['WAITING', (one) => waitingText(one), 'right'],
      ['FAILING SINCE', (one, { out }) => out.time(one.failingSince)],
      ['LAST ANSWER', (one, session) => lastAnswer(session, one)],
    ],
    empty: ({ status, search }) =>
      status !== undefined || search !== undefined
        ? 'No such subscriptions.'
        : 'No subscriptions. ‘millrace subscriptions create --endpoint … --on …’ creates one.',
  },
  show: { operation: 'getSubscription', more: (one, session) => printDetail(session, one) },
  actions: [
    addFieldVerbs,
    addSecretVerbs,
    switchOf('enable', 'enable it; a test event is sent first', {
      // Everything else that is paused is resumed: so the word works here too.
      alias: 'resume',
    }),
    switchOf('disable', 'disable it; new events are skipped and can be recovered'),
    switchOf('pause', 'pause it; new events are stored for later'),
    addRecoverCommand,
  ],
})

const actOn = (subscriptions: Command) => (verb: string, description: string) =>
  subscriptions.command(verb).argument('<name>', SUBSCRIPTION[1]).description(description)

/** create, patch and delete */
function addFieldVerbs(subscriptions: Command, cli: Cli): void {
  const create = withFields(
    subscriptions
      .command('create')
      .argument('[name]', 'its name; default: derived from the address')
      .description('send events to an endpoint; its secret is shown only once'),
  )
  handle<FieldOptions>(create, cli, (session, options, name) => createOne(session, options, name))

  const act = actOn(subscriptions)
  const patch = withFields(act('patch', 'change the given fields')).option(
    '--unset <field...>',
    'fields to reset to their defaults',
  )
  handle<FieldOptions>(patch, cli, async (session, options, name) => {
    const body = {
      ...(await readFields(session, options)),
      ...Object.fromEntries((options.unset ?? []).map((field) => [field, null])),
    }
    if (Object.keys(body).length === 0)
      throw usageError('nothing is to be changed', 'Give --endpoint, --on …')
    const answer = await session.api.patch<Answer<'patchSubscription'>>(
      pathOf('patchSubscription', String(name)),
      body,
    )
    session.show(answer, () => {
      for (const { field, message } of answer.warnings) session.out.note(`Note: ${field}: ${message}`)
      if (answer.secret !== null) {
        session.out.line(answer.secret)
        session.out.note('It signs with this secret now, which is not shown again.')
      } else session.out.line(`${answer.name} is changed`)
    })
  })

  const remove = act('delete', 'delete it with its secret; open deliveries are cancelled').option(
    '-y, --yes',
    'do not ask for confirmation',
  )
  handle<{ yes?: boolean }>(remove, cli, async (session, { yes }, name) => {
    await confirm(
      session,
      `Delete ${name}? Its open deliveries are cancelled, its secret is deleted.`,
      yes === true,
    )
    await session.api.delete(pathOf('deleteSubscription', String(name)))
    session.show({ name, deleted: true }, () => session.out.line(`${name} is gone`))
  })
}

/** The fields that users change most; the rest comes by `--file`. */
function withFields(command: Command): Command {
  return command
    .option('--endpoint <url>', 'the address: http or https')
    .option('--on <subject>', 'a pattern of subjects; may be repeated', collect)
    .option('--where <expression>', 'a condition on events')
    .option('--description <text>', 'a description')
    .option('-H, --header <name: value>', 'a header of every delivery; may be repeated', collect)
    .addOption(new Option('--signing <how>', 'the signature scheme').choices(SIGNINGS))
    .option('--secret-ref <name>', 'sign with this secret of the vault')
    .option('--secret-env <name>', 'sign with this variable of the node’s environment')
    .option('--meta <name=value>', 'your own metadata; may be repeated', collect)
    .option('--file <file>', 'further fields of the definition, as JSON; - reads stdin')
}

async function readFields(session: Session, options: FieldOptions): Promise<Record<string, unknown>> {
  const { endpoint, on, where, description, header, signing, secretRef, secretEnv, meta, file } = options
  if (secretRef !== undefined && secretEnv !== undefined)
    throw usageError('give --secret-ref or --secret-env, not both')
  const given = file === undefined ? {} : await readJsonInput(session, file)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw usageError(`${file} is not a JSON object`, 'Write {"url": …, "on": […]}.')
  const fields = {
    url: endpoint,
    on,
    where,
    description,
    headers: header === undefined ? undefined : readHeaders(header),
    signing,
    secret:
      secretRef !== undefined ? { ref: secretRef } : secretEnv !== undefined ? { env: secretEnv } : undefined,
    metadata: meta === undefined ? undefined : readMetadata(meta),
  }
  return {
    ...given,
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
  }
}

function readMetadata(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const equals = text.indexOf('=')
      if (equals < 1) throw usageError(`‘${text}’ has no name`, 'Write it as name=value.')
      return [text.slice(0, equals), text.slice(equals + 1)]
    }),
  )
}

async function createOne(session: Session, options: FieldOptions, name: string | undefined): Promise<void> {
  const body = { ...(await readFields(session, options)), ...(name !== undefined && { name }) }
  if (!('url' in body)) throw usageError('where to?', 'Give --endpoint https://…')
  if (!('on' in body))
    throw usageError('which events?', 'Give --on with a subject, such as --on shop.order.paid.')
  const answer = await session.api.post<Answer<'createSubscription'>>('/v1/webhooks/subscriptions', body)
  session.show(answer, () => {
    const { out } = session
    for (const { field, message } of answer.warnings) out.note(`Note: ${field}: ${message}`)
    if (answer.secret !== null) {
      out.line(answer.secret)
      out.note(
        `‘${answer.name}’ is created. This is its secret: give it to the receiver, it is not shown again.`,
      )
    } else out.line(`${answer.name} is created`)
    out.note(`Test it: millrace subscriptions test ${answer.name}`)
  })
}

/** rotate, reveal and test */
function addSecretVerbs(subscriptions: Command, cli: Cli): void {
  const act = actOn(subscriptions)
  const rotate = act('rotate', 'sign with a new secret, and with the old one too during an overlap')
    .option('--overlap <duration>', 'how long the old one stays valid, up to 7d (24h)')
    .option('--given', 'read the new secret from stdin or a prompt instead of generating one')
  handle<{ overlap?: string; given?: boolean }>(rotate, cli, async (session, { overlap, given }, name) => {
    const secret =
      given === true ? await readSecret(session, `New secret of ${name} (not shown): `) : undefined
    const answer = await session.api.post<Answer<'rotateSubscriptionSecret'>>(
      pathOf('rotateSubscriptionSecret', String(name)),
      { ...(overlap !== undefined && { overlap }), ...(secret !== undefined && { secret }) },
    )
    session.show(answer, () => {
      const { out } = session
      if (given !== true) out.line(answer.secret)
      const until =
        answer.oldUntil === null
          ? 'the old one is out of use'
          : `the old one stays valid until ${answer.oldUntil}`
      out.note(`Version ${answer.version} of the secret of ${name}; ${until}.`)
      if (given !== true) out.note('It is not shown again.')
    })
  })
  const reveal = act('reveal', 'show the generated secret of a subscription of the folder, once')
  handle(reveal, cli, async (session, _options, name) => {
    const answer = await session.api.post<Answer<'revealSubscriptionSecret'>>(
      pathOf('revealSubscriptionSecret', String(name)),
    )
    session.show(answer, () => {
      session.out.line(answer.secret)
      session.out.note('It is not shown again.')
    })
  })
  const test = act('test', 'make one call now and show the response')
  handle(test, cli, (session, _options, name) => testOne(session, String(name)))
}

async function testOne(session: Session, name: string): Promise<number> {
  const answer = await session.api.post<Answer<'testSubscription'>>(pathOf('testSubscription', name))
  session.show(answer, () => {
    const { out } = session
    out.fields([
      ['', out.state(answer.ok ? 'delivered' : 'failed')],
      ['url', answer.request?.url ?? null],
      ['status', answer.status],
      ['took', duration(answer.durationMs)],
      ['class', answer.class],
      ['error', answer.error],
    ])
    if (answer.response !== null) printAnswer(session, answer.response)
  })
  return answer.ok ? EXIT.ok.code : EXIT.failed.code
}

function printAnswer(
  session: Session,
  { headers, body }: NonNullable<Answer<'testSubscription'>['response']>,
): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  printResponse(session, [...lines, '', body].join('\n'))
}

function waitingText({ health }: Subscription): string {
  return `${health.waiting}${health.isCapped ? '+' : ''}`
}

function lastAnswer({ out }: Session, { health: { lastDeliveredAt, lastFailedAt } }: Subscription) {
  if (lastDeliveredAt === null && lastFailedAt === null) return null
  const isGood = lastFailedAt === null || (lastDeliveredAt ?? '') >= lastFailedAt
  const word = isGood ? 'delivered' : 'failed'
  return { ...out.state(word), text: `${word} ${out.time(isGood ? lastDeliveredAt : lastFailedAt)}` }
}

function printDetail(session: Session, one: SubscriptionDetail): void {
  const { out } = session
  const timeOrNull = (at: string | null) => (at === null ? null : out.time(at))
  const { secret, window, health } = one
  out.fields([
    ['name', one.name],
    ['description', one.description],
    ['status', out.state(one.status)],
    ['since', timeOrNull(one.since)],
    ['by', one.by],
    ['because', one.reason ?? one.because],
    ['failing since', timeOrNull(one.failingSince)],
    ['disables itself', timeOrNull(one.disableAt)],
    ['url', one.url],
    ['on', one.on.join(' ')],
    ['where', textOrNull(one.document.where)],
    ['order by', textOrNull((one.document.order as { readonly by?: unknown } | undefined)?.by)],
    ['managed by', one.managedBy === 'folder' ? 'the definitions folder' : 'the API'],
    ['signing', one.signing],
    ['secret', secretText(session, secret)],
    ['waiting', waitingText(one)],
    ['last response', lastAnswer(session, one)],
    ['recently', `${health.recent.delivered} delivered, ${health.recent.failed} failed`],
    ['at once', window === null ? null : `${window.inFlight} of ${window.limit}`],
    ['waits until', window === null ? null : timeOrNull(window.pausedUntil)],
    ...Object.entries(one.metadata).map(([key, value]) => [`  ${key}`, value] as const),
  ])
  if (secret.isUnseen) out.note(`Its secret was not shown yet: millrace subscriptions reveal ${one.name}`)
  if (one.status === 'disabled') {
    out.note(
      `millrace subscriptions enable ${one.name}, then recover ${one.name} --since … for what was missed`,
    )
  }
}

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)

function secretText({ out }: Session, secret: SubscriptionDetail['secret']): string {
  const { from, name, version, oldUntil } = secret
  const where =
    from === 'generated' ? 'generated' : from === 'vault' ? `{ ref: ${name} }` : `{ env: ${name} }`
  const last = oldUntil.toSorted().at(-1)
  const former = oldUntil.length > 1 ? `${oldUntil.length} former ones, the last` : 'a former one'
  const old = last === undefined ? '' : `, ${former} until ${out.time(last)}`
  return `${where}${version === null ? '' : `, version ${version}`}${old}`
}
