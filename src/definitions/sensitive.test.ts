import { describe, expect, test } from 'vitest'
import { languageOf, type WorkflowDocument } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './language.ts'

const SOURCE = `kind: Source
name: crm
verify: { scheme: none }
subject: crm.events.{{ payload.type }}
event: { id: payload.id, objectType: user, objectId: payload.user.id }
`

function check(text: string) {
  const { findings } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
  return findings.map(({ severity, rule, line, column, message }) => ({
    severity,
    rule,
    at: `${line}:${column}`,
    message,
  }))
}

test('[SE1] a path that cannot be parsed is an error at its position', () => {
  const text = `${SOURCE}sensitive:
  - payload.user.email
  - user.email
  - header.x-user.name
  - payload.users.map(u, u)
`
  expect(check(text)).toMatchObject([
    {
      severity: 'error',
      rule: 'SE1',
      at: '8:5',
      message: expect.stringMatching(/begins with `payload` or `header`/),
    },
    { severity: 'error', rule: 'SE1', at: '9:5', message: expect.stringMatching(/a header is one text/) },
    { severity: 'error', rule: 'SE1', at: '10:5', message: expect.stringMatching(/only fixed names/) },
  ])
  expect(
    check(`${SOURCE}sensitive: [payload, header, 'payload.users[*].email', header.X-User]\n`),
  ).not.toContainEqual(expect.objectContaining({ severity: 'error' }))
})

test('[SE4] formulas that store a sensitive value in clear text are warned of, at their position', () => {
  const text = `kind: Source
name: crm
verify: { scheme: none }
subject: crm.{{ payload.user.country }}.changed
event:
  id: payload.id
  objectId: payload.user.email
  objectType: "{{ hash(payload.user.email) }}"
dedup: { by: "header.x-user + ':' + event.id" }
sensitive: [payload.user, header.x-user]
`
  expect(check(text)).toMatchObject([
    { severity: 'warning', rule: 'SE4', at: '4:10' },
    {
      severity: 'warning',
      rule: 'SE4',
      at: '7:13',
      message: expect.stringContaining('`hash(payload.user.email)`'),
    },
    { severity: 'warning', rule: 'SE4', at: '9:14' },
  ])
})

test('[SE4] a ready mapping that reads it is named by its field', () => {
  const text = `kind: Source
name: github
verify: { scheme: none }
subjects: github
sensitive: [payload.repository]
`
  expect(check(text)).toMatchObject([{ severity: 'warning', rule: 'SE4', at: '4:11' }])
})

test('[SE4] so are keys of routes that may receive its events, and no others', () => {
  const route = (name: string, on: string, key: string) => `---
kind: Route
name: ${name}
on: ${on}
key: ${key}
do: { http: { url: 'https://crm.example', idempotent: true } }
`
  const text = `${SOURCE}sensitive: [payload.user.email]
${route('reads', 'crm.events.changed', 'payload.user.email')}${route('hashes', 'crm.events.changed', 'hash(payload.user.email)')}${route('elsewhere', 'shop.>', 'payload.user.email')}${route('anywhere', "'>'", 'payload.user')}`
  const found = check(text).filter(({ rule }) => rule === 'SE4')
  expect(found.map(({ rule, at }) => `${rule} ${at}`)).toEqual(['SE4 11:6', 'SE4 29:6'])
})

test('[SE4] so are subjects that a source dispatches or a route emits', () => {
  const text = `${SOURCE}sensitive: [payload.user.email]
dispatch:
  rules:
    - emit: crm.of.{{ payload.user.email }}
      data: { email: '{{ payload.user.email }}' }
    - emit: crm.of.{{ hash(payload.user.email) }}
---
kind: Route
name: tells
on: crm.events.changed
do: { emit: 'told.{{ payload.user.email }}' }
`
  expect(check(text).filter(({ rule }) => rule === 'SE4')).toMatchObject([
    { severity: 'warning', at: '9:13', message: expect.stringContaining('the subject of an event is kept') },
    { severity: 'warning', at: '16:13' },
  ])
})

test('[SE4] so are lanes and references', () => {
  const text = `${SOURCE}sensitive: [payload.user.email]
---
kind: Route
name: orders
on: crm.events.changed
order: { by: payload.user.email }
do:
  upsert:
    baseUrl: https://crm.example
    extRef: "crm-{{ payload.user.email }}"
    find: { path: "/?ref={{ extRef }}", found: result.body.ok }
    create: { path: /, body: { ref: "{{ extRef }}" } }
`
  const found = check(text).filter(({ rule }) => rule === 'SE4')
  expect(found).toHaveLength(2)
  expect(
    check(
      text
        .replaceAll('payload.user.email', 'hash(payload.user.email)')
        .replace('[hash(payload.user.email)]', '[payload.user.email]'),
    ),
  ).toEqual([])
})

describe('workflows', () => {
  const HIDING = `${SOURCE}sensitive: [payload.user.email]\n---\n`
  const workflow = (trigger: string, more = '', on = 'crm.events.made') => `${HIDING}kind: Workflow
name: onboarding
version: 1.0.0
start: new
triggers:
  - { on: ${on}, action: create, ${trigger} }
places:
  new: {}
  done: { final: true }
transitions:
  go: { from: new, to: done, on: manual${more} }
`
  const told = (text: string) =>
    compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
      .findings.filter(({ rule }) => rule === 'SE4')
      .map(({ rule, severity, line, suggestion }) => [rule, severity, line, suggestion])

  const encrypted = (text: string) => {
    const { documents } = compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
    const found = documents.find(({ kind }) => kind === 'Workflow') as WorkflowDocument
    return found.security?.encrypt ?? null
  }

  test.each([
    ['correlate: { id: payload.id }, map: { email: payload.user.email }', '', 'data.email'],
    ['correlate: { id: payload.id }, map: { metadata.who: payload.user }', '', 'metadata.who.email'],
    ['correlate: { id: payload.id }, map: { note: "payload.id + payload.user.email" }', '', 'data.note'],
    ['correlate: { id: payload.id }', ', out: { data.x.mail: payload.user.email }', 'data.x.mail'],
    ['correlate: { id: payload.id }, map: { all: payload }', '', 'data.all.user.email'],
  ])('[WL26] what %s%s copies is encrypted, declared or not', (trigger, more, target) => {
    expect(encrypted(workflow(trigger, more))).toEqual([target])
    expect(told(workflow(trigger, more))).toEqual([])
    const written = `${workflow(trigger, more)}security: { encrypt: [${target}, data.other] }\n`
    expect(encrypted(written)).toEqual([target, 'data.other'])
    expect(encrypted(workflow(trigger, more, 'shop.orders.made'))).toBeNull()
  })

  test('[WL26] copies of copies are encrypted too, and a hash or a value under an encrypted parent adds nothing', () => {
    const trigger = 'correlate: { id: payload.id }, map: { mail: payload.user.email, plain: payload.id }'
    const steps = ', out: { last: data.copy, copy: "data.mail + 1", other: data.plain, h: hash(data.mail) }'
    expect(encrypted(workflow(trigger, steps))).toEqual(['data.copy', 'data.last', 'data.mail'])
    const hashed =
      'correlate: { id: payload.id }, map: { user.mail: payload.user.email, h: hash(payload.user.email) }'
    expect(encrypted(`${workflow(hashed)}security: { encrypt: [user] }\n`)).toEqual(['data.user'])
  })

  test.each([
    ['payload', 'body: { mail: "{{ payload.user.email }}" }', ['data.answer']],
    ['a field that took it over', 'body: { mail: "{{ data.mail }}" }', ['data.answer', 'data.mail']],
    ['it in a header', 'headers: { x-mail: "{{ payload.user.email }}" }', ['data.answer']],
    ['its hash alone', 'body: { mail: "{{ hash(payload.user.email) }}" }', null],
    ['nothing of it', 'body: { id: "{{ payload.id }}" }', null],
  ])('[WL29] the result of a step that gets %s is encrypted where it is stored', (_, what, expected) => {
    const map = expected?.includes('data.mail') === true ? ', map: { mail: payload.user.email }' : ''
    const more = `, do: { http: { method: POST, url: "https://a.example/", ${what} } }, out: { answer: result.body.note, n: data.id }`
    expect(encrypted(workflow(`correlate: { id: payload.id }${map}`, more))).toEqual(expected)
  })

  test('[WL29] a function has the whole event by its context, whatever its input', () => {
    const more =
      ', do: { function: look, with: { id: "{{ payload.id }}" } }, out: { answer: result, n: payload.id }'
    const { documents } = compileDefinitions(
      [{ path: 'a.yaml', text: workflow('correlate: { id: payload.id }', more) }],
      { functions: () => 'sha256:a' },
    )
    const found = documents.find(({ kind }) => kind === 'Workflow') as WorkflowDocument
    expect(found.security?.encrypt).toEqual(['data.answer'])
  })

  test('[WL26] of several sensitive paths each is encrypted, and a list as a whole', () => {
    const text = workflow('correlate: { id: payload.id }, map: { all: payload }').replace(
      'sensitive: [payload.user.email]',
      'sensitive: [payload.user.email, "payload.lines[*].name", header.x-user]',
    )
    expect(encrypted(text)).toEqual(['data.all.lines', 'data.all.user.email'])
  })

  test.each([
    'correlate: payload.user.email',
    'correlate: { mail: payload.user.email }',
    'correlate: { id: payload.id }, map: { correlation.mail: payload.user.email }',
  ])('[WL26] a key takes only the hash: %s', (trigger) => {
    expect(told(workflow(trigger))).toEqual([['SE4', 'warning', 13, undefined]])
    expect(told(workflow(trigger.replace(/payload\.user\.email/, 'hash(payload.user.email)')))).toEqual([])
  })
})

describe('classification', () => {
  test('[SE18] a level below a hidden path, and a path that cannot be read, are refused', () => {
    const classified = (levels: string) =>
      check(`${SOURCE}classification: ${levels}\n`).filter(({ rule }) => rule === 'SE1')
    expect(
      classified('{ payload.user: confidential, payload.user.name: internal, payload.id: public }'),
    ).toMatchObject([
      { severity: 'error', rule: 'SE1', message: expect.stringContaining('`payload.user` hides it') },
    ])
    expect(classified('{ user.name: restricted }')).toMatchObject([{ severity: 'error', rule: 'SE1' }])
    expect(classified('{ payload.user.name: restricted }')).toEqual([])
  })

  test('[SE18] restricted fields shorten the retention, and need a node that knows the field', () => {
    const compiled = (more: string) =>
      compileDefinitions([{ path: 'a.yaml', text: `${SOURCE}${more}` }], { functions: () => null })
        .documents[0]
    const plain = compiled('classification: { payload.user.name: confidential }\n')
    const restricted = compiled('classification: { payload.user.name: restricted }\n')
    expect(plain).not.toHaveProperty('retentionMs')
    expect(restricted).toMatchObject({ retentionMs: 7 * 86_400_000 })
    expect(languageOf(restricted!)).toBe(5)
  })

  test('[SE20] an instance that takes a restricted value is restricted', () => {
    const workflow = (security: string) => `${SOURCE}classification: { payload.user.name: restricted }
---
kind: Workflow
name: w
start: a
triggers: [{ on: crm.events.made, map: { name: payload.user.name } }]
places: { a: {}, z: { final: true } }
transitions: { go: { from: a, to: z } }
${security}`
    expect(check(workflow(''))).toMatchObject([
      { severity: 'warning', rule: 'SE20', message: expect.stringContaining('operators would see it') },
    ])
    expect(check(workflow('security: { classification: restricted }'))).toEqual([])
  })
})
