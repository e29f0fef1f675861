// Bodies of the API on their way in: the client is asked for one only when it is about to be read, what it holds is taken from the
// node's budget of bytes, and a content encoding is undone under the same limits as at `/in`.
//
// Invariant: what is not read holds nothing, and what comes after the answer is neither held nor read without bound.

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import { type Encoding, readEncoding } from '../core/ingest/request-body/index.ts'
import { makeGatherer } from './body-chunks.ts'
import { bodyTooLarge } from './body-limits.ts'
import type { ByteBudget, Holding } from './byte-budget.ts'
import { askForBody, isWaitingToSend } from './expect.ts'
import { type Inflater, makeInflater, OF_VERIFIED } from './inflate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of its body: taken from the budget until its answer is made. */
    holding: Holding | null
  }
}

const WITHOUT_BODY = /^(GET|HEAD)$/

/** For every route; authentication comes before it. */
export function addBodies(
  app: FastifyInstance,
  options: { readonly budget: ByteBudget; readonly bodyBytesMax: number },
): void {
  const { budget, bodyBytesMax } = options
  const inflate = makeInflater(OF_VERIFIED)
  app.decorateRequest('holding', null)
  app.addHook('onRoute', (route) => {
    route.bodyLimit = Math.min(route.bodyLimit ?? app.initialConfig.bodyLimit ?? bodyBytesMax, bodyBytesMax)
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { headers } = request.raw
    const length = headers['content-length']
    if (!hasBody(request) || WITHOUT_BODY.test(request.method)) return done(null, payload)
    const bytesMax = request.routeOptions.bodyLimit ?? bodyBytesMax
    const encoded = readEncoding(headers['content-encoding'])
    if (!encoded.ok) return done(new AppError('wrong_type', encoded.detail, { next: NEXT_ENCODING }))
    if (Number(length) > bytesMax) {
      reply.header('connection', 'close')
      return done(bodyTooLarge(bytesMax, bodyBytesMax))
    }
    const holding = budget.hold(request.raw.socket)
    request.holding = holding
    const { encoding } = encoded
    const begin = () => askForBody(request.raw, reply.raw)
    done(null, wholeBody(payload, { encoding, bytesMax, bodyBytesMax, holding, inflate, begin }))
  })
  // When the answer is made, not when it is sent: a client that goes away frees no memory.
  app.addHook('onSend', async (request, reply) => {
    request.holding?.release()
    if (hasBody(request)) discardRest(request, reply, bodyBytesMax)
  })
}

const NEXT_ENCODING = 'Send the body as it is, or with gzip, deflate or br.'

function hasBody({ raw }: FastifyRequest): boolean {
  return raw.headers['content-length'] !== undefined || raw.headers['transfer-encoding'] !== undefined
}

/** Reads what still comes of a body that is answered, so that the connection can be used again; too much ends it. */
function discardRest({ raw }: FastifyRequest, reply: FastifyReply, bytesMax: number): void {
  // An injected request has no such mark, nor a connection.
  if (raw.complete !== false || isWaitingToSend(raw)) return
  let size = 0
  const onData = (chunk: Buffer | string) => {
    size += Buffer.byteLength(chunk)
    if (size <= bytesMax) return
    raw.off('data', onData).pause()
    const end = () => raw.socket.destroy()
    if (reply.raw.writableFinished) end()
    else reply.raw.once('finish', end)
  }
  raw.on('data', onData).resume()
}

/** The whole body without its encoding, as the framework's reader takes it; read when the reader asks for it, and not before. */
function wholeBody(
  payload: RequestPayload,
  options: {
    readonly encoding: Encoding | null
    readonly bytesMax: number
    readonly bodyBytesMax: number
    readonly holding: Holding
    readonly inflate: Inflater
    begin(): void
  },
): RequestPayload {
  const { encoding, bytesMax, holding } = options
  let isBegun = false
  const whole: RequestPayload = new Readable({
    read() {
      if (isBegun) return
      isBegun = true
      payload.on('data', onData).on('end', onEnd).on('error', fail).on('close', onClose)
      options.begin()
    },
  })
  let body = makeGatherer()
  const stop = () => {
    payload.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose)
  }
  const fail = (error: Error) => {
    stop()
    body = makeGatherer()
    holding.release()
    whole.destroy(error)
  }
  const onClose = () => fail(new AppError('body_unreadable', 'the connection closed before the body ended'))
  const onData = (piece: Buffer | string) => {
    const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (body.size + chunk.length > bytesMax) return fail(bodyTooLarge(bytesMax, options.bodyBytesMax))
    const refusal = holding.take(chunk.length)
    if (refusal !== null) return fail(refusal)
    body.add(chunk)
  }
  const push = (bytes: Uint8Array) => {
    if (bytes.byteLength > 0) whole.push(bytes)
    whole.push(null)
  }
  const onEnd = () => {
    stop()
    holding.complete()
    const received = body.whole()
    if (encoding === null) return push(received)
    options.inflate(encoding, received, bytesMax).then((bytes) => {
      const refusal = holding.take(bytes.byteLength)
      if (refusal !== null) return fail(refusal)
      whole.receivedEncodedLength = received.length
      push(bytes)
    }, fail)
  }
  return whole
}
