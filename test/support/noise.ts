// Random requests to sources, from a seed: some valid, most of them broken in one of many ways. The same seed gives the
// same ones.

import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { signRequest } from '../../src/core/ingest/source/index.ts'

export interface NoisyRequest {
  readonly method: string
  readonly tenant: string
  readonly source: string
  readonly query: string
  /** Lower-case names, each once. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

export const NOISE_SECRET = 'noise-secret'

/** The sources that the noise is sent to: every guard, every kind of response, open and signed. */
export const NOISE_SOURCES = `
kind: Source
name: open
verify: { scheme: none }
subject: "noise.events.{{ payload.kind }}"
event: { id: payload.id, objectId: payload.order, occurredAt: payload.at }
limits: { body: 4KiB, depth: 12 }
---
kind: Source
name: any
verify: { scheme: none }
subject: noise.anything
limits: { body: 64KiB }
respond: { contentType: text/xml, body: "<ok id=\\"{{ event.id }}\\">{{ payload.kind }}</ok>" }
---
kind: Source
name: signed
verify: { scheme: github, secret: { env: NOISE_SECRET } }
subject: noise.signed
dedup: { by: payload.id }
rateLimit: { perMinute: 600000, burst: 1000 }
handshake: { method: GET, when: query.challenge != null, body: "{{ query.challenge }}" }
---
kind: Source
name: asking
verify: { scheme: none }
subject: "noise.asking.{{ header.x-kind }}"
handshake: { when: payload.kind == 'hello', body: "{{ payload.id }}" }
---
kind: Source
name: walled
verify: { scheme: none }
allow: [203.0.113.0/24, github]
subject: noise.walled
---
kind: Source
name: waiting
verify: { scheme: none }
subject: noise.waiting
status: paused
---
kind: Source
name: gone
verify: { scheme: none }
subject: noise.gone
status: disabled
`

const SOURCES = ['open', 'any', 'signed', 'asking', 'walled', 'waiting', 'gone', 'nobody', 'a.b', '__proto__']
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/xml',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  '',
  ';;;',
]
const NAMES = [
  'x-kind',
  '__proto__',
  'constructor',
  'x-hub-signature-256',
  'traceparent',
  'x-forwarded-for',
  'millrace-hops',
]
const PIECES = [
  ...'{}[]:,"\\\0\u001f',
  '"id":',
  '"__proto__":{"x":1}',
  '1e999',
  '12345678901234567890',
  '\\ud800',
  '\u00fc',
  'null',
  '%00',
  '%zz',
  '&payload={}',
  '\ufeff',
  '{{ payload }}',
]

const BOMB = gzipSync(Buffer.alloc(200_000))
const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const PACKERS: readonly (readonly [string, (body: Buffer) => Buffer])[] = [
  ['gzip', (body) => gzipSync(body, { level: 1 })],
  ['deflate', (body) => deflateSync(body, { level: 1 })],
  ['br', (body) => brotliCompressSync(body, QUICKLY)],
  ['gzip', () => BOMB],
  ['zstd', (body) => body],
  ['gzip', (body) => body],
]

export function makeNoise(seed: number): () => NoisyRequest {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  const pick = <Value>(values: readonly Value[]): Value => values[below(values.length)] as Value
  const chance = (share: number): boolean => next() < share
  const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)))

  const value = (depth: number): unknown => {
    switch (below(depth <= 0 ? 5 : 8)) {
      case 0:
        return null
      case 1:
        return chance(0.5)
      case 2:
        return next() * 10 ** below(300)
      case 3:
        return pick(PIECES).repeat(below(4))
      case 4:
        return `t${below(1_000)}`
      case 5:
        return Array.from({ length: below(4) }, () => value(depth - 1))
      default:
        return Object.fromEntries(Array.from({ length: below(4) }, () => [pick(PIECES), value(depth - 1)]))
    }
  }

  const goodText = (): string =>
    JSON.stringify({
      kind: pick(['paid', 'hello', 'open', 'a b', '']),
      id: chance(0.3) ? `d${below(50)}` : `d${below(1_000_000)}`,
      order: value(0),
      at: value(0),
      ...(chance(0.5) && { more: value(below(14)) }),
    })

  const bend = (text: string): string => {
    const at = below(text.length + 1)
    switch (below(4)) {
      case 0:
        return text.slice(0, at)
      case 1:
        return text.slice(0, at) + pick(PIECES) + text.slice(at)
      case 2:
        return `${text.slice(0, -1)},"kind":"paid"}`
      default:
        return '['.repeat(below(40)) + text
    }
  }

  const bytesOf = (): Buffer => {
    switch (below(10)) {
      case 0:
        return noise(below(200))
      case 1:
        return Buffer.from(`kind=paid&id=d${below(1_000)}&${pick(PIECES)}=${pick(PIECES)}`)
      case 2:
        return Buffer.from(`payload=${encodeURIComponent(goodText())}`)
      case 3:
      case 4:
        return Buffer.from(bend(goodText()))
      case 5:
        return Buffer.from(goodText() + ' '.repeat(below(chance(0.1) ? 9_000 : 10)))
      default:
        return Buffer.from(goodText())
    }
  }

  const pack = (body: Buffer, headers: Map<string, string>): Buffer => {
    const [name, make] = pick(PACKERS)
    const packed = make(body)
    headers.set('content-encoding', name)
    return chance(0.2) ? packed.subarray(0, below(packed.length + 1)) : packed
  }

  return () => {
    const headers = new Map<string, string>()
    if (!chance(0.1)) headers.set('content-type', chance(0.6) ? 'application/json' : pick(TYPES))
    for (let more = below(3); more > 0; more -= 1) {
      headers.set(pick(NAMES), chance(0.5) ? `v${below(10)}` : pick(['203.0.113.7', 'a, b', '~!@', '']))
    }
    let body = bytesOf()
    const source = chance(0.5) ? pick(['open', 'any', 'signed']) : pick(SOURCES)
    const signed = source === 'signed' && chance(0.8) ? body : null
    if (chance(0.05)) body = pack(body, headers)
    if (signed !== null) {
      const over = chance(0.5) ? body : signed
      const right = signRequest({ scheme: 'github', secret: [] }, { body: over, secret: NOISE_SECRET })
      for (const [name, text] of Object.entries(right)) headers.set(name, text)
    }
    const method = chance(0.95) ? 'POST' : pick(['GET', 'PUT', 'DELETE'])
    return {
      method,
      tenant: chance(0.97) ? 'default' : pick(['nobody', '__proto__', 'a..b']),
      source,
      query: chance(0.1) ? `?challenge=${pick(['1', '%zz', '%3Cb%3E'])}&__proto__=x` : '',
      headers: [...headers],
      body: method === 'POST' ? body : Buffer.alloc(0),
    }
  }
}
