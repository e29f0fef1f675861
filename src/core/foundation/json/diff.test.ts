// Differences between two values, and how paths are written.

import { expect, test } from 'vitest'
import { isHiddenAt } from '../../events/sensitive/index.ts'
import { diffJson, placeText } from './diff.ts'

const told = (before: Parameters<typeof diffJson>[0], after: Parameters<typeof diffJson>[1], max = 9) =>
  diffJson(before, after, max).map(({ place, ...values }) => [placeText(place), values.before, values.after])

test('[RL7] members and positions are compared one by one', () => {
  expect(told({ a: 1, b: { c: [1, 2] }, d: 'x' }, { a: 1, b: { c: [1, 3, 4] }, e: null })).toEqual([
    ['b.c[1]', 2, 3],
    ['b.c[2]', undefined, 4],
    ['d', 'x', undefined],
    ['e', undefined, null],
  ])
  expect(told([1], { a: 1 })).toEqual([['', [1], { a: 1 }]])
  expect(told({ 'x-y': 0, "it's": 1n }, { 'x-y': -0, "it's": 2n })).toEqual([["['it\\'s']", 1n, 2n]])
  expect(told({ a: 1, b: 2, c: 3 }, {}, 2)).toHaveLength(2)
})

test('[RL7] a path is hidden with everything above and below a sensitive path', () => {
  const paths = ['payload.user.email', 'payload.lines[*].price']
  const hidden = [['user'], ['user', 'email'], ['user', 'email', 'x'], ['lines', 0, 'price'], ['lines'], []]
  for (const place of hidden) expect(isHiddenAt(place, paths)).toBe(true)
  for (const place of [['user', 'name'], ['lines', 0, 'sku'], ['other']])
    expect(isHiddenAt(place, paths)).toBe(false)
  // The shape differs from the path.
  expect(isHiddenAt(['user', 0], paths)).toBe(true)
  expect(isHiddenAt(['anything'], [])).toBe(false)
})
