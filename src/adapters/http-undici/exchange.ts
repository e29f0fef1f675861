// One request and its outcome: collects the response, or decides how it failed and whether a byte may have been sent.
//
// undici announces a request on a connection right before it writes it. Until then nothing was sent; from then on
// something may have been. At the announcement a request is stopped that is late, or that undici would write a second
// time after losing a connection.
//
// If only the status counts (`cut`), the response is complete with its head: a body that is too large, too late or
// broken ends the reading and not the exchange. The connection is then closed, because its position in the stream is
// lost.
//
// Invariants: E1 settles once. E2 `sent: 'no'` only if the request was never announced. E3 at most one announcement is
// let through.

import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import type { HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import { ConnectFailure, type FailureCode } from './connector.ts'

interface ExchangeOptions {
  readonly request: HttpRequest
  readonly host: string
  /** How long a body may take after its head, if it may be cut. */
  readonly cutAfterMs: number
  settle(outcome: HttpOutcome): void
}

/** A server that keeps sending informational responses never sends a final one. */
const INFORMATIONAL_MAX = 16

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | null = null
  #settled = false
  #status = 0
  #headers: Record<string, string> = {}
  #chunks: Buffer[] = []
  #size = 0
  #decoder: StringDecoder | null = null
  #informational = 0
  #grace: NodeJS.Timeout | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.#timer = setTimeout(() => this.fail('timeout'), options.request.timeoutMs)
  }

  fail(code: FailureCode, reason?: string): void {
    if (this.#settled) return
    if (this.#status !== 0 && this.#options.request.cut === true) {
      this.#cut()
      return
    }
    const sent = this.#controller === null ? 'no' : 'maybe'
    const message = describeFailure(code, sent, this.#options, reason)
    this.#settle({ kind: 'failed', sent, code, message, durationMs: this.#durationMs() })
    this.#controller?.abort(new Stopped())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#settled || this.#controller !== null) throw new Stopped()
    this.#controller = controller
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#settled) return
    if (status < 200) {
      this.#informational += 1
      if (this.#informational > INFORMATIONAL_MAX) this.fail('protocol')
      return
    }
    this.#status = status
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) this.#headers[name] = typeof value === 'string' ? value : value.join(', ')
    }
    const { request } = this.#options
    if (request.cut === true) {
      // Most bodies arrive with the head: they are complete before this runs, and need no timer.
      queueMicrotask(() => this.#allowGrace())
      return
    }
    const announced = Number(this.#headers['content-length'])
    if (announced > request.maxResponseBytes && request.method !== 'HEAD') this.fail('too_large')
  }

  #allowGrace(): void {
    if (!this.#settled) this.#grace = setTimeout(() => this.#cut(), this.#options.cutAfterMs)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return
    const { maxResponseBytes, cut } = this.#options.request
    const room = maxResponseBytes - this.#size
    if (chunk.length <= room) this.#take(chunk)
    else {
      if (cut === true) this.#take(chunk.subarray(0, room))
      this.fail('too_large')
    }
  }

  #take(chunk: Buffer): void {
    this.#size += chunk.length
    this.#chunks.push(chunk)
    this.#tell(chunk)
  }

  /** The network may split a character between chunks. */
  #tell(chunk: Buffer): void {
    const { onChunk } = this.#options.request
    if (onChunk === undefined || this.#status < 200 || this.#status > 299) return
    this.#decoder ??= new StringDecoder('utf8')
    const text = this.#decoder.write(chunk)
    if (text !== '') onChunk(text)
  }

  onResponseEnd(): void {
    if (this.#settled) return
    this.#settle(this.#answer())
  }

  #cut(): void {
    if (this.#settled) return
    this.#settle({ ...this.#answer(), isCut: true })
    this.#controller?.abort(new Stopped())
  }

  #answer(): HttpOutcome & { kind: 'response' } {
    const [first] = this.#chunks
    const whole =
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#size)
    return {
      kind: 'response',
      status: this.#status,
      headers: this.#headers,
      body: whole.toString('utf8'),
      durationMs: this.#durationMs(),
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return
    const code = codeOf(error)
    if (error instanceof ConnectFailure) this.fail(code, error.reason)
    else this.fail(code, code === 'bad_url' ? error.message : undefined)
  }

  #settle(outcome: HttpOutcome): void {
    this.#settled = true
    this.#chunks = []
    clearTimeout(this.#timer)
    clearTimeout(this.#grace)
    this.#options.settle(outcome)
  }

  #durationMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }
}

/** Our own decision to end an exchange; its outcome is already settled. */
class Stopped extends Error {
  override readonly name = 'Stopped'
}

const BY_UNDICI_CODE: Readonly<Record<string, FailureCode>> = {
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_INVALID_ARG: 'bad_url',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'bad_url',
}

function codeOf(error: Error): FailureCode {
  if (error instanceof ConnectFailure) return error.failure
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const known = BY_UNDICI_CODE[code]
  if (known !== undefined) return known
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError') return 'protocol'
  if (code === 'UND_ERR_SOCKET' && error.message.startsWith('bad ')) return 'protocol'
  return 'reset'
}

/** Fixed sentences: system messages name addresses, and the other side's may contain anything. */
function describeFailure(
  code: FailureCode,
  sent: 'no' | 'maybe',
  { host, request: { timeoutMs, maxResponseBytes } }: ExchangeOptions,
  reason: string | undefined,
): string {
  switch (code) {
    case 'refused':
      return `${host} could not be connected to`
    case 'unresolved':
      return reason ?? `${host} cannot be reached from here`
    case 'blocked':
      return reason ?? `${host} is not a public address, and its network is not allowed for outbound calls`
    case 'tls':
      return `${host} did not complete a TLS handshake that can be trusted`
    case 'timeout':
      return `${host} did not ${sent === 'no' ? 'accept a connection' : 'answer completely'} within ${timeoutMs} ms`
    case 'too_large':
      return `the answer of ${host} is larger than ${maxResponseBytes} bytes`
    case 'protocol':
      return `the answer of ${host} is not HTTP`
    case 'bad_url':
      return `the request is not valid: ${reason ?? 'its address'}`
    case 'reset':
      return `the connection to ${host} was lost ${sent === 'no' ? 'before the request' : 'before the answer was complete'}`
  }
}
