// GET /metrics: a few figures of this node as Prometheus reads them; no key needed. They are of all tenants together, and name none.

import type { FastifyInstance } from 'fastify'
import type { Gauge, HttpApi } from './api.ts'
import { METRICS } from './metrics.ts'
import { operations, serveOn } from './operations.ts'

const TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export const metricsOperations = operations('open', (s) => ({
  getMetrics: {
    at: 'GET /metrics',
    summary: 'Figures of this node, as Prometheus reads them',
    answer: s.other('One figure a line', { 'text/plain': s.string }),
  },
}))

export function addMetricsRoute(app: FastifyInstance, api: Pick<HttpApi, 'gauges'>): void {
  const on = serveOn(app, metricsOperations)
  on('getMetrics', (_request, reply) => {
    return reply.type(TYPE).send(`${linesOf(api.gauges?.() ?? []).join('\n')}\n`)
  })
}

/** Those of one name stand together. */
function linesOf(gauges: readonly Gauge[]): readonly string[] {
  const lines: string[] = []
  const told = new Set<string>()
  for (const { name, labels = {}, value } of gauges) {
    if (!told.has(name)) lines.push(`# HELP ${name} ${METRICS[name].help}`, `# TYPE ${name} gauge`)
    told.add(name)
    const marks = Object.entries(labels).map(([label, of]) => `${label}=${JSON.stringify(of)}`)
    lines.push(`${name}${marks.length === 0 ? '' : `{${marks.join(',')}}`} ${value}`)
  }
  return lines
}
