// What the builders of workflows and agents return, and what an editor knows about them: the type checker runs over
// this file too.

import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { hashDocument } from '../core/definitions/documents/index.ts'
import type { InputOf } from '../definitions/kinds/index.ts'
import { compileDefinitions } from '../definitions/language.ts'
import {
  type AgentDefinition,
  defineAgent,
  defineFunction,
  defineWorkflow,
  expr,
  type WorkflowDefinition,
} from './index.ts'

const book = defineFunction({
  name: 'book',
  input: z.object({ id: z.string() }),
  run: ({ id }) => ({ number: `B-${id}` }),
})

const judge = defineAgent({
  name: 'judge',
  baseUrl: 'https://llm.example/v1',
  secret: { env: 'LLM_KEY' },
  model: 'small',
  user: 'Judge {{ title }}',
  output: { schema: { type: 'object', required: ['priority'] } },
  budget: { tokens: 2_000 },
})

const order = defineWorkflow({
  name: 'order',
  version: '1.2.0',
  start: 'received',
  data: z.object({ id: z.string(), title: z.string().optional(), priority: z.string().optional() }),
  onFailure: { undo: 'done-steps', through: 'undoing', to: 'failed' },
  triggers: [
    {
      on: 'shop.orders.created',
      correlate: { order: 'payload.id' },
      unique: true,
      map: { id: 'payload.id', title: 'payload.title', 'metadata.by': 'payload.by' },
    },
    {
      on: 'shop.orders.closed',
      action: 'update',
      correlate: { order: 'payload.id' },
      fire: 'close',
      buffer: '2h',
    },
  ],
  places: {
    received: {},
    booked: { timeout: { after: '2d', fire: 'give_up' } },
    undoing: {},
    failed: { type: 'error' },
    closed: { final: true },
  },
  transitions: {
    judge: {
      from: 'received',
      to: 'booked',
      do: { agent: judge.name, with: { title: '{{ data.title }}' } },
      out: { priority: 'result.priority', 'correlation.booking': 'result.number' },
      key: expr`'JUDGE:' + data.id`,
      undo: book.with({ id: '{{ data.id }}' }),
    },
    close: { fromAny: ['received', 'booked'], to: 'closed', on: 'event' },
    give_up: { from: 'booked', to: 'failed', on: 'timer' },
  },
})

const YAML = `
kind: Agent
name: judge
baseUrl: https://llm.example/v1
secret: { env: LLM_KEY }
model: small
user: Judge {{ title }}
output: { schema: { type: object, required: [priority] } }
budget: { tokens: 2000 }
---
kind: Workflow
name: order
version: 1.2.0
start: received
data: { type: object, properties: { id: { type: string }, title: { type: string }, priority: { type: string } }, required: [id] }
onFailure: { undo: done-steps, through: undoing, to: failed }
triggers:
  - on: shop.orders.created
    correlate: { order: payload.id }
    unique: live
    map: { id: payload.id, title: payload.title, metadata.by: payload.by }
  - { on: shop.orders.closed, action: update, correlate: { order: payload.id }, fire: close, buffer: 2h }
places:
  received: {}
  booked: { timeout: { after: 2d, fire: give_up } }
  undoing: {}
  failed: { type: error }
  closed: { final: true }
transitions:
  judge:
    from: received
    to: booked
    do: { agent: judge, with: { title: "{{ data.title }}" } }
    out: { priority: result.priority, correlation.booking: result.number }
    key: "'JUDGE:' + data.id"
    undo: { function: book, with: { id: "{{ data.id }}" } }
  close: { fromAny: [received, booked], to: closed, on: event }
  give_up: { from: booked, to: failed, on: timer }
`

const deps = { functions: () => 'sha256:code' }

test('[WL22] YAML, JSON and the builders give the same documents and hashes', () => {
  const written = compileDefinitions([{ path: 'a.yaml', text: YAML }], deps)
  const built = compileDefinitions(
    [judge, order].map((one, index) => ({ path: `${index}.json`, text: JSON.stringify(one) })),
    deps,
  )
  expect([...written.findings, ...built.findings].filter(({ severity }) => severity === 'error')).toEqual([])
  expect(built.documents).toEqual(written.documents)
  expect(built.documents.map(hashDocument)).toEqual(written.documents.map(hashDocument))
  expect(built.documents).toHaveLength(2)
})

test('[WL25] a schema that cannot be expressed as data only gives types', () => {
  const data = {
    '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value: value as { a: 1 } }) },
  } as const
  const built = defineWorkflow({
    name: 'plain',
    start: 'x',
    data,
    triggers: [{ manual: {} }],
    places: { x: {}, y: { final: true } },
    transitions: { go: { from: 'x', to: 'y' } },
  })
  expect(built).not.toHaveProperty('data')
  expect(built.kind).toBe('Workflow')
})

test('[WL25] an editor knows the fields, the names of places and transitions, and the targets', () => {
  expectTypeOf<keyof WorkflowDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Workflow'>>()
  expectTypeOf<keyof AgentDefinition | 'kind'>().toEqualTypeOf<keyof InputOf<'Agent'>>()
  expectTypeOf(order.name).toEqualTypeOf<'order'>()
  const places = { x: {}, y: { final: true } } as const
  const triggers = [{ manual: {} }] as const
  const data = z.object({ id: z.string() })
  const wrong = [
    () =>
      defineWorkflow({
        name: 'a',
        // @ts-expect-error there is no such place
        start: 'z',
        triggers,
        places,
        transitions: { go: { from: 'x', to: 'y' } },
      }),
    () =>
      defineWorkflow({
        name: 'a',
        start: 'x',
        triggers,
        places,
        // @ts-expect-error there is no such place
        transitions: { go: { from: 'x', to: 'z' } },
      }),
    () =>
      defineWorkflow({
        name: 'a',
        start: 'x',
        // @ts-expect-error there is no such transition
        triggers: [{ on: 'a.b', action: 'update', correlate: 'payload.id', fire: 'gone' }],
        places,
        transitions: { go: { from: 'x', to: 'y' } },
      }),
    () =>
      defineWorkflow({
        name: 'a',
        start: 'x',
        triggers,
        // @ts-expect-error there is no such transition
        places: { x: { timeout: { after: '1m', fire: 'gone' } }, y: { final: true } },
        transitions: { go: { from: 'x', to: 'y' } },
      }),
    () =>
      defineWorkflow({
        name: 'a',
        start: 'x',
        data,
        triggers,
        places,
        // @ts-expect-error the data have no such field
        transitions: { go: { from: 'x', to: 'y', out: { nr: 'result.id' } } },
      }),
    () =>
      defineWorkflow({
        name: 'a',
        start: 'x',
        data,
        // @ts-expect-error the data have no such field
        triggers: [{ manual: {}, map: { 'data.nr': 'payload.id' } }],
        places,
        transitions: { go: { from: 'x', to: 'y' } },
      }),
  ]
  expect(wrong).toHaveLength(6)
})
