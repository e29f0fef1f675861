// Another company's system, as fast as Node can be: accepts requests and responds with an id.

import { createServer } from 'node:http'
import { serve } from './serve.mjs'

let count = 0
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    count += 1
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(`{"id":"obj-${count}"}`)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  serve({
    url: `http://127.0.0.1:${server.address().port}`,
    done: async () => count,
    completionMs: async () => [],
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  })
})
