// The many spellings of one address in a URL, for tests of the outbound policy.

type Bytes = readonly [number, number, number, number]

const FULL_WIDTH = '０１２３４５６７８９'
const MATHEMATICAL = ['𝟎', '𝟏', '𝟐', '𝟑', '𝟒', '𝟓', '𝟔', '𝟕', '𝟖', '𝟗']
const CIRCLED = '⓪①②③④⑤⑥⑦⑧⑨'

export function bytesOf(address: string): Bytes {
  return address.split('.').map(Number) as unknown as Bytes
}

/** Spellings of hosts in a URL that all mean the IPv4 address. */
export function spellIpv4(address: string): readonly string[] {
  const bytes = bytesOf(address)
  const [a, b, c, d] = bytes
  const whole = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
  const hex = (value: number) => `0x${value.toString(16)}`
  const octal = (value: number) => `0${value.toString(8)}`
  const digits = (letters: readonly string[]) =>
    address.replace(/\d/g, (digit) => letters[Number(digit)] ?? digit)
  return [
    address,
    `${address}.`,
    String(whole),
    `${whole}.`,
    hex(whole),
    `0X${whole.toString(16).toUpperCase()}`,
    `0x0000${whole.toString(16).padStart(8, '0')}`,
    octal(whole),
    `000${whole.toString(8)}`,
    bytes.map(hex).join('.'),
    bytes.map(octal).join('.'),
    bytes.map((byte) => `00${byte.toString(8)}`).join('.'),
    `${hex(a)}.${b}.${octal(c)}.${d}`,
    `${a}.${((b << 16) | (c << 8) | d) >>> 0}`,
    `${hex(a)}.${hex(((b << 16) | (c << 8) | d) >>> 0)}`,
    `${a}.${b}.${(c << 8) | d}`,
    `${octal(a)}.${b}.${hex((c << 8) | d)}`,
    digits([...FULL_WIDTH]),
    digits(MATHEMATICAL),
    digits([...CIRCLED]),
    address.replaceAll('.', '。'),
    address.replaceAll('.', '．'),
    address.replaceAll('.', '｡'),
    [...address].map(percent).join(''),
    address.replaceAll('.', '%2e'),
    [...digits([...FULL_WIDTH])].map((letter) => encodeURIComponent(letter)).join(''),
    ...spellMapped(bytes),
  ]
}

/** IPv6 spellings of IPv4 addresses, which operating systems connect to as IPv4. */
export function spellMapped(bytes: Bytes): readonly string[] {
  const [high, low] = halves(bytes)
  const dotted = bytes.join('.')
  return [
    `[::ffff:${dotted}]`,
    `[::FFFF:${dotted}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[0000:0000:0000:0000:0000:ffff:${high.padStart(4, '0')}:${low.padStart(4, '0')}]`,
    `[0::0:ffff:${dotted}]`,
  ]
}

/** IPv6 addresses that lead to the IPv4 address by a translator or a tunnel. */
export function spellThroughIpv6(bytes: Bytes): readonly string[] {
  const [high, low] = halves(bytes)
  const dotted = bytes.join('.')
  const inverted = bytes.map((byte) => byte ^ 0xff) as unknown as Bytes
  const [notHigh, notLow] = halves(inverted)
  return [
    `[::${dotted}]`,
    `[::${high}:${low}]`,
    `[::ffff:0:${dotted}]`,
    `[::ffff:0:${high}:${low}]`,
    `[64:ff9b::${dotted}]`,
    `[64:ff9b::${high}:${low}]`,
    `[0064:FF9B:0::${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[64:ff9b:1:ffff::${dotted}]`,
    `[2002:${high}:${low}::]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:4136:e378:8000:63bf:${notHigh}:${notLow}]`,
    `[2001::${high}:${low}]`,
    `[fe80::5efe:${dotted}]`,
    `[fe80::200:5efe:${dotted}]`,
    `[2606:4700::5efe:${dotted}]`,
    `[2606:4700::200:5efe:${high}:${low}]`,
    `[2a00:1450:4001:81b:0:5efe:${high}:${low}]`,
    `[::5efe:${high}:${low}]`,
  ]
}

export const IPV6_LOOPBACK: readonly string[] = [
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[0::1]',
  '[::0:1]',
  '[0:0::0:1]',
  '[::0001]',
  '[::0.0.0.1]',
  '[0:0:0:0:0:0:0.0.0.1]',
  '[::00:1]',
]

/** Names that mean this machine. */
export const LOCAL_NAMES: readonly string[] = [
  'localhost',
  'LOCALHOST',
  'LocalHost.',
  'localhost.',
  '%6cocalhost',
  '%6C%6F%63%61%6C%68%6F%73%74',
  'ｌｏｃａｌｈｏｓｔ',
  'local\u00adhost',
  'a.localhost',
  'a.b.LOCALHOST',
]

/** Every kind of address that is not public, hand-picked at the edges of its network. */
export const FORBIDDEN_IPV4: readonly string[] = [
  '0.0.0.0',
  '0.0.0.1',
  '0.255.255.255',
  '10.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.0',
  '100.100.100.200',
  '100.127.255.255',
  '127.0.0.0',
  '127.0.0.1',
  '127.1.2.3',
  '127.255.255.255',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '169.254.255.255',
  '172.16.0.0',
  '172.31.255.255',
  '192.0.0.0',
  '192.0.0.192',
  '192.0.0.255',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.0',
  '192.168.255.255',
  '198.18.0.0',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.0',
  '255.255.255.254',
  '255.255.255.255',
]

export const FORBIDDEN_IPV6: readonly string[] = [
  '::',
  '::1',
  '::2',
  '100::1',
  '100:0:0:1::1',
  '1fff:ffff::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:1ff:ffff::1',
  '2001:db8::1',
  '2001:db8:ffff:ffff::1',
  '2002::1',
  '3fff::1',
  '3fff:fff:ffff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fdff:ffff::1',
  'fe80::1',
  'febf:ffff::1',
  'fec0::1',
  'feff::1',
  'ff02::1',
  'ff0e::1',
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
]

export const PUBLIC_IPV4: readonly string[] = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.0.3.0',
  '192.88.98.255',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.101.0',
  '203.0.112.255',
  '223.255.255.255',
]

export const PUBLIC_IPV6: readonly string[] = [
  '2000::1',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2003::1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '3ffe:ffff::1',
  '64:ff9b::808:808',
]

function percent(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`
}

function halves([a, b, c, d]: Bytes): readonly [string, string] {
  return [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)]
}
