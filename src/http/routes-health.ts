// GET /healthz, /readyz and /errors/{code}: for monitors and users; no key needed.

import type { FastifyInstance } from 'fastify'
import { AppError, ERRORS, type ErrorCode } from '../core/foundation/errors/index.ts'
import type { HttpApi, Readiness } from './api.ts'
import { fields, oneOf, text } from './schemas.ts'
import { answer, integer, listOf, shape, string } from './schemas-answers.ts'

const STORE = ['ok', 'away'] as const
const LEASE = ['held', 'lost'] as const
const BUS = ['ok', 'away', 'none'] as const
const CODE = ['refused'] as const
const readiness = shape(
  {
    status: string,
    reasons: listOf(string),
    notes: { ...listOf(string), description: 'What an operator should do although the node is ready.' },
    checks: shape({ store: oneOf(STORE), lease: oneOf(LEASE), bus: oneOf(BUS), code: oneOf(CODE) }, ['code']),
  },
  ['notes'],
)

const UNKNOWN: Readiness = {
  ready: false,
  reasons: ['the node cannot say how it is'],
  checks: { store: 'away', lease: 'lost', bus: 'away' },
}

export function addHealthRoutes(app: FastifyInstance, api: Pick<HttpApi, 'health'>): void {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'getHealth',
        tags: ['open'],
        summary: 'Whether the process lives',
        response: { 200: answer('It does', shape({ status: string })) },
      },
    },
    () => ({ status: 'ok' }),
  )

  const ready = {
    operationId: 'getReadiness',
    tags: ['open'],
    summary: 'Whether the node can take and do work now',
    response: { 200: answer('It can', readiness), 503: answer('It cannot, and why', readiness) },
  }
  app.get('/readyz', { schema: ready }, async (_request, reply) => {
    const { ready, reasons, notes, checks } = await api.health().catch(() => UNKNOWN)
    if (!ready) reply.code(503)
    return {
      status: ready ? 'ready' : 'not ready',
      reasons,
      ...(notes === undefined ? {} : { notes }),
      checks,
    }
  })

  const explained = {
    operationId: 'getError',
    tags: ['open'],
    summary: 'What an error code means and what to do',
    params: fields({ code: text }, ['code']),
    response: {
      200: answer(
        'The code’s row',
        shape({ code: string, kind: string, status: integer, title: string, next: string }),
      ),
    },
  }
  app.get<{ Params: { code: string } }>('/errors/:code', { schema: explained }, (request) => {
    const { code } = request.params
    if (!Object.hasOwn(ERRORS, code)) throw new AppError('not_found', 'there is no error with this code')
    return { code, ...ERRORS[code as ErrorCode] }
  })
}
