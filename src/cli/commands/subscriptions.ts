// millrace subscriptions [name] | create, patch, delete, rotate, reveal, test, enable, disable, pause: endpoints that
// receive our events.

import { type Command, Option } from 'commander'
import { SIGNINGS } from '../../core/definitions/documents/index.ts'
import { SUBSCRIPTION_STATUSES } from '../../core/webhooks/subscription/index.ts'
import type { Subscription, SubscriptionDetail } from '../../sdk/client/index.ts'
import { type Answer, type Cli, collect, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { readHeaders } from '../headers.ts'
import { confirm, postWithReason, readJsonInput, readSecret } from '../input.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { duration } from '../text.ts'
import { printResponse } from './deliveries.ts'
import { addRecoverCommand } from './recover.ts'

interface SubscriptionOptions extends ListOptions {
  readonly status?: string
  readonly search?: string
}

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

const pathOf = (name: string, verb?: string) =>
  `/v1/webhooks/subscriptions/${encodeURIComponent(name)}${verb === undefined ? '' : `/${verb}`}`

export function addSubscriptionCommands(program: Command, cli: Cli): void {
  const subscriptions = program
    .command('subscriptions')
    .argument('[name]', 'one subscription, with its health and what it signs with')
    .description('list endpoints that get our events, show one, or act on one')
    .addOption(new Option('--status <status>', 'only with this status').choices(SUBSCRIPTION_STATUSES))
    .option('--search <text>', 'only with this in the name, the description, the address or a subject')
    .addOption(limitOption())
  handle<SubscriptionOptions>(subscriptions, cli, (session, options, name) =>
    name === undefined ? listSubscriptions(session, options) : showSubscription(session, name),
  )

  const create = withFields(
    subscriptions
      .command('create')
      .argument('[name]', 'its name; left out: one is made from the address')
      .description('send events to an endpoint; its secret is shown this once'),
  )
  handle<FieldOptions>(create, cli, (session, options, name) => createOne(session, options, name))

  const act = (verb: string, description: string) =>
    subscriptions.command(verb).argument('<name>', 'a subscription').description(description)
  const patch = withFields(act('patch', 'change what is given and leave the rest')).option(
    '--unset <field...>',
    'fields that go back to their defaults',
  )
  handle<FieldOptions>(patch, cli, async (session, options, name) => {
    const body = {
      ...(await readFields(session, options)),
      ...Object.fromEntries((options.unset ?? []).map((field) => [field, null])),
    }
    if (Object.keys(body).length === 0)
      throw usageError('nothing is to be changed', 'Give --endpoint, --on …')
    const answer = await session.api.patch<Answer<'patchSubscription'>>(pathOf(String(name)), body)
    session.show(answer, () => {
      for (const { field, message } of answer.warnings) session.out.note(`Note: ${field}: ${message}`)
      if (answer.secret !== null) {
        session.out.line(answer.secret)
        session.out.note('It signs with this secret now, which is not shown again.')
      } else session.out.line(`${answer.name} is changed`)
    })
  })

  const remove = act('delete', 'forget it with its secret; deliveries that are open end').option(
    '-y, --yes',
    'do not ask',
  )
  handle<{ yes?: boolean }>(remove, cli, async (session, { yes }, name) => {
    await confirm(session, `Delete ${name}? Its open deliveries end, its secret goes.`, yes === true)
    await session.api.delete(pathOf(String(name)))
    session.show({ name, deleted: true }, () => session.out.line(`${name} is gone`))
  })

  addSecretVerbs(act, cli)

  const test = act('test', 'make one call now and say what came back')
  handle(test, cli, (session, _options, name) => testOne(session, String(name)))

  for (const [verb, description] of [
    ['enable', 'let it get events again; a test event goes first'],
    ['disable', 'send nothing more; what comes is skipped and can be recovered'],
    ['pause', 'keep what comes for later'],
  ] as const) {
    const command = act(verb, description).option('--reason <text>', 'why; it is kept')
    // Everything else that is paused is resumed: so the word works here too.
    if (verb === 'enable') command.alias('resume')
    handle<{ reason?: string }>(command, cli, async (session, { reason }, name) => {
      const answer = await postWithReason<Subscription>(
        session,
        pathOf(String(name), verb),
        reason === undefined ? {} : { reason },
        '--reason',
      )
      session.show(answer, () => session.out.line(`${answer.name} is ${answer.status}`))
    })
  }
  addRecoverCommand(subscriptions, cli)
}

/** The fields that users change most; the rest comes by `--file`. */
function withFields(command: Command): Command {
  return command
    .option('--endpoint <url>', 'where to: http or https')
    .option('--on <subject>', 'a pattern of subjects; may be given again', collect)
    .option('--where <expression>', 'a condition that events must meet')
    .option('--description <text>', 'what it is for')
    .option('-H, --header <name: value>', 'sent with every delivery; may be given again', collect)
    .addOption(new Option('--signing <how>', 'how it is signed').choices(SIGNINGS))
    .option('--secret-ref <name>', 'sign with this secret of the vault')
    .option('--secret-env <name>', 'sign with this variable of the node’s environment')
    .option('--meta <name=value>', 'whose it is, in your own words; may be given again', collect)
    .option('--file <file>', 'more fields as JSON, as a definition has them; - reads stdin')
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
        `‘${answer.name}’ is there. This is its secret: give it to the receiver, it is not shown again.`,
      )
    } else out.line(`${answer.name} is there`)
    out.note(`Try it: millrace subscriptions test ${answer.name}`)
  })
}

type Act = (verb: string, description: string) => Command

function addSecretVerbs(act: Act, cli: Cli): void {
  const rotate = act('rotate', 'sign with a new secret, and with the old one too for a while')
    .option('--overlap <duration>', 'how long the old one signs beside it, up to 7d (24h)')
    .option('--given', 'take the new secret from stdin, or typed unseen, instead of a made one')
  handle<{ overlap?: string; given?: boolean }>(rotate, cli, async (session, { overlap, given }, name) => {
    const secret =
      given === true ? await readSecret(session, `New secret of ${name} (not shown): `) : undefined
    const answer = await session.api.post<Answer<'rotateSubscriptionSecret'>>(
      pathOf(String(name), 'rotate-secret'),
      { ...(overlap !== undefined && { overlap }), ...(secret !== undefined && { secret }) },
    )
    session.show(answer, () => {
      const { out } = session
      if (given !== true) out.line(answer.secret)
      const until =
        answer.oldUntil === null
          ? 'the old one is out of use'
          : `the old one signs too until ${answer.oldUntil}`
      out.note(`Version ${answer.version} of the secret of ${name}; ${until}.`)
      if (given !== true) out.note('It is not shown again.')
    })
  })
  const reveal = act('reveal', 'show the generated secret of a subscription of the folder, once')
  handle(reveal, cli, async (session, _options, name) => {
    const answer = await session.api.post<Answer<'revealSubscriptionSecret'>>(
      pathOf(String(name), 'reveal-secret'),
    )
    session.show(answer, () => {
      session.out.line(answer.secret)
      session.out.note('It is not shown again.')
    })
  })
}

async function testOne(session: Session, name: string): Promise<number> {
  const answer = await session.api.post<Answer<'testSubscription'>>(pathOf(name, 'test'))
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

async function listSubscriptions(session: Session, options: SubscriptionOptions): Promise<void> {
  const query = { status: options.status, q: options.search }
  const page = await readPages<Subscription>(session, '/v1/webhooks/subscriptions', query, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'NAME', min: 10 },
      { title: 'STATUS' },
      { title: 'URL', min: 20 },
      { title: 'ON', min: 10 },
      { title: 'WAITING', align: 'right' as const },
      { title: 'FAILING SINCE' },
      { title: 'LAST ANSWER' },
    ]
    const rows = items.map((one) => [
      one.name,
      out.state(one.status),
      one.url,
      one.on.join(' '),
      waitingText(one),
      out.time(one.failingSince),
      lastAnswer(session, one),
    ])
    out.table(columns, rows)
    const isChosen = options.status !== undefined || options.search !== undefined
    const hint = '‘millrace subscriptions create --endpoint … --on …’ makes one.'
    noteRest(session, page, isChosen ? 'No such subscriptions.' : `No subscriptions. ${hint}`)
  })
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

async function showSubscription(session: Session, name: string): Promise<void> {
  const answer = await session.api.get<SubscriptionDetail>(pathOf(name))
  session.show(answer, () => printDetail(session, answer))
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
    ['kept by', one.managedBy === 'folder' ? 'the definitions folder' : 'the API'],
    ['signing', one.signing],
    ['secret', secretText(session, secret)],
    ['waiting', waitingText(one)],
    ['last answer', lastAnswer(session, one)],
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
