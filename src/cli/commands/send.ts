// millrace send <source>: a correctly signed event, from a sample or a file, through the normal ingest.

import { randomInt, randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { SourceDocument } from '../../core/definitions/documents/index.ts'
import {
  fromScaled,
  isNumber,
  type JsonValue,
  parseJson,
  stringifyJson,
  toScaled,
} from '../../core/foundation/json/index.ts'
import { type Cli, collect, handle, type Session, wholeNumber } from '../command.ts'
import { CliError, problemToError, usageError } from '../failure.ts'
import { readHeaders } from '../headers.ts'
import { readInput } from '../input.ts'
import { readPages } from '../pages.ts'
import { findSecret, readSource, secretUnknown, signFor, variablesOf } from '../signing.ts'
import { count } from '../text.ts'

interface SendOptions {
  readonly event?: string
  readonly data?: string
  readonly count: number
  readonly secret?: string
  readonly header?: readonly string[]
}

const COUNT_MAX = 10_000
const AT_ONCE = 16
const SAMPLES = 1_000_000_000

export function addSendCommand(program: Command, cli: Cli): void {
  const command = program
    .command('send')
    .argument('<source>', 'a deployed source')
    .description('send a signed event to a source: an example of its catalog, or your own data')
    .option('--event <name>', 'a subject of the catalog, or its last words, such as issues.opened')
    .option('--data <file>', 'the body instead of an example; - reads stdin')
    .option('-H, --header <name:value>', 'an additional header; may be repeated', collect)
    .option('--secret <text>', 'the signing secret; default: the variable that the source names')
    .addOption(
      new Option('--count <n>', 'how many events, each with its own delivery id')
        .default(1)
        .argParser(wholeNumber(1, COUNT_MAX)),
    )
  handle<SendOptions>(command, cli, (session, options, source) => send(session, options, String(source)))
}

interface Sent {
  readonly eventId: string
  readonly duplicate: boolean
  readonly url: string
}

async function send(session: Session, options: SendOptions, name: string): Promise<void> {
  const { api, out } = session
  const source = await readSource(session, name)
  const { document, me } = source
  if (document.schedule !== undefined) {
    throw usageError(
      `${name} is a schedule: it creates its own events and has no senders`,
      `‘millrace publish ${document.subject}’ publishes one manually.`,
    )
  }
  if (document.nats !== undefined) {
    throw usageError(
      `${name} reads messages from NATS and has no senders`,
      '‘millrace publish’ publishes an event manually.',
    )
  }
  const secret = findSecret(source, options.secret, session.env)
  if (secret === null) throw secretUnknown(document.verify)
  const makeBody = await bodyMaker(session, options, document)
  const path = `/in/${encodeURIComponent(me.tenant)}/${encodeURIComponent(name)}`
  const deliver = async (number: number): Promise<Sent> => {
    const { body, headers } = makeBody(number)
    const all = { ...headers, ...readHeaders(options.header ?? []) }
    const signed = signFor(document.verify, { url: api.url + path, headers: all, body, secret })
    const { status, answer } = await api.deliver(signed.url.slice(api.url.length), body, signed.headers)
    if (status >= 300) throw explainRefusal(status, answer, document)
    const { eventId, duplicate } = answer as { eventId: string; duplicate: boolean }
    return { eventId, duplicate, url: `${api.url}/events/${eventId}` }
  }
  if (options.count === 1) {
    const sent = await deliver(0)
    return session.show(sent, () => {
      out.line(`${sent.eventId}${sent.duplicate ? '  (already accepted)' : ''}`)
      out.line(sent.url)
    })
  }
  const sent = await sendMany(session, options.count, deliver)
  session.show({ items: sent }, () => {
    const duplicates = sent.filter(({ duplicate }) => duplicate).length
    const last = sent.at(-1)
    out.line(`${count(sent.length, 'event')} sent${duplicates > 0 ? `, ${duplicates} already accepted` : ''}`)
    if (last !== undefined) out.line(`the last: ${last.eventId}\n${last.url}`)
  })
}

async function sendMany(
  session: Session,
  total: number,
  deliver: (number: number) => Promise<Sent>,
): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  const progress = session.out.progress()
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < total) {
      const number = next
      next += 1
      sent[number] = await deliver(number)
      progress.update(`${next} of ${total} sent …`)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, total) }, worker))
  } finally {
    // After a refusal the others stop at their next step.
    next = total
    progress.end()
  }
  return sent
}

// --- What is sent

interface Delivery {
  readonly body: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

const encode = (value: unknown) => Buffer.from(stringifyJson(value as JsonValue))

async function bodyMaker(
  session: Session,
  options: SendOptions,
  source: SourceDocument,
): Promise<(number: number) => Delivery> {
  const isGithub = source.verify.scheme === 'github' || source.event.id === 'header.x-github-delivery'
  if (options.data === undefined) {
    const name = options.event ?? 'issues.opened'
    const { findTameNumber, makeGithubSample } = await import('../../demo/index.ts')
    if (!isGithub || makeGithubSample(name, 0, '') === null) return exampleMaker(session, options, source)
    // Random: two samples sent at once are about two issues, and not one effect.
    const from = randomInt(SAMPLES)
    const first = options.count === 1 ? findTameNumber(from) : from
    return (number) => {
      const sample = makeGithubSample(name, first + number, new Date().toISOString())
      return { body: encode(sample?.data ?? {}), headers: githubHeaders(sample?.event ?? name) }
    }
  }
  const bytes = await readInput(session, options.data)
  if (isGithub) {
    return () => ({
      body: bytes,
      headers: githubHeaders((options.event ?? 'issues').split('.', 1)[0] as string),
    })
  }
  return (number) => ({
    body: number === 0 ? bytes : withOtherId(bytes, source.event.id, number),
    headers: otherHeaders(source),
  })
}

interface Example {
  readonly subject: string
  readonly example?: JsonValue
}

const SUBJECTS_MAX = 1_000
const SUBJECTS_TOLD = 8

/** From the catalog: the same payload that the console offers. */
async function exampleMaker(
  session: Session,
  options: SendOptions,
  source: SourceDocument,
): Promise<(number: number) => Delivery> {
  const { event } = options
  const read = async (query: { readonly wanted?: boolean }) => {
    const all = { source: source.name, ...query }
    const { items } = await readPages<Example>(session, '/v1/catalog', all, SUBJECTS_MAX)
    return items.filter(({ example }) => example !== undefined)
  }
  // By default, one that a route matches: something happens with it.
  const [first] = event === undefined ? await read({ wanted: true }) : []
  const known = first === undefined ? await read({}) : [first]
  const found =
    event === undefined
      ? known[0]
      : known.find(({ subject }) => subject === event || subject.endsWith(`.${event}`))
  if (found === undefined) {
    const subjects = known.map(({ subject }) => subject)
    const told = subjects.slice(0, SUBJECTS_TOLD)
    const near = event === undefined ? undefined : await nearestSubject(event, subjects)
    if (near !== undefined) throw usageError(`there is no example ‘${event}’`, `Did you mean ${near}?`)
    throw usageError(
      event === undefined ? `there is no example for ${source.name}` : `there is no example ‘${event}’`,
      told.length === 0
        ? 'Give the body with --data <file>.'
        : `There are ${told.join(', ')}${known.length > told.length ? ' and more: ‘millrace catalog’ lists them' : ''}.`,
    )
  }
  const bytes = encode(found.example)
  // Another one each time: an example that is sent twice is to run twice.
  const from = 1 + randomInt(SAMPLES)
  return (number) => ({
    body: withOtherId(bytes, source.event.id, from + number),
    headers: { ...otherHeaders(source), ...namingHeaders(source, found.subject) },
  })
}

/** As a whole, or its last words. */
async function nearestSubject(event: string, subjects: readonly string[]): Promise<string | undefined> {
  // It loads the parsers of definitions, which no other command that talks to a node needs.
  const { closest, closestSubject } = await import('../../definitions/language.ts')
  const words = event.split('.').length
  const endings = new Map(subjects.map((one) => [one.split('.').slice(-words).join('.'), one]))
  const ending = closest(event, endings.keys())
  return ending === undefined ? closestSubject(event, subjects) : endings.get(ending)
}

/** Two vendors name the event in a header; the subject names it too. */
function namingHeaders(source: SourceDocument, subject: string): Readonly<Record<string, string>> {
  const words = subject.split('.').slice(2)
  if (source.mapping === 'github') return { 'x-github-event': words[0] ?? '' }
  if (source.mapping === 'shopify') return { 'x-shopify-topic': words.join('/') }
  return {}
}

const JSON_TYPE = { 'content-type': 'application/json' }

function githubHeaders(event: string): Readonly<Record<string, string>> {
  return { ...JSON_TYPE, 'x-github-event': event, 'x-github-delivery': randomUUID() }
}

/** An id if the source takes it from a header. */
function otherHeaders(source: SourceDocument): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { ...JSON_TYPE }
  // Of several the first one present counts: all name the same delivery.
  const id = randomUUID()
  for (const [, header] of (source.event.id ?? '').matchAll(/\bheader\.([\w-]+)/g))
    headers[String(header)] = id
  return headers
}

/** The same payload with another id at the path that the source takes it from; unchanged if there is no such path. */
export function withOtherId(
  body: Uint8Array<ArrayBuffer>,
  idExpression: string | null,
  number: number,
): Uint8Array<ArrayBuffer> {
  // Also if it is one of several, or a part of a hash: the first one present.
  const paths = [...(idExpression ?? '').matchAll(/\bpayload\.(\w+(?:\.\w+)*)/g)].map(([, path]) =>
    String(path),
  )
  if (paths.length === 0) return body
  const value = parseJson(Buffer.from(body).toString('utf8'))
  return paths.some((path) => putOtherId(value, path.split('.'), number)) ? encode(value) : body
}

function putOtherId(value: JsonValue, path: readonly string[], number: number): boolean {
  let inner = value as Record<string, JsonValue>
  for (const name of path.slice(0, -1)) {
    if (typeof inner !== 'object' || inner === null) return false
    inner = inner[name] as Record<string, JsonValue>
  }
  const last = path.at(-1) as string
  if (typeof inner !== 'object' || inner === null || !(last in inner)) return false
  const old = inner[last]
  if (isNumber(old)) {
    // A fraction is incremented in its whole part, and stays the same after the point.
    const { coefficient, scale } = toScaled(old)
    inner[last] =
      fromScaled({ coefficient: coefficient + BigInt(number) * 10n ** BigInt(scale), scale }) ?? old
    return true
  }
  if (typeof old === 'object') return false
  inner[last] = `${old}-${number + 1}`
  return true
}

function explainRefusal(status: number, answer: JsonValue, { name, verify }: SourceDocument): CliError {
  const refused = problemToError(status, answer)
  if (status !== 401 || verify.scheme === 'none') return refused
  const variables = variablesOf(verify)
  return new CliError(refused.message, {
    ending: 'notAllowed',
    next: `The node has another secret for ${name}: give it with --secret${variables.length > 0 ? ` or ${variables.join(', ')}` : ''}.`,
  })
}
