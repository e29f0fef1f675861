// A receiver in Node with Millrace's kit: verifies, knows what it had already, and answers before it works.
//
//   WEBHOOK_SECRET=whsec_… node examples/receivers/with-kit.mjs
//
// WEBHOOK_SECRET is whsec_…, a public key whpk_…, or the secret of GitHub's header; two with a comma between them while it is changed.
import { createServer } from 'node:http'
import { verify, WebhookVerificationError } from 'millrace/client'

const secrets = (process.env.WEBHOOK_SECRET ?? '').split(',')
const BODY_BYTES_MAX = 1024 * 1024

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
  // The bytes as they came: parsed and written again they would no longer fit the signature.
  return Buffer.concat(chunks)
}

const server = createServer(async (request, response) => {
  const answer = (status, text) => response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
  // A sender that breaks off must not end the receiver.
  const body = await readBody(request).catch(() => null)
  if (body === null) return answer(413, 'too large, or not all of it')
  try {
    const event = verify(body, request.headers, secrets)
    if (!isNew(request.headers['webhook-id'])) return answer(200, 'known')
    answer(200, 'taken')
    console.log(`${event.type} ${event.id}`)
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) {
      console.error(error)
      return answer(500, 'failed')
    }
    console.error(`refused (${error.code}): ${error.message}`)
    answer(400, error.code)
  }
})

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})
