import { expect, test, vi } from 'vitest'
import { makeGatherer } from './body-chunks.ts'

const BYTES = 200_000
const BLOCK = 16_384

test.each([
  ['single bytes', () => 1],
  ['single bytes between large chunks', (index: number) => (index % 2 === 0 ? 1 : BLOCK)],
  ['chunks that just do not fit beside each other', () => BLOCK / 2 + 1],
  ['chunks of all sizes', (index: number) => ((index * 7_919) % 20_011) + 1],
  ['one chunk', () => BYTES],
])('a body of %s is the same, in few buffers', (_name, lengthOf) => {
  const concat = vi.spyOn(Buffer, 'concat')
  try {
    const body = Buffer.from(Array.from({ length: BYTES }, (_, index) => (index * 31) % 251))
    const gathered = makeGatherer()
    for (let start = 0, index = 0; start < BYTES; index += 1) {
      const chunk = Buffer.from(body.subarray(start, start + lengthOf(index)))
      gathered.add(chunk)
      start += chunk.length
    }
    expect(gathered.size).toBe(BYTES)
    expect(gathered.whole().equals(body)).toBe(true)
    const buffers = concat.mock.calls[0]?.[0] ?? []
    expect(buffers.length).toBeLessThanOrEqual(10 + (2 * BYTES) / BLOCK)
    const blocks = buffers.filter((one) => one.buffer.byteLength === BLOCK)
    expect(blocks.length * BLOCK).toBeLessThanOrEqual(2 * BYTES + BLOCK)
  } finally {
    concat.mockRestore()
  }
})

test('a body without chunks is empty', () => {
  expect(makeGatherer().whole()).toHaveLength(0)
})
