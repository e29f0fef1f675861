// A peer: Fastify responds once graphile-worker has the job in PostgreSQL, its runner in the same process does it.
// Settings as measured best here: a local queue, completions in batches.

import { createRequire } from 'node:module'
import { fastify } from 'fastify'
import { serve } from './serve.mjs'

const [peers, connectionString] = process.argv.slice(2)
const { run } = createRequire(peers)('graphile-worker')
const TASK = 'count'

let count = 0
let done = 0
const runner = await run({
  preset: {
    worker: {
      connectionString,
      maxPoolSize: 20,
      concurrentJobs: 24,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
  noHandleSignals: true,
  taskList: {
    [TASK]: async () => {
      count += 1
    },
  },
})
runner.events.on('job:complete', () => {
  done += 1
})

const app = fastify()
app.post('/in/default/github', async (request, reply) => {
  const { id } = await runner.addJob(TASK, request.body)
  reply.code(202)
  return { eventId: id, duplicate: false }
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })

serve({
  url,
  done: async () => Math.min(count, done),
  completionMs: async () => [],
  close: async () => {
    await app.close()
    await runner.stop()
  },
})
