import { expect, test } from 'vitest'
import {
  reasonInWords,
  routeFor,
  secretsInWords,
  subjectInShort,
  verifyInWords,
} from '../console/src/lib/source-words.ts'
import {
  ADDRESSED_SCHEMES,
  PLAIN_SCHEMES,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
} from '../src/core/definition/index.ts'
import { ERRORS } from '../src/core/errors/index.ts'
import { compileDefinitions } from '../src/definitions/index.ts'

test('[CO1] every scheme has its words', () => {
  const schemes = [...PLAIN_SCHEMES, ...TIMED_SCHEMES, ...ADDRESSED_SCHEMES, ...TIMED_ADDRESSED_SCHEMES]
  for (const scheme of [...schemes, 'none', 'closed', 'hmac', 'basic', 'api-key']) {
    expect(verifyInWords({ scheme })).toMatch(/^[A-Z].+\.$/)
    expect(verifyInWords({ scheme })).not.toContain(`${scheme}’s`)
  }
  expect(secretsInWords({ scheme: 'none' })).toBeNull()
  expect(secretsInWords({ scheme: 'github', secret: [{ env: 'A' }, { ref: 'b' }] })).toBe(
    'the variable A, then the secret b: each is good while one replaces the other',
  )
})

test('[CO4] every reason that a request can be turned away for has its words and a next step', () => {
  for (const code of Object.keys(ERRORS)) {
    const { title, next } = reasonInWords(code)
    expect(title).toMatch(/^[A-Z]/)
    expect(next).toMatch(/\.$/)
  }
  expect(reasonInWords('signature_wrong').next).toContain('secret')
})

test.each(['github.events.issues.opened', 'slack.events.slash_command.*'])(
  '[CO5] a route that is copied for %s is one',
  (subject) => {
    const text = routeFor(subject)
    const { findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(text).toContain(JSON.stringify(subject))
  },
)

test('[CO1] a subject is told without its formulas', () => {
  expect(subjectInShort('orders.events.paid')).toBe('orders.events.paid')
  expect(subjectInShort('a.{{ token(payload.b) }}.c')).toBe('a.….c')
  expect(subjectInShort("a.{{ coalesce(x, '}}') }}{{ '.' + y }}")).toBe('a.…')
})
