// GET /v1/stream: what changes, as server-sent events.

import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { Change } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { authenticate } from './auth.ts'
import { string } from './schemas-answers.ts'
import { HUB_LIMITS, type HubLimits, type Lens, makeStreamHub, type Reader } from './stream-hub.ts'

const RETRY_SECONDS = 30
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Proxies that gather answers would hold messages back.
  'x-accel-buffering': 'no',
}

const DESCRIPTION = [
  'Server-sent events: `changes` with `{changes: [Change]}`, at most eight messages a second;',
  '`gap` with `{dropped}` when changes were missed: read again what you show; `ping` every 15 seconds.',
  'Send the last `id` as `Last-Event-ID` to go on after a short break. A node tells what it does itself.',
].join(' ')

/** What ends a key or a session: its streams need not wait for a ping. */
const ENDINGS = new Set(['DELETE /v1/keys/:id', 'DELETE /v1/session'])

export function addStreamRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'watch' | 'access' | 'workflows'>,
  limits: HubLimits = HUB_LIMITS,
): void {
  const hub = makeStreamHub(
    {
      watch: (watcher) => api.watch(watcher),
      life: randomUUID(),
      after(delayMs, callback) {
        const timer = setTimeout(callback, delayMs).unref()
        return () => clearTimeout(timer)
      },
      monotonic: () => performance.now(),
    },
    limits,
  )
  // Before connections are waited for: these would never end by themselves.
  app.addHook('preClose', async () => hub.close())
  app.addHook('onResponse', async (request, reply) => {
    const isEnding = ENDINGS.has(`${request.method} ${request.routeOptions.url}`)
    if (isEnding && reply.statusCode === 204) hub.recheck(request.caller.tenant)
  })

  app.get(
    '/stream',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'stream',
        tags: ['stream'],
        summary: 'What changes, as it happens',
        description: DESCRIPTION,
        response: {
          200: { description: 'A stream without end', content: { 'text/event-stream': { schema: string } } },
        },
      },
    },
    (request, reply) => {
      const { raw } = reply
      const { tenant, role, credential } = request.caller
      const lastId = request.headers['last-event-id']
      const reader: Reader = {
        write(text) {
          // Headers go out with the first message: until then a refusal is possible.
          if (!raw.headersSent) raw.writeHead(200, HEADERS)
          return raw.write(text)
        },
        end: () => raw.end(),
        drop: () => raw.destroy(),
        async mayRead() {
          try {
            const caller = await authenticate(request, api.access)
            return caller.tenant === tenant && caller.role === role
          } catch (error) {
            if (error instanceof AppError && error.code === 'not_authenticated') return false
            throw error
          }
        },
      }
      const who = { tenant, credential: JSON.stringify(credential), ...lensOf(request.caller) }
      const seat = hub.join(who, typeof lastId === 'string' ? lastId : null, reader)
      if (seat === 'closed') throw new AppError('shutting_down')
      if (typeof seat === 'string') throw tooMany(seat === 'tenant' ? 'tenant' : 'key')
      reply.hijack()
      raw.on('drain', seat.drained)
      raw.once('close', seat.leave)
    },
  )

  /** Instances and orphans of workflows that the caller may not see are left out. An admin may see all. */
  function lensOf(caller: Caller): { readonly lens?: Lens } {
    if (caller.role === 'admin') return {}
    const sees = (change: Change) =>
      (change.type !== 'instance' && change.type !== 'orphan') ||
      api.workflows.reading.maySee(caller, change.workflow)
    return { lens: { name: caller.permissions.join(' '), sees } }
  }
}

function tooMany(whose: 'tenant' | 'key'): AppError {
  return new AppError('limited', `too many streams of this ${whose} are open on this node`, {
    details: { retryAfterSeconds: RETRY_SECONDS },
  })
}
