import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  judgeAddress,
  judgeAddresses,
  judgeUrl,
  makeOutboundPolicy,
  type OutboundRule,
  parseOutboundEntry,
  readTarget,
} from './index.ts'
import {
  bytesOf,
  FORBIDDEN_IPV4,
  FORBIDDEN_IPV6,
  IPV6_LOOPBACK,
  LOCAL_NAMES,
  PUBLIC_IPV4,
  PUBLIC_IPV6,
  spellIpv4,
  spellThroughIpv6,
} from './spellings.fixture.ts'

const nothing = makeOutboundPolicy([])
const ruleOf = (verdict: ReturnType<typeof judgeUrl>): OutboundRule | 'ok' =>
  verdict.ok ? 'ok' : verdict.rule
const judge = (url: string, ...allow: string[]) => ruleOf(judgeUrl(url, makeOutboundPolicy(allow)))

describe('an address', () => {
  test.each<[string, OutboundRule]>([
    ['', 'url'],
    ['no url', 'url'],
    ['/relative', 'url'],
    ['//example.com/', 'url'],
    ['http://', 'url'],
    ['http://./', 'url'],
    [`http://${'a.'.repeat(130)}example/`, 'url'],
    ['http://exa mple.com/', 'url'],
    [' http://example.com/', 'url'],
    ['http://example.com/\n', 'url'],
    ['http://exam\tple.com/', 'url'],
    ['http://example.com\\@10.0.0.1/', 'url'],
    ['http:\\\\example.com/', 'url'],
    ['http://example.com:99999/', 'url'],
    ['http://[fe80::1%25eth0]/', 'url'],
    ['http://[fe80::1%eth0]/', 'url'],
    ['http://[::1/', 'url'],
    ['http://127.0.0.256/', 'url'],
    ['http://1.2.3.4.5/', 'url'],
    ['http://4294967296/', 'url'],
    ['http://0x1ffffffff/', 'url'],
    ['http://%00.example/', 'url'],
    ['ftp://example.com/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['gopher://example.com/', 'scheme'],
    ['ws://example.com/', 'scheme'],
    ['data:text/plain,a', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['http://user@example.com/', 'credentials'],
    ['http://user:pass@example.com/', 'credentials'],
    ['http://:pass@example.com/', 'credentials'],
    ['http://@example.com/', 'credentials'],
    ['http://example.com@10.0.0.1/', 'credentials'],
    ['http://example.com/#a', 'fragment'],
    ['http://example.com#', 'fragment'],
    ['http://example.com:0/', 'port'],
    ['http://example.com:25/', 'port'],
    ['https://example.com:6379/', 'port'],
  ])('[OG1] %j is refused by its form: %s', (url, rule) => {
    expect(judge(url, '0.0.0.0/0', '::/0')).toBe(rule)
  })

  test.each([
    'http://example.com',
    'https://example.com:8443/a%20b?c=d&e=%23',
    'https://example.com/a@b?c=\\d',
    'https://bücher.example/ü',
    'HTTPS://EXAMPLE.COM/',
    'http://1.2.3.4.nip.io/',
    'http://a_b.example.com:8080/',
  ])('[OG1] %s may be called', (url) => {
    expect(judge(url)).toBe('ok')
  })

  test('[OG1] a message names the rule, and no part of the address that could be a secret', () => {
    for (const url of [
      'http://user:hidden@a.example/',
      'ftp://a.example/hidden',
      'http://a.example:25/hidden',
    ]) {
      const target = readTarget(url)
      expect(target.ok ? '' : target.message).toMatch(/^(?!.*hidden).{10,}/)
    }
  })
})

describe('a non-public address', () => {
  test.each([...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6])('[OG2] %s is refused', (address) => {
    expect(judgeAddress(address, nothing).ok).toBe(false)
    expect(judge(address.includes(':') ? `http://[${address}]/` : `http://${address}/`)).not.toBe('ok')
  })

  test.each([...PUBLIC_IPV4, ...PUBLIC_IPV6])('[OG2] %s is public', (address) => {
    expect(judgeAddress(address, nothing)).toEqual({ ok: true })
  })

  test.each<[string, OutboundRule]>([
    ['127.0.0.1', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['10.1.2.3', 'private'],
    ['fd12::1', 'private'],
    ['fec0::1', 'private'],
    ['100.64.0.1', 'shared'],
    ['169.254.1.1', 'link_local'],
    ['fe80::1', 'link_local'],
    ['169.254.169.254', 'metadata'],
    ['::ffff:a9fe:a9fe', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['192.0.2.1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['198.18.0.1', 'benchmark'],
    ['255.255.255.255', 'reserved'],
    ['5f00::1', 'reserved'],
    ['64:ff9b::a00:1', 'transition'],
    ['64:ff9b::169.254.169.254', 'metadata'],
    ['64:ff9b::a9fe:aa02', 'metadata'],
    ['64:ff9b:1::808:808', 'transition'],
    ['2002:808:808::1', 'transition'],
    ['::8.8.8.8', 'transition'],
    ['::ffff:0:8.8.8.8', 'transition'],
    ['2606:4700::5efe:808:808', 'transition'],
    ['fe80::1%eth0', 'unreadable'],
    ['0x7f000001', 'unreadable'],
    ['127.1', 'unreadable'],
    ['0177.0.0.1', 'unreadable'],
    ['', 'unreadable'],
    ['example.com', 'unreadable'],
  ])('[OG2] %s is classified as %s', (address, rule) => {
    expect(ruleOf(judgeAddress(address, nothing))).toBe(rule)
  })

  test('[OG2] every spelling of loopback is refused, and allowed where loopback is allowed', () => {
    const spellings = [...spellIpv4('127.0.0.1'), ...IPV6_LOOPBACK, ...LOCAL_NAMES]
    for (const host of spellings) {
      expect([host, judge(`http://${host}:8080/`)]).toEqual([host, 'loopback'])
      expect([host, judge(`https://${host}/`, 'loopback')]).toEqual([host, 'ok'])
    }
  })

  // A second network parser, independent of the one under test.
  const blocked = new BlockList()
  for (const [network, bits] of [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['168.63.129.16', 32],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.88.99.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 3],
  ] as const)
    blocked.addSubnet(network, bits, 'ipv4')

  const anyIpv4 = fc.oneof(
    fc.ipV4(),
    // Uniformly random addresses seldom hit small networks.
    fc
      .tuple(fc.constantFrom(...FORBIDDEN_IPV4, ...PUBLIC_IPV4), fc.nat(3), fc.nat(255))
      .map(([address, at, byte]) =>
        bytesOf(address)
          .map((old, index) => (index === at ? byte : old))
          .join('.'),
      ),
  )

  test('[OG2] every spelling of an IPv4 address is judged as that address, public or not', () => {
    fc.assert(
      fc.property(anyIpv4, (address) => {
        const isPublic = !blocked.check(address)
        const isWrong = (host: string) => judgeUrl(`http://${host}/`, nothing).ok !== isPublic
        expect(spellIpv4(address).filter(isWrong)).toEqual([])
      }),
    )
  })

  test('[OG2] no tunnel or translator leads to a forbidden IPv4 address, and only one leads to a public one', () => {
    fc.assert(
      fc.property(anyIpv4, (address) => {
        const isPublic = !blocked.check(address)
        const isNat64 = (host: string) => /^\[0*64:ff9b:(0:)?:/i.test(host)
        const isWrong = (host: string) =>
          judgeUrl(`http://${host}/`, nothing).ok !== (isNat64(host) && isPublic)
        expect(spellThroughIpv6(bytesOf(address)).filter(isWrong)).toEqual([])
      }),
    )
  })

  test('[OG2] of IPv6 only 2000::/3 passes, without its reserved ranges', () => {
    const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(groups, fc.boolean(), (parts, isGlobal) => {
        const first = isGlobal ? 0x2003 + ((parts[0] as number) % 0x1ffc) : (parts[0] as number)
        const address = [first, ...parts.slice(1)].map((part) => part.toString(16)).join(':')
        const isOutside = first >> 13 !== 1
        const isApart =
          first === 0x2002 ||
          (first === 0x2001 && ((parts[1] as number) < 0x200 || parts[1] === 0xdb8)) ||
          (first === 0x3fff && (parts[1] as number) < 0x1000) ||
          (parts[5] === 0x5efe && ((parts[4] as number) & 0xfcff) === 0)
        expect([address, judgeAddress(address, nothing).ok]).toEqual([address, !isOutside && !isApart])
      }),
    )
  })

  test('[OG1] [OG2] judging arbitrary text never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.ipV6()), (text) => {
        for (const url of [text, `http://${text}/`, `http://[${text}]/`]) judgeUrl(url, nothing)
        judgeAddress(text, nothing)
      }),
    )
  })
})

describe('a name', () => {
  test('[OG3] one forbidden address refuses the name, at any position, and is not disclosed', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...PUBLIC_IPV4, ...PUBLIC_IPV6)),
        fc.constantFrom(...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6.filter((address) => address.length > 5)),
        fc.nat(),
        (good, bad, at) => {
          const mixed = good.toSpliced(at % (good.length + 1), 0, bad)
          const verdict = judgeAddresses('a.example', mixed, nothing)
          expect(verdict.ok).toBe(false)
          expect(verdict.ok ? '' : verdict.message).not.toContain(bad)
          expect(judgeAddresses('a.example', good, nothing)).toEqual({ ok: true })
        },
      ),
    )
  })

  test('[OG4] a host that is allowed by name may resolve to private networks, and to nothing else that is not public', () => {
    const policy = makeOutboundPolicy(['crm.internal', '*.Example.Internal'])
    const at = (host: string, address: string) => ruleOf(judgeAddresses(host, [address], policy))
    for (const host of [
      'crm.internal',
      'CRM.internal',
      'crm.internal.',
      'a.example.internal',
      'a.b.example.internal',
    ]) {
      for (const address of ['10.0.0.1', '192.168.1.1', 'fd00::1', '100.64.0.1', '8.8.8.8'])
        expect([host, at(host, address)]).toEqual([host, 'ok'])
      expect(at(host, '169.254.169.254')).toBe('metadata')
      expect(at(host, '100.100.100.200')).toBe('metadata')
      expect(at(host, 'fd00:ec2::254')).toBe('metadata')
      expect(at(host, '169.254.1.1')).toBe('link_local')
      expect(at(host, 'fe80::1')).toBe('link_local')
      expect(at(host, '127.0.0.1')).toBe('loopback')
      expect(at(host, '0.0.0.0')).toBe('unspecified')
      expect(at(host, '224.0.0.1')).toBe('multicast')
      expect(at(host, '64:ff9b::a00:1')).toBe('transition')
    }
    for (const host of [
      'xcrm.internal',
      'a.crm.internal',
      'example.internal',
      'xexample.internal',
      'crm.internal.evil.example',
    ])
      expect([host, at(host, '10.0.0.1')]).toEqual([host, 'private'])
  })
})

describe('the operator’s list', () => {
  test('[OG5] networks allow the addresses inside them in every spelling, and nothing else', () => {
    const list = ['10.0.0.0/8', 'fd00::/8', '192.168.1.7', '::ffff:172.16.0.0/108']
    const policy = makeOutboundPolicy(list)
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '192.168.1.7', '172.31.0.1'])
      expect([address, judgeAddress(address, policy)]).toEqual([address, { ok: true }])
    for (const address of ['192.168.1.8', 'fc00::1', '127.0.0.1', '64:ff9b::a00:1', '2002:a00:1::'])
      expect([address, judgeAddress(address, policy).ok]).toEqual([address, false])
  })

  test('[OG5] a metadata service is allowed only by its exact address', () => {
    const wide = makeOutboundPolicy(['0.0.0.0/0', '::/0'])
    for (const address of ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254', '::ffff:169.254.169.254']) {
      expect(ruleOf(judgeAddress(address, wide))).toBe('metadata')
      const exact = makeOutboundPolicy([address])
      expect(judgeAddress(address, exact)).toEqual({ ok: true })
    }
    expect(ruleOf(judgeAddress('169.254.1.1', makeOutboundPolicy(['169.254.0.0/16'])))).toBe('ok')
  })

  test.each([
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['FD00::/8', ['fd00::/8']],
    ['192.168.1.7', ['192.168.1.7/32']],
    ['::1', ['::1/128']],
    ['loopback', ['127.0.0.0/8', '::1/128']],
    ['localhost', ['127.0.0.0/8', '::1/128']],
    ['vendor', ['vendor']],
    ['CRM.Internal.', ['crm.internal']],
    ['*.example.internal', ['*.example.internal']],
    ['a_b.example', ['a_b.example']],
  ])('[OG6] %s parses', (entry, words) => {
    expect(parseOutboundEntry(entry)).toEqual(words)
    expect(() => makeOutboundPolicy([entry])).not.toThrow()
  })

  test.each([
    '',
    '*',
    '*.',
    '**.example',
    'a.*.example',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0.8',
    '10.0.0',
    '0x7f.1',
    '2130706433',
    'fd00::/129',
    'fe80::1%eth0',
    'http://crm.internal',
    'crm.internal:8080',
    'crm..internal',
    '-a.example',
    'a b',
    `${'a'.repeat(64)}.example`,
  ])('[OG6] %j does not parse', (entry) => {
    expect(parseOutboundEntry(entry)).toBeNull()
    expect(() => makeOutboundPolicy([entry])).toThrow()
  })
})
