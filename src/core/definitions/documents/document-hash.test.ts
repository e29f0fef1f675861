import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DefinitionDocument, ProfileDocument } from './index.ts'
import { hashBundle, hashDocument } from './index.ts'

const profile = (name: string, delayMs = 1_000): ProfileDocument => ({
  kind: 'Profile',
  name,
  description: null,
  retry: { profile: name, attempts: 2, delaysMs: [delayMs] },
})

function reversed<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(reversed) as Value
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, member]) => [key, reversed(member)])
  return Object.fromEntries(entries.reverse()) as Value
}

describe('hashDocument', () => {
  test('is fixed: stored jobs refer to it', () => {
    // sha256sum of {"description":null,"kind":"Profile","name":"slow","retry":{"attempts":2,"delaysMs":[1000],"profile":"slow"}}
    expect(hashDocument(profile('slow'))).toBe(
      'sha256:ad589c38077b7d4a81562f301a40ec40f5bf892d304c790c34fa17801376a7f3',
    )
  })

  test('ignores the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (where) => {
        const document = { ...profile('p'), where } as unknown as DefinitionDocument
        expect(hashDocument(reversed(document))).toBe(hashDocument(document))
      }),
    )
  })

  test('depends on every value', () => {
    expect(hashDocument(profile('slow', 1_001))).not.toBe(hashDocument(profile('slow')))
    expect(hashDocument({ ...profile('slow'), description: 'x' })).not.toBe(hashDocument(profile('slow')))
  })
})

describe('hashBundle', () => {
  test('ignores the order of documents', () => {
    expect(hashBundle([profile('a'), profile('b')])).toBe(hashBundle([profile('b'), profile('a')]))
  })

  test('depends on which documents there are', () => {
    const hashes = [[], [profile('a')], [profile('b')], [profile('a'), profile('b')], [profile('a', 5)]].map(
      hashBundle,
    )
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})
