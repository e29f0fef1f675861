import { expect, test } from 'vitest'
import { compileDefinitions } from '../compile.ts'
import { KIND_NAMES } from './index.ts'
import { makeTemplate } from './template.ts'

test('the templates of all kinds are valid, together', () => {
  const files = KIND_NAMES.map((kind) => {
    const made = makeTemplate(kind.toLowerCase(), 'sample')
    return { path: `${kind}.yaml`, text: made.ok ? made.text : made.why }
  })
  const { documents, findings } = compileDefinitions(files, { functions: () => null })
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  expect(documents.map(({ kind, name }) => `${kind}/${name}`)).toEqual(
    KIND_NAMES.map((kind) => `${kind}/sample`),
  )
})

test('a kind that does not exist and a name that cannot be one are refused', () => {
  expect(makeTemplate('rout', 'a')).toEqual({ ok: false, why: 'there is no kind `rout`' })
  expect(makeTemplate('route', 'Book Order')).toMatchObject({
    ok: false,
    why: expect.stringContaining('small letters'),
  })
})
