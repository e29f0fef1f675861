// What every HTTP client must do (docs/spec/ports.md). The harness has its own network, real or simulated, whose servers behave
// as configured and count what reaches them.

import { afterEach, describe, expect, test } from 'vitest'
import type { HttpClient, HttpOutcome, HttpRequest } from './http-client.ts'

export type ServerBehaviour =
  | {
      readonly do: 'answer'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  /** No server listens. */
  | { readonly do: 'refuse' }
  /** The name does not exist. */
  | { readonly do: 'unresolvable' }
  /** Accepts the request and closes the connection. */
  | { readonly do: 'close-before-head' }
  /** Announces a longer body than it sends, then closes. */
  | { readonly do: 'close-in-body' }
  | { readonly do: 'never-answer' }
  /** Sends the head, then a byte now and then, for ever. */
  | { readonly do: 'drip' }
  /** Responds with something that is not HTTP. */
  | { readonly do: 'garbage' }
  /** Responds to the first request of a connection and drops the connection at the second. */
  | { readonly do: 'answer-then-close' }

export interface HttpHarness extends AsyncDisposable {
  /** May call the harness's own servers, and otherwise public addresses only. */
  readonly client: HttpClient
  /** A server; `received` counts requests that reached it, whole or in part. */
  serve(behaviour: ServerBehaviour): Promise<{ readonly url: string; received(): number }>
}

export function httpClientConformance(name: string, makeHarness: () => Promise<HttpHarness>): void {
  describe(`http client: ${name}`, () => {
    const open: HttpHarness[] = []
    const make = async () => {
      const harness = await makeHarness()
      open.push(harness)
      return harness
    }
    afterEach(async () => {
      for (const harness of open.splice(0)) await harness[Symbol.asyncDispose]()
    })

    test('[P23] every status is a response, with lower-case headers and the body as text', async () => {
      const { client, serve } = await make()
      for (const status of [200, 201, 204, 400, 404, 409, 429, 500, 503]) {
        const body = status === 204 ? '' : `{"status":${status},"ü":"💧"}`
        const { url } = await serve({ do: 'answer', status, headers: { 'X-Answer': 'yes' }, body })
        const outcome = await client.send(post(url))
        expect(outcome).toMatchObject({ kind: 'response', status, body })
        expect(outcome.kind === 'response' && outcome.headers['x-answer']).toBe('yes')
      }
    })

    test('[P24] a redirect is a response, and is not followed', async () => {
      const { client, serve } = await make()
      const target = await serve({ do: 'answer', status: 200 })
      const { url, received } = await serve({ do: 'answer', status: 307, headers: { location: target.url } })
      expect(await client.send(post(url))).toMatchObject({ kind: 'response', status: 307 })
      expect(received()).toBe(1)
      expect(target.received()).toBe(0)
    })

    test('[P25] a server that could not be reached got nothing: sent is no', async () => {
      const { client, serve } = await make()
      const refused = await serve({ do: 'refuse' })
      expect(await client.send(post(refused.url))).toMatchObject({
        kind: 'failed',
        code: 'refused',
        sent: 'no',
      })
      const unresolved = await serve({ do: 'unresolvable' })
      expect(await client.send(post(unresolved.url))).toMatchObject({
        kind: 'failed',
        code: 'unresolved',
        sent: 'no',
      })
    })

    test('[P26] a connection lost after sending leaves the outcome unknown: sent is maybe', async () => {
      const { client, serve } = await make()
      for (const behaviour of [{ do: 'close-before-head' }, { do: 'close-in-body' }] as const) {
        const { url, received } = await serve(behaviour)
        expect(await client.send(post(url))).toMatchObject({ kind: 'failed', code: 'reset', sent: 'maybe' })
        expect(received()).toBe(1)
      }
    })

    test('[P27] the timeout covers the whole exchange, also a response that never ends', async () => {
      const { client, serve } = await make()
      for (const behaviour of [{ do: 'never-answer' }, { do: 'drip' }] as const) {
        const { url } = await serve(behaviour)
        const outcome = await client.send(post(url, { timeoutMs: 150 }))
        expect(outcome).toMatchObject({ kind: 'failed', code: 'timeout', sent: 'maybe' })
        expect(outcome.durationMs).toBeGreaterThanOrEqual(149)
      }
    })

    test('[P28] a response may have as many bytes as allowed, and not one more', async () => {
      const { client, serve } = await make()
      const { url } = await serve({ do: 'answer', status: 200, body: 'ü'.repeat(500) })
      expect(await client.send(post(url, { maxResponseBytes: 1_000 }))).toMatchObject({ kind: 'response' })
      expect(await client.send(post(url, { maxResponseBytes: 999 }))).toMatchObject({
        kind: 'failed',
        code: 'too_large',
        sent: 'maybe',
      })
    })

    test('[P29] a response that is not HTTP is a failure after sending', async () => {
      const { client, serve } = await make()
      const { url } = await serve({ do: 'garbage' })
      expect(await client.send(post(url))).toMatchObject({ kind: 'failed', code: 'protocol', sent: 'maybe' })
    })

    test('[P30] one call sends at most one request, whatever its method and whatever happened to the connection', async () => {
      const { client, serve } = await make()
      for (const method of ['POST', 'GET', 'PUT', 'DELETE', 'HEAD']) {
        const { url, received } = await serve({ do: 'answer-then-close' })
        const outcomes: HttpOutcome[] = []
        for (let call = 0; call < 6; call += 1) outcomes.push(await client.send({ ...post(url), method }))
        const lost = outcomes.filter((outcome) => outcome.kind === 'failed')
        for (const outcome of lost) expect(outcome).toMatchObject({ code: 'reset', sent: 'maybe' })
        expect(received()).toBe(6)
      }
    })

    test('[P31] addresses that are not public are blocked before anything is sent', async () => {
      const { client } = await make()
      for (const host of [
        '10.0.0.1',
        '192.168.1.1',
        '169.254.169.254',
        '100.64.0.1',
        '0.0.0.0',
        '[fd00::1]',
      ]) {
        expect(await client.send(post(`http://${host}:8080/`))).toMatchObject({
          kind: 'failed',
          code: 'blocked',
          sent: 'no',
          message: expect.stringContaining('MILLRACE_OUTBOUND_ALLOW'),
        })
      }
    })

    test('[OG10] vetting decides about an address as sending would, and sends nothing', async () => {
      const { client, serve } = await make()
      const { url, received } = await serve({ do: 'answer', status: 200 })
      expect(await client.vet(url)).toEqual({ ok: true })
      expect(await client.vet('http://169.254.169.254/')).toMatchObject({ ok: false, rule: 'metadata' })
      expect(await client.vet('http://0xa.1/')).toMatchObject({ ok: false, rule: 'private' })
      expect(await client.vet('no url')).toMatchObject({ ok: false, rule: 'url' })
      expect(await client.vet(`${url}#part`)).toMatchObject({ ok: false, rule: 'fragment' })
      const unknown = await serve({ do: 'unresolvable' })
      expect(await client.vet(unknown.url)).toMatchObject({ ok: true, warning: expect.any(String) })
      expect(received()).toBe(0)
    })

    test('[OG12] if only the status counts, a response that is too large, too late or broken is cut', async () => {
      const { client, serve } = await make()
      const cut = { cut: true, maxResponseBytes: 3, timeoutMs: 150 } as const
      const large = await serve({ do: 'answer', status: 500, body: 'too long' })
      expect(await client.send(post(large.url, cut))).toMatchObject({ status: 500, body: 'too', isCut: true })
      const exact = await serve({ do: 'answer', status: 202, body: 'yes' })
      const whole = await client.send(post(exact.url, cut))
      expect(whole).toMatchObject({ status: 202, body: 'yes' })
      expect(whole).not.toHaveProperty('isCut')
      for (const behaviour of [{ do: 'drip' }, { do: 'close-in-body' }] as const) {
        const { url } = await serve(behaviour)
        const roomy = { ...cut, maxResponseBytes: 1_000 }
        expect(await client.send(post(url, roomy))).toMatchObject({ status: 200, isCut: true })
      }
      const silent = await serve({ do: 'never-answer' })
      expect(await client.send(post(silent.url, cut))).toMatchObject({ kind: 'failed', code: 'timeout' })
    })

    test('[P32] a request that cannot be made is a failure, never an exception', async () => {
      const { client, serve } = await make()
      const { url, received } = await serve({ do: 'answer', status: 200 })
      const withUser = url.replace('://', '://user:pass@')
      for (const bad of ['', 'no url', '/relative', 'ftp://example.com/', 'file:///etc/passwd', withUser]) {
        expect(await client.send(post(bad))).toMatchObject({ kind: 'failed', code: 'bad_url', sent: 'no' })
      }
      for (const headers of [
        { host: 'other' },
        { 'content-length': '1' },
        { 'x-a': 'a\r\nx-b: b' },
        { 'x a': 'b' },
      ]) {
        expect(await client.send(post(url, { headers }))).toMatchObject({
          kind: 'failed',
          code: 'bad_url',
          sent: 'no',
        })
      }
      expect(received()).toBe(0)
    })

    test('[P33] messages name neither secrets of the request nor addresses of machines', async () => {
      const { client, serve } = await make()
      const behaviours = ['refuse', 'unresolvable', 'close-before-head', 'garbage', 'never-answer'] as const
      for (const behaviour of behaviours) {
        const { url } = await serve({ do: behaviour })
        const secret = post(`${url}hidden?token=hidden`, {
          headers: { authorization: 'hidden' },
          timeoutMs: 150,
        })
        const outcome = await client.send(secret)
        expect(outcome.kind).toBe('failed')
        if (outcome.kind !== 'failed') continue
        expect(outcome.message).not.toContain('hidden')
        expect(outcome.message).not.toMatch(/E[A-Z]{6,}/)
      }
    })
  })
}

function post(url: string, over: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    body: '{}',
    timeoutMs: 10_000,
    maxResponseBytes: 1_000_000,
    ...over,
  }
}
