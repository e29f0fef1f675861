import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { makeJsonSchema } from './language.ts'

type Json = { [key: string]: unknown }

/** Every position of the schema that may be a text, with its path. */
function* strings(schema: unknown, path: string): Generator<readonly [string, Json]> {
  if (Array.isArray(schema)) {
    for (const [index, item] of schema.entries()) yield* strings(item, `${path}/${index}`)
  } else if (typeof schema === 'object' && schema !== null) {
    const node = schema as Json
    const isText = [node.type].flat().includes('string') || typeof node.const === 'string' || 'enum' in node
    if (isText) yield [path, node]
    for (const [key, value] of Object.entries(node)) yield* strings(value, `${path}/${key}`)
  }
}

const schema = makeJsonSchema()

test('every text has a description', () => {
  const found = [...strings(schema, '#')]
  expect(found.length).toBeGreaterThan(60)
  const meanings = ['pick', 'send', 'name', 'path']
  expect(
    found.filter(([, node]) => !meanings.includes(String(node['x-millrace']))).map(([path]) => path),
  ).toEqual([])
  expect(new Set(found.map(([, node]) => node['x-millrace']))).toEqual(new Set(meanings))
})

test('it is the draft that editors know, and its references resolve', () => {
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
  const text = JSON.stringify(schema)
  expect(text).not.toContain('x-tree')
  const references = [...text.matchAll(/"\$ref":"#\/\$defs\/(\w+)"/g)].map((match) => match[1]!)
  expect(references.length).toBeGreaterThan(5)
  expect(references.filter((name) => !Object.hasOwn(schema.$defs as Json, name))).toEqual([])
})

test('fields with a default are not required', () => {
  const route = (schema.oneOf as Json[]).find((one) => one.title === 'Route')
  expect(route?.required).toEqual(['kind', 'name', 'on'])
})

test('docs/definitions.schema.json is up to date; write it with `npx tsx scripts/write-definitions-schema.ts`', () => {
  const file = new URL('../../docs/definitions.schema.json', import.meta.url)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(schema)
})
