import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Bucket,
  type BucketPolicy,
  clientAddress,
  compileAllowlist,
  compileNetworks,
  normalAddress,
  parseAllowed,
  publicUrl,
  takeToken,
  VENDOR_NETWORKS,
} from './index.ts'

const four = fc.tuple(...[0, 1, 2, 3].map(() => fc.nat(255))).map((parts) => parts.join('.'))

describe('an allowlist', () => {
  test.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['203.0.113.77/24', '203.0.113.1', true],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['2001:db8::/32', '2001:db8:1::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['2001:db8::1', '2001:DB8:0::1', true],
    ['::/0', '8.8.8.8', false],
    ['github', '140.82.115.3', true],
    ['github', '2a0a:a445::9', true],
    ['github', '8.8.8.8', false],
    ['stripe', '54.187.216.72', true],
  ])('[GU1] %s and %s: %s', (entry, address, isIn) => {
    expect(compileAllowlist(['192.0.2.0/24', entry])(address)).toBe(isIn)
  })

  test('[GU2] an IPv4-mapped IPv6 address is the IPv4 address, on both sides', () => {
    fc.assert(
      fc.property(four, fc.integer({ min: 0, max: 32 }), four, (base, bits, address) => {
        const plain = compileNetworks([`${base}/${bits}`])
        const mapped = compileNetworks([`::ffff:${base}/${bits + 96}`])
        expect(plain(`::ffff:${address}`)).toBe(plain(address))
        expect(mapped(address)).toBe(plain(address))
      }),
    )
  })

  test.each([
    '',
    'anywhere',
    'GitHub',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0/8',
    '010.0.0.1',
    '0x0a.0.0.1',
    '1.2.3.4:80',
    'fe80::1%eth0',
    '2001:db8::/129',
    '__proto__',
    'toString',
  ])('[GU3] %j is neither a network nor an address nor a vendor', (entry) => {
    expect(parseAllowed(entry)).toBeNull()
    expect(compileAllowlist([entry])('10.0.0.1')).toBe(false)
  })

  test('[GU1] every vendor’s list has a date and a source, and parses', () => {
    expect(Object.keys(VENDOR_NETWORKS)).toContain('github')
    for (const [name, { asOf, published, networks }] of Object.entries(VENDOR_NETWORKS)) {
      expect(asOf, name).toMatch(/^20\d\d-\d\d-\d\d$/)
      expect(published, name).toMatch(/^https:/)
      for (const network of networks) expect(parseAllowed(network), network).toEqual([network])
    }
  })

  test('no text makes it throw', () => {
    const allows = compileAllowlist(['10.0.0.0/8', 'github'])
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (text) => {
        expect([true, false]).toContain(allows(text))
        const normal = normalAddress(text)
        if (normal !== null) expect(normalAddress(normal)).toBe(normal)
      }),
    )
  })
})

describe('behind proxies', () => {
  const trusted = compileNetworks(['10.0.0.0/8', '127.0.0.1'])

  test.each([
    ['no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['one hop', '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['two proxies', '10.0.0.1', '203.0.113.7, 10.2.3.4', '203.0.113.7'],
    ['what the sender wrote itself', '10.0.0.1', '140.82.115.3, 203.0.113.7', '203.0.113.7'],
    ['an untrusted peer', '203.0.113.7', '140.82.115.3', '203.0.113.7'],
    ['a peer in the clothes of IPv6', '::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['an untrusted peer in them', '::ffff:203.0.113.7', '140.82.115.3', '203.0.113.7'],
    ['all trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['a hop with a port', '10.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
    ['IPv6 with a port', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['a hop that nobody can read', '10.0.0.1', '140.82.115.3, unknown', '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['a list of headers', '10.0.0.1', ['140.82.115.3', '203.0.113.7, 10.0.0.2'], '203.0.113.7'],
  ])('[GU4] [GU5] the sender’s address: %s', (_name, peer, header, address) => {
    expect(clientAddress(peer, header, trusted)).toBe(address)
  })

  test('[GU5] without a trusted peer no header changes anything', () => {
    const outside = four.filter((address) => !trusted(address))
    fc.assert(
      fc.property(outside, fc.string(), (peer, header) => {
        expect(clientAddress(peer, header, trusted)).toBe(peer)
        const headers = { host: 'mill.example', 'x-forwarded-host': header, 'x-forwarded-proto': 'https' }
        const url = publicUrl({ peer, headers, isEncrypted: false, target: '/in/a/b' }, trusted, null)
        expect(url).toBe('http://mill.example/in/a/b')
      }),
    )
  })

  test('[GU4] a sender cannot choose its address, whatever it writes in front of the proxy’s entry', () => {
    fc.assert(
      fc.property(fc.string(), (written) => {
        expect(clientAddress('10.0.0.1', `${written}, 203.0.113.7`, trusted)).toBe('203.0.113.7')
      }),
    )
  })

  test.each([
    [{}, false, 'http://mill.example:4400/in/a/b?x=1'],
    [{}, true, 'https://mill.example:4400/in/a/b?x=1'],
    [
      { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'hooks.example' },
      false,
      'https://hooks.example/in/a/b?x=1',
    ],
    [{ 'x-forwarded-proto': 'evil, HTTPS' }, false, 'https://mill.example:4400/in/a/b?x=1'],
    [{ 'x-forwarded-proto': 'javascript' }, false, 'http://mill.example:4400/in/a/b?x=1'],
    [{ 'x-forwarded-host': 'a/b' }, false, 'http://mill.example:4400/in/a/b?x=1'],
    [{ 'x-forwarded-host': '[2001:db8::1]:8443' }, false, 'http://[2001:db8::1]:8443/in/a/b?x=1'],
    [{ host: 'a b' }, false, 'http://localhost/in/a/b?x=1'],
  ])('[GU6] the address that was called: %j', (more, isEncrypted, url) => {
    const headers = { host: 'mill.example:4400', ...more }
    const input = { peer: '10.0.0.1', headers, isEncrypted, target: '/in/a/b?x=1' }
    expect(publicUrl(input, trusted, null)).toBe(url)
    expect(publicUrl(input, trusted, 'https://public.example')).toBe('https://public.example/in/a/b?x=1')
  })
})

describe('a bucket', () => {
  const policy = { capacity: 2, refillMs: 1_000 }
  const take = (bucket: Bucket | undefined, at: number) => {
    const step = takeToken(bucket, at, policy)
    if (!step.taken) throw new Error('nothing was left')
    return step.bucket
  }

  test('[AC9] [GU7] allows its burst, then one per step, and says how long to wait', () => {
    const empty = take(take(undefined, 0), 0)
    expect(takeToken(empty, 0, policy)).toEqual({ taken: false, waitMs: 1_000 })
    expect(takeToken(empty, 750, policy)).toEqual({ taken: false, waitMs: 250 })
    const again = take(empty, 1_000)
    expect(takeToken(again, 1_000, policy).taken).toBe(false)
  })

  test('[AC9] [GU7] never exceeds its capacity, and tolerates a clock that goes back', () => {
    const rested = take(take(undefined, 0), 1_000_000)
    expect(rested.tokens).toBe(1)
    const back = take(rested, 0)
    expect(takeToken(back, 0, policy)).toEqual({ taken: false, waitMs: 1_001_000 })
    expect(takeToken(back, 1_000_000, policy).taken).toBe(false)
  })

  test('[GU7] never allows more than its burst and the elapsed time, and the wait it announces suffices', () => {
    const policies = fc.record({
      perMinute: fc.integer({ min: 1, max: 100_000 }),
      burst: fc.integer({ min: 1, max: 200 }),
    })
    fc.assert(
      fc.property(policies, fc.array(fc.nat(2_000), { maxLength: 200 }), ({ perMinute, burst }, steps) => {
        const rule: BucketPolicy = { capacity: burst, refillMs: 60_000 / perMinute }
        let bucket: Bucket | undefined
        let at = 0
        let given = 0
        for (const step of steps) {
          at += step
          const result = takeToken(bucket, at, rule)
          if (result.taken) {
            bucket = result.bucket
            given += 1
          } else {
            expect(result.waitMs).toBeGreaterThan(0)
            expect(takeToken(bucket, at + result.waitMs, rule).taken).toBe(true)
          }
          expect(given).toBeLessThanOrEqual(burst + at / rule.refillMs + 1e-3)
        }
      }),
    )
  })
})
