import { expect, test } from 'vitest'
import { buffersInWords, type RouteShape, skippedInWords } from '../console/src/lib/route-words.ts'
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
} from '../src/core/definitions/documents/index.ts'
import { ERRORS } from '../src/core/foundation/errors/index.ts'
import { compileDefinitions } from '../src/definitions/language.ts'

test('[CO1] every scheme has a description', () => {
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

test('[CO4] every reason for rejecting a request has a description and a next step', () => {
  for (const code of Object.keys(ERRORS)) {
    const { title, next } = reasonInWords(code)
    expect(title).toMatch(/^[A-Z]/)
    expect(next).toMatch(/\.$/)
  }
  expect(reasonInWords('signature_wrong').next).toContain('secret')
})

test.each(['github.events.issues.opened', 'slack.events.slash_command.*'])(
  '[CO5] a route that is copied for %s is valid',
  (subject) => {
    const text = routeFor(subject)
    const { findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(text).toContain(JSON.stringify(subject))
  },
)

test('[CO1] a subject is shown without its formulas', () => {
  expect(subjectInShort('orders.events.paid')).toBe('orders.events.paid')
  expect(subjectInShort('a.{{ token(payload.b) }}.c')).toBe('a.….c')
  expect(subjectInShort("a.{{ coalesce(x, '}}') }}{{ '.' + y }}")).toBe('a.…')
})

test('[CN8] a route’s limits are shown in words, as its document has them, and nothing where it has none', () => {
  const wordsOf = (text: string) => {
    const route = `kind: Route\nname: a\non: [x.y]\nkey: "'A:' + payload.id"\n${text}\ndo: { http: { url: "https://a.example.com", idempotent: true } }\n`
    const { findings, definitions } = compileDefinitions([{ path: 'a.yaml', text: route }], {
      functions: () => null,
    })
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    return buffersInWords(definitions[0]?.document as unknown as RouteShape).map(
      ({ what, text }) => `${what}: ${text}`,
    )
  }
  expect(wordsOf('')).toEqual([])
  expect(
    wordsOf(
      'order: { by: payload.sku, version: payload.v, stale: skip, onBlocked: skip }\nrateLimit: { perMinute: 30, burst: 5 }',
    ),
  ).toEqual([
    'Order: One after another for each payload.sku. Events older than payload.v are skipped. A dead or parked job does not block the others.',
    'Rate: 30 calls per minute, 5 in a burst.',
  ])
  expect(
    wordsOf('debounce: { by: payload.sku, window: 60s, maxWait: 10m, keep: first }\ndrain: FEED_SAFE_5MIN'),
  ).toEqual([
    'Debounce: Events of one payload.sku within 1 min become one: the first one is used. It waits no longer than 10 min.',
    'Drain: Every 5 min 25 events, 2 times over (FEED_SAFE_5MIN).',
  ])
  expect(
    wordsOf('batch: { size: 50, maxWait: 5s }\nconcurrency: { limit: 2, by: payload.project }\ncircuit: off'),
  ).toEqual([
    'Batch: Up to 50 jobs in one call, collected for at most 5.0 s. They share the outcome.',
    'Concurrency: 2 at once for each payload.project.',
    'Circuit: Off: it never opens.',
  ])
})

test('[CN4] the reason for skipping a job is shown in words', () => {
  for (const note of ['STALE', 'SUPERSEDED', 'EMPTY', 'DISABLED', 'SPLIT: answered 422'])
    expect(skippedInWords(note)).toMatch(/^[A-Z][a-z].+\.$/)
  expect(skippedInWords(undefined)).toBeUndefined()
})
