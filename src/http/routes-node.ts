// POST /v1/node/confirm-copy: lets a paused node run, without a restart.

import type { FastifyInstance } from 'fastify'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'

export const nodeOperations = operations('node', (s) => ({
  confirmCopy: {
    at: 'POST /v1/node/confirm-copy',
    config: { role: 'node', isIdempotent: true },
    summary: 'Let a paused node run on a copied data file, or with another master key',
    description:
      'Stop the node on the original for good first. The code is the one that `/readyz` and the log name: it confirms what was found then, and nothing later. The answer comes when the node runs. A node that is not paused answers the same.',
    body: s.fields({
      code: s.string
        .meta({ pattern: '^[0-9a-f]{8}$' })
        .describe('The code of the message, such as `0a1b2c3d`.'),
    }),
    answer: s.answer('It runs', s.object({ isPaused: s.boolean })),
  },
}))

export function addNodeRoutes(app: FastifyInstance, api: Pick<HttpApi, 'confirmCopy'>): void {
  const on = serveOn(app, nodeOperations)
  on('confirmCopy', async (request) => {
    await api.confirmCopy(request.body.code, request.caller.actor)
    return { isPaused: false }
  })
}
