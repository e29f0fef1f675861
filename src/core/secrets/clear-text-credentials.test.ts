import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJson } from '../foundation/json/index.ts'
import { SUSPECTS_MAX, suspectsIn } from './clear-text-credentials.ts'
import { findLiterals, HIDDEN, hideLiterals, hideRequest, mayHoldLiteral } from './index.ts'

const LITERALS: readonly (readonly [where: string, value: object, literal: string])[] = [
  ['a bearer token', { headers: { Authorization: 'Bearer abc123' } }, 'abc123'],
  ['a header of a key', { headers: { 'x-api-key': 'abc123' } }, 'abc123'],
  ['a token of GitLab', { headers: { 'private-token': 'abc123' } }, 'abc123'],
  ['a part of a header', { headers: { authorization: 'Bearer abc{{ payload.x }}' } }, 'abc{{ payload.x }}'],
  ['a bearer token in a header of any name', { headers: { 'x-auth': 'Bearer abc123' } }, 'abc123'],
  ['a basic one', { headers: { 'x-custom': 'Basic abc123' } }, 'abc123'],
  ['a key in a body', { body: { api_key: 'abc123def' } }, 'abc123def'],
  ['a password deeper in a body', { do: { body: { user: { password: 'hunter22' } } } }, 'hunter22'],
  ['a secret in data', { data: { client_secret: 'abc123def' } }, 'abc123def'],
  ['a token in arguments', { with: { token: 'abc123def' } }, 'abc123def'],
  ['a user and password', { url: 'https://me:hunter2@a.example/x' }, 'me:hunter2'],
  ['a query', { url: 'https://a.example/x?v=1&token=abc123' }, 'abc123'],
  ['a query as a map', { query: { api_key: 'abc123' } }, 'abc123'],
  ['a Slack webhook', { url: 'https://hooks.slack.com/services/T0/B0/abcdef' }, 'T0/B0/abcdef'],
  ['a Teams webhook', { url: 'https://acme.webhook.office.com/webhookb2/abc@def/x' }, 'webhookb2/abc@def/x'],
  ['a shape anywhere', { body: { note: `see ghp_${'a1'.repeat(18)} there` } }, `ghp_${'a1'.repeat(18)}`],
  ['a shape of Slack', { body: ['xoxb-1234567890-abcdef'] }, 'xoxb-1234567890-abcdef'],
  ['a shape of Stripe', { with: { key: 'sk_live_1234567890abcdef' } }, 'sk_live_1234567890abcdef'],
  ['a shape of AWS', { body: 'AKIAABCDEFGHIJKLMNOP' }, 'AKIAABCDEFGHIJKLMNOP'],
  [
    'a signed token',
    { body: 'eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl' },
    'eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl',
  ],
]

describe('[SE50] a credential in clear text', () => {
  test.each(LITERALS)('%s is found, hidden, and encrypted at rest', (_, value, literal) => {
    expect(findLiterals(value as never).map(({ text }) => text)).toEqual([literal])
    expect(JSON.stringify(hideLiterals(value as never))).not.toContain(literal)
    expect(JSON.stringify(hideLiterals(value as never))).toContain(HIDDEN)
    expect(mayHoldLiteral(JSON.stringify(value))).toBe(true)
  })

  test.each([
    { headers: { authorization: "Bearer {{ secret('books') }}" } },
    { headers: { authorization: 'Token token={{ vars.x }}' } },
    { headers: { 'content-type': 'application/json', 'idempotency-key': 'abc123' } },
    { url: 'https://a.example/{{ payload.id }}?token={{ vars.x }}&key=name' },
    { url: '{{ vars.self }}/x' },
    { body: { token: '{{ payload.token }}', text: 'a task-force and a risk-free sk-8' } },
    { headers: { 'x-auth': "Bearer {{ secret('books') }}", accept: 'Basic' } },
    { with: { token: 'payload.token', user: 'abc123' }, on: { token: 'abc123' } },
    { catalog: { example: { token: `ghp_${'a1'.repeat(18)}` } } },
    { auth: { bearer: { ref: 'books' } } },
  ])('%j contains none', (value) => {
    expect(findLiterals(value as never)).toEqual([])
    expect(hideLiterals(value as never)).toEqual(value)
  })

  test.each([
    'headers:\n  authorization: >-\n    Bearer abc123\n',
    'headers:\n  x-auth: |\n    Bearer abc123\n',
  ])('%j is encrypted at rest', (text) => {
    expect(mayHoldLiteral(text)).toBe(true)
    expect(mayHoldLiteral(JSON.stringify({ path: 'a.yaml', text }))).toBe(true)
  })

  test('a number keeps its exact digits', () => {
    const value = parseJson('{"body":{"v":1.000000000000000001,"n":12345678901234567890}}')
    expect(hideLiterals(value)).toStrictEqual(value)
  })

  test('in a request, every value at such a position is hidden', () => {
    expect(
      hideRequest({
        url: 'https://a.example/?token=x1y2z3',
        headers: { authorization: 'Bearer x1y2z3', a: 'b' },
      }),
    ).toEqual({
      url: `https://a.example/?token=${HIDDEN}`,
      headers: { authorization: `Bearer ${HIDDEN}`, a: 'b' },
    })
  })

  test('the redacted text contains no credential any more, and nothing else changes', () => {
    const text = fc.string({
      unit: fc.constantFrom(
        'a',
        'https://',
        'x.example',
        '/',
        '?token=',
        '&',
        'Bearer ',
        '{{',
        '}}',
        ' ',
        'ghp_',
      ),
      maxLength: 12,
    })
    const document = fc.record({ url: text, headers: fc.record({ authorization: text, accept: text }) })
    fc.assert(
      fc.property(document, (value) => {
        const hidden = hideLiterals(value)
        const found = findLiterals(value)
        if (found.length === 0) expect(hidden).toEqual(value)
        for (const literal of findLiterals(hidden)) expect(literal.text).toContain('hidden')
      }),
      { numRuns: 2_000 },
    )
  })

  test('the search of a whole text finds what a look at each of its fields finds', () => {
    const units = [
      ...['a', 'x'.repeat(70), '1', '_', '-', 'token', 'authorization', 'Bearer ', 'key', 'sig'],
      ...['https://', 'me:pw@', 'hooks.slack.com/services/', 'url', '?token=', '&key=', '=', ': ', ':', ','],
      ...['"', "'", '{{', '}}', ' ', '\n', '\\n', '|', '>-', '}', '{', '[', '\u00a0', 'abcdefghijklmnopq'],
    ]
    const text = fc.string({ unit: fc.constantFrom(...units), maxLength: 24 })
    let found = 0
    fc.assert(
      fc.property(text, (value) => {
        if (!hasLiteralField(value)) return
        found += 1
        expect(mayHoldLiteral(value)).toBe(true)
      }),
      { numRuns: 20_000 },
    )
    expect(found).toBeGreaterThan(100)
  })

  test.each([
    ['long words', 'x'.repeat(200_000), 0],
    ['fields within fields', 'a='.repeat(100_000), 0],
    ['short fields', 'a=b '.repeat(50_000), 0],
    ['addresses with many parameters', '?a=&'.repeat(50_000), 0],
    ['credentials by name that are templates', 'token={{ a }}, '.repeat(20_000), SUSPECTS_MAX],
    ['addresses', 'url=http://a?b=c&'.repeat(20_000), SUSPECTS_MAX],
  ])('the search looks closely at few parts of a long text: %s', (_, text, most) => {
    let parts = 0
    let letters = 0
    for (const { value } of suspectsIn(text)) {
      parts += 1
      letters += value.length
      if (parts > SUSPECTS_MAX) break
    }
    expect(parts).toBeLessThanOrEqual(most + 1)
    expect(letters).toBeLessThanOrEqual(514 * (most + 1))
    expect(mayHoldLiteral(text)).toBe(most > 0)
  })
})

/** Slow and simple: each field of the text by itself, with the value that follows it. */
function hasLiteralField(text: string): boolean {
  const field =
    /([A-Za-z][\w-]{0,63})["']?\s{0,8}[:=](?=\s{0,8}(?:[>|][-+\d]{0,2}(?:\\r)?(?:\\n|\s)\s{0,32})?(?:["']([^"'\n]{0,512})|([^"'\s,}{[][^,}\n]{0,512})))/g
  return [...text.matchAll(field)].some(([, name = '', quoted, plain]) => {
    const value = quoted ?? plain ?? ''
    return [{ headers: { [name]: value } }, { query: { [name]: value } }, { url: value }].some(
      (document) => findLiterals(document).length > 0,
    )
  })
}
