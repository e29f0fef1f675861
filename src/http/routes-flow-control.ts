// GET /v1/pace and /v1/pace/{route}; POST /v1/pace/{route}/close-circuit: when the work of routes may run.

import type { FastifyInstance } from 'fastify'
import { PRIORITIES } from '../core/queue/fairness/index.ts'
import type { FlowControlView } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { fields, neededReasonBody, text } from './schemas.ts'
import { answer, instant, integer, listOf, nullable, shape, string } from './schemas-answers.ts'
import { iso } from './shapes.ts'

const flowControlFields = {
  route: string,
  status: { type: 'string', enum: ['active', 'paused', 'disabled'] },
  priority: { type: 'string', enum: PRIORITIES },
  circuit: {
    ...shape({
      state: { type: 'string', enum: ['closed', 'open', 'half-open'] },
      since: nullable(instant),
      tryAt: {
        ...nullable(instant),
        description: 'When one item is tried, or until when one is being tried.',
      },
      failures: { ...integer, description: 'Closed: in a row. Otherwise: how often it opened since then.' },
      class: nullable(string),
    }),
    description: 'The route pauses itself when too many of its calls fail.',
  },
  rate: {
    ...nullable(shape({ perMinute: integer, burst: integer, tokens: integer })),
    description: 'Calls that this node may make; null: no limit.',
  },
  host: {
    ...nullable(shape({ name: string, closedUntil: nullable(instant) })),
    description: 'Whom it calls, where its address says so for every event.',
  },
  drain: nullable(shape({ profile: nullable(string), nextAt: instant, left: integer })),
  limit: nullable(shape({ limit: integer, running: integer })),
}
const flowControlShape = shape(flowControlFields)
const oneShape = shape({
  ...flowControlFields,
  work: {
    ...shape({ ready: integer, waiting: integer, leased: integer, cappedAt: integer }),
    description:
      'Items that are due or will be, that wait for a place in a lane, and in hand. Each stops at `cappedAt`.',
  },
})
const params = fields({ route: text }, ['route'])

export function addFlowControlRoutes(app: FastifyInstance, api: Pick<HttpApi, 'flowControl'>): void {
  app.get(
    '/pace',
    {
      config: { role: 'viewer' },
      schema: {
        operationId: 'listPace',
        tags: ['work'],
        summary: 'When the work of each route may run, as this node knows it',
        response: { 200: answer('All routes in force, by name', shape({ items: listOf(flowControlShape) })) },
      },
    },
    async (request) => ({ items: api.flowControl.list(request.caller.tenant).map(showPace) }),
  )
  app.get<{ Params: { route: string } }>(
    '/pace/:route',
    {
      config: { role: 'viewer' },
      schema: {
        operationId: 'getPace',
        tags: ['work'],
        summary: 'When the work of a route may run, and how much of it there is',
        params,
        response: { 200: answer('The route', oneShape) },
      },
    },
    async (request) => {
      const { work, ...view } = await api.flowControl.one(request.caller.tenant, request.params.route)
      return { ...showPace(view), work }
    },
  )
  app.post<{ Params: { route: string }; Body: { reason: string } }>(
    '/pace/:route/close-circuit',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'closeCircuit',
        tags: ['work'],
        summary: 'Let a route that paused itself go on at once',
        description:
          'It pauses again when its calls still fail. Refused with `conflict` when its circuit is closed.',
        params,
        body: neededReasonBody,
        response: { 200: answer('The route', flowControlShape) },
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const { reason } = request.body
      return showPace(await api.flowControl.closeCircuit(tenant, request.params.route, { by: actor, reason }))
    },
  )
}

function showPace({ circuit, host, drain, drainProfile, ...rest }: FlowControlView) {
  return {
    ...rest,
    circuit:
      circuit.state === 'closed'
        ? { state: circuit.state, since: null, tryAt: null, failures: circuit.failures, class: null }
        : {
            state: circuit.state,
            since: iso(circuit.since),
            tryAt: iso(circuit.tryAt),
            failures: circuit.opened,
            class: circuit.class,
          },
    host:
      host === null
        ? null
        : { name: host.name, closedUntil: host.closedUntil === null ? null : iso(host.closedUntil) },
    drain: drain === null ? null : { profile: drainProfile, nextAt: iso(drain.nextAt), left: drain.left },
  }
}
