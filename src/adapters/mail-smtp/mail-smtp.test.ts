// Submissions to real mail servers on the loopback: what they received, what they replied, and what is reported when
// they break off.

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import type { RefusedName } from '../../core/access/network/index.ts'
import type { HttpRequest } from '../../ports/http-client.ts'
import { TEST_CERTIFICATE, TEST_KEY } from '../http-undici/certificates.fixture.ts'
import { type MailClientOptions, makeMailClient } from './index.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Got {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

async function mailServer(options: SMTPServerOptions = {}) {
  const got: Got[] = []
  const server = new SMTPServer({
    authOptional: true,
    key: TEST_KEY,
    cert: TEST_CERTIFICATE,
    onAuth(auth, _session, done) {
      if (auth.username === 'ada' && auth.password === 's3cret') done(null, { user: 'ada' })
      else done(Object.assign(new Error('no'), { responseCode: 535 }))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        got.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString('utf8'),
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  closers.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { got, port: (server.server.address() as AddressInfo).port }
}

async function rawServer(act: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    act(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  closers.push(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  )
  return (server.address() as AddressInfo).port
}

const MESSAGE = {
  from: 'Millrace <millrace@example.com>',
  to: ['ada@example.com'],
  bcc: ['bob@example.com'],
  subject: 'Grüße',
  text: 'Hello',
  headers: { 'x-team': 'crm' },
  attachments: [{ filename: 'a.txt', content: btoa('attached') }],
}

function post(url: string, over: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'POST',
    url,
    headers: { 'idempotency-key': 'K1', 'x-smtp-plain': 'true' },
    body: JSON.stringify(MESSAGE),
    timeoutMs: 5_000,
    maxResponseBytes: 100_000,
    ...over,
  }
}

const make = (options: Partial<MailClientOptions> = {}) => makeMailClient({ allow: ['loopback'], ...options })
const basic = (pair: string) => ({ authorization: `Basic ${btoa(pair)}`, 'x-smtp-plain': 'true' })
const plain = { disabledCommands: ['STARTTLS'] }
const bodyOf = (outcome: { readonly kind: string; readonly body?: string }) =>
  JSON.parse(outcome.body ?? '{}')

describe('a submission', () => {
  test('[VN18] reaches all recipients, hides the hidden ones, and has an id derived from its key', async () => {
    const { got, port } = await mailServer()
    const first = await make().send(post(`smtp://127.0.0.1:${port}`))
    expect(first).toMatchObject({ kind: 'response', status: 200 })
    expect(bodyOf(first)).toMatchObject({ accepted: ['ada@example.com', 'bob@example.com'], rejected: [] })
    expect(got).toHaveLength(1)
    expect(got[0]).toMatchObject({ from: 'millrace@example.com', to: ['ada@example.com', 'bob@example.com'] })
    expect(got[0]?.text).toContain('X-Team: crm')
    expect(got[0]?.text).toContain('a.txt')
    expect(got[0]?.text).not.toContain('bob@example.com')
    const again = await make().send(post(`smtp://127.0.0.1:${port}`))
    expect(bodyOf(again).messageId).toBe(bodyOf(first).messageId)
    expect(got[0]?.text).toContain(bodyOf(first).messageId)
  })

  test('[VN25] accepted for some recipients and refused for others names both, and is not a success', async () => {
    const { got, port } = await mailServer({
      ...plain,
      onRcptTo({ address }, _session, done) {
        if (address === 'ada@example.com') done()
        else done(Object.assign(new Error('no such user'), { responseCode: 550 }))
      },
    })
    const outcome = await make().send(post(`smtp://127.0.0.1:${port}`))
    expect(outcome).toMatchObject({ kind: 'response', status: 207 })
    expect(bodyOf(outcome)).toMatchObject({
      message: 'taken for 1, refused for bob@example.com',
      accepted: ['ada@example.com'],
      rejected: ['bob@example.com'],
    })
    expect(got).toHaveLength(1)
  })

  test('[VN19] a credential is checked, and a probe sends nothing', async () => {
    const { got, port } = await mailServer({ ...plain, allowInsecureAuth: true })
    const url = `smtp://127.0.0.1:${port}`
    const client = make()
    expect(await client.send(post(url, { headers: basic('ada:s3cret') }))).toMatchObject({ status: 200 })
    expect(await client.send(post(url, { headers: basic('ada:wrong') }))).toMatchObject({ status: 401 })
    const probe = { method: 'HEAD', body: null } as const
    expect(await client.send(post(url, { ...probe, headers: basic('ada:s3cret') }))).toMatchObject({
      status: 200,
    })
    expect(await client.send(post(url, { ...probe, headers: basic('ada:wrong') }))).toMatchObject({
      status: 401,
    })
    expect(got).toHaveLength(1)
  })

  test.each([
    [450, 503],
    [421, 503],
    [550, 422],
    [530, 401],
  ])('[VN18] the reply %i is the status %i, and nothing was accepted', async (responseCode, status) => {
    const refuse = (_address: unknown, _session: unknown, done: (error: Error) => void) =>
      done(Object.assign(new Error('no'), { responseCode }))
    const { got, port } = await mailServer({ ...plain, onMailFrom: refuse })
    expect(await make().send(post(`smtp://127.0.0.1:${port}`))).toMatchObject({ kind: 'response', status })
    expect(got).toEqual([])
  })

  test('[VN18] a refusal after the message is a refusal, too', async () => {
    const { port } = await mailServer({
      ...plain,
      onData(stream, _session, done) {
        stream.resume()
        stream.on('end', () => done(Object.assign(new Error('spam'), { responseCode: 554 })))
      },
    })
    expect(await make().send(post(`smtp://127.0.0.1:${port}`))).toMatchObject({ status: 422 })
  })
})

describe('a server that breaks off', () => {
  /** Speaks just enough SMTP, and calls `last` once the message has begun. */
  const speaking = (last: (socket: Socket) => void) => (socket: Socket) => {
    let inData = false
    socket.write('220 hello\r\n')
    socket.on('data', (chunk) => {
      const text = chunk.toString()
      if (inData) return last(socket)
      if (/^(EHLO|HELO|MAIL|RCPT)/.test(text)) socket.write('250 ok\r\n')
      if (text.startsWith('DATA')) {
        inData = true
        socket.write('354 go on\r\n')
      }
    })
  }

  test('[VN20] before the message received nothing', async () => {
    const client = make()
    const closed = await rawServer((socket) => socket.end('220 hello\r\n'))
    expect(await client.send(post(`smtp://127.0.0.1:${closed}`))).toMatchObject({
      kind: 'failed',
      sent: 'no',
    })
    const silent = await rawServer(() => {})
    const outcome = await client.send(post(`smtp://127.0.0.1:${silent}`, { timeoutMs: 100 }))
    expect(outcome).toMatchObject({ kind: 'failed', sent: 'no', code: 'timeout' })
  })

  test('[VN20] after its first byte may have accepted it', async () => {
    const client = make()
    const reset = await rawServer(speaking((socket) => socket.destroy()))
    expect(await client.send(post(`smtp://127.0.0.1:${reset}`))).toMatchObject({
      kind: 'failed',
      sent: 'maybe',
    })
    const silent = await rawServer(speaking(() => {}))
    const outcome = await client.send(post(`smtp://127.0.0.1:${silent}`, { timeoutMs: 300 }))
    expect(outcome).toMatchObject({ kind: 'failed', sent: 'maybe', code: 'timeout' })
  })
})

describe('where mail may go', () => {
  test('[VN21] only over TLS, except to this machine if the request allows it', async () => {
    const { got, port } = await mailServer(plain)
    const headers = { 'idempotency-key': 'K1' }
    const refused = await make().send(post(`smtp://127.0.0.1:${port}`, { headers }))
    expect(refused).toMatchObject({ kind: 'failed', sent: 'no' })
    expect(got).toEqual([])
    // A certificate that is not trusted.
    const secure = await mailServer({ secure: true })
    expect(await make().send(post(`smtps://127.0.0.1:${secure.port}`))).toMatchObject({
      kind: 'failed',
      sent: 'no',
    })
    expect(secure.got).toEqual([])
  })

  test('[VN21] [OG31] a name that leads to a forbidden address and one that does not exist look the same to callers', async () => {
    const { got, port } = await mailServer()
    const url = `smtp://mail.example.com:${port}`
    const refused: RefusedName[] = []
    const by = (addresses: readonly string[]) =>
      makeMailClient({
        allow: [],
        resolve: async () => addresses.map((address) => ({ address, family: 4 })),
        onRefusedName: (one) => refused.push(one),
      })
    const absent = await by([]).send(post(url))
    expect(absent).toMatchObject({ kind: 'failed', code: 'unresolved', sent: 'no' })
    const inside = await by(['127.0.0.1']).send(post(url))
    expect(inside).toEqual({ ...absent, durationMs: inside.durationMs })
    expect(await by(['127.0.0.1']).vet(url)).toEqual(await by([]).vet(url))
    const told = { host: 'mail.example.com', rule: 'loopback', addresses: ['127.0.0.1'] }
    expect(refused).toEqual([told, told])
    expect(got).toEqual([])
  })

  test('[VN21] not to addresses that the operator forbids, whatever a name resolves to', async () => {
    const { got, port } = await mailServer()
    const closed = makeMailClient({ allow: [], resolve: async () => [{ address: '127.0.0.1', family: 4 }] })
    for (const host of ['127.0.0.1', '0x7f000001', 'localhost']) {
      const url = `smtp://${host}:${port}`
      expect(await closed.send(post(url))).toMatchObject({ kind: 'failed', code: 'blocked', sent: 'no' })
      expect(await closed.vet(url)).toMatchObject({ ok: false })
    }
    expect(got).toEqual([])
    expect(await make().vet(`smtp://127.0.0.1:${port}`)).toEqual({ ok: true })
    expect(await make().send(post('http://127.0.0.1'))).toMatchObject({ code: 'bad_url' })
  })

  test.each([
    ['no JSON', 'x'],
    ['no sender', JSON.stringify({ ...MESSAGE, from: undefined })],
    ['no recipient', JSON.stringify({ ...MESSAGE, to: [], bcc: undefined })],
    ['a file', JSON.stringify({ ...MESSAGE, attachments: [{ path: '/etc/passwd' }] })],
    ['a header that says who sends', JSON.stringify({ ...MESSAGE, headers: { From: 'eve@example.com' } })],
  ])('[VN21] a message with %s is refused before any server is called', async (_name, body) => {
    const { got, port } = await mailServer()
    expect(await make().send(post(`smtp://127.0.0.1:${port}`, { body }))).toMatchObject({ status: 400 })
    expect(got).toEqual([])
  })
})
