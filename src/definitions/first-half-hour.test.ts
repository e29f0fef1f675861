// What people write first, and what they are told.

import { describe, expect, test } from 'vitest'
import { hashDocument } from '../core/definition/index.ts'
import { compileDefinitions } from './index.ts'

function check(text: string) {
  return compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
}
const route = (http: string, beside = '') =>
  `kind: Route\nname: r\non: shop.paid\ndo: { http: { method: GET, url: "https://a.example/x"${http} }${beside} }\n`

describe('`timeout` of an http action', () => {
  test('[F35] stands inside `http` or beside it, with the same meaning and hash', () => {
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

describe('secrets as other tools write them', () => {
  test.each([
    ['Bearer {{ secrets.tok }}', '"Bearer {{ secret(\'tok\') }}"'],
    ["{{ secrets['tok'] }}", '"{{ secret(\'tok\') }}"'],
    ['{{ env.TOK }}', '"{{ secret(\'TOK\') }}"'],
  ])('[F21] %s: the finding says how it is written here', (written, suggestion) => {
    const findings = check(route(`, headers: { x-tok: "${written}" }`)).findings
    expect(findings).toMatchObject([{ rule: 'F21', severity: 'error', suggestion }])
    expect(findings[0]?.message).toContain('auth: { bearer: { ref:')
  })

  test('[F20] in a key there is no secret', () => {
    const text = `${route('')}key: secrets.tok\n`
    const findings = check(text).findings
    expect(findings).toMatchObject([{ rule: 'F20', line: 5 }])
    expect(findings[0]).not.toHaveProperty('suggestion')
  })
})

describe('`runbook`', () => {
  const letter = (runbook: string) => `${route('')}deadLetter: { runbook: ${JSON.stringify(runbook)} }\n`

  test.each(['https://wiki.example/x', 'http://wiki.example', 'docs/runbooks/crm.md', '/x#y', './a b.md'])(
    '[F30] %s is taken',
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
