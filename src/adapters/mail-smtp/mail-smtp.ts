// Mail as a kind of outbound call: a request to an `smtp:` or `smtps:` URL is one submission, and the server's reply is
// the response. `POST` sends the message of its body; `HEAD` and `GET` sign in and leave, which is a probe.
//
// The server's name is resolved once, every address is judged, and the first of them is dialled: nodemailer resolves
// nothing. TLS is required: `smtp:` must offer STARTTLS, unless the request says `x-smtp-plain: true` and the server is
// on this machine.
//
// Invariant: `sent: 'no'` until the first byte of the message is read; from then on only a reply says what happened.

import { type LookupAddress, lookup } from 'node:dns'
import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import {
  judgeAddress,
  judgeAddresses,
  judgeTarget,
  makeOutboundPolicy,
  type OutboundPolicy,
  type RefusedName,
  readMailTarget,
  unreachableName,
} from '../../core/access/network/index.ts'
import type { HttpClient, HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import { type Message, MessageError, readMessage } from './message.ts'

type Failed = Extract<HttpOutcome, { kind: 'failed' }>
type Resolve = (host: string) => Promise<readonly LookupAddress[]>

export interface MailClientOptions {
  /** As for the HTTP client. */
  readonly allow: readonly string[]
  /** The upper bound of `allow`; omitted: none. */
  readonly within?: readonly string[] | undefined
  /** Certificates to trust instead of the usual ones, in PEM. */
  readonly ca?: string
  /** Replaces the system's name resolution. */
  readonly resolve?: Resolve
  /** Receives the reason why a name may not be called: for the operator's log, callers do not learn it. */
  readonly onRefusedName?: ((refused: RefusedName) => void) | undefined
  /** The name that the client gives to the server. */
  readonly name?: string
}

export function makeMailClient(options: MailClientOptions): HttpClient {
  const policy = makeOutboundPolicy(
    options.allow,
    options.within === undefined ? undefined : makeOutboundPolicy(options.within),
  )
  const resolve = options.resolve ?? resolveBySystem
  return {
    async send(request) {
      const startedAt = performance.now()
      const passed = () => Math.round(performance.now() - startedAt)
      const failed = (code: Failed['code'], message: string, sent: Failed['sent'] = 'no'): Failed => ({
        kind: 'failed',
        sent,
        code,
        message,
        durationMs: passed(),
      })
      const found = await findServer(request, policy, resolve, options.onRefusedName)
      if (!found.ok) return failed(found.code, found.message)
      const isProbe = request.method === 'HEAD' || request.method === 'GET'
      if (!isProbe && request.method !== 'POST') return failed('bad_url', `mail has no ${request.method}`)
      try {
        const key = request.headers['idempotency-key'] ?? null
        const message = isProbe ? null : await readMessage(request.body, key)
        const ended = await submit(found, request, message, options, request.timeoutMs - passed())
        if (ended.is === 'reply') return answer(ended.status, ended.body, passed())
        return failed(ended.code, `${found.host} ${WORDS[ended.code]}`, ended.sent)
      } catch (error) {
        if (error instanceof MessageError) return answer(400, { message: error.message }, passed())
        throw error
      }
    },

    async vet(text) {
      const target = readMailTarget(text)
      if (!target.ok) return target
      const verdict = judgeTarget(target, policy)
      if (!verdict.ok || target.isLiteral) return verdict
      const address = await findAddress(target.host, policy, resolve, options.onRefusedName)
      if (address !== null) return { ok: true }
      return { ok: true, warning: `${unreachableName(target.host, policy)}; each call looks again` }
    },
  }
}

interface Server {
  readonly ok: true
  readonly host: string
  readonly address: string
  readonly port: number
  readonly isSecure: boolean
}

type NoServer = { readonly ok: false; readonly code: Failed['code']; readonly message: string }

async function findServer(
  { url }: HttpRequest,
  policy: OutboundPolicy,
  resolve: Resolve,
  onRefusedName: MailClientOptions['onRefusedName'],
): Promise<Server | NoServer> {
  const target = readMailTarget(url)
  if (!target.ok)
    return { ok: false, code: 'bad_url', message: `the request is not valid: ${target.message}` }
  const { host, isLiteral } = target
  const found = {
    ok: true,
    host,
    port: Number(target.url.port || 80),
    isSecure: /^smtps:/i.test(url),
  } as const
  // A literal address, or a name that means this machine: this reveals nothing that a resolver knows.
  const written = isLiteral ? judgeAddress(host, policy) : judgeTarget(target, policy)
  if (!written.ok) return { ok: false, code: 'blocked', message: written.message }
  const address = isLiteral ? host : await findAddress(host, policy, resolve, onRefusedName)
  return address === null
    ? { ok: false, code: 'unresolved', message: unreachableName(host, policy) }
    : { ...found, address }
}

/** The address to dial; null: the name does not resolve, or leads to a forbidden address. */
async function findAddress(
  host: string,
  policy: OutboundPolicy,
  resolve: Resolve,
  onRefusedName: MailClientOptions['onRefusedName'],
): Promise<string | null> {
  const addresses = (await resolve(host).catch(() => [])).map(({ address }) => address)
  const verdict = judgeAddresses(host, addresses, policy)
  if (verdict.ok) return addresses[0] ?? null
  onRefusedName?.({ host, rule: verdict.rule, addresses })
  return null
}

type Ended =
  | { readonly is: 'reply'; readonly status: number; readonly body: object }
  | { readonly is: 'failed'; readonly code: Failed['code']; readonly sent: Failed['sent'] }

async function submit(
  server: Server,
  request: HttpRequest,
  message: Message | null,
  { ca, name = 'millrace' }: MailClientOptions,
  timeoutMs: number,
): Promise<Ended> {
  const { default: Connection } = await import('nodemailer/lib/smtp-connection')
  const mayBePlain = request.headers['x-smtp-plain'] === 'true' && isThisMachine(server.address)
  const servername = isIP(server.host) === 0 ? server.host : undefined
  const connection: SMTPConnection = new Connection({
    host: server.address,
    port: server.port,
    secure: server.isSecure,
    requireTLS: !server.isSecure && !mayBePlain,
    ignoreTLS: mayBePlain,
    name,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    ...(servername !== undefined && { servername }),
    tls: { ...(servername !== undefined && { servername }), ...(ca !== undefined && { ca }) },
  })
  let sent: Failed['sent'] = 'no'
  let isGreeted = false
  const body =
    message === null
      ? null
      : onceRead(message.bytes, () => {
          sent = 'maybe'
        })
  return new Promise((settle) => {
    const end = (ended: Ended) => {
      clearTimeout(timer)
      settle(ended)
      if (ended.is === 'reply') connection.quit()
      else connection.close()
    }
    const timer = setTimeout(() => end({ is: 'failed', code: 'timeout', sent }), Math.max(0, timeoutMs))
    const fail = (error: MailError) => end(endedBy(error, sent, isGreeted))
    connection.once('error', fail)
    connection.connect((error) => {
      if (error) return fail(error)
      isGreeted = true
      const auth = credentialsOf(request.headers.authorization)
      const go = () => {
        if (message === null || body === null) return end({ is: 'reply', status: 200, body: { ok: true } })
        const { from, to } = message.envelope
        connection.send({ from, to: [...to], size: message.bytes.length }, body, (refused, info) => {
          if (refused) return fail(refused)
          const { accepted = [], rejected = [], response = '' } = info ?? {}
          // Some recipients were accepted and some were not: neither a success nor a call to repeat for all.
          const isPartly = rejected.length > 0
          end({
            is: 'reply',
            status: isPartly ? 207 : 200,
            body: {
              ...(isPartly && {
                message: `taken for ${accepted.length}, refused for ${rejected.join(', ')}`,
              }),
              messageId: message.messageId,
              accepted,
              rejected,
              response: response.slice(0, 200),
            },
          })
        })
      }
      if (auth === null) go()
      else
        connection.login({ user: auth.user, pass: auth.pass }, (refused) => (refused ? fail(refused) : go()))
    })
  })
}

interface MailError extends Error {
  readonly code?: string | undefined
  readonly responseCode?: number | undefined
}

/** Wrong credentials, or none if some are needed. */
const AUTH_REPLIES = new Set([530, 534, 535, 538])

function endedBy({ code, responseCode }: MailError, sent: Failed['sent'], isGreeted: boolean): Ended {
  // Without TLS nothing is sent, whatever the server replied to STARTTLS.
  if (code === 'ETLS') return { is: 'failed', code: 'tls', sent }
  // A reply settles it, also after the message: a server has not accepted what it refuses.
  if (responseCode !== undefined && responseCode >= 400) {
    const status = AUTH_REPLIES.has(responseCode) ? 401 : responseCode < 500 ? 503 : 422
    return {
      is: 'reply',
      status,
      body: { message: `the mail server replied ${responseCode}`, reply: responseCode },
    }
  }
  if (code === 'EAUTH')
    return { is: 'reply', status: 401, body: { message: 'the mail server takes no such credential' } }
  if (code === 'ETIMEDOUT') return { is: 'failed', code: 'timeout', sent }
  if (code === 'EPROTOCOL') return { is: 'failed', code: 'protocol', sent }
  return { is: 'failed', code: isGreeted ? 'reset' : 'refused', sent }
}

const WORDS: Readonly<Record<Failed['code'], string>> = {
  refused: 'could not be connected to',
  unresolved: 'could not be resolved',
  blocked: 'may not be called',
  tls: 'did not begin TLS with a certificate that can be trusted',
  reset: 'closed the connection before it replied',
  timeout: 'did not reply in time',
  too_large: 'replied too much',
  protocol: 'is no mail server',
  bad_url: 'is no address',
}

function answer(status: number, body: object, durationMs: number): HttpOutcome {
  const headers = { 'content-type': 'application/json' }
  return { kind: 'response', status, headers, body: JSON.stringify(body), durationMs }
}

/** Calls back when the first byte is read: nodemailer does so after the server's 354. */
function onceRead(bytes: Buffer, onRead: () => void): Readable {
  return new Readable({
    highWaterMark: 64 * 1024,
    read() {
      onRead()
      this.push(bytes)
      this.push(null)
    },
  })
}

function credentialsOf(header: string | undefined): { readonly user: string; readonly pass: string } | null {
  const pair = /^Basic (.+)$/i.exec(header ?? '')?.[1]
  if (pair === undefined) return null
  const text = Buffer.from(pair, 'base64').toString('utf8')
  const at = text.indexOf(':')
  return { user: text.slice(0, at), pass: text.slice(at + 1) }
}

function isThisMachine(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}

function resolveBySystem(host: string): Promise<readonly LookupAddress[]> {
  return new Promise((done, failed) => {
    lookup(host, { all: true }, (error, addresses) => (error === null ? done(addresses) : failed(error)))
  })
}
