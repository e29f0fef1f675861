// A copied data folder and a foreign master key, as a node finds them: it starts, says so, and does nothing.

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp } from '../../src/app.ts'
import { resolveConfig } from '../../src/config/index.ts'
import { makeWorkspace } from '../support/workspace.ts'

const FLOWS = `
kind: Source
name: shop
verify: { scheme: none }
subject: shop.events
event: { id: payload.id }
`

async function start(data: string, flows: string, more: Record<string, string> = {}) {
  const env = {
    MILLRACE_ENV: 'QA',
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: flows,
    MILLRACE_LOG: join(data, 'millrace.log'),
    MILLRACE_MASTER_KEY: 'a'.repeat(64),
    ...more,
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  return startApp({ config: resolved.config, env })
}

async function send(url: string) {
  const answer = await fetch(`${url}/in/default/shop`, { method: 'POST', body: '{"id":1}' })
  return { status: answer.status, json: await answer.json() }
}

async function readyz(url: string) {
  const answer = await fetch(`${url}/readyz`)
  return { status: answer.status, json: (await answer.json()) as { reasons: readonly string[] } }
}

test('[DU7] [DU8] a copy with another key is paused until the operator confirms it', async () => {
  await using workspace = makeWorkspace()
  const flows = await workspace.writeFlows(FLOWS)
  const first = await start(workspace.data, flows)
  try {
    expect(first.pause).toBeNull()
    expect((await send(first.url)).status).toBe(202)
  } finally {
    await first.close()
  }
  // A restart on the same folder runs.
  await (await start(workspace.data, flows)).close()

  const copied = join(workspace.folder, 'copied')
  cpSync(workspace.data, copied, { recursive: true })
  const key = { MILLRACE_MASTER_KEY: 'b'.repeat(64) }
  const paused = await start(copied, flows, key)
  try {
    expect(paused.pause?.reasons).toHaveLength(2)
    const ready = await readyz(paused.url)
    expect(ready).toMatchObject({ status: 503, json: { status: 'not ready' } })
    expect(ready.json.reasons.join(' ')).toContain(`--confirm-copy ${paused.pause?.confirm}`)
    expect((await fetch(`${paused.url}/healthz`)).status).toBe(200)
    expect(await send(paused.url)).toMatchObject({ status: 503, json: { code: 'node_paused' } })
    const asked = await fetch(`${paused.url}/v1/events`, {
      headers: { authorization: `Bearer ${paused.adminKey.value}` },
    })
    expect(asked.status).toBe(503)
    expect(await paused.store.system('verification').dump()).toMatchObject({ events: [{}] })
  } finally {
    await paused.close()
  }
  expect(readFileSync(join(copied, 'millrace.log'), 'utf8')).toContain('"node.paused"')

  const confirmed = await start(copied, flows, { ...key, MILLRACE_CONFIRM_COPY: paused.pause?.confirm ?? '' })
  try {
    expect(confirmed.pause).toBeNull()
    expect((await readyz(confirmed.url)).status).toBe(200)
    expect((await send(confirmed.url)).status).toBe(202)
  } finally {
    await confirmed.close()
  }
  expect(readFileSync(join(copied, 'millrace.log'), 'utf8')).toContain('"node.copy-confirmed"')
})

test('[DU8] [DU13] the admin of the node confirms a copy while it is paused, and it runs without a restart', async () => {
  await using workspace = makeWorkspace()
  const flows = await workspace.writeFlows(FLOWS)
  const first = await start(workspace.data, flows)
  expect((await send(first.url)).status).toBe(202)
  await first.close()
  const copied = join(workspace.folder, 'copied')
  cpSync(workspace.data, copied, { recursive: true })
  const node = await start(copied, flows)
  try {
    const code = node.pause?.confirm ?? ''
    const confirm = (body: object, key = node.adminKey.value) =>
      fetch(`${node.url}/v1/node/confirm-copy`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const page = await fetch(node.url, { headers: { accept: 'text/html' } })
    expect(page.status).toBe(503)
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(await page.text()).toContain(`millrace confirm-copy ${code}`)
    expect((await confirm({ code }, 'mrk_other')).status).toBe(401)
    expect((await confirm({ code: 'ffffffff' })).status).toBe(409)
    expect((await send(node.url)).status).toBe(503)

    // The present folder is deployed, not the one at the time of the pause.
    writeFileSync(join(flows, 'more.yaml'), FLOWS.replace('shop\n', 'store\n'))
    // Two at once are one start.
    const answers = await Promise.all([confirm({ code }), confirm({ code })])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(node.pause).toBeNull()
    expect(node.definitions.count).toBe(2)
    expect((await readyz(node.url)).status).toBe(200)
    expect((await send(node.url)).status).toBe(202)
    expect((await confirm({ code })).status).toBe(200)
  } finally {
    await node.close()
  }
  const log = readFileSync(join(copied, 'millrace.log'), 'utf8').trim().split('\n')
  const lines = log.map((line) => JSON.parse(line) as { name?: string })
  expect(lines.find(({ name }) => name === 'node.copy-confirmed')).toMatchObject({ by: 'admin', audit: true })
  // A confirmation also counts for the next start.
  const again = await start(copied, flows)
  expect(again.pause).toBeNull()
  await again.close()
})
