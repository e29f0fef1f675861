// Bodies of the API on their way in: the client is asked for one only when it is about to be read, what it holds is taken from the
// node's budget of bytes, and a content encoding is undone under the same limits as at `/in`.

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import { type Encoding, readEncoding } from '../core/body/index.ts'
import { AppError } from '../core/errors/index.ts'
import { bodyTooLarge } from './body-limits.ts'
import { type ByteBudget, overBudget } from './byte-budget.ts'
import { askForBody } from './expect.ts'
import { type Inflater, makeInflater, OF_VERIFIED } from './inflate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of its body: taken from the budget until its answer is made. */
    heldBytes: number
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
  app.decorateRequest('heldBytes', 0)
  app.addHook('onRoute', (route) => {
    route.bodyLimit = Math.min(route.bodyLimit ?? app.initialConfig.bodyLimit ?? bodyBytesMax, bodyBytesMax)
  })
  // With a callback: what listens here must do so in the same turn as the framework's own reader, or bytes would pass it by.
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { headers } = request.raw
    const length = headers['content-length']
    const hasBody = length !== undefined || headers['transfer-encoding'] !== undefined
    if (!hasBody || WITHOUT_BODY.test(request.method)) return done(null, payload)
    const bytesMax = request.routeOptions.bodyLimit ?? bodyBytesMax
    const encoded = readEncoding(headers['content-encoding'])
    if (!encoded.ok) return done(new AppError('wrong_type', encoded.detail, { next: NEXT_ENCODING }))
    if (Number(length) > bytesMax) {
      reply.header('connection', 'close')
      return done(bodyTooLarge(bytesMax, bodyBytesMax))
    }
    askForBody(request.raw, reply.raw)
    const take = (bytes: number): boolean => {
      if (!budget.take(bytes)) return false
      request.heldBytes += bytes
      return true
    }
    if (encoded.encoding !== null)
      return done(
        null,
        inflated(payload, { encoding: encoded.encoding, bytesMax, bodyBytesMax, take, inflate }),
      )
    const onData = (chunk: Buffer) => {
      if (take(chunk.length)) return
      payload.off('data', onData)
      // The reader hears of it as of a broken connection; where nothing reads, nothing is held.
      if (payload.listenerCount('error') > 0) payload.emit('error', overBudget())
    }
    payload.on('data', onData)
    done(null, payload)
  })
  const release = (request: FastifyRequest) => {
    budget.release(request.heldBytes)
    request.heldBytes = 0
  }
  // When the answer is made, not when it is sent: a client that goes away frees no memory.
  app.addHook('onSend', async (request) => release(request))
}

const NEXT_ENCODING = 'Send the body as it is, or with gzip, deflate or br.'

/** The whole body without its encoding, as the framework's reader takes it. */
function inflated(
  payload: RequestPayload,
  options: {
    readonly encoding: Encoding
    readonly bytesMax: number
    readonly bodyBytesMax: number
    readonly inflate: Inflater
    take(bytes: number): boolean
  },
): RequestPayload {
  const { encoding, bytesMax, take } = options
  const whole: RequestPayload = new Readable({ read() {} })
  const chunks: Buffer[] = []
  let size = 0
  const fail = (error: Error) => {
    payload.off('data', onData).off('end', onEnd).off('error', fail)
    payload.resume()
    whole.destroy(error)
  }
  const onData = (chunk: Buffer) => {
    size += chunk.length
    if (size > bytesMax) fail(bodyTooLarge(bytesMax, options.bodyBytesMax))
    else if (!take(chunk.length)) fail(overBudget())
    else chunks.push(chunk)
  }
  const onEnd = () => {
    options.inflate(encoding, Buffer.concat(chunks, size), bytesMax).then((bytes) => {
      if (!take(bytes.byteLength)) return fail(overBudget())
      whole.receivedEncodedLength = size
      whole.push(bytes)
      whole.push(null)
    }, fail)
  }
  payload.on('data', onData).on('end', onEnd).on('error', fail)
  return whole
}
