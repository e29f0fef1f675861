// Numbers pass through a whole node digit for digit: in by webhooks and CloudEvents, out in requests, emitted events,
// deliveries, instances, replays and responses of the API; and keys distinguish what a double would not.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { startApp } from '../src/app.ts'
import { resolveConfig } from '../src/config/index.ts'
import { compareWorth, numeralText } from '../src/core/foundation/json/numeral.fixture.ts'
import { makeStores } from './support/stores.ts'

const stores = makeStores()
afterAll(() => stores.close())

const DEFINITIONS = (url: string) => `
kind: Source
name: shop
verify: { scheme: none }
subject: "shop.events.{{ payload.kind }}"
event: { id: payload.id }
---
kind: Route
name: whole
on: [shop.events.paid]
key: "'W:' + string(payload.amount)"
do: { http: { method: POST, url: "${url}/whole", body: "{{ payload }}" } }
---
kind: Route
name: parts
on: [shop.events.paid]
do:
  http:
    method: POST
    url: "${url}/parts"
    headers: { x-amount: "{{ payload.amount }}" }
    body: { amount: "{{ payload.amount }}", list: ["{{ payload.amount }}"], text: "<{{ payload.amount }}>", fixed: 1.000000000000000001 }
---
kind: Route
name: told
on: [shop.events.paid]
do: { emit: shop.facts.paid, data: { amount: "{{ payload.amount }}" } }
---
kind: Route
name: answered
on: [shop.facts.paid]
do: { http: { method: POST, url: "${url}/told", body: "{{ payload }}" } }
---
kind: Route
name: more_than_one
on: [shop.events.paid]
where: payload.amount > 1.000000000000000001
do: { http: { method: POST, url: "${url}/more", body: "{{ payload.amount }}" } }
---
kind: Workflow
name: case
version: 1.0.0
start: open
triggers:
  - { on: [shop.events.paid], map: { amount: payload.amount } }
places:
  open: {}
  closed: { final: true }
transitions:
  close: { from: open, to: closed, do: { http: { method: POST, url: "${url}/case", body: { amount: "{{ data.amount }}" } } } }
---
kind: Route
name: broken
on: [shop.events.broken]
retry: { attempts: 1 }
do: { http: { method: POST, url: "${url}/{{ payload.status }}", body: "{{ payload }}" } }
---
kind: Subscription
name: hooks
url: "${url}/hooks"
on: shop.events.paid
---
kind: Subscription
name: mapped
url: "${url}/mapped"
on: shop.events.paid
transform: { amount: "{{ payload.amount }}" }
---
kind: Subscription
name: published
url: "${url}/published"
on: shop.published.paid
`

interface Seen {
  readonly path: string
  readonly amount: string | undefined
  readonly body: string
}

/** The requests it received, and a way to wait for a number of requests to one path. */
async function makeEndpoint() {
  const seen: Seen[] = []
  const waiting = new Set<() => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ path: String(request.url), amount: request.headers['x-amount'] as string | undefined, body })
    const status = Number(request.url?.slice(1))
    response.writeHead(status > 0 ? status : 200, { 'content-type': 'application/json' })
    response.end('{"id":"v","fee":0.10}')
    for (const look of waiting) look()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    seen,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    until: (fits: (one: Seen) => boolean, count = 1) =>
      new Promise<readonly Seen[]>((resolve) => {
        const look = () => {
          const found = seen.filter(fits)
          if (found.length < count) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const NAMED = [
  '1.000000000000000001',
  '1.000000000000000002',
  '0.12345678901234567891',
  '123456789012345678901234567890.5',
  '1E+2',
  '-0',
  '1.0',
  '0.10',
  '12345678901234567890',
  '1e-400',
  '19.99',
]

test.each(['SQLite', 'PostgreSQL'] as const)(
  '[X1] [GU11] [CE8] every digit passes through a node on %s',
  async (ground) => {
    await using store = await stores.make(ground)
    const endpoint = await makeEndpoint()
    const data = mkdtempSync(join(tmpdir(), 'millrace-numbers-'))
    const flows = join(data, 'flows')
    mkdirSync(flows)
    writeFileSync(join(flows, 'numbers.yaml'), DEFINITIONS(endpoint.url))
    const env = {
      MILLRACE_DATA: data,
      MILLRACE_PORT: '0',
      MILLRACE_FLOWS: flows,
      MILLRACE_LOG: join(data, 'log.jsonl'),
      ...store.env,
    }
    const config = resolveConfig(env)
    if (!config.ok) throw new Error(JSON.stringify(config.findings))
    const app = await startApp({ config: config.config, env })
    const api = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${app.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${app.adminKey.value}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      })
      return { status: answer.status, text: await answer.text() }
    }
    const idOf = (text: string) => (JSON.parse(text) as { eventId: string }).eventId
    const send = async (id: string, more: string) => {
      const sent = await api('POST', '/in/default/shop', `{"id":"${id}",${more}}`)
      expect(sent.status, sent.text).toBe(202)
      return idOf(sent.text)
    }
    try {
      const numerals = [...new Set([...NAMED, ...fc.sample(numeralText, { seed: 16, numRuns: 25 })])]
      const values: string[] = []
      for (const numeral of numerals) {
        if (values.every((other) => compareWorth(other, numeral) !== 0)) values.push(numeral)
      }
      const ids = new Map<string, string>()
      for (const [index, numeral] of numerals.entries()) {
        ids.set(numeral, await send(`n${index}`, `"kind":"paid","amount":${numeral}`))
      }
      // One effect for each value, however it is written, and none fewer.
      const whole = await endpoint.until(({ path }) => path === '/whole', values.length)
      expect(whole).toHaveLength(values.length)
      const many = numerals.length
      const parts = await endpoint.until(({ path }) => path === '/parts', many)
      const [told, cases, mapped, hooks] = await Promise.all(
        ['/told', '/case', '/mapped', '/hooks'].map((path) =>
          endpoint.until((one) => one.path === path, many),
        ),
      )
      const above = numerals.filter((numeral) => compareWorth(numeral, '1.000000000000000001') > 0)
      const more = await endpoint.until(({ path }) => path === '/more', above.length)
      expect(more.map(({ body }) => body).sort()).toEqual([...above].sort())
      for (const numeral of numerals) {
        expect(parts).toContainEqual({
          path: '/parts',
          amount: numeral,
          body: `{"amount":${numeral},"list":[${numeral}],"text":"<${numeral}>","fixed":1.000000000000000001}`,
        })
        const one = `{"amount":${numeral}}`
        for (const requests of [told, cases, mapped]) expect(requests?.map(({ body }) => body)).toContain(one)
        expect(
          hooks?.some(({ body }) => body.includes(`"amount":${numeral}}`)),
          numeral,
        ).toBe(true)
        const id = ids.get(numeral) as string
        expect((await api('GET', `/v1/events/${id}`)).text).toContain(`"amount":${numeral}}`)
        const cloud = await api('GET', `/v1/events/${id}`, undefined, {
          accept: 'application/cloudevents+json',
        })
        expect(cloud.text).toContain(`"amount":${numeral}}`)
      }
      for (const numeral of values)
        expect(
          whole.some(({ body }) => body.endsWith(`"amount":${numeral}}`)) || values.length < many,
          numeral,
        ).toBe(true)

      const instances = (await api('GET', '/v1/workflows/case/instances?limit=200')).text
      const { items } = JSON.parse(instances) as { items: readonly { id: string }[] }
      const shown = await Promise.all(items.map(({ id }) => api('GET', `/v1/instances/${id}`)))
      for (const numeral of numerals)
        expect(
          shown.some(({ text }) => text.includes(`"amount":${numeral}`)),
          numeral,
        ).toBe(true)

      // CloudEvents in, by both modes, out to a subscription.
      for (const [index, numeral] of numerals.entries()) {
        const attributes = { specversion: '1.0', source: '/shop', type: 'shop.published.paid' }
        const structured = `${JSON.stringify({ ...attributes, id: `s${index}` }).slice(0, -1)},"data":{"s":${numeral}}}`
        const first = await api('POST', '/v1/events', structured, {
          'content-type': 'application/cloudevents+json',
        })
        expect(first.status, first.text).toBe(202)
        const headers = Object.fromEntries(
          Object.entries({ ...attributes, id: `b${index}` }).map(([name, value]) => [`ce-${name}`, value]),
        )
        const second = await api('POST', '/v1/events', `{"b":${numeral}}`, headers)
        expect(second.status, second.text).toBe(202)
      }
      const published = await endpoint.until(({ path }) => path === '/published', 2 * many)
      for (const numeral of numerals) {
        for (const name of ['s', 'b'])
          expect(
            published.some(({ body }) => body.includes(`{"${name}":${numeral}}`)),
            numeral,
          ).toBe(true)
      }

      // A dead letter, edited and replayed; and a formula in `try`.
      await send('x', '"kind":"broken","status":422,"amount":1.0')
      await endpoint.until(({ path }) => path === '/422')
      const letters = async () => {
        for (;;) {
          const page = JSON.parse((await api('GET', '/v1/dead-letters')).text) as {
            items: readonly { id: string }[]
          }
          if (page.items[0] !== undefined) return page.items[0].id
        }
      }
      const letter = await letters()
      const edit = `{"data":{"kind":"broken","status":200,"amount":0.10,"more":[1E+2]},"reason":"a number"}`
      const edited = await api('POST', `/v1/dead-letters/${letter}/edit`, edit)
      expect(edited.status, edited.text).toBe(200)
      const replayed = await api('POST', `/v1/dead-letters/${letter}/replay`, '{}')
      expect(replayed.status, replayed.text).toBeLessThan(300)
      const [again] = await endpoint.until(({ path }) => path === '/200')
      expect(again?.body).toBe('{"kind":"broken","status":200,"amount":0.10,"more":[1E+2]}')

      const tried = await api(
        'POST',
        '/v1/try/expression',
        '{"expression":"payload","as":"pick","event":{"subject":"a.b","data":{"n":-0.0,"m":1.000000000000000001}}}',
      )
      expect(tried.text, tried.text).toContain('{"n":-0.0,"m":1.000000000000000001}')
    } finally {
      await app.close()
      await endpoint.close()
      rmSync(data, { recursive: true })
    }
  },
)
