// The yardstick of deliveries: a plain undici loop that signs the same bodies as Standard Webhooks requires, posts them
// to the same endpoint, with the same concurrency as a node, and stores nothing.

import { createHmac, createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import { serve } from './serve.mjs'

const [url, data, atOnce] = process.argv.slice(2)
const { origin, pathname } = new URL(url)
const pool = new Pool(origin, { connections: Number(atOnce), pipelining: 1 })
const key = createSecretKey(randomBytes(32))
let count = 0
let isOver = false

async function post() {
  while (!isOver) {
    const id = `evt_${randomUUID()}`
    const now = Date.now()
    const timestamp = String(Math.floor(now / 1_000))
    const text = `{"id":"${id}","type":"github.events.issues.opened","timestamp":"${new Date(now).toISOString()}","data":${data}}`
    const signature = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64')}`
    const { statusCode, body } = await pool.request({
      path: pathname,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'bare',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature,
      },
      body: text,
    })
    await body.text()
    if (statusCode !== 200) throw new Error(`answered ${statusCode}`)
    count += 1
  }
}
for (let n = 0; n < Number(atOnce); n += 1) {
  post().catch((error) => {
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
