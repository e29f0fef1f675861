// A peer: Fastify responds once BullMQ has the job in Redis, a worker in the same process takes and completes it.

import { createRequire } from 'node:module'
import { fastify } from 'fastify'
import { serve } from './serve.mjs'

const [peers, socket] = process.argv.slice(2)
const { Queue, Worker } = createRequire(peers)('bullmq')
const connection = { path: socket, maxRetriesPerRequest: null }
const QUEUE = 'count'
const CONCURRENCY = 64

const queue = new Queue(QUEUE, { connection })
await queue.waitUntilReady()
const app = fastify()
app.post('/in/default/github', async (request, reply) => {
  const { id } = await queue.add('event', request.body)
  reply.code(202)
  return { eventId: id, duplicate: false }
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })

let count = 0
let done = 0
const worker = new Worker(
  QUEUE,
  async () => {
    count += 1
    return count
  },
  { connection, concurrency: CONCURRENCY },
)
// Redis has recorded the completion when this is called.
worker.on('completed', () => {
  done += 1
})
await worker.waitUntilReady()

serve({
  url,
  done: async () => done,
  completionMs: async () => [],
  close: async () => {
    await app.close()
    await worker.close(true)
    await queue.close()
  },
})
