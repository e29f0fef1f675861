import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hashDocument, languageOf, type WorkflowDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './language.ts'

const functions = (name: string) => (name === 'work' ? 'sha256:code' : null)
const compile = (text: string, path = 'a.yaml') => compileDefinitions([{ path, text }], { functions })

const AGENT = `
---
kind: Agent
name: judge
baseUrl: https://llm.example/v1
model: small
user: "Judge {{ title }}"
`

/** With one field replaced, or added. */
function workflow(fields: Readonly<Record<string, string>> = {}): string {
  const all: Readonly<Record<string, string>> = {
    start: 'a',
    triggers: '[{ manual: {} }]',
    places: '{ a: {}, b: {}, undoing: {}, failed: { type: error }, z: { final: true } }',
    transitions: '{ go: { from: a, to: z } }',
    ...fields,
  }
  return `kind: Workflow\nname: w\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')}`
}

const going = (rest: string) => workflow({ transitions: `{ go: { from: a, to: z, ${rest} } }` })
const doing = (rest: string) => going(`do: { function: work }, ${rest}`)
const trigger = (rest: string) => workflow({ triggers: `[{ ${rest} }]` })
const http = 'http: { method: PUT, url: "https://x.example/" }'

type Row = readonly [rule: string, text: string, message: string, suggestion?: string]

const ROWS: readonly Row[] = [
  ['[WL1]', trigger('manual: {}, map: { ¦"a b": payload.x }'), 'names joined by dots'],
  ['[WL1]', doing('out: { ¦metadata: result }'), 'say which of the metadata'],
  ['[WL1]', doing('out: { ¦correlation.a.b: result.id }'), 'a key has one name'],
  ['[WL1]', doing('out: { ¦payload.x: result }'), 'this would be `data.payload.x`', 'data.payload.x'],
  ['[WL2]', workflow({ start: '¦aa' }), 'no place `aa`, but `a`, `b`', 'a'],
  ['[WL2]', workflow({ transitions: '{ go: { from: [a, ¦c], to: z } }' }), 'no place `c`'],
  ['[WL2]', workflow({ transitions: '{ go: { fromAny: [a, ¦fail], to: z } }' }), 'no place `fail`'],
  ['[WL2]', workflow({ transitions: '{ go: { from: a, to: ¦zz } }' }), 'no place `zz`', 'z'],
  ['[WL2]', workflow({ transitions: '{ go: { from: a, choose: [{ to: ¦zz }] } }' }), 'no place `zz`'],
  [
    '[WL2]',
    workflow({ onFailure: '{ undo: done-steps, through: ¦undoin, to: failed }' }),
    '`undoin`',
    'undoing',
  ],
  ['[WL2]', doing('onFailure: { to: ¦faild }'), 'no place `faild`', 'failed'],
  [
    '[WL2]',
    workflow({ version: '2.0.0', migrations: '[{ from: 1.0.0, to: 2.0.0, places: { old: ¦gone } }]' }),
    'no place `gone`',
  ],
  [
    '[WL3]',
    trigger('on: a.b, action: update, correlate: payload.id, fire: ¦goo'),
    'no transition `goo`',
    'go',
  ],
  [
    '[WL3]',
    workflow({ places: '{ a: { timeout: { after: 1m, fire: ¦give_up } }, z: { final: true } }' }),
    'no transition',
  ],
  ['[WL4]', going('do: { start: ¦ww }'), 'no workflow `ww`, but `w`', 'w'],
  [
    '[WL4]',
    `${going('do: { start: ¦v }')}---\n${trigger('on: a.b').replace('name: w', 'name: v')}`,
    'no `manual` trigger',
  ],
  ['[WL5]', going('do: { agent: ¦jugde }') + AGENT, 'no agent `jugde`, but `judge`', 'judge'],
  [
    '[WL6]',
    going('on: manual, permission: ¦w.go'),
    'not among `security.permissions`',
    'security: { permissions: [w.go] }',
  ],
  ['[WL6]', trigger('manual: { permission: ¦w.start }'), 'not among'],
  ['[WL6]', workflow({ security: '{ permissions: [w.see], required: [¦w.sea] }' }), 'not among', 'w.see'],
  ['[WL6]', workflow({ security: '{ permissions: [¦"w see"] }' }), 'a permission has letters'],
  ['[WL7]', doing('out: { x: 1 + ¦steps.gone.result.id }'), 'no transition `gone`'],
  ['[WL7]', going('when: ¦steps.goo.result.ok'), 'no transition `goo`', 'steps.go.result.ok'],
  ['[WL7]', going('when: { path: ¦steps.goo.result.ok, equals: true }'), 'no transition `goo`'],
  ['[WL7]', going('do: { emit: a.c, data: { x: ¦"{{ steps.goo.result }}" } }'), 'no transition `goo`'],
  ['[WL8]', workflow({ transitions: '{ ¦go: { to: z } }' }), 'where it takes its tokens'],
  ['[WL8]', workflow({ transitions: '{ ¦go: { from: a } }' }), 'where the token goes'],
  ['[WL8]', workflow({ transitions: '{ go: { from: [a, ¦a], to: z } }' }), 'is there already'],
  ['[WL8]', workflow({ transitions: '{ go: { fromAny: [a, ¦z], to: z } }' }), 'nothing leaves it'],
  ['[WL8]', workflow({ start: '¦z' }), 'would end as it begins'],
  [
    '[WL8]',
    workflow({ places: '{ a: {}, z: { final: true, ¦timeout: { after: 1m, fire: go } } }' }),
    'could never fire',
  ],
  [
    '[WL9]',
    doing('').replace('to: z', 'choose: [¦{ to: b }, { when: result.ok, to: z }]'),
    'never looked at',
  ],
  ['[WL10]', going('¦undo: { function: work }'), 'only moves tokens'],
  ['[WL10]', workflow({ onFailure: '{ ¦through: undoing, to: failed }' }), 'write `undo: done-steps`'],
  [
    '[WL10]',
    workflow({ onFailure: '{ ¦undo: done-steps, to: failed }' }),
    'while steps are undone',
    'through: rolling_back',
  ],
  ['[WL10]', workflow({ onFailure: '{ undo: done-steps, through: ¦z, to: failed }' }), 'is final'],
  ['[WL11]', trigger('manual: {}, ¦where: payload.x'), 'it belongs to `on`'],
  ['[WL11]', trigger('schedule: { cron: "0 6 * * *" }, ¦rateLimit: { perMinute: 5 }'), 'it belongs to `on`'],
  ['[WL11]', trigger('on: a.b, ¦fire: go'), 'write `action: update`'],
  ['[WL11]', trigger('manual: {}, ¦retry: STEP'), 'it belongs to `on`'],
  ['[WL11]', trigger('manual: {}, ¦maxProcessingTime: 1m'), 'it belongs to `on`'],
  ['[WL11]', trigger('manual: {}, ¦deadLetter: { subject: a.c }'), 'it belongs to `on`'],
  ['[WL11]', trigger('on: a.b, ¦onLimit: reject'), 'write `rateLimit`, too'],
  [
    '[WL11]',
    trigger('on: a.b, retry: { attempts: 2, delays: [1s], retryOn: ¦[timeout, rate_limited] }'),
    'it would never retry; add `transient`',
  ],
  [
    '[WL11]',
    `${trigger('on: a.b, retry: ¦slow')}---\nkind: Profile\nname: slow\nretry: { attempts: 2, delays: [1s], retryOn: [timeout] }\n`,
    'the `retryOn` of `slow`',
  ],
  ['[WL11]', trigger('on: a.>, deadLetter: { subject: ¦a.failed }'), 'would come back to it'],
  ['[WL11]', trigger('on: a.b, ¦buffer: 1h'), 'write `action: update`'],
  ['[WL11]', trigger('on: a.b, ¦unique: live'), 'write `correlate`'],
  ['[WL11]', trigger('on: a.b, action: update, correlate: payload.id, ¦unique: live'), 'this makes none'],
  [
    '[WL11]',
    trigger('¦on: a.b, action: update').replace('¦', '').replace('[{', '[¦{'),
    'finds its instance',
    'correlate: payload.id',
  ],
  [
    '[WL11]',
    trigger('schedule: { cron: "0 6 * * *" }, ¦action: update, correlate: payload.id'),
    'a schedule begins',
  ],
  [
    '[WL11]',
    trigger('manual: {}, ¦action: update, correlate: payload.id'),
    'a start by hand begins new instances',
  ],
  [
    '[WL11] warning',
    workflow({
      triggers:
        '[{ on: a.b, correlate: { order: payload.id } }, { on: a.c, action: update, correlate: { ¦ordr: payload.id } }]',
    }),
    'no instance has a key `ordr`',
    'order',
  ],
  [
    '[WL11] warning',
    trigger('on: a.b, action: update, ¦correlate: payload.id'),
    'finds none (none has any key)',
  ],
  ['[WL13]', workflow({ security: '{ encrypt: [¦"instance[0].id x"] }' }), ''],
  ['[WL13]', workflow({ security: '{ encrypt: [¦correlation.mail] }' }), 'in `data` or `metadata`'],
  ['[WL14]', workflow({ migrations: '[{ from: 1.0.0, to: ¦1.0.0 }]' }), 'nothing to migrate'],
  ['[WL14]', workflow({ migrations: '[{ from: 0.9.0, to: ¦2.0.0 }]' }), 'is version 1.0.0', '1.0.0'],
  [
    '[WL14]',
    workflow({ migrations: '[{ from: 0.1.0, to: 1.0.0 }, { from: ¦0.1.0, to: 1.0.0 }]' }),
    'already',
  ],
  ['[WL15]', going('¦notBy: metadata.by'), 'fires by itself', 'on: manual'],
  [
    '[WL16]',
    going('do: { agent: judge, ¦with: { titel: "{{ data.title }}" } }') + AGENT,
    'did you mean `title` by `titel`?',
  ],
  [
    '[WL27] warning',
    workflow({
      triggers: '[{ manual: {}, map: { total: payload.t } }]',
      transitions: '{ go: { from: a, to: z, when: ¦data.totl > 5 } }',
    }),
    'did you mean `data.total`?',
    'data.total > 5',
  ],
  [
    '[WL27] warning',
    workflow({
      triggers: '[{ manual: {}, map: { email: payload.t } }]',
      security: '{ encrypt: [¦data.emial] }',
    }),
    'did you mean `data.email`?',
    'data.email',
  ],
  ['[WL17] [PV1]', going('do: { operation: ¦sap.post, connection: sap }'), 'there is no provider `sap`'],
  [
    '[WL17] [F35]',
    `kind: Route\nname: r\non: a.b\ndo: { start: w, ¦wait: true }\n---\n${workflow()}`,
    'nobody waits in a route',
  ],
  [
    '[F29]',
    workflow({ migrations: '[{ from: 0.1.0, to: 1.0.0, data: [{ transform: ¦fn }] }]' }),
    'there is no function `fn`',
  ],
  ['[WL18] [KY1]', doing('key: "\'A:\' + ¦event.traceId"'), 'must be the same in every replay'],
  ['[F12]', going('¦untill: x'), 'there is no field `untill`'],
  [
    '[F14]',
    `¦kind: Workflow\nname: w\nstart: a\nplaces: { a: {} }\ntransitions: {}`,
    '`triggers` is missing',
  ],
  ['[F16]', trigger('schedule: { cron: ¦"61 * * * *" }'), ''],
  ['[F16]', trigger('schedule: { cron: "0 6 * * *", zone: ¦Europe/Berln }'), ''],
  ['[F20]', going('when: ¦result.ok'), '`result` is not in scope here'],
  ['[F20]', trigger('on: a.b, map: { x: ¦input.y }'), 'what a start brings is the `payload`'],
  ['[F20]', trigger('on: a.b, correlate: ¦data.id'), 'not in scope'],
  [
    '[F28]',
    workflow({ transitions: '{ go: { from: a, to: z, ¦choose: [{ to: b }] } }' }),
    'exclude each other',
  ],
  ['[F28]', trigger('on: a.b, ¦manual: {}'), 'of one sort'],
  ['[F28]', workflow({ triggers: '[¦{ action: create }]' }), 'say what begins it'],
  ['[F28]', going(`do: { ${http}, ¦emit: a.c }`), 'a step does one thing'],
  ['[F29]', going('do: { function: ¦wrok }'), 'no function `wrok`'],
  ['[F35]', going('¦key: data.id'), 'only moves tokens'],
  ['[F35]', workflow({ places: '{ a: {}, z: { type: error, ¦final: true } }' }), 'say different things'],
  ['[CA14]', trigger('manual: { input: { type: ¦objekt } }'), ''],
]

describe('findings', () => {
  test.each(ROWS)('%s %j: %s', (label = '', marked = '', message = '', suggestion) => {
    const before = marked.slice(0, marked.indexOf('¦')).split('\n')
    const { findings } = compile(marked.replace('¦', ''))
    const wanted = label.endsWith('warning') ? 'warning' : 'error'
    const id = /\[(\w+)\](?: warning)?$/.exec(label)?.[1]
    // Nets of examples about something else are warned of as well.
    const errors = findings.filter(
      ({ severity, rule }) => severity === 'error' || (severity === wanted && rule === id),
    )
    expect(errors).toEqual([
      {
        severity: wanted,
        rule: id,
        message: expect.stringContaining(message),
        file: 'a.yaml',
        line: before.length,
        column: before.at(-1)!.length + 1,
        ...(suggestion === undefined
          ? errors[0]?.suggestion === undefined
            ? {}
            : { suggestion: expect.any(String) }
          : { suggestion }),
      },
    ])
  })

  test('all come at once', () => {
    const { findings } = compile(
      workflow({ start: 'aa', transitions: '{ go: { from: b, to: c, do: { function: x } } }' }),
    )
    expect(findings.map(({ rule }) => rule)).toEqual(['WL2', 'WL2', 'F29'])
  })

  test('[WL18] keys of a route and of a transition with the same prefix are reported once', () => {
    const text = `${doing('key: "\'A:\' + data.id"')}---\nkind: Route\nname: r\non: a.b\nkey: "'A:' + payload.id"\ndo: { emit: b.c }`
    const { findings } = compile(text)
    const told = findings.filter(({ rule }) => !rule.startsWith('AN'))
    expect(told.map(({ rule, severity }) => ({ rule, severity }))).toEqual([
      { rule: 'KY5', severity: 'warning' },
    ])
  })
})

const hashOf = (text: string, path?: string) => {
  const { documents, findings } = compile(text, path)
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  const document = documents.find(({ kind }) => kind === 'Workflow')
  return hashDocument(document as WorkflowDocument)
}

const FULL = readFileSync(new URL('./workflow.fixture.yaml', import.meta.url), 'utf8')

describe('the normal form', () => {
  test('[WL28] an agent’s `retry` applies to a user of it that has none', () => {
    const agent = `${AGENT}retry: { attempts: 2, delays: [1s] }\n`
    const asked = (rest: string) => {
      const { documents } = compile(going(`do: { agent: judge, with: { title: x } }${rest}`) + agent)
      return documents.find((one) => one.kind === 'Workflow')?.transitions[0]?.retry
    }
    expect(asked('')).toEqual({ profile: null, attempts: 2, delaysMs: [1_000] })
    expect(asked(', retry: STEP')?.profile).toBe('STEP')
    const route = compile(`kind: Route\nname: r\non: a.b\ndo: { agent: judge, with: { title: x } }\n${agent}`)
    expect(route.documents.find((one) => one.kind === 'Route')?.retry.attempts).toBe(2)
  })

  test('[TG30] [TG31] [TG32] [TG33] has the limits of a trigger only where they are written', () => {
    const limits =
      'rateLimit: { perMinute: 5 }, onLimit: reject, retry: { attempts: 2, delays: [1s], retryOn: [transient] }, maxProcessingTime: 30s, deadLetter: { subject: a.failed }'
    const triggerOf = (text: string) => {
      const { documents } = compile(trigger(text))
      return (documents[0] as WorkflowDocument).triggers[0]
    }
    expect(triggerOf(`on: a.b, ${limits}`)).toMatchObject({
      onLimit: 'reject',
      retry: { profile: null, attempts: 2, delaysMs: [1_000], retryOn: ['transient'] },
      maxProcessingMs: 30_000,
      deadLetter: { subject: 'a.failed' },
    })
    const usual = triggerOf('on: a.b, rateLimit: { perMinute: 5 }, onLimit: wait')
    expect(usual).toEqual(triggerOf('on: a.b, rateLimit: { perMinute: 5 }'))
  })

  test('[WL21] keeps the order in which places and transitions are written', () => {
    const { documents } = compile(
      workflow({ transitions: '{ z_first: { from: a, to: b }, a_second: { from: b, to: z } }' }),
    )
    const [document] = documents as [WorkflowDocument]
    expect(document.transitions.map(({ name }) => name)).toEqual(['z_first', 'a_second'])
    expect(document.places.map(({ name }) => name)).toEqual(['a', 'b', 'undoing', 'failed', 'z'])
    const other = workflow({ transitions: '{ a_second: { from: b, to: z }, z_first: { from: a, to: b } }' })
    expect(hashOf(other)).not.toBe(hashDocument(document))
  })

  test('[WL22] is the same however it is spelled', () => {
    const short = workflow({
      triggers: '[{ on: a.b, correlate: payload.id, unique: true, map: { id: payload.id } }]',
      transitions: '{ go: { from: a, to: z, do: { function: work } } }',
    })
    const long = workflow({
      version: '1.0.0',
      status: 'active',
      triggers:
        '[{ on: [a.b], action: create, correlate: { default: payload.id }, unique: live, map: { data.id: payload.id } }]',
      places: '{ a: { type: normal }, b: {}, undoing: {}, failed: { type: error }, z: { type: final } }',
      transitions:
        '{ go: { from: [a], to: [z], on: auto, do: { function: work, with: "{{ data }}" }, retry: STEP, maxWait: 24h } }',
    })
    expect(hashOf(long)).toBe(hashOf(short))
  })

  test('has all that can be written', () => {
    const { documents, findings } = compile(FULL)
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(documents.find(({ kind }) => kind === 'Workflow')).toMatchSnapshot()
  })

  test('[WL19] contains the agent as it is now', () => {
    const text = going('do: { agent: judge, with: { title: "{{ data.title }}" }, timeout: 30s }')
    const { documents } = compile(text + AGENT)
    expect((documents[0] as WorkflowDocument).transitions[0]?.do).toEqual({
      type: 'agent',
      agent: documents[1],
      with: { title: '{{ data.title }}' },
      timeoutMs: 30_000,
    })
    const deployedDocuments = documents.filter(({ kind }) => kind === 'Agent')
    const alone = compileDefinitions([{ path: 'a.yaml', text }], { functions, deployedDocuments })
    expect(alone.documents).toEqual([documents[0]])
    expect(hashOf(text + AGENT.replace('small', 'large'))).not.toBe(hashOf(text + AGENT))
  })
})

const OLD = {
  id: 'triage',
  name: 'Triage of issues',
  initial_place: 'received',
  trigger: {
    type: 'NATS_MESSAGE',
    config: { subject: 'gitlab.events.issue.created', correlation_id_path: 'payload.issue.iid' },
  },
  token_schema: { initial_data_mapping: { title: 'payload.issue.title', labels: 'payload.labels[*].title' } },
  places: [
    { id: 'received', name: 'Received' },
    { id: 'judged', type: 'final' },
  ],
  transitions: [
    {
      id: 'prioritise',
      from_places: ['received'],
      to_place: 'judged',
      agent_execution: {
        agent_id: 'judge',
        input_mapping: { title: 'data.title' },
        output_mapping: { 'data.priority': 'priority_level' },
      },
    },
  ],
}

const NEW = `kind: Workflow
name: triage
description: Triage of issues
start: received
triggers:
  - on: gitlab.events.issue.created
    correlate: payload.issue.iid
    map: { title: payload.issue.title, labels: "payload.labels[*].title" }
places: { received: { description: Received }, judged: { final: true } }
transitions:
  prioritise:
    from: received
    to: judged
    do: { agent: judge, with: { title: "{{ data.title }}" } }
    out: { priority: result.priority_level }
`

describe('spellings of older documents', () => {
  const old = (change: (text: string) => string = (text) => text) =>
    compileDefinitions(
      [
        { path: 'old.json', text: change(JSON.stringify(OLD, null, 2)) },
        { path: 'agent.yaml', text: AGENT },
      ],
      { functions },
    )

  test('[WL23] give the same hash, and [WL12] say what they were read as', () => {
    const { documents, findings } = old()
    expect(findings.filter(({ severity }) => severity !== 'info')).toEqual([])
    expect(hashDocument(documents[0]!)).toBe(hashOf(NEW + AGENT))
    expect(findings.map(({ line, message }) => `${line} ${message}`)).toEqual([
      '2 read as `name`',
      '3 read as `description`',
      '4 read as `start`',
      '5 read as the first of `triggers`',
      '8 read as `on`',
      '9 read as `correlate`',
      '13 read as `map` of the trigger',
      '18 read as a map by `id`',
      '28 read as a map by `id`',
      '31 read as `from`',
      '34 read as `to`',
      '35 read as `do: { agent, with }` and `out`',
    ])
  })

  test('[WL23] further triggers come after the first, in either spelling, and keep their positions', () => {
    const closed = {
      type: 'NATS_SUBJECT',
      subject: 'gitlab.events.issue.closed',
      correlation_id_path: 'payload.issue.iid',
      action_type: 'UpdateExistingInstance',
    }
    const both = (one: object) => {
      const triggers = [
        { ...closed, ...one },
        { manual: {}, map: { title: 'payload.title' } },
      ]
      const text = JSON.stringify({ ...OLD, triggers }, null, 2)
      return old(() => text)
    }
    const added = `  - { on: gitlab.events.issue.closed, action: update, correlate: payload.issue.iid }
  - { manual: {}, map: { title: payload.title } }
places:`
    expect(hashDocument(both({}).documents[0]!)).toBe(hashOf(NEW.replace('places:', added) + AGENT))
    const { findings } = both({ fire: 'nothing' })
    expect(findings.filter(({ severity }) => severity === 'error')).toMatchObject([
      { rule: expect.any(String), line: 52, message: expect.stringContaining('nothing') },
    ])
  })

  test('[WL23] an internal event is a subject, and what it brings is the payload', () => {
    const { documents } = old((text) =>
      text
        .replace('NATS_MESSAGE', 'INTERNAL_EVENT')
        .replace('"subject"', '"event_name"')
        .replaceAll('payload.', 'event_data.'),
    )
    expect(hashDocument(documents[0]!)).toBe(hashOf(NEW + AGENT))
  })

  test.each([
    ['"received"\n', '"receivd"\n', 32, 9, 'WL2'],
    ['"judged",\n      "agent', '"juged",\n      "agent', 34, 19, 'WL2'],
    ['"judge"', '"jugde"', 36, 21, 'WL5'],
    ['"data.title"', '"dta.title"', 38, 21, 'F21'],
    ['"priority_level"', '"priority_level +"', 41, 45, 'F20'],
    ['"payload.issue.title"', '"paylod.issue.title"', 14, 17, 'F20'],
  ])('[WL23] %j as %j is reported at its position', (from, to, line, column, rule) => {
    const { findings } = old((text) => text.replace(from, to))
    expect(findings.filter(({ severity }) => severity === 'error')).toMatchObject([{ rule, line, column }])
  })
})

describe('[HD14] security', () => {
  const resolved = (security: string) => compile(workflow({ security })).documents[0] as WorkflowDocument

  test.each([
    ['{ classification: public }', { encrypt: [], enforced: true }, 4],
    ['{ classification: internal, encrypt: [a] }', { encrypt: ['data.a'], enforced: true }, 4],
    ['{ classification: confidential, encrypt: [a] }', { encrypt: ['data', 'metadata'], enforced: true }, 4],
    ['{ classification: restricted }', { encrypt: ['data', 'metadata'], enforced: true }, 4],
    ['{ encrypt: all }', { encrypt: ['data', 'metadata'], enforced: true }, 4],
    ['{ encrypt: [a] }', { encrypt: ['data.a'] }, 1],
    ['{ audit: basic }', { encrypt: [], audit: 'basic' }, 4],
    ['{ audit: none }', { encrypt: [], audit: 'none' }, 4],
    ['{ audit: detailed }', { encrypt: [], audit: 'changes' }, 1],
  ])('%s is stored as %j, in language %i', (written, stored, language) => {
    const document = resolved(written)
    expect(document.security).toMatchObject(stored)
    expect(document.security?.enforced).toBe('enforced' in stored ? true : undefined)
    expect(languageOf(document)).toBe(language)
  })

  test('a document that was stored with a label keeps its hash and language', () => {
    const { security, ...rest } = resolved('{ classification: confidential }')
    const label = { permissions: [], classification: 'confidential', encrypt: [], audit: 'full' } as const
    const stored: WorkflowDocument = { ...rest, security: label }
    expect(hashDocument(stored)).not.toBe(hashDocument({ ...rest, security: security! }))
    expect(languageOf(stored)).toBe(1)
  })
})
