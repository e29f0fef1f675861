// GET /metrics: a few figures of this node as Prometheus reads them; no key needed. They are of all tenants together, and name none.

import type { FastifyInstance } from 'fastify'
import type { Gauge, HttpApi } from './api.ts'
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
      return reply.type(TYPE).send(`${linesOf(api.gauges?.() ?? []).join('\n')}\n`)
    },
  )
}

/** Those of one name stand together. */
function linesOf(gauges: readonly Gauge[]): readonly string[] {
  const lines: string[] = []
  const told = new Set<string>()
  for (const { name, help, labels = {}, value } of gauges) {
    if (!told.has(name)) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`)
    told.add(name)
    const marks = Object.entries(labels).map(([label, of]) => `${label}=${JSON.stringify(of)}`)
    lines.push(`${name}${marks.length === 0 ? '' : `{${marks.join(',')}}`} ${value}`)
  }
  return lines
}
