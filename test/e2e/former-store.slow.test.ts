// A store that a former version wrote: this version opens it, reads all of it, and goes on with what was open.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  FORMER_ENV,
  FORMER_EVENTS,
  FORMER_FUNCTION,
  FORMER_STORES,
  formerBody,
  formerFlows,
} from '../support/former-store.ts'
import { buildDist, eventually, project, startNode } from '../support/node-process.ts'
import { makeWorkspace, type Workspace } from '../support/workspace.ts'

interface List<Row> {
  readonly items: readonly Row[]
}

interface Letter {
  readonly id: string
  readonly consumer: { readonly name: string }
}

interface Call {
  readonly url: string
  readonly body: string
}

async function startVendor() {
  const calls: Call[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      calls.push({ url: request.url ?? '', body })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the vendor has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    to: (path: string) => calls.filter(({ url }) => url === path),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** The file was copied, so the node starts paused, and says how to confirm that. */
async function pausedCopy(workspace: Workspace, env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, [join(project, 'dist', 'bundle', 'main.js'), 'start'], {
    cwd: workspace.folder,
    env: { PATH: process.env.PATH, MILLRACE_PORT: '0', MILLRACE_DATA: workspace.data, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  workspace.adopt(child)
  const ended = once(child, 'close')
  let said = ''
  let code: string | undefined
  for await (const text of child.stdout.setEncoding('utf8')) {
    said += text
    code = /--confirm-copy (\S+)/.exec(said)?.[1]
    if (code !== undefined) break
  }
  child.kill('SIGTERM')
  await ended
  if (code === undefined) throw new Error(`the copy was not noticed: ${said}`)
  return code
}

beforeAll(() => buildDist())

const stores = (await readdir(FORMER_STORES)).filter((name) => name.endsWith('.json.gz'))

describe.each(stores)('%s', (store) => {
  test('[AP60] is opened, read, and worked off: nothing is lost, and nothing is done twice', async () => {
    await using workspace = makeWorkspace()
    await using vendor = await startVendor()
    await mkdir(workspace.data, { recursive: true, mode: 0o700 })
    const files: Record<string, string> = JSON.parse(
      gunzipSync(await readFile(join(FORMER_STORES, store))).toString(),
    )
    for (const [path, text] of Object.entries(files)) {
      await writeFile(join(workspace.data, path), Buffer.from(text, 'base64'), { mode: 0o600 })
    }
    const flows = await workspace.writeFlows(formerFlows(vendor.url))
    await writeFile(join(flows, 'later.ts'), FORMER_FUNCTION)
    const env = { ...FORMER_ENV, MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' }
    const confirm = await pausedCopy(workspace, env)
    const args = [join(project, 'dist', 'bundle', 'main.js'), 'start', '--confirm-copy', confirm]
    const node = await startNode({ workspace, flows, env, args })

    // Events, with every digit.
    const events =
      await node.get<List<{ id: string; subject: string; source: string }>>('/v1/events?source=shop')
    expect(events.items.map(({ subject }) => subject)).toEqual(
      FORMER_EVENTS.map(({ kind }) => `shop.${kind}`).reverse(),
    )
    const key = { headers: { authorization: `Bearer ${node.adminKey}` } }
    for (const [index, event] of FORMER_EVENTS.toReversed().entries()) {
      const shown = await fetch(`${node.url}/v1/events/${events.items[index]?.id}`, key)
      expect(await shown.text()).toContain(event.amount)
    }
    const { items: secrets } = await node.get<List<{ name: string }>>('/v1/secrets')
    expect(secrets).toContainEqual(expect.objectContaining({ name: 'greeting' }))

    // An effect that the former version made is known: the same order is not booked again.
    const ledger = await node.get<List<{ key: string; state: string }>>('/v1/ledger')
    expect(ledger.items).toContainEqual(expect.objectContaining({ key: 'BOOK:o-1', state: 'done' }))
    const send = (body: string) =>
      fetch(`${node.url}/in/default/shop`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    expect((await send(formerBody({ ...FORMER_EVENTS[0], id: 'e1' }))).status).toBe(202)
    expect((await send(formerBody({ ...FORMER_EVENTS[0], id: 'again' as 'e1' }))).status).toBe(202)

    // Its dead letter is replayed under the definition of now.
    const { items: letters } = await node.get<List<Letter>>('/v1/dead-letters')
    const refused = letters.find(({ consumer }) => consumer.name === 'refuse')
    await node.post(`/v1/dead-letters/${refused?.id}/replay`, { reason: 'the vendor takes it now' })
    await eventually('the refused order is sent', () => vendor.to('/refuse').length > 0)

    // The job that waited runs with the code of its version, or, if the store is older than it may wait, is replayed.
    const late = async () =>
      (await node.get<List<Letter>>('/v1/dead-letters')).items.find(
        ({ consumer }) => consumer.name === 'later',
      )
    const reminders = async () =>
      (await node.get<List<{ id: string }>>('/v1/events?subject=reminder.sent')).items.length
    await eventually('the reminder is sent or expired', async () => {
      return (await reminders()) > 0 || (await late()) !== undefined
    })
    const expired = await late()
    if (expired !== undefined) await node.post(`/v1/dead-letters/${expired.id}/replay`, { reason: 'too old' })
    await eventually('the reminder is sent', async () => (await reminders()) > 0)

    // Its instance is where it was, with its encrypted data, and goes on.
    const { items: instances } = await node.get<List<{ id: string }>>('/v1/workflows/approval/instances')
    expect(instances).toHaveLength(1)
    const instance = instances[0]?.id
    const shown = await (await fetch(`${node.url}/v1/instances/${instance}`, key)).text()
    expect(shown).toContain('12345678901234567890.5')
    expect(JSON.parse(shown).marking).toEqual({ review: 1 })
    await node.post(`/v1/instances/${instance}/fire`, { transition: 'approve' })
    await eventually('the approval is delivered', () =>
      vendor.to('/hooks').some(({ body }) => body.includes('o-3')),
    )

    await eventually('the update without an instance is an orphan', async () => {
      return (await node.get<List<object>>('/v1/orphans')).items.length === 1
    })
    await eventually('nothing is open', async () => {
      const open = await Promise.all(
        ['ready', 'leased'].map((state) => node.get<List<object>>(`/v1/work?state=${state}`)),
      )
      return open.every(({ items }) => items.length === 0)
    })
    expect(vendor.to('/book')).toEqual([])
    expect(vendor.to('/refuse')).toHaveLength(1)
    expect(await reminders()).toBe(1)
    node.kill('SIGTERM')
    expect(await node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
  })
})
