// `Expect: 100-continue`: the client sends its body only when it is asked to. The server asks when it is about to read the body, so
// that a request which is refused before that gets its refusal and no 100 (RFC 9110, 10.1.1).

import type { IncomingMessage, ServerResponse } from 'node:http'

/** Requests that were not asked for their body yet, and whether their connection would stay open. */
const waiting = new WeakMap<IncomingMessage, boolean>()

/** Until the body is asked for, the answer closes the connection: whether the body comes after it is up to the client. */
export function noteExpectation(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response.shouldKeepAlive)
  response.shouldKeepAlive = false
}

export function isWaitingToSend(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && waiting.has(request)
}

/** Call it right before the body is read. */
export function askForBody(request: IncomingMessage, response: ServerResponse): void {
  if (!isWaitingToSend(request)) return
  response.shouldKeepAlive = waiting.get(request) === true
  waiting.delete(request)
  response.writeContinue()
}
