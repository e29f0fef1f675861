import { expect, test } from 'vitest'
import { compileDefinitions } from './language.ts'

const findingsOf = (text: string) =>
  compileDefinitions(
    [{ path: 'a.yaml', text: `kind: Source\nname: a\nverify: { scheme: none }\nsubject: a.b\n${text}` }],
    {
      functions: () => null,
    },
  ).findings.map(({ message, line, suggestion }) => ({ message, line, suggestion }))

test.each([
  'allow: github',
  'allow: [github, stripe, 10.0.0.0/8, 203.0.113.7, "2001:db8::/32", "::1"]',
  'respond: { contentType: text/xml, body: "<Response/>" }',
  'respond: { contentType: "application/json; charset=utf-8", body: {} }',
])('[GU3] %s is accepted', (text) => {
  expect(findingsOf(text)).toEqual([])
})

test.each([
  ['allow: gihtub', 'gihtub', 'github'],
  ['allow: [github, 10.0.0.0/33]', '10.0.0.0/33', undefined],
  ['allow: [10.0.0.256]', '10.0.0.256', undefined],
  ['allow: [anybody-at-all]', 'anybody-at-all', undefined],
])('[GU3] %s is a finding', (text, entry, suggestion) => {
  expect(findingsOf(text)).toEqual([
    { message: expect.stringContaining(`\`${entry}\` is not a network`), line: 5, suggestion },
  ])
})

test('[GU19] a content type that no header can hold is a finding', () => {
  expect(findingsOf('respond: { contentType: "text/xml\\r\\nx: y" }')).toHaveLength(1)
  expect(findingsOf('handshake: { when: "true", contentType: words }')).toHaveLength(1)
})
