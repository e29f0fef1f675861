import { expect, test } from 'vitest'
import { makeCache } from './index.ts'

const make = () => makeCache<string>({ entriesMax: 2, ageMsMax: 100 })

test('an entry is returned until it is too old', () => {
  const cache = make()
  cache.reading()('a', 'one', 1_000)
  expect(cache.get('a', 1_099)).toBe('one')
  expect(cache.get('a', 1_100)).toBeUndefined()
  expect(cache.size).toBe(0)
})

test('using an entry protects it from eviction, but does not make it younger', () => {
  const cache = make()
  cache.reading()('a', 'one', 0)
  cache.reading()('b', 'two', 0)
  expect(cache.get('a', 50)).toBe('one')
  cache.reading()('c', 'three', 50)
  expect([cache.get('a', 99), cache.get('b', 99), cache.get('c', 99)]).toEqual(['one', undefined, 'three'])
  expect(cache.get('a', 100)).toBeUndefined()
})

test('a read that began before a forget stores nothing', () => {
  const cache = make()
  const keep = cache.reading()
  cache.forget('a')
  keep('a', 'old', 0)
  expect(cache.get('a', 0)).toBeUndefined()
  cache.reading()('a', 'new', 0)
  expect(cache.get('a', 0)).toBe('new')
  cache.forget('a')
  expect(cache.get('a', 0)).toBeUndefined()
})
