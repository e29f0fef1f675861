// 100,000 random requests: the node does not fail, stores nothing that it did not acknowledge, and stores what it did.
// Most go to the real engine on the memory store; the rest through sockets to a whole node with its real HTTP parser,
// and to SQLite.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp } from '../src/app.ts'
import { resolveConfig } from '../src/config/index.ts'
import { AppError } from '../src/core/foundation/errors/index.ts'
import { readEncoding } from '../src/core/ingest/request-body/index.ts'
import { compileDefinitions } from '../src/definitions/language.ts'
import { makeWorld } from '../src/engine/engine.fixture.ts'
import { makeInflater, OF_VERIFIED } from '../src/http/inflate.ts'
import { makeNoise, NOISE_SECRET, NOISE_SOURCES, type NoisyRequest } from './support/noise.ts'

const SEED = 20_261_116
const BY_ENGINE = 94_000
const BY_SOCKET = 6_000
const AT_ONCE = 500

interface Tally {
  readonly acknowledged: Set<string>
  readonly statuses: Map<number, number>
}

const makeTally = (): Tally => ({ acknowledged: new Set(), statuses: new Map() })
const count = ({ statuses }: Tally, status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1)

/** A run that refused everything, or accepted everything, would prove nothing. */
function expectVariety({ statuses, acknowledged }: Tally, all: number): void {
  expect([...statuses.values()].reduce((sum, one) => sum + one, 0)).toBe(all)
  expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([])
  for (const status of [400, 401, 403, 404, 405, 410, 413, 415]) {
    expect(statuses.get(status), String(status)).toBeGreaterThan(0)
  }
  expect(acknowledged.size).toBeGreaterThan(all / 10)
  expect(acknowledged.size).toBeLessThan(all * 0.9)
}

test('[GU24] the engine, with most of them', async () => {
  const compiled = compileDefinitions([{ path: 'noise.yaml', text: NOISE_SOURCES }], {
    functions: () => null,
  })
  expect(compiled.findings.filter(({ severity }) => severity === 'error')).toEqual([])
  const world = makeWorld(() => null, [NOISE_SECRET])
  const { engine } = await world.node({ documents: compiled.documents })
  const noise = makeNoise(SEED)
  const inflater = makeInflater(OF_VERIFIED)
  const tally = makeTally()

  const send = async (request: NoisyRequest) => {
    const headers = Object.fromEntries(request.headers)
    const encoded = readEncoding(headers['content-encoding'])
    const { encoding } = encoded.ok ? encoded : { encoding: null }
    try {
      if (!encoded.ok) throw new AppError('wrong_type')
      const received = await engine.receive({
        tenant: request.tenant,
        source: request.source,
        method: request.method,
        target: `/in/${request.tenant}/${request.source}${request.query}`,
        headers,
        body: request.body,
        address: headers['x-forwarded-for'] ?? '127.0.0.1',
        ...(encoding !== null && {
          inflate: (bytesMax: number) => inflater(encoding, request.body, bytesMax),
        }),
      })
      if ('eventId' in received) tally.acknowledged.add(received.eventId)
      count(tally, 'handshake' in received ? received.handshake.status : 202)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      expect(error.status, error.code).toBeLessThan(500)
      count(tally, error.status)
    }
  }

  for (let sent = 0; sent < BY_ENGINE; sent += AT_ONCE) {
    let open = AT_ONCE
    const all = Promise.all(Array.from({ length: AT_ONCE }, () => send(noise()).finally(() => (open -= 1))))
    while (open > 0) await world.pass(1)
    await all
  }
  const { events } = await world.store.system('verification').dump()
  expect(new Set(events.map(({ id }) => id as string))).toEqual(tally.acknowledged)
  expectVariety(tally, BY_ENGINE)
})

test('[GU24] a whole node, over kept-alive sockets', async () => {
  const data = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'))
  const flows = mkdtempSync(join(tmpdir(), 'millrace-fuzz-flows-'))
  writeFileSync(join(flows, 'noise.yaml'), NOISE_SOURCES)
  const env = {
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_FLOWS: flows,
    MILLRACE_LOG: join(data, 'log.jsonl'),
    MILLRACE_TRUSTED_PROXIES: 'loopback',
    NOISE_SECRET,
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  const app = await startApp({ config: resolved.config, env })
  try {
    const port = Number(new URL(app.url).port)
    const noise = makeNoise(SEED + 1)
    const tally = makeTally()
    const sender = async (requests: number) => {
      const line = makeLine(port)
      for (let sent = 0; sent < requests; sent += 1) {
        const answer = await line.ask(wire(noise()))
        expect(answer.status).toBeLessThan(500)
        count(tally, answer.status)
        const eventId = /"eventId":"(evt_[^"]+)"|<ok id="(evt_[^"]+)"/.exec(answer.body)
        if (eventId !== null) tally.acknowledged.add((eventId[1] ?? eventId[2]) as string)
      }
      line.close()
    }
    await Promise.all(Array.from({ length: 20 }, () => sender(BY_SOCKET / 20)))
    const { events } = await app.store.system('verification').dump()
    expect(new Set(events.map(({ id }) => id as string))).toEqual(tally.acknowledged)
    expectVariety(tally, BY_SOCKET)
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200)
  } finally {
    await app.close()
    rmSync(data, { recursive: true })
    rmSync(flows, { recursive: true })
  }
})

/** One request, as bytes. Bytes that no header can contain are left in: the parser is under test too. */
function wire({ method, tenant, source, query, headers, body }: NoisyRequest): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const head = `${method} /in/${tenant}/${source}${query} HTTP/1.1\r\nhost: x\r\n${lines}`
  return Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`, 'latin1'), body])
}

interface Line {
  ask(request: Buffer): Promise<{ readonly status: number; readonly body: string }>
  close(): void
}

/** A connection that is reopened whenever the node has closed it. */
function makeLine(port: number): Line {
  let socket: Socket | null = null
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        const held = socket ?? connect(port, '127.0.0.1')
        socket = held
        let heard = Buffer.alloc(0)
        const end = (result: ReturnType<typeof parse>) => {
          held.removeAllListeners()
          // Its last bytes may come after its response.
          held.on('error', () => {})
          if (result === null || result.closes) {
            held.destroy()
            socket = null
          }
          if (result === null) reject(new Error(`no answer, but ${heard.toString('latin1').slice(0, 200)}`))
          else resolve(result)
        }
        held.on('data', (chunk) => {
          heard = Buffer.concat([heard, chunk])
          const result = parse(heard)
          if (result !== null) end(result)
        })
        held.on('error', () => end(parse(heard)))
        held.on('close', () => end(parse(heard)))
        held.write(request)
      }),
    close: () => socket?.destroy(),
  }
}

function parse(heard: Buffer): { status: number; body: string; closes: boolean } | null {
  const text = heard.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const head = text.slice(0, end).toLowerCase()
  const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
  if (text.length < end + 4 + length) return null
  const status = Number(/^http\/1\.1 (\d+)/.exec(head)?.[1])
  return { status, body: text.slice(end + 4, end + 4 + length), closes: head.includes('connection: close') }
}
