import { expect, test } from 'vitest'
import { pageLink } from './page-link.ts'

test.each([
  'javascript:alert(1)',
  ' javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,x',
  '//evil.example',
  'docs/runbook.md',
  'http://',
])('%j is not a link', (address) => {
  expect(pageLink(address)).toBeNull()
})

test('a page is a link', () => {
  expect(pageLink('https://wiki.example/run?book=1')).toBe('https://wiki.example/run?book=1')
})
