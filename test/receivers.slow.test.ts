// The receivers of examples/receivers, each in its own process, against requests as a node signs them. Python is
// needed; the receiver in Go is not run (its README says so).
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newSecret, publicKeyOf, signDelivery } from '../src/core/webhooks/signing/index.ts'
import { verify } from '../src/sdk/client/index.ts'

const root = resolve(import.meta.dirname, '..')
const folder = join(root, 'examples/receivers')
const secretOf = (fill: number) => newSecret('standard', new Uint8Array(32).fill(fill))
const SECRET = secretOf(1)
const FORMER = secretOf(2)
const PRIVATE = newSecret('ed25519', new Uint8Array(32).fill(3))
const BODY = '{"id":"evt_1","type":"orders.created","data":{"name":"Müller","n":1.0}}'
const BROKEN_OFF = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{'
const nowSeconds = () => Math.floor(Date.now() / 1000)

interface Vector {
  readonly signing: string
  readonly timestamp: number
  readonly body: string
  readonly verifyWith: readonly string[]
  readonly headers: Readonly<Record<string, string>>
}
const { vectors } = JSON.parse(readFileSync(join(root, 'docs/webhook-vectors.json'), 'utf8')) as {
  vectors: readonly Vector[]
}

let data: string
const running: ChildProcess[] = []

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'millrace-receivers-'))
  // With the present kit, not the last build.
  await build({
    entryPoints: [join(folder, 'with-kit.mjs')],
    outfile: join(data, 'with-kit.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: { 'millrace/client': join(root, 'src/sdk/client/index.ts') },
  })
})

afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(data, { recursive: true, force: true })
})

/** Its address, as it prints it. */
async function start(command: string, file: string, secret: string): Promise<string> {
  const child = spawn(command, [file], {
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  running.push(child)
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const address = /^listening on (http:\S+)$/.exec(line)?.[1]
    if (address !== undefined) return address
  }
  throw new Error(`${command} ${file} ended before it listened`)
}

async function post(
  address: string,
  headers: Readonly<Record<string, string>>,
  body = BODY,
): Promise<string> {
  const response = await fetch(address, { method: 'POST', body, headers })
  return `${response.status} ${(await response.text()).trim()}`
}

function signed(secrets: readonly string[], rest: { id?: string; timestamp?: number; body?: string } = {}) {
  const { id = 'evt_1', timestamp = nowSeconds(), body = BODY } = rest
  return signDelivery({ signing: 'standard', secrets, id, timestamp, body })
}

const RECEIVERS: readonly [name: string, command: string, file: () => string][] = [
  ['Node with the kit', process.execPath, () => join(data, 'with-kit.mjs')],
  ['Node without it', process.execPath, () => join(folder, 'plain.mjs')],
  ['Python', 'python3', () => join(folder, 'receiver.py')],
]

describe.each(RECEIVERS)('the receiver in %s', (_, command, file) => {
  test('[SN16] accepts what is signed, once, and refuses what was altered, is old or is of another secret', async () => {
    const address = await start(command, file(), SECRET)
    expect(await post(address, signed([SECRET]))).toBe('200 taken')
    expect(await post(address, signed([SECRET], { timestamp: nowSeconds() - 60 }))).toBe('200 known')
    expect(await post(address, signed([FORMER, SECRET], { id: 'evt_2' }))).toBe('200 taken')
    const other = { id: 'evt_3' }
    expect(await post(address, signed([SECRET], other), `${BODY} `)).toBe('400 no_match')
    expect(await post(address, { ...signed([SECRET]), 'webhook-id': 'evt_3' })).toBe('400 no_match')
    expect(await post(address, signed([FORMER], other))).toBe('400 no_match')
    expect(await post(address, signed([SECRET], { ...other, timestamp: nowSeconds() - 400 }))).toBe(
      '400 too_old',
    )
    expect(await post(address, signed([SECRET], { ...other, timestamp: nowSeconds() + 400 }))).toBe(
      '400 too_new',
    )
    expect(await post(address, {})).toBe('400 missing_header')
    // Refused ones are not remembered.
    expect(await post(address, signed([SECRET], other))).toBe('200 taken')
  })

  test('[SN16] accepts either of two secrets during a rotation', async () => {
    const address = await start(command, file(), `${SECRET},${FORMER}`)
    expect(await post(address, signed([SECRET]))).toBe('200 taken')
    expect(await post(address, signed([FORMER], { id: 'evt_2' }))).toBe('200 taken')
    expect(await post(address, signed([secretOf(9)], { id: 'evt_3' }))).toBe('400 no_match')
  })

  test('[SN16] survives a sender that breaks off', async () => {
    const address = await start(command, file(), SECRET)
    const socket = connect(Number(new URL(address).port), '127.0.0.1')
    await once(socket, 'connect')
    await new Promise((written) => socket.write(BROKEN_OFF, written))
    socket.destroy()
    await once(socket, 'close')
    for (const id of ['evt_1', 'evt_2'])
      expect(await post(address, signed([SECRET], { id }))).toBe('200 taken')
  })
})

test.each(['whsec_', 'whsec_…', 'whsec_AAAA'])(
  '[SN16] an almost empty secret opens no receiver: %s',
  async (secret) => {
    const [timestamp, key] = [String(nowSeconds()), Buffer.from(secret.slice('whsec_'.length), 'base64')]
    const digest = createHmac('sha256', key).update(`evt_1.${timestamp}.${BODY}`).digest('base64')
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${digest}`,
    }
    for (const [, command, file] of RECEIVERS.slice(1))
      expect(await post(await start(command, file(), secret), headers)).toBe('400 no_match')
  },
)

test('[SN16] the one with the kit accepts public keys too', async () => {
  const address = await start(process.execPath, join(data, 'with-kit.mjs'), publicKeyOf(PRIVATE) as string)
  const delivery = { id: 'evt_1', timestamp: nowSeconds(), body: BODY }
  const headers = signDelivery({ ...delivery, signing: 'ed25519', secrets: [PRIVATE] })
  expect(await post(address, headers)).toBe('200 taken')
  expect(await post(address, headers, `${BODY} `)).toBe('400 no_match')
})

describe('[SN15] the published vectors', () => {
  const shared = vectors.flatMap(({ verifyWith, ...rest }) =>
    verifyWith.filter((secret) => secret.startsWith('whsec_')).map((secret) => ({ ...rest, secret })),
  )

  /** The kit returns the one number of the vectors that a double would change as a bigint. */
  const LARGE = 12345678901234567890n
  const payloadOf = (body: string): unknown =>
    JSON.parse(body, (_, value: unknown) => (value === Number(LARGE) ? LARGE : value))

  test('are accepted by the kit', () => {
    expect(vectors.length).toBeGreaterThan(5)
    expect(vectors.some(({ body }) => body.includes(String(LARGE)))).toBe(true)
    for (const { body, headers, verifyWith, timestamp } of vectors) {
      for (const secret of verifyWith) {
        expect(verify(body, headers, secret, { now: timestamp * 1000 })).toEqual(payloadOf(body))
      }
    }
  })

  test('are accepted by the receiver without it', async () => {
    const { refusal } = (await import(join(folder, 'plain.mjs'))) as {
      refusal(body: Uint8Array, headers: object, secrets: readonly string[], now: number): string | null
    }
    for (const { body, headers, secret, timestamp } of shared) {
      expect(refusal(Buffer.from(body), headers, [secret], timestamp)).toBeNull()
      expect(refusal(Buffer.from(`${body} `), headers, [secret], timestamp)).toBe('no_match')
    }
  })

  test('are accepted by the receiver in Python', () => {
    const code = `
import json, sys
from receiver import refusal
for v in json.load(sys.stdin):
    body = v["body"].encode()
    now = v["timestamp"]
    print(refusal(body, v["headers"], [v["secret"]], now), refusal(body + b" ", v["headers"], [v["secret"]], now))
`
    const { stdout, stderr } = spawnSync('python3', ['-B', '-c', code], {
      cwd: folder,
      input: JSON.stringify(shared),
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n')).toEqual(shared.map(() => 'None no_match'))
  })
})
