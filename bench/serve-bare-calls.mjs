// The yardstick of operations: a plain undici loop that posts the same request to the same vendor, with the same
// concurrency as a node, reads the response and stores nothing.

import { randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import { serve } from './serve.mjs'

const [url, atOnce] = process.argv.slice(2)
const { origin } = new URL(url)
const pool = new Pool(origin, { connections: Number(atOnce), pipelining: 1 })
let count = 0
let isOver = false

async function call() {
  while (!isOver) {
    const { statusCode, body } = await pool.request({
      path: '/book',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'bare',
        authorization: 'Bearer bench-secret',
        'idempotency-key': `BOOK:${randomUUID()}`,
      },
      body: '{"issue":7}',
    })
    JSON.parse(await body.text())
    if (statusCode !== 201) throw new Error(`answered ${statusCode}`)
    count += 1
  }
}
for (let n = 0; n < Number(atOnce); n += 1) {
  call().catch((error) => {
    if (!isOver) throw error
  })
}

serve({
  url,
  done: async () => count,
  completionMs: async () => [],
  close: async () => {
    isOver = true
    await pool.destroy()
  },
})
