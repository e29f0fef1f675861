// Retries as written: the formula, the list, and which failures are retried.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashDocument, languageOf, type RouteDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './compile.ts'

const routeWith = (retry: string) => `
kind: Route
name: book
on: shop.paid
retry: ${retry}
do: { http: { url: https://books.example/x, keyTtl: 1h } }
`

const compile = (text: string) =>
  compileDefinitions([{ path: 'a.yaml', text }], { functions: () => 'sha256:0' })

const hashOf = (retry: string) => {
  const { documents, findings } = compile(routeWith(retry))
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return hashDocument(documents[0]!)
}

const errors = (retry: string) =>
  compile(routeWith(retry)).findings.map(({ rule, line, column, message }) => ({
    rule,
    line,
    column,
    message,
  }))

describe('backoff', () => {
  test.each([
    ['exponential', 'first: 1s, factor: 2, max: 15m', '[1s, 2s, 4s, 8s, 16s]'],
    ['exponential', 'first: 10m', '[10m, 20m, 40m, 1h, 1h]'],
    ['exponential', 'first: 2h', '[2h, 2h, 2h, 2h, 2h]'],
    ['exponential', 'factor: 3', '[1s, 3s, 9s, 27s, 81s]'],
    ['linear', 'first: 10s, max: 30s', '[10s, 20s, 30s, 30s, 30s]'],
    ['fixed', 'first: 5m', '[5m, 5m, 5m, 5m, 5m]'],
  ])('[T8] %s with { %s } is the policy with delays %s', (backoff, more, delays) => {
    expect(hashOf(`{ attempts: 6, backoff: ${backoff}, ${more} }`)).toBe(
      hashOf(`{ attempts: 6, delays: ${delays} }`),
    )
  })

  test('[T8] every formula is a list of delays of the same hash', () => {
    const written = fc.record({
      attempts: fc.integer({ min: 1, max: 12 }),
      backoff: fc.constantFrom('exponential', 'linear', 'fixed'),
      first: fc.integer({ min: 1, max: 5_000 }),
    })
    fc.assert(
      fc.property(written, ({ attempts, backoff, first }) => {
        const retry = `{ attempts: ${attempts}, backoff: ${backoff}, first: ${first}ms }`
        const [document] = compile(routeWith(retry)).documents
        const delays = (document as RouteDocument).retry.delaysMs
        expect(delays).toHaveLength(attempts - 1)
        expect(hashDocument(document!)).toBe(
          hashOf(`{ attempts: ${attempts}, delays: [${delays.map((delay) => `${delay}ms`).join(', ')}] }`),
        )
      }),
      { numRuns: 50 },
    )
  })

  test('[T8] it stands wherever delays stand', () => {
    const backoff = '{ attempts: 3, backoff: fixed, first: 5s }'
    const text = `
kind: Profile
name: slow
retry: ${backoff}
---
kind: Subscription
name: crm
url: https://crm.example.com/hooks
on: shop.paid
retry: ${backoff}
---
kind: Agent
name: writer
baseUrl: https://models.example/v1
model: m
user: "{{ input.title }}"
retry: ${backoff}
---
kind: Workflow
name: orders
version: 1.0.0
start: new
triggers: [{ on: shop.paid, action: create, correlate: payload.id }]
places: { new: {}, done: { final: true } }
transitions:
  book: { from: new, to: done, retry: ${backoff}, do: { http: { url: https://books.example/x, keyTtl: 1h } } }
`
    const byList = text.replaceAll('backoff: fixed, first: 5s', 'delays: [5s, 5s]')
    const [one, other] = [text, byList].map((each) => compile(each))
    expect(one?.findings.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(one?.documents).toHaveLength(4)
    expect(one?.documents.map(hashDocument)).toEqual(other?.documents.map(hashDocument))
  })

  test.each([
    ['{ attempts: 3, backoff: fixed, delays: [1s, 1s] }', 'F35', 'keep it, or `delays`'],
    ['{ attempts: 3, first: 1s }', 'F35', '`first` belongs to a formula'],
    ['{ attempts: 3, backoff: linear, factor: 2 }', 'F35', '`factor` belongs to `backoff: exponential`'],
    ['{ attempts: 3, backoff: fixed, max: 1m }', 'F35', '`max` limits delays that grow'],
    ['{ attempts: 3, backoff: linear, first: 1m, max: 1s }', 'F19', 'no delay is longer than `max`'],
    ['{ attempts: 3, backoff: exponentional }', 'F16', 'exponential'],
    ['{ attempts: 3, backoff: exponential, factor: 0.5 }', 'F19', ''],
    ['{ attempts: 3, backoff: exponential, first: 0s }', 'F19', ''],
    ['{ backoff: exponential }', 'F14', '`attempts` is missing'],
  ])('[T9] %s is refused', (retry, rule, words) => {
    const found = errors(retry)
    expect(found.map((one) => one.rule)).toContain(rule)
    expect(found.find((one) => one.rule === rule)?.message).toContain(words)
    expect(found.every(({ line }) => line === 5)).toBe(true)
  })
})

describe('retryOn', () => {
  const only = (retry: string) => (compile(routeWith(retry)).documents[0] as RouteDocument).retry.retryOn

  test('[T10] its order does not count, and the whole list is none', () => {
    expect(only('{ attempts: 1, retryOn: [timeout, transient] }')).toEqual(['transient', 'timeout'])
    expect(hashOf('{ attempts: 1, retryOn: [unknown, timeout, rate_limited, transient] }')).toBe(
      hashOf('{ attempts: 1 }'),
    )
  })

  test('[T10] nodes that do not know it leave the document to newer ones', () => {
    const language = (retry: string) => languageOf(compile(routeWith(retry)).documents[0]!)
    expect(language('{ attempts: 1, retryOn: [transient] }')).toBe(4)
    expect(language('{ attempts: 1 }')).toBe(1)
  })

  test.each([
    ['{ attempts: 1, retryOn: [validation] }', 'F16'],
    ['{ attempts: 1, retryOn: [timeot] }', 'F16'],
    ['{ attempts: 1, retryOn: [] }', 'F19'],
    ['{ attempts: 1, retryOn: transient }', 'F15'],
  ])('[T10] %s is refused', (retry, rule) => {
    expect(errors(retry).map((one) => one.rule)).toEqual([rule])
  })
})
