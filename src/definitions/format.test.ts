import { expect, test } from 'vitest'
import { formatFindings } from './index.ts'
import { compileDefinitions, KIND_NAMES } from './language.ts'

test('a finding is printed with its position, its line, a caret and what to write', () => {
  const files = [
    {
      path: 'flows/a.yaml',
      text: '\ufeffkind: Route\r\nname: r\r\non: a.b\r\nwhere: payload.a = 5\r\ndo: { http: { url: "https://x.example/" } }\r\n',
    },
    { path: 'flows/b.json', text: '{\n\t"kind":\t"Rout"\n}' },
  ]
  const { findings } = compileDefinitions(files, { functions: () => null })
  expect(formatFindings(findings, files)).toBe(`flows/a.yaml:4:18 error F20: write \`==\` to compare
  4 | where: payload.a = 5
    |                  ^
  write: payload.a == 5

flows/a.yaml:5:7 warning F32: an unknown outcome will park for a person: a time-out may hide that the call succeeded. Write \`probe\` to look, \`keyTtl\` if the vendor keeps \`Idempotency-Key\`, or \`idempotent: true\`
  5 | do: { http: { url: "https://x.example/" } }
    |       ^

flows/b.json:2:10 error F8: there is no kind \`Rout\`, but ${KIND_NAMES.map((kind) => `\`${kind}\``).join(', ')}
  2 | \t"kind":\t"Rout"
    | \t       \t^
  write: "Route"

2 errors, 1 warning
`)
})

test('long lines are cut around the position, and a file cannot control the terminal', () => {
  const finding = { severity: 'error', rule: 'F1', message: 'm', file: 'a', line: 1, column: 301 } as const
  const text = `${'x'.repeat(300)}\u001b[2J${'y'.repeat(300)}`
  const lines = formatFindings([finding], [{ path: 'a', text }]).split('\n')
  expect(lines[1]?.length).toBeLessThan(180)
  expect(lines[1]).not.toContain('\u001b')
  expect(lines[1]?.[lines[2]!.indexOf('^')]).toBe('\ufffd')
})

test('without findings there is a summary', () => {
  expect(formatFindings([], [])).toBe('0 errors, 0 warnings\n')
})
