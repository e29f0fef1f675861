// Stored headers: shorter, and read back as they were given.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromStoredHeaders, toStoredHeaders } from './headers.ts'

const GITHUB =
  '{"x-github-event":"issues","content-length":"1024","host":"127.0.0.1:38475","x-github-delivery":"6dc75ae7",' +
  '"content-type":"application/json"}'

test('headers of a webhook are stored as fewer bytes', () => {
  const stored = toStoredHeaders(GITHUB)
  expect(GITHUB.length - String(stored).length).toBe(93)
  expect(fromStoredHeaders(stored)).toBe(GITHUB)
})

test('rows of earlier versions are read as they are', () => {
  expect(fromStoredHeaders(GITHUB)).toBe(GITHUB)
  expect(fromStoredHeaders('{\n\t"host":"a"}')).toBe('{\n\t"host":"a"}')
})

test('any text is read back, also one that has the codes of parts or none of JSON', () => {
  const names = fc.constantFrom('host', 'content-type', 'accept', 'x-github-event', 'traceparent', 'x')
  const values = fc.constantFrom('application/json', '*/*', '"host":"', '\x01\x19', '', 'ä\0')
  const text = fc.oneof(
    fc.dictionary(names, values).map((headers) => JSON.stringify(headers)),
    fc.string({ unit: fc.constantFrom('\x01', '\x08', '\n', '\0', '"host":"', 'a') }),
  )
  fc.assert(
    fc.property(text, (given) => {
      const stored = toStoredHeaders(given)
      return fromStoredHeaders(stored) === given
    }),
    { seed: 20_261_118 },
  )
})
