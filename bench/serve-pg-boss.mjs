// The yardstick of PostgreSQL: Fastify responds once pg-boss has the job, four loops fetch jobs by the hundred and
// complete them. Faster than its own workers, which poll twice a second.

import { setTimeout as pause } from 'node:timers/promises'
import { fastify } from 'fastify'
import PgBoss from 'pg-boss'
import { serve } from './serve.mjs'

const [connectionString] = process.argv.slice(2)
const QUEUE = 'count'
const LOOPS = 4
const BATCH = 100
const IDLE_MS = 5

const boss = new PgBoss({ connectionString, max: 20, supervise: false, schedule: false })
boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
await boss.start()
await boss.createQueue(QUEUE)

const app = fastify()
app.post('/in/default/github', async (request, reply) => {
  const eventId = await boss.send(QUEUE, request.body)
  reply.code(202)
  return { eventId, duplicate: false }
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })

let isOpen = true
let count = 0
let done = 0
const work = async () => {
  while (isOpen) {
    const jobs = await boss.fetch(QUEUE, { batchSize: BATCH })
    if (jobs.length === 0) {
      await pause(IDLE_MS)
      continue
    }
    for (const _ of jobs) count += 1
    await boss.complete(
      QUEUE,
      jobs.map(({ id }) => id),
    )
    done += jobs.length
  }
}
const loops = Array.from({ length: LOOPS }, work)

serve({
  url,
  done: async () => Math.min(count, done),
  completionMs: async () => [],
  close: async () => {
    isOpen = false
    await app.close()
    await Promise.all(loops)
    await boss.stop({ graceful: false })
  },
})
