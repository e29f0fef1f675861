// GET and POST /v1/demo, POST /v1/demo/stop: a bounded stream of signed samples, so that there is something to look at.

import type { FastifyInstance } from 'fastify'
import type { HttpApi } from './api.ts'
import { fields } from './schemas.ts'
import { answer, boolean, integer, shape } from './schemas-answers.ts'

const COUNT_MAX = 500
const PER_SECOND_MAX = 100
const COUNT_DEFAULT = 60
const PER_SECOND_DEFAULT = 5

const stateShape = shape({ available: boolean, isSending: boolean, sent: integer, total: integer })
const sendBody = fields({
  count: { type: 'integer', minimum: 1, maximum: COUNT_MAX, default: COUNT_DEFAULT },
  perSecond: { type: 'integer', minimum: 1, maximum: PER_SECOND_MAX, default: PER_SECOND_DEFAULT },
})

export function addDemoRoutes(app: FastifyInstance, api: Pick<HttpApi, 'demo'>): void {
  const get = {
    operationId: 'getDemo',
    tags: ['demo'],
    summary: 'Whether there is a demo, and how far its stream is',
    response: { 200: answer('The stream', stateShape) },
  }
  app.get('/demo', { config: { role: 'viewer' }, schema: get }, (request) =>
    api.demo.state(request.caller.tenant),
  )

  const send = {
    operationId: 'sendDemo',
    tags: ['demo'],
    summary: 'Send a stream of signed samples, while the demo definitions are in force',
    body: sendBody,
    response: { 202: answer('They are being sent', shape({ sending: integer })) },
  }
  app.post<{ Body: { count: number; perSecond: number } }>(
    '/demo',
    { config: { role: 'operator' }, schema: send },
    async (request, reply) => {
      const answered = await api.demo.send(request.caller.tenant, request.body)
      reply.code(202)
      return answered
    },
  )

  const stop = {
    operationId: 'stopDemo',
    tags: ['demo'],
    summary: 'End the stream',
    body: fields({}),
    response: { 200: answer('The stream', stateShape) },
  }
  app.post('/demo/stop', { config: { role: 'operator' }, schema: stop }, (request) =>
    api.demo.stop(request.caller.tenant),
  )
}
