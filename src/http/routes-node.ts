// POST /v1/node/confirm-copy: lets a paused node run, without a restart.

import type { FastifyInstance } from 'fastify'
import type { HttpApi } from './api.ts'
import { fields } from './schemas.ts'
import { answer, boolean, shape } from './schemas-answers.ts'

export function addNodeRoutes(app: FastifyInstance, api: Pick<HttpApi, 'confirmCopy'>): void {
  const confirm = {
    operationId: 'confirmCopy',
    tags: ['node'],
    summary: 'Let a paused node run on a copied data file, or with another master key',
    description:
      'Stop the node on the original for good first. The code is the one that `/readyz` and the log name: it confirms what was found then, and nothing later. The answer comes when the node runs. A node that is not paused answers the same.',
    body: fields(
      {
        code: {
          type: 'string',
          pattern: '^[0-9a-f]{8}$',
          description: 'The code of the message, such as `0a1b2c3d`.',
        },
      },
      ['code'],
    ),
    response: { 200: answer('It runs', shape({ isPaused: boolean })) },
  }
  app.post<{ Body: { code: string } }>(
    '/node/confirm-copy',
    { config: { role: 'node', isIdempotent: true }, schema: confirm },
    async (request) => {
      await api.confirmCopy(request.body.code, request.caller.actor)
      return { isPaused: false }
    },
  )
}
