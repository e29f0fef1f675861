// `Idempotency-Key` on our own POSTs: a request that is sent again gets the first answer, with `idempotency-replayed: true`.
//
// Responses below 500 that the route itself produced are stored. Earlier refusals (no key, no permission, a body that
// is not valid) changed nothing and are produced again.
//
// A secret is never stored. If it is the purpose of a request, the route takes no idempotency key (`answerIsSecret`). If it
// is one field of the response (`secretMembers`), the response is stored with null in its place: a client that lost the first one knows
// that the object exists, and rotates its secret.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../core/foundation/json/index.ts'
import type { Begun } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { takesIdempotencyKey } from './operations.ts'

type Run = Extract<Begun, { do: 'run' }>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a request with an idempotency key runs. */
    idempotentRun: Run | null
  }
  interface FastifyContextConfig {
    /** Fields of the response that are sent once: a stored response has null there. */
    secretMembers?: readonly string[]
  }
}

/** For every route added to the scope after this. */
export function addIdempotency(scope: FastifyInstance, api: Pick<HttpApi, 'idempotency'>): void {
  scope.decorateRequest('idempotentRun', null)

  scope.addHook('preHandler', async (request, reply) => {
    const key = request.headers['idempotency-key']
    if (request.method !== 'POST' || key === undefined) return
    const { url = '', method, config } = request.routeOptions
    // Programs that name every POST need not know which ones need no name.
    if (config?.readsOnly === true || config?.isIdempotent === true) return
    if (!takesIdempotencyKey({ url, method: [method].flat()[0] ?? 'POST', config })) {
      throw new AppError(
        'invalid_request',
        'this takes no idempotency key: nothing of a request or answer that holds a secret is kept',
        { details: { fields: [{ path: '/idempotency-key', message: 'is not taken here; leave it out' }] } },
      )
    }
    const begun = await api.idempotency.begin(
      request.caller.tenant,
      JSON.stringify(request.caller.credential),
      String(key),
      fingerprint(request),
    )
    if (begun.do === 'run') {
      request.idempotentRun = begun
      return
    }
    const { status, type, text } = begun.answer
    if (type !== null) reply.type(type)
    return reply.code(status).header('idempotency-replayed', 'true').send(text)
  })

  scope.addHook('onSend', async (request, reply, payload) => {
    const run = request.idempotentRun
    if (run === null) return
    request.idempotentRun = null
    const { statusCode: status } = reply
    const text = payload === null || payload === undefined ? '' : payload
    const isStored = status < 500 && status !== 429 && typeof text === 'string'
    const type = reply.getHeader('content-type')
    if (!isStored) return run.finish(null)
    const kept = withoutSecrets(text, status, request.routeOptions.config?.secretMembers ?? [])
    return run.finish({ status, type: typeof type === 'string' ? type : null, text: kept })
  })
}

/** Refusals hold none: their text is ours. */
function withoutSecrets(text: string, status: number, members: readonly string[]): string {
  if (members.length === 0 || status >= 300) return text
  const answer = parseJson(text) as Readonly<Record<string, JsonValue>>
  const hidden = members.filter((name) => name in answer).map((name) => [name, null])
  return stringifyJson({ ...answer, ...Object.fromEntries(hidden) })
}

function fingerprint(request: FastifyRequest): string {
  return `${request.method} ${request.url}\n${stringifyJson((request.body ?? null) as JsonValue)}`
}
