// `millrace fmt`: shorter text, the same documents, and nothing of the author's comments and layout lost.
import { expect, test } from 'vitest'
import { docs, listFiles, read } from '../../test/support/docs.ts'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './compile.ts'
import { lengthenFiles, shortenFiles } from './shorten.ts'
import type { DefinitionFile } from './source-text.ts'

const file = (text: string): DefinitionFile => ({ path: 'a.yaml', text })

const shortened = (text: string): string => {
  const { changed, errors } = shortenFiles([file(text)])
  expect(errors).toEqual([])
  return changed[0]?.text ?? text
}

const LONG = `# Who sends
kind: Source
name: shop
verify: { scheme: stripe, secret: { env: SHOP_SECRET } } # rotated yearly
# Names of events
subjects: stripe
event: { objectType: invoice }
---
kind: Route
name: book
on: [stripe.events.invoice.paid] # only these
key: "'BOOKS:' + string(payload.data.object.id)" # once
do: { http: { url: https://books.example/x, keyTtl: 1h } }
`

test('[SF6] the short form, with every comment where it was', () => {
  expect(shortened(LONG)).toBe(`# Who sends
kind: Source
name: shop
vendor: stripe
secret: { env: SHOP_SECRET } # rotated yearly
# Names of events
event: { objectType: invoice }
---
kind: Route
name: book
on: stripe.events.invoice.paid # only these
key: "BOOKS:{{ payload.data.object.id }}" # once
do: { http: { url: https://books.example/x, keyTtl: 1h } }
`)
})

test.each([
  [
    'a verification with more fields',
    'verify: { scheme: stripe, secret: { env: A }, tolerance: 1m }\nsubjects: stripe\n',
  ],
  ['another mapping', 'verify: { scheme: stripe, secret: { env: A } }\nsubjects: github\n'],
  [
    'a comment that would be lost',
    'verify:\n  scheme: stripe # theirs\n  secret: { env: A }\nsubjects: stripe\n',
  ],
  ['no vendor', 'verify: { scheme: hmac, secret: { env: A } }\nsubject: a.b\n'],
])('[SF6] %s stays as it is', (_name, lines) => {
  const text = `kind: Source\nname: shop\n${lines}`
  expect(shortened(text)).toBe(text)
})

test('[SF6] a formula that is not the sum of texts and `string` stays as it is', () => {
  for (const key of [
    "'A:' + payload.id",
    'string(payload.a) + 1',
    "'A:' + string(payload.a) + payload.b",
    'payload.id',
  ]) {
    const text = `kind: Route\nname: a\non: a.b\nkey: ${JSON.stringify(key)}\ndo: { emit: a.c }\n`
    expect(shortened(text)).toBe(text)
  }
})

test('[SF6] block style and Windows line ends', () => {
  const text = LONG.replace(
    'verify: { scheme: stripe, secret: { env: SHOP_SECRET } } # rotated yearly',
    'verify:\n  scheme: stripe\n  secret:\n    - env: NEXT\n    - env: LAST',
  ).replaceAll('\n', '\r\n')
  expect(shortened(text)).toContain('vendor: stripe\r\nsecret: [ { env: NEXT }, { env: LAST } ]\r\n# Names')
})

test('[SF7] a file with an error stays as it is, and its errors are reported', () => {
  const { changed, errors } = shortenFiles([
    file(LONG.replace('name: book', 'nam: book')),
    { path: 'b.yaml', text: LONG.replace('name: shop', 'name: other').replace('name: book', 'name: order') },
  ])
  expect(changed.map(({ path }) => path)).toEqual(['b.yaml'])
  expect(errors.length).toBeGreaterThan(0)
  expect(errors.every(({ file: path }) => path === 'a.yaml')).toBe(true)
})

test('[SF7] a document that cannot be resolved leaves its file as it is, alone or beside others', () => {
  const profile = { path: 'a.yaml', text: 'kind: Profile\nname: slow\nretry: { attempts: none }\n' }
  const [, route = ''] = LONG.split('---\n')
  const held = `${route}retry: slow\n`
  for (const text of [held, `${held}---\n${route.replace('name: book', 'name: other')}`]) {
    const { changed, errors } = shortenFiles([profile, { path: 'b.yaml', text }])
    expect(errors.map(({ file: path }) => path)).toEqual(['a.yaml'])
    expect(changed).toEqual([])
  }
})

/** All examples, fixtures and blocks of the documentation: a folder or a block is one bundle. */
const bundles: readonly (readonly DefinitionFile[])[] = [
  ...['examples', 'bench/flows', 'src/definitions'].flatMap((folder) =>
    listFiles(folder, '.yaml').map((path) => [{ path, text: read(path) }]),
  ),
  ...docs.flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language, rest, text }) => language === 'yaml' && rest !== 'wrong' && /^kind: /m.test(text))
      .map(({ text, line }) => [{ path: `${path}-${line}.yaml`, text }]),
  ),
]

const hashesOf = (files: readonly DefinitionFile[]) =>
  compileDefinitions(files, { functions: () => 'sha256:0' }).documents.map(
    (document) => `${document.kind}/${document.name} ${hashDocument(document)}`,
  )

test('[SF7] every example, fixture and block keeps its hashes, and a second run changes nothing', () => {
  let count = 0
  for (const files of bundles) {
    const { changed } = shortenFiles(files)
    const now = files.map((one) => changed.find(({ path }) => path === one.path) ?? one)
    expect(hashesOf(now)).toEqual(hashesOf(files))
    expect(shortenFiles(now).changed).toEqual([])
    count += hashesOf(files).length
  }
  expect(count).toBeGreaterThan(100)
})

const STEPS = `kind: Route
name: onboard
on: shop.events.customer.created
key: ONBOARD:{{ payload.id }}
steps:
  - name: account
    do:
      http:
        url: https://crm.example/accounts
        keyTtl: 24h
    out:
      account: result.body.id
    undo:
      http:
        method: DELETE
        url: https://crm.example/accounts/{{ result.body.id }}
  - name: welcome
    delay: 5m
    do:
      emit: mail.events.welcome.due
      data:
        account: "{{ data.account }}"
deadLetter:
  severity: high
`
const lengthened = (text: string): string => {
  const { changed, errors } = lengthenFiles([file(text)])
  expect(errors).toEqual([])
  return changed[0]?.text ?? text
}

test('[SF14] `steps`, `delay` and `forEach` in both directions, among other documents', () => {
  const source =
    'kind: Source\nname: shop # ours\nverify: { scheme: none }\nsubject: shop.events.customer.created\n'
  const long = lengthened(`${source}---\n${STEPS}`)
  expect(long).toContain('kind: Workflow\n')
  expect(long).toContain("'ONBOARD:' + string(payload.id)")
  expect(long.startsWith(source)).toBe(true)
  expect(shortened(long)).toBe(`${source}---\n${STEPS}`)
  expect(shortened(shortened(long))).toBe(shortened(long))

  const each = `kind: Route
name: hours
on: time.approved
key: "HOURS:{{ entry.id }}"
do:
  emit: time.hours
forEach:
  of: payload.entries
  as: entry
  parallel: 3
`
  expect(lengthened(each)).toContain('by: event.id')
  expect(shortened(lengthened(each))).toBe(each)

  const waiting = `kind: Workflow
name: offer
start: sent
triggers:
  - on: shop.sent
places:
  sent: {}
  late:
    type: error
transitions:
  expire:
    from: sent
    to: late
    delay: 2d
`
  expect(lengthened(waiting)).toContain('on: timer')
  expect(shortened(lengthened(waiting))).toBe(waiting)
})

test('[SF14] a workflow that says more than steps, or has a comment, stays as it is', () => {
  const long = lengthened(STEPS)
  for (const text of [
    long.replace('name: onboard\n', 'name: onboard # ours\n'),
    long.replace('unique: live', 'unique: ever'),
    long.replace('unique: live\n', 'unique: live\n    map: { id: payload.id }\n'),
    long.replaceAll('rolling_back', 'going_back'),
  ]) {
    expect(text).not.toBe(long)
    expect(shortened(text)).toContain('kind: Workflow')
  }
})
