// A ticket tracker to try things with: `node examples/tracker.mjs`. It keeps its tickets in memory, says what it is asked,
// and knows an idempotency key again. It needs nothing but Node, and listens on PORT (4500).
import { createServer } from 'node:http'

/** By idempotency key. */
const tickets = new Map()

const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const answer = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (request.method !== 'POST' || request.url !== '/tickets') return answer(404, { error: 'POST /tickets' })
  const key = request.headers['idempotency-key'] ?? crypto.randomUUID()
  const known = tickets.get(key)
  if (known === undefined) tickets.set(key, { number: tickets.size + 1 })
  const ticket = tickets.get(key)
  const { title } = JSON.parse(text)
  console.log(`ticket ${ticket.number} ${known === undefined ? 'opened' : 'is there already'}: ${title}`)
  return answer(known === undefined ? 201 : 200, ticket)
})

server.listen(Number(process.env.PORT ?? 4500), '127.0.0.1', () => {
  console.log(`The tracker is up at http://127.0.0.1:${server.address().port}`)
})
