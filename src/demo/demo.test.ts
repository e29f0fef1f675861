import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { DEFAULT_TENANT, type TenantId } from '../core/foundation/ids/index.ts'
import { verifySignature } from '../core/ingest/source/index.ts'
import { compileDefinitions } from '../definitions/language.ts'
import { makeDemoApi } from './demo-api.ts'
import { type Demo, findTameNumber } from './index.ts'
import { issueNumber, makeGithubSample, makeStreamSample, SAMPLE_NAMES } from './samples/index.ts'
import { makeDemoStream } from './stream.ts'
import { fateOf, startVendor } from './vendor.ts'

const AT = '2026-03-02T08:00:00.000Z'

describe('samples', () => {
  test('are the same for the same number, and differ between numbers', () => {
    for (const name of SAMPLE_NAMES) {
      const sample = makeGithubSample(name, 7, AT)
      expect(sample).toEqual(makeGithubSample(name, 7, AT))
      expect(sample).not.toEqual(makeGithubSample(name, 8, AT))
      expect(sample?.event).toBe(name.split('.')[0])
    }
    expect(makeGithubSample('nonsense', 7, AT)).toBeNull()
  })

  test('[DM3] forty in a row get every outcome, wherever they start', () => {
    for (let from = 0; from < 400; from += 1) {
      const samples = Array.from({ length: 40 }, (_, index) => makeStreamSample(from + index, AT))
      const of = (name: string) => samples.filter((sample) => sample.name === name)
      const opened = of('issues.opened').map(
        ({ data }) => (data as { issue: { number: number; title: string; labels: object[] } }).issue,
      )
      const tickets = opened.filter(({ title }) => title.length <= 120)
      const comments = of('issue_comment.created').map(
        ({ data }) => (data as { comment: { id: number } }).comment.id,
      )
      const labels = of('issues.labeled').map(({ data }) => (data as { label: { name: string } }).label.name)
      expect(tickets.length).toBeLessThan(opened.length)
      expect(new Set(tickets.map(({ number }) => fateOf(`TICKET:1:${number}`)))).toEqual(
        new Set(['ok', 'busy', 'throttled', 'vanish']),
      )
      expect(comments.map((id) => fateOf(`COMMENT:${id}`))).toContain('vanish')
      expect(opened.some((issue) => issue.labels.length > 0)).toBe(true)
      expect(labels).toContain('urgent')
      expect(labels.some((label) => label !== 'urgent')).toBe(true)
      for (const name of ['push', 'star.created', 'release.published'])
        expect(of(name).length).toBeGreaterThan(0)
    }
  })

  test('a tame one is accepted at once', () => {
    for (let from = 0; from < 100; from += 1) {
      const number = findTameNumber(from)
      expect(number - from).toBeLessThan(5)
      expect(fateOf(`TICKET:4201:${issueNumber(number)}`)).toBe('ok')
    }
  })
})

describe('the vendor', () => {
  const post = async (url: string, key: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    try {
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      return response.status
    } catch {
      return 'lost'
    }
  }

  test('[DM1] [DM2] gives each key its outcome, again after a restart, and stops when asked', async () => {
    let closed = ''
    for (let round = 0; round < 2; round += 1) {
      await using vendor = await startVendor({ delayMsSpan: 1 })
      closed = vendor.url
      expect(new URL(vendor.url).hostname).toBe('127.0.0.1')
      const calls = async (key: string, times: number) => {
        const answers: unknown[] = []
        for (let index = 0; index < times; index += 1) {
          answers.push(await post(`${vendor.url}/tickets`, key, { title: 'short' }))
        }
        return answers
      }
      expect(await calls('TICKET:1:8', 2)).toEqual([201, 201])
      expect(await calls('TICKET:1:7', 3)).toEqual([503, 503, 201])
      expect(await calls('TICKET:1:3', 2)).toEqual([429, 201])
      expect(await calls('TICKET:1:5', 2)).toEqual(['lost', 201])
      expect(await post(`${vendor.url}/tickets`, 'TICKET:1:16', { title: 'x'.repeat(121) })).toBe(422)
      expect(await post(`${vendor.url}/tickets`, 'TICKET:1:16', { title: 'mended' })).toBe(201)
    }
    expect(await post(`${closed}/tickets`, 'TICKET:1:8', { title: 'short' })).toBe('lost')
  })

  test('[DM2] reports whether a comment exists, also if its response got lost', async () => {
    await using vendor = await startVendor({ delayMsSpan: 1 })
    const look = async () => {
      const response = await fetch(`${vendor.url}/comments?ref=COMMENT:5`)
      return ((await response.json()) as { items: object[] }).items.length
    }
    expect(await look()).toBe(0)
    expect(await post(`${vendor.url}/comments`, 'COMMENT:5', {})).toBe('lost')
    expect(await look()).toBe(1)
  })
})

describe('the stream', () => {
  afterEach(() => vi.useRealTimers())

  function makeStream() {
    vi.useFakeTimers({ now: 0 })
    const posted: { url: string; body: string; headers: Record<string, string> }[] = []
    const stream = makeDemoStream({
      url: () => 'http://node',
      secret: () => 'known',
      now: () => Date.now(),
      uuid: () => randomUUID(),
      async post(url, init) {
        posted.push({ url, ...init })
        throw new Error('a lost sample is no loss')
      },
    })
    return { stream, posted }
  }

  test('[DM4] sends the requested number at that speed, signed, each with its own id', async () => {
    const { stream, posted } = makeStream()
    expect(stream.send({ count: 5, perSecond: 10 })).toBe(5)
    expect(stream.state()).toEqual({ isSending: true, sent: 1, total: 5 })
    await vi.advanceTimersByTimeAsync(399)
    expect(stream.state()).toEqual({ isSending: true, sent: 4, total: 5 })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(stream.state()).toEqual({ isSending: false, sent: 5, total: 5 })
    expect(new Set(posted.map(({ headers }) => headers['x-github-delivery'])).size).toBe(5)
    for (const { url, body, headers } of posted) {
      expect(url).toBe('http://node/in/default/github')
      const input = { headers, body: Buffer.from(body), secrets: ['known'], now: 0 }
      expect(verifySignature({ scheme: 'github', secret: [] }, input)).toEqual({ ok: true })
    }
  })

  test('[DM4] accepts more while it runs, up to its limit, and stops when asked', async () => {
    const { stream, posted } = makeStream()
    expect(stream.send({ count: 400, perSecond: 1 })).toBe(400)
    expect(stream.send({ count: 400, perSecond: 1 })).toBe(101)
    stream.stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(stream.state()).toEqual({ isSending: false, sent: 1, total: 1 })
    expect(posted).toHaveLength(1)
    expect(stream.send({ count: 2, perSecond: 100 })).toBe(2)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(posted).toHaveLength(3)
  })
})

describe('the API', () => {
  test('[DM5] refuses without the demo, after it is gone, and for other tenants', async () => {
    const sent: object[] = []
    const demo: Demo = {
      vendorUrl: 'http://vendor',
      state: () => ({ isSending: true, sent: 1, total: 2 }),
      send: (options) => sent.push(options),
      stop: () => {},
      async [Symbol.asyncDispose]() {},
    }
    const options = { count: 3, perSecond: 4 }
    const refusal = { code: 'demo_unavailable' }
    const none = { available: false, isSending: false, sent: 0, total: 0 }
    const other = 'other' as TenantId
    const deployed = makeDemoApi(demo, async () => true)
    expect(await deployed.send(DEFAULT_TENANT, options)).toEqual({ sending: 1 })
    expect(await deployed.state(DEFAULT_TENANT)).toEqual({
      available: true,
      isSending: true,
      sent: 1,
      total: 2,
    })
    await expect(deployed.send(other, options)).rejects.toMatchObject(refusal)
    expect(await deployed.stop(other)).toEqual(none)
    await expect(makeDemoApi(demo, async () => false).send(DEFAULT_TENANT, options)).rejects.toMatchObject(
      refusal,
    )
    await expect(makeDemoApi(null, async () => true).send(DEFAULT_TENANT, options)).rejects.toMatchObject(
      refusal,
    )
    expect(sent).toEqual([options])
  })
})

describe('the demo’s definitions', () => {
  const path = fileURLToPath(new URL('../../examples/demo/github.yaml', import.meta.url))
  const files = [{ path: 'github.yaml', text: readFileSync(path, 'utf8') }]
  const { definitions, documents, findings } = compileDefinitions(files, { functions: () => null })

  test('have no errors, and one intended warning', () => {
    expect(definitions.length).toBeGreaterThan(5)
    expect(findings.map(({ rule, severity }) => [rule, severity])).toEqual([['F32', 'warning']])
  })

  test('[DM7] try a vendor that failed again after three seconds', () => {
    const creating = documents.filter(
      (document) => document.kind === 'Route' && document.do.type === 'http' && document.do.method === 'POST',
    )
    expect(creating.map(({ name }) => name)).toEqual(['issue_to_ticket', 'comment_to_ticket'])
    for (const document of creating) expect(document).toMatchObject({ circuit: { openMs: 3_000 } })
  })
})
