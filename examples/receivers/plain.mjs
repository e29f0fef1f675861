// A receiver in Node that needs nothing but Node: the whole of Standard Webhooks (v1) in one function.
//
//   WEBHOOK_SECRET=whsec_… node examples/receivers/plain.mjs
//
// Two secrets with a comma between them while it is changed.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const TOLERANCE_SECONDS = 300
const BODY_BYTES_MAX = 1024 * 1024
const KEY_BYTES_MIN = 24

/** Why it is not to be trusted; null: it is from who has one of the secrets, and not old. */
export function refusal(body, headers, secrets, nowSeconds = Math.floor(Date.now() / 1000)) {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (!id || !timestamp || !signatures) return 'missing_header'
  if (!/^\d{1,12}$/.test(timestamp)) return 'bad_timestamp'
  const given = signatures.split(' ', 8).map((text) => Buffer.from(text))
  let isKnown = false
  for (const secret of secrets) {
    // A public key, or anything else that is no shared secret, must never be the key of an HMAC.
    if (!secret.startsWith('whsec_')) continue
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    // What is no base64 would leave next to nothing of it, and anybody can sign with an empty key.
    if (key.length < KEY_BYTES_MIN) continue
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
    const expected = Buffer.from(`v1,${digest}`)
    for (const one of given) {
      isKnown = (one.length === expected.length && timingSafeEqual(one, expected)) || isKnown
    }
  }
  if (!isKnown) return 'no_match'
  const ageSeconds = nowSeconds - Number(timestamp)
  if (ageSeconds > TOLERANCE_SECONDS) return 'too_old'
  return -ageSeconds > TOLERANCE_SECONDS ? 'too_new' : null
}

// The same event comes again when an answer got lost: its id tells. Here the latest are remembered in memory; in earnest the id is a
// unique key in your database, written in the transaction that does the work.
const had = new Set()
const HAD_MAX = 10_000

function isNew(id) {
  if (had.has(id)) return false
  had.add(id)
  if (had.size > HAD_MAX) had.delete(had.values().next().value)
  return true
}

async function readBody(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function serve() {
  const secrets = (process.env.WEBHOOK_SECRET ?? '').split(',')
  const server = createServer(async (request, response) => {
    const answer = (status, text) => response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
    // A sender that breaks off must not end the receiver.
    const body = await readBody(request).catch(() => null)
    if (body === null) return answer(413, 'too large, or not all of it')
    const reason = refusal(body, request.headers, secrets)
    if (reason !== null) return answer(400, reason)
    if (!isNew(request.headers['webhook-id'])) return answer(200, 'known')
    answer(200, 'taken')
    const event = JSON.parse(body)
    console.log(`${event.type} ${event.id}`)
  })
  server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${server.address().port}`)
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) serve()
