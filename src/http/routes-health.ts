// GET /healthz, /readyz and /errors/{code}: for monitors and users; no key needed.

import type { FastifyInstance } from 'fastify'
import { AppError, ERRORS, type ErrorCode } from '../core/foundation/errors/index.ts'
import type { HttpApi, Readiness } from './api.ts'
import { operations, serveOn } from './operations.ts'
import type { Kit } from './schema-kit.ts'

const UNKNOWN: Readiness = {
  ready: false,
  reasons: ['the node cannot say how it is'],
  checks: { store: 'away', lease: 'lost', bus: 'away' },
}

const readiness = (s: Kit) =>
  s.object({
    status: s.string,
    reasons: s.list(s.string),
    notes: s.list(s.string).describe('What an operator should do although the node is ready.').optional(),
    checks: s.object({
      store: s.enum(['ok', 'away']),
      lease: s.enum(['held', 'lost']),
      bus: s.enum(['ok', 'away', 'none']),
      code: s.enum(['refused']).optional(),
    }),
  })

export const healthOperations = operations('open', (s) => ({
  getHealth: {
    at: 'GET /healthz',
    summary: 'Whether the process lives',
    answer: s.answer('It does', s.object({ status: s.string })),
  },
  getReadiness: {
    at: 'GET /readyz',
    summary: 'Whether the node can take and do work now',
    answers: {
      200: s.answer('It can', readiness(s)),
      503: s.answer('It cannot, and why', readiness(s)),
    },
  },
  getError: {
    at: 'GET /errors/:code',
    summary: 'What an error code means and what to do',
    params: s.fields({ code: s.text }),
    answer: s.answer(
      'The code’s row',
      s.object({ code: s.string, kind: s.string, status: s.integer, title: s.string, next: s.string }),
    ),
  },
}))

export function addHealthRoutes(app: FastifyInstance, api: Pick<HttpApi, 'health'>): void {
  const on = serveOn(app, healthOperations)
  on('getHealth', () => ({ status: 'ok' }))
  on('getReadiness', async (_request, reply) => {
    const { ready, reasons, notes, checks } = await api.health().catch(() => UNKNOWN)
    if (!ready) reply.code(503)
    return {
      status: ready ? 'ready' : 'not ready',
      reasons,
      ...(notes === undefined ? {} : { notes }),
      checks,
    }
  })
  on('getError', (request) => {
    const { code } = request.params
    if (!Object.hasOwn(ERRORS, code)) throw new AppError('not_found', 'there is no error with this code')
    return { code, ...ERRORS[code as ErrorCode] }
  })
}
