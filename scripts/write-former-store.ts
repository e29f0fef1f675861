// Writes the store of a released version for the tests: `npx tsx scripts/write-former-store.ts <checkout> <name>` runs the built node of that
// checkout, gives it definitions, events and decisions, stops it, and stores its data folder as test/former-stores/<name>.json.gz.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  FORMER_ENV,
  FORMER_EVENTS,
  FORMER_FUNCTION,
  FORMER_RUNS,
  FORMER_STORES,
  formerBody,
  formerFlows,
} from '../test/support/former-store.ts'
import { eventually, startNode } from '../test/support/node-process.ts'
import { makeWorkspace } from '../test/support/workspace.ts'

const [checkout, name] = process.argv.slice(2)
if (checkout === undefined || name === undefined) {
  console.error(
    'usage: npx tsx scripts/write-former-store.ts <checkout with a built dist> <name of the version>',
  )
  process.exit(2)
}

const vendor = createServer((request, response) => {
  request.resume().on('end', () => {
    response
      .writeHead(request.url === '/refuse' ? 422 : 200, { 'content-type': 'application/json' })
      .end('{}')
  })
})
await new Promise<void>((done) => vendor.listen(0, '127.0.0.1', done))
const address = vendor.address()
if (address === null || typeof address === 'string') throw new Error('the vendor has no port')

await using workspace = makeWorkspace()
const flows = await workspace.writeFlows(formerFlows(`http://127.0.0.1:${address.port}`))
await writeFile(join(flows, 'later.ts'), FORMER_FUNCTION)
const main = join(resolve(checkout), 'dist', 'bundle', 'main.js')
const env = {
  ...FORMER_ENV,
  [FORMER_RUNS]: 'yes',
  MILLRACE_OUTBOUND_ALLOW: '127.0.0.1',
}
const node = await startNode({ workspace, flows, env, args: [main, 'start'] })
await node.post('/v1/secrets', { name: 'greeting', value: 'good morning' })
for (const event of FORMER_EVENTS) {
  const response = await fetch(`${node.url}/in/default/shop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: formerBody(event),
  })
  if (response.status !== 202)
    throw new Error(`${event.id} answered ${response.status}: ${await response.text()}`)
}
await eventually('one job waits for its time, and nothing else is open', async () => {
  const open = await Promise.all(
    ['ready', 'waiting', 'leased'].map((state) =>
      node.get<{ items: { consumer: string; attempts: number }[] }>(`/v1/work?state=${state}`),
    ),
  )
  const items = open.flatMap((page) => page.items)
  return (
    items.some(({ consumer, attempts }) => consumer === 'later' && attempts === 1) &&
    items.every(({ consumer }) => consumer === 'later' || consumer === 'approval')
  )
})
node.kill('SIGTERM')
const exit = await node.exited
if (exit.code !== 0) throw new Error(exit.stderr)
vendor.close()

const files: Record<string, string> = {}
for (const entry of await readdir(workspace.data, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/^millrace\.db(\.durable)?$/.test(entry.name)) continue
  const path = join(entry.parentPath, entry.name)
  files[path.slice(workspace.data.length + 1)] = (await readFile(path)).toString('base64')
}
await mkdir(FORMER_STORES, { recursive: true })
const packed = gzipSync(JSON.stringify(files), { level: 9 })
await writeFile(join(FORMER_STORES, `${name}.json.gz`), packed)
console.log(
  Object.entries(files)
    .map(([path, text]) => `${path} ${text.length}`)
    .join('\n'),
)
console.log(`${packed.length} bytes packed`)
