// An ERP to set projects up in: `node examples/erp.mjs`. It keeps objects of any kind in memory and says what it does. It needs
// nothing but Node, and listens on PORT (4501).
//
// POST   /{kind}       makes an object, every time that it is asked to; /postings alone knows an idempotency key again
// GET    /{kind}?ref=  tells which objects with a reference there are
// DELETE /{kind}/{id}  removes one; 404 if it is not there
//
// FAIL=plans: objects of this kind are refused for good, until it is started without.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

/**
 * `interfere` is asked before and after each thing is done, and may wait, or answer the status that is sent instead.
 * Tests break things with it.
 */
export async function startErp({ port = 0, interfere = () => undefined, say = () => {} } = {}) {
  /** Everything that was ever made, also what is removed by now. */
  const objects = []
  const postings = new Map()
  const dead = new Set()

  const make = (kind, fields, key) => {
    const known = kind === 'postings' ? postings.get(key) : undefined
    if (known !== undefined) return known
    const object = { id: `${kind}-${objects.length + 1}`, kind, ...fields, removed: 0 }
    objects.push(object)
    if (kind === 'postings') postings.set(key, object)
    say(`${object.id} made for project ${object.project}`)
    return object
  }

  const handle = async (request) => {
    const { pathname, searchParams } = new URL(request.url, 'http://erp')
    const [, kind, id] = pathname.split('/')
    if (request.method === 'GET') {
      const ref = searchParams.get('ref')
      const items = objects.filter((one) => one.kind === kind && one.ref === ref && one.removed === 0)
      return { status: 200, value: { items: items.map((one) => ({ id: one.id })) } }
    }
    let text = ''
    for await (const chunk of request) text += chunk
    const object = objects.find((one) => one.id === id)
    const fields = request.method === 'POST' ? JSON.parse(text) : { ...object }
    const call = { method: request.method, kind, project: fields.project, step: fields.step, ref: fields.ref }
    const refusal = await interfere('before', call)
    if (refusal !== undefined) return { status: refusal, value: { error: `no ${kind} today` } }
    if (request.method === 'POST') {
      const made = make(kind, fields, request.headers['idempotency-key'])
      await interfere('after', call)
      return { status: 201, value: { id: made.id } }
    }
    if (object === undefined || object.removed > 0) return { status: 404, value: { error: `no ${id}` } }
    object.removed += 1
    dead.add(object)
    say(`${id} removed from project ${object.project}`)
    await interfere('after', call)
    return { status: 200, value: {} }
  }

  const server = createServer(async (request, response) => {
    try {
      const { status, value } = await handle(request)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    } catch {
      // The caller died while it wrote.
      response.destroy()
    }
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    objects,
    /** In the order in which they were removed. */
    removed: () => [...dead],
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { FAIL, PORT = '4501' } = process.env
  const interfere = (moment, { method, kind }) =>
    moment === 'before' && method === 'POST' && kind === FAIL ? 422 : undefined
  const { url } = await startErp({ port: Number(PORT), interfere, say: console.log })
  console.log(`The ERP is up at ${url}`)
}
