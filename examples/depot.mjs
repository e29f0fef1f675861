// A depot to try connections with: `node examples/depot.mjs`. It wants a token (DEPOT_TOKEN, `depot-secret`), books pickups once per
// idempotency key, and says what it is asked. It needs nothing but Node, and listens on PORT (4504).
import { createServer } from 'node:http'

const token = process.env.DEPOT_TOKEN ?? 'depot-secret'
/** By idempotency key. */
const pickups = new Map()

const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const answer = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (request.headers.authorization !== `Bearer ${token}`) {
    console.log(`${request.method} ${request.url}: somebody without our token`)
    return answer(401, { error: 'unauthorized' })
  }
  if (request.method === 'GET' && request.url === '/v1/me') return answer(200, { account: 'shop' })
  if (request.method === 'POST' && request.url === '/v1/pickups') {
    const key = request.headers['idempotency-key'] ?? crypto.randomUUID()
    const known = pickups.get(key)
    if (known === undefined) pickups.set(key, { id: `P-${pickups.size + 1}` })
    const pickup = pickups.get(key)
    const { parcel, on } = JSON.parse(text)
    console.log(
      `pickup ${pickup.id} ${known === undefined ? 'booked' : 'is booked already'}: ${parcel} on ${on}`,
    )
    return answer(known === undefined ? 201 : 200, pickup)
  }
  const returned = /^\/v1\/parcels\/([^/]+)\/return$/.exec(request.url)
  if (request.method === 'PUT' && returned !== null) {
    console.log(`parcel ${decodeURIComponent(returned[1])} came back`)
    return answer(200, { ok: true })
  }
  return answer(404, { error: 'not_found' })
})

server.listen(Number(process.env.PORT ?? 4504), '127.0.0.1', () => {
  console.log(`The depot is up at http://127.0.0.1:${server.address().port}`)
})
