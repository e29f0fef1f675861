// Values of `vars` in numbers, durations, sizes and booleans of definitions.
import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './compile.ts'
import type { CompileDeps } from './compile-deps.ts'

const compile = (text: string, deps: Partial<CompileDeps> = {}) =>
  compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null, ...deps })
const errors = (text: string, deps: Partial<CompileDeps> = {}) =>
  compile(text, deps)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, line, column, message }) => ({ rule, at: `${line}:${column}`, message }))

const VARS = `kind: Vars
name: limits
values: { perMinute: 120, wait: 30s, word: abc, isLive: true, shop: https://shop.example }
environments:
  PROD: { perMinute: 600 }
`
const route = (more: string) => `kind: Route
name: r
on: a.b
key: payload.id
rateLimit: { perMinute: "{{ vars.perMinute }}", burst: 10 }
${more}do: { http: { method: PUT, url: "https://a.example/x" } }
`
const both = (more = '', vars = VARS) => `${vars}---\n${route(more)}`
const routeOf = (text: string, deps: Partial<CompileDeps> = {}) =>
  compile(text, deps).documents.find(({ kind }) => kind === 'Route') as RouteDocument

describe('[VR12] a value is filled in before anything is checked', () => {
  test('as if it were written there, in each environment its own', () => {
    expect(errors(both())).toEqual([])
    expect(routeOf(both())).toMatchObject({
      rateLimit: { perMinute: 120, burst: 10 },
      filledVars: { perMinute: 120 },
    })
    expect(routeOf(both(), { environment: 'PROD' })).toMatchObject({ rateLimit: { perMinute: 600 } })
  })

  test('in durations of lists, and in booleans', () => {
    const text = both('retry: { attempts: 3, delays: [1s, "{{ vars.wait }}"] }\n').replace(
      'x" }',
      'x", idempotent: "{{ vars.isLive }}" }',
    )
    expect(errors(text)).toEqual([])
    expect(routeOf(text)).toMatchObject({ filledVars: { perMinute: 120, wait: '30s', isLive: true } })
  })

  test('a text stays a template', () => {
    const text = both().replace('https://a.example', '{{ vars.shop }}')
    expect(errors(text)).toEqual([])
    expect(routeOf(text)).toMatchObject({ do: { url: '{{ vars.shop }}/x' }, filledVars: { perMinute: 120 } })
  })

  test('a document without one has the hash that it had', () => {
    const plain = both().replace('"{{ vars.perMinute }}"', '120')
    expect(routeOf(plain)).not.toHaveProperty('filledVars')
  })

  test.each([
    ['word', 'F15', '`vars.word` is `"abc"` in DEV, and this must be a number, not a text'],
    ['wait', 'F15', '`vars.wait` is `"30s"` in DEV, and this must be'],
    ['nothing', 'VR3', 'there is no `vars.nothing`'],
    ['self', 'F15', 'this must be a number, not a text'],
  ])('one of another type is refused where it is read: vars.%s', (name, rule, message) => {
    expect(errors(both().replace('vars.perMinute', `vars.${name}`))).toEqual([
      { rule, at: expect.stringMatching(/^11:/), message: expect.stringContaining(message) },
    ])
  })

  test('the values of every environment that is named must fit', () => {
    const vars = VARS.replace('perMinute: 600', 'perMinute: many')
    expect(errors(both('', vars))).toEqual([
      {
        rule: 'F15',
        at: '11:25',
        message: expect.stringContaining('`vars.perMinute` is `"many"` in PROD, and'),
      },
    ])
  })

  test('bounds hold', () => {
    expect(errors(both('', VARS.replace('perMinute: 120', 'perMinute: 0')))).toMatchObject([
      {
        rule: 'F19',
        message: expect.stringContaining('`vars.perMinute` is `0` in DEV, and this is at least 1'),
      },
    ])
  })
})

test('[VR8] not where it decides what is the same effect', () => {
  const source = `kind: Source
name: s
verify: { scheme: none }
subject: a.b
event: { id: payload.id }
dedup: { by: event.id, window: "{{ vars.wait }}" }
`
  expect(errors(`${VARS}---\n${source}`)).toMatchObject([
    { rule: 'F13', message: expect.stringContaining('not available in `dedup`') },
  ])
})

test('[VR12] deployed definitions are filled in again when a value changes, and stay as they are otherwise', () => {
  const deployedDocuments = compile(both()).documents
  const filledBeside = [{ path: 'r.yaml', text: route('') }]
  const changed = compile(VARS.replace('120', '60'), { deployedDocuments, filledBeside })
  expect(changed.definitions.map(({ document }) => document.kind)).toEqual(['Vars'])
  expect(changed.refilled).toMatchObject([
    { document: { kind: 'Route', rateLimit: { perMinute: 60 } }, authored: { path: 'r.yaml' } },
  ])
  expect(compile(VARS, { deployedDocuments, filledBeside }).refilled).toEqual([])
  const wrong = compile(VARS.replace('120', 'x'), { deployedDocuments, filledBeside })
  expect(wrong.findings).toMatchObject([
    { file: 'r.yaml', line: 5, message: expect.stringContaining('`vars.perMinute` is `"x"` in DEV') },
  ])
})

test('[VR3] a name that is filled into a deployed definition stays', () => {
  const deployedDocuments = compile(both()).documents
  const fewer = 'kind: Vars\nname: limits\nvalues: { word: x }\n'
  expect(errors(fewer, { deployedDocuments })).toMatchObject([
    { rule: 'VR3', message: expect.stringContaining('`vars.perMinute` is gone from here') },
  ])
})

test('[VR14] a setting takes precedence, and one of another type is an error where the name is defined', () => {
  expect(routeOf(both(), { varSettings: { perMinute: '90' } })).toMatchObject({
    rateLimit: { perMinute: 90 },
  })
  expect(errors(both(), { varSettings: { perMinute: 'many' } })).toMatchObject([
    { rule: 'VR14', at: '3:22', message: expect.stringContaining('`MILLRACE_VAR_perMinute` cannot be used') },
  ])
})
