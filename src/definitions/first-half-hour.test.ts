// What new users write first, and the findings they get.

import { describe, expect, test } from 'vitest'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './language.ts'

function check(text: string) {
  return compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
}
const route = (http: string, beside = '') =>
  `kind: Route\nname: r\non: shop.paid\ndo: { http: { method: GET, url: "https://a.example/x"${http} }${beside} }\n`

describe('`timeout` of an http action', () => {
  test('[F35] is allowed inside `http` or beside it, with the same meaning and hash', () => {
    const inside = check(route(', timeout: 30s'))
    const beside = check(route('', ', timeout: 30s'))
    expect(inside.findings).toEqual([])
    expect(inside.documents).toEqual(beside.documents)
    expect(hashDocument(inside.documents[0] as never)).toBe(hashDocument(beside.documents[0] as never))
    expect(check(route(', timeout: 60s', ', timeout: 1m')).findings).toEqual([])
  })

  test('[F35] written twice and differently is an error at the inner one', () => {
    const [finding] = check(route(', timeout: 30s', ', timeout: 10s')).findings
    expect(finding).toMatchObject({ rule: 'F35', severity: 'error', line: 4 })
    expect(finding?.message).toContain('keep one')
  })
})

describe('`runbook`', () => {
  const letter = (runbook: string) => `${route('')}deadLetter: { runbook: ${JSON.stringify(runbook)} }\n`

  test.each(['https://wiki.example/x', 'http://wiki.example', 'docs/runbooks/crm.md', '/x#y', './a b.md'])(
    '[F30] %s is accepted',
    (runbook) => {
      expect(check(letter(runbook)).findings).toEqual([])
    },
  )

  test.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    '//evil.example',
    'ftp://x',
    'https://',
    'java\tscript:x',
  ])('[F30] %s is refused', (runbook) => {
    expect(check(letter(runbook)).findings).toMatchObject([{ rule: 'F30', severity: 'error', line: 5 }])
  })
})

describe('secrets that are not set', () => {
  const source = (secret: string) =>
    `kind: Source\nname: s\nverify: { scheme: stripe, secret: ${secret} }\nsubjects: stripe\n`
  const told = (text: string, deps: object) =>
    compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null, ...deps }).findings

  test('[VA9] an unset environment variable is a warning with its position', () => {
    const text = source('{ env: HOOK }')
    expect(told(text, { variables: () => false })).toMatchObject([
      { rule: 'VA9', severity: 'warning', line: 3, message: expect.stringContaining('`HOOK` is not set') },
    ])
    expect(told(text, { variables: (name: string) => name === 'HOOK' })).toEqual([])
    expect(told(text, {})).toEqual([])
  })

  test('[VA9] so is a secret of the vault', () => {
    expect(told(source('{ ref: hook }'), { secrets: () => false })).toMatchObject([
      { rule: 'VA9', severity: 'warning', line: 3, message: expect.stringContaining('`hook` is not set') },
    ])
  })
})
