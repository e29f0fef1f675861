import { describe, expect, test } from 'vitest'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { renderDefinitions } from './documentation.ts'
import { factsOf, makeFactSchema } from './json-schema.ts'
import { compileDefinitions, makeTemplate, readDocuments } from './language.ts'
import { schemaFields } from './schema-fields.ts'

const schema = makeFactSchema()
const fields = [...schemaFields(schema)]

describe('what fields mean', () => {
  test('is documented for every field', () => {
    expect(fields.length).toBeGreaterThan(400)
    const unsaid = fields.filter(({ schema }) => factsOf(schema) === null)
    expect(unsaid.map(({ kind, path }) => `${kind}.${path}`)).toEqual([])
  })

  test('says the default of every field that may be omitted', () => {
    const silent = fields.filter(({ schema, path, isNeeded }) => {
      const found = factsOf(schema)
      return (
        !isNeeded && !path.endsWith('*') && found?.default === undefined && found?.otherwise === undefined
      )
    })
    expect(silent.map(({ kind, path }) => `${kind}.${path}`)).toEqual([])
  })

  test('is in the schema, for editors', () => {
    const tolerance = fields.find(({ path }) => path === 'verify.tolerance')
    expect(tolerance?.schema).toMatchObject({ description: 'How near, in both directions.', default: '300s' })
    expect(fields.filter(({ schema: { description } }) => typeof description !== 'string')).toEqual([])
  })
})

type Tree = { [name: string]: unknown }

/** The same with a retry policy by formula. */
const withBackoff = (kind: string) => (): Tree => {
  const base = (BASES[kind] as () => Tree)()
  const retry = { attempts: 3, backoff: 'exponential' }
  if (kind === 'Workflow')
    Object.assign((base.transitions as { go: Tree }).go, { retry, do: { emit: 'a.c' } })
  return kind === 'Workflow' ? base : { ...base, retry }
}

/** With every map whose fields may be omitted. */
const BASES: Readonly<Record<string, () => Tree>> = {
  Source: () => ({
    kind: 'Source',
    name: 'a',
    verify: { scheme: 'hmac', secret: { env: 'A' }, timestampHeader: 'x-time' },
    subject: 'a.b',
    event: {},
    dedup: {},
    limits: {},
    dispatch: { rules: [{ emit: 'a.c' }] },
    catalog: {},
    respond: {},
    handshake: { when: 'true' },
  }),
  'Source.schedule': () => ({ kind: 'Source', name: 'a', schedule: { cron: '0 2 * * *' } }),
  Route: () => ({
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    deadLetter: {},
    key: 'payload.id + element.id',
    each: { of: 'payload.list' },
    order: { by: 'payload.id' },
    debounce: { by: 'payload.id', window: '1s' },
    circuit: {},
    do: { http: { url: 'https://a.example', probe: { url: 'https://a.example', found: 'true' } } },
  }),
  'Route.batch': () => ({
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    batch: { size: 2 },
    do: { function: 'work' },
  }),
  'Route.forEach': () => ({
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    forEach: { of: 'payload.list' },
    do: { function: 'work' },
  }),
  'Route.steps': () => stepped(BASES.Route?.().do),
  'Route.steps.do.schedule': () => stepped(BASES['Route.do.schedule']?.().do),
  'Route.steps.undo.schedule': () => stepped(BASES['Route.do.schedule']?.().do),
  'Route.steps.do.upsert': () => stepped(BASES['Route.do.upsert']?.().do),
  'Route.steps.undo.upsert': () => stepped(BASES['Route.do.upsert']?.().do),
  'Route.steps.do.upsert.update': () => stepped(BASES['Route.do.upsert.update']?.().do),
  'Route.steps.undo.upsert.update': () => stepped(BASES['Route.do.upsert.update']?.().do),
  'Route.steps.do.upsert.update.method': () => stepped(BASES['Route.do.upsert']?.().do),
  'Route.steps.undo.upsert.update.method': () => stepped(BASES['Route.do.upsert']?.().do),
  'Route.steps.retry': () => ({
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    steps: [{ name: 'one', do: { emit: 'a.c' }, retry: { attempts: 3, backoff: 'exponential' } }],
  }),
  'Route.do.upsert': () => ({
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    do: {
      upsert: {
        baseUrl: 'https://a.example',
        extRef: '{{ key }}',
        find: { path: '/a', found: 'true' },
        create: { path: '/a', body: { ref: '{{ extRef }}' } },
        update: { path: '/a' },
      },
    },
  }),
  'Route.do.upsert.update': () => {
    const route = BASES['Route.do.upsert']?.() as { do: { upsert: { update?: unknown } } } & Tree
    delete route.do.upsert.update
    return route
  },
  'Route.do.upsert.update.method': () => BASES['Route.do.upsert']?.() as Tree,
  'Route.drain.cycles': () => ({
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    drain: { every: '1m', events: 5 },
    do: { function: 'work' },
  }),
  'Profile.drain': () => ({ kind: 'Profile', name: 'a', drain: { every: '1m', events: 5 } }),
  Profile: () => ({ kind: 'Profile', name: 'a', retry: { attempts: 1 } }),
  'Route.do.schedule': () => ({
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    do: { schedule: { name: 'a', cron: '0 2 * * *', emit: 'a.c' } },
  }),
  Workflow: () => ({
    kind: 'Workflow',
    name: 'a',
    start: 'x',
    lock: { by: 'data.id' },
    deadLetter: {},
    compatibility: {},
    triggers: [{ schedule: { cron: '0 2 * * *' } }],
    places: { x: {}, y: { final: true } },
    transitions: { go: { from: 'x', to: 'y', circuit: {} } },
  }),
  'Workflow.triggers.circuit': () => ({
    ...(BASES.Workflow?.() as Tree),
    triggers: [{ on: 'a.b', circuit: {} }],
  }),
  Poller: () => ({
    kind: 'Poller',
    name: 'a',
    deadLetter: {},
    list: { http: { url: 'https://a.example/{{ window.from }}' } },
    paging: { style: 'page', param: 'page' },
    cursor: { field: 'item.at' },
    subject: 'a.b',
    event: { objectId: 'item.id' },
  }),
  Agent: () => ({ kind: 'Agent', name: 'a', baseUrl: 'https://a.example', model: 'm', user: 'hello' }),
  Subscription: () => ({
    kind: 'Subscription',
    name: 'a',
    url: 'https://a.example',
    on: 'a.b',
    order: { by: 'event.objectId' },
    deadLetter: {},
  }),
  Provider: () => ({
    kind: 'Provider',
    name: 'a',
    baseUrl: 'https://a.example',
    auth: 'oauth2',
    oauth2: { tokenUrl: 'https://a.example/token' },
    probe: { path: '/me' },
    operations: { book: { path: '/a', lookup: { path: '/a/{{ key }}', found: 'result.status == 200' } } },
  }),
  'Provider.auth': () => ({ kind: 'Provider', name: 'a', baseUrl: 'https://a.example' }),
  Connection: () => ({ kind: 'Connection', name: 'a', provider: 'open', probe: {}, circuit: {} }),
  Credential: () => ({
    kind: 'Credential',
    name: 'a',
    provider: 'shut',
    auth: 'oauth2',
    secret: { ref: 'a' },
    oauth2: { clientId: 'c' },
    rotation: {},
  }),
  'Credential.hmac': () => ({
    kind: 'Credential',
    name: 'a',
    provider: 'shut',
    auth: 'hmac',
    secret: { ref: 'a' },
    hmac: {},
  }),
  ...Object.fromEntries(
    ['Route', 'Profile', 'Agent', 'Subscription', 'Poller'].flatMap((kind) =>
      ['first', 'factor'].map((field) => [`${kind}.retry.${field}`, withBackoff(kind)]),
    ),
  ),
  'Workflow.transitions.*.retry': withBackoff('Workflow'),
  'Workflow.triggers.retry': () => ({
    ...BASES.Workflow?.(),
    triggers: [{ on: 'a.b', retry: { attempts: 3, backoff: 'exponential' } }],
  }),
}

function stepped(action: Tree[string]): Tree {
  return {
    kind: 'Route',
    name: 'a',
    on: 'a.b',
    steps: [{ name: 'one', circuit: {}, do: action, undo: structuredClone(action) }],
  }
}

const PROVIDERS = compileDefinitions(
  [
    {
      path: 'a.yaml',
      text: `
kind: Provider
name: open
baseUrl: https://a.example
probe: { path: / }
---
kind: Provider
name: shut
baseUrl: https://a.example
auth: [oauth2, hmac]
oauth2: { tokenUrl: https://a.example/token }
`,
    },
  ],
  { functions: () => null },
).documents

/** Of a kind whose maps all have values. */
function templateOf(kind: string): Tree {
  const made = makeTemplate(kind, 'a')
  return readDocuments([{ path: 'a.yaml', text: made.ok ? made.text : '' }]).documents[0]?.value as Tree
}

function hashOf(document: Tree): string {
  const text = JSON.stringify(document)
  const { documents, findings } = compileDefinitions([{ path: 'a.json', text }], {
    functions: () => 'sha256:0',
    deployedDocuments: PROVIDERS,
  })
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return hashDocument(documents[0] as Parameters<typeof hashDocument>[0])
}

const withDefault = fields.flatMap(({ kind, path, schema }) => {
  const value = factsOf(schema)?.default
  return value === undefined ? [] : [{ kind, path, value }]
})

test.each(withDefault)('$kind.$path omitted is the same as $value', ({ kind, path, value }) => {
  const names = path.split('.')
  const within = names.map((_, index) => `${kind}.${names.slice(0, names.length - index).join('.')}`)
  const base = BASES[within.find((name) => Object.hasOwn(BASES, name)) ?? kind] ?? (() => templateOf(kind))
  const document = base()
  const parent = names.slice(0, -1).reduce<Tree>((node, name) => {
    const next = name === '*' ? Object.values(node)[0] : node[name]
    return (Array.isArray(next) ? next[0] : next) as Tree
  }, document)
  parent[names.at(-1) as string] = value
  expect(hashOf(document)).toBe(hashOf(base()))
})

test('docs/definitions-reference.md is up to date; write it with `npm run docs`', async () => {
  await expect(renderDefinitions(schema)).toMatchFileSnapshot('../../docs/definitions-reference.md')
})
