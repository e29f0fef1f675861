// Every body of every operation in the OpenAPI document, with each of its fields missing, of another type, too large or hostile, for
// rows that exist. The fields follow the document and the requests `test/support/every-operation.ts`: a new operation
// is covered without a change here.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OpenApiSchema, readDocument } from '../src/http/document.fixture.ts'
import { closeAccounts, keys, node, openAccounts, RECIPES, VICTIM } from './support/every-operation.ts'

beforeAll(openAccounts)
afterAll(closeAccounts)

const document = await readDocument()
/** They take from others what those need to be there. */
const LAST = /^(?:apply|rollback|delete|remove|retire|revoke|cancel|discard|disable)/
const operations = Object.entries(document.paths)
  .flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      id: operation.operationId,
      role: operation['x-millrace-role'],
      method: method.toUpperCase(),
      path,
      schema: operation.requestBody?.content['application/json']?.schema,
    })),
  )
  .filter(({ id, schema }) => schema !== undefined && RECIPES[id] !== undefined)
  .sort((a, b) => Number(LAST.test(a.id)) - Number(LAST.test(b.id)))

/** As JSON text: some cannot be written by `JSON.stringify`. */
const HOSTILE: readonly string[] = [
  ...['null', 'true', '0', '-1', '1.5', '-0', '1e400', '12345678901234567890', '0.1000000000000000000001'],
  ...[
    '""',
    '" "',
    '"none"',
    '"\\u0000"',
    '"\\ud800"',
    '"__proto__"',
    '"{{ payload }}"',
    '"2026-02-30T00:00:00Z"',
  ],
  ...['[]', '[null]', '[[]]', '{}', '{"__proto__":{"a":1}}', '{"constructor":1}', '[{"":[]}]'],
  `"${'x'.repeat(20_000)}"`,
  `[${'"a",'.repeat(5_000)}"a"]`,
  '['.repeat(70) + ']'.repeat(70),
  `${'{"a":'.repeat(50)}1${'}'.repeat(50)}`,
]
const NO_OBJECTS = ['null', '[]', '1', '"x"', '', '{', '{"a":1,"a":2}', '{"a":NaN}', '\u0000', '[[[]]]']

type Step = string | number
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function resolve(schema: OpenApiSchema): OpenApiSchema {
  if (schema.$ref === undefined) return schema
  return resolve(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})
}

/** Every place of a body: those of the schema, and those of the request at hand. */
function placesOf(
  schema: OpenApiSchema,
  body: unknown,
  path: readonly Step[] = [],
): readonly (readonly Step[])[] {
  if (path.length > 3) return []
  const shape = resolve(schema)
  const own = isObject(body) ? Object.keys(body) : []
  const parts = [shape, ...(shape.anyOf ?? []), ...(shape.oneOf ?? [])].map(resolve)
  const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {})) as Record<
    string,
    OpenApiSchema
  >
  const names = new Set([...Object.keys(properties), ...own])
  const below = [...names].flatMap((name) =>
    placesOf(properties[name] ?? {}, isObject(body) ? body[name] : undefined, [...path, name]),
  )
  const items = parts.find((part) => part.items !== undefined)?.items
  const within =
    items === undefined ? [] : placesOf(items, Array.isArray(body) ? body[0] : undefined, [...path, 0])
  return [...(path.length === 0 ? [] : [path]), ...below, ...within]
}

const MARK = '\u0001here\u0001'

/** The body with the text at a place; undefined removes what is there. */
function bodyWith(body: unknown, path: readonly Step[], text: string | undefined): string {
  const put = (value: unknown, [step, ...rest]: readonly Step[]): unknown => {
    if (step === undefined) return text === undefined ? undefined : MARK
    if (typeof step === 'number') return [put(Array.isArray(value) ? value[step] : undefined, rest)]
    const held = isObject(value) ? value : {}
    return { ...held, [step]: put(held[step], rest) }
  }
  return JSON.stringify(put(body, path)).replace(JSON.stringify(MARK), () => text ?? '')
}

async function faultOf(method: string, address: string, key: string, body: string): Promise<string | null> {
  const answer = await fetch(`${node.app.url}${address}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
  const text = await answer.text()
  if (answer.status < 400) return null
  const said = `${answer.status} for ${body.slice(0, 300)}: ${text.slice(0, 300)}`
  if (answer.status >= 500) return said
  const problem = answer.headers.get('content-type')?.startsWith('application/problem+json') === true
  return problem && JSON.parse(text).status === answer.status ? null : said
}

test('there is something to test', () => {
  expect(operations.length).toBeGreaterThan(50)
})

describe('[AP28] no body makes an operation fail', () => {
  test.each(operations)('$id', async ({ id, role, method, path, schema = {} }) => {
    const key = String(role === 'node' ? keys.node : keys[`${VICTIM} admin`])
    const faults: (string | null)[] = []
    for (const { params = {}, body } of [RECIPES[id]?.() ?? []].flat()) {
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(params[name] ?? 'none'),
      )
      const texts = placesOf(schema, body).flatMap((place) =>
        [...HOSTILE, undefined].map((text) => bodyWith(body, place, text)),
      )
      for (const text of new Set([...NO_OBJECTS, ...texts]))
        faults.push(await faultOf(method, address, key, text))
    }
    expect(faults.length).toBeGreaterThan(NO_OBJECTS.length - 1)
    expect(faults.filter((fault) => fault !== null)).toEqual([])
  })
})
