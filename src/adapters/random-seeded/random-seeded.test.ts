import { expect, test } from 'vitest'
import { randomConformance } from '../../ports/random.conformance.ts'
import { makeSeededRandom } from './index.ts'

randomConformance('seeded', () => makeSeededRandom(4711))

test('equal seeds draw the same, different ones something else', () => {
  const draw = (seed: number) => Buffer.from(makeSeededRandom(seed).bytes(32)).toString('hex')
  expect(draw(0)).toBe(draw(0))
  expect(new Set([0, 1, 2, 3, -1].map(draw)).size).toBe(5)
})
