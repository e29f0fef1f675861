// A function that forgets to await: its promise is rejected without a handler, and the node continues with everything
// else.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { buildDist, eventually, startNode } from '../support/node-process.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

const SOURCE = `
kind: Source
name: shop
verify: { scheme: none }
subject: shop.paid
event: { id: payload.id }
`
const FORGETFUL = `
import { defineFunction, defineRoute } from 'millrace'

export const book = defineFunction({
  name: 'book',
  async run(_input, ctx) {
    void ctx.effect('post', async () => { throw new Error('reset by the vendor') })
    void (async () => { throw new Error('forgotten by its author') })()
    return null
  },
})

export default defineRoute({ name: 'book', on: ['shop.paid'], do: { function: 'book' } })
`

test('[FE22] [FN21] a promise that a function forgets does not take the node down', async () => {
  await using workspace = makeWorkspace()
  const flows = await workspace.writeFlows(SOURCE)
  await writeFile(join(flows, 'book.ts'), FORGETFUL)
  const log = join(workspace.folder, 'log')
  const node = await startNode({ workspace, flows, env: { MILLRACE_LOG: log } })
  const send = async (id: string) => {
    const response = await fetch(`${node.url}/in/default/shop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id }),
    })
    return ((await response.json()) as { eventId: string }).eventId
  }
  for (const id of ['one', 'two']) {
    const eventId = await send(id)
    await eventually('it waits for a person', async () => {
      const { story } = await node.get<{ story: readonly { state: string }[] }>(`/v1/events/${eventId}`)
      return story[0]?.state === 'parked'
    })
  }
  await eventually('it is in the log', async () => {
    const lines = (await readFile(log, 'utf8')).split('\n').filter((line) => line.includes('stray-rejection'))
    return lines.length === 2
  })
  const text = await readFile(log, 'utf8')
  expect(text).toContain('forgotten by its author')
  node.kill('SIGTERM')
  expect(await node.exited).toMatchObject({ code: 0, stderr: '' })
})
