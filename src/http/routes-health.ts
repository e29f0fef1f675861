// GET /healthz, /readyz and /errors/{code}: for machines that watch and people that wonder; no key needed.

import type { FastifyInstance } from 'fastify'
import { AppError, ERRORS, type ErrorCode } from '../core/errors/index.ts'
import type { HttpApi } from './api.ts'

export function addHealthRoutes(app: FastifyInstance, api: Pick<HttpApi, 'health'>): void {
  app.get('/healthz', () => ({ status: 'ok' }))

  app.get('/readyz', async (_request, reply) => {
    const health = await api
      .health()
      .catch(() => ({ ready: false, reasons: ['the node cannot say how it is'] }))
    if (!health.ready) reply.code(503)
    return { status: health.ready ? 'ready' : 'not ready', reasons: health.reasons }
  })

  app.get<{ Params: { code: string } }>('/errors/:code', (request) => {
    const { code } = request.params
    if (!Object.hasOwn(ERRORS, code)) throw new AppError('not_found', 'there is no error with this code')
    return { code, ...ERRORS[code as ErrorCode] }
  })
}
