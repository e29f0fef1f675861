// A peer: Fastify responds once BullMQ has the job in Redis, a worker in the same process takes and completes it. With a vendor's
// address the job is a POST there.

import { createRequire } from 'node:module'
import { fastify } from 'fastify'
import { Pool } from 'undici'
import { serve } from './serve.mjs'

const [peers, socket, vendor] = process.argv.slice(2)
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
const calls = vendor === undefined ? null : new Pool(vendor, { connections: CONCURRENCY })
const worker = new Worker(
  QUEUE,
  async ({ data, id }) => {
    count += 1
    if (calls === null) return count
    const { statusCode, body } = await calls.request({
      method: 'POST',
      path: '/book',
      headers: { 'content-type': 'application/json', 'idempotency-key': id },
      body: JSON.stringify({ issue: data.issue.number }),
    })
    if (statusCode !== 201) throw new Error(`HTTP ${statusCode}`)
    return await body.json()
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
    await calls?.close()
  },
})
