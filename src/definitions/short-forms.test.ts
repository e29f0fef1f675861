// The shorter forms: each has the meaning and the hash of its long form, and findings at the place where it is written.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './compile.ts'

const compile = (text: string) => compileDefinitions([{ path: 'a.yaml', text }], { functions: () => 'hash' })

const hashesOf = (text: string) => {
  const { documents, findings } = compile(text)
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return documents.map(hashDocument)
}

const found = (text: string) =>
  compile(text)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, line, column, message }) => ({ rule, at: `${line}:${column}`, message }))

const source = (...lines: readonly string[]) => ['kind: Source', 'name: shop', ...lines, ''].join('\n')
const SECRET = 'secret: { env: SHOP_SECRET }'

describe('`vendor` of a source', () => {
  test.each(['github', 'gitlab', 'stripe', 'terraform-cloud', 'slack', 'shopify', 'workfront'])(
    '[SF1] %s stands for the scheme and the subjects',
    (vendor) => {
      expect(hashesOf(source(`vendor: ${vendor}`, SECRET))).toEqual(
        hashesOf(source(`verify: { scheme: ${vendor}, ${SECRET} }`, `subjects: ${vendor}`)),
      )
    },
  )

  test('[SF1] with a subject of its own, or of a vendor without a mapping, it is the scheme alone', () => {
    const subject = 'subject: "shop.events.{{ payload.type }}"'
    for (const vendor of ['stripe', 'linear', 'twilio', 'hubspot']) {
      expect(hashesOf(source(`vendor: ${vendor}`, SECRET, subject))).toEqual(
        hashesOf(source(`verify: { scheme: ${vendor}, ${SECRET} }`, subject)),
      )
    }
  })

  test('[SF1] two secrets while one is rotated', () => {
    const secrets = 'secret: [{ env: NEXT }, { ref: last }]'
    expect(hashesOf(source('vendor: stripe', secrets))).toEqual(
      hashesOf(source(`verify: { scheme: stripe, ${secrets} }`, 'subjects: stripe')),
    )
  })

  test.each([
    [[`vendor: strpe`, SECRET], 'F16', '3:9', 'this is one of'],
    [['vendor: hmac', SECRET], 'F16', '3:9', 'this is one of'],
    [['vendor: stripe'], 'F14', '1:1', '`secret` is missing'],
    [['vendor: stripe', 'secret: whsec_1234'], 'PV12', '4:9', 'a secret is not written here'],
    [['vendor: stripe', 'secret: { evn: A }'], 'F12', '4:11', 'did you mean `env`'],
    [['vendor: linear', SECRET], 'F28', '', 'a source names its events'],
    [['vendor: stripe', SECRET, 'subjects: stripe'], 'F35', '5:1', 'leave it out, or `subjects`'],
    [['vendor: stripe', SECRET, 'verify: { scheme: none }'], 'F35', '5:1', 'leave it out, or `verify`'],
    [[SECRET, 'verify: { scheme: none }', 'subject: a.b'], 'F35', '3:1', 'beside `vendor`'],
  ])('[SF2] %j is refused', (lines, rule, at, words) => {
    const all = found(source(...lines))
    const one = all.find((each) => each.rule === rule)
    expect(all.map((each) => each.rule)).toContain(rule)
    expect(one?.message).toContain(words)
    if (at !== '') expect(one?.at).toBe(at)
  })
})

const route = (key: string, more = '') => `kind: Route
name: book
on: shop.paid
key: ${JSON.stringify(key)}
${more}do: { http: { url: https://books.example/x, keyTtl: 1h } }
`

describe('templates in keys', () => {
  test.each([
    ['BOOKS:INVOICE:{{ payload.data.object.id }}', "'BOOKS:INVOICE:' + string(payload.data.object.id)"],
    ['{{ payload.id }}', 'payload.id'],
    ['{{payload.a}}:{{ payload.b }}', "string(payload.a) + ':' + string(payload.b)"],
    ["it's {{ payload.id }}\\", "'it\\'s ' + string(payload.id) + '\\\\'"],
    ["X:{{ hash(payload.a, '}}') }}", "'X:' + string(hash(payload.a, '}}'))"],
    ["X:{{ {'a': payload.id}['a'] }}", "'X:' + string({'a': payload.id}['a'])"],
  ])('[SF3] %s is the formula %s', (template, formula) => {
    expect(hashesOf(route(template))).toEqual(hashesOf(route(formula)))
  })

  test('[SF3] any text around a template comes back from the formula as it is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes('{') && text !== '')
        const { documents } = compile(route(`${text}{{ payload.id }}`))
        const [document] = documents as readonly { key: string }[]
        expect(document?.key.endsWith(' + string(payload.id)')).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  test('[SF3] an expression that contains braces in a text stays an expression', () => {
    const [document] = compile(route("'{{' + payload.id")).documents as readonly { key: string }[]
    expect(document?.key).toBe("'{{' + payload.id")
  })

  test('[SF3] in the key of a step and in the formula that a migration names', () => {
    const workflow = (key: string) => `kind: Workflow
name: orders
version: 1.0.0
start: new
triggers: [{ on: shop.paid, action: create, correlate: payload.id }]
places: { new: {}, done: { final: true } }
transitions:
  book: { from: new, to: done, key: ${JSON.stringify(key)}, do: { http: { url: https://a.example, keyTtl: 1h } } }
`
    expect(hashesOf(workflow('PRIO:{{ data.id }}'))).toEqual(hashesOf(workflow("'PRIO:' + string(data.id)")))
    const migration = (from: string) =>
      `keyMigration: { from: ${JSON.stringify(from)}, note: the vendor dedups }\n`
    expect(hashesOf(route('B:{{ payload.id }}', migration('A:{{ payload.id }}')))).toEqual(
      hashesOf(route('B:{{ payload.id }}', migration("'A:' + string(payload.id)"))),
    )
  })

  test.each([
    ['X:{{ vars.region }}:{{ payload.id }}', 'F13', '4:12'],
    ['X:{{ payload.id }}:{{ paylod.id }}', 'F20', '4:29'],
    ['X:{{ payload.id }}:{{ header.date }}', 'KY1', '4:29'],
    ["X:{{ payload.id }}:{{ secret('a') }}", 'IX1', '4:29'],
    ['X:{{ payload.id', 'F20', ''],
  ])('[SF4] a finding in %s stands where it is written', (key, rule, at) => {
    const all = found(route(key))
    const one = all.find((each) => each.rule === rule)
    expect(all.length).toBeGreaterThan(0)
    if (at !== '') expect(one?.at).toBe(at)
  })
})

test('[SF5] `deadLetter.channel` is refused by its name', () => {
  const [one] = found(route('A:{{ payload.id }}', 'deadLetter: { channel: ops }\n'))
  expect(one).toMatchObject({ rule: 'F13', at: '5:15' })
  expect(one?.message).toContain('`channel` is not available in this version')
})
