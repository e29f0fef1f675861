// What is refused before any route is asked: addresses and requests that cannot be read, and methods that a known address
// does not have. These, too, are problem documents.

import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import { PROBLEM_TYPE, type Problem, problemHeaders, toProblem } from './problem.ts'

/** Names have at most 128 characters, some of them escaped. */
export const PARAM_LENGTH_MAX = 256

/** Says nothing of the address itself: it may hold what is secret. */
export function fromRouter(error: { readonly code?: string }): AppError {
  return error.code === 'FST_ERR_MAX_PARAM_LENGTH'
    ? new AppError('invalid_request', `a part of the address has more than ${PARAM_LENGTH_MAX} characters`)
    : new AppError('invalid_request', 'the address cannot be read: a `%` in it begins no escaped character')
}

function fromParser(error: { readonly code?: string }): AppError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('headers_too_large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('request_timeout')
    default:
      return new AppError('invalid_request', 'this is not HTTP as it can be read here', {
        next: 'Send an HTTP/1.1 request; look for a proxy in between that changes it, or for TLS to a plain port.',
      })
  }
}

/** There is no request yet, so the response is written to the socket directly, and the connection ends. */
export function refuseConnection(error: { readonly code?: string }, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy()
    return
  }
  answerConnection(toProblem(fromParser(error), requestId), socket)
}

/** An answer that is under way must not get another one into its middle, nor may a whole request get the answer of a broken one. */
function isAnswering(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  const response = socket._httpMessage ?? null
  if (response === null) return false
  // A body that cannot be read belongs to the request whose answer is due.
  return response.headersSent || response.req.complete
}

/** Writes the refusal to the socket directly, and ends the connection. */
export function answerConnection(problem: Problem, socket: Socket): void {
  const text = JSON.stringify(problem)
  const headers = {
    ...problemHeaders(problem),
    'content-type': PROBLEM_TYPE,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...NOSNIFF,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('\r\n')}\r\n\r\n${text}`,
    () => socket.destroySoon(),
  )
}

/** No browser may take an answer for something else than it says. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' } as const

/** Which methods an address has; call it before any route is added. */
export function makeMethodTable(app: FastifyInstance): (path: string) => readonly string[] {
  const routes: { readonly parts: readonly string[]; readonly methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ parts: split(url), methods: [method].flat() })
  })
  return (path) => {
    const asked = split(path)
    const fitting = routes.filter(
      ({ parts }) =>
        parts.length === asked.length &&
        parts.every((part, index) => part === asked[index] || (part.startsWith(':') && asked[index] !== '')),
    )
    return [...new Set(fitting.flatMap(({ methods }) => methods))].sort()
  }
}

const split = (path: string) => path.replace(/\/$/, '').split('/')
