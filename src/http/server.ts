// The HTTP server: webhooks on the bare handler, everything else on Fastify, one port.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import { JsonError, parseJson } from '../core/foundation/json/index.ts'
import { ALL_ROLES, type Role } from '../core/queue/node-role/index.ts'
import type { Log } from '../ports/log.ts'
import type { HttpApi } from './api.ts'
import { addAuthentication } from './auth.ts'
import { addBodies } from './bodies.ts'
import { BODY_BYTES_MAX, tooLarge } from './body-limits.ts'
import { makeByteBudget } from './byte-budget.ts'
import { addConsolePages, asksForPage } from './console-pages.ts'
import { makeFileCompiler } from './definition-files.ts'
import { addDeprecation } from './deprecation.ts'
import { noteExpectation } from './expect.ts'
import {
  answerConnection,
  fromRouter,
  makeMethodTable,
  NOSNIFF,
  PARAM_LENGTH_MAX,
  refuseConnection,
} from './framework-refusals.ts'
import { addIdempotency } from './idempotency.ts'
import { isIngest, makeIngest } from './ingest.ts'
import { refusedJson } from './json-refusal.ts'
import { addOpenApi } from './openapi.ts'
import { type ShownPause, sendPausedPage } from './paused-page.ts'
import { isOurFailure, PROBLEM_TYPE, type Problem, problemHeaders, toProblem } from './problem.ts'
import { normalizeTarget } from './request-target.ts'
import { assertNotPaused, assertRole } from './role-gate.ts'
import { API_ROUTES, OPEN_ROUTES } from './routes.ts'
import type { Serving } from './serving.ts'
import { makeConnections } from './socket-limits.ts'
import { makeValidatorCompiler } from './validation.ts'

export interface HttpServerOptions {
  /** Where the built console is; without one, only the API is served. */
  readonly consoleFolder?: string | null
  readonly bodyBytesMax: number
  /** Bytes of bodies that may be under way at once, all together; left out: no limit. */
  readonly heldBytesMax?: number
  /** Left out: no limit. */
  readonly connectionsPerAddressMax?: number
  /** How long a request may take to arrive; left out: `ARRIVAL`. */
  readonly arrival?: ArrivalLimits
  /** Compiles the schemas of all routes before the server is ready; left out: each with the first request that needs it. */
  readonly compilesAtOnce?: boolean
  /** What the node does; left out: everything. */
  readonly roles?: ReadonlySet<Role>
  /** Why the node does nothing until the operator decides; null, or left out: it is not paused. */
  pause?(): ShownPause | null
  /** Networks of proxies whose word about the caller's address is taken. */
  readonly trustedProxies?: readonly string[]
  /** Where senders reach this node, without a slash at the end; left out: as their requests say. */
  readonly publicUrl?: string | null
  /** How long requests under way may take when the server closes. */
  readonly closeMs: number
  requestId(): string
  readonly log: Log
}

/** Whatever arrives so far, a request that is not complete in time is answered 408, and its connection closes. */
interface ArrivalLimits {
  /** Until the last header, from the connection's first byte or the end of the request before. */
  readonly headersMs: number
  /** Until the last byte of the body. */
  readonly requestMs: number
  /** How often the two are checked, so how much later the connection may close. Node's own 30 s would triple the first. */
  readonly checkEveryMs: number
}

export interface HttpServer extends AsyncDisposable {
  /** For tests, and for what else wants to be served here. */
  readonly app: FastifyInstance
  /** Bytes of bodies that are under way. */
  readonly heldBytes: number
  listen(at: {
    readonly host: string
    readonly port: number
  }): Promise<{ readonly port: number; readonly url: string }>
  /** Stops taking connections, lets requests under way end, and closes. */
  close(): Promise<void>
}

/** `docs/security.md` states them. */
export const ARRIVAL: ArrivalLimits = { headersMs: 10_000, requestMs: 30_000, checkEveryMs: 1_000 }
/** Longer than the minute for which load balancers keep connections: the side that closes first loses requests. */
const KEEP_ALIVE_MS = 72_000
const JSON_DEPTH_MAX = 64
const CLOSE_STEP_MS = 25
const PATH_SHOWN_MAX = 200

export function makeHttpServer(api: HttpApi, options: HttpServerOptions): HttpServer {
  const { log, roles = ALL_ROLES, arrival = ARRIVAL } = options
  const pauseNow = () => options.pause?.() ?? null
  let closing = false
  let server: Server | null = null
  const sockets = new Set<Socket>()

  const onFailure = (error: unknown, requestId: string, where: Readonly<Record<string, unknown>>) => {
    log.error('http.failed', { instance: `/requests/${requestId}`, ...where, error })
  }
  const budget = makeByteBudget(options.heldBytesMax ?? Number.POSITIVE_INFINITY, {
    bodyBytesMax: options.bodyBytesMax,
    trustedProxies: options.trustedProxies ?? [],
  })
  const connections = makeConnections({
    perAddressMax: options.connectionsPerAddressMax ?? Number.POSITIVE_INFINITY,
    trustedProxies: options.trustedProxies ?? [],
  })
  const ingest = makeIngest(api, {
    budget,
    trustedProxies: options.trustedProxies ?? [],
    publicBase: options.publicUrl ?? null,
    bodyBytesMax: options.bodyBytesMax,
    requestId: options.requestId,
    isClosing: () => closing,
    onFailure: (error, requestId) => onFailure(error, requestId, { route: '/in/{tenant}/{source}' }),
  })

  const limits = { eventBodyLimit: options.bodyBytesMax }
  /** Connections that were refused and are about to close. */
  const turnedAway = new WeakSet<Socket>()
  const app = fastify({
    logger: false,
    trustProxy: (options.trustedProxies ?? []).length > 0 ? [...(options.trustedProxies ?? [])] : false,
    bodyLimit: Math.min(BODY_BYTES_MAX.small, options.bodyBytesMax),
    forceCloseConnections: 'idle',
    genReqId: () => options.requestId(),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: PARAM_LENGTH_MAX },
    frameworkErrors: (error, request, reply) => {
      reply.headers(NOSNIFF)
      sendProblem(reply, toProblem(fromRouter(error), request.id))
    },
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, options.requestId()),
    serverFactory: (handler) => {
      /** Before anything routes it; the connection ends with the answer. */
      const refuseEarly = (request: IncomingMessage, response: ServerResponse, error: unknown) => {
        const problem = toProblem(error, options.requestId())
        const text = JSON.stringify(problem)
        const own = { 'content-type': PROBLEM_TYPE, 'content-length': Buffer.byteLength(text) }
        response.shouldKeepAlive = false
        response.writeHead(problem.status, { ...problemHeaders(problem), ...NOSNIFF, ...own }).end(text)
        request.resume()
      }
      const serve = (request: IncomingMessage, response: ServerResponse) => {
        if (turnedAway.has(request.socket)) return
        try {
          normalizeTarget(request)
        } catch (error) {
          refuseEarly(request, response, error)
          return
        }
        if (isIngest(request.url) && roles.has('ingest') && pauseNow() === null) ingest(request, response)
        else handler(request, response)
      }
      server = createServer(
        {
          headersTimeout: arrival.headersMs,
          requestTimeout: arrival.requestMs,
          keepAliveTimeout: KEEP_ALIVE_MS,
          connectionsCheckingInterval: arrival.checkEveryMs,
        },
        serve,
      )
      server.on('checkContinue', (request, response) => {
        noteExpectation(request, response)
        serve(request, response)
      })
      server.on('checkExpectation', (request, response) => {
        refuseEarly(request, response, new AppError('expectation_failed'))
      })
      server.on('connection', (socket) => {
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        if (connections.admit(socket)) return
        turnedAway.add(socket)
        const detail =
          'this address has as many connections open as `MILLRACE_CONNECTIONS_PER_ADDRESS` allows'
        answerConnection(toProblem(new AppError('limited', detail), options.requestId()), socket)
      })
      return server
    },
  })
  app.decorate('isPublicByTls', options.publicUrl?.startsWith('https:') === true)
  app.setValidatorCompiler(makeValidatorCompiler({ isEager: options.compilesAtOnce ?? false }))
  addBodies(app, { budget, bodyBytesMax: options.bodyBytesMax })
  readJsonExactly(app)
  app.setErrorHandler((thrown, request, reply) => {
    const error = tooLarge(thrown, request.routeOptions.bodyLimit, options.bodyBytesMax) ?? thrown
    if (isOurFailure(error)) {
      onFailure(error, request.id, { method: request.method, route: request.routeOptions.url ?? null })
    }
    return sendProblem(reply, toProblem(error, request.id))
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(NOSNIFF)
    const pause = pauseNow()
    if (pause !== null) {
      if (asksForPage(request, pathOf(request))) return sendPausedPage(reply, pause)
      assertNotPaused(pause, pathOf(request))
    }
    assertRole(roles, pathOf(request))
  })
  const methodsOf = makeMethodTable(app)
  const pages = addConsolePages(app, options.consoleFolder ?? null)
  app.setNotFoundHandler((request, reply) => {
    const page = pages.answer(request, reply)
    if (page !== null) return page
    const path = pathOf(request)
    if (path === '/' && /^(GET|HEAD)$/.test(request.method))
      return reply.code(200).type('application/json').send(WELCOME)
    const allow = methodsOf(path)
    if (allow.length > 0) {
      const detail = `${path.slice(0, PATH_SHOWN_MAX)} takes ${allow.join(', ')}, not ${request.method}`
      throw new AppError('method_not_allowed', detail, { details: { allow } })
    }
    throw new AppError('not_found', `there is no ${request.method} ${path.slice(0, PATH_SHOWN_MAX)}`)
  })
  addOpenApi(app)
  const serving: Serving = {
    limits,
    log,
    compileFiles: makeFileCompiler(api),
    publicUrl: options.publicUrl ?? null,
  }
  for (const { add } of OPEN_ROUTES) app.register(async (scope) => add(scope, api))
  app.register(
    async (scope) => {
      addAuthentication(scope, () => api.access)
      addIdempotency(scope, api)
      addDeprecation(scope, log)
      for (const { add } of API_ROUTES) add(scope, api, serving)
    },
    { prefix: '/v1' },
  )

  const close = async () => {
    if (closing) return
    closing = true
    // A connection that was busy when closing began becomes idle later, and would stay open for its whole time.
    // One that browsers open in advance counts as busy until its first request, which may never come.
    const step = setInterval(() => {
      server?.closeIdleConnections()
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, CLOSE_STEP_MS)
    const limit = setTimeout(() => server?.closeAllConnections(), options.closeMs)
    try {
      await app.close()
    } finally {
      clearInterval(step)
      clearTimeout(limit)
    }
  }

  return {
    app,
    get heldBytes() {
      return budget.held
    },
    listen: async ({ host, port }) => {
      await app.listen({ host, port })
      const address = app.server.address() as AddressInfo
      const shown =
        host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
      return { port: address.port, url: `http://${shown}:${address.port}` }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Bodies of the API by the same reader as events; a POST without a body has an empty one. */
function readJsonExactly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    /^application\/([\w.-]+\+)?json/,
    { parseAs: 'string' },
    (_request, body, done) => {
      try {
        done(
          null,
          body === '' ? {} : parseJson(body as string, { depth: JSON_DEPTH_MAX, duplicateKeys: 'refuse' }),
        )
      } catch (error) {
        done(error instanceof JsonError ? refusedJson(error, JSON_DEPTH_MAX) : (error as Error))
      }
    },
  )
  app.addHook('preValidation', async (request) => {
    if (request.method === 'POST' && request.body == null) request.body = {}
  })
}

/** For programs and command-line users: a browser gets the console. */
const WELCOME = `${JSON.stringify({
  name: 'Millrace',
  console: 'open this address in a browser',
  api: '/openapi.json',
  webhooks: 'POST /in/{tenant}/{source}',
  health: '/healthz',
  readiness: '/readyz',
})}\n`

function pathOf(request: FastifyRequest): string {
  return request.url.split(/[?#]/, 1)[0] ?? ''
}

function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .headers(problemHeaders(problem))
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problem))
}
