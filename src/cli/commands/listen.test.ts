import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../app.ts'
import { resolveConfig } from '../../config/index.ts'
import { verifySignature } from '../../core/ingest/source/index.ts'
import { makeTestCli, runCli } from '../cli.fixture.ts'
import { isLocalHost } from '../local-address.ts'
import { runProgram } from '../program.ts'
import { parseMoment, parseSince } from '../since.ts'

const ODD = '{ "action" : "opened",\n "n": 1.10, "big": 9007199254740993 }\n'
const SECRET = 'the-secret-of-the-test'
const VERIFY = { scheme: 'github', secret: [{ env: 'GITHUB_WEBHOOK_SECRET' }] } as const

/** A developer's program: records what it receives, and whether the signature is valid. */
const received: { isSigned: boolean; body: string; headers: IncomingHttpHeaders }[] = []
let status = 200
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const headers = request.headers as Record<string, string>
  const { ok } = verifySignature(VERIFY, {
    body,
    headers,
    secrets: [SECRET],
    now: Date.now(),
    method: 'POST',
    url: '',
  })
  received.push({ isSigned: ok, body: body.toString(), headers: request.headers })
  response.writeHead(status).end()
})

/** Between the command and the node, so that the connection can be cut. */
const sockets = new Set<Socket>()
let isCut = false
const wire = createTcpServer((socket) => {
  if (isCut) return socket.destroy()
  const { hostname, port } = new URL(app.url)
  const onwards = connect(Number(port), hostname)
  for (const end of [socket, onwards]) {
    sockets.add(end)
    end.on('error', () => {})
    end.on('close', () => sockets.delete(end))
  }
  socket.pipe(onwards).pipe(socket)
  socket.on('close', () => onwards.destroy())
  onwards.on('close', () => socket.destroy())
})
function cut(): void {
  isCut = true
  for (const socket of sockets) socket.destroy()
}

const data = mkdtempSync(join(tmpdir(), 'millrace-listen-'))
const env = { MILLRACE_DATA: data, GITHUB_WEBHOOK_SECRET: SECRET }
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port
let app: App

beforeAll(async () => {
  const settings = { ...env, MILLRACE_PORT: '0', MILLRACE_LOG: join(data, 'log.jsonl') }
  const resolved = resolveConfig(settings)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  app = await startApp({ config: resolved.config, env: settings })
  receiver.listen(0, '127.0.0.1')
  wire.listen(0, '127.0.0.1')
  await Promise.all([once(receiver, 'listening'), once(wire, 'listening')])
})
afterAll(async () => {
  cut()
  receiver.closeAllConnections()
  for (const server of [receiver, wire]) server.close()
  await app.close()
  rmSync(data, { recursive: true })
})

async function send(args = '', stdin = ''): Promise<string> {
  const { stdout } = await runCli(`send github --json${args}`.split(' '), {
    env: { ...env, MILLRACE_URL: app.url },
    stdin,
  })
  return (JSON.parse(stdout) as { eventId: string }).eventId
}

/** Listens through the proxy until it is stopped; returns its output. */
function listen(args: string, own: Record<string, string> = {}) {
  received.length = 0
  status = 200
  isCut = false
  const stop = new AbortController()
  let look = () => {}
  const { cli, written } = makeTestCli({
    env: { ...env, MILLRACE_URL: `http://127.0.0.1:${portOf(wire)}`, ...own },
    signal: stop.signal,
    onWrite: () => look(),
  })
  const to = `http://127.0.0.1:${portOf(receiver)}/hooks`
  const ended = runProgram(
    [...`listen github --to ${to}`.split(' '), ...args.split(' ').filter(Boolean)],
    cli,
  )
  return {
    /** This many lines were written. */
    told: (count: number) =>
      new Promise<void>((resolve) => {
        look = () => {
          if (written.stdout.split('\n').length > count) resolve()
        }
        look()
      }),
    async stop() {
      stop.abort()
      return { code: await ended, ...written }
    },
  }
}

describe('listen', () => {
  test('[LI1] [LI2] events are forwarded unchanged, signed so that the receiver can verify them', async () => {
    const before = await send()
    const listening = listen('--since 1m --json')
    await listening.told(1)
    const ids = [before, await send(' --event issue_comment.created')]
    ids.push(await send(' --event issues --data -', ODD))
    await listening.told(3)
    const { code, stdout, stderr } = await listening.stop()
    expect(code).toBe(130)
    expect(stderr).toMatch(
      /^Listening to github; each event is forwarded to http:\S+\. Press Ctrl-C to stop\.\n/,
    )
    const lines = stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      ids.map((id) => expect.objectContaining({ id, status: 200, ms: expect.any(Number) })),
    )
    expect(received.map(({ isSigned }) => isSigned)).toEqual([true, true, true])
    expect(received[1]?.headers).toMatchObject({
      'x-github-event': 'issue_comment',
      'x-github-delivery': expect.any(String),
    })
    // JSON that no writer would write: it arrives byte for byte.
    expect(received[2]?.body).toBe(ODD)
  })

  test('[LI3] while the connection is lost nothing is lost, and nothing comes twice', async () => {
    const listening = listen('--json --since '.concat(await send()))
    const ids = [await send()]
    await listening.told(1)
    cut()
    ids.push(await send(), await send(), await send())
    isCut = false
    await listening.told(4)
    ids.push(await send())
    await listening.told(5)
    const { stdout, stderr } = await listening.stop()
    const told = stdout.trim().split('\n')
    expect(told.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(ids)
    expect(stderr).toContain('the connection to the node was lost; reconnecting\n')
    expect(stderr).toContain('connected again; missed events come first\n')
    expect(received).toHaveLength(5)
  })

  test('[LI4] a line shows the receiver’s response, also if it is not running; subjects can be chosen', async () => {
    const listening = listen(`--filter github.events.issues.* --since ${await send()}`)
    status = 503
    await send(' --event issue_comment.created')
    const failed = await send()
    await listening.told(1)
    status = 200
    const good = await send()
    await listening.told(2)
    const { stdout } = await listening.stop()
    const lines = stdout.trim().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(
      new RegExp(`^\\S+Z {2}github\\.events\\.issues\\.opened {2}${failed} {2}503 {2}`),
    )
    expect(lines[1]).toMatch(new RegExp(`${good} {2}200 {2}[\\d.]+ m?s$`))
    expect(received[0]?.headers['x-github-event']).toBe('issues')
  })

  test('[LI2] another secret signs differently; without a secret it says that nothing is signed', async () => {
    const other = listen(`--since ${await send()} --secret another`)
    await send()
    await other.told(1)
    await other.stop()
    expect(received[0]?.headers['x-hub-signature-256']).toBeDefined()
    expect(received[0]?.isSigned).toBe(false)

    const yaml = `kind: Source
name: shop
verify: { scheme: hmac, secret: { env: SHOP_SECRET }, header: x-shop-signature }
subject: shop.events.order
`
    const file = join(data, 'shop.yaml')
    writeFileSync(file, yaml)
    const run = (args: string) => runCli(args.split(' '), { env: { ...env, MILLRACE_URL: app.url } })
    expect((await run(`apply ${data} --yes`)).stderr).toBe('')
    const stop = new AbortController()
    const unsigned = makeTestCli({
      env: { ...env, MILLRACE_URL: app.url },
      signal: stop.signal,
      onWrite: () => stop.abort(),
    })
    expect(await runProgram('listen shop --to localhost:1'.split(' '), unsigned.cli)).toBe(130)
    expect(unsigned.written.stderr).toContain('forwarded unsigned. Give --secret or set SHOP_SECRET')
  })

  test('[LI5] a remote address is refused, unless it is allowed', async () => {
    const run = (args: string) => runCli(args.split(' '), { env: { ...env, MILLRACE_URL: app.url } })
    for (const to of ['http://192.0.2.1/', 'https://8.8.8.8', 'http://[2001:db8::1]:80']) {
      const { code, stderr } = await run(`listen github --to ${to}`)
      expect({ to, code }).toEqual({ to, code: 2 })
      expect(stderr).toContain('--allow-remote')
    }
    expect((await run('listen github --to ftp://localhost')).code).toBe(2)
    expect((await run('listen github --to localhost:1 --filter a..b')).code).toBe(2)
    expect((await run('listen github --to localhost:1 --since yesterday')).code).toBe(2)
    expect((await run('listen nowhere --to localhost:1')).code).toBe(6)
    expect((await run('listen github')).code).toBe(2)
  })
})

describe('[LI5] what counts as this machine and its own network', () => {
  test.each([
    ['localhost', true],
    ['app.localhost', true],
    ['127.0.0.1', true],
    ['[::1]', true],
    ['10.1.2.3', true],
    ['172.31.0.1', true],
    ['172.32.0.1', false],
    ['192.168.1.9', true],
    ['[fd00::1]', true],
    ['[::ffff:127.0.0.1]', true],
    ['[::ffff:8.8.8.8]', false],
    ['0.0.0.0', false],
    ['8.8.8.8', false],
    ['inside.example', true],
    ['both.example', false],
    ['nothing.example', false],
  ])('%s: %s', async (host, isLocal) => {
    const names: Readonly<Record<string, readonly string[]>> = {
      'inside.example': ['10.0.0.1', 'fd00::1'],
      'both.example': ['10.0.0.1', '8.8.8.8'],
    }
    expect(await isLocalHost(host, async (name) => names[name] ?? [])).toBe(isLocal)
  })
})

test('[LI4] since when: an id, a moment, or how long ago', () => {
  const now = Date.UTC(2026, 2, 2, 8)
  expect(parseSince('evt_01a1e265-cda6-7001-a6f8-b3251bd29e73', now)).toEqual({
    id: 'evt_01a1e265-cda6-7001-a6f8-b3251bd29e73',
  })
  expect(parseSince('10m', now)).toEqual({ at: now - 600_000 })
  expect(parseMoment('2026-03-02T07:30:00Z', now)).toBe(now - 1_800_000)
  for (const text of ['10', '10w', 'yesterday', '', '2026-99-99', '2026-02-30', '2026-03-02T24:00Z'])
    expect(() => parseMoment(text, now)).toThrow('is not a time')
})
