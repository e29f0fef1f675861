// GET and POST /v1/demo, POST /v1/demo/stop: a bounded stream of signed samples, so that there is something to look at.

import type { FastifyInstance } from 'fastify'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import type { Kit } from './schema-kit.ts'

const demoState = (s: Kit) =>
  s.object({ available: s.boolean, isSending: s.boolean, sent: s.integer, total: s.integer })

export const demoOperations = operations('demo', (s) => ({
  getDemo: {
    at: 'GET /v1/demo',
    config: { role: 'viewer' },
    summary: 'Whether there is a demo, and how far its stream is',
    answer: s.answer('The stream', demoState(s)),
  },
  sendDemo: {
    at: 'POST /v1/demo',
    config: { role: 'operator' },
    summary: 'Send a stream of signed samples, while the demo definitions are in force',
    body: s.filters({
      count: s.integer.min(1).max(500).default(60),
      perSecond: s.integer.min(1).max(100).default(5),
    }),
    answers: {
      202: s.answer('They are being sent', s.object({ sending: s.integer })),
    },
  },
  stopDemo: {
    at: 'POST /v1/demo/stop',
    config: { role: 'operator' },
    summary: 'End the stream',
    body: s.fields({}),
    answer: s.answer('The stream', demoState(s)),
  },
}))

export function addDemoRoutes(app: FastifyInstance, api: Pick<HttpApi, 'demo'>): void {
  const on = serveOn(app, demoOperations)
  on('getDemo', (request) => api.demo.state(request.caller.tenant))
  on('sendDemo', async (request, reply) => {
    const answered = await api.demo.send(request.caller.tenant, request.body)
    reply.code(202)
    return answered
  })
  on('stopDemo', (request) => api.demo.stop(request.caller.tenant))
}
