import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileDefinitions } from './compile.ts'
import { lastName } from './key-words.ts'

/** What `lastName` finds, as a regular expression: correct, and slow for long names. */
function byPattern(path: string): string {
  return (/([A-Za-z_][\w-]*)(?:'\])?(?:\[[^\]]*\])*$/.exec(path)?.[1] ?? '')
    .toLowerCase()
    .replaceAll(/[_-]/g, '')
}

test.each([
  ['payload.deliveryId', 'deliveryid'],
  ['payload.lines[0].sent_at', 'sentat'],
  ['payload.attempts[0][1]', 'attempts'],
  ["payload['x y']", 'payload'],
  ['', ''],
])('%j ends with %j', (path, name) => {
  expect(lastName(path)).toBe(name)
})

test('the last name is that of the pattern, for any text', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'B', '_', '-', '0', '.', '[', ']', "'", ' '),
    maxLength: 14,
  })
  fc.assert(
    fc.property(text, (path) => {
      expect(lastName(path)).toBe(byPattern(path))
    }),
    { numRuns: 5_000 },
  )
})

test('[DV51] a long name is read once', () => {
  // By the pattern, this many letters take hours.
  expect(lastName(`payload.${'a'.repeat(1_000_000)}!`)).toBe('')
  expect(lastName(`payload.${'a'.repeat(1_000_000)}`)).toHaveLength(1_000_000)
})

test('[DV51] a name in an expression that is too long is a finding', () => {
  const key = `payload.${'a'.repeat(16_000)}`
  const text = `kind: Route\nname: r\non: shop.paid\nkey: ${key}\ndo: { emit: shop.booked }\n`
  const { findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
  expect(findings).toMatchObject([{ rule: 'F19', line: 4, column: 14, severity: 'error' }])
  const quoted = `'${'a'.repeat(16_000)}' + string(payload.id)`
  const other = text.replace(key, `"${quoted}"`)
  expect(compileDefinitions([{ path: 'a.yaml', text: other }], { functions: () => null }).findings).toEqual(
    [],
  )
})
