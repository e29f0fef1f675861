// Values that differ by environment: what is found in the documents that define them, and where they are read.
import { describe, expect, test } from 'vitest'
import { compileDefinitions } from './compile.ts'
import type { CompileDeps } from './compile-deps.ts'

const compile = (text: string, deps: Partial<CompileDeps> = {}) =>
  compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null, ...deps })

const errors = (text: string, deps: Partial<CompileDeps> = {}) =>
  compile(text, deps)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, line, column, message }) => ({ rule, at: `${line}:${column}`, message }))

const VARS = `kind: Vars
name: endpoints
values: { crm: https://crm.dev.example, batch: 25 }
environments:
  PROD: { crm: https://crm.example }
`
const route = (url: string, more = '') => `kind: Route
name: r
on: a.b
key: payload.id
do: { http: { method: PUT, url: "${url}" } }
${more}`
const both = (vars: string, url: string) => `${vars}---\n${route(url)}`

test('[VR1] a document has values and what differs by environment', () => {
  expect(compile(VARS).documents).toEqual([
    {
      kind: 'Vars',
      name: 'endpoints',
      description: null,
      values: { crm: 'https://crm.dev.example', batch: 25 },
      environments: { PROD: { crm: 'https://crm.example' } },
    },
  ])
  expect(errors(both(VARS, '{{ vars.crm }}/x'))).toEqual([])
})

describe('definitions', () => {
  test.each([
    ['values: { a: "{{ payload.x }}" }', 'F17', '3:14', 'no template is filled in here'],
    ['values: { a: null }', 'F15', '3:11', 'is empty'],
    ['values: { 1a: 1 }', 'F10', '3:11', 'begins with a letter'],
    ['environments: { STAGE: { a: 1 } }', 'F12', '3:17', 'no field `STAGE`'],
  ])('[VR1] %s', (line, rule, at, message) => {
    expect(errors(`kind: Vars\nname: v\n${line}\n`)).toEqual([
      { rule, at: expect.any(String), message: expect.stringContaining(message) },
    ])
    expect(at).toMatch(/^3:/)
  })

  test.each(['self', 'vendor', 'env'])("[VR2] `%s` is the node's own", (name) => {
    expect(errors(`kind: Vars\nname: v\nvalues: { ${name}: x }\n`)).toMatchObject([
      { rule: 'F10', at: '3:11', message: expect.stringContaining("the node's own") },
    ])
  })

  test('[VR2] a name is defined once, in the files and beside them', () => {
    const second = 'kind: Vars\nname: more\nenvironments: { DEV: { batch: 1 } }\n'
    expect(errors(`${VARS}---\n${second}`)).toMatchObject([
      { rule: 'F11', at: '9:24', message: expect.stringContaining('already, at a.yaml:3:41') },
    ])
    const deployedDocuments = compile(VARS).documents
    expect(errors(second, { deployedDocuments })).toMatchObject([
      { rule: 'F11', message: expect.stringContaining('the deployed Vars `endpoints`') },
    ])
    expect(errors(VARS, { deployedDocuments })).toEqual([])
  })

  test('[VR4] a name without a default has a value wherever it is needed', () => {
    const text = 'kind: Vars\nname: v\nenvironments: { PROD: { a: 1 }, QA: { b: 1 } }\n'
    expect(errors(text, { environment: 'PROD' })).toMatchObject([
      { rule: 'F28', at: '3:25', message: expect.stringContaining('`a` has no value in QA:') },
      { rule: 'F28', at: '3:39', message: expect.stringContaining('`b` has no value in PROD:') },
    ])
    const only = 'kind: Vars\nname: v\nenvironments: { PROD: { a: 1 } }\n'
    expect(errors(only, { environment: 'PROD' })).toEqual([])
    expect(errors(only)).toMatchObject([{ message: expect.stringContaining('no value in DEV:') }])
  })

  test('[VR5] a credential in clear text is refused everywhere', () => {
    const token = `ghp_${'a1B2'.repeat(9)}`
    expect(errors(`kind: Vars\nname: v\nvalues: { a: ${token} }\n`)).toMatchObject([
      { rule: 'SE50', at: '3:14', message: expect.stringContaining('values are no secrets') },
    ])
  })
})

describe('reads', () => {
  test('[VR3] an unknown name is an error where it is read, with the one that is meant', () => {
    expect(errors(both(VARS, '{{ vars.crn }}/x'))).toEqual([
      { rule: 'VR3', at: '11:37', message: 'there is no `vars.crn`: did you mean `vars.crm`?' },
    ])
    expect(errors(route('https://a.example/{{ payload.id }}/{{ vars.other }}'))).toMatchObject([
      { rule: 'VR3', message: expect.stringContaining('define it in a document of `kind: Vars`') },
    ])
  })

  test('[VR3] a deployed document defines names too, and what the node provides is known', () => {
    const deployedDocuments = compile(VARS).documents
    expect(errors(route('{{ vars.crm }}/x'), { deployedDocuments })).toEqual([])
    expect(errors(route('{{ vars.self }}/x'))).toEqual([])
    expect(errors(route('{{ vars.vendor }}/x'))).toEqual([])
  })

  test('[VR3] conditions of workflows are read as well, and texts for people are not', () => {
    const flow = `kind: Workflow
name: w
description: like vars.nothing
states: [{ name: a, initial: true }, { name: b, final: true }]
transitions: [{ name: t, from: a, to: b, when: "data.x > vars.nothing" }]
`
    expect(errors(flow).filter(({ rule }) => rule === 'VR3')).toMatchObject([
      { message: expect.stringContaining('there is no `vars.nothing`') },
    ])
  })

  test('[VR3] a name that a deployed definition reads stays', () => {
    const deployedDocuments = compile(both(VARS, '{{ vars.crm }}/x')).documents
    const fewer = 'kind: Vars\nname: endpoints\nvalues: { batch: 1 }\n'
    expect(errors(fewer, { deployedDocuments })).toMatchObject([
      { rule: 'VR3', message: expect.stringContaining('the deployed Route `r` reads it') },
    ])
    expect(errors(`${fewer}---\n${route('https://a.example')}`, { deployedDocuments })).toEqual([])
  })

  test('[VR11] `env` is known where `vars` is, without a document', () => {
    expect(errors(route('https://{{ env.lower() }}.example/{{ payload.id }}'))).toEqual([])
    const flow = `kind: Workflow
name: w
states: [{ name: a, initial: true }, { name: b, final: true }]
transitions: [{ name: t, from: a, to: b, when: "env == 'PROD' && data.x > 1" }]
`
    expect(errors(flow).filter(({ message }) => message.includes('env'))).toEqual([])
  })

  test.each([
    'key: vars.crm',
    'key: env + payload.id',
    'where: vars.batch == 1',
    "where: env == 'PROD'",
    'order: { by: vars.crm }',
    'order: { by: env }',
  ])('[VR8] not where it could change what is the same effect: %s', (line) => {
    const text = `${VARS}---\n${route('https://a.example', line)}`.replace(
      line.startsWith('key') ? 'key: payload.id\n' : '\0',
      '',
    )
    expect(errors(text)).toMatchObject([
      { rule: 'F13', message: expect.stringContaining('it differs by environment') },
    ])
  })
})
