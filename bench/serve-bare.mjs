// The yardstick: Fastify with its own JSON parser, giving the same response to the same request and doing nothing.

import { fastify } from 'fastify'
import { serve } from './serve.mjs'

const app = fastify()
app.post('/in/default/github', async (_request, reply) => {
  reply.code(202)
  return { eventId: 'evt_01a1e176-76a9-7000-8c09-5f077d7d06a9', duplicate: false }
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
serve({ url, done: async () => 0, completionMs: async () => [], close: () => app.close() })
