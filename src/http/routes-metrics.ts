// GET /metrics: a few figures of this node as Prometheus reads them; no key needed. They are of all tenants together, and name none.

import type { FastifyInstance } from 'fastify'
import type { HttpApi } from './api.ts'
import { string } from './schemas-answers.ts'

const TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function addMetricsRoute(app: FastifyInstance, api: Pick<HttpApi, 'gauges'>): void {
  app.get(
    '/metrics',
    {
      schema: {
        operationId: 'getMetrics',
        tags: ['open'],
        summary: 'Figures of this node, as Prometheus reads them',
        response: {
          200: { description: 'One figure a line', content: { 'text/plain': { schema: string } } },
        },
      },
    },
    (_request, reply) => {
      const lines = (api.gauges?.() ?? []).flatMap(({ name, help, value }) => [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} gauge`,
        `${name} ${value}`,
      ])
      return reply.type(TYPE).send(`${lines.join('\n')}\n`)
    },
  )
}
