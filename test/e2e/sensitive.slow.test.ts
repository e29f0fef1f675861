// Sensitive data in a whole node: it reaches vendors and functions, and is found nowhere, by a viewer in the API, in
// the log, or in the files of the data folder.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type App, startApp } from '../../src/app.ts'
import { resolveConfig } from '../../src/config/index.ts'
import type { Change } from '../../src/engine/index.ts'
import { TerminalError } from '../../src/sdk/errors.ts'
import { readFiles, spellings } from '../support/find-values.ts'
import { makeWorkspace, type Workspace } from '../support/workspace.ts'

const EMAIL = 'ada.lovelace+nobody@example.com'
const MENDED = 'mended.lovelace@example.com'
const USER = 'user-of-the-header-7f3c9a'
const HIDDEN = [EMAIL, MENDED, USER, encodeURIComponent(EMAIL)]

const flows = (vendor: string) => `
kind: Source
name: crm
verify: { scheme: none }
subject: "crm.events.{{ payload.kind }}"
event: { id: payload.id, objectType: user, objectId: payload.id }
sensitive: [payload.user.email, header.x-user, "payload['mail']"]
---
kind: Route
name: call
on: crm.events.changed
where: payload.user.email != 'nobody'
key: "'call:' + payload.id"
retry: { attempts: 2, delays: [10ms] }
do: { http: { url: "${vendor}/call/{{ payload.user.email }}", body: "{{ payload }}" , idempotent: true } }
---
kind: Route
name: think
on: crm.events.changed
key: "'think:' + payload.id"
retry: { attempts: 2, delays: [10ms] }
do: { function: think }
---
kind: Route
name: copy
on: crm.events.changed
do: { emit: crm.copied }
---
kind: Route
name: told
on: crm.told
retry: { attempts: 1 }
do: { function: refuse }
`

/** Quotes the request, as vendors do: first busy, then refusing, and satisfied when the test says so. */
async function startVendor() {
  const heard: string[] = []
  let isContent = false
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    heard.push(body)
    const status = isContent ? 201 : heard.length === 1 ? 503 : 422
    const { user } = JSON.parse(body) as { user: { email: string } }
    const answer = { id: `of ${user.email}`, message: `no ${body} at ${request.url}` }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    heard,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    please() {
      isContent = true
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function start(workspace: Workspace, folder: string, more: Record<string, string>) {
  const env = {
    MILLRACE_ENV: 'QA',
    MILLRACE_DATA: workspace.data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: folder,
    MILLRACE_OUTBOUND_ALLOW: '127.0.0.0/8',
    MILLRACE_LOG: join(workspace.data, 'millrace.log'),
    ...more,
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  let runs = 0
  const app = await startApp({
    config: resolved.config,
    env,
    functions: {
      async think(input, { effect, emit, log, heartbeat }) {
        const { user } = input as { user: { email: string } }
        runs += 1
        log.info(`thinking of ${user.email}`, { user })
        heartbeat(`at ${user.email}`)
        await effect('note', async () => ({ id: user.email, user }))
        if (runs === 1) throw new Error(`not for ${user.email}`)
        emit('crm.told', { to: [user.email] })
        return { user }
      },
      refuse(input) {
        throw new TerminalError(`nobody may be told ${JSON.stringify(input)}`)
      },
    },
  })
  const changes: Change[] = []
  const waiting = new Set<() => void>()
  app.engine.watch({
    changed(_tenant, change) {
      changes.push(change)
      for (const look of waiting) look()
    },
    lost() {},
  })
  const seen = (fits: (change: Change) => boolean) =>
    new Promise<Change>((resolve) => {
      const look = () => {
        const found = changes.find(fits)
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  return { app, seen }
}

function makeCaller(app: App, key: string) {
  const heard: string[] = []
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(app.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    heard.push(
      `${method} ${decodeURIComponent(path).replaceAll(EMAIL, '…')} ${JSON.stringify([...answer.headers])} ${text}`,
    )
    // biome-ignore lint/suspicious/noExplicitAny: the test reads what it expects.
    const json: any = /json/.test(answer.headers.get('content-type') ?? '') ? JSON.parse(text) : null
    return { status: answer.status, text, json }
  }
  return { heard, ask }
}

/** Every endpoint whose response contains something of the event. */
async function askEverything(ask: ReturnType<typeof makeCaller>['ask'], event: string, letter: string) {
  const lists = [
    'events',
    'unmatched',
    'work',
    'ledger',
    'dead-letters',
    'dead-letters/groups',
    'overview',
    'replays',
  ]
  for (const list of lists) expect((await ask('GET', `/v1/${list}`)).status, list).toBe(200)
  const { json: events } = await ask('GET', '/v1/events')
  for (const { id } of events.items) expect((await ask('GET', `/v1/events/${id}`)).status).toBe(200)
  for (const { id } of (await ask('GET', '/v1/work')).json.items) await ask('GET', `/v1/work/${id}`)
  await ask('GET', `/v1/events?q=${encodeURIComponent(EMAIL)}`)
  await ask('GET', `/v1/events/${event}`, undefined, { accept: 'application/cloudevents+json' })
  await ask('GET', '/v1/events', undefined, { accept: 'application/cloudevents-batch+json' })
  await ask('GET', `/v1/dead-letters/${letter}`)
  const explained = await ask('GET', `/v1/events/${event}/explain`)
  const tried = await ask('POST', '/v1/try', { route: 'call', event })
  const computed = await ask('POST', '/v1/try/expression', { expression: 'payload', as: 'pick', event })
  const body = await ask('GET', `/v1/events/${event}/body`)
  return { events, explained, tried, computed, body }
}

function expectNowhere(workspace: Workspace, texts: readonly string[]): void {
  const found = [
    ...readFiles(workspace.data),
    ...texts.map((text) => ({ path: text.slice(0, 60), bytes: Buffer.from(text) })),
  ].flatMap(({ path, bytes }) =>
    HIDDEN.flatMap((value) =>
      spellings(value)
        .filter((spelling) => bytes.includes(spelling))
        .map(() => `${value} in ${path}`),
    ),
  )
  expect(found).toEqual([])
}

test('[SE17] [SE13] [SE14] [SE15] [SE9] sensitive data is only where it is needed', async () => {
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const folder = await workspace.writeFlows(flows(vendor.url))
  const keys = { MILLRACE_MASTER_KEY: 'a'.repeat(64) }
  const { app, seen } = await start(workspace, folder, keys)
  const texts: string[] = []
  let id = ''
  try {
    const operator = makeCaller(app, app.adminKey.value)
    const made = await operator.ask('POST', '/v1/keys', { name: 'eve', role: 'viewer' })
    const viewer = makeCaller(app, made.json.key)
    const streaming = new AbortController()
    const stream = fetch(`${app.url}/v1/stream`, {
      headers: { authorization: `Bearer ${made.json.key}` },
      signal: streaming.signal,
    }).then(async (answer) => {
      for await (const chunk of answer.body ?? []) texts.push(Buffer.from(chunk).toString())
    })
    stream.catch(() => {})

    const payload = { id: 'u1', kind: 'changed', user: { email: EMAIL, plan: 'gold' } }
    const headers = { 'content-type': 'application/json', 'x-user': USER }
    const send = (body: string, more: Record<string, string> = headers) =>
      fetch(`${app.url}/in/default/crm`, { method: 'POST', body, headers: more })
    const sent = await send(JSON.stringify(payload))
    id = ((await sent.json()) as { eventId: string }).eventId
    const form = new URLSearchParams({ id: 'u2', kind: 'form', mail: EMAIL }).toString()
    await send(form, { 'content-type': 'application/x-www-form-urlencoded', 'x-user': USER })
    const isDead = (change: Change) => change.type === 'deadLetter' && change.state === 'open'
    await seen(
      (change) => change.type === 'work' && change.consumer === 'route:think' && change.state === 'done',
    )
    await seen(
      (change) => change.type === 'work' && change.consumer === 'route:told' && change.state === 'dead',
    )
    await seen(
      (change) => change.type === 'work' && change.consumer === 'route:call' && change.state === 'dead',
    )
    await seen(isDead)
    // It went where it belongs.
    expect(vendor.heard).toEqual([JSON.stringify(payload), JSON.stringify(payload)])

    const { json: letters } = await operator.ask('GET', '/v1/dead-letters')
    const letter = letters.items.find(({ eventId }: { eventId: string }) => eventId === id).id
    const before = operator.heard.length
    const clear = await askEverything(operator.ask, id, letter)
    expect(clear.body.text).toBe(JSON.stringify(payload))
    expect(clear.computed.json.value).toEqual(payload)
    expect(operator.heard.slice(before).join('\n')).toContain(USER)
    const hidden = await askEverything(viewer.ask, id, letter)
    expect(hidden.body.status).toBe(403)
    expect(hidden.computed.json.value).toEqual({ ...payload, user: { email: '[hidden]', plan: 'gold' } })
    expect(hidden.tried.json).toMatchObject({
      matched: true,
      why: [{ holds: true, saw: 'payload.user.email = [hidden]' }],
    })
    const shown = (await viewer.ask('GET', `/v1/events/${id}`)).json
    expect(shown).toMatchObject({
      data: { user: { email: '[hidden]', plan: 'gold' } },
      headers: { 'x-user': '[hidden]' },
      sensitive: ['payload.user.email', 'header.x-user', "payload['mail']"],
    })
    // Besides the events that Millrace emits about its own failures.
    const own = (hidden.events.items as { source: string }[]).filter(({ source }) => source !== 'millrace')
    expect(own).toHaveLength(4)
    // A search finds nothing in encrypted data, for any user.
    expect((await operator.ask('GET', '/v1/events?q=gold')).json.items).toEqual([])

    vendor.please()
    const edited = { ...payload, user: { email: MENDED, plan: 'gold' } }
    const mending = { data: edited, reason: 'mended' }
    const once = { 'idempotency-key': 'mend-1' }
    expect((await operator.ask('POST', `/v1/dead-letters/${letter}/edit`, mending, once)).status).toBe(200)
    expect(
      (await operator.ask('POST', `/v1/dead-letters/${letter}/replay`, {}, { 'idempotency-key': 'go-1' }))
        .status,
    ).toBe(202)
    await seen(
      (change) => change.type === 'deadLetter' && change.id === letter && change.state === 'resolved',
    )
    expect(vendor.heard.at(-1)).toBe(JSON.stringify(edited))
    expect((await viewer.ask('GET', `/v1/dead-letters/${letter}`)).json.event.data.user.email).toBe(
      '[hidden]',
    )
    await askEverything(viewer.ask, id, letter)
    texts.push(...viewer.heard)
    streaming.abort()
    expectNowhere(workspace, texts)
  } finally {
    await app.close()
  }
  expectNowhere(workspace, texts)
  const log = readFileSync(join(workspace.data, 'millrace.log'), 'utf8')
  expect(log).toContain('event.sensitive-read')
  expect(log).toContain('thinking of [hidden]')

  // Without the key it does not decrypt, and says so; with it as an old one it does.
  const foreign = { MILLRACE_MASTER_KEY: 'b'.repeat(64) }
  const paused = await start(workspace, folder, foreign)
  await paused.app.close()
  const lost = await start(workspace, folder, {
    ...foreign,
    MILLRACE_CONFIRM_COPY: paused.app.pause?.confirm ?? '',
  })
  try {
    const { ask } = makeCaller(lost.app, lost.app.adminKey.value)
    const shown = (await ask('GET', `/v1/events/${id}`)).json
    expect(shown).toMatchObject({ id, data: null, unreadable: expect.stringContaining('is sealed') })
    expect((await ask('GET', '/v1/events')).json.items.length).toBeGreaterThan(4)
    expect((await ask('GET', `/v1/events/${id}/body`)).status).toBe(409)
    expect((await ask('GET', `/v1/events/${id}/explain`)).status).toBe(409)
  } finally {
    await lost.app.close()
  }
  const found = await start(workspace, folder, {
    MILLRACE_MASTER_KEY: 'b'.repeat(64),
    MILLRACE_MASTER_KEYS_OLD: 'a'.repeat(64),
  })
  try {
    const { ask } = makeCaller(found.app, found.app.adminKey.value)
    expect((await ask('GET', `/v1/events/${id}`)).json.data.user.email).toBe(EMAIL)
  } finally {
    await found.app.close()
  }
})
