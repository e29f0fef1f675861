// GET /v1/stream: what changes, as server-sent events.

import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { DEAD_LETTER_STATES } from '../core/failures/dead-letter/index.ts'
import { FAILURE_CLASSES, FAILURE_STATES } from '../core/failures/failure/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { WORK_STATES } from '../core/queue/work/index.ts'
import { SUBSCRIPTION_STATUSES } from '../core/webhooks/subscription/index.ts'
import { ATTENTIONS, INSTANCE_STATES } from '../core/workflows/instance/index.ts'
import { ORPHAN_STATES } from '../core/workflows/orphan/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { Change } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { authenticate } from './auth.ts'
import { operations, serveOn, shape } from './operations.ts'
import { HUB_LIMITS, type HubLimits, type Lens, makeStreamHub, type Reader } from './stream-hub.ts'

const RETRY_SECONDS = 30
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Proxies that gather answers would hold messages back.
  'x-accel-buffering': 'no',
}

/** What ends a key or a session: its streams need not wait for a ping. */
const ENDINGS = new Set(['DELETE /v1/keys/:id', 'DELETE /v1/session'])

export const changeShape = shape(
  'Change',
  'Something that changed, as the stream tells it; read the row for the rest.',
  (s) =>
    s.oneOf(
      s.object({
        type: s.literal('event'),
        id: s.string,
        subject: s.string,
        source: s.string,
        receivedAt: s.instant,
        matched: s.integer,
        objectId: s.nullable(s.string),
      }),
      s.object({
        type: s.literal('work'),
        id: s.string,
        eventId: s.nullable(s.string),
        consumer: s.nullable(s.string),
        state: s.enum(WORK_STATES),
        attempts: s.integer,
        class: s.nullable(s.enum(FAILURE_CLASSES)),
      }),
      s.object({ type: s.literal('deadLetter'), id: s.string, state: s.enum(DEAD_LETTER_STATES) }),
      s.object({ type: s.literal('failure'), id: s.string, state: s.enum(FAILURE_STATES) }),
      s.object({
        type: s.literal('escalation'),
        id: s.nullable(s.string).describe('null: of whichever is raised for the cause.'),
        cause: s.nullable(s.string),
      }),
      s.object({
        type: s.literal('instance'),
        id: s.string,
        workflow: s.string,
        state: s.enum(INSTANCE_STATES),
        attention: s.nullable(s.enum(ATTENTIONS)),
        marking: s.record(s.integer),
      }),
      s.object({ type: s.literal('orphan'), id: s.string, workflow: s.string, state: s.enum(ORPHAN_STATES) }),
      s
        .object({
          type: s.literal('agent'),
          agent: s.string,
          work: s.string,
          instance: s.nullable(s.string),
          text: s.string,
          characters: s.integer,
        })
        .describe('What an agent says while it answers: the last of it, where it is long.'),
      s.object({ type: s.literal('definitions'), version: s.integer }),
      s.object({ type: s.literal('replay'), id: s.string }),
      s.object({
        type: s.literal('subscription'),
        name: s.string,
        status: s
          .nullable(s.enum(SUBSCRIPTION_STATUSES))
          .describe('null: it is gone, or as its definition declares.'),
      }),
    ),
)

export const streamOperations = operations('stream', (s) => ({
  stream: {
    at: 'GET /v1/stream',
    summary: 'What changes, as it happens',
    description:
      'Server-sent events: `changes` with `{changes: [Change]}`, at most eight messages a second; `gap` with `{dropped}` when changes were missed: read again what you show; `ping` every 15 seconds. Send the last `id` as `Last-Event-ID` to go on after a short break. A node tells what it does itself.',
    answer: s.other('A stream without end', { 'text/event-stream': s.string }),
  },
}))

export function addStreamRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'watch' | 'access' | 'workflows'>,
  limits: HubLimits = HUB_LIMITS,
): void {
  const on = serveOn(app, streamOperations)
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

  on(
    'stream',
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
    { exposeHeadRoute: false },
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
