// Endpoints of subscriptions, as cheap as Node can make them: bytes are counted until a request is complete, then it is
// answered. `healthy` and `hanging` say how many there are of each, every one on its own port; hanging ones accept
// requests and never respond. With `shared` all of a kind are paths of one port, as with many customers behind one
// host.

import { createServer } from 'node:net'
import { serve } from './serve.mjs'

const [healthy, hanging, shared] = process.argv.slice(2)
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"ok":true}'
const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: (\d+)/i

let count = 0
const sockets = new Set()

/** The length of the request at the start of these bytes, 0 while it is unknown, and whether its path asks to hang. */
function readHead(bytes) {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return { length: 0, hangs: false }
  const head = bytes.latin1Slice(0, end)
  return {
    length: end + HEAD_END.length + Number(LENGTH.exec(head)?.[1] ?? 0),
    hangs: head.startsWith('POST /hang'),
  }
}

const server = () =>
  createServer((socket) => {
    sockets.add(socket)
    let held = null
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      held = held === null ? chunk : Buffer.concat([held, chunk])
      while (held !== null) {
        const { length, hangs } = readHead(held)
        if (length === 0 || held.length < length) return
        held = held.length === length ? null : held.subarray(length)
        if (hangs) continue
        count += 1
        socket.write(ANSWER)
      }
    })
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })

const listen = () =>
  new Promise((resolve) => {
    const one = server()
    one.listen(0, '127.0.0.1', 1_024, () => resolve(`http://127.0.0.1:${one.address().port}`))
  })

const origins = []
const ports = shared === 'shared' ? 1 : Number(healthy) + Number(hanging)
while (origins.length < ports) origins.push(await listen())
const urls = [
  ...Array.from({ length: Number(healthy) }, (_, n) => `${origins[n % ports]}/take/${n}`),
  ...Array.from({ length: Number(hanging) }, (_, n) => `${origins[(Number(healthy) + n) % ports]}/hang/${n}`),
]

serve({
  url: urls.join(' '),
  done: async () => count,
  completionMs: async () => [],
  close: async () => {
    for (const socket of sockets) socket.destroy()
  },
})
