import { expect, test } from 'vitest'
import { parseSubject } from '../subject/index.ts'
import { CANONICAL_EVENTS, CANONICAL_HEADER, CANONICAL_SOURCE, canonicalType, isCanonical } from './index.ts'

test('[FL8] every canonical subject is valid, and unique', () => {
  const subjects = Object.keys(CANONICAL_EVENTS)
  expect(subjects.every((subject) => parseSubject(subject).ok)).toBe(true)
  expect(new Set(Object.values(CANONICAL_EVENTS).map(({ type }) => type)).size).toBe(subjects.length)
  expect(canonicalType({ source: CANONICAL_SOURCE, subject: 'integration.failed' })).toBe('IntegrationFailed')
  expect(canonicalType({ source: 'shop', subject: 'integration.failed' })).toBeNull()
  expect(canonicalType({ source: CANONICAL_SOURCE, subject: 'toString' })).toBeNull()
})

test.each([
  [CANONICAL_SOURCE, '{}', true],
  ['route:alert', `{"${CANONICAL_HEADER}":"1"}`, true],
  ['shop', `{"x":"${CANONICAL_HEADER}"}`, false],
  ['shop', '{}', false],
  ['shop', `${CANONICAL_HEADER} is no JSON`, false],
])('[FL9] of %s with %s: %s', (source, headers, expected) => {
  expect(isCanonical({ source, headers })).toBe(expected)
})
