import { describe, expect, test } from 'vitest'
import { findTooMuch } from './index.ts'
import { compileDefinitions } from './language.ts'

const N = 8_000
const route = (rest: string) => `kind: Route\nname: a\non: x.y\n${rest}`
const many = <Value>(count: number, one: (index: number) => Value) =>
  Array.from({ length: count }, (_, i) => one(i))

/** The maximum accepted of each shape that is expensive to read. */
const SHAPES: readonly (readonly [what: string, text: (count: number) => string])[] = [
  ['values of a list', (n) => `x: [${'1,'.repeat(n)}]\n`],
  ['lines of a list', (n) => `x:\n${' - 1\n'.repeat(n / 2)}`],
  ['fields', (n) => many(n / 2, (i) => `a${i}: 1\n`).join('')],
  ['unknown fields', (n) => route(many(n / 2, (i) => `a${i}: 1\n`).join(''))],
  ['unknown fields in braces', (n) => `{kind: Route, ${many(n, (i) => `a${i}`).join(',')}}`],
  ['documents', (n) => 'a: 1\n---\n'.repeat(n / 4)],
  ['paths that should be templates', (n) => route(`do: { emit: a.b, data: [${'payload.x,'.repeat(n)}] }`)],
  ['brackets', (n) => `x: ${'['.repeat(n)}`],
  ['dashes', (n) => `x:\n  ${'- '.repeat(n)}`],
  ['questions', (n) => '? '.repeat(n)],
  ['anchors', (n) => '&a '.repeat(n)],
  ['tags', (n) => '! '.repeat(n)],
  ['tagged values', (n) => `x: [${'!a 1,'.repeat(n / 2)}]`],
  ['aliases', (n) => `x: [&a 1,${'*a,'.repeat(n / 2)}]`],
  ['signs that begin nothing', (n) => `x: [${'@,'.repeat(n / 2)}]`],
  ['texts', (n) => `x: ${'"" '.repeat(n / 2)}`],
  ['ends of templates', (n) => route(`do: { http: { url: "http://x/{{ '${'}}'.repeat(n / 2)}' }}" } }`)],
]
const FIXED = 40

/** Other threads count too, so the minimum of a few runs is its own cost; the first that is low enough ends it. */
function leastCpuMs(run: () => void, enoughMs: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < 4 && least >= enoughMs; time += 1) {
    const before = process.cpuUsage()
    run()
    least = Math.min(least, process.cpuUsage(before).user / 1_000)
  }
  return least
}

describe('[AC18] input is weighed before it is read', () => {
  test.each(SHAPES)('%s', (_what, text) => {
    const taken = [{ path: 'a.yaml', text: text(N - FIXED) }]
    expect(findTooMuch(taken)).toEqual([])
    // A fifth of the time without one of the bounds.
    expect(leastCpuMs(() => compileDefinitions(taken, { functions: () => null }), 2_000)).toBeLessThan(2_000)
    const refused = [{ path: 'a.yaml', text: text(N * 2) }]
    expect(findTooMuch(refused)).toMatchObject([{ rule: 'F6', file: 'a.yaml', line: 1, column: 1 }])
  })

  test('a long text is cheap, many bytes are not', () => {
    const text = `x: ${'a '.repeat(400_000)}`
    expect(findTooMuch([{ path: 'a.yaml', text }])).toEqual([])
    const files = [
      { path: 'a.yaml', text },
      { path: 'b.yaml', text },
    ]
    expect(findTooMuch(files)).toMatchObject([{ rule: 'F6', file: 'b.yaml' }])
    expect(findTooMuch(many(4, (i) => ({ path: `${i}`, text: '- '.repeat(7_000) })))).toMatchObject([
      { rule: 'F6', file: '3', message: expect.stringContaining('together') },
    ])
  })

  test('two hundred ordinary routes are accepted', () => {
    const text = route(
      'where: payload.amount > 50\nkey: "\'BOOK:\' + payload.order"\ndo:\n  http:\n    url: https://vendor.example/orders\n    body: { amount: "{{ payload.amount }}", order: "{{ payload.order }}" }\n    idempotent: true\n',
    )
    expect(findTooMuch(many(200, (i) => ({ path: `${i}.yaml`, text })))).toEqual([])
  })
})
