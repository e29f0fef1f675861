import { expect, test } from 'vitest'
import { joinKey } from './index.ts'

test('two keys never collide', () => {
  expect(joinKey('a', 'b:c')).not.toBe(joinKey('a:b', 'c'))
  expect(joinKey('1', '1:1')).not.toBe(joinKey('1:1', '1'))
  expect(joinKey('a', '')).not.toBe(joinKey('a'))
})
