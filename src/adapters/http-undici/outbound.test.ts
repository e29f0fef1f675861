// The guard on real sockets: what is dialled, and what is not. Nothing here calls another machine.

import { createServer as createNetServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { RefusedName } from '../../core/access/network/index.ts'
import {
  bytesOf,
  FORBIDDEN_IPV4,
  FORBIDDEN_IPV6,
  IPV6_LOOPBACK,
  LOCAL_NAMES,
  spellIpv4,
  spellMapped,
  spellThroughIpv6,
} from '../../core/access/network/spellings.fixture.ts'
import { answer, get, listen, listenRaw, makeClient, watchDials } from './servers.fixture.ts'

const four = (address: string) => ({ address, family: 4 })
const six = (address: string) => ({ address, family: 6 })
const addressOf = (text: string) => (text.includes(':') ? six(text) : four(text))

/** One port on 127.0.0.1 and on ::1, recording every connection. */
async function listenOnBoth(): Promise<{ readonly port: number; readonly reached: string[] }> {
  const reached: string[] = []
  const on = (host: string) =>
    createNetServer((socket: Socket) => {
      reached.push(host)
      socket.end(answer(200, {}, 'leaked'))
    })
  const port = await listen(on('127.0.0.1'))
  await listen(on('::1'), '::1', port)
  return { port, reached }
}

/** Spellings around the host that mislead a careless parser. */
const MISLEADING: readonly string[] = [
  'http:127.0.0.1:PORT/',
  'http:/127.0.0.1:PORT/',
  'http:///127.0.0.1:PORT/',
  'http:////127.0.0.1:PORT/',
  'HTTP://127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  'http://public.example\\@127.0.0.1:PORT/',
  'http://public.example@127.0.0.1:PORT/',
  'http://public.example:80@127.0.0.1:PORT/',
  'http://@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT\\@public.example/',
  'http://127.0.0.1:PORT#@public.example/',
  'http://127.0.0.1:PORT/#',
  'http://127.0.0.1:PORT?@public.example/',
  'http://127.0.0\t.1:PORT/',
  'http://127.0.\n0.1:PORT/',
  ' http://127.0.0.1:PORT/',
  'http://127.0.0.1:PORT/ ',
  'http://127.0.0.1:0PORT/',
  'http://[::1%25lo]:PORT/',
  'http://[::1%lo]:PORT/',
  'http://[::1]:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127。0。0。1:PORT/',
  'http://0177.0.0.01:PORT/',
  'http://127.0.0.1..:PORT/',
  'http://.127.0.0.1:PORT/',
  'ftp://127.0.0.1:PORT/',
  'ws://127.0.0.1:PORT/',
  'file://127.0.0.1/etc/passwd',
  'https://127.0.0.1:PORT/',
  'https://[::ffff:7f00:1]:PORT/',
]

describe('forbidden targets', () => {
  const hosts = new Set([
    ...['127.0.0.1', '127.255.255.254', '0.0.0.0'].flatMap(spellIpv4),
    ...spellThroughIpv6(bytesOf('127.0.0.1')),
    ...spellThroughIpv6(bytesOf('169.254.169.254')),
    ...IPV6_LOOPBACK,
    ...LOCAL_NAMES,
    ...FORBIDDEN_IPV4,
    ...FORBIDDEN_IPV6.map((address) => `[${address}]`),
    ...['169.254.169.254', '10.0.0.1'].flatMap((address) => [
      ...spellIpv4(address),
      ...spellMapped(bytesOf(address)),
    ]),
  ])
  const urls = [...[...hosts].map((host) => `http://${host}:PORT/`), ...MISLEADING]

  test(`[OG2] [OG9] none of ${urls.length} spellings is dialled`, async () => {
    expect(urls.length).toBeGreaterThanOrEqual(200)
    const { port, reached } = await listenOnBoth()
    const dialled = watchDials()
    const client = makeClient({ allow: [] })
    for (const text of urls) {
      const url = text.replaceAll('PORT', String(port))
      const outcome = await client.send(get(url))
      // Names with an extra dot do not resolve, and what is not http is not a request.
      expect([url, outcome]).toMatchObject([
        url,
        { kind: 'failed', sent: 'no', code: expect.stringMatching(/^(blocked|bad_url|unresolved)$/) },
      ])
      const vetted = await client.vet(url)
      expect([url, vetted.ok]).toEqual([url, outcome.kind === 'failed' && outcome.code === 'unresolved'])
    }
    expect(dialled).toEqual([])
    expect(reached).toEqual([])
  })

  test('[OG2] the same servers are dialled if this machine is allowed: the check above can fail', async () => {
    const { port, reached } = await listenOnBoth()
    const dialled = watchDials()
    const client = makeClient()
    for (const host of ['127.0.0.1', '[::1]', '0x7f.1', '[::ffff:7f00:1]'])
      expect(await client.send(get(`http://${host}:${port}/`))).toMatchObject({ body: 'leaked' })
    expect(dialled).toEqual(['127.0.0.1', '::1', '127.0.0.1', '::ffff:7f00:1'])
    expect(reached).toHaveLength(4)
  })

  test('[OG3] [OG31] nor is an address behind a name, alone or among others, and callers see the same as for an unknown name', async () => {
    const { port, reached } = await listenOnBoth()
    const dialled = watchDials()
    const absent = makeClient({ allow: [], resolve: async () => [] })
    const expected = await absent.send(get(`http://a.example:${port}/`))
    const expectedVet = await absent.vet(`http://a.example:${port}/`)
    expect(expected).toMatchObject({ kind: 'failed', code: 'unresolved', sent: 'no' })
    for (const bad of [
      ...FORBIDDEN_IPV4,
      ...FORBIDDEN_IPV6,
      '::ffff:127.0.0.1',
      '::127.0.0.1',
      'fe80::1%lo',
    ]) {
      for (const leadsTo of [[bad], ['93.184.215.14', bad], [bad, '2606:4700::1']]) {
        const refused: RefusedName[] = []
        const client = makeClient({
          allow: [],
          resolve: async () => leadsTo.map(addressOf),
          onRefusedName: (one) => refused.push(one),
        })
        const outcome = await client.send(get(`http://a.example:${port}/`))
        expect(outcome).toEqual({ ...expected, durationMs: outcome.durationMs })
        expect(await client.vet(`http://a.example:${port}/`)).toEqual(expectedVet)
        const told = { host: 'a.example', rule: expect.any(String), addresses: leadsTo }
        expect(refused).toEqual([told, told])
        await client[Symbol.asyncDispose]()
      }
    }
    expect(dialled).toEqual([])
    expect(reached).toEqual([])
  })
})

describe('a name that changes its answer', () => {
  test('[OG7] never reaches an address that was not judged, though it is resolved again for each connection', async () => {
    const { port, reached } = await listenOnBoth()
    const dialled = watchDials()
    let asked = 0
    // 127.0.0.1 stands for the public address here, ::1 for one behind the firewall.
    const client = makeClient({
      allow: ['127.0.0.1'],
      resolve: async () => {
        asked += 1
        return asked % 2 === 1 ? [four('127.0.0.1')] : [six('::1')]
      },
    })
    const codes: string[] = []
    for (let call = 0; call < 6; call += 1) {
      const outcome = await client.send(get(`http://rebinding.example:${port}/`))
      codes.push(outcome.kind === 'failed' ? outcome.code : outcome.kind)
    }
    expect(codes).toEqual(['response', 'unresolved', 'response', 'unresolved', 'response', 'unresolved'])
    expect(asked).toBe(6)
    expect(dialled).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1'])
    expect(reached).not.toContain('::1')
  })

  test('[OG7] a kept-alive connection belongs to the address that was judged', async () => {
    const { port, received } = await listenRaw((socket) => socket.write(answer(200, {}, 'ok')))
    const dialled = watchDials()
    const answers = [[four('127.0.0.1')], [four('169.254.169.254')]]
    let asked = 0
    const client = makeClient({ connectionsPerOrigin: 1, resolve: async () => answers[asked++] ?? [] })
    for (let call = 0; call < 3; call += 1)
      expect(await client.send(get(`http://kept.example:${port}/`))).toMatchObject({ body: 'ok' })
    expect([asked, received(), dialled]).toEqual([1, 3, ['127.0.0.1']])
  })

  test('[OG7] every address of the answer may be dialled, and no other', async () => {
    const { port, reached } = await listenOnBoth()
    const dialled = watchDials()
    const client = makeClient({ resolve: async () => [six('::1'), four('127.0.0.1')] })
    expect(await client.send(get(`http://both.example:${port}/`))).toMatchObject({ body: 'leaked' })
    expect(['::1', '127.0.0.1']).toEqual(expect.arrayContaining([...dialled]))
    expect(reached.length).toBeGreaterThan(0)
  })

  test('[OG8] whatever is dialled, `host` is the name in the URL', async () => {
    const heads: string[] = []
    const { port } = await listenRaw((socket, _number, text) => {
      heads.push(text)
      socket.write(answer(200, {}, 'ok'))
    })
    const client = makeClient({ resolve: async () => [four('127.0.0.1')] })
    await client.send(get(`http://Shop.Example:${port}/a`))
    expect(heads[0]).toContain(`\r\nhost: shop.example:${port}\r\n`)
  })
})

describe('the operator’s list', () => {
  test('[OG4] [OG5] networks allow literals and names, hosts only names, and neither a metadata service', async () => {
    const dialled = watchDials()
    const resolve = async (name: string) => [four(name.startsWith('cloud') ? '169.254.169.254' : '10.0.0.1')]
    const refused: RefusedName[] = []
    const by = async (allow: readonly string[], url: string) =>
      makeClient({ allow, resolve, onRefusedName: (one) => refused.push(one) }).vet(url)
    expect(await by(['10.0.0.0/8'], 'http://10.0.0.1/')).toEqual({ ok: true })
    expect(await by(['10.0.0.0/8'], 'http://crm.internal/')).toEqual({ ok: true })
    expect(await by(['*.internal'], 'http://crm.internal/')).toEqual({ ok: true })
    expect(await by(['crm.internal'], 'http://CRM.internal./')).toEqual({ ok: true })
    expect(await by(['crm.internal'], 'http://10.0.0.1/')).toMatchObject({ ok: false, rule: 'private' })
    expect(refused).toEqual([])
    await by(['crm.internal'], 'http://erp.internal/')
    await by(['*.internal', '0.0.0.0/0'], 'http://cloud.internal/')
    expect(refused).toMatchObject([
      { host: 'erp.internal', rule: 'private' },
      { host: 'cloud.internal', rule: 'metadata' },
    ])
    expect(dialled).toEqual([])
  })

  test('[OG4] a host that is not listed is not dialled', async () => {
    const dialled = watchDials()
    const resolve = async () => [four('10.255.255.254')]
    const blocked = makeClient({ allow: ['other.internal'], resolve })
    expect(await blocked.send(get('http://crm.internal:8080/', { timeoutMs: 50 }))).toMatchObject({
      code: 'unresolved',
      message: expect.stringContaining('MILLRACE_OUTBOUND_ALLOW'),
    })
    expect(dialled).toEqual([])
  })
})

describe('vetting', () => {
  test('[OG10] says what sending would say, and calls no server', async () => {
    const dialled = watchDials()
    const asked: string[] = []
    const client = makeClient({
      allow: [],
      resolve: async (name) => {
        asked.push(name)
        if (name === 'public.example') return [four('93.184.215.14'), six('2606:4700::1')]
        if (name === 'mixed.example') return [four('93.184.215.14'), four('10.0.0.1')]
        if (name === 'empty.example') return []
        throw new Error('ENOTFOUND')
      },
    })
    expect(await client.vet('https://public.example/hooks')).toEqual({ ok: true })
    expect(await client.vet('https://8.8.8.8/hooks')).toEqual({ ok: true })
    for (const name of ['mixed.example', 'empty.example', 'nobody.example'])
      expect(await client.vet(`https://${name}/hooks`)).toEqual({
        ok: true,
        warning: `${name} cannot be reached from here: the name does not resolve, or it leads to an address that is not allowed; check the name, or ask the operator to allow the host (MILLRACE_OUTBOUND_ALLOW); each call looks again`,
      })
    expect(await client.vet('https://0x7f.1/')).toMatchObject({ ok: false, rule: 'loopback' })
    expect(await client.vet('https://localhost/')).toMatchObject({ ok: false, rule: 'loopback' })
    expect(await client.vet('ftp://public.example/')).toMatchObject({ ok: false, rule: 'scheme' })
    expect(asked).toEqual(['public.example', 'mixed.example', 'empty.example', 'nobody.example'])
    expect(dialled).toEqual([])
  })

  test('[OG10] a resolver that never answers is a warning, in time', async () => {
    const client = makeClient({ resolve: () => new Promise(() => {}), vetMs: 20 })
    expect(await client.vet('https://slow.example/')).toMatchObject({ ok: true, warning: expect.any(String) })
  })
})

test('[OG14] a resolver that never answers holds no caller longer than the limit', async () => {
  const client = makeClient({ resolve: () => new Promise(() => {}) })
  expect(await client.send(get('http://slow.example/', { timeoutMs: 60 }))).toMatchObject({
    code: 'timeout',
    sent: 'no',
  })
})
