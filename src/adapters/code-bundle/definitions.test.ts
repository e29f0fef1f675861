// Definitions in code: the same documents as YAML, and findings at the right position.

import { afterEach, describe, expect, test } from 'vitest'
import { hashDocument } from '../../core/definitions/documents/index.ts'
import { formatFindings } from '../../definitions/index.ts'
import { loadTestFolder, makeTestFolder, type TestFolder } from './folder.fixture.ts'

const folders: TestFolder[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) folder[Symbol.dispose]()
})

async function load(files: Readonly<Record<string, string>>) {
  const folder = makeTestFolder(files)
  folders.push(folder)
  const { definitions, findings, files: read } = await loadTestFolder(folder)
  return { documents: definitions.map(({ document }) => document), definitions, findings, read }
}

const PAIRS: readonly (readonly [what: string, yaml: string, code: string])[] = [
  [
    'a source with a ready mapping',
    `kind: Source
name: github
verify: { scheme: github, secret: { env: GITHUB_WEBHOOK_SECRET } }
subjects: github
`,
    `defineSource({ name: 'github', verify: { scheme: 'github', secret: { env: 'GITHUB_WEBHOOK_SECRET' } }, subjects: 'github' })`,
  ],
  [
    'a source with everything',
    `kind: Source
apiVersion: millrace/v1
name: shop
description: Orders of the shop.
verify:
  scheme: hmac
  secret: [{ env: NEW_SECRET }, { env: OLD_SECRET }]
  header: X-Shop-Signature
  algorithm: sha512
  encoding: base64
  prefix: "v1="
  signed: "{{ header.x-time }}.{{ body }}"
  timestampHeader: x-time
  tolerance: 2m
subject: "shop.events.{{ payload.type }}"
event: { id: payload.id, objectType: order, objectId: payload.order.id, occurredAt: payload.at }
dedup: { by: payload.id, window: 1d }
limits: { body: 64KiB, depth: 8 }
status: disabled
`,
    `defineSource({
  apiVersion: 'millrace/v1',
  status: 'disabled',
  limits: { depth: 8, body: '64KiB' },
  name: 'shop',
  description: 'Orders of the shop.',
  verify: {
    scheme: 'hmac', secret: [{ env: 'NEW_SECRET' }, { env: 'OLD_SECRET' }], header: 'X-Shop-Signature', algorithm: 'sha512',
    encoding: 'base64', prefix: 'v1=', signed: '{{ header.x-time }}.{{ body }}', timestampHeader: 'x-time', tolerance: '2m',
  },
  subject: 'shop.events.{{ payload.type }}',
  event: { id: 'payload.id', objectType: 'order', objectId: 'payload.order.id', occurredAt: 'payload.at' },
  dedup: { by: 'payload.id', window: '1d' },
})`,
  ],
  [
    'a route that calls',
    `kind: Route
name: book
on: [shop.events.paid, "shop.*.late"]
where: { all: [{ path: payload.total, atLeast: 100 }, "payload.currency == 'EUR'"] }
key: "'BOOK:' + payload.id"
uniqueness: record
retry: { attempts: 3, delays: [1s, 5m] }
maxWait: 2h
deadLetter: { severity: high, runbook: docs/book.md }
do:
  http:
    url: "https://books.example.com/{{ payload.id }}"
    headers: { X-Team: orders }
    body: { id: "{{ payload.id }}", lines: ["{{ payload.lines }}", 1, null, true] }
    keyTtl: 24h
    probe: { url: "https://books.example.com?ref={{ key }}", found: result.body.size() > 0, after: 5s }
  timeout: 20s
  classify: { 409: done, 423: transient }
`,
    `defineRoute({
  name: 'book',
  on: ['shop.events.paid', 'shop.*.late'],
  where: { all: [{ path: 'payload.total', atLeast: 100 }, expr\`payload.currency == \${'EUR'}\`] },
  key: expr\`'BOOK:' + payload.id\`,
  uniqueness: 'record',
  retry: { attempts: 3, delays: ['1s', '5m'] },
  maxWait: '2h',
  deadLetter: { severity: 'high', runbook: 'docs/book.md' },
  do: {
    http: {
      url: 'https://books.example.com/{{ payload.id }}',
      headers: { 'X-Team': 'orders' },
      body: { id: '{{ payload.id }}', lines: ['{{ payload.lines }}', 1, null, true], nothing: undefined },
      keyTtl: '24h',
      probe: { url: 'https://books.example.com?ref={{ key }}', found: 'result.body.size() > 0', after: '5s' },
    },
    timeout: '20s',
    classify: { 409: 'done', 423: 'transient' },
  },
})`,
  ],
  [
    'a route that emits',
    `kind: Route
name: announce
on: shop.events.paid
status: paused
retry: STEP
do: { emit: shop.booked, data: { id: "{{ payload.id }}" } }
`,
    `defineRoute({ name: 'announce', on: 'shop.events.paid', status: 'paused', retry: 'STEP', do: { emit: 'shop.booked', data: { id: '{{ payload.id }}' } } })`,
  ],
  [
    'a route with a function',
    `kind: Route
name: count
on: shop.events.paid
do: { function: count_hours, with: { hours: "{{ payload.hours }}" } }
`,
    `defineRoute({ name: 'count', on: 'shop.events.paid', do: countHours.with({ hours: '{{ payload.hours }}' }) })`,
  ],
  [
    'a route that hands a function the payload',
    `kind: Route
name: count_all
on: shop.events.paid
do: { function: count_hours, timeout: 5s }
`,
    `defineRoute({ name: 'count_all', on: 'shop.events.paid', do: { ...countHours.with(), timeout: '5s' } })`,
  ],
  [
    'a profile',
    'kind: Profile\nname: gentle\nretry: { attempts: 2, delays: [10m] }\n',
    `defineProfile({ name: 'gentle', retry: { attempts: 2, delays: ['10m'] } })`,
  ],
  [
    'a profile that tries once',
    'kind: Profile\nname: once\ndescription: Never again.\nretry: { attempts: 1 }\n',
    `defineProfile({ name: 'once', description: 'Never again.', retry: { attempts: 1 } })`,
  ],
]

const FUNCTIONS = `import { defineFunction } from 'millrace'
export const countHours = defineFunction({
  name: 'count_hours',
  timeout: '45s',
  run: (input: { hours: number }) => input.hours,
})
`

describe('the same in YAML and in TypeScript', () => {
  test.each(PAIRS)('[FN7] %s', async (_what, yaml, code) => {
    const file = `import { defineProfile, defineRoute, defineSource, expr } from 'millrace'
import { countHours } from './functions.ts'
void [defineProfile, defineRoute, defineSource, expr, countHours]
export default ${code}
`
    const written = await load({ 'functions.ts': FUNCTIONS, 'a.yaml': yaml })
    const coded = await load({ 'functions.ts': FUNCTIONS, 'a.ts': file })
    expect(written.findings, formatFindings(written.findings, written.read)).toEqual([])
    expect(coded.findings, formatFindings(coded.findings, coded.read)).toEqual([])
    expect(coded.documents).toHaveLength(1)
    expect(coded.documents).toEqual(written.documents)
    expect(coded.documents.map(hashDocument)).toEqual(written.documents.map(hashDocument))
  })

  test('[FN7] a definition in code is shown as YAML that gives the same definition again', async () => {
    const coded = await load({
      'a.ts': `import { defineSource } from 'millrace'\nexport default ${PAIRS[1]?.[2]}`,
    })
    const { text, path } = coded.definitions[0]?.authored ?? { text: '', path: '' }
    expect(path).toBe('a.ts')
    expect((await load({ 'a.yaml': text })).documents).toEqual(coded.documents)
  })

  test('[FN11] a route without a timeout has the function’s, and 10 s if the function has none', async () => {
    const { documents } = await load({
      'functions.ts': FUNCTIONS,
      'plain.ts': `import { defineFunction } from 'millrace'
export const plain = defineFunction({ name: 'plain', run: () => null })`,
      'a.yaml': `kind: Route
name: a
on: x.y
do: { function: count_hours }
---
kind: Route
name: b
on: x.y
do: { function: count_hours, timeout: 1s }
---
kind: Route
name: c
on: x.y
do: { function: plain }
`,
    })
    expect(documents.map((document) => document.kind === 'Route' && document.do)).toMatchObject([
      { timeoutMs: 45_000 },
      { timeoutMs: 1_000 },
      { timeoutMs: 10_000 },
    ])
  })
})

describe('what counts as a definition', () => {
  test('[FN8] exports and elements of exported lists; other values and files are ignored', async () => {
    const { documents, findings } = await load({
      'many.ts': `import { defineProfile, defineRoute } from 'millrace'
export const once = defineProfile({ name: 'once', retry: { attempts: 1 } })
export default once
export const settings = { kind: 'circle', size: 3 }
const hidden = defineProfile({ name: 'hidden', retry: { attempts: 1 } })
export const routes = ['a', 'b'].map((name) => defineRoute({ name, on: 'x.' + name, do: { emit: 'y.' + name } }))
export const count = routes.length + [hidden].length
`,
      'script.js': "throw new Error('never loaded: it has nothing to do with definitions')",
      'many.test.ts': "import { nothing } from './nowhere.ts'\nnothing()",
      'types.d.ts': 'declare const x: ///',
    })
    expect(findings).toEqual([])
    expect(documents.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'Profile once',
      'Route a',
      'Route b',
    ])
  })

  test('[FN8] a file that re-exports a definition of another adds nothing', async () => {
    const { documents, findings } = await load({
      'a-index.ts': "export { countHours } from './functions.ts'\nexport { once } from './profiles.ts'\n",
      'functions.ts': FUNCTIONS,
      'profiles.ts':
        "import { defineProfile } from 'millrace'\nexport const once = defineProfile({ name: 'once', retry: { attempts: 1 } })\n",
    })
    expect(findings).toEqual([])
    expect(documents.map(({ name }) => name)).toEqual(['once'])
  })
})

type Wrong = readonly [
  what: string,
  files: Readonly<Record<string, string>>,
  place: string,
  rule: string,
  message: RegExp,
]

const WRONG: readonly Wrong[] = [
  [
    '[FN1] syntax',
    { 'a.ts': "import 'millrace'\nexport const = 1\n" },
    'a.ts:2:14',
    'FN1',
    /Expected identifier/,
  ],
  [
    '[FN1] an umlaut before the mistake',
    { 'a.ts': "import 'millrace'\nconst ü = 'äö' x\n" },
    'a.ts:2:16',
    'FN1',
    /Expected ";"/,
  ],
  [
    '[FN1] a package',
    { 'a.ts': "import 'millrace'\nimport y from 'left-pad/x'\nexport default y\n" },
    'a.ts:2:15',
    'FN1',
    /no package `left-pad`: install it/,
  ],
  [
    '[FN1] a file',
    { 'a.ts': "import 'millrace'\nexport * from './gone.ts'\n" },
    'a.ts:2:15',
    'FN1',
    /no file `.\/gone.ts`/,
  ],
  [
    '[FN1] a file of a file',
    { 'a.ts': "import 'millrace'\nimport './lib/b.ts'\n", 'lib/b.ts': "import './c.ts'\n" },
    'lib/b.ts:1:8',
    'FN1',
    /no file `.\/c.ts`/,
  ],
  [
    '[FN1] a name of millrace',
    {
      'a.ts':
        "import {\n  defineRoute,\n  defineRout,\n} from 'millrace'\nexport default [defineRoute, defineRout]\n",
    },
    'a.ts:3:3',
    'FN1',
    /`millrace` has no `defineRout`/,
  ],
  [
    '[FN1] a part of millrace',
    { 'a.ts': "import 'millrace'\nimport 'millrace/client'\n" },
    'a.ts:2:8',
    'FN1',
    /import from `millrace`/,
  ],
  [
    '[FN2] a throw',
    {
      'a.ts': "import 'millrace'\n\nexport const x: never = (() => { throw new Error('no such file') })()\n",
    },
    'a.ts:3:40',
    'FN2',
    /loading this failed: no such file/,
  ],
  [
    '[FN2] a throw of a file that is imported',
    {
      'a.ts': "import 'millrace'\nimport { b } from './lib/b.ts'\nexport const x = b()\n",
      'lib/b.ts': 'export function b(): number {\n  return (null as any).x\n}\n',
    },
    'lib/b.ts:2:24',
    'FN2',
    /Cannot read properties of null/,
  ],
  [
    '[FN2] something that is no error',
    { 'a.ts': "import 'millrace'\nthrow 'text'\n" },
    'a.ts:1:1',
    'FN2',
    /loading this failed: text/,
  ],
  [
    '[FN3] too much',
    {
      'a.ts': "import 'millrace'\nexport { default } from 'large'\n",
      'node_modules/large/index.js': `export default '${'x'.repeat(6_000_000)}'`,
    },
    'a.ts:1:1',
    'FN3',
    /at most 5 are allowed/,
  ],
  [
    '[FN4] two of one name',
    { 'functions.ts': FUNCTIONS, 'more.ts': FUNCTIONS },
    'more.ts:3:3',
    'FN4',
    /already, at functions.ts:3:3/,
  ],
  [
    '[FN5] a date',
    {
      'a.ts':
        "import { defineRoute } from 'millrace'\nexport default defineRoute({\n  name: 'a',\n  on: 'x.y',\n  do: { emit: 'y.z', data: { at: new Date(0) as any } },\n})\n",
    },
    'a.ts:3:3',
    'FN5',
    /the Route\.do\.data\.at is a Date/,
  ],
  [
    '[FN6] no run',
    {
      'a.ts':
        "import { defineFunction } from 'millrace'\nexport const a = defineFunction({\n  name: 'a',\n} as any)\n",
    },
    'a.ts:3:3',
    'FN6',
    /`run` is the code/,
  ],
  [
    '[FN6] a timeout',
    {
      'a.ts':
        "import { defineFunction } from 'millrace'\nexport const a = defineFunction({\n  name: 'a',\n  timeout: '1d',\n  run: () => 1,\n})\n",
    },
    'a.ts:4:3',
    'FN6',
    /from 1ms to 10m/,
  ],
  [
    '[FN6] a schema',
    {
      'a.ts':
        "import { defineFunction } from 'millrace'\nexport const a = defineFunction({\n  name: 'a',\n  input: { type: 'object' } as any,\n  run: () => 1,\n})\n",
    },
    'a.ts:4:3',
    'FN6',
    /Standard Schema/,
  ],
  ...["'acme'", '[1]', "['Acme']"].map(
    (tenants): Wrong => [
      `[FN6] tenants: ${tenants}`,
      {
        'a.ts': `import { defineFunction } from 'millrace'\nexport const a = defineFunction({\n  name: 'a',\n  tenants: ${tenants} as any,\n  run: () => 1,\n})\n`,
      },
      'a.ts:4:3',
      'FN6',
      /names of tenants, or 'all'/,
    ],
  ),
  ...["'a.b'", '[1]', "['a b']"].map(
    (emits): Wrong => [
      `[FN6] emits: ${emits}`,
      {
        'a.ts': `import { defineFunction } from 'millrace'\nexport const a = defineFunction({\n  name: 'a',\n  emits: ${emits} as any,\n  run: () => 1,\n})\n`,
      },
      'a.ts:4:3',
      'FN6',
      /list of subjects/,
    ],
  ),
  [
    '[FN9] a name',
    {
      'a.ts':
        "import { defineFunction } from 'millrace'\nexport const a = defineFunction({ name: 'exportHours', run: () => 1 })\n",
    },
    'a.ts:2:35',
    'F10',
    /small letters/,
  ],
]

describe('findings', () => {
  test.each(WRONG)('%s', async (_what, files, place, rule, message) => {
    const { findings } = await load(files)
    const mine = findings.filter((finding) => finding.file.endsWith('.ts'))
    expect(mine.map(({ file, line, column }) => `${file}:${line}:${column}`)).toEqual([place])
    expect(mine[0]?.rule).toBe(rule)
    expect(mine[0]?.message).toMatch(message)
  })

  test('[FN9] a field of a definition is found after its name, and not in another definition', async () => {
    const { findings } = await load({
      'routes.ts': `import { defineRoute } from 'millrace'

export const first = defineRoute({
  name: 'first',
  on: 'x.y',
  key: 'payload.id',
  do: { emit: 'y.z' },
})

export const second = defineRoute({
  name: 'second',
  on: 'x.y',
  key: 'payload.id +',
  do: { emit: 'y.z', data: {}, timeout: '5s' } as any,
})

const make = (name: string) => defineRoute({ name, on: 'x..y', do: { emit: 'y.z' } })
export const third = make('third')
`,
    })
    expect(findings.map(({ line, column, rule }) => `${line}:${column} ${rule}`)).toEqual([
      '13:3 F20',
      '14:32 F35',
      '18:1 F24',
    ])
  })

  test('[FN1] a function of a file that cannot be loaded is not also reported missing', async () => {
    const { findings } = await load({
      'functions.ts': `${FUNCTIONS}throw new Error('broken')\n`,
      'a.yaml': 'kind: Route\nname: a\non: x.y\ndo: { function: count_hours }\n',
    })
    expect(findings.map(({ rule, file, line }) => `${rule} ${file}:${line}`)).toEqual(['FN2 functions.ts:7'])
  })

  test('[FN9] a definition that is in YAML too is reported with both positions', async () => {
    const { findings } = await load({
      'a.yaml': 'kind: Profile\nname: once\nretry: { attempts: 1 }\n',
      'b.ts':
        "import { defineProfile } from 'millrace'\nexport default defineProfile({ name: 'once', retry: { attempts: 1 } })\n",
    })
    expect(findings).toMatchObject([
      { rule: 'F11', file: 'b.ts', line: 2, message: expect.stringContaining('a.yaml:2:7') },
    ])
  })
})
