// Payloads that break a formula, in every field of a route that has one: the error names the position and the type,
// never the value; and a formula that runs for too long is stopped.

import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../core/definitions/documents/index.ts'
import type { Envelope } from '../core/events/event/index.ts'
import { ExpressionError, type Scope } from '../core/expression/index.ts'
import { callScope, compileRoute, itemScope, type Route } from '../core/routing/index.ts'
import { compileDefinitions } from './language.ts'

const SECRET = 'hunter2-4711'
/** Instead of a text: no formula can join a map, and its value must not show. */
const LIST = Array.from({ length: 300 }, (_, index) => index)
const PAYLOAD = { id: { secret: SECRET }, text: SECRET, list: LIST, entries: [{ name: SECRET }] }
const SCOPE: Scope = {
  event: { id: 'evt_1' } as Envelope,
  payload: PAYLOAD,
  header: {},
  source: 's',
  tenant: 't',
  vars: {},
}
const RESPONSE = { status: 200, headers: {}, body: PAYLOAD }

function routeOf(rest: string, action = 'do: { function: work }'): Route {
  const text = `kind: Route\nname: r\non: a.b\n${rest}\n${action}\n`
  const { documents, findings } = compileDefinitions([{ path: 'a.yaml', text }], {
    functions: () => 'sha256:0',
  })
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return compileRoute(documents[0] as RouteDocument)
}

const upsert = (rest: Record<string, string>) => {
  const parts = {
    extRef: '"{{ payload.text }}"',
    find: '{ path: "/{{ extRef }}", found: "true" }',
    create: '{ path: /a, body: "{{ extRef }}" }',
    ...rest,
  }
  const written = Object.entries(parts).map(([name, value]) => `${name}: ${value}`)
  return `do: { upsert: { baseUrl: "https://x.example", ${written.join(', ')} } }`
}

function upsertOf(rest: Record<string, string>) {
  const { action } = routeOf('', upsert(rest))
  if (action.type !== 'upsert') throw new Error('an upsert was written')
  return action
}

/** The fields with formulas, and what runs them with `formula` in their place. */
const FIELDS: readonly (readonly [field: string, run: (formula: string) => unknown])[] = [
  ['key', (formula) => routeOf(`key: "${formula}"`).keyOf(SCOPE)],
  ['each.of', (formula) => routeOf(`each: { of: "${formula}" }`).each?.count(SCOPE)],
  [
    'key of an element',
    (formula) => {
      const route = routeOf(`each: { of: payload.entries }\nkey: "'A:' + element.name + (${formula})"`)
      return route.keyOf(itemScope(route, SCOPE, 0), 0)
    },
  ],
  ['order.by', (formula) => routeOf(`order: { by: "${formula}" }`).lane?.of(SCOPE)],
  ['debounce.by', (formula) => routeOf(`debounce: { by: "${formula}", window: 1s }`).lane?.of(SCOPE)],
  ['concurrency.by', (formula) => routeOf(`concurrency: { limit: 2, by: "${formula}" }`).lane?.of(SCOPE)],
  [
    'order.version',
    (formula) =>
      routeOf(`order: { by: payload.text, version: "${formula}", stale: skip }`).lane?.version?.(SCOPE),
  ],
  ['upsert.extRef', (formula) => upsertOf({ extRef: `"{{ ${formula} }}"` }).scopeOf(SCOPE)],
  [
    'upsert.find.path',
    (formula) =>
      upsertOf({ find: `{ path: "/{{ ${formula} }}", found: "true" }` }).find.render({
        ...SCOPE,
        extRef: 'x',
      }),
  ],
  [
    'upsert.find.found',
    (formula) => upsertOf({ find: `{ path: "/", found: "${formula}" }` }).find.read(SCOPE, RESPONSE),
  ],
  [
    'upsert.create.body',
    (formula) =>
      upsertOf({ create: `{ path: /, body: { a: "x{{ ${formula} }}" } }` }).create.render(
        { ...SCOPE, extRef: 'x' },
        'k',
      ),
  ],
  [
    'with of a batch',
    (formula) => {
      const route = routeOf(
        'batch: { size: 2 }',
        `do: { function: work, with: { a: "{{ batch.map(b, ${formula.replaceAll('payload', 'b.payload')}) }}" } }`,
      )
      return route.action.type === 'function' && route.action.input(callScope(route, SCOPE, 'k'))
    },
  ],
]

function failureOf(run: () => unknown): ExpressionError {
  try {
    run()
  } catch (error) {
    if (error instanceof ExpressionError) return error
    throw error
  }
  throw new Error('nothing failed')
}

describe.each(FIELDS)('%s', (_field, run) => {
  test('[DF16] a payload that breaks it is reported by position and type, never by value', () => {
    const error = failureOf(() => run('payload.id - 1'))
    expect(error.code).toBe('type')
    expect(error.path).toMatch(/payload\.id$/)
    expect(error.valueType).toMatch(/map|list/)
    expect(`${error.message} ${error.path} ${error.valueType}`).not.toContain(SECRET)
  })

  test('[DF16] one that runs for too long is stopped', () => {
    const error = failureOf(() => run('payload.list.map(a, payload.list.map(c, c)).size()'))
    expect(error.code).toBe('steps')
    expect(error.message).not.toContain(SECRET)
  })
})
