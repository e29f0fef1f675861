// POST /in/{tenant}/{source}, on bare node:http: this is the way of every webhook, and a framework would be the dearest
// part of it. The body is passed on as the bytes that came, because signatures are made over those. GET is passed on too: some
// vendors ask with it before they send.
//
// Invariants: I1 exactly one answer per request. I2 no byte of a body is buffered before its source is known, and of one body no more than
// the source's limit and `bodyBytesMax`; all bodies in flight share one budget of bytes. I3 a request refused here is reported to the
// engine, which lists it with its own refusals.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { clientAddress, compileNetworks, publicUrl } from '../core/access/network/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { type Encoding, readEncoding, readMediaType } from '../core/ingest/request-body/index.ts'
import type { IntakeRequest, Received } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { makeGatherer } from './body-chunks.ts'
import type { ByteBudget, Holding } from './byte-budget.ts'
import { askForBody, isWaitingToSend } from './expect.ts'
import { makeInflater, OF_STRANGERS, OF_VERIFIED } from './inflate.ts'
import { isOurFailure, PROBLEM_TYPE, problemHeaders, toProblem } from './problem.ts'

const PREFIX = '/in/'
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
/** How long a sender may continue to send a refused body, so that it can read the refusal. */
const LINGER_MS = 2_000
const NO_CONTENT = 204

export interface IngestOptions {
  /** Networks of proxies whose word about the sender is taken. */
  readonly trustedProxies: readonly string[]
  /** Where senders reach this node, without a slash at the end; null: as the request says. */
  readonly publicBase: string | null
  readonly bodyBytesMax: number
  /** Of all requests of the node. */
  readonly budget: ByteBudget
  requestId(): string
  /** While the server closes, connections are not kept alive. */
  isClosing(): boolean
  onFailure(error: unknown, requestId: string): void
}

export type IngestHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Whether a request is the ingest handler's; everything else is the framework's. */
export function isIngest(url: string | undefined): boolean {
  return url?.startsWith(PREFIX) === true
}

/** `api` is asked for every request: the node replaces parts of it when its engine has started. */
export function makeIngest(
  api: Pick<HttpApi, 'sourceBodyMax' | 'receive' | 'refused'>,
  options: IngestOptions,
): IngestHandler {
  const { bodyBytesMax, budget } = options
  const inflaters = { verified: makeInflater(OF_VERIFIED), strangers: makeInflater(OF_STRANGERS) }
  const isTrusted = compileNetworks(options.trustedProxies)

  const answer = (
    response: ServerResponse,
    status: number,
    type: string,
    headers: Readonly<Record<string, string>> | null,
    text: string,
  ) => {
    const list = ['x-content-type-options', 'nosniff']
    // An answer without content has neither.
    if (status !== NO_CONTENT)
      list.push('content-type', type, 'content-length', String(Buffer.byteLength(text)))
    if (headers !== null) for (const [name, value] of Object.entries(headers)) list.push(name, value)
    if (options.isClosing()) list.push('connection', 'close')
    response.writeHead(status, list).end(text)
  }

  const refuse = (response: ServerResponse, error: unknown) => {
    const requestId = options.requestId()
    if (isOurFailure(error)) options.onFailure(error, requestId)
    const problem = toProblem(error, requestId)
    answer(response, problem.status, PROBLEM_TYPE, problemHeaders(problem), JSON.stringify(problem))
  }

  /** Refuses a body that is still coming: half-closes and lets the rest run out, for a while. */
  const refuseAndLinger = (
    request: IncomingMessage,
    response: ServerResponse,
    incoming: Described | null,
    error: AppError,
  ) => {
    if (incoming !== null) api.refused(incoming, error)
    const problem = toProblem(error, options.requestId())
    const text = JSON.stringify(problem)
    const { socket } = request
    const end = () => {
      const headers = Object.entries(problemHeaders(problem)).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.end(
        `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\ncontent-type: ${PROBLEM_TYPE}\r\n` +
          `${headers.join('')}content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
      )
      // Closing with unread bytes would reset the connection, and the sender would never see the answer.
      const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
      const close = () => {
        clearTimeout(timer)
        socket.destroy()
      }
      request.once('end', close).once('close', close).resume()
    }
    // Requests that came before it on the same connection are answered first.
    if (response.socket === null) response.once('socket', end)
    else end()
  }

  /**
   * Most requests need neither of the two addresses: they are computed on first use. A class, because getters of an object
   * that is made for every request cost more than reading its headers.
   */
  class Described implements IntakeRequest {
    readonly tenant: string
    readonly source: string
    readonly headers: IncomingMessage['headers']
    readonly method: string
    readonly target: string
    /** Of the body, as received and inflated: taken from the budget until the request is answered. */
    readonly holding: Holding
    body: Uint8Array = EMPTY
    inflate: NonNullable<IntakeRequest['inflate']> | undefined
    readonly #socket: IncomingMessage['socket']
    constructor(request: IncomingMessage, target: Target) {
      this.tenant = target.tenant
      this.source = target.source
      this.headers = request.headers
      this.method = request.method as string
      this.target = request.url as string
      this.#socket = request.socket
      this.holding = budget.hold(request.socket)
    }
    complete(body: Uint8Array, encoding: Encoding | null) {
      this.body = body
      this.holding.complete()
      if (encoding === null) return
      this.inflate = async (bytesMax, isVerified) => {
        const whole = await inflaters[isVerified ? 'verified' : 'strangers'](encoding, body, bytesMax)
        const refusal = this.holding.take(whole.byteLength)
        if (refusal !== null) throw refusal
        return whole
      }
    }
    get address() {
      return clientAddress(this.#socket.remoteAddress ?? '', this.headers['x-forwarded-for'], isTrusted)
    }
    get publicUrl() {
      const { headers, target } = this
      const peer = this.#socket.remoteAddress ?? ''
      const input = { peer, headers, isEncrypted: 'encrypted' in this.#socket, target }
      return publicUrl(input, isTrusted, options.publicBase)
    }
  }
  const sendReceived = (response: ServerResponse, received: Received) => {
    const own = 'handshake' in received ? received.handshake : received.answer
    if (own !== undefined) return answer(response, own.status, own.contentType, OWN_ANSWER, own.body)
    const { eventId, duplicate } = received as Exclude<Received, { handshake: unknown }>
    const text = `{"eventId":"${eventId}","duplicate":${duplicate}}`
    answer(response, 202, 'application/json', null, text)
  }

  const pass = (response: ServerResponse, incoming: Described) => {
    const fail = (error: unknown) => {
      incoming.holding.release()
      refuse(response, error)
    }
    api.receive(incoming).then((received) => {
      // Not before: what waits for its commit is in memory, whether or not its sender still waits.
      incoming.holding.release()
      try {
        sendReceived(response, received)
      } catch (error) {
        refuse(response, error)
      }
    }, fail)
  }

  const receive = (
    request: IncomingMessage,
    response: ServerResponse,
    incoming: Described,
    encoding: Encoding | null,
    bytesMax: number,
  ) => {
    let body = makeGatherer()
    const stop = () => {
      request.off('data', onData).off('end', onEnd).off('close', stop)
      body = makeGatherer()
      incoming.holding.release()
    }
    const onData = (chunk: Buffer) => {
      const refusal =
        body.size + chunk.length > bytesMax ? tooLarge(bytesMax) : incoming.holding.take(chunk.length)
      if (refusal === null) return body.add(chunk)
      stop()
      refuseAndLinger(request, response, incoming, refusal)
    }
    const onEnd = () => {
      request.off('close', stop)
      incoming.complete(body.whole(), encoding)
      pass(response, incoming)
    }
    // A sender that goes away in the middle closes it.
    request.on('data', onData).on('end', onEnd).on('close', stop)
    askForBody(request, response)
  }

  /** The source is known and takes the request so far: what its headers say decides whether the body is read. */
  const begin = (
    request: IncomingMessage,
    response: ServerResponse,
    incoming: Described,
    sourceBytesMax: number,
  ) => {
    const refuseHere = (error: AppError) => refuseWhole(request, response, incoming, error)
    const bytesMax = Math.min(sourceBytesMax, bodyBytesMax)
    const length = request.headers['content-length']
    if (length !== undefined && Number(length) > bytesMax)
      return refuseAndLinger(request, response, incoming, tooLarge(bytesMax))
    const media = readMediaType(request.headers['content-type'])
    if (!media.ok) return refuseHere(new AppError('wrong_type', media.detail))
    const encoded = readEncoding(request.headers['content-encoding'])
    if (!encoded.ok) return refuseHere(new AppError('wrong_type', encoded.detail))
    receive(request, response, incoming, encoded.encoding, bytesMax)
  }

  return (request, response) => {
    const target = parseTarget(request.url as string)
    if (target === null)
      return discard(request, response, null, () => refuse(response, new AppError('unknown_source')))
    const incoming = new Described(request, target)
    if (request.method === 'GET') return discard(request, response, incoming, () => pass(response, incoming))
    if (request.method !== 'POST') {
      const detail = 'events are sent with POST'
      const error = new AppError('method_not_allowed', detail, { details: { allow: ['POST'] } })
      return refuseWhole(request, response, incoming, error)
    }
    // Checked before any byte of the body is buffered: a refused body costs no memory.
    try {
      const bytesMax = api.sourceBodyMax(incoming)
      if (typeof bytesMax === 'number') begin(request, response, incoming, bytesMax)
      else
        bytesMax.then(
          (known) => begin(request, response, incoming, known),
          (error) => refuseWhole(request, response, incoming, error),
        )
    } catch (error) {
      refuseWhole(request, response, incoming, error)
    }
  }

  function refuseWhole(
    request: IncomingMessage,
    response: ServerResponse,
    incoming: Described,
    error: unknown,
  ): void {
    discard(request, response, incoming, () => {
      if (error instanceof AppError) api.refused(incoming, error)
      refuse(response, error)
    })
  }

  /** Reads what is left of a refused request and keeps nothing of it, so that the connection can be used again; too much ends it. */
  function discard(
    request: IncomingMessage,
    response: ServerResponse,
    incoming: Described | null,
    done: () => void,
  ): void {
    if (isWaitingToSend(request)) {
      done()
      return
    }
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size <= bodyBytesMax) return
      request.off('data', onData).off('end', done)
      refuseAndLinger(request, response, incoming, tooLarge(bodyBytesMax))
    }
    request.on('data', onData).once('end', done)
  }
}

const tooLarge = (bytesMax: number) => new AppError('body_too_large', `the limit is ${bytesMax} bytes`)

const EMPTY = Buffer.alloc(0)

/** What a source answers is not a page of ours, whatever type it gives it: no browser may run anything of it here. */
const OWN_ANSWER = { 'content-security-policy': "default-src 'none'; sandbox" }

interface Target {
  readonly tenant: string
  readonly source: string
}

function parseTarget(url: string): Target | null {
  const query = url.indexOf('?')
  const end = query === -1 ? url.length : query
  const slash = url.indexOf('/', PREFIX.length)
  if (slash === -1 || slash >= end) return null
  const tenant = url.slice(PREFIX.length, slash)
  const source = url.slice(slash + 1, end)
  return NAME.test(tenant) && NAME.test(source) ? { tenant, source } : null
}
