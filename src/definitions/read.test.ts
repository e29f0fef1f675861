import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Numeral } from '../core/foundation/json/index.ts'
import { compileDefinitions, readDocuments } from './language.ts'

const read = (text: string, path = 'a.yaml') => readDocuments([{ path, text }])
const rulesOf = (text: string) => read(text).findings.map((finding) => finding.rule)

const SAMPLE = `kind: Source
name: shop
verify: { scheme: hmac, secret: { env: S }, signed: "{{ header.x-a }}:{{ body }}" }
subject: "shop.{{ payload.type }}"
event:
  id: payload.id   # theirs
---
kind: Route
name: r
on: [shop.>, 'a.*']
where: { all: [{ path: payload.total, greaterThan: 5 }, "payload.a == 'x' && !payload.b"] }
key: |
  'K:' +
    payload.id
do:
  http:
    url: "https://x.example/{{ payload.id }}"
    body: { a: "{{ payload }}", b: [1, 2.5, null, true] }
  classify: { 409: done }
`

describe('documents', () => {
  test('a file contains several, and empty ones do not count', () => {
    const { documents, findings } = read('---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n')
    expect(findings).toEqual([])
    expect(documents.map((document) => document.value)).toEqual([{ a: 1 }, { b: 2 }])
  })

  test.each(['', '\n', '# only a comment\n', '\ufeff'])('%j has none', (text) => {
    expect(read(text)).toEqual({ documents: [], findings: [] })
  })

  test('values are exact and only JSON', () => {
    const text =
      'a: 9007199254740993\nb: 9007199254740992\nc: no\nd: 2026-01-01\ne: ~\nf: 0x10\ng: 1e3\nh: &x [1]\ni: *x\nj: 1.0\nk: 1.000000000000000001\nl: 1e400\n'
    expect(read(text).documents[0]?.value).toEqual({
      a: 9007199254740993n,
      b: 9007199254740992n,
      c: 'no',
      d: '2026-01-01',
      e: null,
      f: 16,
      g: 1000,
      h: [1],
      i: [1],
      j: 1,
      k: new Numeral('1.000000000000000001'),
      l: 10n ** 400n,
    })
  })
})

describe('bounds', () => {
  test('[X2] a number beyond the bounds is a finding', () => {
    expect(read('a: 1e9999\n').findings).toMatchObject([
      { severity: 'error', message: expect.stringContaining('out of range') },
    ])
  })

  test('[F5] aliases that multiply are stopped', () => {
    const rows = Array.from({ length: 12 }, (_, index) => {
      const refers = index === 0 ? '1, 1' : `*a${index - 1}, *a${index - 1}`
      return `a${index}: &a${index} [${Array(4).fill(refers).join(', ')}]`
    })
    expect(rulesOf(rows.join('\n'))).toEqual(['F5'])
    expect(rulesOf(`a: &a 1\nb: [${'*a, '.repeat(201)}]`)).toEqual(['F5'])
    expect(rulesOf(`a: &a 1\nb: [${'*a, '.repeat(200)}]`)).toEqual([])
  })

  test('[F6] a file, its documents, its values and its depth are bounded', () => {
    expect(rulesOf(`a: ${'x'.repeat(1024 * 1024)}`)).toEqual(['F6'])
    expect(rulesOf('a: 1\n---\n'.repeat(1_001))).toEqual(['F6'])
    expect(rulesOf(`a: [${'1,'.repeat(50_000)}]`)).toEqual(['F6'])
    expect(rulesOf(`a: ${'['.repeat(65)}${']'.repeat(65)}`)).toEqual(['F6'])
    expect(rulesOf(`a: ${'['.repeat(5_000)}${']'.repeat(5_000)}`)).toEqual(['F6'])
    expect(
      read(`{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 'a.json').findings.map((one) => one.rule),
    ).toEqual(['F6'])
    expect(rulesOf(`a: ${'['.repeat(60)}${']'.repeat(60)}`)).toEqual([])
  })
})

test('[F3] a lone `!` is a tag too', () => {
  const text = SAMPLE.replace("'a.*'", "! 'a.*'")
  const { documents, findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
  expect(documents).toHaveLength(1)
  const errors = findings.filter(({ severity }) => severity === 'error')
  expect(errors.map(({ rule, line }) => [rule, line])).toEqual([['F3', 10]])
})

describe('never crashes, and points into the file', () => {
  const check = (text: string, path: string) => {
    const { findings } = compileDefinitions([{ path, text }], { functions: () => null })
    const lines = text.replace(/^\ufeff/, '').split('\n')
    for (const { line, column, message } of findings) {
      expect(message).not.toBe('')
      expect(line).toBeGreaterThanOrEqual(1)
      expect(line).toBeLessThanOrEqual(lines.length)
      expect(column).toBeGreaterThanOrEqual(1)
      expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1)
    }
  }
  const path = fc.constantFrom('a.yaml', 'a.json')

  test('for any text', () => {
    const indicator = fc.constantFrom(
      ...'{}[],:?-&*#!|>\'"%@` \n\t~.{{}}'.split(''),
      'kind: ',
      'name: ',
      'Route',
      '\\u',
    )
    const text = fc.oneof(
      fc.string(),
      fc.array(indicator, { maxLength: 60 }).map((parts) => parts.join('')),
    )
    fc.assert(fc.property(text, path, check), { numRuns: 200 })
  })

  test('for a valid file with one part exchanged', () => {
    const part = fc.oneof(
      fc.constantFrom('', ' ', '\n', '{{', '}}', "'", '"', ': ', '#', '!', '*a', '- ', '[', '}', '5', 'ä😀'),
      fc.string(),
    )
    const exchanged = fc
      .tuple(fc.nat(SAMPLE.length), fc.nat(12), part)
      .map(([at, length, text]) => SAMPLE.slice(0, at) + text + SAMPLE.slice(at + length))
    expect(
      compileDefinitions([{ path: 'a.yaml', text: SAMPLE }], { functions: () => null }).documents,
    ).toHaveLength(2)
    fc.assert(
      fc.property(exchanged, (text) => check(text, 'a.yaml')),
      { numRuns: 200 },
    )
  })

  test('for any value in any field', () => {
    const names = [
      'kind',
      'name',
      'verify',
      'subject',
      'event',
      'on',
      'where',
      'key',
      'retry',
      'do',
      'http',
      'url',
      'scheme',
      'secret',
    ]
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom('Source', 'Route', 'Profile', 'hmac', 'payload.id', '{{ payload.id }}', '', 'a.b'),
        fc.jsonValue({ maxDepth: 1 }),
        fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 6 }),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    }))
    const kind = fc.constantFrom('Source', 'Route', 'Profile')
    const fields = fc.dictionary(fc.constantFrom(...names), tree)
    fc.assert(
      fc.property(kind, fields, path, (one, rest, file) =>
        check(JSON.stringify({ ...rest, kind: one }, null, 1), file),
      ),
      { numRuns: 200 },
    )
  })
})
