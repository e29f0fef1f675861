import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { makeInflater, OF_VERIFIED } from './inflate.ts'

const text = Buffer.from(
  JSON.stringify({ list: Array.from({ length: 200 }, (_, n) => ({ n, id: `x${n * n}` })) }),
)
const inflate = makeInflater(OF_VERIFIED)

describe('a compressed body', () => {
  test.each([
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
  ] as const)('[GU15] of %s is what was compressed', async (encoding, bytes) => {
    expect(Buffer.from(await inflate(encoding, bytes, text.length))).toEqual(text)
    await expect(inflate(encoding, bytes, text.length - 1)).rejects.toMatchObject({ code: 'body_too_large' })
  })

  test.each(['gzip', 'deflate', 'br'] as const)(
    '[GU15] of %s that is broken is refused',
    async (encoding) => {
      for (const bytes of [text, Buffer.alloc(0), Buffer.from([0x1f, 0x8b, 8])]) {
        await expect(inflate(encoding, bytes, 1_000_000)).rejects.toMatchObject({ code: 'body_unreadable' })
      }
      const compress = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }[encoding]
      const cut = compress(text).subarray(0, -20)
      await expect(inflate(encoding, cut, 1_000_000)).rejects.toMatchObject({ code: 'body_unreadable' })
    },
  )

  test.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000))],
    ['deflate', deflateSync(Buffer.alloc(50_000_000))],
    ['br', brotliCompressSync(Buffer.alloc(50_000_000))],
  ] as const)('[GU17] of %s that is a bomb is refused, and never made whole', async (encoding, bomb) => {
    const before = process.memoryUsage().arrayBuffers
    const all = Array.from({ length: 20 }, () => inflate(encoding, bomb, 64_000_000))
    const results = await Promise.allSettled(all)
    expect(results.map((one) => one.status === 'rejected' && one.reason.code)).toEqual(
      results.map(() => 'body_too_large'),
    )
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200_000_000)
  })

  test('[GU25] of a stranger waits behind other strangers, and beyond so many is refused', async () => {
    const strangers = makeInflater({ atOnceMax: 1, waitingMax: 2 })
    const all = Array.from({ length: 4 }, () => strangers('gzip', gzipSync(text), text.length))
    const results = await Promise.allSettled(all)
    expect(results.map((one) => (one.status === 'rejected' ? one.reason.code : 'inflated'))).toEqual([
      'inflated',
      'inflated',
      'inflated',
      'overloaded',
    ])
    expect(await strangers('gzip', gzipSync(text), text.length)).toHaveLength(text.length)
  })

  test('[GU17] may be larger than its ratio while it is small', async () => {
    const small = gzipSync(Buffer.alloc(60_000))
    expect(await inflate('gzip', small, 1_000_000)).toHaveLength(60_000)
    await expect(inflate('gzip', gzipSync(Buffer.alloc(100_000)), 1_000_000)).rejects.toMatchObject({
      code: 'body_too_large',
      message: expect.stringContaining('200 times'),
    })
  })
})
