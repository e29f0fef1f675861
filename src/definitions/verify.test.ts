import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  ADDRESSED_SCHEMES,
  hashDocument,
  PLAIN_SCHEMES,
  type SourceDocument,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
} from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './language.ts'

const page = readFileSync(new URL('../../docs/sources.md', import.meta.url), 'utf8')
const ALL = [
  ...PLAIN_SCHEMES,
  ...TIMED_SCHEMES,
  ...ADDRESSED_SCHEMES,
  ...TIMED_ADDRESSED_SCHEMES,
  ...['hmac', 'basic', 'api-key', 'none'],
].sort()

function compile(text: string) {
  const { documents, findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
  return {
    documents: documents as readonly SourceDocument[],
    errors: findings.filter(({ severity }) => severity === 'error'),
  }
}

const source = (verify: string) => compile(`kind: Source\nname: a\nsubject: a.b\nverify: ${verify}`)

test('[SV16] docs/sources.md has a row and an example of every scheme, and they compile', () => {
  const schemes = [...page.matchAll(/```yaml\n(.*?)```/gs)].flatMap(([, text]) => {
    const { documents, errors } = compile(text as string)
    expect(errors).toEqual([])
    // Schedules have none to write.
    return documents.map(({ verify }) => verify.scheme).filter((scheme) => scheme !== 'closed')
  })
  expect([...new Set(schemes)].sort()).toEqual(ALL)
  const table = page.slice(page.indexOf('| scheme | what is signed'), page.indexOf('Where nothing is signed'))
  const rows = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name)
  expect(rows.sort()).toEqual(ALL)
})

test.each([
  ['{ scheme: strype, secret: { env: S } }', 'one of `none`', 'stripe'],
  ['{ scheme: standard-webhook, secret: { env: S } }', 'one of `none`', 'standard-webhooks'],
  ['{ scheme: closed }', 'one of `none`', undefined],
  ['{ scheme: slack }', '`secret` is missing', undefined],
  ['{ scheme: github, secret: { env: S }, tolerance: 5s }', 'there is no field `tolerance`', undefined],
  ['{ scheme: stripe, secret: { env: S }, tolerence: 5s }', 'did you mean `tolerance`', 'tolerance'],
  ['{ scheme: stripe, secret: { env: S }, url: https://a.example }', 'there is no field `url`', undefined],
  [
    '{ scheme: twilio, secret: { env: S }, url: "https://a.example/?a=1" }',
    'leave the query out',
    'https://a.example/',
  ],
  ['{ scheme: square, secret: { env: S }, url: a.example }', 'an address begins with', undefined],
  ['{ scheme: square, secret: { env: S }, url: "https://u:p@a.example" }', 'no user or password', undefined],
  ['{ scheme: basic, secret: { env: S } }', '`username` is missing', undefined],
  ['{ scheme: basic, username: "a:b", secret: { env: S } }', 'no colon', undefined],
])('[SV16] %s: %s', (verify, message, suggestion) => {
  const { errors } = source(verify)
  expect(errors).toHaveLength(1)
  expect(errors[0]?.message).toContain(message)
  if (suggestion !== undefined) expect(JSON.stringify(errors[0])).toContain(suggestion)
})

test.each([
  ['abc', true],
  ['{{ header.x-id }}.{{ header.x-body }}', true],
  ['{{ body }}', false],
  ['{{ header.x-id }}.{{ lower(body) }}', false],
])('[SV18] that `%s` leaves the body unsigned is a warning: %s', (signed, isWarned) => {
  const verify = `{ scheme: hmac, secret: { env: S }, header: x-s, signed: '${signed}' }`
  const text = `kind: Source\nname: a\nsubject: a.b\nverify: ${verify}`
  const { findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
  expect(findings.map(({ rule, severity }) => `${severity} ${rule}`)).toEqual(
    isWarned ? ['warning SV18'] : [],
  )
})

test('[SV15] a source without a schedule cannot be closed by omitting `verify`', () => {
  expect(compile('kind: Source\nname: a\nsubject: a.b').errors).toHaveLength(1)
})

test('[SV16] what is not written is not in the document', () => {
  const verifyOf = (text: string) => source(text).documents[0]?.verify
  expect(verifyOf('{ scheme: stripe, secret: { env: S } }')).toEqual({
    scheme: 'stripe',
    secret: [{ env: 'S' }],
  })
  expect(verifyOf('{ scheme: hubspot, secret: { env: S }, tolerance: 60s, url: https://a.example }')).toEqual(
    {
      scheme: 'hubspot',
      secret: [{ env: 'S' }],
      toleranceMs: 60_000,
      url: 'https://a.example',
    },
  )
  const hashOf = (text: string) => hashDocument(source(text).documents[0] as SourceDocument)
  expect(hashOf('{ scheme: stripe, secret: { env: S }, tolerance: 5m }')).toBe(
    hashOf('{ scheme: stripe, secret: { env: S } }'),
  )
  expect(verifyOf('{ scheme: api-key, secret: { env: S }, header: X-Key }')).toMatchObject({
    header: 'x-key',
    prefix: '',
  })
})
