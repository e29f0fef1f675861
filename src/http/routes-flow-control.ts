// GET /v1/pace and /v1/pace/{route}; POST /v1/pace/{route}/close-circuit: when the work of routes may run.

import type { FastifyInstance } from 'fastify'
import { PRIORITIES } from '../core/queue/fairness/index.ts'
import type { FlowControlView } from '../engine/index.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import type { Kit } from './schema-kit.ts'
import { iso } from './shapes.ts'

const flowControlRow = (s: Kit) =>
  s.object({
    route: s.string,
    status: s.enum(['active', 'paused', 'disabled']),
    priority: s.enum(PRIORITIES),
    circuit: s
      .object({
        state: s.enum(['closed', 'open', 'half-open']),
        since: s.nullable(s.instant),
        tryAt: s.nullable(s.instant).describe('When one item is tried, or until when one is being tried.'),
        failures: s.integer.describe('Closed: in a row. Otherwise: how often it opened since then.'),
        class: s.nullable(s.string),
      })
      .describe('The route pauses itself when too many of its calls fail.'),
    rate: s
      .nullable(s.object({ perMinute: s.integer, burst: s.integer, tokens: s.integer }))
      .describe('Calls that this node may make; null: no limit.'),
    host: s
      .nullable(s.object({ name: s.string, closedUntil: s.nullable(s.instant) }))
      .describe('Whom it calls, where its address says so for every event.'),
    drain: s.nullable(s.object({ profile: s.nullable(s.string), nextAt: s.instant, left: s.integer })),
    limit: s.nullable(s.object({ limit: s.integer, running: s.integer })),
    connection: s
      .nullable(
        s.object({
          name: s.string,
          state: s
            .enum(['open', 'closed', 'refused'])
            .describe('`closed`: jobs wait, without using an attempt. `refused`: they become dead letters.'),
          until: s.nullable(s.instant),
          why: s.nullable(s.string),
        }),
      )
      .describe('The connection that it calls on, and why its jobs wait for it; null: it names none.'),
  })

export const flowControlOperations = operations('work', (s) => ({
  listPace: {
    at: 'GET /v1/pace',
    config: { role: 'viewer' },
    summary: 'When the work of each route may run, as this node knows it',
    answer: s.answer('All routes in force, by name', s.object({ items: s.list(flowControlRow(s)) })),
  },
  getPace: {
    at: 'GET /v1/pace/:route',
    config: { role: 'viewer' },
    summary: 'When the work of a route may run, and how much of it there is',
    params: s.fields({ route: s.text }),
    answer: s.answer(
      'The route',
      s.extend(flowControlRow, {
        work: s
          .object({ ready: s.integer, waiting: s.integer, leased: s.integer, cappedAt: s.integer })
          .describe(
            'Items that are due or will be, that wait for a place in a lane, and in hand. Each stops at `cappedAt`.',
          ),
      }),
    ),
  },
  closeCircuit: {
    at: 'POST /v1/pace/:route/close-circuit',
    config: { role: 'operator' },
    summary: 'Let a route that paused itself go on at once',
    description:
      'It pauses again when its calls still fail. Refused with `conflict` when its circuit is closed.',
    params: s.fields({ route: s.text }),
    body: s.fields({ reason: s.reason }),
    answer: s.answer('The route', flowControlRow(s)),
  },
}))

export function addFlowControlRoutes(app: FastifyInstance, api: Pick<HttpApi, 'flowControl'>): void {
  const on = serveOn(app, flowControlOperations)
  on('listPace', async (request) => ({ items: api.flowControl.list(request.caller.tenant).map(showPace) }))
  on('getPace', async (request) => {
    const { work, ...view } = await api.flowControl.one(request.caller.tenant, request.params.route)
    return { ...showPace(view), work }
  })
  on('closeCircuit', async (request) => {
    const { tenant, actor } = request.caller
    const { reason } = request.body
    return showPace(await api.flowControl.closeCircuit(tenant, request.params.route, { by: actor, reason }))
  })
}

function showPace({ circuit, host, drain, drainProfile, connection, ...rest }: FlowControlView) {
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
    connection: connection === null ? null : { name: connection.name, ...showGate(connection.gate) },
  }
}

function showGate(gate: NonNullable<FlowControlView['connection']>['gate']) {
  if (gate.is === 'open') return { state: gate.is, until: null, why: null }
  const until = gate.is === 'closed' && gate.untilAt !== null ? iso(gate.untilAt) : null
  return { state: gate.is, until, why: gate.why }
}
