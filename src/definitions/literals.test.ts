import { describe, expect, test } from 'vitest'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './language.ts'

const action = (headers: string) =>
  `do: { http: { method: POST, url: "https://a.example/x", keyTtl: 1h, headers: ${headers} } }`
const ROUTE = `kind: Route\nname: r\non: shop.paid\n${action('{ authorization: Bearer abc123 }')}\n`

function check(text: string, deps: Partial<Parameters<typeof compileDefinitions>[1]> = {}) {
  return compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null, ...deps })
}
const literals = (text: string, deps = {}) => check(text, deps).findings.filter(({ rule }) => rule === 'SE50')

describe('[SE50] a credential in clear text', () => {
  test('is a warning with its position and what to write instead', () => {
    expect(literals(ROUTE)).toMatchObject([
      { severity: 'warning', line: 4, column: (ROUTE.split('\n')[3]?.indexOf('abc123') ?? 0) + 1 },
    ])
    const [finding] = literals(ROUTE)
    expect(finding?.message).toContain('auth: { bearer: { ref: name } }')
    expect(finding?.message).toContain("{{ secret('name') }}")
    expect(finding?.message).not.toContain('abc123')
  })

  test('is an error if it is refused, unless the same one is already deployed', () => {
    expect(literals(ROUTE, { refusesLiterals: true })).toMatchObject([{ severity: 'error' }])
    const deployedDocuments = check(ROUTE).documents
    expect(literals(ROUTE, { refusesLiterals: true, deployedDocuments })).toMatchObject([
      { severity: 'warning' },
    ])
    const other = ROUTE.replace('abc123', 'def456')
    expect(literals(other, { refusesLiterals: true, deployedDocuments })).toMatchObject([
      { severity: 'error' },
    ])
  })

  test('of a folder is refused once its node knows what is deployed', () => {
    const compiled = check(ROUTE)
    expect(compiled.freshLiterals([])).toMatchObject([{ rule: 'SE50', severity: 'error' }])
    expect(compiled.freshLiterals(compiled.documents)).toEqual([])
  })

  test('is found in agents, subscriptions and steps of workflows', () => {
    const agent = `kind: Agent\nname: a\nbaseUrl: https://ai.example/v1?token=abc123\nmodel: m\nuser: x\nsecret: { env: K }\n`
    const subscription = `kind: Subscription\nname: s\nurl: https://hooks.slack.com/services/T0/B0/abcdef\non: shop.paid\nheaders: { x-api-key: abc123 }\n`
    const workflow = `kind: Workflow\nname: w\nstart: a\nplaces: { a: {}, b: { final: true } }\ntransitions:\n  t: { from: a, to: b, ${action('{ x-auth-token: abc123 }')} }\n`
    expect(literals(agent)).toHaveLength(1)
    expect(literals(subscription)).toHaveLength(2)
    expect(literals(workflow)).toHaveLength(1)
  })

  test('changes nothing of the document and its hash', () => {
    const [document] = check(ROUTE).documents
    expect(document).toMatchObject({ do: { headers: { authorization: 'Bearer abc123' } } })
    expect(hashDocument(document as never)).toBe(
      'sha256:dfb458f10828c1ea70c1737187aaeaff127517e6195a38a432677cbd8c3343f4',
    )
  })
})
