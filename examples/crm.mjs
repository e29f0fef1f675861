// What the webhooks example sends to: `node examples/crm.mjs`. A CRM that takes events, looks whether they are signed with its secret
// (CRM_SECRET) and prints them. It needs nothing but Node, and listens on PORT (4503).
//
// POST /hooks  takes an event; 401 when its signature is not right. The first call for each third order is answered 503
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const TOLERANCE_SECONDS = 300

/** As Standard Webhooks has it: one of the signatures is that of id, time and body, and the time is near. */
export function isSigned(headers, body, secret, nowSeconds) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers
  if (!id || !signatures || !(Math.abs(nowSeconds - Number(time)) <= TOLERANCE_SECONDS)) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const wanted = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest()
  return signatures.split(' ').some((one) => {
    const [version, text = ''] = one.split(',')
    const given = Buffer.from(text, 'base64')
    return version === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}

export async function startCrm({ port = 0, secret, say = () => {} }) {
  const received = []
  const seen = new Set()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const answer = (status) => response.writeHead(status).end()
    if (request.method !== 'POST' || request.url !== '/hooks') return answer(404)
    if (!isSigned(request.headers, body, secret, Date.now() / 1000)) {
      say('somebody sent something that is not signed with our secret')
      return answer(401)
    }
    const id = request.headers['webhook-id']
    // What comes again has the same id: taken once.
    if (seen.has(id)) return answer(200)
    const event = JSON.parse(body)
    if (event.order?.id % 3 === 0 && !seen.has(`tried ${id}`)) {
      seen.add(`tried ${id}`)
      say(`busy: ${event.what} of order ${event.order.id} has to come again`)
      return answer(503)
    }
    seen.add(id)
    received.push(event)
    say(`${event.what}: order ${event.order?.id} of customer ${event.customer}, ${event.order?.total}`)
    answer(200)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, received, close }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const secret = process.env.CRM_SECRET
  if (!secret) throw new Error('CRM_SECRET is not set')
  const { url } = await startCrm({ port: Number(process.env.PORT ?? 4503), secret, say: console.log })
  console.log(`the CRM listens on ${url}`)
}
