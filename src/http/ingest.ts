// POST /in/{tenant}/{source}, on bare node:http: this is the way of every webhook, and a framework would be the dearest
// part of it. The body is passed on as the bytes that came, because signatures are made over those.
//
// Invariants: I1 exactly one answer per request. I2 at most `bodyBytesMax` bytes of a body are kept.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../core/errors/index.ts'
import type { HttpApi } from './api.ts'
import { isOurFailure, PROBLEM_TYPE, problemHeaders, toProblem } from './problem.ts'

const PREFIX = '/in/'
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
/** How long a sender may go on sending what nobody wants, so that it gets to read the refusal. */
const LINGER_MS = 2_000

export interface IngestOptions {
  readonly accept: HttpApi['accept']
  readonly bodyBytesMax: number
  requestId(): string
  /** While the server closes, connections are not kept. */
  isClosing(): boolean
  onFailure(error: unknown, requestId: string): void
}

export type IngestHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Whether a request is the ingest handler's; everything else is the framework's. */
export function isIngest(url: string | undefined): boolean {
  return url?.startsWith(PREFIX) === true
}

export function makeIngest(options: IngestOptions): IngestHandler {
  const { accept, bodyBytesMax } = options

  const answer = (
    response: ServerResponse,
    status: number,
    type: string,
    headers: Readonly<Record<string, string>> | null,
    text: string,
  ) => {
    const list = [
      'content-type',
      type,
      'content-length',
      String(Buffer.byteLength(text)),
      'x-content-type-options',
      'nosniff',
    ]
    if (headers !== null) for (const [name, value] of Object.entries(headers)) list.push(name, value)
    if (options.isClosing()) list.push('connection', 'close')
    response.writeHead(status, list).end(text)
  }

  const refuse = (response: ServerResponse, error: unknown, extra: Readonly<Record<string, string>> = {}) => {
    const requestId = options.requestId()
    if (isOurFailure(error)) options.onFailure(error, requestId)
    const problem = toProblem(error, requestId)
    const headers = { ...problemHeaders(problem), ...extra }
    answer(response, problem.status, PROBLEM_TYPE, headers, JSON.stringify(problem))
  }

  /** Refuses a body that is still coming: half-closes and lets the rest run out, for a while. */
  const refuseAndLinger = (request: IncomingMessage) => {
    const problem = toProblem(
      new AppError('body_too_large', `the limit is ${bodyBytesMax} bytes`),
      options.requestId(),
    )
    const text = JSON.stringify(problem)
    const { socket } = request
    socket.end(
      `HTTP/1.1 413 Payload Too Large\r\ncontent-type: ${PROBLEM_TYPE}\r\n` +
        `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
    )
    // Closing with unread bytes would reset the connection, and the sender would never see the answer.
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    const close = () => {
      clearTimeout(timer)
      socket.destroy()
    }
    request.once('end', close).once('close', close).resume()
  }

  const receive = (request: IncomingMessage, response: ServerResponse, tenant: string, source: string) => {
    let first: Buffer | null = null
    let more: Buffer[] | null = null
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > bodyBytesMax) {
        request.off('data', onData).off('end', onEnd)
        first = more = null
        refuseAndLinger(request)
      } else if (first === null) first = chunk
      else if (more === null) more = [first, chunk]
      else more.push(chunk)
    }
    const onEnd = () => {
      const body = more !== null ? Buffer.concat(more, size) : (first ?? EMPTY)
      const { headers } = request
      accept({ tenant, source, headers, body, remoteAddress: request.socket.remoteAddress ?? '' }).then(
        ({ eventId, duplicate }) =>
          answer(
            response,
            202,
            'application/json',
            null,
            `{"eventId":"${eventId}","duplicate":${duplicate}}`,
          ),
        (error) => refuse(response, error),
      )
    }
    request.on('data', onData).on('end', onEnd)
  }

  return (request, response) => {
    const target = parseTarget(request.url as string)
    if (target === null) return discard(request, () => refuse(response, new AppError('unknown_source')))
    if (request.method !== 'POST') {
      const error = new AppError('method_not_allowed', `${request.method} is not possible here`)
      return discard(request, () => refuse(response, error, { allow: 'POST' }))
    }
    const length = request.headers['content-length']
    if (length !== undefined && Number(length) > bodyBytesMax) return refuseAndLinger(request)
    const fault = typeFault(request.headers['content-type'], request.headers['content-encoding'])
    if (fault !== null) return discard(request, () => refuse(response, fault))
    receive(request, response, target.tenant, target.source)
  }

  /** Reads what is left of a refused request, so that the connection can be used again; too much ends it. */
  function discard(request: IncomingMessage, done: () => void): void {
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size <= bodyBytesMax) return
      request.off('data', onData).off('end', done)
      refuseAndLinger(request)
    }
    request.on('data', onData).once('end', done)
  }
}

const EMPTY = Buffer.alloc(0)

function parseTarget(url: string): { tenant: string; source: string } | null {
  const query = url.indexOf('?')
  const end = query === -1 ? url.length : query
  const slash = url.indexOf('/', PREFIX.length)
  if (slash === -1 || slash >= end) return null
  const tenant = url.slice(PREFIX.length, slash)
  const source = url.slice(slash + 1, end)
  return NAME.test(tenant) && NAME.test(source) ? { tenant, source } : null
}

function typeFault(type: string | undefined, encoding: string | undefined): AppError | null {
  if (encoding !== undefined && encoding !== 'identity') {
    return fault(`the content encoding ${encoding} is not supported; send the body as it is`)
  }
  if (type === 'application/json') return null
  if (type === undefined) return fault('there is no content type')
  const end = type.indexOf(';')
  const name = (end === -1 ? type : type.slice(0, end)).trim().toLowerCase()
  if (name === 'application/json' || /^[a-z]+\/[\w.-]+\+json$/.test(name)) return null
  return fault(`${name.slice(0, 100)} is not JSON`)
}

function fault(detail: string): AppError {
  return new AppError('wrong_type', detail)
}
