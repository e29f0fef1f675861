// millrace listen <source> --to <url>: forwards every event of a source, as it arrives, to a program on this machine.
// Signed again, so that the program can verify it as it will verify the vendor.

import { setTimeout as wait } from 'node:timers/promises'
import type { Command } from 'commander'
import type { SourceDocument } from '../../core/definitions/documents/index.ts'
import { matchesPattern, parsePattern } from '../../core/events/subject/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import type { EventDetail } from '../../sdk/client/index.ts'
import { type Cli, collect, handle, type Session } from '../command.ts'
import { CliError, usageError } from '../failure.ts'
import { type FollowOptions, followSource, type Heard, isPassing } from '../follow.ts'
import { readHeaders } from '../headers.ts'
import { isLocalHost } from '../local-address.ts'
import { findSecret, readSource, signFor, variablesOf } from '../signing.ts'
import { parseSince } from '../since.ts'
import { duration, printable } from '../text.ts'

interface ListenOptions {
  readonly to: string
  readonly secret?: string
  readonly filter?: string
  readonly since?: string
  readonly header?: readonly string[]
  readonly allowRemote?: boolean
}

/** The result of forwarding one event to the local address. */
interface Forwarded {
  readonly at: string
  readonly id: string
  readonly subject: string
  readonly status: number | null
  readonly ms: number
  readonly error?: string
}

export function addListenCommand(program: Command, cli: Cli): void {
  const command = program
    .command('listen')
    .argument('<source>', 'a deployed source')
    .description('forward each new event of a source to a local address, signed again, until Ctrl-C')
    .requiredOption('--to <url>', 'the target address, for example http://localhost:3000/hooks')
    .option('--secret <text>', 'the signing secret; default: the variable that the source names')
    .option('--filter <pattern>', 'only subjects that match, for example github.events.issues.*')
    .option(
      '--since <when>',
      'also earlier events since: an event’s id, a time, or how long ago, such as 10m',
    )
    .option('-H, --header <name:value>', 'an additional header; may be repeated', collect)
    .option('--allow-remote', 'also allow an address outside this machine and its own network')
  handle<ListenOptions>(command, cli, (session, options, source) => listen(session, options, String(source)))
}

async function listen(session: Session, options: ListenOptions, name: string): Promise<void> {
  const { out } = session
  const target = await readTarget(options)
  const wants = readFilter(options.filter)
  const extra = readHeaders(options.header ?? [])
  const source = await readSource(session, name)
  const since = options.since === undefined ? null : await readSince(session, options.since)
  const secret = findSecret(source, options.secret, session.env)
  const forward = makeForward(session, source.document, { target, secret, extra })
  if (secret === null) {
    const names = variablesOf(source.document.verify)
    out.note(
      `The secret of ${name} is not known here: events are forwarded unsigned. Give --secret${names.length > 0 ? ` or set ${names.join(' or ')}` : ''} to sign them.`,
    )
  }
  const follow: FollowOptions = { source: name, since }
  out.note(`Listening to ${name}; each event is forwarded to ${target.href}. Press Ctrl-C to stop.`)
  for await (const message of followSource(session, follow)) {
    if (message.type === 'gap') out.note('some live events were missed; they are read from the list')
    if (message.type === 'lost') out.note('the connection to the node was lost; reconnecting')
    if (message.type === 'back') out.note('connected again; missed events come first')
    if (message.type !== 'event' || !wants(message.event.subject)) continue
    const forwarded = await forward(message.event)
    if (session.isJson) out.jsonLine(forwarded)
    else printForwarded(session, forwarded)
  }
}

function printForwarded({ out }: Session, { at, subject, id, status, ms, error }: Forwarded): void {
  const isGood = status !== null && status < 300
  const told = (isGood ? out.colors.green : out.colors.red)(printable(error ?? String(status)))
  out.line([out.time(at), printable(subject), id, told, duration(ms)].join('  '))
}

// --- Where to, what, and since when

async function readTarget({ to, allowRemote }: ListenOptions): Promise<URL> {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(to) ? to : `http://${to}`
  const target = URL.canParse(text) ? new URL(text) : null
  if (target === null || !/^https?:$/.test(target.protocol)) {
    throw usageError(`‘${to}’ is not an address to forward to`, 'Write it as http://localhost:3000/hooks.')
  }
  if (allowRemote !== true && !(await isLocalHost(target.hostname))) {
    throw usageError(
      `${target.hostname} is not an address of this machine or its own network`,
      'Payloads would leave it; add --allow-remote when that is meant.',
    )
  }
  return target
}

function readFilter(pattern: string | undefined): (subject: string) => boolean {
  if (pattern === undefined) return () => true
  const parsed = parsePattern(pattern)
  if (!parsed.ok) throw usageError(`--filter: ${parsed.problem.message}`)
  return (subject) => matchesPattern(pattern, subject)
}

async function readSince(session: Session, text: string): Promise<FollowOptions['since']> {
  const since = parseSince(text, Date.now())
  if ('at' in since) return { at: since.at, afterId: null }
  const event = await session.api.get<EventDetail>(`/v1/events/${encodeURIComponent(since.id)}`)
  return { at: Date.parse(event.receivedAt), afterId: event.id }
}

// --- One event

interface ForwardOptions {
  readonly target: URL
  readonly secret: string | null
  readonly extra: Readonly<Record<string, string>>
}

/** Of the connection, and not of the message; the last ones are set again. */
const NOT_FORWARDED = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const RETRY_MS_FIRST = 500
const RETRY_MS_LAST = 10_000

function makeForward(session: Session, source: SourceDocument, options: ForwardOptions) {
  const { target, secret, extra } = options
  const read = makeReader(session)
  return async (heard: Heard): Promise<Forwarded> => {
    const { body, headers: kept } = await read(heard.id)
    const headers = { ...kept, ...extra }
    const unsigned = { url: target.href, headers }
    const signed = secret === null ? unsigned : signFor(source.verify, { ...unsigned, body, secret })
    const startedAt = performance.now()
    const sent = await post(signed.url, body, signed.headers, session.signal)
    const ms = Math.round((performance.now() - startedAt) * 10) / 10
    return { at: new Date().toISOString(), id: heard.id, subject: heard.subject, ...sent, ms }
  }
}

/** No redirect is followed: it could leave this machine. */
async function post(
  target: string,
  body: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly status: number | null; readonly error?: string }> {
  try {
    const response = await fetch(target, { method: 'POST', body, headers, redirect: 'manual', signal })
    await response.body?.cancel()
    return { status: response.status }
  } catch (error) {
    if (signal.aborted) throw error
    const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
    return { status: null, error: code ?? message }
  }
}

interface ShownEvent {
  readonly body: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

/** A node that went away comes back: an announced event is read then. */
function makeReader(session: Session): (id: string) => Promise<ShownEvent> {
  const { api, out } = session
  let isToldAboutBody = false
  const readBody = async (event: EventDetail): Promise<Uint8Array<ArrayBuffer>> => {
    try {
      return await api.bytes(`/v1/events/${encodeURIComponent(event.id)}/body`)
    } catch (error) {
      if (!(error instanceof CliError) || !['notAllowed', 'notFound'].includes(error.ending)) throw error
      if (!isToldAboutBody)
        out.note(`bodies as they came cannot be read (${error.message}); data is sent as JSON`)
      isToldAboutBody = true
      return Buffer.from(stringifyJson(event.data as JsonValue))
    }
  }
  return async (id) => {
    for (let retryMs = RETRY_MS_FIRST; ; retryMs = Math.min(RETRY_MS_LAST, retryMs * 2)) {
      try {
        const event = await api.get<EventDetail>(`/v1/events/${encodeURIComponent(id)}`)
        return { body: await readBody(event), headers: headersOf(event) }
      } catch (error) {
        if (!isPassing(error)) throw error
        if (retryMs === RETRY_MS_FIRST)
          out.note(`${id} cannot be read now (${(error as Error).message}); retrying`)
        await wait(retryMs, undefined, { signal: session.signal })
      }
    }
  }
}

function headersOf(event: EventDetail): Readonly<Record<string, string>> {
  const pairs = Object.entries(event.headers).flatMap(([name, value]) =>
    NOT_FORWARDED.has(name) || value === undefined ? [] : [[name, [value].flat().join(', ')] as const],
  )
  return { 'content-type': 'application/json', ...Object.fromEntries(pairs) }
}
